"""Undo and restore of files that verbs wrote; edits of the user are never undone.

If the user changed a file after the undone version, the file stays as it is and the result names it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from oragent._base.errors import WorkspaceError
from oragent.workspace.reading import path_error, shorten_path
from oragent.workspace.versions import PERSON, SHORT, Versions, WorkspaceVersion

UNDO, RESTORE = "undo", "restore"
# Authors whose versions undo skips: the user, and the first version of a workspace.
NOT_UNDONE = {PERSON, "new", "from"}


@dataclass(frozen=True)
class Reversal:
    """Result of undo or restore."""

    # Id of the new version. Empty if nothing had to be changed.
    version: str
    # Description of the change, in one line.
    reason: str
    # Files that were kept as they are, each with the version that has the requested content.
    untouched: tuple[tuple[str, str], ...] = ()

    def describe(self) -> list[str]:
        """Return the lines to print."""
        head = f"version {self.version[:SHORT]} {self.reason}" if self.version else f"nothing to change: {self.reason}"
        lines = [head]
        for path, version in self.untouched:
            hint = f"'oragent workspace restore DIR {version[:SHORT]} {shorten_path(path)}' overwrites it"
            lines.append(f"kept as you changed it: {shorten_path(path)}" + (f"; {hint}" if version else ""))
        return lines


def undo_last(versions: Versions) -> Reversal:
    """Undo the last verb that is not yet undone; the user's edits before and after it stay."""
    versions.save_snapshot("before undo")
    steps = _standing_steps(versions.list_own())
    if not steps:
        raise WorkspaceError(
            f"nothing to undo in {shorten_path(versions.folder)}: all that verbs wrote is already undone; "
            "'oragent workspace restore VERSION' restores earlier files"
        )
    members = steps[-1]
    reason = f"takes back {members[-1].verb or members[-1].author} ({members[-1].short})"
    return _take_back(versions, reason, members)


def restore_files(versions: Versions, name: str, path: str = "") -> Reversal:
    """Restore one file, or all files, from a version. The present state is saved as a version first.

    Files that the user added since that version are not removed.
    """
    versions.save_snapshot("before restore")
    version = versions.find_version(name)
    path = path.removeprefix("./")
    blobs, present = versions.repository.list_blobs(version.id), versions.repository.list_blobs(versions.tip)
    if path and path not in blobs:
        raise path_error(path, f"is not in version {version.short}; 'oragent workspace history' lists files")
    contents: dict[str, bytes | None] = {}
    added = []
    authors = {path: version.author for version in reversed(versions.list_own()) for path in version.paths}
    for each in [path] if path else sorted({*blobs, *present}):
        if each in blobs:
            contents[each] = versions.read_content(blobs[each])
        elif authors.get(each) != PERSON:
            contents[each] = None
        else:
            added.append(each)
    reason = f"brings back version {version.short}" + (f" of {path}" if path else "")
    written = versions.write_version(contents, RESTORE, reason, "" if path else version.id)
    extra = f"; added since and left: {', '.join(map(shorten_path, added))}" if added else ""
    return Reversal(written, reason + extra)


def list_verbs_in_force(history: Iterable[WorkspaceVersion]) -> frozenset[str]:
    """Return the names of verbs that wrote and are not undone, such as ``revise-2``; the history is in order."""
    # Verbs in force before and after each version.
    before: dict[str, frozenset[str]] = {}
    after: dict[str, frozenset[str]] = {}
    last: frozenset[str] = frozenset()
    verbs: dict[str, str] = {}
    for version in history:
        before[version.id], verbs[version.id] = last, version.verb
        if version.author == UNDO and verbs.get(version.undoes):
            last -= {verbs[version.undoes]}
        elif version.author == UNDO:
            last = before.get(version.undoes, last)
        elif version.author == RESTORE and version.undoes:
            last = after.get(version.undoes, last)
        elif version.verb:
            last |= {version.verb}
        after[version.id] = last
    return last


def _standing_steps(history: Iterable[WorkspaceVersion]) -> list[list[WorkspaceVersion]]:
    """Return the steps that are not undone, each with the versions of one verb."""
    steps: list[list[WorkspaceVersion]] = []
    for version in history:
        if version.author == UNDO:
            steps = [step for step in steps if version.undoes not in {member.id for member in step}]
        elif version.author in NOT_UNDONE:
            continue
        elif version.verb and steps and steps[-1][-1].verb == version.verb:
            steps[-1].append(version)
        else:
            steps.append([version])
    return steps


def _take_back(versions: Versions, reason: str, members: Sequence[WorkspaceVersion]) -> Reversal:
    """Restore files to their state before some versions, unless they changed after the last of these versions."""
    befores, afters = dict[str, str | None](), dict[str, str | None]()
    for member in members:
        for change in versions.read_changes(member.id):
            befores.setdefault(change.path, change.before)
            afters[change.path] = change.after
    contents: dict[str, bytes | None] = {}
    untouched = []
    source = versions.repository.try_resolve(f"{members[0].id}^")
    present = versions.repository.list_blobs(versions.tip)
    for path, before in befores.items():
        now = present.get(path)
        if now == afters[path]:
            contents[path] = versions.read_content(before)
        elif now != before:
            untouched.append((path, source))
    written = versions.write_version(contents, UNDO, reason, members[-1].id)
    if not written:
        written = versions.note_reversal(UNDO, reason, members[-1].id)
    return Reversal(written, reason, tuple(untouched))
