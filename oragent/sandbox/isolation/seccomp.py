"""Filters of system calls, compiled once by libseccomp and installed in microseconds.

A guest may make only the calls that computing needs; every other call fails with EPERM. An evaluator may run untrusted
code in any language in its own process. It may make all calls except those that change its confinement, reach into the
kernel or, without a persistent folder, open sockets. The functions of libseccomp are called directly because no binding
on the package index is maintained.
"""

import ctypes
import errno
import os
from functools import cache
from typing import Self

from oragent.sandbox.isolation import kernel

MAP_TYPE, MAP_PRIVATE = 0xF, 2
FUTEX_PRIVATE = 128
# Descriptor through which a guest answers. Other processes opened it and the three standard streams.
WIRE = 128

# A guest may compute, use memory, read files (restricted by Landlock and mounts), answer the scorer, read the time and
# end. No call is allowed that returns or advances a value which all processes share in the kernel, because the next
# guest could read it. So no call creates an inode (pipes, sockets, files in memory, queues), a process or a thread, and
# none reads counters of the machine. ``getrusage`` counts blocks read from disk, which reveals the files that were read
# before; ``getsockopt`` returns socket cookies, which come from one counter.
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
# Calls of which only some requests are allowed: number of the argument, and its allowed values.
# ioctl: TIOCGWINSZ, TCGETS and FIONREAD, which opening a stream uses.
# fcntl: flags of descriptors. Other processes see locks, leases and owners of signals, and processes of one parent
# share the flags of an open file (F_SETFL).
# Clocks: those of the machine and of the process itself. Clocks of other processes have negative numbers.
# Calls about processes: only about the process itself, which is 0.
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
# Calls that are refused for inherited descriptors: the inode numbers of pipes and sockets come from a kernel counter. A
# copy of the descriptor would reveal them, too.
ON_FILES = ("fstat", "newfstatat", "statx", "dup", "dup2", "dup3")
# Requests of fcntl: F_DUPFD and F_DUPFD_CLOEXEC.
COPIES = (0, 1030)
# Masks and values of the argument (its lower half, since the kernel takes an int) for descriptors from 3 to WIRE - 1,
# and for AT_FDCWD, to which paths are relative.
INT = 0xFFFFFFFF
OWN_FILES = ((INT, 3), (INT, 0xFFFFFF9C), *((INT - (WIRE - 1) | bit, bit) for bit in (4, 8, 16, 32, 64)))
ALLOWED = (*FREE, *CHOICES, *ON_FILES, "futex", "mmap", "prlimit64")


ALLOW = 0x7FFF0000
PR_SET_SECCOMP, MODE_FILTER = 22, 2
EQUAL, MASKED_EQUAL = 4, 7
# The kernel searches a tree for each call instead of a list.
OPTIMIZE, BY_TREE = 8, 2
DENIED_CALLS = """
    unshare setns mount umount umount2 pivot_root chroot move_mount open_tree open_tree_attr fsopen fsmount fsconfig
    fspick mount_setattr
    ptrace process_vm_readv process_vm_writev kcmp pidfd_getfd process_madvise pidfd_send_signal
    bpf perf_event_open userfaultfd keyctl add_key request_key
    open_by_handle_at name_to_handle_at fanotify_init lookup_dcookie quotactl quotactl_fd
    init_module finit_module delete_module kexec_load kexec_file_load reboot swapon swapoff acct syslog
    settimeofday clock_settime clock_adjtime adjtimex sethostname setdomainname vhangup iopl ioperm modify_ldt
    personality vmsplice memfd_secret
    mq_open mq_unlink msgget shmget semget
"""
DENIED = tuple(DENIED_CALLS.split())
SOCKETS = "socket", "accept", "accept4", "connect", "bind", "listen"
# Calls that fail as unknown: libraries then use other calls. Filters cannot check their arguments, which lie in memory.
UNKNOWN = "clone3", "io_uring_setup", "io_uring_enter", "io_uring_register"
NAMESPACES = (
    kernel.CLONE_NEWNS,
    kernel.CLONE_NEWIPC,
    kernel.CLONE_NEWUSER,
    kernel.CLONE_NEWPID,
    kernel.CLONE_NEWNET,
    # Control group namespaces and UTS namespaces.
    0x02000000,
    0x04000000,
)
# Calls that start a process or another program.
STARTS = "fork", "vfork", "execve", "execveat"
CLONE_THREAD = 0x00010000
# Requests of ioctl that put text into a terminal as if it had been typed.
TIOCSTI, TIOCLINUX = 0x5412, 0x541C


@cache
def guest_filter(more: tuple[str, ...] = ()) -> bytes:
    """Compile the filter of guests into BPF instructions.

    Shared memory is refused, because limits on private memory do not count it.
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
        # Processes that map the same file share the queue of a futex that is not private.
        rules.add_rule(ALLOW, "futex", argument_masked(1, FUTEX_PRIVATE, FUTEX_PRIVATE))
        rules.add_rule(ALLOW, "mmap", argument_masked(3, MAP_TYPE, MAP_PRIVATE))
        # A process may read its own limits, but not set them.
        rules.add_rule(ALLOW, "prlimit64", argument_equals(0, 0), argument_equals(2, 0))
        return rules.to_program()


def can_compile_filter() -> bool:
    """Return True if a filter can be compiled on this machine."""
    try:
        guest_filter()
    except OSError:
        return False
    return True


def refuse_with(number: int) -> int:
    """Return the action that makes a call fail with an ``errno``."""
    return 0x00050000 | number


class ArgumentCondition(ctypes.Structure):
    """Condition on an argument of a call."""

    _fields_ = [("arg", ctypes.c_uint), ("op", ctypes.c_int), ("a", ctypes.c_uint64), ("b", ctypes.c_uint64)]


def argument_equals(argument: int, value: int) -> ArgumentCondition:
    """Make the condition that an argument, counted from 0, equals a value."""
    return ArgumentCondition(argument, EQUAL, value, 0)


def argument_masked(argument: int, mask: int, value: int) -> ArgumentCondition:
    """Make the condition that an argument equals a value in the bits of a mask."""
    return ArgumentCondition(argument, MASKED_EQUAL, mask, value)


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p)]


class Filter:
    """Builder of a filter; use it in a ``with`` statement.

    Args:
        default: Action for calls without a rule: ``ALLOW`` or ``refuse_with(...)``.
    """

    def __init__(self, default: int) -> None:
        self._library = ctypes.CDLL("libseccomp.so.2", use_errno=True)
        self._library.seccomp_init.restype = ctypes.c_void_p
        self._context = ctypes.c_void_p(self._library.seccomp_init(ctypes.c_uint32(default)))
        # Old versions do not have this attribute.
        self._library.seccomp_attr_set(self._context, ctypes.c_int(OPTIMIZE), ctypes.c_uint32(BY_TREE))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._library.seccomp_release(self._context)

    def add_rule(self, action: int, name: str, *when: ArgumentCondition) -> None:
        """Add a rule for a call, under conditions that must all hold."""
        number = self._library.seccomp_syscall_resolve_name(name.encode())
        if number < 0:
            # The call belongs to another architecture, or this libseccomp does not know it yet.
            return
        array = (ArgumentCondition * len(when))(*when)
        failed = self._library.seccomp_rule_add_array(
            self._context, ctypes.c_uint32(action), ctypes.c_int(number), ctypes.c_uint(len(when)), array
        )
        if failed:
            raise OSError(-failed, f"seccomp rule for {name} on {os.uname().machine}: {os.strerror(-failed)}")

    def to_program(self) -> bytes:
        """Compile the filter into a program of 8-byte BPF instructions."""
        # A filter has a few KiB, and a pipe holds 64.
        reader, writer = os.pipe()
        try:
            failed = self._library.seccomp_export_bpf(self._context, ctypes.c_int(writer))
            if failed:
                raise OSError(-failed, f"cannot compile a seccomp filter: {os.strerror(-failed)}")
            program = os.read(reader, 1 << 16)
            _program_header(program)
            return program
        finally:
            os.close(reader)
            os.close(writer)


def install_filter(program: bytes) -> None:
    """Install a filter for this process and its children; ``no_new_privileges`` must be set."""
    kernel.prctl(PR_SET_SECCOMP, MODE_FILTER, ctypes.addressof(_program_header(program)))


# Created when the filter is compiled, so that forked processes need not create it.
@cache
def _program_header(program: bytes) -> _Program:
    return _Program(len(program) // 8, program)


@cache
def thread_filter() -> bytes:
    """Compile the filter of a program that may start threads, but no process, program or connection.

    ``clone`` is allowed with CLONE_THREAD only; ``clone3``, whose flags a filter cannot read, fails as unknown.
    """
    forbidden = refuse_with(errno.EPERM)
    with Filter(ALLOW) as rules:
        for name in (*DENIED, *SOCKETS, "socketpair", *STARTS):
            rules.add_rule(forbidden, name)
        for name in UNKNOWN:
            rules.add_rule(refuse_with(errno.ENOSYS), name)
        rules.add_rule(forbidden, "clone", argument_masked(0, CLONE_THREAD, 0))
        return rules.to_program()


@cache
def evaluator_filter(*, sockets: bool = False) -> bytes:
    """Compile the filter of an evaluator; socket pairs are always allowed, other sockets on request."""
    forbidden = refuse_with(errno.EPERM)
    with Filter(ALLOW) as rules:
        for name in DENIED if sockets else (*DENIED, *SOCKETS):
            rules.add_rule(forbidden, name)
        for name in UNKNOWN:
            rules.add_rule(refuse_with(errno.ENOSYS), name)
        for flag in NAMESPACES:
            rules.add_rule(forbidden, "clone", argument_masked(0, flag, flag))
        for request in (TIOCSTI, TIOCLINUX):
            rules.add_rule(forbidden, "ioctl", argument_masked(1, 0xFFFFFFFF, request))
        return rules.to_program()
