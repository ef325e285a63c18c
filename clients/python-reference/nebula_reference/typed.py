"""Methods of a `.proto`, over any client with `call`. Messages that have protobuf's encoding; needs the package `protobuf`.

    services = typed.Descriptors(open("every.descriptors", "rb").read())   # nebula_build: Config::descriptors
    every = typed.Service(udp.Client("udp://127.0.0.1:7400"), services, "tests.every.Every")
    reply = every.call("EchoLoose", name="tea")
"""

import struct

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from .siphash import siphash24

_METHOD = struct.Struct("<I")
_END = struct.Struct("<HH")
_SERVICE_MAX = 0xFFFF


class StatusError(Exception):
    """The service answered with an error: a code of gRPC's, a message for people, bytes for programs."""

    def __init__(self, code, message, details):
        super().__init__(f"{code}: {message}")
        self.code, self.message, self.details = code, message, details


class Malformed(Exception):
    """Bytes that are no reply of a typed service."""


class Descriptors:
    """The messages and services of a set of files."""

    def __init__(self, encoded):
        self.pool = descriptor_pool.DescriptorPool()
        for file in descriptor_pb2.FileDescriptorSet.FromString(encoded).file:
            self.pool.Add(file)

    def message(self, name):
        """The class of a message."""
        return message_factory.GetMessageClass(self.pool.FindMessageTypeByName(name))

    def option(self, descriptor, of, name):
        """The value of one of Nebula's options, 0 where it is not said."""
        options = self.message(f"google.protobuf.{of}").FromString(descriptor.GetOptions().SerializeToString())
        return options.Extensions[self.pool.FindExtensionByName(f"nebula.{name}")]


def service_id(name):
    """The number of a service that says none."""
    return siphash24(bytes(16), name.encode()) % _SERVICE_MAX + 1


def open_reply(reply):
    """The message's bytes. Raises `StatusError`."""
    if len(reply) < _END.size:
        raise Malformed(reply)
    body, (code, message_bytes) = reply[: -_END.size], _END.unpack(reply[-_END.size :])
    if code == 0 and message_bytes == 0:
        return body
    if code == 0 or message_bytes > len(body):
        raise Malformed(reply)
    raise StatusError(code, body[:message_bytes].decode(errors="replace"), body[message_bytes:])


class Service:
    """A service behind `client`."""

    def __init__(self, client, descriptors, name):
        self.client = client
        service = descriptors.pool.FindServiceByName(name)
        self.id = descriptors.option(service, "ServiceOptions", "service_id") or service_id(name)
        self.methods = {method.name: method for method in service.methods}
        self._descriptors = descriptors

    def call(self, method, request=None, **fields):
        """The reply to `request`, or to one with these fields."""
        described = self.methods[method]
        of = self._descriptors.message
        request = of(described.input_type.full_name)(**fields) if request is None else request
        number = self._descriptors.option(described, "MethodOptions", "id")
        body = open_reply(self.client.call(request.SerializeToString(deterministic=True) + _METHOD.pack(self.id | number << 16)))
        return of(described.output_type.full_name).FromString(body)
