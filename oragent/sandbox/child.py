"""The evaluation's own process: confine itself, then become the evaluator."""

import os
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from oragent.isolation import kernel, landlock, namespaces
from oragent.isolation.cgroups import Group
from oragent.isolation.guest import DEVICES, surrender
from oragent.isolation.means import Means
from oragent.sandbox import script
from oragent.sandbox.limits import Limits, restrict

__all__ = ["Setting", "live"]

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


def live(job: dict[str, Any], setting: Setting, streams: tuple[int, int], trouble: int) -> NoReturn:
    """Never returns: ends as the evaluator does, or with a word in ``trouble`` if it cannot be confined."""
    try:
        limits = Limits(**job["limits"])
        setting.group.join()
        _wire_up(streams, trouble)
        _settle(job, setting, limits)
        command = _command(job, setting)
    except BaseException as problem:
        os.write(3, f"{type(problem).__name__}: {problem}".encode())
        os._exit(70)
    os.close(3)
    if setting.warm and len(command) > 1:
        script.run(Path(command[1]), command[2:])
    with suppress(OSError):
        os.execv(command[0], command)
    os._exit(127)


def _wire_up(streams: tuple[int, int], trouble: int) -> None:
    """Keep the standard streams and the line for trouble, as descriptor 3, and close everything else."""
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDONLY)
    high = [os.dup(descriptor) for descriptor in (nothing, *streams, trouble)]
    for number, descriptor in enumerate(high):
        os.dup2(descriptor, number, inheritable=number < 3)


def _settle(job: dict[str, Any], setting: Setting, limits: Limits) -> None:
    """Take the evaluation's folder and give up everything else."""
    os.closerange(4, os.sysconf("SC_OPEN_MAX"))
    scratch = setting.scratch
    if Means.NAMESPACES in setting.means:
        namespaces.private_view(scratch, limits.file_mb)
        if not setting.warm and setting.kernels.is_dir():
            namespaces.shadow(setting.kernels, KERNELS_MB)
    else:
        scratch.mkdir(mode=0o777)
        scratch.chmod(0o777)  # whatever the umask: the evaluation may be somebody else than us
    for name in ("script", "candidate"):
        path = scratch / job[name]["name"]
        path.write_text(job[name]["text"], encoding="utf-8")
        path.chmod(0o755)
    os.chdir(scratch)
    _environment(job, scratch, limits)
    restrict(limits, setting.others)
    kernel.no_new_privileges()
    if Means.IDENTITY in setting.means:
        surrender((setting.root_dir,))
    kernel.die_with_parent(job["parent"])
    if Means.LANDLOCK in setting.means:
        copied = [setting.kernels] if Means.NAMESPACES in setting.means and not setting.warm else []
        landlock.restrict([Path("/")], [scratch, *copied, *DEVICES, *Path("/dev").glob("nvidia*")], network=False)


def _environment(job: dict[str, Any], scratch: Path, limits: Limits) -> None:
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
