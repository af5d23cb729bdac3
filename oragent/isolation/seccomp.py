"""Seccomp: a guest may only make the system calls that computing needs; every other one fails with EPERM.

The filter is compiled once, and installed in microseconds.
"""

import errno
from functools import cache

from oragent.isolation.filters import ALLOW, Filter, equal, install, masked, refuse

__all__ = ["ALLOWED", "guest_filter", "install", "works"]

MAP_TYPE, MAP_PRIVATE = 0xF, 2

# Compute, use memory, read files (Landlock says which), talk to the scorer, tell the time, end. Nothing that tells of
# another process, or of what the machine does: that would be a channel between two guests of one user.
CALLS = """
    read readv pread64 preadv write writev lseek close close_range dup dup2 dup3 pipe pipe2
    open openat access faccessat faccessat2 stat fstat lstat newfstatat statx readlink readlinkat
    getdents getdents64 getcwd umask
    munmap mprotect mremap madvise brk membarrier
    recvfrom sendto shutdown poll ppoll select pselect6 getsockopt
    rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigtimedwait sigaltstack pause
    futex set_robust_list rseq set_tid_address arch_prctl restart_syscall
    gettimeofday nanosleep time times alarm setitimer getitimer
    getpid getppid gettid getuid geteuid getgid getegid getresuid getresgid getgroups getpgrp
    getrusage getrlimit sched_yield getcpu uname getrandom exit exit_group
"""
FREE = tuple(CALLS.split())
# Calls of which only some requests are allowed: which argument says it, and the values that it may have.
#  - ioctl: TIOCGWINSZ, TCGETS, FIONREAD, which opening a stream makes;
#  - fcntl: copies and flags of descriptors. Locks, leases and owners of signals are seen by others.
#  - clocks: those of the machine and of oneself. Another process's CPU clock, a negative number, tells what it does.
#  - what tells of a process: of oneself, which is 0.
CHOICES = {
    "ioctl": (1, (0x5413, 0x5401, 0x541B)),
    "fcntl": (1, (0, 1, 2, 3, 4, 1030)),
    "clock_gettime": (0, (0, 1, 2, 3, 4, 5, 6, 7, 11)),
    "clock_getres": (0, (0, 1, 2, 3, 4, 5, 6, 7, 11)),
    "clock_nanosleep": (0, (0, 1, 2, 3, 4, 5, 6, 7, 11)),
    "getpgid": (0, (0,)),
    "getsid": (0, (0,)),
    "sched_getaffinity": (0, (0,)),
    "get_robust_list": (0, (0,)),
}
ALLOWED = (*FREE, *CHOICES, "mmap", "prlimit64")


@cache
def guest_filter(more: tuple[str, ...] = ()) -> bytes:
    """Compile the guest's filter, or take the one compiled before.

    Memory that processes could share is refused: it would not count as private.

    Args:
        more: Names of further calls that stay allowed.

    Returns:
        A program of 8-byte BPF instructions.

    Raises:
        OSError: if libseccomp is not on this machine.
    """
    with Filter(refuse(errno.EPERM)) as made:
        for name in (*FREE, *more):
            made.rule(ALLOW, name)
        for name, (argument, values) in CHOICES.items():
            for value in values:
                made.rule(ALLOW, name, equal(argument, value))
        made.rule(ALLOW, "mmap", masked(3, MAP_TYPE, MAP_PRIVATE))
        made.rule(ALLOW, "prlimit64", equal(0, 0), equal(2, 0))  # limits, one's own, may be read, not set
        return made.compiled()


def works() -> bool:
    """Whether a filter can be compiled here."""
    try:
        guest_filter()
    except OSError:
        return False
    return True
