"""Every write is a version; what a person wrote is never lost; a kill leaves whole files and a whole store."""

import hashlib
import itertools
import os
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from oragent._base import files
from oragent._base.errors import WorkspaceError
from oragent.workspace import versions as versions_module
from oragent.workspace.repository import Repository
from oragent.workspace.undoing import restore_files, undo_last
from oragent.workspace.versions import PERSON, FileChange, Versions, WorkspaceVersion, find_repository
from tests.workspace.release import put
from tests.workspace.teams import begin, commit, git, state_of


def test_writes_are_versions_with_author_reason_and_diff(tmp_path):
    with Versions(tmp_path) as store:
        first = store.write_version({"src/a.py": "x = 1\n"}, "builder", "first\nprogram")
        second = store.write_version({"src/a.py": "x = 2\n", "src/b.py": "y\n"}, "reviser", "more")
        assert store.write_version({"src/a.py": "x = 2\n"}, "reviser", "the same") == ""
        history = store.list_versions()
        assert [(one.id, one.author, one.reason) for one in history] == [
            (first, "builder", "first program"), (second, "reviser", "more"),
        ]  # fmt: skip
        assert "-x = 1\n+x = 2\n" in store.describe_diff(second)
        assert "+++ src/b.py" in store.describe_diff(second)
        assert (tmp_path / "src/a.py").read_text() == "x = 2\n"


def test_a_diff_names_binary_files_and_is_bounded(tmp_path):
    with Versions(tmp_path) as store:
        number = store.write_version(
            {"data/c.bin": bytes(range(256)), "data/t.csv": "a\n" + "1\n" * 800}, "run", "texts"
        )
        text = store.describe_diff(number)
    assert "Binary files /dev/null and data/c.bin differ" in text
    assert text.endswith(" more lines\n")


def test_what_a_person_changed_is_kept_before_it_is_written_over(tmp_path):
    with Versions(tmp_path) as store:
        store.write_version({"a.py": "ours\n"}, "builder", "one")
        (tmp_path / "a.py").write_text("a person's\n")
        store.write_version({"a.py": "ours again\n"}, "builder", "two")
        assert [one.author for one in store.list_versions()] == ["builder", PERSON, "builder"]
        (change,) = store.read_changes(store.list_versions()[1].id)
        assert store.read_content(change.after) == b"a person's\n"


def test_a_file_that_was_there_first_is_kept_too(tmp_path):
    (tmp_path / "a.py").write_text("a person's\n")
    with Versions(tmp_path) as store:
        store.write_version({"a.py": "ours\n"}, "builder", "one")
        undo_last(store)
        assert (tmp_path / "a.py").read_text() == "a person's\n"
        with pytest.raises(WorkspaceError, match="nothing to undo"):
            undo_last(store)


@pytest.mark.slow
def test_undo_goes_back_step_by_step_and_is_a_version_itself(tmp_path):
    with Versions(tmp_path) as store:
        written = [store.write_version({"a.py": text}, "builder", text) for text in ("1", "2", "3")]
        undo_last(store)
        assert (tmp_path / "a.py").read_text() == "2"
        undo_last(store)
        assert (tmp_path / "a.py").read_text() == "1"
        undo_last(store)
        assert not (tmp_path / "a.py").exists()
        assert [one.undoes for one in store.list_versions()][-3:] == written[::-1]


def cut_off(versions, commit):
    raise KeyboardInterrupt


def test_a_write_that_was_cut_off_is_finished_when_the_store_is_opened(tmp_path, monkeypatch):
    with Versions(tmp_path) as store:
        store.write_version({"a.py": "old"}, "builder", "one")
        monkeypatch.setattr(Versions, "_write_files", cut_off)
        with pytest.raises(KeyboardInterrupt):
            store.write_version({"a.py": "new"}, "builder", "two")
        monkeypatch.undo()
        assert (tmp_path / "a.py").read_text() == "old"
    with Versions(tmp_path):
        assert (tmp_path / "a.py").read_text() == "new"


def test_a_cut_off_write_does_not_overwrite_what_a_person_wrote_since(tmp_path, monkeypatch):
    with Versions(tmp_path) as store:
        store.write_version({"a.py": "old"}, "builder", "one")
        monkeypatch.setattr(Versions, "_write_files", cut_off)
        with pytest.raises(KeyboardInterrupt):
            store.write_version({"a.py": "new"}, "builder", "two")
        monkeypatch.undo()
    (tmp_path / "a.py").write_text("a person's")
    with Versions(tmp_path):
        assert (tmp_path / "a.py").read_text() == "a person's"


PATHS_OUT = [
    "../a.py",
    "/tmp/a.py",
    "link/a.py",
    "",
    ".git/hooks/pre-commit",
    "src/.GIT/config",
    "a/../b",
    "d/link",
    "link",
]


def test_no_path_leads_out(tmp_path):
    put(tmp_path, {"w/d/file": "x", "w/file": "x"})
    for name in ("link", "d/link"):
        (tmp_path / "w" / name).symlink_to(tmp_path)
    with Versions(tmp_path / "w") as store:
        for path in PATHS_OUT:
            with pytest.raises(WorkspaceError, match="leads out"):
                store.write_version({path: "x"}, "builder", "out")
        # A file is no folder.
        for path in ("file/x", "d/file/x", "d/file/x/y"):
            with pytest.raises(WorkspaceError, match="is a file"):
                store.read_file(path)
        assert store.read_file("d/file") == b"x"
        assert store.read_file("new/d/file") is None
        assert store.list_versions() == ()


def test_a_full_disk_loses_nothing(tmp_path, monkeypatch):
    plain = files.replace_file

    def full(place, content):
        if place.name == "a.py":
            raise OSError(28, "No space left on device")
        plain(place, content)

    with Versions(tmp_path) as store:
        store.write_version({"a.py": "old"}, "builder", "one")
        monkeypatch.setattr("oragent._base.files.replace_file", full)
        with pytest.raises(WorkspaceError, match="No space left"):
            store.write_version({"a.py": "new"}, "builder", "two")
        monkeypatch.undo()
        assert (tmp_path / "a.py").read_text() == "old"
    with Versions(tmp_path):
        assert (tmp_path / "a.py").read_text() == "new"


def test_person_files_branch_and_index_stay_and_hidden_or_ignored_files_are_not_versioned(tmp_path):
    put(tmp_path, {"plan.py": "x = 1\n", ".gitignore": "*.tmp\n", ".env": "KEY=secret\n", "big.tmp": "0\n"})
    begin(tmp_path)
    put(tmp_path, {"plan.py": "x = 2\n", "note.md": "mine\n"})
    state = state_of(tmp_path)
    store = Versions(tmp_path)
    store.save_snapshot("before")
    assert state_of(tmp_path) == state
    assert set(store.repository.list_blobs(store.tip)) == {"plan.py", "note.md"}
    store.write_version({"plan.py": "x = 3\n"}, "reviser", "three")
    assert state_of(tmp_path)[:2] == state[:2]
    assert state_of(tmp_path)[3] == state[3]
    undo_last(store)
    assert (tmp_path / "plan.py").read_text() == "x = 2\n"
    assert "refs/oragent" in git(tmp_path, "for-each-ref")


def test_a_folder_of_a_repository_has_versions_of_its_own_files(tmp_path):
    put(tmp_path, {"other/a.py": "a\n", "model/plan.py": "x = 1\r\n", ".gitattributes": "* text=auto\n"})
    begin(tmp_path)
    store = Versions(tmp_path / "model")
    store.save_snapshot("begin")
    assert set(store.repository.list_blobs(store.tip)) == {"plan.py"}
    # The name is the same in every release, so that the versions of earlier ones are found.
    scope = hashlib.sha256(b"model/").hexdigest()[:8]
    reference = git(tmp_path, "for-each-ref", "--format=%(refname)", "refs/oragent").strip()
    assert re.fullmatch(f"refs/oragent/[0-9a-f]{{12}}/{scope}", reference)
    store.write_version({"plan.py": "x = 2\r\n"}, "reviser", "two")
    assert store.save_snapshot("nothing changed") == ""
    undo_last(store)
    assert (tmp_path / "model" / "plan.py").read_bytes() == b"x = 1\r\n"


@pytest.mark.slow
def test_two_clones_work_and_merge_without_conflict_and_deleted_local_files_lose_nothing(tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    put(first, {"src/a.py": "x = 1\n", "docs/r.md": "one\n"})
    begin(first)
    git(tmp_path, "clone", "--quiet", str(first), str(second))
    for folder, path in ((first, "src/of_first.py"), (second, "src/of_second.py")):
        store = Versions(folder)
        store.save_snapshot("begin")
        store.write_version({path: "y\n"}, "builder", f"in {folder.name}", verb="build-1")
        put(folder, {"answers/ask-1.md": folder.name, "run.db": folder.name, "report.html": folder.name})
        commit(folder, "Build")
    git(second, "fetch", "--quiet", "origin", "refs/oragent/*:refs/oragent/*")
    git(second, "pull", "--quiet", "--no-rebase", "--no-edit", "origin", "main")
    for name in git(second, "ls-files", "--others", "--ignored", "--exclude-standard").split():
        (second / name).unlink()
    reasons = {version.reason: version.is_foreign for version in Versions(second, readonly=True).list_versions()}
    assert (reasons["in first"], reasons["in second"]) == (True, False)
    assert {path.name for path in (second / "src").iterdir()} == {"a.py", "of_first.py", "of_second.py"}
    store = Versions(second)
    foreign = next(version for version in store.list_versions() if version.reason == "in first")
    restore_files(store, foreign.short)
    assert (second / "src" / "of_first.py").is_file()


def test_a_workspace_named_by_a_relative_path_has_versions(tmp_path, monkeypatch):
    put(tmp_path, {"w/a.py": "mine\n"})
    monkeypatch.chdir(tmp_path / "w")
    for folder in (Path(), Path("../w")):
        store = Versions(folder)
        store.write_version({"a.py": f"{folder}\n"}, "builder", "one")
        assert store.read_content(store.repository.list_blobs(store.tip)["a.py"]) == f"{folder}\n".encode()
    undo_last(Versions(Path()))
    assert (tmp_path / "w/a.py").read_text() == ".\n"


def test_blobs_are_written_into_a_new_folder_that_replaces_another(tmp_path):
    (tmp_path / "w").mkdir()
    with Versions(tmp_path / "w") as store:
        texts = {"a/b/c.txt": "one\n", "a/b/d.txt": "two\n", "e.txt": "one\n"}
        put(tmp_path / "w", texts)
        blobs = store.save_files(tmp_path / "w", [*texts, "no\nname"])
        assert blobs.keys() == texts.keys()
        put(tmp_path / "out", {"old.txt": "x"})
        for _ in range(2):
            store.write_files(blobs, tmp_path / "out")
            files = {
                path.relative_to(tmp_path / "out").as_posix(): path.read_text()
                for path in (tmp_path / "out").rglob("*.txt")
            }
            assert files == texts
        store.write_files({}, tmp_path / "empty/inner")
        assert list((tmp_path / "empty/inner").iterdir()) == []
        assert store.save_files(tmp_path / "w", []) == {}
        put(tmp_path, {"file": "x"})
        with pytest.raises(WorkspaceError):
            store.write_files(blobs, tmp_path / "file/below")


def test_a_version_is_named_by_at_least_four_characters_of_its_id(tmp_path):
    with Versions(tmp_path) as store:
        first = store.write_version({"a": "1"}, "builder", "  ")
        second = store.write_version({"a": "2"}, "builder", "x" * 999, verb="revise-1")
        versions = store.list_versions()
        assert [store.find_version(name).id for name in (first, first[:4], second[:9])] == [first, first, second]
        for name in (first[:3], "", "zzzz"):
            with pytest.raises(WorkspaceError):
                store.find_version(name)
    assert [version.short for version in versions] == [first[:10], second[:10]]
    assert versions[0].reason
    assert len(versions[1].reason) <= 300
    assert [(version.verb, version.paths, version.is_foreign) for version in versions] == [
        ("", ("a",), False), ("revise-1", ("a",), False),
    ]  # fmt: skip


def test_a_diff_has_400_lines_of_2000_characters_and_counts_the_rest(tmp_path):
    with Versions(tmp_path) as store:
        few = store.write_version({"a.txt": "1\n" * 300}, "run", "few")
        many = store.write_version({"b.txt": "2\n" * 1000 + "3" * 5000 + "\n"}, "run", "many")
        long = store.write_version({"c.txt": "4" * 5000 + "\n"}, "run", "long")
        assert store.describe_diff(few).count("+1\n") == 300
        lines = store.describe_diff(many).splitlines()
        shown = lines.count("+2")
        assert len(lines) == 401
        assert int(lines[-1].split()[1]) == 1001 - shown
        assert max(map(len, store.describe_diff(long).splitlines())) == 2000


def test_a_store_that_is_only_read_writes_nothing(tmp_path):
    (tmp_path / "a.txt").write_text("1\n")
    with Versions(tmp_path, readonly=True) as store:
        assert (store.tip, store.list_versions(), store.list_own()) == ("", (), ())
        with pytest.raises(WorkspaceError):
            store.repository.resolve("HEAD")
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
    with Versions(tmp_path) as store:
        assert store.read_file("none") is None
        assert store.save_snapshot("first")
        assert store.save_snapshot("again") == ""
        (tmp_path / "a.txt").unlink()
        gone = store.save_snapshot("gone")
        (change,) = store.read_changes(gone)
        assert (change.path, store.read_content(change.before), change.after) == ("a.txt", b"1\n", None)
        assert store.read_content(None) is None
        removed = store.write_version({"b.txt": None}, "run", "nothing to remove")
        assert removed == ""
        noted = store.note_reversal("run", "back", gone)
        assert store.find_version(noted).undoes == gone
        assert store.read_changes(noted) == ()


def test_local_files_are_excluded_once_and_below_a_folder(tmp_path):
    git(tmp_path, "init", "--quiet")
    (tmp_path / "w").mkdir()
    exclude = tmp_path / ".git/info/exclude"
    exclude.parent.mkdir(exist_ok=True)
    exclude.write_text("*.log")
    for _ in range(2):
        with Versions(tmp_path / "w"):
            pass
    lines = exclude.read_text().splitlines()
    assert lines[0] == "*.log"
    assert lines.count("/w/.oragent/") == 1
    assert len(set(lines)) == len(lines)


@pytest.mark.parametrize("names", [b"", b"caf\xe9\n", b"caf\xe9", b"# all\n*.log\n"])
def test_the_names_that_a_clone_ignores_stay_as_they_are(tmp_path, names):
    git(tmp_path, "init", "--quiet")
    exclude = tmp_path / ".git/info/exclude"
    exclude.parent.mkdir(exist_ok=True)
    exclude.write_bytes(names)
    with Versions(tmp_path):
        pass
    content = exclude.read_bytes()
    assert content.startswith(names)
    added = content.removeprefix(names).decode()
    assert added.startswith("\n") is (names == b"caf\xe9")
    assert "/.oragent/" in added.splitlines()


@pytest.mark.parametrize("name", ["../../../abc", "0123456789abc"])
def test_a_clone_whose_name_is_damaged_gets_a_new_one(tmp_path, name):
    with Versions(tmp_path) as store:
        store.write_version({"a.txt": "1\n"}, "run", "one")
    holder = tmp_path / ".git/oragent-clone"
    first = holder.read_text()
    holder.write_text(name)
    with Versions(tmp_path, readonly=True) as store:
        assert (store.tip, [version.is_foreign for version in store.list_versions()]) == ("", [])
    assert holder.read_text() == name
    with Versions(tmp_path) as store:
        assert store.tip == ""
    assert re.fullmatch(r"[0-9a-f]{12}\n", holder.read_text())
    assert holder.read_text() != first
    # A name that is whole stays.
    second = holder.read_text()
    with Versions(tmp_path) as store:
        assert store.write_version({"a.txt": "2\n"}, "run", "two") == store.tip
        foreign = {version.reason: version.is_foreign for version in store.list_versions()}
    assert foreign == {"one": True, "as it was found": False, "two": False}
    assert holder.read_text() == second


def test_a_folder_that_its_repository_ignores_has_versions_of_its_own(tmp_path):
    git(tmp_path, "init", "--quiet")
    put(tmp_path, {".gitignore": "ignored/\n", "ignored/a.txt": "1\n", "seen/a.txt": "1\n"})
    assert find_repository(tmp_path / "ignored") is None
    for name, prefix in (("seen", "seen/"), (".", "")):
        repository = find_repository(tmp_path / name)
        assert repository is not None
        assert repository.prefix == prefix
    with Versions(tmp_path / "ignored") as store:
        assert store.save_snapshot("first")
    assert (tmp_path / "ignored/.git").is_dir()


def test_a_write_that_was_cut_off_is_finished_also_where_a_file_is_gone_already(tmp_path):
    with Versions(tmp_path) as store:
        store.write_version({"a.txt": "1\n", "b.txt": "2\n"}, "run", "first")
        second = store.write_version({"a.txt": None, "b.txt": "3\n"}, "run", "second")
    # As a process leaves it that is killed behind the reference, and after the first file.
    (tmp_path / "b.txt").write_text("2\n")
    (tmp_path / ".oragent/writing").write_text(second)
    with Versions(tmp_path) as store:
        assert store.tip == second
    assert not (tmp_path / "a.txt").exists()
    assert (tmp_path / "b.txt").read_text() == "3\n"
    assert not (tmp_path / ".oragent/writing").exists()


def test_a_write_that_was_cut_off_is_finished_as_far_as_files_can_be_written(tmp_path):
    first = {"a.txt": "1\n", "b.txt": "1\n", "c.txt": "1\n", "d.txt": "1\n"}
    with Versions(tmp_path) as store:
        store.write_version(first, "run", "first")
        second = store.write_version(dict.fromkeys(first, "2\n"), "run", "second")
        changes = [change.path for change in store.read_changes(second)]
    # As a process leaves it that is killed at once; meanwhile the user has changed two of the files.
    put(tmp_path, {"a.txt": "of the user\n", "b.txt": "1\n", "d.txt": "1\n", ".oragent/writing": second})
    (tmp_path / "c.txt").unlink()
    (tmp_path / "c.txt").mkdir()
    with Versions(tmp_path):
        pass
    assert changes == list(first)
    assert [(tmp_path / name).read_text() for name in ("a.txt", "b.txt", "d.txt")] == ["of the user\n", "2\n", "2\n"]
    assert (tmp_path / "c.txt").is_dir()
    assert not (tmp_path / ".oragent/writing").exists()
    # A link is not followed.
    (tmp_path / "marker").write_text(second)
    (tmp_path / ".oragent/writing").symlink_to(tmp_path / "marker")
    put(tmp_path, {"b.txt": "1\n"})
    with Versions(tmp_path):
        pass
    assert (tmp_path / "b.txt").read_text() == "1\n"
    assert (tmp_path / ".oragent/writing").is_symlink()


def test_a_write_that_was_cut_off_before_its_version_counts_is_finished_and_an_old_one_changes_nothing(tmp_path):
    with Versions(tmp_path) as store:
        first = store.write_version({"deep/er/a.txt": "1\n"}, "run", "first")
        second = store.write_version({"deep/er/a.txt": "2\n"}, "run", "second")
    (reference,) = git(tmp_path, "for-each-ref", "--format=%(refname)", "refs/oragent").split()
    assert re.fullmatch("refs/oragent/[0-9a-f]{12}/top", reference)
    git(tmp_path, "update-ref", reference, first)
    put(tmp_path, {"deep/er/a.txt": "1\n", ".oragent/writing": f"{second}\n"})
    with Versions(tmp_path) as store:
        assert store.tip == second
    assert (tmp_path / "deep/er/a.txt").read_text() == "2\n"
    for marker in (first, "0" * 40, "", "no\nid"):
        put(tmp_path, {".oragent/writing": marker})
        (tmp_path / "deep/er/a.txt").unlink(missing_ok=True)
        with Versions(tmp_path) as store:
            assert store.tip == second
        assert not (tmp_path / "deep/er/a.txt").exists()
        assert not (tmp_path / ".oragent/writing").exists()


def test_a_path_that_is_too_long_with_its_folder_is_refused_in_one_line(tmp_path):
    folder = tmp_path / ("f" * 150)
    folder.mkdir()

    def path_of(size):
        """A path whose size with the folder is this number of bytes, in names of at most 200 bytes."""
        rest = size - len(f"{folder}/")
        text = ("n" * 200 + "/") * (rest // 201 + 1)
        return text[: rest - 1] + "x"

    with Versions(folder) as store:
        for path in (path_of(4000), "n" * 255, "é" * 127):
            assert store.read_file(path) is None
        for path in (path_of(4001), path_of(4095), path_of(9000), "n" * 256, f"a/{'é' * 128}/b"):
            for ask in (store.read_file, lambda path: store.write_version({path: "text"}, "builder", "one")):
                with pytest.raises(WorkspaceError) as raised:
                    ask(path)
                assert "\n" not in str(raised.value)
        assert store.write_version({"n" * 200: "text"}, "builder", "two")


def make_history(times, name):
    """Return versions of one clone at these seconds; their ids are their numbers behind a name."""
    return [WorkspaceVersion(f"{name}{number}", time, "run", "") for number, time in enumerate(times)]


@pytest.mark.parametrize(
    ("first", "second", "order"),
    [
        ([10, 20, 30], [15, 25], "x0 y0 x1 y1 x2"),
        # Versions of the same second: by their numbers, then by their ids.
        ([10, 10, 20], [10, 20], "x0 y0 x1 y1 x2"),
        ([10, 20], [20, 20], "x0 y0 x1 y1"),
        ([20, 20, 20], [20], "x0 y0 x1 x2"),
        # The clock of a clone went back.
        ([30, 10, 40], [20, 35], "y0 x0 x1 y1 x2"),
        ([], [20, 5, 30], "y0 y1 y2"),
    ],
)
def test_versions_of_several_clones_have_one_order_in_each_clone(first, second, order, tmp_path):
    """The names of clones are random, and each clone may list the versions."""
    for names, own in itertools.product(("ab", "ba"), (0, 1)):
        references = [f"refs/oragent/{name}/top" for name in names]
        histories = dict(zip(references, (make_history(first, "x"), make_history(second, "y")), strict=True))
        store = Versions(tmp_path, readonly=True)
        store._reference = references[own]
        listed = "\n".join(sorted(references))
        store._repository = SimpleNamespace(text_of=lambda *words, text=listed: text, try_resolve=lambda name: name)
        store._read_log = histories.get
        versions = store.list_versions()
        assert " ".join(version.id for version in versions) == order
        ids = [version.id for version in versions if not version.is_foreign]
        assert ids == [version.id for version in histories[references[own]]]


def test_names_that_are_no_text_are_versioned_and_local_files_are_not_even_if_git_tracks_them(tmp_path):
    odd = os.fsdecode(b"\xff.txt")
    put(tmp_path, {"z.txt": "1\n", "answers/a.md": "1\n", odd: "1\n", "two\nlines": "1\n"})
    begin(tmp_path)
    git(tmp_path, "add", "--force", "answers/a.md")
    with Versions(tmp_path) as store:
        first = store.save_snapshot("first")
        assert set(store.repository.list_blobs(first)) == {"z.txt", odd}
        put(tmp_path, {"a.txt": "2\n"})
        second = store.write_version({odd: "2\n", "z.txt": None}, "run", "second")
        assert [change.path for change in store.read_changes(second)] == ["z.txt", odd]
        snapshot = store.list_versions()[1]
        assert ([change.path for change in store.read_changes(snapshot.id)], snapshot.paths) == (["a.txt"], ("a.txt",))
        assert store.list_versions()[-1].paths == ("z.txt", odd)
        # Paths of a version are in alphabetical order, also new ones.
        third = store.write_version({"b.txt": "3\n", "z.txt": "3\n", "a.txt": None}, "run", "third")
        assert [change.path for change in store.read_changes(third)] == ["a.txt", "b.txt", "z.txt"]
    assert (tmp_path / odd).read_text() == "2\n"


@pytest.mark.parametrize(("count", "shown", "more"), [(3, 3, []), (4, 4, []), (5, 4, ["... 1 more lines"])])
def test_a_diff_of_as_many_lines_as_are_shown_is_whole(count, shown, more, tmp_path, monkeypatch):
    monkeypatch.setattr(versions_module, "MAX_LINES", 4)
    monkeypatch.setattr(versions_module, "MAX_CHARACTERS", 20)
    store = Versions(tmp_path, readonly=True)
    lines = [f"+{number}".ljust(21, "x") for number in range(count)]
    store._repository = SimpleNamespace(git=lambda *words: "".join(f"{line}\n" for line in lines).encode() + b"\n")
    assert store.describe_diff("1").splitlines() == [line[:20] for line in lines[:shown]] + more


def test_files_of_another_folder_are_readable_for_git_while_they_are_stored(tmp_path):
    calls = []
    store = Versions(tmp_path, readonly=True)
    store._repository = SimpleNamespace(git=lambda *words, **options: calls.append(options) or b"1\n2\n")
    odd = os.fsdecode(b"\xff")
    assert store.save_files(tmp_path / "draft", [odd, "no\nname", "b"]) == {odd: "1", "b": "2"}
    content = f"{tmp_path.resolve()}/draft/{odd}\n{tmp_path.resolve()}/draft/b\n"
    assert calls == [{"content": os.fsencode(content), "readable": [tmp_path / "draft"]}]


@pytest.mark.parametrize(
    ("text", "is_taken"),
    [
        ("0123456789ab", True), ("0123456789ab\n", True), ("0123456789a", False), ("0123456789abc", False),
        ("0123456789-b", False), (f"0123456789ab{' ' * 200}", False), ("", False),
    ],
)  # fmt: skip
@pytest.mark.parametrize("prefix", ["", "model/"])
def test_a_clone_has_a_name_of_twelve_letters(text, is_taken, prefix, tmp_path):
    scope = hashlib.sha256(b"model/").hexdigest()[:8] if prefix else "top"
    store = Versions(tmp_path, readonly=True)
    holder = tmp_path / "oragent-clone"
    holder.write_text(text)
    repository = SimpleNamespace(prefix=prefix, store=SimpleNamespace(locate=lambda name: tmp_path / name))
    assert store._find_reference(repository) == (f"refs/oragent/0123456789ab/{scope}" if is_taken else "")
    assert holder.read_text() == text
    store.readonly = False
    name = store._find_reference(repository).split("/")[2]
    assert re.fullmatch("[0-9a-f]{12}", name)
    assert (holder.read_text().strip() == name, name == "0123456789ab") == (True, is_taken)


def make_store(folder, **repository):
    """A store whose repository has these functions; git does not run."""
    store = Versions(folder, readonly=True)
    store._reference = "refs/oragent/0123456789ab/top"
    store._repository = SimpleNamespace(**repository)
    return store


def test_files_that_git_does_not_ignore_are_versioned_without_local_and_hidden_ones(tmp_path):
    asked = []
    files = [
        "b.txt",
        "answers/a.md",
        "run.db",
        "run.dbx",
        "docs/answers/b.md",
        "two\nlines",
        ".env",
        "d/.git/x",
        "c.tmp",
    ]
    put(tmp_path, dict.fromkeys([*files, ".oragent/lock", "report.html"], "x"))
    store = make_store(tmp_path, list_ignored=lambda content: asked.append(content) or {"c.tmp"})
    assert store._list_versioned() == ["b.txt", "docs/answers/b.md", "run.dbx"]
    assert asked == [b"b.txt\0c.tmp\0docs/answers/b.md\0run.dbx"]
    (tmp_path / "w").mkdir()
    assert make_store(tmp_path / "w")._list_versioned() == []
    odd = os.fsdecode(b"\xff")
    put(tmp_path, {f"w/{odd}": "x"})
    assert make_store(tmp_path / "w", list_ignored=lambda content: {os.fsdecode(content)})._list_versioned() == []


def test_changes_of_a_version_are_sorted_and_those_of_the_first_one_are_all_its_files(tmp_path):
    blobs = {"v": {"b": "1", "c": "2", "a": "3"}, "v^": {"c": "1", "b": "1", "d": "4"}}
    store = make_store(tmp_path, list_blobs=blobs.get, try_resolve=lambda name: name if name in blobs else "")
    assert store.read_changes("v") == (
        FileChange("a", None, "3"),
        FileChange("c", "1", "2"),
        FileChange("d", "4", None),
    )
    assert store.read_changes("v^") == (
        FileChange("b", None, "1"),
        FileChange("c", None, "1"),
        FileChange("d", None, "4"),
    )


@pytest.mark.parametrize("skip", [True, False])
def test_files_of_a_version_are_written_unless_they_changed_since(skip, tmp_path):
    contents = {"old": b"old\n", "new": b"new\n"}
    store = make_store(tmp_path, git=lambda *words: contents[words[-1]])
    changes = {"a": "edited\n", "b": "old\n", "deep/er/c": None, "d": "old\n", "e": None, "f": "new\n"}
    put(tmp_path, {path: text for path, text in changes.items() if text is not None})
    ends = {"d": None, "e": None}
    before = {"deep/er/c": None}
    store.read_changes = lambda commit: [
        FileChange(path, before.get(path, "old"), ends.get(path, "new")) for path in changes
    ]
    store._write_files("1" * 40, skip)
    written = {path: (tmp_path / path).read_text() for path in changes if (tmp_path / path).exists()}
    assert written == {"a": "edited\n", "b": "new\n", "deep/er/c": "new\n", "f": "new\n"}
    # What cannot be written is an error, or is skipped.
    (tmp_path / "b").unlink()
    (tmp_path / "b").mkdir()
    put(tmp_path, {"f": "old\n"})
    if not skip:
        with pytest.raises(WorkspaceError, match="1111111111 is kept"):
            store._write_files("1" * 40, skip)
        return
    store._write_files("1" * 40, skip)
    assert ((tmp_path / "b").is_dir(), (tmp_path / "f").read_text()) == (True, "new\n")


@pytest.mark.parametrize(
    ("marker", "tip", "is_moved", "is_written"),
    [
        # Versions c0, c1 and c2, each after the one before.
        ("c2\n", "c1", True, True), ("c2", "c2", False, True), ("c1", "c2", False, False), ("c2", "c0", False, False),
        ("c0", "", True, True), ("none", "c2", False, False), ("", "c2", False, False), ("", "", False, False),
        ("\u00fc", "c2", False, False), ("c2" + 100 * " ", "c2", False, False), (None, "c1", False, False), ("link", "c1", False, False),
    ],
)  # fmt: skip
def test_an_unfinished_write_ends_if_it_follows_the_last_version(marker, tip, is_moved, is_written, tmp_path):
    parents = {"c0": "", "c1": "c0", "c2": "c1"}
    tips, written = [tip], []

    def resolve(name):
        if name.startswith("refs/"):
            return tips[-1]
        return parents.get(name[:-1], "") if name.endswith("^") else name if name in parents else ""

    store = make_store(tmp_path, try_resolve=resolve, git=lambda *words: tips.append(words[-1]))
    store._write_files = lambda commit, skip: written.append((commit, skip))
    path = tmp_path / ".oragent/writing"
    path.parent.mkdir()
    if marker == "link":
        put(tmp_path, {"marker": "c2"})
        path.symlink_to(tmp_path / "marker")
    elif marker is not None:
        path.write_text(marker)
    store._finish_write()
    commit = (marker or "").strip()
    assert tips == ([tip, commit] if is_moved else [tip])
    assert written == ([(commit, True)] if is_written else [])
    assert path.is_symlink() is (marker == "link")
    assert path.exists() is (marker == "link")


@pytest.mark.parametrize(
    ("prefix", "ignored", "is_found"),
    [("", set(), True), ("", {"."}, True), ("w/", set(), True), ("w/", {"."}, False), (None, set(), False)],
)
def test_a_repository_counts_unless_it_ignores_the_folder(prefix, ignored, is_found, tmp_path, monkeypatch):
    repository = None if prefix is None else SimpleNamespace(prefix=prefix, list_ignored=lambda content: ignored)
    monkeypatch.setattr(Repository, "find", lambda folder: repository)
    assert find_repository(tmp_path) is (repository if is_found else None)


def test_the_log_of_a_clone_has_paths_below_its_folder(tmp_path):
    entries = [
        ("1" * 40, "10", "run", "first", "build-1\n", "", "\nw/a.txt\0other.txt\0w/b c.txt"),
        ("2" * 40, "20", "undo", "second", "", "3\n", ""),
    ]
    text = "".join("\1" + "\2".join(entry[:6]) + "\3" + entry[6] + "\0" for entry in entries)
    store = make_store(tmp_path, prefix="w/", text_of=lambda *words: text)
    assert store._read_log("refs/x") == [
        WorkspaceVersion("1" * 40, 10, "run", "first", ("a.txt", "b c.txt"), "build-1"),
        WorkspaceVersion("2" * 40, 20, "undo", "second", (), "", "3"),
    ]


@pytest.mark.parametrize(
    ("last", "present", "changed"),
    [
        (None, {"a": "1"}, {"a": "1"}), (None, {}, None), ({"a": "1"}, {"a": "1"}, None),
        ({"a": "1", "b": "1", "c": "1"}, {"a": "2", "b": "1", "d": "1"}, {"a": "2", "d": "1", "c": None}),
        ({"a": "1"}, {}, {"a": None}),
    ],
)  # fmt: skip
def test_a_snapshot_has_the_files_that_differ_from_the_last_version(last, present, changed, tmp_path):
    tip, commits, moved = "" if last is None else "tip", [], []
    store = make_store(
        tmp_path, try_resolve=lambda name: tip, list_blobs=lambda commit: last, git=lambda *words: moved.append(words)
    )
    store._list_versioned = lambda: list(present)
    store.save_files = lambda folder, paths: {path: present[path] for path in paths}
    store._commit = lambda *words: commits.append(words) or "new"
    assert store.save_snapshot("why") == ("" if changed is None else "new")
    assert commits == ([] if changed is None else [(tip, changed, PERSON, "why", "", "")])
    assert moved == ([] if changed is None else [("update-ref", store._reference, "new")])
