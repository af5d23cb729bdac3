"""Undo, redo and restore of files that verbs wrote. Edits of the user are never undone.

If the user changed a file after the undone version, the file stays as it is and the result names it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from oragent._base.errors import WorkspaceError
from oragent.workspace.reading import path_error, shorten_path
from oragent.workspace.versions import PERSON, SHORT, Versions, WorkspaceVersion

# Authors of the first version of a workspace. The user may change or delete its files.
BEGINNINGS = {"new", "from"}
UNDO, REDO, RESTORE = "undo", "redo", "restore"


@dataclass(frozen=True)
class Reversal:
    """Result of undo, redo or restore."""

    # Id of the new version. Empty if nothing had to be changed.
    version: str
    # Description of the change, in one line.
    reason: str
    # Files that were kept as they are, each with the version that has the requested content.
    untouched: tuple[tuple[str, str], ...] = ()

    def describe(self) -> list[str]:
        """Return the lines to print."""
        if self.version:
            head = f"version {self.version[:SHORT]} {self.reason}"
        else:
            head = f"nothing to change: {self.reason}"
        lines = [head]
        for path, version in self.untouched:
            hint = f"'oragent workspace restore DIR {version[:SHORT]} {shorten_path(path)}' overwrites it"
            lines.append(f"kept as you changed it: {shorten_path(path)}" + (f"; {hint}" if version else ""))
        return lines


def undo_last(versions: Versions) -> Reversal:
    """Undo the last verb that is not yet undone; the user's edits before and after it stay."""
    versions.save_snapshot("before undo")
    steps = _standing_verbs(versions.list_own())
    if not steps:
        raise WorkspaceError(
            f"nothing to undo in {shorten_path(versions.folder)}: all that verbs wrote is already undone; "
            "'oragent workspace restore VERSION' restores earlier files"
        )
    members = steps[-1]
    reason = f"takes back {members[-1].verb or members[-1].author} ({members[-1].short})"
    return _reverse_changes(versions, UNDO, reason, members)


def redo_last(versions: Versions) -> Reversal:
    """Redo the changes of the last undo; not possible once another verb has written."""
    versions.save_snapshot("before redo")
    last = _last_undo(versions.list_own())
    if last is None:
        where = shorten_path(versions.folder)
        raise WorkspaceError(f"nothing to redo in {where}: nothing was undone since the last verb")
    return _reverse_changes(versions, REDO, f"does again what version {last.short} took back", [last])


def restore_files(versions: Versions, name: str, path: str = "") -> Reversal:
    """Restore one file, or all files, from a version. The present state is saved as a version first.

    Files that the user added since that version are not removed.
    """
    versions.save_snapshot("before restore")
    version = versions.find_version(name)
    path = path.removeprefix("./")
    wanted, present = versions.list_contents(version.id), versions.list_contents(versions.tip)
    if path and path not in wanted:
        raise path_error(path, f"is not in version {version.short}; 'oragent workspace history' lists files")
    contents: dict[str, bytes | None] = {}
    added = []
    for each in [path] if path else sorted({*wanted, *present}):
        if each in wanted:
            contents[each] = versions.read_content(wanted[each])
        elif versions.first_author(each) != PERSON:
            contents[each] = None
        else:
            added.append(each)
    reason = f"brings back version {version.short}" + (f" of {path}" if path else "")
    written = versions.write_version(contents, RESTORE, reason, "" if path else version.id)
    extra = f"; added since and left: {', '.join(map(shorten_path, added))}" if added else ""
    return Reversal(written, reason + extra)


def list_verbs_in_force(history: Iterable[WorkspaceVersion]) -> frozenset[str]:
    """Return the names of verbs that wrote and are not undone, such as ``revise-2``.

    ``history`` is in order of time.
    """
    # Verbs that are in force after each version.
    states: dict[str, frozenset[str]] = {}
    before: dict[str, frozenset[str]] = {}
    restores: set[str] = set()
    # Undone verbs by the id of the version that undid them.
    undone: dict[str, str] = {}
    last: frozenset[str] = frozenset()
    names: dict[str, str] = {}
    for version in history:
        before[version.id] = last
        target = version.undoes
        if version.author == UNDO and target:
            undone[version.id] = target
            last = before.get(target, frozenset()) if target in restores else last - {names.get(target, "")}
        elif version.author == REDO and target in undone:
            target = undone[target]
            last = states.get(target, last) if target in restores else last | {names.get(target, "")}
        elif version.author == RESTORE and target:
            restores.add(version.id)
            last = states.get(target, last)
        elif version.verb:
            last = last | {version.verb}
        names[version.id] = version.verb
        states[version.id] = last
    return last - {""}


def _standing_verbs(history: Iterable[WorkspaceVersion]) -> list[list[WorkspaceVersion]]:
    steps: list[list[WorkspaceVersion]] = []
    taken: dict[str, list[WorkspaceVersion]] = {}
    for version in history:
        if version.author == UNDO and version.undoes:
            undone = next((step for step in steps if version.undoes in {member.id for member in step}), None)
            if undone is not None:
                steps.remove(undone)
                taken[version.id] = undone
        elif version.author == REDO and version.undoes in taken:
            steps.append(taken.pop(version.undoes))
        elif version.author in {PERSON, REDO} | BEGINNINGS:
            continue
        elif version.verb and steps and steps[-1][-1].verb == version.verb:
            steps[-1].append(version)
        else:
            steps.append([version])
    return steps


def _last_undo(history: Iterable[WorkspaceVersion]) -> WorkspaceVersion | None:
    """Return the last undo that is not redone; None if a verb ran after it."""
    undos: list[WorkspaceVersion] = []
    for version in history:
        if version.author == UNDO:
            undos.append(version)
        elif version.author == REDO:
            undos = [undo for undo in undos if undo.id != version.undoes]
        elif version.author != PERSON:
            undos = []
    return undos[-1] if undos else None


def _reverse_changes(versions: Versions, author: str, reason: str, members: Sequence[WorkspaceVersion]) -> Reversal:
    """Restore files to their state before some versions, except files that changed after the last of these versions."""
    befores, afters = dict[str, str | None](), dict[str, str | None]()
    for member in members:
        for change in versions.read_changes(member.id):
            befores.setdefault(change.path, change.before)
            afters[change.path] = change.after
    contents: dict[str, bytes | None] = {}
    untouched = []
    source = versions.repository.try_resolve(f"{members[0].id}^") if author == UNDO else members[0].undoes
    present = versions.list_contents(versions.tip)
    for path, before in befores.items():
        now = present.get(path)
        if now == afters[path]:
            contents[path] = versions.read_content(before)
        elif now != before:
            untouched.append((path, source))
    written = versions.write_version(contents, author, reason, members[-1].id)
    if not written:
        written = versions.note_reversal(author, reason, members[-1].id)
    return Reversal(written, reason, tuple(untouched))
