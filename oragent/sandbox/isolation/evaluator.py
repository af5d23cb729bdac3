"""System call filter for evaluators, which may run untrusted code in their own process, in any language.

Such a program computes, reads and writes files, starts programs and threads; it needs no network and nothing that
changes what confines it or looks into the kernel. All else stays allowed, as nobody knows what a language needs.
"""

import errno
from functools import cache

from oragent.sandbox.isolation import kernel
from oragent.sandbox.isolation.filters import ALLOW, Filter, argument_masked, refuse_with

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
