"""Try every means on this machine, for real and in a child, and say in plain words what there is."""

import fcntl
import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from oragent.sandbox.isolation import credentials, kernel, landlock, namespaces, ps, root, seccomp
from oragent.sandbox.isolation.cgroups import ControlGroup
from oragent.sandbox.isolation.means import FORBID, LINUX, PORTABLE, Means, allowed


@dataclass(frozen=True)
class Offer:
    """One means on this machine.

    Attributes:
        means: Name of the means.
        works: Whether it was tried and worked.
        detail: Details of what there is, or why there is none and what would help.
    """

    means: Means
    works: bool
    detail: str


def probe() -> tuple[Offer, ...]:
    """Try every means; takes some milliseconds."""
    trials = {
        Means.LIMITS: _limits,
        Means.IDENTITY: _identity,
        Means.NAMESPACES: _namespaces,
        Means.LANDLOCK: _landlock,
        Means.SECCOMP: _seccomp,
        Means.CGROUPS: _cgroups,
        Means.SIGNALS: _signals,
    }
    return tuple(_offer(means, trial) for means, trial in trials.items())


def tried(action: Callable[[], object]) -> str:
    """Do something in a child process.

    Returns:
        Why it failed; empty if it did not.
    """
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


def _offer(means: Means, trial: Callable[[], tuple[bool, str]]) -> Offer:
    if not LINUX and means is not Means.LIMITS:
        return Offer(means, False, f"only on Linux, and this is {_system()}")
    if not allowed(means) and not (means is Means.IDENTITY and os.geteuid()):
        return Offer(means, False, f"forbidden by {FORBID}={os.environ[FORBID]}")
    return Offer(means, *trial())


def _system() -> str:
    """This system's name."""
    return f"taken for another system by {FORBID}={PORTABLE}" if sys.platform == "linux" else sys.platform


def _limits() -> tuple[bool, str]:
    if not LINUX:
        memory = "memory is looked at a few times a second" if ps.table() else "nothing bounds memory, as ps is missing"
        return True, f"CPU time, file size, processes, by the kernel; {memory}; what outlives its parent is not found"
    return True, "time, memory, file size and processes, by the kernel; no new privileges; memory closed to tracing"


def _identity() -> tuple[bool, str]:
    if os.geteuid():
        return True, f"you are an ordinary user (uid {os.geteuid()}); candidates run as you, without any capability"
    if credentials.readable_by_all(credentials.interpreter_paths()):
        problem = tried(credentials.become_nobody)
        return not problem, f"root gives itself up and becomes nobody {problem}".strip()
    if landlock.abi():
        problem = tried(lambda: credentials.become_nobody(kernel.CAP_DAC_READ_SEARCH))
        return not problem, f"root becomes nobody, and may still read Python where it lies {problem}".strip()
    return False, "Python lies where only root can read it, so candidates stay root, without any capability"


def _namespaces() -> tuple[bool, str]:
    problem = tried(_enter_namespaces)
    if problem:
        return False, f"{problem}; containers and some systems forbid user namespaces"
    who = "as root" if kernel.has_capability(kernel.CAP_SYS_ADMIN) else "as an ordinary user"
    return True, f"processes, network, mounts, shared memory, {who}"


def _enter_namespaces() -> None:
    """Do in a child all that an evaluation does."""
    scratch = Path(tempfile.mkdtemp(prefix="oragent-probe-"))
    try:
        _checked(lambda: _apart(scratch))
    finally:
        scratch.rmdir()


def _apart(scratch: Path) -> None:
    namespaces.enter()
    _checked(lambda: _evaluation(scratch))


def _evaluation(scratch: Path) -> None:
    namespaces.read_only()
    kernel.unshare(kernel.CLONE_NEWNS)
    root.pivot((scratch, Path("/usr")), proc=True)
    namespaces.apart(scratch, 1)
    _checked(namespaces.own_processes)


def _checked(action: Callable[[], object]) -> None:
    problem = tried(action)
    if problem:
        raise OSError(problem)


def _landlock() -> tuple[bool, str]:
    version = landlock.abi()
    if not version:
        return False, "this kernel has none (Linux 5.13 has it, if it is switched on)"

    def restrict() -> None:
        kernel.no_new_privileges()
        landlock.restrict([Path("/usr")], [], network=False)

    problem = tried(restrict)
    return not problem, problem or f"version {version} of its interface"


def _seccomp() -> tuple[bool, str]:
    def install() -> None:
        kernel.no_new_privileges()
        seccomp.install(seccomp.guest_filter())

    problem = tried(install)
    if "libseccomp" in problem:
        problem = "libseccomp.so.2 is missing: install your system's package libseccomp2 or libseccomp"
    return not problem, problem or f"{len(seccomp.ALLOWED) + 2} system calls stay allowed, all others fail"


def _cgroups() -> tuple[bool, str]:
    try:
        group = ControlGroup.make(f"oragent-probe-{os.urandom(8).hex()}", 64, 16)
    except OSError as problem:
        return False, f"no group can be made here: {problem}; memory and processes are bounded one by one"
    group.remove()
    if not group.bounds:
        return False, "no group can be made here; memory and processes are bounded one by one"
    return True, "memory and processes of an evaluation bounded together"


def _signals() -> tuple[bool, str]:
    """Whether a file's owner, who gets its signals, can be anybody; calls that send one are not allowed anyway."""
    if landlock.abi() >= landlock.SCOPES:
        return True, "Landlock keeps them within a candidate's process"
    if not allowed(Means.SECCOMP):
        return False, f"a file can send them to others: Landlock keeps them from version {landlock.SCOPES} on"
    if "Operation not permitted" in tried(_own_a_file):
        return True, "the filter of system calls keeps files from sending them"
    return False, f"a file can send them to others: Landlock keeps them from version {landlock.SCOPES} on"


def _own_a_file() -> None:
    kernel.no_new_privileges()
    reader, _ = os.pipe()
    seccomp.install(seccomp.guest_filter())
    fcntl.fcntl(reader, fcntl.F_SETOWN, os.getppid())
