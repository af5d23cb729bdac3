"""Each means does what it says, in a child of its own, and the probe says what a machine has."""

import ctypes
import fcntl
import os
import platform
import resource
import signal
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from oragent.sandbox.isolation import kernel, landlock, namespaces, seccomp
from oragent.sandbox.isolation.environment import interpreter_paths, readable_by_all
from oragent.sandbox.isolation.mechanisms import FORBID, HELD_BY, Guarantee, Mechanism, list_not_held
from oragent.sandbox.isolation.probe import probe_mechanisms, run_in_child
from oragent.sandbox.isolation.process_usage import ControlGroup

WORKING = {report.mechanism for report in probe_mechanisms() if report.works}


def needs(means: Mechanism) -> pytest.MarkDecorator:
    return pytest.mark.skipif(means not in WORKING, reason=f"this machine has no {means}")


def refused(action: Callable[[], object]) -> None:
    """Raise, as something wrong, what is not refused."""
    try:
        action()
    except (OSError, RuntimeError):
        return
    raise OSError("it was allowed")


def first(action: Callable[[], object]) -> None:
    """Do something in the first child, which alone is in a new namespace of processes."""
    if problem := run_in_child(action):
        raise OSError(problem)


@needs(Mechanism.LANDLOCK)
def test_landlock_leaves_only_what_is_named(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open" / "file").write_text("x")
    (tmp_path / "closed").write_text("x")

    def trial() -> None:
        kernel.no_new_privileges()
        landlock.restrict_files([tmp_path / "open", tmp_path / "missing"], [], network=False)
        (tmp_path / "open" / "file").read_text()
        refused((tmp_path / "closed").read_text)
        refused(lambda: (tmp_path / "open" / "file").write_text("y"))
        refused((tmp_path / "open" / "file").unlink)
        refused((tmp_path / "open" / "folder").mkdir)

    assert run_in_child(trial) == ""


@needs(Mechanism.LANDLOCK)
def test_landlock_lets_a_named_folder_be_written(tmp_path: Path) -> None:
    def trial() -> None:
        kernel.no_new_privileges()
        landlock.restrict_files([Path("/")], [tmp_path], network=False)
        (tmp_path / "made").write_text("y")
        refused(lambda: (tmp_path.parent / "made").write_text("y"))

    assert run_in_child(trial) == ""


@needs(Mechanism.SECCOMP)
def test_seccomp_leaves_computing_and_takes_the_rest() -> None:
    def trial() -> None:
        kernel.no_new_privileges()
        seccomp.install_filter(seccomp.guest_filter())
        os.getpid()
        Path("/etc/hostname").exists()
        refused(os.fork)
        refused(socket.socket)
        refused(lambda: os.kill(os.getpid(), 0))
        refused(threading.Thread(target=print).start)
        refused(lambda: os.execv("/bin/true", ["true"]))

    assert run_in_child(trial) == ""


@needs(Mechanism.SECCOMP)
def test_seccomp_shows_nothing_of_inherited_descriptors_and_makes_no_inodes() -> None:
    def trial() -> None:
        libc = ctypes.CDLL(None)
        kernel.no_new_privileges()
        os.dup2(0, seccomp.WIRE)
        seccomp.install_filter(seccomp.guest_filter())
        with open(__file__, "rb") as file:
            os.fstat(file.fileno())
            os.close(os.dup(file.fileno()))
        for descriptor in (0, 1, 2, seccomp.WIRE):
            refused(lambda number=descriptor: os.fstat(number))
            refused(lambda number=descriptor: os.dup(number))
            refused(lambda number=descriptor: os.dup2(number, 100))
            refused(lambda number=descriptor: fcntl.fcntl(number, fcntl.F_DUPFD, 10))
            refused(lambda number=descriptor: fcntl.fcntl(number, fcntl.F_SETFL, os.O_APPEND))
            wide = ctypes.c_long(descriptor | 1 << 32)  # the kernel looks at the lower half of a register
            if libc.syscall(5, wide, ctypes.create_string_buffer(256)) != -1:
                raise OSError(f"descriptor {descriptor} is seen by a wider number")
        refused(os.pipe)
        refused(lambda: os.memfd_create("x"))
        refused(lambda: resource.getrusage(resource.RUSAGE_SELF))
        if libc.syscall(202, ctypes.byref(ctypes.c_int(1)), 0, 0, None) != -1:  # FUTEX_WAIT that is not private
            raise OSError("a futex that other processes can wake")

    if platform.machine() == "x86_64":  # for the numbers of the calls
        assert run_in_child(trial) == ""


@needs(Mechanism.NAMESPACES)
def test_in_its_namespaces_a_process_sees_only_its_own_and_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")

    def evaluation() -> None:
        namespaces.mount_own_proc()
        assert os.getpid() == 1
        assert [name for name in os.listdir("/proc") if name.isdigit()] == ["1"]
        assert os.listdir(tmp_path) == []
        (tmp_path / "scratch").write_text("fits")
        refused(lambda: (tmp_path / "large").write_bytes(bytes(2 << 20)))
        refused(lambda: (tmp_path.parent / "elsewhere").write_text("no"))
        refused(lambda: socket.create_connection(("127.0.0.1", 1), 1))

    def server() -> None:
        namespaces.make_files_read_only()
        for _ in range(2):  # every child has a namespace of its own
            if problem := run_in_child(lambda: (namespaces.prepare_child(tmp_path, 1), first(evaluation))):
                raise OSError(problem)

    def outside() -> None:
        namespaces.enter_namespaces()
        problem = run_in_child(server)
        if problem:
            raise OSError(problem)

    assert run_in_child(outside) == ""
    assert os.listdir(tmp_path) == ["file"]


@needs(Mechanism.NAMESPACES)
def test_a_folder_that_is_alone_can_be_written_and_what_lies_beside_it_is_gone(tmp_path: Path) -> None:
    for name in ("spaces/own", "spaces/other", "spaces/needed/deep", "scratch"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "file").write_text("x")
    own, needed = tmp_path / "spaces" / "own", tmp_path / "spaces" / "needed" / "deep"

    def evaluation() -> None:
        assert sorted(os.listdir(own.parent)) == ["needed", "own"]
        assert (needed / "file").read_text() == "x"
        refused(lambda: (needed / "file").write_text("y"))
        refused((own.parent / "new").mkdir)
        refused((tmp_path / "new").mkdir)
        (own / "file").write_text("y")

    def server() -> None:
        namespaces.make_files_read_only()
        namespaces.prepare_child(tmp_path / "scratch", 1)
        namespaces.show_alone(own, [needed, needed / "file", tmp_path, tmp_path / "spaces" / "missing"])
        first(evaluation)

    def outside() -> None:
        namespaces.enter_namespaces()
        problem = run_in_child(server)
        if problem:
            raise OSError(problem)

    assert run_in_child(outside) == ""
    assert sorted(os.listdir(own.parent)) == ["needed", "other", "own"]
    assert (own / "file").read_text() == "y"
    assert not (own.parent / "new").exists()


@needs(Mechanism.CGROUPS)
def test_a_control_group_bounds_the_processes_in_it() -> None:
    group = ControlGroup.make(f"oragent-test-{os.getpid()}", 256, 3)

    def trial() -> None:
        group.join()
        children = []
        for _ in range(2):
            children.append(os.fork())
            if not children[-1]:
                signal.pause()
        refused(_forks_beyond)
        for child in children:
            os.kill(child, 9)
            os.waitpid(child, 0)

    def _forks_beyond() -> None:
        for _ in range(8):
            if os.fork() == 0:
                threading.Event().wait(0.2)
                os._exit(0)

    try:
        assert run_in_child(trial) == ""
    finally:
        for _ in range(100):
            group.remove()
            if not any(folder.exists() for folder in group.folders):
                break
            threading.Event().wait(0.05)
    assert not any(folder.exists() for folder in group.folders)


def test_a_process_ends_with_its_parent() -> None:
    reader, writer = os.pipe()
    parent = os.fork()
    if parent == 0:
        own = os.getpid()
        if os.fork() == 0:
            kernel.die_with_parent(own)
            os.write(writer, b"x")
            threading.Event().wait(60)
        os.read(reader, 1)
        os._exit(0)
    os.close(writer)
    os.waitpid(parent, 0)
    assert os.read(reader, 1) == b""  # the pipe's last writer is gone


def test_memory_is_closed_to_tracing_and_capabilities_are_gone() -> None:
    def trial() -> None:
        kernel.hide_memory()
        kernel.keep_capabilities()
        assert not kernel.has_capability(kernel.CAP_SYS_ADMIN)
        assert ctypes.CDLL(None).prctl(3, 0, 0, 0, 0) == 0  # PR_GET_DUMPABLE

    assert run_in_child(trial) == ""


def test_what_everybody_may_read_is_told_apart(tmp_path: Path) -> None:
    folder = tmp_path / "closed"
    folder.mkdir(mode=0o700)
    (folder / "file").write_text("x")
    assert not readable_by_all([folder / "file"])
    assert readable_by_all([Path("/usr/lib")])
    assert not readable_by_all([tmp_path / "missing"])


def test_the_interpreter_needs_python_and_us_but_not_the_project() -> None:
    paths = interpreter_paths()
    assert any(Path(os.__file__).resolve().is_relative_to(path) for path in paths)
    assert any(Path(kernel.__file__).resolve().is_relative_to(path) for path in paths)
    assert not any(Path(__file__).resolve().is_relative_to(path) for path in paths)


def test_with_everything_forbidden_limits_are_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FORBID, "limits")
    reports = {report.mechanism: report for report in probe_mechanisms()}
    assert reports[Mechanism.LIMITS].works
    assert not reports[Mechanism.SECCOMP].works
    assert reports[Mechanism.LANDLOCK].detail == "forbidden by ORAGENT_ISOLATION=limits"


@needs(Mechanism.SECCOMP)
def test_the_probe_finds_out_by_itself_what_a_container_forbids() -> None:
    def trial() -> None:
        kernel.no_new_privileges()
        kernel.keep_capabilities()
        seccomp.install_filter(
            seccomp.guest_filter(("fork", "vfork", "clone", "clone3", "wait4", "pipe", "pipe2", "fstat", "futex"))
        )
        found = {report.mechanism: report for report in probe_mechanisms()}
        if found[Mechanism.NAMESPACES].works or "Operation not permitted" not in found[Mechanism.NAMESPACES].detail:
            raise OSError(str(found[Mechanism.NAMESPACES]))
        if found[Mechanism.LANDLOCK].works:
            raise OSError("a system call that is forbidden works")

    assert run_in_child(trial) == ""


def test_a_guarantee_is_held_by_any_group_of_means_that_is_complete() -> None:
    assert list_not_held(Mechanism) == []
    assert set(list_not_held([Mechanism.LIMITS])) == {
        Guarantee.ALONE, Guarantee.UNTOUCHED, Guarantee.UNREAD, Guarantee.OFFLINE, Guarantee.UNSEEN,
    }  # fmt: skip
    assert Guarantee.UNSEEN not in list_not_held([Mechanism.SECCOMP, Mechanism.NAMESPACES])
    assert Guarantee.UNSEEN in list_not_held([Mechanism.SECCOMP])
    assert set(HELD_BY) == set(Guarantee)
