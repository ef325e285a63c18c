"""The socket, and a network that loses, repeats and delays what goes through it, by a seed."""

import ipaddress
import random
import select
import socket
from urllib.parse import urlsplit

from .frame import DATAGRAM_BYTES_ANYWHERE, DATAGRAM_BYTES_LOOPBACK


class Datagrams:
    """A socket that is connected to the server of a `udp://ADDRESS:PORT`."""

    def __init__(self, endpoint):
        url = urlsplit(endpoint)
        if url.scheme != "udp":
            raise ValueError(f"{endpoint} is no udp://ADDRESS:PORT")
        address = ipaddress.ip_address(url.hostname)
        family = socket.AF_INET6 if address.version == 6 else socket.AF_INET
        self._socket = socket.socket(family, socket.SOCK_DGRAM)
        self._socket.connect((str(address), url.port))
        self._socket.setblocking(False)
        self._poll = select.poll()
        self._poll.register(self._socket, select.POLLIN)
        self.datagram_bytes = DATAGRAM_BYTES_LOOPBACK if address.is_loopback else DATAGRAM_BYTES_ANYWHERE

    def send(self, datagram):
        """Sends a datagram, or loses it: nobody may rely on one."""
        try:
            self._socket.send(datagram)
        except (BlockingIOError, ConnectionRefusedError):
            pass

    def receive(self, wait_s):
        """The next datagram, or None after `wait_s`."""
        if not self._poll.poll(wait_s * 1000):
            return None
        try:
            return self._socket.recv(65536)
        except (BlockingIOError, ConnectionRefusedError):
            return None

    def close(self):
        self._socket.close()


class Lossy:
    """Loses, repeats and delays datagrams in both directions; the seed decides which."""

    def __init__(self, network, seed, lost=0.1, repeated=0.05, delayed=0.05):
        self._network = network
        self._random = random.Random(seed)
        self._shares = (("lost", lost), ("repeated", repeated), ("delayed", delayed))
        self._late_out, self._late_in = [], []
        self._arrived = []
        self.datagram_bytes = network.datagram_bytes
        self.counts = {"lost": 0, "repeated": 0, "delayed": 0}

    def send(self, datagram):
        for copy in self._fate(datagram, self._late_out):
            self._network.send(copy)

    def receive(self, wait_s):
        if not self._arrived:
            datagram = self._network.receive(wait_s)
            self._arrived = [] if datagram is None else self._fate(datagram, self._late_in)
        return self._arrived.pop(0) if self._arrived else None

    def close(self):
        self._network.close()

    def _fate(self, datagram, late):
        """What comes out at the other end now: this one, or nothing, or it twice; and what was delayed behind it."""
        drawn = self._random.random()
        for name, share in self._shares:
            if drawn < share:
                self.counts[name] += 1
                if name == "delayed":
                    late.append(datagram)
                return [datagram] * 2 if name == "repeated" else []
            drawn -= share
        behind, late[:] = late[:], []
        return [datagram, *behind]
