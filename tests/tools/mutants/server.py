"""A process that has imported and collected the tests, and forks for each fault.

``python -m tests.tools.mutants.server DESCRIPTOR FOLDER TEST...`` runs in a copy of the project. Requests come through
the connection of that descriptor: which lines each test executes, or whether tests notice a fault. A fork changes the
code of functions in memory; the file is changed for as long too, for modules that are imported later, also by
processes that tests begin.
"""

import contextlib
import gc
import itertools
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import import_module
from multiprocessing.connection import Connection
from pathlib import Path
from types import CodeType, FunctionType

import coverage
import pytest

from tests.tools.mutants.faults import Fault

__all__ = ["Measured", "Verdict", "changed_codes"]

# A test may take longer beside others than when it was measured.
MIN_PATIENCE_S, PATIENCE = 10.0, 10.0
# Machine code is compiled when the module is imported: a changed function in memory would not be called.
COMPILED_EARLY = (b"njit", b"@kernel(")
CRASHED = 70
# A fork drops what its parent had open, such as processes that parse; that is no fault of the test that runs first.
LEFT_OUT = ("cacheprovider", "xdist", "cov", "unraisableexception")
OPTIONS = ("-q", *(word for name in LEFT_OUT for word in ("-p", f"no:{name}")))


@dataclass
class Measured:
    """Tests that passed: their seconds, and the lines of the product that each executed, by file."""

    seconds: dict[str, float] = field(default_factory=dict)
    lines: dict[str, dict[str, list[int]]] = field(default_factory=dict)


@dataclass
class Verdict:
    """Whether a fault was noticed, and the test that ran last."""

    is_killed: bool
    test: str = ""
    is_timeout: bool = False


def changed_codes(old: bytes, new: bytes, file: str) -> dict[CodeType, CodeType] | None:
    """Return the code objects that differ between two texts of a module, or None where they do not correspond."""
    before, after = (list(_codes(compile(text, file, "exec", dont_inherit=True))) for text in (old, new))
    if [code.co_name for code in before] != [code.co_name for code in after]:
        return None
    pairs = [(code, other) for code, other in zip(before, after, strict=True) if code != other]
    changed = {code: other for code, other in pairs if code.co_name != "<module>"}
    return changed if all(code.co_freevars == other.co_freevars for code, other in changed.items()) else None


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


@contextlib.contextmanager
def changed_file(file: Path, text: bytes, later_s: int) -> Iterator[None]:
    """Give a file another text for a while. Compiled files are told apart by the second of the change."""
    old, stat = file.read_bytes(), file.stat()
    file.write_bytes(text)
    os.utime(file, (stat.st_atime, stat.st_mtime + later_s))
    try:
        yield
    finally:
        file.write_bytes(old)
        os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))


class Recorder:
    """Lines and seconds of tests; what a fixture of a module or session does is added to each test that uses it."""

    def __init__(self, package: str) -> None:
        self.root = Path.cwd()
        self.coverage = coverage.Coverage(data_file=None, config_file=False, include=[f"{self.root}/{package}/*"])
        self.context, self.apart = "", 0.0
        self.fixture_seconds: dict[str, float] = {}

    def switch(self, context: str) -> str:
        """Record for another context, and return the one before."""
        before, self.context = self.context, context
        self.coverage.switch_context(context)
        return before

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef, request: pytest.FixtureRequest) -> Iterator[None]:
        """Record a shared fixture in a context of its own."""
        if fixturedef.scope == "function":
            return (yield)
        begun, before = time.monotonic(), self.switch(f"fixture {id(fixturedef)}")
        try:
            return (yield)
        finally:
            self.fixture_seconds[self.context] = time.monotonic() - begun
            self.apart += time.monotonic() - begun
            self.switch(before)

    def read(self, seconds: dict[pytest.Item, float]) -> Measured:
        """Return what was recorded of these tests."""
        self.coverage.stop()
        data = self.coverage.get_data()
        by_context: dict[str, dict[str, list[int]]] = {}
        for file in sorted(data.measured_files()):
            for line, contexts in data.contexts_by_lineno(file).items():
                for context in contexts:
                    path = str(Path(file).relative_to(self.root))
                    by_context.setdefault(context, {}).setdefault(path, []).append(line)
        measured = Measured()
        for item, taken in seconds.items():
            definitions = [found[-1] for found in item._fixtureinfo.name2fixturedefs.values()]
            contexts = [f"fixture {id(definition)}" for definition in definitions]
            lines: dict[str, set[int]] = {}
            for context in (item.nodeid, *contexts):
                for path, numbers in by_context.get(context, {}).items():
                    lines.setdefault(path, set()).update(numbers)
            measured.seconds[item.nodeid] = taken + sum(self.fixture_seconds.get(context, 0.0) for context in contexts)
            measured.lines[item.nodeid] = {path: sorted(numbers) for path, numbers in lines.items()}
        return measured


class Server:
    """Plug-in of pytest that serves requests in place of running the collected tests."""

    def __init__(self, connection: Connection, folder: Path) -> None:
        self.connection, self.folder = connection, folder
        self.has_failed = False
        self.verified: dict[str, bool] = {}
        self.numbers = itertools.count(1)
        self.functions: dict[str, list[FunctionType]] = {}
        self.items: dict[str, pytest.Item] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note that a test failed."""
        self.has_failed |= report.failed

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Serve requests until the connection is closed."""
        self.items = {item.nodeid: item for item in session.items}
        for thing in gc.get_objects():
            if isinstance(thing, FunctionType):
                self.functions.setdefault(thing.__code__.co_filename, []).append(thing)
        gc.freeze()
        self.connection.send(sorted(self.items))
        while True:
            try:
                name, arguments = self.connection.recv()
            except EOFError:
                return True
            self.connection.send(getattr(self, name)(*arguments))

    def measure(self, tests: list[str], package: str) -> Measured:
        """Run tests in a fork, and return what those that passed took and executed."""
        ours, theirs = os.pipe()
        pid = self._fork()
        if not pid:
            os.close(ours)
            try:
                measured = self._measure([self.items[test] for test in tests], package)
                with Connection(theirs, readable=False) as connection:
                    connection.send(measured)
            finally:
                self._end(0)
        os.close(theirs)
        measured = Measured()
        with Connection(ours, writable=False) as connection, contextlib.suppress(EOFError):
            measured = connection.recv()
        self._reap(pid)
        return measured

    def _measure(self, items: list[pytest.Item], package: str) -> Measured:
        recorder = Recorder(package)
        items[0].config.pluginmanager.register(recorder)
        recorder.coverage.start()
        seconds = {}
        for item, following in itertools.pairwise([*items, None]):
            begun, recorder.apart = time.monotonic(), 0.0
            recorder.switch(item.nodeid)
            if self._passes(item, following):
                seconds[item] = time.monotonic() - begun - recorder.apart
        return recorder.read(seconds)

    def judge(self, path: str, fault: Fault, tests: dict[str, float]) -> Verdict:
        """Return whether tests notice a fault in a file; they run in the given order."""
        file = Path(path).resolve()
        old = file.read_bytes()
        text = fault.apply(old)
        codes = None if any(word in old for word in COMPILED_EARLY) else changed_codes(old, text, str(file))
        rest = dict(tests)
        while rest:
            with changed_file(file, text, 10 + next(self.numbers)):
                verdict = judge_apart(rest) if codes is None else self._run_forked(rest, file, codes)
            if not verdict.test or not verdict.is_killed or self._is_sound(verdict.test, tests):
                return verdict
            # The test fails without the fault as well.
            del rest[verdict.test]
        return Verdict(False)

    def _is_sound(self, test: str, tests: dict[str, float]) -> bool:
        if test not in self.verified:
            self.verified[test] = not self._run_forked({test: tests[test]}, Path(), {}).is_killed
        return self.verified[test]

    def _run_forked(self, tests: dict[str, float], file: Path, codes: dict[CodeType, CodeType]) -> Verdict:
        ours, theirs = os.pipe()
        pid = self._fork()
        if not pid:
            os.close(ours)
            code = CRASHED
            try:
                for function in self.functions.get(str(file), ()):
                    function.__code__ = codes.get(function.__code__, function.__code__)
                code = self._run_reported(tests, theirs)
            finally:
                # A fork that went on would serve requests beside its parent.
                self._end(code)
        os.close(theirs)
        test, is_timeout = self._follow(pid, ours, tests)
        os.close(ours)
        return Verdict(self._reap(pid, is_timeout) != 0, test, is_timeout)

    def _run_reported(self, tests: dict[str, float], report: int) -> int:
        """Run tests until one fails; write the position of each before it begins."""
        items = [self.items[test] for test in tests]
        for number, (item, following) in enumerate(itertools.pairwise([*items, None])):
            os.write(report, b"%d\n" % number)
            if not self._passes(item, following):
                return 1
        return 0

    def _follow(self, pid: int, report: int, tests: dict[str, float]) -> tuple[str, bool]:
        """Wait for the end of a fork; return the test that ran last, and whether it took too long."""
        names, test = list(tests), ""
        end = os.pidfd_open(pid)
        try:
            while True:
                patience = MIN_PATIENCE_S + PATIENCE * tests.get(test, 0.0)
                ready = select.select([report, end], [], [], patience)[0]
                if report in ready and (read := os.read(report, 1 << 16).split()):
                    test = names[int(read[-1])]
                elif end in ready or not ready:
                    return test, not ready
        finally:
            os.close(end)

    def _passes(self, item: pytest.Item, following: pytest.Item | None) -> bool:
        self.has_failed = False
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        return not self.has_failed

    def _fork(self) -> int:
        scratch = self.folder / str(next(self.numbers))
        pid = os.fork()
        if not pid:
            os.setsid()
            self.connection.close()
            scratch.mkdir(parents=True)
            os.environ["PYTEST_DEBUG_TEMPROOT"] = str(scratch)
        return pid

    def _end(self, code: int) -> None:
        shutil.rmtree(os.environ["PYTEST_DEBUG_TEMPROOT"], ignore_errors=True)
        os._exit(code)

    def _reap(self, pid: int, is_late: bool = False) -> int:
        """Return the exit code of a fork, and end what it leaves behind."""
        if is_late:
            os.killpg(pid, signal.SIGKILL)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
        return code


def judge_apart(tests: dict[str, float]) -> Verdict:
    """Run tests in a new process, which imports the changed file."""
    command = [sys.executable, "-m", "pytest", "-x", *OPTIONS, *tests]
    patience = 6 * MIN_PATIENCE_S + PATIENCE * sum(tests.values())
    try:
        code = subprocess.run(command, capture_output=True, timeout=patience).returncode
    except subprocess.TimeoutExpired:
        return Verdict(True, is_timeout=True)
    return Verdict(code != 0)


def main() -> None:
    """Serve requests for the tests that the command line names."""
    server = Server(Connection(int(sys.argv[1])), Path(sys.argv[2]))
    sys.exit(pytest.main([*OPTIONS, *sys.argv[3:]], plugins=[server]))


if __name__ == "__main__":
    # Replies are instances of classes that the other side can import, which those of this module are not.
    import_module("tests.tools.mutants.server").main()
