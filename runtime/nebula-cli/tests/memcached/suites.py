"""Runs the test suites of client libraries against a server: `suites.py FOLDER PORT`.

A failure is accepted if `ACCEPTED` has its reason; a test there that passes is a failure too. FOLDER keeps what is
downloaded.
"""

import asyncio
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile

import pymemcache.test
import pytest

ACCEPTED = {
    "test_integration.py::test_misc": "cache_memlimit: the memory of a store is fixed when it begins",
    "test_client.py::ClientTests::test_utf8_encoding": "a key with spaces, which the binary protocol alone has",
    "test_client.py::ClientTests::test_zerokey": "a key of control characters, likewise",
}
PYLIBMC = "pylibmc-1.6.3"
GOMEMCACHE = "github.com/bradfitz/gomemcache/memcache"
GOMEMCACHE_VERSION = "v0.0.0-20260422231931-4d751bb6e37c"
# gomemcache's test knows no other.
GO_PORT = 11211


class Outcomes:
    """A plugin of pytest: what passed, what failed, and why."""

    def __init__(self):
        self.passed, self.failed = set(), {}

    def pytest_runtest_logreport(self, report):
        name = report.nodeid.rsplit("/", 1)[-1].split("[")[0]
        if report.failed:
            self.failed[name] = report.longreprtext.splitlines()[-1]
        elif report.when == "call" and report.passed:
            self.passed.add(name)


def run(name, *args):
    outcomes = Outcomes()
    quiet = ["-q", "--no-header", "--tb=no", "--disable-warnings", "-r", "N", "-c", "/dev/null", "-p", "no:cacheprovider"]
    ended = pytest.main([*quiet, *map(str, args)], plugins=[outcomes])
    assert ended in (0, 1) and outcomes.passed, f"{name}: the suite did not run"
    wrong = {test: why for test, why in outcomes.failed.items() if test not in ACCEPTED}
    passing = [test for test in ACCEPTED if test in outcomes.passed and test not in outcomes.failed]
    for test in outcomes.failed.keys() & ACCEPTED.keys():
        print(f"{name}: accepted: {test}: {ACCEPTED[test]}")
    assert not wrong and not passing, f"{name}: failed: {wrong}; accepted, yet passed: {passing}"


def pylibmc(folder, port):
    """Its tests are in its sources alone. Those over the binary protocol, which we do not speak, are run over text."""
    if not (folder / PYLIBMC).is_dir():
        pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", "pylibmc", "-d", folder]
        if subprocess.run([*pip, PYLIBMC.replace("-", "==")]).returncode != 0:
            return print("pylibmc: skipped, for its sources cannot be downloaded")
        with tarfile.open(folder / f"{PYLIBMC}.tar.gz") as sources:
            sources.extractall(folder, filter="data")
    tests = folder / PYLIBMC / "tests"
    for path in tests.glob("*.py"):
        path.write_text(path.read_text().replace("binary=True", "binary=False"))
    os.environ |= {"MEMCACHED_HOST": "127.0.0.1", "MEMCACHED_PORT": str(port)}
    # memcached fails those of Amazon's discovery too.
    run("pylibmc", tests, "-k", "not AutoConf")


async def forward(port):
    async def copy(reader, writer):
        while piece := await reader.read(1 << 16):
            writer.write(piece)
            await writer.drain()
        writer.close()

    async def serve(reader, writer):
        there, back = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(copy(reader, back), copy(there, writer), return_exceptions=True)

    return await asyncio.start_server(serve, "127.0.0.1", GO_PORT)


async def gomemcache(folder, port):
    if shutil.which("go") is None:
        return print("gomemcache: skipped, for there is no go")
    try:
        forwarder = await forward(port)
    except OSError:
        return print(f"gomemcache: skipped, for port {GO_PORT} is taken")
    module = folder / "gomemcache"
    module.mkdir(exist_ok=True)
    requires = f"require {GOMEMCACHE.rsplit('/', 1)[0]} {GOMEMCACHE_VERSION}"
    (module / "go.mod").write_text(f"module suites\n\ngo 1.20\n\n{requires}\n")
    if subprocess.run(["go", "mod", "download", "all"], cwd=module).returncode != 0:
        return print("gomemcache: skipped, for it cannot be downloaded")
    # Other tests start memcached themselves.
    test = ["go", "test", "-mod=mod", "-count=1", "-v", "-run", "TestLocalhost", GOMEMCACHE]
    tests = await asyncio.create_subprocess_exec(*test, cwd=module, stdout=subprocess.PIPE)
    said, _ = await tests.communicate()
    forwarder.close()
    assert b"--- PASS: TestLocalhost" in said, f"gomemcache: {said.decode()}"
    print("gomemcache: passed")


folder, port = pathlib.Path(sys.argv[1]), int(sys.argv[2])
suite = pathlib.Path(pymemcache.test.__file__).parent / "test_integration.py"
run("pymemcache", suite, "--server", "127.0.0.1", "--port", port, f"--confcutdir={suite.parent}")
pylibmc(folder, port)
asyncio.run(gomemcache(folder, port))
