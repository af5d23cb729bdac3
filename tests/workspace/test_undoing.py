"""Undo takes back verbs and never a person's edits; restore brings versions back; a kill loses nothing."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from oragent._base.errors import WorkspaceError
from oragent.workspace.undoing import _standing_steps, list_verbs_in_force, restore_files, undo_last
from oragent.workspace.versions import PERSON, Versions, WorkspaceVersion
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
    ],
)
def test_verbs_in_force_are_those_that_no_version_took_back(history, in_force):
    assert list_verbs_in_force(list_history(history)) == in_force


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
