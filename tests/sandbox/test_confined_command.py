"""Programs of the user in namespaces of their own: an agent with a shell, as root and as an ordinary user."""

import os
import shlex
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from oragent.sandbox import confined_command
from oragent.sandbox.confined_command import NOT_CONFINED, NOT_STARTED, ProgramAccess, wrap_command
from oragent.sandbox.confinement_trial import explain_unconfined
from oragent.sandbox.isolation.environment import NOBODY
from oragent.sandbox.isolation.mechanisms import FORBID
from tests.processes import bearing

pytestmark = pytest.mark.skipif(bool(explain_unconfined()), reason="this machine has no namespaces for programs")

KEY = "sk-planted-51423"
# Other processes of pytest run these tests, too.
MARK = f"sleep 4242.{os.getpid()}"
# What a hostile agent tries. OUTSIDE is a folder that is not named, SHOWN a file that may be read.
ATTACKS = """
tr '\\0' '\\n' < /proc/$PPID/environ
cat /proc/*/environ
cat /proc/*/cmdline
grep -a planted /proc/*/task/*/environ
cat /proc/1/mem | head -c 100000
ls -l /proc/1/root/ /proc/1/cwd/ OUTSIDE
cat /proc/1/root/OUTSIDE/secret
mkdir mounted; mount -t proc proc mounted; cat mounted/*/environ
unshare -m true && echo UNSHARED
unshare -Ur mount -t proc proc /proc && echo UNSHARED
nsenter -t 1 -m true && echo ENTERED
chroot / true && echo CHROOTED
cat OUTSIDE/secret
chmod 777 OUTSIDE/secret
chown 65534 OUTSIDE/secret
touch OUTSIDE/secret OUTSIDE/new
rm -rf OUTSIDE
ln -s OUTSIDE/secret link; cat link
chmod 777 SHOWN
chown 65534 SHOWN
touch SHOWN
echo more >> SHOWN
mv SHOWN here
rm -f SHOWN
ln SHOWN hard; echo more >> hard
touch /usr/bin/env /etc/hostname
chmod 755 /usr/bin/env
mknod disk b 254 0; head -c 10 disk
echo 1 > /proc/sys/vm/drop_caches && echo DROPPED
echo h > /proc/sysrq-trigger && echo DROPPED
setsid MARK &
(trap '' TERM HUP; MARK) &
nohup MARK &
python3 -c "import os; os.fork() or os.setsid() or os.fork() or os.execvp('sleep', 'MARK'.split())"
kill -9 -1
"""

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def run_forked(argv: list[str], access: ProgramAccess | None, environment: dict[str, str]) -> Any:
    """Supervise a program as an ordinary user, who could not start this Python, in a fork of this process."""
    out, code_of = os.pipe(), "\nexit code "
    child = os.fork()
    if child == 0:
        code = 99
        try:
            for stream in (1, 2):
                os.dup2(out[1], stream)
            os.setgroups([])
            os.setresgid(NOBODY, NOBODY, NOBODY)
            os.setresuid(NOBODY, NOBODY, NOBODY)
            os.environ.clear()
            os.environ.update(environment)
            parts = asdict(access) if access else None
            code = confined_command.supervise({"argv": argv, "parent": os.getppid(), "access": parts})
        finally:
            os.write(1, f"{code_of}{code}".encode())
            os._exit(0)
    os.close(out[1])
    with open(out[0], encoding="utf-8", errors="replace") as stream:
        text = stream.read()
    os.waitpid(child, 0)
    text, _, code = text.rpartition(code_of)
    return subprocess.CompletedProcess(argv, int(code), text, "")


@pytest.fixture(params=["root", "user"])
def run(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a shell script in namespaces."""
    if request.param == "root" and os.geteuid():
        pytest.skip("these tests run as an ordinary user")
    monkeypatch.setenv("PLANTED_KEY", KEY)

    def start(script: str, access: ProgramAccess | None) -> "subprocess.CompletedProcess[str]":
        argv, variables = ["/bin/sh", "-c", script], {"PATH": "/usr/local/bin:/usr/bin:/bin"}
        if request.param == "user" and not os.geteuid():
            return run_forked(argv, access, variables)
        return subprocess.run(
            wrap_command(argv, access), env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, errors="replace", check=False,
        )  # fmt: skip

    start.user = request.param
    return start


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that any user can enter, unlike those of pytest."""
    with tempfile.TemporaryDirectory(prefix="oragent-test-") as name:
        Path(name).chmod(0o755)
        yield Path(name).resolve()


@pytest.fixture
def access(place: Path, run: Run) -> ProgramAccess:
    """A folder of the agent's own, and a file that it may read, beside files of the user."""
    for name in ("own", "outside", "shown"):
        (place / name).mkdir()
    (place / "outside" / "secret").write_text(KEY)
    (place / "shown" / "file").write_text("shown")
    (place / "shown" / "file").chmod(0o600)
    if run.user == "user" and not os.geteuid():
        os.chown(place / "own", NOBODY, NOBODY)
        os.chown(place / "shown" / "file", NOBODY, NOBODY)
    return ProgramAccess(str(place / "own"), (str(place / "shown" / "file"),))


def look(place: Path) -> list[tuple[object, ...]]:
    """State of all files outside of the agent's folder."""
    paths = [*place.rglob("outside*/**/*"), *place.glob("shown/*"), Path("/usr/bin/env"), Path("/etc/hostname")]
    states = [(path, path.stat()) for path in sorted(paths)]
    return [
        (path, state.st_mode, state.st_uid, state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_nlink)
        for path, state in states
    ]


def test_a_hostile_agent_gets_no_key_changes_nothing_and_leaves_no_process(
    access: ProgramAccess, run: Run, place: Path
) -> None:
    names = {"OUTSIDE": str(place / "outside"), "SHOWN": access.readable[0], "MARK": MARK}
    script = ATTACKS.strip()
    for name, value in names.items():
        script = script.replace(name, value)
    before = look(place)
    ended = run("\n".join(f"({line})" if line[-1] != "&" else line for line in script.splitlines()), access)
    assert ended.returncode not in (NOT_CONFINED, NOT_STARTED), ended.stdout
    assert KEY not in ended.stdout
    assert not any(word in ended.stdout.split() for word in ("UNSHARED", "ENTERED", "CHROOTED", "DROPPED"))
    assert look(place) == before
    assert bearing(MARK.replace(" ", "\0")) == []


def test_a_program_works_in_its_folder_and_reads_what_is_named(access: ProgramAccess, run: Run, place: Path) -> None:
    more = place / "shown" / "settings"
    more.mkdir(mode=0o700)
    (more / "old").write_text("old")
    if run.user == "user" and not os.geteuid():
        for path in (more, more / "old"):
            os.chown(path, NOBODY, NOBODY)
    files = shlex.join([access.readable[0], str(more / "old")])
    ended = run(
        f"cat {files}; echo new > {more}/new; echo here > made; mkdir -p a/b; echo m > /dev/shm/x; cat /dev/shm/x; "
        "ls -A /proc/self/fd | wc -l; exit 7",
        replace(access, writable=(str(more),)),
    )
    assert ended.returncode == 7, ended.stdout
    assert ended.stdout.startswith("shownoldm")
    assert (more / "new").read_text() == "new\n"
    assert (place / "own" / "made").read_text() == "here\n"
    assert (more / "new").stat().st_uid == (more / "old").stat().st_uid


def test_connections_are_closed_but_for_named_ports(access: ProgramAccess, run: Run, place: Path) -> None:
    if not confined_command.can_restrict_ports():
        pytest.skip("this machine has no Landlock 4")
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as two:
        ports = [server.getsockname()[1] for server in (one, two)]
        line = "import socket; [print(socket.socket().connect_ex(('127.0.0.1', port))) for port in {}]"
        script = f"/usr/bin/python3 -c {shlex.quote(line.format(ports))}"
        if subprocess.run(["/usr/bin/python3", "-c", ""], check=False).returncode:
            pytest.skip("the system has no Python")
        codes = {
            allowed: run(script, replace(access, ports=allowed)).stdout.split() for allowed in ((ports[0],), (), None)
        }
    assert codes[None] == ["0", "0"]
    assert codes[(ports[0],)] == ["0", "13"]
    assert "0" not in codes[()]
    assert len(codes[()]) == 2


def test_a_program_that_is_not_confined_has_its_own_processes_only(run: Run) -> None:
    ended = run(f"cat /proc/*/environ; setsid {MARK} & (trap '' TERM; {MARK}) & exit 3", None)
    assert ended.returncode == 3
    assert KEY not in ended.stdout
    assert bearing(MARK.replace(" ", "\0")) == []


@pytest.mark.parametrize("forbidden", ["limits", "without:namespaces"])
def test_without_namespaces_a_program_is_refused_or_ended_process_by_process(forbidden: str, tmp_path: Path) -> None:
    variables = {"PATH": "/usr/bin:/bin", FORBID: forbidden}

    def start(script: str, access: ProgramAccess | None) -> "subprocess.CompletedProcess[str]":
        words = wrap_command(["/bin/sh", "-c", script], access)
        return subprocess.run(words, env=variables, capture_output=True, text=True, check=False)

    refused = start("echo started", ProgramAccess(str(tmp_path)))
    assert refused.returncode == NOT_CONFINED
    assert refused.stdout == ""
    assert len(refused.stderr.splitlines()) == 1
    assert start(f"setsid {MARK} & (trap '' TERM; {MARK}) & exit 3", None).returncode == 3
    assert bearing(MARK.replace(" ", "\0")) == []


def test_a_request_ends_a_program_that_ignores_it_and_its_supervisor_holds_no_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLANTED_KEY", KEY)
    script = f"trap '' TERM; setsid {MARK} & echo up; {MARK}"
    words = wrap_command(["/bin/sh", "-c", script], ProgramAccess(str(tmp_path)))
    with subprocess.Popen(
        words, env={"PATH": "/usr/bin:/bin"}, stdout=subprocess.PIPE, start_new_session=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"up\n"
        assert KEY.encode() not in Path(f"/proc/{process.pid}/environ").read_bytes()
        os.killpg(process.pid, 15)
        assert process.stdout.read() == b""
        assert process.wait() == 128 + 9
    assert bearing(MARK.replace(" ", "\0")) == []


def test_a_program_ends_with_the_process_that_started_it(tmp_path: Path) -> None:
    script = f"setsid {MARK} & echo up; {MARK}"
    starter = (
        "import os, subprocess, sys; from oragent.sandbox.confined_command import ProgramAccess, wrap_command\n"
        f"words = wrap_command(['/bin/sh', '-c', {script!r}], ProgramAccess({str(tmp_path)!r}))\n"
        "process = subprocess.Popen(words, stdout=subprocess.PIPE, start_new_session=True)\n"
        "print(process.stdout.readline().decode(), flush=True); input()"
    )
    with subprocess.Popen([sys.executable, "-c", starter], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"up\n"
        # The supervisor, the first process, the shell and the program that started them.
        assert len(bearing(MARK)) >= 4
        process.kill()
    for _ in range(500):
        if not bearing(MARK) and not bearing(MARK.replace(" ", "\0")):
            return
        time.sleep(0.02)
    pytest.fail("the program lives on")


def test_a_missing_program_is_one_line(tmp_path: Path) -> None:
    words = wrap_command(["/no/such/program"], ProgramAccess(str(tmp_path)))
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    assert ended.returncode == NOT_STARTED
    assert len(ended.stderr.splitlines()) == 1
