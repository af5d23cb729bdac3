"""What was last asked of a workspace, kept until it is done: so that it can be gone on with without saying it again."""

import json
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from oragent._base import files
from oragent._base.errors import WorkspaceError
from oragent.workspace.reading import finite_number, read_json, refuse_links, shorten_path

FILE = Path(".oragent") / "begun.json"


@dataclass(frozen=True)
class PendingVerb:
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


def save_pending(folder: Path, pending: PendingVerb) -> None:
    """Remember what is being done.

    Raises:
        WorkspaceError: if it cannot be written.
    """
    refuse_links(folder)
    try:
        (folder / FILE).parent.mkdir(exist_ok=True)
        files.replace_file(folder / FILE, json.dumps(asdict(pending), ensure_ascii=False) + "\n")
    except OSError as error:
        raise WorkspaceError(
            f"cannot write {shorten_path(folder / FILE)}: {error.strerror}; make room for it"
        ) from None


def clear_pending(folder: Path) -> None:
    """It is done."""
    with suppress(OSError):
        (folder / FILE).unlink(missing_ok=True)


def read_pending(folder: Path) -> PendingVerb | None:
    """Return the interrupted verb; None if there is none.

    Raises:
        WorkspaceError: if what was kept of it is broken.
    """
    path = folder / FILE
    refuse_links(folder)
    if not path.is_file():
        return None
    plain = read_json(path)
    try:
        pending = PendingVerb(**plain)
    except TypeError:
        raise WorkspaceError(
            f"{shorten_path(path)} is not what a verb leaves: delete it, and give the verb again"
        ) from None
    numbers = (pending.time, pending.gap, pending.memory)
    if (
        pending.verb not in ("build", "revise", "ask")
        or not all(isinstance(value, str) for value in (pending.text, pending.model))
        or not isinstance(pending.runtime, dict)
        or not all(value is None or finite_number(value) is not None for value in numbers)
    ):
        raise WorkspaceError(f"{shorten_path(path)} names no verb: delete it, and give the verb again")
    return pending
