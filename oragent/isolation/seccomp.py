"""Seccomp: a guest may only make the system calls that computing needs; every other one fails with EPERM.

The filter is compiled by libseccomp (which comes with every systemd and apt) once, and installed in microseconds. Its
own five functions are called here as no binding on the package index is looked after.
"""

import ctypes
import os
import platform
from functools import cache

from oragent.isolation import kernel

__all__ = ["ALLOWED", "guest_filter", "install", "works"]

ALLOW, DENY = 0x7FFF0000, 0x00050001  # the latter is an error with the number of EPERM
PR_SET_SECCOMP, MODE_FILTER = 22, 2
COMPARE_EQUAL, COMPARE_MASKED = 4, 7
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


class _Comparison(ctypes.Structure):
    _fields_ = [("arg", ctypes.c_uint), ("op", ctypes.c_int), ("a", ctypes.c_uint64), ("b", ctypes.c_uint64)]


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p)]


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
    library = ctypes.CDLL("libseccomp.so.2", use_errno=True)
    library.seccomp_init.restype = ctypes.c_void_p
    context = ctypes.c_void_p(library.seccomp_init(ctypes.c_uint32(DENY)))
    try:
        for name in (*FREE, *more):
            _rule(library, context, name)
        for name, (argument, values) in CHOICES.items():
            for value in values:
                _rule(library, context, name, _Comparison(argument, COMPARE_EQUAL, value, 0))
        _rule(library, context, "mmap", _Comparison(3, COMPARE_MASKED, MAP_TYPE, MAP_PRIVATE))
        # Limits, one's own, may be read, not set.
        _rule(library, context, "prlimit64", _Comparison(0, COMPARE_EQUAL, 0, 0), _Comparison(2, COMPARE_EQUAL, 0, 0))
        return _exported(library, context)
    finally:
        library.seccomp_release(context)


def install(program: bytes) -> None:
    """Bind this process, and all that it starts, to a filter; ``no_new_privileges`` must be set.

    Raises:
        OSError: if the kernel has no seccomp.
    """
    buffer = ctypes.create_string_buffer(program, len(program))
    header = _Program(len(program) // 8, ctypes.cast(buffer, ctypes.c_char_p))
    kernel.prctl(PR_SET_SECCOMP, MODE_FILTER, ctypes.addressof(header))


def works() -> bool:
    """Whether a filter can be compiled here."""
    try:
        guest_filter()
    except OSError:
        return False
    return True


def _rule(library: ctypes.CDLL, context: ctypes.c_void_p, name: str, *comparisons: _Comparison) -> None:
    number = library.seccomp_syscall_resolve_name(name.encode())
    if number < 0:
        return  # a call of another architecture
    array = (_Comparison * len(comparisons))(*comparisons)
    failed = library.seccomp_rule_add_array(
        context, ctypes.c_uint32(ALLOW), ctypes.c_int(number), ctypes.c_uint(len(comparisons)), array
    )
    if failed:
        raise OSError(-failed, f"seccomp rule for {name} on {platform.machine()}: {os.strerror(-failed)}")


def _exported(library: ctypes.CDLL, context: ctypes.c_void_p) -> bytes:
    reader, writer = os.pipe()  # a filter has some kilobytes, a pipe holds 64
    try:
        failed = library.seccomp_export_bpf(context, ctypes.c_int(writer))
        if failed:
            raise OSError(-failed, f"cannot compile a seccomp filter: {os.strerror(-failed)}")
        return os.read(reader, 1 << 16)
    finally:
        os.close(reader)
        os.close(writer)
