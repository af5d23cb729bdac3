"""Seccomp: a guest may only make the system calls that computing needs; every other one fails with EPERM.

The filter is compiled by libseccomp (which comes with every systemd and apt) once, and installed in microseconds. Its
own five functions are called here as no binding on the package index is looked after.
"""

import ctypes
import os
import platform
from functools import cache

from oragent.isolation import kernel

__all__ = ["ALLOWED", "guest_filter", "install"]

ALLOW, DENY = 0x7FFF0000, 0x00050001  # the latter is an error with the number of EPERM
PR_SET_SECCOMP, MODE_FILTER = 22, 2
COMPARE_EQUAL = 4

# Compute, use memory, read files (Landlock says which), talk to the scorer, tell the time, end.
CALLS = """
    read readv pread64 preadv write writev lseek close close_range dup dup2 dup3 fcntl pipe pipe2
    open openat access faccessat faccessat2 stat fstat lstat newfstatat statx statfs fstatfs readlink readlinkat
    getdents getdents64 getcwd umask
    mmap munmap mprotect mremap madvise brk msync mincore membarrier
    recvfrom sendto shutdown poll ppoll select pselect6 getsockopt
    rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigtimedwait sigaltstack pause
    futex set_robust_list get_robust_list rseq set_tid_address arch_prctl restart_syscall
    clock_gettime clock_getres clock_nanosleep gettimeofday nanosleep time times alarm setitimer getitimer
    getpid getppid gettid getuid geteuid getgid getegid getresuid getresgid getgroups getpgrp getpgid getsid
    getrusage getrlimit getpriority sched_yield sched_getaffinity getcpu uname sysinfo getrandom exit exit_group
"""
ALLOWED = tuple(CALLS.split())
REQUESTS = 0x5413, 0x5401, 0x541B  # of ioctl: TIOCGWINSZ, TCGETS, FIONREAD, which opening a stream makes


class _Comparison(ctypes.Structure):
    _fields_ = [("arg", ctypes.c_uint), ("op", ctypes.c_int), ("a", ctypes.c_uint64), ("b", ctypes.c_uint64)]


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p)]


@cache
def guest_filter(more: tuple[str, ...] = ()) -> bytes:
    """Compile the guest's filter, or take the one compiled before.

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
        for name in (*ALLOWED, *more):
            _rule(library, context, name)
        for request in REQUESTS:
            _rule(library, context, "ioctl", _Comparison(1, COMPARE_EQUAL, request, 0))
        _rule(library, context, "prlimit64", _Comparison(2, COMPARE_EQUAL, 0, 0))  # limits may be read, not set
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
