"""`python3 -m conformance.typed ENDPOINT DESCRIPTORS`: calls the service of the tests, whose server is `every_server` of the crate `typed-tests`."""

import random
import sys

from nebula_reference import shm, typed, udp

from .checks import equal

SERVICE = "tests.every.Every"
INVALID_ARGUMENT, NOT_FOUND, UNIMPLEMENTED = 3, 5, 12


def random_loose(draw, of, depth=2):
    """A message with any of its fields."""
    message = of("tests.every.Loose")()
    if draw.random() < 0.8:
        message.name = "".join(draw.choice("aß木🎉 ") for _ in range(draw.randrange(20)))
    if draw.random() < 0.5:
        message.maybe = draw.choice([0, 1, 2**32 - 1])
    for _ in range(draw.randrange(4)):
        message.inner.add(n=draw.getrandbits(draw.choice([1, 7, 8, 32])), kind=draw.choice([0, 1, 77]))
    # One entry: a map has no order, so its bytes would be no comparison.
    if draw.random() < 0.5:
        message.counts["key"] = draw.getrandbits(64)
    choice = draw.randrange(3)
    if choice == 1:
        message.data = draw.randbytes(draw.randrange(200))
    if choice == 2:
        message.color = draw.choice([0, 1, 7, -1])
    if depth > 0 and draw.random() < 0.5:
        message.next.CopyFrom(random_loose(draw, of, depth - 1))
    return message


def the_bytes_of_messages_are_googles(client, every, descriptors):
    """What is read and written again by the server has the bytes that Google's library has written."""
    draw = random.Random(15)
    for _ in range(300):
        message = random_loose(draw, descriptors.message)
        written = message.SerializeToString(deterministic=True)
        method = every.methods["EchoLoose"]
        number = descriptors.option(method, "MethodOptions", "id")
        reply = client.call(written + (every.id | number << 16).to_bytes(4, "little"))
        equal(typed.open_reply(reply).hex(), written.hex(), "the bytes of the reply")
        equal(every.call("EchoLoose", message), message, "the reply")


def errors_come_as_statuses(client, every, _):
    """A service's errors, a method that is not there, a request that is none."""
    for code, said, details in [(NOT_FOUND, "no such thing", b"\1\2"), (9, "", b""), (16, "grün", b"")]:
        try:
            every.call("Fail", code=code, message=said, details=details)
            raise AssertionError("no error")
        except typed.StatusError as error:
            equal((error.code, error.message, error.details), (code, said, details), "the status")
    for request, code in [((every.id | 999 << 16).to_bytes(4, "little"), UNIMPLEMENTED), (b"\xff", INVALID_ARGUMENT)]:
        try:
            typed.open_reply(client.call(request))
            raise AssertionError("no error")
        except typed.StatusError as error:
            equal(error.code, code, "the code")


def main():
    endpoint, path = sys.argv[1:]
    with open(path, "rb") as file:
        descriptors = typed.Descriptors(file.read())
    client = shm.Client(endpoint, slots=64) if endpoint.startswith("shm://") else udp.Client(endpoint)
    every = typed.Service(client, descriptors, SERVICE)
    for case in [the_bytes_of_messages_are_googles, errors_come_as_statuses]:
        case(client, every, descriptors)
        print(f"ok {case.__name__}", flush=True)
    client.close()


if __name__ == "__main__":
    main()
