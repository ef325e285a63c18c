"""`python3 -m conformance ENDPOINT [--key-file FILE] [--slow]`: runs every case that is for such a server.

The server is `nebula serve kv --items 1k --value-bytes 100000`, with nothing stored. Prints a line for each case, and last, as JSON, how many RPCs
the server has to have executed. With `--slow` the server has `--work 20ms --slo 1s --policy single-queue`. With `--restart` this program says when to
`stop` and to `start` the server, and waits for a line on standard input each time. With `--rotate` it says when to `add` a key of the same name to the
server's file, of which the line then has the path of a file with that key alone, and when to `delete` the old one.
"""

import argparse
import json
import sys
import time
import traceback

from nebula_reference import keyfile, shm, udp

from . import any_transport, over_shm, over_udp
from .checks import Counted

LONGEST_REPLY_BYTES = 100_008


class Server:
    """Where the server is, and how to reach it."""

    def __init__(self, endpoint, keys):
        self.endpoint = endpoint
        self.keys = keys
        self.is_shm = endpoint.startswith("shm://")
        self.name = endpoint.removeprefix("shm://")

    def connect(self, **more):
        if self.is_shm:
            return shm.Client(self.endpoint, slots=8192, reply_room=LONGEST_REPLY_BYTES)
        return udp.Client(self.endpoint, self.keys, **more)


def cases(server, is_slow, is_restarted, is_rotated):
    """Each case and what it is given."""
    if is_restarted:
        return [(over_udp.a_restart, server)]
    if is_rotated:
        return [(over_udp.a_change_of_key, server)]
    if is_slow:
        return [(case, server) for case in over_udp.SLOW_CASES]
    of_transport = over_shm.CASES if server.is_shm else over_udp.CASES
    if not server.is_shm:
        of_transport = of_transport + (over_udp.SEALED_CASES if server.keys else over_udp.PLAIN_CASES)
    return [(case, server.connect) for case in any_transport.CASES] + [(case, server) for case in of_transport]


def main():
    parser = argparse.ArgumentParser(prog="conformance")
    parser.add_argument("endpoint")
    parser.add_argument("--key-file")
    parser.add_argument("--slow", action="store_true")
    parser.add_argument("--restart", action="store_true")
    parser.add_argument("--rotate", action="store_true")
    args = parser.parse_args()
    server = Server(args.endpoint, keyfile.read(args.key_file) if args.key_file else None)
    has_failed = False
    for case, given in cases(server, args.slow, args.restart, args.rotate):
        began = time.monotonic()
        try:
            case(given)
            print(f"ok {case.__name__} {time.monotonic() - began:.2f} s", flush=True)
        except Exception:
            has_failed = True
            print(f"FAILED {case.__name__}\n{traceback.format_exc()}", flush=True)
    print(json.dumps({"executed": Counted.executed, "ends": Counted.ends}))
    sys.exit(has_failed)


if __name__ == "__main__":
    main()
