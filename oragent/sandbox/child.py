"""The evaluation's own process: confine itself, then become the evaluator."""

import os
from contextlib import suppress
from typing import NoReturn

from oragent.isolation import kernel, landlock, namespaces
from oragent.isolation.guest import surrender
from oragent.isolation.means import Means
from oragent.sandbox import script
from oragent.sandbox.limits import restrict
from oragent.sandbox.staging import Order, Setting

__all__ = ["live"]

TROUBLE, RULES = 3, 4  # descriptors, after the standard streams


def live(order: Order, setting: Setting, streams: tuple[int, int], trouble: int) -> NoReturn:
    """Never returns: ends as the evaluator does, or with a word in ``trouble`` if it cannot be confined."""
    try:
        setting.group.join()
        _wire_up(order, streams, trouble)
        _confine(order, setting)
    except BaseException as problem:
        os.write(TROUBLE, f"{type(problem).__name__}: {problem}".encode())
        os._exit(70)
    os.close(TROUBLE)
    if setting.warm:
        script.run(order.command[1], order.command[2:], order.program)
    with suppress(OSError):
        os.execv(order.command[0], order.command)
    os._exit(127)


def _wire_up(order: Order, streams: tuple[int, int], trouble: int) -> None:
    """Keep the standard streams, the line for trouble and the rules, and close everything else."""
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDONLY)
    kept = (nothing, *streams, trouble) if order.rules < 0 else (nothing, *streams, trouble, order.rules)
    high = [os.dup(descriptor) for descriptor in kept]
    for number, descriptor in enumerate(high):
        os.dup2(descriptor, number, inheritable=number < TROUBLE)
    os.closerange(len(high), os.sysconf("SC_OPEN_MAX"))


def _confine(order: Order, setting: Setting) -> None:
    """Give up everything but the evaluation's folder."""
    if Means.NAMESPACES in setting.means:
        namespaces.own_processes()
    os.chdir(order.folder)
    restrict(order.limits, setting.others)
    kernel.no_new_privileges()
    if Means.IDENTITY in setting.means:
        surrender((setting.root_dir,))
    kernel.die_with_parent(order.parent)
    if order.rules >= 0:
        landlock.enforce(RULES)
