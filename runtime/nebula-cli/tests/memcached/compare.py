"""Sends the cases of cases.txt to servers of memcached's clients, and says what is not answered as the file says.

    compare.py NAME=PORT...              all cases to each of them, whole; short ones also byte by byte, and split at every byte
    compare.py --record PORT             writes the answers of one into the file
"""

import pathlib
import re
import socket
import sys

CASES = pathlib.Path(__file__).with_name("cases.txt")
# Longer requests are sent whole only.
SPLIT_BYTES_MAX = 80
WAIT_S = 5


def decoded(text):
    text = re.sub(r"\{(.)\*(\d+)\}", lambda found: found[1] * int(found[2]), text)
    return text.encode("latin1").decode("unicode_escape").encode("latin1")


def encoded(answer):
    answer = re.sub(rb"([A-Za-z])\1{99,}", lambda found: b"{%s*%d}" % (found[1], len(found[0])), answer)
    escapes = {"\r": "\\r", "\n": "\\n", "\\": "\\\\"}
    return "".join(escapes.get(c, c if " " <= c <= "~" else f"\\x{ord(c):02x}") for c in answer.decode("latin1"))


def normal(answer):
    """Without what differs from server to server."""
    answer = re.sub(rb"(VALUE \S+ \d+ \d+) \d+\r", rb"\1 CAS\r", answer)
    answer = re.sub(rb"VERSION \S+", b"VERSION V", answer)
    # A second may have passed.
    answer = re.sub(rb"( t|exp=)(\d\d+)", lambda found: found[1] + b"%d" % (-(-int(found[2]) // 10) * 10), answer)
    answer = re.sub(rb" (l|la=)[0-3]\b", rb" \g<1>0", answer)
    return re.sub(rb"cas=\d+ fetch=(\w+) cls=\d+ size=\d+", rb"cas=CAS fetch=\1 cls=CLS size=SIZE", answer)


def cases():
    """Each case: its name, and what is sent and answered in turn."""
    found = []
    for line in CASES.read_text().split("\n\n", 1)[1].splitlines():
        if line.startswith("# "):
            found.append((line[2:], []))
        elif line.startswith("> "):
            found[-1][1].append([line[2:], ""])
        elif line.startswith("< "):
            found[-1][1][-1][1] = line[2:]
    return found


class Connection:
    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.settimeout(WAIT_S)
        self.ended = False

    def ask(self, pieces):
        """Sends pieces and a request whose answer is known, so that no answer has to be waited for that does not come."""
        marker = b"EN kend-of-case O777\r\n"
        try:
            for piece in pieces:
                self.socket.sendall(piece)
            self.socket.sendall(b"mg end-of-case k O777\r\n")
        except OSError:
            self.ended = True
        answer = b""
        while not answer.endswith(marker):
            try:
                more = self.socket.recv(1 << 20)
            except ConnectionResetError:
                more = b""
            if not more:
                return normal(answer) + b"<EOF>"
            answer += more
        return normal(answer[: -len(marker)])


def flushed(port):
    connection = Connection(port)
    assert connection.ask([b"flush_all\r\n"]) == b"OK\r\n"
    connection.socket.close()
    return Connection(port)


def splits(request):
    """The ways in which a request is sent."""
    yield "whole", [request]
    if len(request) <= SPLIT_BYTES_MAX:
        yield "byte by byte", [request[at : at + 1] for at in range(len(request))]


def run(name, port):
    wrong = 0
    for case, steps in cases():
        for way in ("whole", "byte by byte"):
            connection = flushed(port)
            for request, expected in steps:
                pieces = dict(splits(decoded(request)))
                answer = encoded(connection.ask(pieces.get(way, pieces["whole"])))
                if answer != expected:
                    wrong += 1
                    print(f"{name}, {case} ({way}):\n  sent     {request[:300]}\n  expected {expected[:300]}\n  answered {answer[:300]}")
    return wrong


def split_everywhere(name, port):
    """Each request of some cases in two pieces, split at every byte, sent as two segments."""
    wrong = 0
    for case, steps in cases():
        request = "".join(request for request, _ in steps)
        expected = "".join(answer for _, answer in steps)
        data = decoded(request)
        if len(data) > 4 * SPLIT_BYTES_MAX or "<EOF>" in expected:
            continue
        for at in range(1, len(data)):
            answer = encoded(flushed(port).ask([data[:at], data[at:]]))
            if answer != expected:
                wrong += 1
                print(f"{name}, {case}, split at {at}:\n  expected {expected[:300]}\n  answered {answer[:300]}")
    return wrong


def record(port):
    lines = CASES.read_text().split("\n\n", 1)[0].splitlines() + [""]
    for case, steps in cases():
        connection = flushed(port)
        lines.append(f"# {case}")
        for request, _ in steps:
            lines += [f"> {request}", f"< {encoded(connection.ask([decoded(request)]))}"]
        lines.append("")
    CASES.write_text("\n".join(lines))


def main():
    if sys.argv[1] == "--record":
        return record(int(sys.argv[2]))
    wrong = 0
    for server in sys.argv[1:]:
        name, port = server.split("=")
        wrong += run(name, int(port)) + split_everywhere(name, int(port))
    print(f"{len(cases())} cases, {sum(len(steps) for _, steps in cases())} requests; {wrong} answered otherwise")
    sys.exit(1 if wrong else 0)


main()
