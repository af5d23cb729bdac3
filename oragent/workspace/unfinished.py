"""What was last asked of a workspace, kept until it is done: so that it can be gone on with without saying it again."""

import json
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from oragent._base import files
from oragent._base.errors import WorkspaceError
from oragent.workspace.reading import finite, named, read_json

FILE = Path(".oragent") / "begun.json"


@dataclass(frozen=True)
class Begun:
    """A verb with what it was given.

    Attributes:
        verb: ``build``, ``revise`` or ``ask``.
        text: Request of a revision, or question; empty for none.
        feedback: Whether a revision takes the last run for its request.
        accept: Whether a revision that does not preserve is written all the same.
        model: Name of the model, as earlier versions wrote it; empty for none.
        time: CPU seconds of a program, as the command line gave them; None for the folder's settings.
        gap: Relative gap at which a solve may end; None likewise.
        memory: MiB of a program; None likewise.
        runtime: Settings of the models that are asked, and the budget, as plain data.
    """

    verb: str
    text: str = ""
    feedback: bool = False
    accept: bool = False
    model: str = ""
    time: float | None = None
    gap: float | None = None
    memory: int | None = None
    runtime: dict[str, Any] = field(default_factory=dict)


def keep(folder: Path, one: Begun) -> None:
    """Remember what is being done.

    Raises:
        WorkspaceError: if it cannot be written.
    """
    try:
        (folder / FILE).parent.mkdir(exist_ok=True)
        files.replace(folder / FILE, json.dumps(asdict(one), ensure_ascii=False) + "\n")
    except OSError as error:
        raise WorkspaceError(f"cannot write {named(folder / FILE)}: {error.strerror}; make room for it") from None


def forget(folder: Path) -> None:
    """It is done."""
    with suppress(OSError):
        (folder / FILE).unlink(missing_ok=True)


def begun(folder: Path) -> Begun | None:
    """What was cut off; None for nothing.

    Raises:
        WorkspaceError: if what was kept of it is broken.
    """
    path = folder / FILE
    if not path.is_file() or path.is_symlink():
        return None
    plain = read_json(path)
    try:
        found = Begun(**plain)
    except TypeError:
        raise WorkspaceError(f"{named(path)} is not what a verb leaves: delete it, and give the verb again") from None
    numbers = (found.time, found.gap, found.memory)
    if (
        found.verb not in ("build", "revise", "ask")
        or not all(isinstance(one, str) for one in (found.text, found.model))
        or not isinstance(found.runtime, dict)
        or not all(one is None or finite(one) is not None for one in numbers)
    ):
        raise WorkspaceError(f"{named(path)} names no verb: delete it, and give the verb again")
    return found
