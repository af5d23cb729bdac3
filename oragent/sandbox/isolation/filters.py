"""Filters of system calls, compiled by libseccomp, which comes with every systemd and apt.

Its own functions are called here, as no binding on the package index is looked after.
"""

import ctypes
import os
import platform
from functools import cache
from typing import Self

from oragent.sandbox.isolation import kernel

ALLOW = 0x7FFF0000
PR_SET_SECCOMP, MODE_FILTER = 22, 2
EQUAL, MASKED_EQUAL = 4, 7
OPTIMIZE, BY_TREE = 8, 2  # what the kernel has to go through for each call is a tree and no list


def refuse_with(number: int) -> int:
    """The action that makes a call fail with an error of ``errno``."""
    return 0x00050000 | number


class ArgumentCondition(ctypes.Structure):
    """A condition on an argument of a call."""

    _fields_ = [("arg", ctypes.c_uint), ("op", ctypes.c_int), ("a", ctypes.c_uint64), ("b", ctypes.c_uint64)]


def argument_equals(argument: int, value: int) -> ArgumentCondition:
    """Return True if an argument, counted from 0, has a value."""
    return ArgumentCondition(argument, EQUAL, value, 0)


def argument_masked(argument: int, mask: int, value: int) -> ArgumentCondition:
    """Return True if an argument has a value in the bits of a mask."""
    return ArgumentCondition(argument, MASKED_EQUAL, mask, value)


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p)]


class Filter:
    """A filter in the making; use it in a ``with``.

    Args:
        default: Action for calls without a rule, ``ALLOW`` or ``refuse(...)``.

    Raises:
        OSError: if libseccomp is not on this machine.
    """

    def __init__(self, default: int) -> None:
        self._library = ctypes.CDLL("libseccomp.so.2", use_errno=True)
        self._library.seccomp_init.restype = ctypes.c_void_p
        self._context = ctypes.c_void_p(self._library.seccomp_init(ctypes.c_uint32(default)))
        # Unknown to old versions.
        self._library.seccomp_attr_set(self._context, ctypes.c_int(OPTIMIZE), ctypes.c_uint32(BY_TREE))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._library.seccomp_release(self._context)

    def add_rule(self, action: int, name: str, *when: ArgumentCondition) -> None:
        """Add a rule for a call, under conditions that must all hold.

        Raises:
            OSError: if it cannot be added.
        """
        number = self._library.seccomp_syscall_resolve_name(name.encode())
        if number < 0:
            return  # a call of another architecture, or one that this libseccomp does not know yet
        array = (ArgumentCondition * len(when))(*when)
        failed = self._library.seccomp_rule_add_array(
            self._context, ctypes.c_uint32(action), ctypes.c_int(number), ctypes.c_uint(len(when)), array
        )
        if failed:
            raise OSError(-failed, f"seccomp rule for {name} on {platform.machine()}: {os.strerror(-failed)}")

    def to_program(self) -> bytes:
        """The filter as a program of 8-byte BPF instructions.

        Raises:
            OSError: if it cannot be compiled.
        """
        reader, writer = os.pipe()  # a filter has some kilobytes, a pipe holds 64
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
    """Bind this process, and all that it starts, to a filter; ``no_new_privileges`` must be set.

    Raises:
        OSError: if the kernel has no seccomp.
    """
    kernel.prctl(PR_SET_SECCOMP, MODE_FILTER, ctypes.addressof(_program_header(program)))


@cache  # made when the filter is compiled, and not by each process that is forked then
def _program_header(program: bytes) -> _Program:
    return _Program(len(program) // 8, program)
