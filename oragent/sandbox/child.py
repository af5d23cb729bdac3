"""The command's own process: confine itself, then become the program."""

import os
import socket
from contextlib import suppress
from typing import NoReturn

from oragent.isolation import kernel, landlock, namespaces, root, seccomp
from oragent.isolation.evaluator import evaluator_filter
from oragent.isolation.guest import surrender
from oragent.isolation.means import Means
from oragent.sandbox import script
from oragent.sandbox.limits import restrict
from oragent.sandbox.staging import Launch, Setting, furnish
from oragent.sandbox.wire import receive_alone

__all__ = ["live"]

TROUBLE, RULES = 3, 4  # descriptors, after the standard streams


def live(
    launch: Launch, setting: Setting, connection: socket.socket, streams: tuple[int, int], trouble: int
) -> NoReturn:
    """Never returns: ends as the program does, or with a word in ``trouble`` if it cannot be confined.

    Args:
        launch: Place of the command.
        setting: Setting of the server.
        connection: Connection on which the whole command comes; nobody has read it before.
        streams: Descriptors of its standard output and standard error.
        trouble: Descriptor that is closed once the command begins.
    """
    try:
        setting.group.join()
        given = furnish(receive_alone(connection), launch, setting)
        _wire_up(launch, given.stdin, streams, trouble)
        trouble = TROUBLE
        _confine(launch, setting)
    except BaseException as problem:
        os.write(trouble, f"{type(problem).__name__}: {problem}".encode())
        os._exit(70)
    os.close(TROUBLE)
    if given.environment:
        os.environ |= given.environment
    if launch.forked:
        script.run(given.argv[1], given.argv[2:], given.program)
    with suppress(OSError):
        os.execvp(given.argv[0], given.argv)
    os._exit(127)


def _wire_up(launch: Launch, stdin: int, streams: tuple[int, int], trouble: int) -> None:
    """Keep the standard streams, the line for trouble and the rules, and close everything else."""
    os.setsid()
    source = os.open(os.devnull, os.O_RDONLY) if stdin < 0 else stdin
    kept = (source, *streams, trouble) if launch.rules < 0 else (source, *streams, trouble, launch.rules)
    high = [os.dup(descriptor) for descriptor in kept]
    for number, descriptor in enumerate(high):
        os.dup2(descriptor, number, inheritable=number < TROUBLE)
    os.closerange(len(high), os.sysconf("SC_OPEN_MAX"))


def _confine(launch: Launch, setting: Setting) -> None:
    """Give up everything but the command's folders."""
    if launch.rooted:
        root.leave(proc=True)
    elif Means.NAMESPACES in setting.means:
        namespaces.own_processes()
    os.chdir(launch.folder)
    restrict(launch.limits, setting.others)
    kernel.no_new_privileges()
    if Means.IDENTITY in setting.means:
        surrender(launch.needed)
    kernel.die_with_parent(launch.parent)
    if launch.rules >= 0:
        landlock.enforce(RULES)
    if Means.SECCOMP in setting.means and not launch.trusted:
        seccomp.install(evaluator_filter(sockets=launch.lasts))
