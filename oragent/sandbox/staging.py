"""The place of an evaluation: its folder and files, and the rules for them, made before its process is forked.

A worker does here all that need not be done in the evaluation's own process, where every page of the warm interpreter
that is touched for the first time has to be copied.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import CodeType
from typing import Any

from oragent.isolation import landlock, namespaces
from oragent.isolation.cgroups import Group
from oragent.isolation.guest import DEVICES
from oragent.isolation.means import Means
from oragent.sandbox import script
from oragent.sandbox.limits import Limits

__all__ = ["Order", "Setting", "Unplaced", "placed"]

KERNELS_MB = 256


@dataclass(frozen=True)
class Setting:
    """What all evaluations of a server have in common.

    Attributes:
        means: of isolation that work here.
        scratch: an empty folder; each evaluation finds an empty folder of its own in its place.
        group: the control group that bounds it; without folders where there is none.
        root_dir: project root, which must stay readable.
        warm: whether the evaluator runs in the forked interpreter and not in a fresh one.
        kernels: where numba keeps what it compiled; it uses nothing from a folder that it cannot write.
        others: tasks of our user when the server began.
    """

    means: frozenset[Means]
    scratch: Path
    group: Group
    root_dir: Path
    warm: bool
    kernels: Path
    others: int


@dataclass(frozen=True)
class Order:
    """What an evaluation's process is to do.

    Attributes:
        folder: to work in.
        command: to run, program first.
        program: the evaluator, compiled; None where a fresh interpreter runs it, or where it is to say what is wrong.
        limits: to keep.
        parent: its parent's process id, as it sees it.
        rules: descriptor of its Landlock rules; -1 for none.
    """

    folder: str
    command: list[str]
    program: CodeType | None
    limits: Limits
    parent: int
    rules: int


class Unplaced(Exception):
    """The machine refuses what it did not refuse when the server began."""


@contextmanager
def placed(job: dict[str, Any], setting: Setting) -> Iterator[Order]:
    """Make the place; a child that is forked within this has it, and must obey the order.

    Raises:
        Unplaced: in one line, if it cannot be made.
    """
    with ExitStack() as stack:
        try:
            order = _make(job, setting, stack)
        except (OSError, ValueError) as problem:
            raise Unplaced(f"{type(problem).__name__}: {problem}") from None
        yield order


def _make(job: dict[str, Any], setting: Setting, stack: ExitStack) -> Order:
    limits, scratch = Limits(**job["limits"]), setting.scratch
    apart, own = Means.NAMESPACES in setting.means, [scratch]
    if apart:
        stack.enter_context(namespaces.child_apart(scratch, limits.file_mb))
        if not setting.warm and setting.kernels.is_dir():
            namespaces.shadow(setting.kernels, KERNELS_MB)
            own.append(setting.kernels)
    else:
        scratch.mkdir(mode=0o777)
        scratch.chmod(0o777)  # whatever the umask: the evaluation may be somebody else than us
    for name in ("script", "candidate"):
        path = scratch / job[name]["name"]
        path.write_text(job[name]["text"], encoding="utf-8")
        path.chmod(0o755)
    _environment(scratch, limits)
    command = _command(job, setting)
    program = script.compiled(command[1], job["script"]["text"]) if setting.warm else None
    parent = 0 if apart else os.getpid()  # from inside a namespace, a parent outside has no number
    rules = -1
    if Means.LANDLOCK in setting.means:
        rules = landlock.ruleset([Path("/")], [*own, *_devices()], network=False)
        stack.callback(os.close, rules)
    return Order(str(scratch), command, program, limits, parent, rules)


@cache
def _devices() -> tuple[Path, ...]:
    return *DEVICES, *Path("/dev").glob("nvidia*")


def _environment(scratch: Path, limits: Limits) -> None:
    os.environ |= {
        "HOME": str(scratch),
        "TMPDIR": str(scratch),
        "ORAGENT_MEMORY_MB": str(limits.memory_mb),
        "ORAGENT_TIME_LIMIT_S": str(limits.wall_s),
    }


def _command(job: dict[str, Any], setting: Setting) -> list[str]:
    path = setting.scratch / job["script"]["name"]
    program = [sys.executable, str(path)] if path.suffix == ".py" else [str(path)]
    places = [f"--root_dir={job['root_dir']}", f"--file_output_prefix={setting.scratch}{os.sep}"]
    return [*program, *places, *job["arguments"]]
