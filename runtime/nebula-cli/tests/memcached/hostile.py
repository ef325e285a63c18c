"""What memcached's clients do that are idle, slow, half-closed or hostile: the server goes on, with bounded memory, and an idle one takes no time.

    hostile.py PORT PID [CONNECTIONS]    of the server; 10,000 connections unless said otherwise
"""

import os
import resource
import socket
import struct
import sys
import time

PORT, PID = int(sys.argv[1]), int(sys.argv[2])
CONNECTIONS = int(sys.argv[3]) if len(sys.argv) > 3 else 10_000


def connect():
    connection = socket.create_connection(("127.0.0.1", PORT))
    connection.settimeout(30)
    return connection


def answer(connection, request, end):
    connection.sendall(request)
    got = b""
    while not got.endswith(end):
        more = connection.recv(1 << 20)
        assert more, f"closed after {got[-80:]!r}"
        got += more
    return got


def resident_bytes():
    with open(f"/proc/{PID}/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def cpu_seconds():
    with open(f"/proc/{PID}/stat") as stat:
        user, system = stat.read().rsplit(")", 1)[1].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def is_alive():
    """Whether each request is answered, and one of them with what it asked for: a server with a full queue says that it is busy."""
    for _ in range(100):
        with connect() as connection:
            got = answer(connection, b"version\r\n", b"\r\n")
            if got.startswith(b"VERSION"):
                return True
            assert got == b"SERVER_ERROR busy\r\n", got
        time.sleep(0.05)
    return False


def idle_connections_cost_no_time():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    connections = min(CONNECTIONS, hard - 100)
    before = resident_bytes()
    idle = [connect() for _ in range(connections)]
    for connection in idle[:: max(1, connections // 500)]:
        assert answer(connection, b"get nothing\r\n", b"END\r\n") == b"END\r\n"
    time.sleep(0.5)
    began, used = time.monotonic(), cpu_seconds()
    time.sleep(3)
    share = (cpu_seconds() - used) / (time.monotonic() - began)
    each = (resident_bytes() - before) / connections
    print(f"{connections} idle connections: {share:.1%} of a core, {each:.0f} B of memory each")
    assert share < 0.02, "idle connections cost time"
    assert each < 4096, "idle connections cost memory"
    assert answer(idle[-1], b"set a 0 0 1\r\nx\r\nget a\r\n", b"END\r\n").endswith(b"x\r\nEND\r\n")
    for connection in idle:
        connection.close()


def a_half_closed_client_gets_its_answers():
    with connect() as connection:
        connection.sendall(b"set h 0 0 1\r\nx\r\n" + b"get h\r\n" * 1000 + b"get unfinished")
        connection.shutdown(socket.SHUT_WR)
        got = b""
        while more := connection.recv(1 << 20):
            got += more
    assert got == b"STORED\r\n" + b"VALUE h 0 1\r\nx\r\nEND\r\n" * 1000, got[-100:]


def a_slow_reader_is_bounded_and_loses_nothing():
    value = b"v" * 500_000
    with connect() as connection:
        assert answer(connection, b"set slow 0 0 500000\r\n" + value + b"\r\n", b"STORED\r\n")
        before = resident_bytes()
        # Two hundred megabytes of answers that nobody takes.
        connection.sendall(b"get slow\r\n" * 400)
        time.sleep(1)
        grown = resident_bytes() - before
        assert is_alive(), "others are not served beside a slow reader"
        got, wanted = 0, 400 * (len(b"VALUE slow 0 500000\r\n\r\nEND\r\n") + len(value))
        while got < wanted:
            more = connection.recv(1 << 20)
            assert more, "closed"
            got += len(more)
    print(f"a reader of 200 MB that did not read: {grown / 2**20:.0f} MiB more")
    assert got == wanted


def requests_that_never_end_are_bounded():
    before = resident_bytes()
    greedy = [connect() for _ in range(200)]
    for connection in greedy:
        connection.setblocking(False)
        try:
            connection.send(b"set greedy 0 0 1000000\r\n" + b"x" * 900_000)
        except BlockingIOError:
            pass
    time.sleep(1)
    grown = resident_bytes() - before
    print(f"200 values of 900 kB that do not end: {grown / 2**20:.0f} MiB more")
    assert grown < 160 << 20, "incomplete requests are not bounded"
    assert is_alive()
    for connection in greedy:
        connection.close()


def clients_that_vanish_leave_nothing():
    for _ in range(200):
        connection = connect()
        connection.sendall(b"get a\r\n" * 100)
        # A reset, not a close, with answers on their way.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()
    assert is_alive()
    # Itself at least; those that are gone are not counted after the next look.
    for _ in range(100):
        with connect() as connection:
            stats = answer(connection, b"stats\r\n", b"END\r\n")
        connected = int(stats.split(b"STAT curr_connections ")[1].split(b"\r\n")[0])
        if connected <= 2:
            return
        time.sleep(0.05)
    raise AssertionError(f"{connected} connections are still counted")


def what_is_no_protocol_is_left():
    for garbage in (b"\x16\x03\x01" * 1000, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\0" * 5000, b"x" * 100_000):
        with connect() as connection:
            try:
                connection.sendall(garbage)
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(1 << 20):
                    pass
            except OSError:
                pass
    assert is_alive()


def datagrams():
    """Over UDP, where the server listens there too: each datagram is answered under its number."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(2)
        client.connect(("127.0.0.1", PORT))
        value = b"u" * 5000
        with connect() as connection:
            assert answer(connection, b"set udp 0 0 5000\r\n" + value + b"\r\n", b"STORED\r\n")
        client.send(struct.pack(">HHHH", 0x1234, 0, 1, 0) + b"get udp\r\n")
        pieces = {}
        while not pieces or len(pieces) < count:
            try:
                datagram = client.recv(2048)
            except (TimeoutError, ConnectionRefusedError):
                assert not pieces, "a piece of the answer is missing"
                return print("no UDP here")
            number, piece, count, _ = struct.unpack(">HHHH", datagram[:8])
            assert number == 0x1234 and len(datagram) <= 1400
            pieces[piece] = datagram[8:]
        whole = b"".join(pieces[piece] for piece in range(count))
        assert whole == b"VALUE udp 0 5000\r\n" + value + b"\r\nEND\r\n"
        for garbage in (b"", b"short", b"\0" * 8, b"\0" * 8 + b"get"):
            client.send(garbage)
        client.send(struct.pack(">HHHH", 7, 0, 1, 0) + b"version\r\nmn\r\n")
        assert client.recv(2048).endswith(b"MN\r\n")
        print(f"UDP: {count} datagrams of one answer")


for check in (
    what_is_no_protocol_is_left,
    a_half_closed_client_gets_its_answers,
    a_slow_reader_is_bounded_and_loses_nothing,
    requests_that_never_end_are_bounded,
    clients_that_vanish_leave_nothing,
    datagrams,
    idle_connections_cost_no_time,
):
    check()
print("hostile and idle clients: the server goes on")
