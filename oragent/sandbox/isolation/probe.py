"""Try every mechanism on this machine, in a child process, and report which of them work."""

import fcntl
import os
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from oragent.sandbox.isolation import environment, kernel, landlock, namespaces, process_usage, root, seccomp
from oragent.sandbox.isolation.mechanisms import (
    FORBID,
    LINUX,
    PORTABLE,
    Guarantee,
    Mechanism,
    is_allowed,
    list_not_held,
)
from oragent.sandbox.isolation.process_usage import ControlGroup


@dataclass(frozen=True)
class MechanismReport:
    """Result of trying one mechanism on this machine."""

    mechanism: Mechanism
    # True if it was tried and worked.
    works: bool
    # Details of the mechanism, or why it does not work and what would help.
    detail: str


def probe_mechanisms() -> tuple[MechanismReport, ...]:
    """Try every mechanism; this takes some milliseconds."""
    trials = {
        Mechanism.LIMITS: _try_limits,
        Mechanism.IDENTITY: _try_identity,
        Mechanism.NAMESPACES: _try_namespaces,
        Mechanism.LANDLOCK: _try_landlock,
        Mechanism.SECCOMP: _try_seccomp,
        Mechanism.CGROUPS: _try_cgroups,
        Mechanism.SIGNALS: _try_signals,
    }
    return tuple(_probe_mechanism(mechanism, trial) for mechanism, trial in trials.items())


def missing_guarantees(reports: Iterable[MechanismReport]) -> list[Guarantee]:
    """Return the guarantees that do not hold with the working mechanisms."""
    return list_not_held(report.mechanism for report in reports if report.works)


def describe_isolation() -> dict[str, list[str]] | None:
    """Return the guarantees that hold on this machine (``held``) and those that do not (``missing``).

    The probe forks this process, which is safe with a single thread only. Returns None if there are several threads.
    """
    if threading.active_count() > 1:
        return None
    missing = missing_guarantees(probe_mechanisms())
    held = [str(guarantee) for guarantee in Guarantee if guarantee not in missing]
    return {"held": held, "missing": list(map(str, missing))}


def run_in_child(action: Callable[[], object]) -> str:
    """Run an action in a child process and return why it failed; empty if it succeeded."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            action()
        except OSError as problem:
            os.write(writer, str(problem).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with open(reader, "rb") as answer:
        complaint = answer.read().decode()
    _, status = os.waitpid(child, 0)
    return complaint or (f"the trial ended with status {status}" if status else "")


def _probe_mechanism(mechanism: Mechanism, trial: Callable[[], tuple[bool, str]]) -> MechanismReport:
    if not LINUX and mechanism is not Mechanism.LIMITS:
        if sys.platform == "linux":
            system = f"treated as another system because of {FORBID}={PORTABLE}"
        else:
            system = sys.platform
        return MechanismReport(mechanism, False, f"only on Linux, and this is {system}")
    if not is_allowed(mechanism) and not (mechanism is Mechanism.IDENTITY and os.geteuid()):
        return MechanismReport(mechanism, False, f"forbidden by {FORBID}={os.environ[FORBID]}")
    return MechanismReport(mechanism, *trial())


def _try_limits() -> tuple[bool, str]:
    if not LINUX:
        if process_usage.process_table():
            memory = "memory is polled a few times a second"
        else:
            memory = "memory is not limited, as ps is missing"
        return (
            True,
            f"CPU time, file size, processes, by the kernel; {memory}; orphaned processes are not found",
        )
    return True, "time, memory, file size and processes, by the kernel; no new privileges; memory closed to tracing"


def _try_identity() -> tuple[bool, str]:
    if os.geteuid():
        return True, f"you are an ordinary user (uid {os.geteuid()}); candidates run as you, without any capability"
    if environment.readable_by_all(environment.interpreter_paths()):
        problem = run_in_child(environment.become_nobody)
        return not problem, f"root becomes nobody {problem}".strip()
    if landlock.abi_version():
        problem = run_in_child(lambda: environment.become_nobody(kernel.CAP_DAC_READ_SEARCH))
        return not problem, f"root becomes nobody, and may still read Python {problem}".strip()
    return False, "only root can read Python here, so candidates stay root, without any capability"


def _try_namespaces() -> tuple[bool, str]:
    problem = run_in_child(_enter_namespaces)
    if problem:
        return False, f"{problem}; containers and some systems forbid user namespaces"
    user_text = "as root" if kernel.has_capability(kernel.CAP_SYS_ADMIN) else "as an ordinary user"
    return True, f"processes, network, mounts, shared memory, {user_text}"


def _enter_namespaces() -> None:
    scratch = Path(tempfile.mkdtemp(prefix="oragent-probe-"))
    try:
        _require_in_child(lambda: _enter_and_evaluate(scratch))
    finally:
        scratch.rmdir()


def _enter_and_evaluate(scratch: Path) -> None:
    namespaces.enter_namespaces()
    _require_in_child(lambda: _mount_as_evaluation(scratch))


def _mount_as_evaluation(scratch: Path) -> None:
    namespaces.make_files_read_only()
    kernel.unshare(kernel.CLONE_NEWNS)
    root.pivot_to_minimal_root((scratch, Path("/usr")), proc=True)
    namespaces.prepare_child(scratch, 1)
    _require_in_child(namespaces.mount_own_proc)


def _require_in_child(action: Callable[[], object]) -> None:
    problem = run_in_child(action)
    if problem:
        raise OSError(problem)


def _try_landlock() -> tuple[bool, str]:
    version = landlock.abi_version()
    if not version:
        return False, "this kernel has no Landlock (Linux 5.13 has it, if it is enabled)"

    def restrict() -> None:
        kernel.no_new_privileges()
        landlock.restrict_files([Path("/usr")], [], network=False)

    problem = run_in_child(restrict)
    return not problem, problem or f"version {version} of its interface"


def _try_seccomp() -> tuple[bool, str]:
    def install() -> None:
        kernel.no_new_privileges()
        seccomp.install_filter(seccomp.guest_filter())

    problem = run_in_child(install)
    if "libseccomp" in problem:
        problem = "libseccomp.so.2 is missing: install your system's package libseccomp2 or libseccomp"
    return not problem, problem or f"{len(seccomp.ALLOWED) + 2} system calls stay allowed, all others fail"


def _try_cgroups() -> tuple[bool, str]:
    try:
        group = ControlGroup.make(f"oragent-probe-{os.urandom(8).hex()}", 64, 16)
    except OSError as problem:
        return False, f"no group can be created: {problem}; memory and processes are limited one by one"
    group.remove()
    if not group.bounds:
        return False, "no group can be created; memory and processes are limited one by one"
    return True, "limits on memory and processes of a whole evaluation"


def _try_signals() -> tuple[bool, str]:
    """Try whether a candidate can send signals by owning a file; direct calls are always refused."""
    if landlock.abi_version() >= landlock.SCOPES:
        return True, "Landlock blocks signals to other processes"
    if not is_allowed(Mechanism.SECCOMP):
        return False, f"a file can send them to others: Landlock keeps them from version {landlock.SCOPES} on"
    if "Operation not permitted" in run_in_child(_own_a_file):
        return True, "the filter of system calls blocks signals through files"
    return False, f"a file can send them to others: Landlock keeps them from version {landlock.SCOPES} on"


def _own_a_file() -> None:
    kernel.no_new_privileges()
    reader, _ = os.pipe()
    seccomp.install_filter(seccomp.guest_filter())
    fcntl.fcntl(reader, fcntl.F_SETOWN, os.getppid())
