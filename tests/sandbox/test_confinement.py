"""What holds a program that runs a stranger's code in its own process: roots, rights, calls, memory, time, groups."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from oragent._base.protocol import Result, Status, format_result
from oragent.evaluation import EvaluationRunner, Job
from oragent.sandbox.isolation.mechanisms import FORBID, Mechanism
from oragent.sandbox.isolation.probe import probe_mechanisms
from oragent.sandbox.isolation.process_usage import ControlGroup, _parent_groups
from oragent.sandbox.messages import PYTHON, Command, CommandResult, EndReason, Limits
from oragent.sandbox.sandbox import Sandbox

WORKING = {report.mechanism for report in probe_mechanisms() if report.works}
BLOCK = format_result(Result({}, None, 3.5))


def needs(*means: Mechanism) -> pytest.MarkDecorator:
    return pytest.mark.skipif(not WORKING.issuperset(means), reason=f"this machine lacks one of {means}")


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as made:
        yield made


def python(sandbox: Sandbox, text: str, *, trusted: bool = False, **limits: float) -> CommandResult:
    return sandbox(Command((PYTHON, "m.py"), {"m.py": text}, limits=Limits(**limits), trusted=trusted))


@needs(Mechanism.NAMESPACES)
def test_what_a_project_holds_beside_data_is_hidden(tmp_path: Path) -> None:
    for name in ("data/in", "outputs/run/best.py", "outputs/run/problem/eval.py", ".env", ".git/config", "mine/x"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    warm_up = tmp_path / "outputs" / "run" / "problem" / "eval.py"
    text = f"import os\nfor base, _, files in sorted(os.walk({str(tmp_path)!r})): print(base[{len(str(tmp_path))}:], files)"
    text += f"\nprint(repr(open('{tmp_path}/.env').read()))"
    with Sandbox() as sandbox:
        ended = sandbox(Command((PYTHON, "m.py"), {"m.py": text}), root_dir=tmp_path, warm_up=warm_up)
    listed = [line for line in ended.stdout.splitlines() if "[]" not in line]
    assert listed == [" ['.env']", "/data ['in']", "/mine ['x']", "/outputs/run/problem ['eval.py']", "''"], (
        ended.stderr
    )


@needs(Mechanism.NAMESPACES)
def test_it_has_no_rights_and_neither_users_nor_the_machine_in_sight(sandbox: Sandbox) -> None:
    text = """
import os
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print([int(status[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")], int(status["NoNewPrivs"]))
print([path for path in ("/etc/shadow", "/var", "/home", "/run", "/etc/machine-id", "/dev/shm") if os.path.exists(path)])
"""
    assert python(sandbox, text).stdout == "[0, 0, 0, 0] 1\n[]\n"


@needs(Mechanism.SECCOMP)
def test_calls_that_only_change_what_confines_it_are_refused_and_others_work(sandbox: Sandbox) -> None:
    text = """
import ctypes, os, socket, subprocess, threading
libc = ctypes.CDLL(None, use_errno=True)
def refused(result): return result < 0 and ctypes.get_errno() == 1
print(refused(libc.unshare(0x10000000)), refused(libc.ptrace(0, 0, 0, 0)), refused(libc.mount(b"a", b"/", b"tmpfs", 0, 0)))
for family in (socket.AF_INET, socket.AF_UNIX, socket.AF_NETLINK):
    try: socket.socket(family, socket.SOCK_DGRAM)
    except PermissionError: print("no socket")
one, two = socket.socketpair()
one.send(b"x"); print(two.recv(1))
thread = threading.Thread(target=print, args=("a thread",)); thread.start(); thread.join()
print(subprocess.run(["/bin/echo", "a program"], capture_output=True, text=True).stdout.strip())
os.mkfifo("pipe"); print(os.listdir("."))
"""
    expected = ["True True True", *["no socket"] * 3, "b'x'", "a thread", "a program"]
    ended = python(sandbox, text)
    assert ended.stdout.splitlines()[:-1] == expected, ended.stderr
    assert "'pipe'" in ended.stdout


@needs(Mechanism.NAMESPACES)
def test_one_that_is_trusted_can_make_namespaces_and_mount_in_them(sandbox: Sandbox) -> None:
    text = """
from pathlib import Path
from oragent.sandbox.isolation import kernel, namespaces, root
from oragent.sandbox.isolation.environment import interpreter_places
from oragent.sandbox.isolation.probe import run_in_child
def act():
    namespaces.enter_namespaces()
    root.pivot_to_minimal_root(interpreter_places())
print(repr(run_in_child(act)))
"""
    if not os.path.exists("/proc/sys/user/max_user_namespaces") and os.geteuid() == 0:
        pytest.skip("this kernel has no user namespaces")
    assert python(sandbox, text, trusted=True).stdout == "''\n"
    assert "Operation not permitted" in python(sandbox, text).stdout or Mechanism.SECCOMP not in WORKING


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux counts data")
def test_what_is_reserved_and_not_used_counts_for_nothing_and_data_counts(sandbox: Sandbox) -> None:
    """As a build of PyTorch for CUDA does: gigabytes are reserved, and mapped from files, while it is imported."""
    reserve = """
import mmap, os
with open("large", "wb") as file: file.truncate(30 << 20)
kept = [mmap.mmap(-1, 4 << 30, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, 0)]
with open("large", "rb") as file:
    kept += [mmap.mmap(file.fileno(), 30 << 20, mmap.MAP_PRIVATE, mmap.PROT_READ) for _ in range(60)]
"""
    ended = python(sandbox, f"{reserve}\nx = bytearray(100 << 20); print('enough')", memory_mb=300)
    assert ended.stdout == "enough\n", ended.stderr
    ended = python(sandbox, f"{reserve}\nx = bytearray(400 << 20); print('too much')", memory_mb=300)
    assert (ended.stdout, "MemoryError" in ended.stderr) == ("", True)


CHILDREN = """
import os, time
while True:
    child = os.fork()
    if child == 0:
        begun = time.process_time()
        while time.process_time() < begun + 0.1: pass
        os._exit(0)
    os.waitpid(child, 0)
"""


@pytest.mark.slow
@pytest.mark.parametrize("isolation", ["", "limits", "without:cgroups"])
def test_cpu_seconds_of_all_processes_together_are_the_limit(isolation: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FORBID, isolation)
    with Sandbox() as sandbox:
        for text in ("while True: pass", CHILDREN):
            ended = python(sandbox, text, cpu_s=0.5)
            assert (ended.end, "of 0.5 CPU seconds" in ended.reason) == (EndReason.DEADLINE, True)
            assert 0.5 <= ended.cpu_s < 1.5


@pytest.mark.slow
def test_what_sleeps_is_ended_and_what_wakes_up_to_work_is_not(sandbox: Sandbox) -> None:
    ended = python(sandbox, "import time; time.sleep(60)", idle_s=1)
    assert (ended.end, ended.reason) == (EndReason.DEADLINE, "it slept: hardly any CPU used for 1 s")
    work = "import time\nfor _ in range(4):\n    time.sleep(0.5)\n    sum(range(5 * 10**6))\nprint('done')"
    assert python(sandbox, work, idle_s=1.5).stdout == "done\n"


def test_a_limit_by_the_clock_holds_where_it_is_set(sandbox: Sandbox) -> None:
    ended = python(sandbox, "import time\nwhile True: time.sleep(0.01)", wall_s=1)
    assert (ended.end, ended.reason) == (EndReason.DEADLINE, "it did not end within 1 s")


def burning(tmp_path: Path, seconds: str) -> Job:
    """An evaluation that computes for so long."""
    text = f"import time\nwhile time.process_time() < {seconds}: pass\nprint('''{BLOCK}''')"
    (tmp_path / "eval.py").write_text(text)
    return Job(tmp_path / "eval.py", "", tmp_path, Limits(cpu_s=1))


@pytest.mark.parametrize(
    ("uses", "status", "runs"),
    [([0.5], "ok", 1), ([1.1, 0.9], "ok", 2), ([1.1, 1.15], "timeout", 2), ([1.15, 1.1], "timeout", 2)],
)
def test_nearly_too_much_is_measured_twice(tmp_path: Path, uses: list[float], status: str, runs: int) -> None:
    told: list[Limits] = []
    left = iter(uses)

    def once(command: Command, **_: object) -> CommandResult:
        told.append(command.limits)
        return CommandResult(EndReason.EXITED, 0, BLOCK, wall_s=1.0, cpu_s=next(left))

    runner = EvaluationRunner()
    runner._sandbox = once  # type: ignore[assignment]
    found = runner(burning(tmp_path, "0.5"))
    assert (found.status, len(told), found.cpu_s) == (status, runs, min(uses))
    assert {limits.cpu_s for limits in told} == {1.2}


@pytest.mark.slow
def test_an_evaluation_without_a_result_is_run_once(tmp_path: Path) -> None:
    with EvaluationRunner() as run:
        found = run(burning(tmp_path, "60"))
    assert (found.status, found.message) == (Status.TIMEOUT, "no result within 1 CPU seconds")
    assert found.cpu_s < 2.2


def groups() -> set[str]:
    return {folder.name for _, parent in _parent_groups() for folder in parent.glob("oragent-*")}


@needs(Mechanism.CGROUPS)
@pytest.mark.parametrize("starts", [5, pytest.param(200, marks=pytest.mark.slow)])
def test_no_control_group_is_left_however_a_server_ends(starts: int) -> None:
    names = []
    for number in range(starts):
        with Sandbox() as sandbox:
            client = sandbox.start(Limits())
            names.append(client._group)
            if number % 3:
                assert python(sandbox, "pass").code == 0
            if number % 2:
                client._process.kill()  # as when the kernel ends it for want of memory
    assert not [name for name in groups() if name.startswith(tuple(names))]


@needs(Mechanism.CGROUPS)
def test_a_control_group_that_is_there_already_is_no_excuse() -> None:
    name = f"oragent-test-{os.getpid()}-twice"
    group = ControlGroup.make(name, 64, 16)
    try:
        with pytest.raises(FileExistsError):
            ControlGroup.make(name, 64, 16)
    finally:
        group.remove()
    assert name not in groups()


@needs(Mechanism.NAMESPACES)
def test_nothing_stays_mounted_from_one_command_to_the_next(sandbox: Sandbox) -> None:
    text = "print(len(open('/proc/self/mountinfo').readlines()), len(__import__('os').listdir('/proc/self/fd')))"
    told = {python(sandbox, text).stdout for _ in range(5)}
    assert len(told) == 1


@pytest.mark.skipif(not os.path.exists("/proc/self/environ"), reason="no /proc")
def test_no_generation_begins_with_a_key(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SOME_KEY", "secret-key")
    monkeypatch.setenv(FORBID, "limits")  # so that all of them can be seen
    text = """
import os
number = os.getpid()
while number > 1:
    try: begun = open(f"/proc/{number}/environ", "rb").read()
    except OSError: begun = b"?"
    if b"sandbox.server" not in open(f"/proc/{number}/cmdline", "rb").read(): break
    print(b"secret-key" in begun)
    number = int(open(f"/proc/{number}/stat").read().rpartition(")")[2].split()[1])
"""
    (tmp_path / "m.py").write_text("")
    with Sandbox() as sandbox:
        told = sandbox(Command((PYTHON, "m.py"), {"m.py": text}), warm_up=tmp_path / "m.py").stdout.split()
    assert len(told) == 5
    assert set(told) == {"False"}


def test_waking_up_now_and_then_is_sleeping_too(sandbox: Sandbox) -> None:
    ended = python(sandbox, "import time\nwhile True: time.sleep(0.02)", idle_s=1)
    assert ended.end is EndReason.DEADLINE
    assert "slept" in ended.reason
