"""Seccomp: a guest may only make the system calls that computing needs; every other one fails with EPERM.

The filter is compiled once, and installed in microseconds.
"""

import errno
from functools import cache

from oragent.sandbox.isolation.filters import ALLOW, Filter, argument_equals, argument_masked, refuse_with
from oragent.sandbox.isolation.filters import install_filter as install_filter

MAP_TYPE, MAP_PRIVATE = 0xF, 2
FUTEX_PRIVATE = 128
WIRE = 128  # number of the descriptor by which a guest answers: it and the three streams were opened by others

# A guest may compute, use memory, read files (Landlock and mounts say which), answer the scorer, read the time, end.
# No call is allowed that returns or advances a value which the kernel has once for all processes: the next guest would
# read in it what this one did. So there is nothing here that makes an inode (pipes, sockets, files in memory, queues),
# a process or a thread, and nothing that reads counters of the machine. ``getrusage`` says which blocks came from the
# disk, so which files were read before; ``getsockopt`` hands out cookies of sockets by one counter.
CALLS = """
    read readv pread64 preadv write writev lseek close close_range
    open openat access faccessat faccessat2 stat lstat readlink readlinkat
    getdents getdents64 getcwd umask
    munmap mprotect mremap madvise brk membarrier
    recvfrom sendto shutdown poll ppoll select pselect6
    rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigtimedwait sigaltstack pause
    set_robust_list rseq set_tid_address arch_prctl restart_syscall
    gettimeofday nanosleep time times alarm setitimer getitimer
    getpid getppid gettid getuid geteuid getgid getegid getresuid getresgid getgroups getpgrp
    getrlimit sched_yield uname getrandom exit exit_group
"""
FREE = tuple(CALLS.split())
# Calls of which only some requests are allowed: which argument says it, and the values that it may have.
#  - ioctl: TIOCGWINSZ, TCGETS, FIONREAD, which opening a stream makes;
#  - fcntl: flags of descriptors. Locks, leases and owners of signals are seen by others; so are the flags of an open
#    file (F_SETFL), which processes of one parent share;
#  - clocks: those of the machine and of oneself. Another process's CPU clock, a negative number, tells what it does.
#  - what tells of a process: of oneself, which is 0.
CHOICES = {
    "ioctl": (1, (0x5413, 0x5401, 0x541B)),
    "fcntl": (1, (1, 2, 3)),
    "clock_gettime": (0, (0, 1, 2, 3, 4, 5, 6, 7, 11)),
    "clock_getres": (0, (0, 1, 2, 3, 4, 5, 6, 7, 11)),
    "clock_nanosleep": (0, (0, 1, 2, 3, 4, 5, 6, 7, 11)),
    "getpgid": (0, (0,)),
    "getsid": (0, (0,)),
    "sched_getaffinity": (0, (0,)),
    "get_robust_list": (0, (0,)),
}
# Calls on a descriptor that are refused for inherited ones: the inode numbers of their pipes and sockets come from a
# counter of the kernel. A copy under another number would show them as well.
ON_FILES = ("fstat", "newfstatat", "statx", "dup", "dup2", "dup3")
COPIES = (0, 1030)  # of fcntl: F_DUPFD, F_DUPFD_CLOEXEC
# Masks and values of the argument (its lower half: the kernel takes an int) for descriptors from 3 to WIRE - 1, and for
# AT_FDCWD, which paths are relative to.
INT = 0xFFFFFFFF
OWN_FILES = ((INT, 3), (INT, 0xFFFFFF9C), *((INT - (WIRE - 1) | bit, bit) for bit in (4, 8, 16, 32, 64)))
ALLOWED = (*FREE, *CHOICES, *ON_FILES, "futex", "mmap", "prlimit64")


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
    with Filter(refuse_with(errno.EPERM)) as rules:
        for name in (*FREE, *more):
            rules.add_rule(ALLOW, name)
        for name, (argument, values) in CHOICES.items():
            for value in values:
                rules.add_rule(ALLOW, name, argument_equals(argument, value))
        for mask, value in OWN_FILES:
            for name in ON_FILES:
                rules.add_rule(ALLOW, name, argument_masked(0, mask, value))
            for command in COPIES:
                rules.add_rule(ALLOW, "fcntl", argument_masked(0, mask, value), argument_equals(1, command))
        # A futex that is not private has one queue for all processes that map the file it lies in.
        rules.add_rule(ALLOW, "futex", argument_masked(1, FUTEX_PRIVATE, FUTEX_PRIVATE))
        rules.add_rule(ALLOW, "mmap", argument_masked(3, MAP_TYPE, MAP_PRIVATE))
        rules.add_rule(
            ALLOW, "prlimit64", argument_equals(0, 0), argument_equals(2, 0)
        )  # limits, one's own, may be read, not set
        return rules.to_program()


def can_compile_filter() -> bool:
    """Return True if a filter can be compiled here."""
    try:
        guest_filter()
    except OSError:
        return False
    return True
