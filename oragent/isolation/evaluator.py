"""The filter of system calls for a program that runs a stranger's code in its own process, in whatever language.

Such a program computes, reads and writes files, starts programs and threads; it needs no network and nothing that
changes what confines it or looks into the kernel. All else stays allowed, as nobody knows what a language needs.
"""

import ctypes
import errno
import os
import platform
from functools import cache

from oragent.isolation import kernel

__all__ = ["DENIED", "evaluator_filter"]

ALLOW, REFUSE = 0x7FFF0000, 0x00050000  # the latter with the number of an error in its last bits
MASKED_EQUAL = 7
OPTIMIZE, BY_TREE = 8, 2  # what the kernel has to go through for each call is a tree and no list
CALLS = """
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
DENIED = tuple(CALLS.split())
SOCKETS = "socket", "accept", "accept4", "connect", "bind", "listen"
# Libraries fall back on other calls where these seem not to exist; what they are given cannot be looked at.
UNKNOWN = "clone3", "io_uring_setup", "io_uring_enter", "io_uring_register"
NAMESPACES = (
    kernel.CLONE_NEWNS, kernel.CLONE_NEWIPC, kernel.CLONE_NEWUSER, kernel.CLONE_NEWPID, kernel.CLONE_NEWNET,
    0x02000000, 0x04000000,  # of control groups, of names
)  # fmt: skip
TIOCSTI, TIOCLINUX = 0x5412, 0x541C  # of ioctl: words put into a terminal as if they had been typed


class _Comparison(ctypes.Structure):
    _fields_ = [("arg", ctypes.c_uint), ("op", ctypes.c_int), ("a", ctypes.c_uint64), ("b", ctypes.c_uint64)]


@cache
def evaluator_filter(*, sockets: bool = False) -> bytes:
    """Compile the filter, or take the one compiled before.

    Args:
        sockets: Whether sockets of any kind can be made; pairs of connected ones always can.

    Returns:
        A program of 8-byte BPF instructions, for ``seccomp.install``.

    Raises:
        OSError: if libseccomp is not on this machine.
    """
    library = ctypes.CDLL("libseccomp.so.2", use_errno=True)
    library.seccomp_init.restype = ctypes.c_void_p
    context = ctypes.c_void_p(library.seccomp_init(ctypes.c_uint32(ALLOW)))
    library.seccomp_attr_set(context, ctypes.c_int(OPTIMIZE), ctypes.c_uint32(BY_TREE))  # unknown to old ones
    try:
        for name in DENIED if sockets else (*DENIED, *SOCKETS):
            _refuse(library, context, name, errno.EPERM)
        for name in UNKNOWN:
            _refuse(library, context, name, errno.ENOSYS)
        for flag in NAMESPACES:
            _refuse(library, context, "clone", errno.EPERM, _Comparison(0, MASKED_EQUAL, flag, flag))
        for request in (TIOCSTI, TIOCLINUX):
            _refuse(library, context, "ioctl", errno.EPERM, _Comparison(1, MASKED_EQUAL, 0xFFFFFFFF, request))
        return _exported(library, context)
    finally:
        library.seccomp_release(context)


def _refuse(library: ctypes.CDLL, context: ctypes.c_void_p, name: str, number: int, *when: _Comparison) -> None:
    call = library.seccomp_syscall_resolve_name(name.encode())
    if call < 0:
        return  # a call of another architecture, or one that this libseccomp does not know yet
    array = (_Comparison * len(when))(*when)
    action = ctypes.c_uint32(REFUSE | number)
    failed = library.seccomp_rule_add_array(context, action, ctypes.c_int(call), ctypes.c_uint(len(when)), array)
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
