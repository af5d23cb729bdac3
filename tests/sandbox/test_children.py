"""Children of oragent: what they reach, how they end, and what they never hold."""

import os
import resource
import shlex
import signal
import subprocess
import sys
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from oragent._base.errors import SandboxError
from oragent.sandbox import children
from oragent.sandbox.children import ChildLimits, run_child, run_python
from oragent.sandbox.confined_command import ProgramAccess
from oragent.sandbox.confinement_trial import explain_unconfined
from oragent.sandbox.isolation.mechanisms import FORBID
from tests.processes import bearing

LIMITS = ChildLimits(wall_s=60)
needs_namespaces = pytest.mark.skipif(bool(explain_unconfined()), reason="this machine has no namespaces for programs")


def run(script: str, folder: Path, limits: ChildLimits = LIMITS, content: bytes = b"", **parts):
    """Run a shell script as a child that changes files of this user."""
    access = ProgramAccess(str(folder), user=(os.geteuid(), os.getegid()), **{"is_lenient": True, **parts})
    return run_child(["/bin/sh", "-c", script], access, limits, content=content)


@pytest.fixture(params=["all mechanisms", "limits"])
def mechanisms(request, monkeypatch):
    if request.param == "limits":
        monkeypatch.setenv(FORBID, "limits")
    yield request.param
    children._starter.close()


@pytest.mark.usefixtures("mechanisms")
def test_a_child_gets_its_input_and_returns_output_errors_and_code(tmp_path):
    ended = run("cat; echo wrong >&2; echo made > file; exit 3", tmp_path, content=b"given\n")
    assert (ended.returncode, ended.stdout, ended.stderr) == (3, b"given\n", b"wrong\n")
    assert (tmp_path / "file").read_text() == "made\n"
    with (tmp_path / "out").open("w+b") as output:
        access = ProgramAccess(str(tmp_path), user=(os.geteuid(), os.getegid()), is_lenient=True)
        assert run_child(["/bin/echo", "here"], access, LIMITS, output=output).stdout == b""
    assert (tmp_path / "out").read_bytes() == b"here\n"
    assert run("kill -9 $$", tmp_path).returncode == 128 + signal.SIGKILL
    with pytest.raises(SandboxError):
        run_child(["/none/program"], ProgramAccess(str(tmp_path / "none")), LIMITS)


def test_a_child_has_only_the_variables_that_are_named(tmp_path, monkeypatch):
    monkeypatch.setenv("PLANTED_KEY", "sk-planted")
    children._starter.close()
    access = ProgramAccess(str(tmp_path), user=(os.geteuid(), os.getegid()), is_lenient=True)
    ended = run_child(["/usr/bin/env"], access, LIMITS, variables={"NAMED": "1"})
    assert ended.stdout == b"NAMED=1\n"
    assert b"planted" not in run_child(["/usr/bin/env"], access, LIMITS).stdout


@pytest.mark.usefixtures("mechanisms")
def test_all_processes_of_a_child_end_with_its_time(tmp_path):
    mark = f"sleep 5151.{os.getpid()}"
    begun = time.monotonic()
    with pytest.raises(subprocess.TimeoutExpired):
        run(f"setsid {mark} & nohup {mark} & (trap '' TERM; {mark}) & {mark}", tmp_path, ChildLimits(wall_s=0.3))
    assert time.monotonic() - begun < 30
    assert bearing(mark.replace(" ", "\0")) == []


@pytest.mark.usefixtures("mechanisms")
def test_what_a_child_leaves_behind_ends_with_it(tmp_path):
    mark = f"sleep 6161.{os.getpid()}"
    assert run(f"setsid {mark} > /dev/null 2>&1 & exit 4", tmp_path).returncode == 4
    assert bearing(mark.replace(" ", "\0")) == []


def test_limits_of_output_memory_and_time(tmp_path):
    ended = run("head -c 3000000 /dev/zero", tmp_path, ChildLimits(wall_s=60, file_bytes=1 << 20))
    assert len(ended.stdout) == 1 << 20
    grow = f"exec {shlex.quote(sys.executable)} -S -c 'bytes(1 << 30)'"
    readable = (sys.prefix, sys.base_prefix)
    assert run(grow, tmp_path, readable=readable).returncode == 0
    assert run(grow, tmp_path, ChildLimits(wall_s=60, memory=1 << 28), readable=readable).returncode == 1
    assert run("while :; do :; done", tmp_path, ChildLimits(wall_s=60, cpu_s=0)).returncode > 128
    kernel = dict(ChildLimits(wall_s=1, cpu_s=2.5, memory=5).to_kernel())
    assert kernel[resource.RLIMIT_CPU] == 3
    assert kernel[resource.RLIMIT_CORE] == 0


@needs_namespaces
def test_a_child_sees_only_named_files_and_changes_only_its_own(tmp_path):
    for name in ("own", "shown", "open", "hidden"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
    shown, opened = str(tmp_path / "shown"), str(tmp_path / "open")
    script = (
        f"cat {tmp_path}/*/file; for d in own shown open hidden; do echo 1 > {tmp_path}/$d/new; done; cat /proc/net/tcp"
    )
    ended = run(script, tmp_path / "own", readable=(shown,), writable=(opened,))
    assert ended.stdout.split(b"\n")[0].startswith(b"openownshown")
    assert b"hidden" not in ended.stdout
    assert sorted(path.parent.name for path in tmp_path.glob("*/new")) == ["open", "own"]
    processes = run("ls /proc | grep -c '^[0-9]'", tmp_path / "own")
    assert int(processes.stdout) < 8


@needs_namespaces
@pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes another user")
def test_root_becomes_another_user_without_capabilities(tmp_path):
    (tmp_path / "file").write_text("secret")
    (tmp_path / "file").chmod(0o600)
    script = "id -u; grep CapEff /proc/self/status; cat file 2>&1; touch made"
    for user in (65534, 1234, 0):
        folder = tmp_path / str(user)
        folder.mkdir()
        access = ProgramAccess(str(folder), user=(user, user))
        number, capabilities, *_ = run_child(["/bin/sh", "-c", script], access, LIMITS).stdout.decode().split("\n")
        assert int(number) == user
        assert int(capabilities.split()[1], 16) == 0
        assert (folder / "made").stat().st_uid == user


def test_readers_read_in_python_without_this_process_s_modules(tmp_path):
    ended = run_python("import sys; print(sys.argv[1], len(sys.stdin.buffer.read()))", ["word"], LIMITS, b"12345")
    assert ended.stdout == b"word 5\n"
    assert run_python("import oragent.modelling", [], LIMITS, b"").returncode == 0
    ended = run_python("raise SystemExit(3)", [], LIMITS, b"")
    assert ended.returncode == 3


@pytest.mark.parametrize("missing", ["namespaces", "namespaces,landlock", "landlock", "identity", "seccomp"])
def test_readers_import_oragent_whatever_mechanism_is_missing(missing, tmp_path, monkeypatch):
    monkeypatch.setenv(FORBID, f"without:{missing}")
    program = f"import os, oragent.modelling; print(os.path.exists({str(tmp_path)!r}))"
    ended = run_python(program, [], LIMITS, b"")
    assert ended.returncode == 0, ended.stderr
    # Landlock denies the reading of a file, but not the question whether it exists.
    assert ended.stdout.split()[0] == (b"True" if "namespaces" in missing or explain_unconfined() else b"False")
    children._starter.close()


def own_children() -> set[str]:
    """Children of this process, those that have ended and are not waited for included."""
    return {number for path in Path("/proc/self/task").glob("*/children") for number in path.read_text().split()}


@pytest.mark.parametrize("missing", ["", "without:namespaces", "limits"])
def test_a_process_without_keys_forks_itself_for_a_child(missing, tmp_path, monkeypatch):
    if missing:
        monkeypatch.setenv(FORBID, missing)
    monkeypatch.setattr(children, "_launch_starter", None)
    before = own_children()
    mark, access = f"sleep 8181.{os.getpid()}", ProgramAccess(str(tmp_path), is_lenient=True)
    with warnings.catch_warnings():
        # Other tests of this process have left threads.
        warnings.simplefilter("ignore", DeprecationWarning)
        ended = run_child(["/bin/sh", "-c", "cat; exit 5"], access, LIMITS, content=b"given", forks=True)
        assert (ended.returncode, ended.stdout) == (5, b"given")
        with pytest.raises(subprocess.TimeoutExpired):
            script = f"setsid {mark} & {mark}"
            run_child(["/bin/sh", "-c", script], access, ChildLimits(wall_s=0.3), forks=True)
    assert bearing(mark.replace(" ", "\0")) == []
    assert own_children() <= before


def test_a_process_that_ignores_the_ends_of_its_children_forks_itself_too(tmp_path):
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            ended = run_child(
                ["/bin/sh", "-c", "exit 5"], ProgramAccess(str(tmp_path), is_lenient=True), LIMITS, forks=True
            )
    finally:
        signal.signal(signal.SIGCHLD, before)
    assert ended.returncode == 5


@needs_namespaces
def test_a_bare_child_sees_its_own_folder_and_the_named_files_only(tmp_path):
    shown = tmp_path / "shown"
    shown.mkdir()
    (shown / "file").write_text("named")
    (tmp_path / "own").mkdir()
    programs = ("/bin/sh", "/bin/ls", "/bin/cat", "/bin/id")
    libraries = tuple(name for name in ("/lib", "/lib64", "/usr/lib") if os.path.exists(name))
    access = ProgramAccess(str(tmp_path / "own"), (str(shown), *programs, *libraries), is_bare=True)
    script = f"ls /proc /etc /dev /usr; id -u; cat {shown}/file; echo made > made; cat /dev/zero"
    ended = run_child(["/bin/sh", "-c", script], access, LIMITS, variables={"PATH": "/bin"})
    words = ended.stdout.decode().split()
    assert "null" in words
    assert {"self", "passwd", "zero", "urandom", "include", "share"}.isdisjoint(words)
    assert words[-1] == "named"
    assert (tmp_path / "own" / "made").read_text() == "made\n"
    if not os.geteuid():
        assert words[-2] == "65534"


def test_a_child_without_access_keeps_folder_and_files_and_has_its_own_processes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PLANTED_KEY", "sk-planted")
    (tmp_path / "file").write_text("here")
    mark = f"sleep 9191.{os.getpid()}"
    script = f"cat file; pwd; env; setsid {mark} & kill -9 1; exit 3"
    ended = run_child(["/bin/sh", "-c", script], None, LIMITS)
    assert ended.returncode == 3
    assert ended.stdout.startswith(b"here" + str(tmp_path).encode())
    assert b"planted" not in ended.stdout
    assert bearing(mark.replace(" ", "\0")) == []


def test_threads_and_forks_start_children_and_a_killed_starter_is_replaced(tmp_path):
    with ThreadPoolExecutor(4) as pool:
        texts = list(pool.map(lambda number: run(f"echo {number}", tmp_path).stdout, range(12)))
    assert texts == [f"{number}\n".encode() for number in range(12)]
    child = os.fork()
    if child == 0:
        os._exit(0 if run("echo forked", tmp_path).stdout == b"forked\n" else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert run("echo again", tmp_path).stdout == b"again\n"
    children._starter.connection.shutdown(2)
    assert run("echo replaced", tmp_path).stdout == b"replaced\n"


def test_an_interrupt_ends_the_child(tmp_path, monkeypatch):
    mark = f"sleep 7171.{os.getpid()}"
    plain = children.receive_message

    def receive(connection):
        answer = plain(connection)
        if "pid" in answer[0]:
            monkeypatch.undo()
            raise KeyboardInterrupt
        return answer

    monkeypatch.setattr(children, "receive_message", receive)
    with pytest.raises(KeyboardInterrupt):
        run(mark, tmp_path)
    for _ in range(100):
        if not bearing(mark.replace(" ", "\0")):
            return
        threading.Event().wait(0.1)
    raise AssertionError("the child still runs")
