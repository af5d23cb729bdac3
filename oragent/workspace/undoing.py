"""Take back what verbs wrote, do it again, or bring back an earlier version; a person's edits are never undone.

A file that a person changed since the version that is taken back keeps the person's content, and is named.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from oragent._base.errors import WorkspaceError
from oragent.workspace.reading import named
from oragent.workspace.versions import PERSON, FileChange, VersionRecord, Versions

BEGINNINGS = {"new", "from"}  # of a workspace: what they wrote is a person's to change or delete
UNDO, REDO, RESTORE = "undo", "redo", "restore"


@dataclass(frozen=True)
class Reversal:
    """What taking back, doing again or restoring came to.

    Attributes:
        number: Number of the version that it made; None where nothing had to be changed.
        reason: What it did, one line.
        kept: Files that were left as a person has them, each with the version that has the content wanted.
    """

    number: int | None
    reason: str
    kept: tuple[tuple[str, int], ...] = ()

    def lines(self) -> list[str]:
        """Lines for a person."""
        head = f"version {self.number} {self.reason}" if self.number else f"nothing to change: {self.reason}"
        return [head, *(
            f"kept as you changed it: {named(path)}"
            + (f"; 'oragent workspace restore DIR {number} {named(path)}' overwrites it" if number else "")
            for path, number in self.kept
        )]  # fmt: skip


def undo(versions: Versions, files: dict[str, Path]) -> Reversal:
    """Take back the last verb that was not taken back yet; edits of a person, before or after it, stay.

    Args:
        versions: Versions of the workspace.
        files: Its files, by path below it.

    Raises:
        WorkspaceError: if no verb is left.
    """
    versions.snapshot(files, "before undo")
    steps = _verbs(versions.history(contents=False))
    if not steps:
        raise WorkspaceError(
            f"nothing to undo in {named(versions.folder)}: no verb has written anything that is not taken back; "
            "'oragent workspace restore VERSION' brings earlier files back"
        )
    members = [versions.version(one.number) for one in steps[-1]]
    changes = _together(members)
    label = members[-1].verb or members[-1].author
    reason = f"takes back version {_numbers(members)} ({label})"
    return _changed(versions, [FileChange(one.path, one.after, one.before) for one in changes], (UNDO, reason), members)


def redo(versions: Versions, files: dict[str, Path]) -> Reversal:
    """Do again what the last undo took back; not possible once another verb has written.

    Raises:
        WorkspaceError: if nothing was taken back since the last verb.
    """
    versions.snapshot(files, "before redo")
    last = _undone(versions.history(contents=False))
    if last is None:
        raise WorkspaceError(f"nothing to redo in {named(versions.folder)}: nothing was taken back since the last verb")
    taken = versions.version(last.number)
    changes = [FileChange(one.path, one.after, one.before) for one in taken.changes]
    return _changed(versions, changes, (REDO, f"does again what version {taken.number} took back"), [taken])


def restore(versions: Versions, files: dict[str, Path], number: int, path: str = "") -> Reversal:
    """Bring files back to what they were at a version; what they are now is a version before.

    Args:
        versions: Versions of the workspace.
        files: Its files, by path below it.
        number: Number of the version.
        path: The one file; empty for all. Files that a person added since stay.

    Raises:
        WorkspaceError: if there is no such version, or the file is not in it.
    """
    versions.version(number)
    versions.snapshot(files, "before restore")
    path = path.removeprefix("./")
    if path and not versions.content_at(path, number)[0]:
        raise WorkspaceError(f"{named(path)} is in no version up to {number}; 'oragent workspace history' lists files")
    contents, kept = {}, []
    for name in [path] if path else versions.paths():
        known, content = versions.content_at(name, number)
        if known:
            contents[name] = content
        elif versions.first_author(name) != PERSON:
            contents[name] = None
        elif name in files:
            kept.append(name)
    reason = f"brings back version {number}" + (f" of {path}" if path else "")
    made = versions.write(contents, RESTORE, reason)
    extra = f"; added since and left: {', '.join(map(named, kept))}" if kept else ""
    return Reversal(made, reason + extra)


def _verbs(history: Iterable[VersionRecord]) -> list[list[VersionRecord]]:
    """The verbs that are not taken back, each with its versions."""
    steps: list[list[VersionRecord]] = []
    taken: dict[int, list[VersionRecord]] = {}
    for one in history:
        if one.author == UNDO and one.undoes is not None:
            gone = next((step for step in steps if one.undoes in {member.number for member in step}), None)
            if gone is not None:
                steps.remove(gone)
                taken[one.number] = gone
        elif one.author == REDO and one.undoes in taken:
            steps.append(taken.pop(one.undoes))
        elif one.author in {PERSON, REDO} | BEGINNINGS:
            continue
        elif one.verb and steps and steps[-1][-1].verb == one.verb:
            steps[-1].append(one)
        else:
            steps.append([one])
    return steps


def _undone(history: Iterable[VersionRecord]) -> VersionRecord | None:
    """The last undo that was not done again, with no verb since."""
    undos: list[VersionRecord] = []
    for one in history:
        if one.author == UNDO:
            undos.append(one)
        elif one.author == REDO:
            undos = [undo for undo in undos if undo.number != one.undoes]
        elif one.author != PERSON:
            undos = []
    return undos[-1] if undos else None


def _together(members: list[VersionRecord]) -> list[FileChange]:
    """What several versions did to each file in all."""
    found: dict[str, FileChange] = {}
    for member in members:
        for change in member.changes:
            first = found.get(change.path, change)
            found[change.path] = FileChange(change.path, first.before, change.after)
    return list(found.values())


def _changed(
    versions: Versions, changes: list[FileChange], why: tuple[str, str], members: list[VersionRecord]
) -> Reversal:
    """Bring files from ``before`` to ``after`` where they still are as ``before`` says."""
    author, reason = why
    contents, kept = {}, []
    for change in changes:
        now = versions.on_disk(change.path)
        if now == change.before:
            contents[change.path] = change.after
        elif now != change.after:
            kept.append((change.path, members[0].number - 1 if author == UNDO else members[0].undoes or 0))
    number = versions.write(contents, author, reason, members[-1].number)
    if number is None:
        number = versions.note(author, reason, members[-1].number)
    return Reversal(number, reason, tuple(kept))


def _numbers(members: list[VersionRecord]) -> str:
    first, last = members[0].number, members[-1].number
    return str(first) if first == last else f"{first} to {last}"
