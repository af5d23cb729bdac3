"""Undo takes back verbs and never a person's edits; restore brings versions back; a kill loses nothing."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from oragent._base.errors import WorkspaceError
from oragent.workspace.undoing import _standing_steps, list_verbs_in_force, restore_files, undo_last
from oragent.workspace.versions import PERSON, FileChange, Versions, WorkspaceVersion
from tests.workspace.release import put

KILLED = """
import os, signal, sys
from pathlib import Path
from oragent._base import files
from oragent.workspace.versions import Versions
plain, count = files.replace_file, 0
def replace_file(place, content):
    global count
    count += place.name in ("a.py", "t.csv")
    if count == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    plain(place, content)
files.replace_file = replace_file
folder = Path(sys.argv[1])
with Versions(folder) as versions:
    versions.save_snapshot("before build-1")
    versions.write_version({"src/a.py": "theirs\\n", "data/t.csv": "a\\n2\\n"}, "builder", "two files", verb="build-1")
"""


def text(folder: Path, path: str) -> str | None:
    return (folder / path).read_text() if (folder / path).exists() else None


def test_undo_takes_back_the_verb_and_no_edit_before_or_after_it(tmp_path):
    with Versions(tmp_path) as versions:
        versions.write_version({"docs/r.md": "template", "data/p.csv": "head\n"}, "new", "begun")
        put(tmp_path, {"docs/r.md": "what I need", "data/p.csv": "head\nflour,3\n", "data/mine.csv": "a\n1\n"})
        versions.save_snapshot("before run")
        versions.write_version({"src/record.json": "{}"}, "run", "records")
        put(tmp_path, {"docs/r.md": "what I need, and more"})
        undo_last(versions)
        assert text(tmp_path, "src/record.json") is None
        assert text(tmp_path, "docs/r.md") == "what I need, and more"
        assert text(tmp_path, "data/p.csv") == "head\nflour,3\n"
        with pytest.raises(WorkspaceError, match="nothing to undo"):
            undo_last(versions)
        assert text(tmp_path, "data/mine.csv") == "a\n1\n"


def list_history(history):
    """Return versions of which each has an author, a verb, and the place of the version that it reverts."""
    return [
        WorkspaceVersion(str(at), at, author, "", (), verb, "" if of is None else str(of))
        for at, (author, verb, of) in enumerate(history)
    ]


@pytest.mark.parametrize(
    ("history", "steps"),
    [
        # One undo takes back all versions of a verb; versions without a verb are steps of their own.
        ([("run", "a-1", None), ("run", "a-1", None), ("run", "b-1", None)], ["01", "2"]),
        ([("run", "", None), ("run", "", None)], ["0", "1"]),
        ([("run", "a-1", None), ("person", "", None), ("run", "a-1", None)], ["02"]),
        ([("new", "", None), ("from", "", None), ("run", "", None)], ["2"]),
        ([("run", "a-1", None), ("run", "a-1", None), ("run", "b-1", None), ("undo", "", 2)], ["01"]),
        ([("run", "a-1", None), ("run", "a-1", None), ("run", "b-1", None), ("undo", "", 1)], ["2"]),
        ([("run", "a-1", None), ("restore", "", 0)], ["0", "1"]),
    ],
)
def test_steps_that_can_be_undone_have_the_versions_of_one_verb(history, steps):
    assert ["".join(member.id for member in step) for step in _standing_steps(list_history(history))] == steps


@pytest.mark.parametrize(
    ("history", "in_force"),
    [
        ([("run", "a-1", None), ("run", "b-1", None)], {"a-1", "b-1"}),
        ([("run", "a-1", None), ("run", "b-1", None), ("undo", "", 1)], {"a-1"}),
        ([("run", "a-1", None), ("run", "b-1", None), ("undo", "", 0)], {"b-1"}),
        ([("run", "a-1", None), ("run", "b-1", None), ("restore", "", 0)], {"a-1"}),
        ([("run", "a-1", None), ("run", "b-1", None), ("restore", "", None)], {"a-1", "b-1"}),
        ([("run", "a-1", None), ("run", "b-1", None), ("restore", "", 0), ("undo", "", 2)], {"a-1", "b-1"}),
        ([("run", "a-1", None), ("run", "", None), ("undo", "", 1)], {"a-1"}),
        ([("person", "", None)], set()),
        # Only versions that undo or restore take verbs back.
        ([("run", "a-1", None), ("run", "b-1", 0)], {"a-1", "b-1"}),
        ([("run", "a-1", None), ("undo", "", None)], {"a-1"}),
        ([("run", "a-1", None), ("run", "", None), ("run", "b-1", None), ("undo", "", 1)], {"a-1"}),
    ],
)
def test_verbs_in_force_are_those_that_no_version_took_back(history, in_force):
    assert list_verbs_in_force(list_history(history)) == in_force


class StoredFiles:
    """Versions in memory: each has its author, its verb and all files after it."""

    folder = Path("bakery")

    def __init__(self, *history: tuple[str, str, dict[str, str]]) -> None:
        self.files: list[dict[str, str]] = []
        self.versions: list[WorkspaceVersion] = []
        for author, verb, files in history:
            self._append(author, files, verb=verb)
        self.repository = self

    def _append(self, author: str, files: dict[str, str], reason: str = "", undoes: str = "", verb: str = "") -> str:
        last = self.files[-1] if self.files else {}
        paths = tuple(path for path in sorted({*last, *files}) if last.get(path) != files.get(path))
        number = len(self.versions)
        self.versions.append(WorkspaceVersion(f"id{number:08d}", number, author, reason, paths, verb, undoes))
        self.files.append(files)
        return self.tip

    @property
    def tip(self) -> str:
        return self.versions[-1].id

    def save_snapshot(self, reason: str) -> str:
        return ""

    def list_own(self) -> tuple[WorkspaceVersion, ...]:
        return tuple(self.versions)

    def find_version(self, name: str) -> WorkspaceVersion:
        (version,) = [version for version in self.versions if version.id == name]
        return version

    def list_blobs(self, version: str) -> dict[str, str]:
        return self.files[int(version[2:])]

    def try_resolve(self, revision: str) -> str:
        number = int(revision[2:-1])
        return self.versions[number - 1].id if number else ""

    def read_changes(self, version: str) -> list[FileChange]:
        number = int(version[2:])
        before, after = self.files[number - 1] if number else {}, self.files[number]
        return [FileChange(path, before.get(path), after.get(path)) for path in self.versions[number].paths]

    def read_content(self, blob: str | None) -> str | None:
        return blob

    def write_version(self, contents: dict, author: str, reason: str, undoes: str = "", verb: str = "") -> str:
        files = {path: text for path, text in {**self.files[-1], **contents}.items() if text is not None}
        return self._append(author, files, reason, undoes, verb) if files != self.files[-1] else ""

    def note_reversal(self, author: str, reason: str, undoes: str) -> str:
        return self._append(author, self.files[-1], reason, undoes)


FIRST = ("new", "", {"a": "1"})


@pytest.mark.parametrize(
    ("history", "after", "undone", "untouched"),
    [
        # A verb in two versions changes, adds and removes a file.
        ([FIRST, ("run", "b-1", {"a": "2", "n": "x"}), ("run", "b-1", {"n": "y"})], {"a": "1"}, 2, {}),
        # A file that the user changed since stays; the version before the verb has the former one.
        ([FIRST, ("run", "b-1", {"a": "2", "n": "x"}), (PERSON, "", {"a": "3", "n": "x"})], {"a": "3"}, 1, {"a": 0}),
        ([FIRST, ("run", "b-1", {"a": "2", "n": "x"}), (PERSON, "", {"a": "2"})], {"a": "1"}, 1, {}),
        # The user has taken all back before.
        ([FIRST, ("run", "b-1", {"a": "2"}), (PERSON, "", {"a": "1"})], {"a": "1"}, 1, {}),
        ([FIRST, ("run", "b-1", {"a": "2"}), (PERSON, "", {})], {}, 1, {"a": 0}),
        # The first version of all has none before it.
        ([("run", "b-1", {"a": "2"}), (PERSON, "", {"a": "3"})], {"a": "3"}, 0, {"a": None}),
        ([FIRST, ("run", "", {"a": "2"}), ("run", "", {"a": "4"})], {"a": "2"}, 2, {}),
        ([FIRST, ("run", "b-1", {"a": "2"}), (PERSON, "", {"a": "2", "m": "x"}), ("run", "b-1", {"a": "4", "m": "x"})],
         {"a": "1", "m": "x"}, 3, {}),
    ],
)  # fmt: skip
def test_undo_restores_the_files_before_a_verb_unless_they_changed_since(history, after, undone, untouched):
    versions = StoredFiles(*history)
    reversal = undo_last(versions)
    assert versions.files[-1] == after
    last = versions.versions[-1]
    # A version says what it takes back, even if no file changes.
    assert len(versions.versions) == len(history) + 1
    assert (reversal.version, last.author, last.undoes) == (last.id, "undo", f"id{undone:08d}")
    named = history[undone][1] or "run"
    assert reversal.reason == last.reason
    assert f"{named} (id{undone:08d})" in reversal.reason
    assert dict(reversal.untouched) == {
        path: "" if number is None else f"id{number:08d}" for path, number in untouched.items()
    }
    lines = reversal.describe()
    assert reversal.reason in lines[0]
    assert [("restore DIR" in line, path in line) for line, path in zip(lines[1:], untouched, strict=True)] == [
        (number is not None, True) for number in untouched.values()
    ]


def test_undo_goes_back_verb_by_verb_to_the_beginning():
    versions = StoredFiles(FIRST, ("run", "b-1", {"a": "2"}), ("run", "r-1", {"a": "3"}))
    for after in ({"a": "2"}, {"a": "1"}):
        undo_last(versions)
        assert versions.files[-1] == after
    with pytest.raises(WorkspaceError):
        undo_last(versions)
    assert versions.files[-1] == {"a": "1"}


@pytest.mark.parametrize(
    ("path", "after", "added"),
    [
        # Files of the user that were added since stay, those of verbs do not.
        ("", {"a": "1", "b": "1", "mine": "x"}, "mine"),
        ("b", {"a": "2", "b": "1", "mine": "x", "theirs": "x"}, ""),
        ("./a", {"a": "1", "mine": "x", "theirs": "x"}, ""),
        ("gone", None, ""), ("mine", None, ""),
    ],
)  # fmt: skip
def test_restore_brings_back_one_file_or_all_files_of_a_version(path, after, added):
    files = {"a": "2", "theirs": "x"}
    versions = StoredFiles(
        ("new", "", {"a": "1", "b": "1"}), ("run", "b-1", files), (PERSON, "", {**files, "mine": "x"})
    )
    if after is None:
        with pytest.raises(WorkspaceError):
            restore_files(versions, "id00000000", path)
        return
    reversal = restore_files(versions, "id00000000", path)
    assert versions.files[-1] == after
    last = versions.versions[-1]
    assert (reversal.version, last.author) == (last.id, "restore")
    # Only a version of all files takes verbs back.
    assert last.undoes == ("" if path else "id00000000")
    assert reversal.reason.startswith("brings back version id00000000")
    assert (f" of {path.removeprefix('./')}" in reversal.reason) is bool(path)
    assert ("left" in reversal.reason) is bool(added)
    assert reversal.reason.endswith(added)
    again = restore_files(versions, last.id)
    assert (again.version, again.describe()[0].startswith("nothing to change")) == ("", True)


def test_a_file_counts_as_that_of_whoever_added_it():
    """A verb changed a file that the user had added, and the user changed one that a verb had added."""
    more = dict.fromkeys("zyxwvb", "of the user")
    versions = StoredFiles(
        FIRST, (PERSON, "", {"a": "1", "m": "1"}), ("run", "b-1", {"a": "1", "m": "2", "t": "1"}),
        (PERSON, "", {"a": "1", "m": "2", "t": "2", **more}),
    )  # fmt: skip
    reversal = restore_files(versions, "id00000000")
    assert versions.files[-1] == {"a": "1", "m": "2", **more}
    assert reversal.reason.endswith("left: b, m, v, w, x, y, z")


@pytest.mark.slow
def test_a_file_that_was_edited_after_the_verb_keeps_the_edit_and_is_named(tmp_path):
    with Versions(tmp_path) as versions:
        put(tmp_path, {"src/a.py": "mine", "src/b.py": "mine too"})
        first = versions.save_snapshot("before revise-1")
        versions.write_version({"docs/revise-1.md": "change"}, "request", "asked", verb="revise-1")
        versions.write_version({"src/a.py": "theirs", "src/b.py": "theirs too"}, "reviser", "done", verb="revise-1")
        put(tmp_path, {"src/a.py": "theirs, mended by me"})
        outcome = undo_last(versions)
        assert (text(tmp_path, "src/a.py"), text(tmp_path, "src/b.py")) == ("theirs, mended by me", "mine too")
        assert text(tmp_path, "docs/revise-1.md") is None  # one verb, one undo
        assert (
            f"kept as you changed it: src/a.py; 'oragent workspace restore DIR {first[:10]} src/a.py'"
            in outcome.describe()[1]
        )
        restore_files(versions, first, "src/a.py")
        assert text(tmp_path, "src/a.py") == "mine"


@pytest.mark.slow
def test_restore_brings_a_version_back_and_can_be_undone(tmp_path):
    with Versions(tmp_path) as versions:
        put(tmp_path, {"docs/r.md": "first", "data/t.csv": "a\n1\n"})
        first = versions.save_snapshot("before build-1")
        versions.write_version({"src/a.py": "program"}, "builder", "built", verb="build-1")
        put(tmp_path, {"docs/r.md": "second", "docs/added.md": "of mine"})
        outcome = restore_files(versions, first)
        assert "added since and left: docs/added.md" in outcome.reason
        assert text(tmp_path, "docs/r.md") == "first"
        assert text(tmp_path, "src/a.py") is None
        assert text(tmp_path, "docs/added.md") == "of mine"
        undo_last(versions)
        assert text(tmp_path, "docs/r.md") == "second"
        assert text(tmp_path, "src/a.py") == "program"
        with pytest.raises(WorkspaceError):
            restore_files(versions, "9999")
        with pytest.raises(WorkspaceError):
            restore_files(versions, first, "src/a.py")


@pytest.mark.slow
def test_a_process_that_is_killed_while_it_writes_loses_no_version_of_anybody(tmp_path):
    put(tmp_path, {"docs/r.md": "what I typed", "data/t.csv": "a\n1\n", "src/a.py": "mine\n"})
    ended = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False)
    assert ended.returncode == -signal.SIGKILL
    with Versions(tmp_path) as versions:
        assert text(tmp_path, "src/a.py") == "theirs\n"  # finished when it is opened again
        assert text(tmp_path, "data/t.csv") == "a\n2\n"
        assert [one.author for one in versions.list_versions()] == [PERSON, "builder"]
        undo_last(versions)
    assert text(tmp_path, "src/a.py") == "mine\n"
    assert text(tmp_path, "data/t.csv") == "a\n1\n"
    assert text(tmp_path, "docs/r.md") == "what I typed"
