"""Take back what verbs wrote, do it again, or bring back an earlier version; a person's edits are never undone.

A file that a person changed since the version that is taken back keeps the person's content, and is named.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from oragent._base.errors import WorkspaceError
from oragent.workspace.reading import path_error, shorten_path
from oragent.workspace.versions import PERSON, VersionRecord, Versions

# of a workspace: what they wrote is a person's to change or delete
BEGINNINGS = {"new", "from"}
# author of the answers to questions
EXPLAINER = "explainer"
UNDO, REDO, RESTORE = "undo", "redo", "restore"


@dataclass(frozen=True)
class Reversal:
    """Result of undo, redo or restore."""

    # of the version that it made; None where nothing had to be changed
    number: int | None
    # what it did, one line
    reason: str
    # each with the version that has the content wanted
    untouched: tuple[tuple[str, int], ...] = ()

    def describe(self) -> list[str]:
        """Lines for a person."""
        if self.number:
            head = f"version {self.number} {self.reason}"
        else:
            head = f"nothing to change: {self.reason}"
        return [
            head,
            *(
                f"kept as you changed it: {shorten_path(path)}"
                + (f"; 'oragent workspace restore DIR {number} {shorten_path(path)}' overwrites it" if number else "")
                for path, number in self.untouched
            ),
        ]


def undo_last(versions: Versions, files: dict[str, Path]) -> Reversal:
    """Take back the last verb that was not taken back yet; edits of a person, before or after it, stay."""
    versions.save_snapshot(files, "before undo")
    steps = _standing_verbs(versions.list_versions(contents=False))
    if not steps:
        raise WorkspaceError(
            f"nothing to undo in {shorten_path(versions.folder)}: no verb has written anything that is not taken back; "
            "'oragent workspace restore VERSION' brings earlier files back"
        )
    members = [versions.read_version(one.number) for one in steps[-1]]
    first, last = members[0].number, members[-1].number
    if first == last:
        numbers = str(first)
    else:
        numbers = f"{first} to {last}"
    reason = f"takes back version {numbers} ({members[-1].verb or members[-1].author})"
    return _reverse_changes(versions, UNDO, reason, members)


def redo_last(versions: Versions, files: dict[str, Path]) -> Reversal:
    """Do again what the last undo took back; not possible once another verb has written."""
    versions.save_snapshot(files, "before redo")
    last = _last_undo(versions.list_versions(contents=False))
    if last is None:
        where = shorten_path(versions.folder)
        raise WorkspaceError(f"nothing to redo in {where}: nothing was taken back since the last verb")
    taken = versions.read_version(last.number)
    return _reverse_changes(versions, REDO, f"does again what version {taken.number} took back", [taken])


def restore_files(versions: Versions, files: dict[str, Path], number: int, path: str = "") -> Reversal:
    """Bring one file, or all, back to what they were at a version; what they are now is a version before.

    Files that a person added since stay.
    """
    versions.read_version(number)
    versions.save_snapshot(files, "before restore")
    path = path.removeprefix("./")
    if path and not versions.content_at(path, number)[0]:
        raise path_error(path, f"is in no version up to {number}; 'oragent workspace history' lists files")
    contents, added = {}, []
    for name in [path] if path else versions.list_paths():
        exists, content = versions.content_at(name, number)
        if exists:
            contents[name] = content
        elif versions.first_author(name) != PERSON:
            contents[name] = None
        elif name in files:
            added.append(name)
    reason = f"brings back version {number}" + (f" of {path}" if path else "")
    number_written = versions.write_version(contents, RESTORE, reason, None if path else number)
    if added:
        extra = f"; added since and left: {', '.join(map(shorten_path, added))}"
    else:
        extra = ""
    return Reversal(number_written, reason + extra)


def is_answer(version: VersionRecord) -> bool:
    """Return True if a version only keeps the answer to a question; it is no step of undo."""
    return version.author == EXPLAINER


def list_verbs_in_force(history: Iterable[VersionRecord]) -> frozenset[str]:
    """Return the names of verbs that wrote and are not taken back, such as ``revise-2``; the history is in order."""
    # after each version
    states: dict[int, frozenset[str]] = {}
    restores: set[int] = set()
    # number of what is taken back, by the number of the undo
    undone: dict[int, int] = {}
    last: frozenset[str] = frozenset()
    names: dict[int, str] = {}
    for version in history:
        number = version.undoes
        if version.author == UNDO and number is not None:
            undone[version.number] = number
            if number in restores:
                last = states.get(number - 1, frozenset())
            else:
                last = last - {names.get(number, "")}
        elif version.author == REDO and number in undone:
            number = undone[number]
            if number in restores:
                last = states.get(number, last)
            else:
                last = last | {names.get(number, "")}
        elif version.author == RESTORE and number is not None:
            restores.add(version.number)
            last = states.get(number, last)
        elif version.verb:
            last = last | {version.verb}
        names[version.number] = version.verb
        states[version.number] = last
    return last - {""}


def _standing_verbs(history: Iterable[VersionRecord]) -> list[list[VersionRecord]]:
    steps: list[list[VersionRecord]] = []
    taken: dict[int, list[VersionRecord]] = {}
    for version in history:
        if is_answer(version):
            continue
        if version.author == UNDO and version.undoes is not None:
            undone = next((step for step in steps if version.undoes in {member.number for member in step}), None)
            if undone is not None:
                steps.remove(undone)
                taken[version.number] = undone
        elif version.author == REDO and version.undoes in taken:
            steps.append(taken.pop(version.undoes))
        elif version.author in {PERSON, REDO} | BEGINNINGS:
            continue
        elif version.verb and steps and steps[-1][-1].verb == version.verb:
            steps[-1].append(version)
        else:
            steps.append([version])
    return steps


def _last_undo(history: Iterable[VersionRecord]) -> VersionRecord | None:
    """The last undo that was not done again, with no verb since."""
    undos: list[VersionRecord] = []
    for version in history:
        if version.author == UNDO:
            undos.append(version)
        elif version.author == REDO:
            undos = [undo for undo in undos if undo.number != version.undoes]
        elif version.author != PERSON and not is_answer(version):
            undos = []
    if undos:
        return undos[-1]
    return None


def _reverse_changes(versions: Versions, author: str, reason: str, members: list[VersionRecord]) -> Reversal:
    """Bring files to what they were before some versions, where they still are as the last of them left them."""
    befores, afters = dict[str, bytes | None](), dict[str, bytes | None]()
    for change in (change for member in members for change in member.changes):
        befores.setdefault(change.path, change.before)
        afters[change.path] = change.after
    contents, untouched = {}, []
    for path, before in befores.items():
        now = versions.read_file(path)
        if now == afters[path]:
            contents[path] = before
        elif now != before:
            untouched.append((path, members[0].number - 1 if author == UNDO else members[0].undoes or 0))
    number = versions.write_version(contents, author, reason, members[-1].number)
    if number is None:
        number = versions.note_reversal(author, reason, members[-1].number)
    return Reversal(number, reason, tuple(untouched))
