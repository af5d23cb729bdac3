"""Every write is a version; what a person wrote is never lost; a kill leaves whole files and a whole store."""

import pytest

from oragent._base.errors import WorkspaceError
from oragent.workspace.undoing import undo_last
from oragent.workspace.versions import PERSON, Versions


def test_writes_are_versions_with_author_reason_and_diff(tmp_path):
    with Versions(tmp_path) as store:
        first = store.write_version({"src/a.py": "x = 1\n"}, "builder", "first\nprogram")
        second = store.write_version({"src/a.py": "x = 2\n", "src/b.py": "y\n"}, "reviser", "more")
        assert store.write_version({"src/a.py": "x = 2\n"}, "reviser", "the same") is None
        history = store.list_versions()
        assert [(one.number, one.author, one.reason) for one in history] == [
            (first, "builder", "first program"), (second, "reviser", "more"),
        ]  # fmt: skip
        assert "-x = 1\n+x = 2\n" in store.describe_diff(second)
        assert "+++ src/b.py" in store.describe_diff(second)
        assert (tmp_path / "src/a.py").read_text() == "x = 2\n"


def test_a_diff_shows_each_file_in_its_own_encoding(tmp_path):
    with Versions(tmp_path) as store:
        number = store.write_version({"data/a.csv": "Straße;Käse\n".encode("cp1252"), "docs/b.txt": "Öl\n".encode("utf-16"),
                                      "data/c.bin": bytes(range(256))}, "run", "texts")  # fmt: skip
        text = store.describe_diff(number)
    assert "+Straße;Käse\n" in text
    assert "+Öl\n" in text
    assert "+++ data/c.bin\nbinary: 0 and 256 bytes" in text


def test_what_a_person_changed_is_kept_before_it_is_written_over(tmp_path):
    with Versions(tmp_path) as store:
        store.write_version({"a.py": "ours\n"}, "builder", "one")
        (tmp_path / "a.py").write_text("a person's\n")
        store.write_version({"a.py": "ours again\n"}, "builder", "two")
        assert [one.author for one in store.list_versions()] == ["builder", PERSON, "builder"]
        assert store.list_versions()[1].changes[0].after == b"a person's\n"


def test_a_file_that_was_there_first_is_kept_too(tmp_path):
    (tmp_path / "a.py").write_text("a person's\n")
    with Versions(tmp_path) as store:
        store.write_version({"a.py": "ours\n"}, "builder", "one")
        undo_last(store, {})
        assert (tmp_path / "a.py").read_text() == "a person's\n"
        with pytest.raises(WorkspaceError, match="nothing to undo"):
            undo_last(store, {})


def test_undo_goes_back_step_by_step_and_is_a_version_itself(tmp_path):
    with Versions(tmp_path) as store:
        for text in ("1", "2", "3"):
            store.write_version({"a.py": text}, "builder", text)
        undo_last(store, {})
        assert (tmp_path / "a.py").read_text() == "2"
        undo_last(store, {})
        assert (tmp_path / "a.py").read_text() == "1"
        undo_last(store, {})
        assert not (tmp_path / "a.py").exists()
        assert [one.undoes for one in store.list_versions()][-3:] == [3, 2, 1]


def test_a_write_that_was_cut_off_is_finished_when_the_store_is_opened(tmp_path, monkeypatch):
    with Versions(tmp_path) as store:
        store.write_version({"a.py": "old"}, "builder", "one")
        monkeypatch.setattr(Versions, "_write_files", lambda self, number: None)
        store.write_version({"a.py": "new"}, "builder", "two")
        monkeypatch.undo()
        assert (tmp_path / "a.py").read_text() == "old"
    with Versions(tmp_path):
        assert (tmp_path / "a.py").read_text() == "new"


def test_a_cut_off_write_does_not_overwrite_what_a_person_wrote_since(tmp_path, monkeypatch):
    with Versions(tmp_path) as store:
        store.write_version({"a.py": "old"}, "builder", "one")
        monkeypatch.setattr(Versions, "_write_files", lambda self, number: None)
        store.write_version({"a.py": "new"}, "builder", "two")
        monkeypatch.undo()
    (tmp_path / "a.py").write_text("a person's")
    with Versions(tmp_path):
        assert (tmp_path / "a.py").read_text() == "a person's"


@pytest.mark.parametrize("path", ["../a.py", "/tmp/a.py", "link/a.py", ""])
def test_no_path_leads_out(tmp_path, path):
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / "link").symlink_to(tmp_path)
    with Versions(tmp_path / "w") as store, pytest.raises(WorkspaceError, match="leads out"):
        store.write_version({path: "x"}, "builder", "out")


def test_a_full_disk_loses_nothing(tmp_path, monkeypatch):
    def full(place, content):
        raise OSError(28, "No space left on device")

    with Versions(tmp_path) as store:
        store.write_version({"a.py": "old"}, "builder", "one")
        monkeypatch.setattr("oragent._base.files.replace_file", full)
        with pytest.raises(WorkspaceError, match="No space left"):
            store.write_version({"a.py": "new"}, "builder", "two")
        monkeypatch.undo()
        assert (tmp_path / "a.py").read_text() == "old"
    with Versions(tmp_path):
        assert (tmp_path / "a.py").read_text() == "new"
