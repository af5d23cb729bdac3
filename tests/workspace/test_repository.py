"""Repositories of all shapes are read as git reads them, without git reading their configuration."""

import hashlib
import os
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from oragent._base.errors import WorkspaceError
from oragent.sandbox.children import run_child
from oragent.workspace import git_store
from oragent.workspace import repository as repository_module
from oragent.workspace.repository import Repository
from oragent.workspace.versions import Versions
from tests.workspace.release import put
from tests.workspace.teams import begin, commit, git


@pytest.fixture
def folder(tmp_path):
    """A repository with two commits; its tip has ``a.txt`` and ``d/b.txt``."""
    put(tmp_path / "r", {"a.txt": "1\n", "d/b.txt": "x\n", ".gitignore": "*.tmp\n"})
    begin(tmp_path / "r")
    put(tmp_path / "r", {"a.txt": "2\n"})
    commit(tmp_path / "r", "Second")
    return tmp_path / "r"


def contents(folder, revision, target):
    """Files that a revision has for oragent."""
    repository = Repository.find(folder)
    target.mkdir()
    repository.check_out(repository.resolve(revision), target)
    return {path.relative_to(target).as_posix(): path.read_text() for path in target.rglob("*") if path.is_file()}


def write(folder) -> str:
    """Write a version, and return what git shows of it."""
    version = Versions(folder).write_version({"a.txt": "ours\n"}, "builder", "one")
    return git(folder, "show", f"{version}:./a.txt")


def test_revisions_are_read_from_packed_references_tags_and_logs(folder, tmp_path):
    git(folder, "tag", "--annotate", "--message", "first", "v1", "HEAD~1")
    git(folder, "pack-refs", "--all")
    git(folder, "gc", "--quiet")
    for number, (revision, text) in enumerate({"v1": "1\n", "main": "2\n", "HEAD@{1}": "1\n", "@": "2\n"}.items()):
        assert contents(folder, revision, tmp_path / str(number))["a.txt"] == text
    assert Repository.find(folder).resolve("HEAD") == git(folder, "rev-parse", "HEAD").strip()
    with pytest.raises(WorkspaceError):
        Repository.find(folder).resolve("main~2")


def test_a_linked_working_tree_and_a_submodule_are_repositories(folder, tmp_path):
    git(folder, "worktree", "add", "--quiet", "--detach", str(tmp_path / "linked"), "HEAD~1")
    assert contents(tmp_path / "linked", "HEAD", tmp_path / "1")["a.txt"] == "1\n"
    assert contents(tmp_path / "linked/d", "main", tmp_path / "2") == {"b.txt": "x\n"}
    assert write(tmp_path / "linked") == "ours\n"
    put(tmp_path / "outer", {"o.txt": "o\n"})
    begin(tmp_path / "outer")
    git(tmp_path / "outer", "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(folder), "inner")
    commit(tmp_path / "outer", "Add a module")
    assert contents(tmp_path / "outer/inner", "HEAD~1", tmp_path / "3")["a.txt"] == "1\n"
    assert set(contents(tmp_path / "outer", "HEAD", tmp_path / "4")) == {"o.txt", ".gitmodules"}
    assert write(tmp_path / "outer/inner") == "ours\n"
    (tmp_path / "lost").mkdir()
    (tmp_path / "lost/.git").write_text("gitdir: ../nowhere\n")
    with pytest.raises(WorkspaceError):
        Repository.find(tmp_path / "lost")


@pytest.mark.parametrize("words", [("--object-format=sha256",), ("--ref-format=reftable",), ("--shared=group",)])
def test_other_formats_of_storage_are_read_and_written(tmp_path, words):
    put(tmp_path, {"a.txt": "1\n"})
    try:
        git(tmp_path, "init", "--quiet", "--initial-branch=main", *words)
    except subprocess.CalledProcessError:
        pytest.skip("this git is too old")
    commit(tmp_path, "Begin")
    assert write(tmp_path) == "ours\n"
    versions = Versions(tmp_path)
    assert versions.list_versions()[-1].paths == ("a.txt",)
    if words == ("--shared=group",):
        reference = tmp_path / ".git" / git(tmp_path, "for-each-ref", "--format=%(refname)", "refs/oragent").strip()
        assert reference.stat().st_mode & 0o060 == 0o060


def test_a_split_index_and_an_alternate_store_of_objects_are_read(folder, tmp_path):
    put(folder, {"tracked.tmp": "1\n", "free.tmp": "1\n"})
    git(folder, "add", "--force", "tracked.tmp")
    git(folder, "update-index", "--split-index")
    assert Repository.find(folder).list_ignored(b"tracked.tmp\0free.tmp\0a.txt") == {"free.tmp"}
    git(tmp_path, "clone", "--quiet", "--shared", str(folder), str(tmp_path / "s"))
    assert contents(tmp_path / "s", "HEAD~1", tmp_path / "1")["a.txt"] == "1\n"
    git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{folder}", str(tmp_path / "shallow"))
    assert contents(tmp_path / "shallow", "HEAD", tmp_path / "2")["a.txt"] == "2\n"
    assert write(tmp_path / "shallow") == "ours\n"


@pytest.mark.parametrize("revision", ["@{upstream}", "main@{u}", "HEAD@{PUSH}~1"])
def test_a_revision_that_only_the_configuration_names_is_refused_in_one_line(folder, tmp_path, revision):
    git(tmp_path, "clone", "--quiet", str(folder), "clone")
    with pytest.raises(WorkspaceError) as caught:
        Repository.find(tmp_path / "clone").resolve(revision)
    assert "\n" not in str(caught.value)
    assert "origin/main" in str(caught.value)
    clone = Repository.find(tmp_path / "clone")
    assert clone.resolve("origin/main") == git(folder, "rev-parse", "HEAD").strip()
    assert clone.try_resolve(revision) == clone.try_resolve("") == ""


def test_a_store_of_objects_behind_another_is_read_and_one_with_another_name_is_not(folder, tmp_path):
    git(tmp_path, "clone", "--quiet", "--shared", str(folder), "second")
    git(tmp_path, "clone", "--quiet", "--shared", str(tmp_path / "second"), "third")
    assert contents(tmp_path / "third", "main", tmp_path / "1") == contents(folder, "main", tmp_path / "2")
    (tmp_path / "elsewhere").mkdir()
    alternates = tmp_path / "third/.git/objects/info/alternates"
    # Only git's own name of a store is shown to git; a missing one is skipped.
    alternates.write_text(f"{tmp_path / 'elsewhere'}\n{tmp_path / 'missing/objects'}\n" + alternates.read_text())
    store = Repository.find(tmp_path / "third").store
    stores = store._list_folders()[3:]
    assert [path.relative_to(tmp_path).parts[0] for path in stores] == ["second", "r"]
    git(tmp_path, "init", "--quiet", "far")
    last = tmp_path / "r/.git/objects"
    for number in range(git_store.MAX_ALTERNATES):
        (tmp_path / f"s{number}/objects/info").mkdir(parents=True)
        (last / "info").mkdir(exist_ok=True)
        (last / "info/alternates").write_text(f"{tmp_path / f's{number}/objects'}\n")
        last = tmp_path / f"s{number}/objects"
    assert len(store._list_folders()[3:]) == git_store.MAX_ALTERNATES


def test_a_working_tree_whose_path_is_no_unicode_text_is_read(folder, tmp_path):
    linked = os.fsdecode(os.fsencode(str(tmp_path / "l")) + b"\xff")
    os.rename(folder, outer := os.fsdecode(os.fsencode(str(folder)) + b"\xfe"))
    subprocess.run(["git", "-C", outer, "worktree", "add", "--quiet", "--detach", linked, "HEAD~1"], check=True)
    repository = Repository.find(Path(linked))
    assert repository.text_of("cat-file", "-p", "HEAD:a.txt") == "1"
    assert repository.text_of("rev-parse", "--show-toplevel") == linked


def test_an_index_and_logs_of_a_linked_working_tree_are_in_its_own_folder(folder, tmp_path):
    git(folder, "worktree", "add", "--quiet", "--detach", str(tmp_path / "linked"), "HEAD~1")
    store = Repository.find(tmp_path / "linked").store
    shared = (folder / ".git").resolve()
    assert store.locate("index") == shared / "worktrees/linked/index"
    assert store.locate("refs/oragent/x") == shared / "refs/oragent/x"


def test_names_ignored_by_the_user_s_own_configuration_are_not_versioned(folder, tmp_path, monkeypatch):
    put(tmp_path, {"home/.gitconfig": "[core]\n excludesFile = ~/names\n[init]\n defaultBranch = trunk\n"})
    put(tmp_path, {"home/names": "*.bak\n", "home/.config/git/ignore": "*.swp\n"})
    put(folder, {"a.bak": "", "a.swp": "", "a.txt": "3\n"})
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    assert Repository.find(folder).list_ignored(b"a.bak\0a.swp\0a.txt") == {"a.bak"}
    (tmp_path / "home/.gitconfig").write_text("[init]\n defaultBranch = trunk\n")
    assert Repository.find(folder).list_ignored(b"a.bak\0a.swp\0a.txt") == {"a.swp"}
    (tmp_path / "new").mkdir()
    Repository.create(tmp_path / "new")
    assert git(tmp_path / "new", "symbolic-ref", "HEAD") == "refs/heads/trunk\n"


def tree_with(folder, name: bytes) -> str:
    """A commit with a file of any name; git checks names only when it checks out."""
    blob = bytes.fromhex(git(folder, "rev-parse", "HEAD:a.txt").strip())
    entry = b"100644 " + name + b"\0" + blob
    words = ["git", "hash-object", "-w", "-t", "tree", "--literally", "--stdin"]
    tree = subprocess.run(words, cwd=folder, input=entry, capture_output=True, check=True).stdout.decode().strip()
    return git(folder, "commit-tree", "-m", "bad", tree).strip()


@pytest.mark.parametrize("name", [b"../../out.txt", b"..", b"/tmp/out.txt", b".git/hooks/x", b"d/.GIT/config", b"./x"])
def test_no_file_of_a_revision_leaves_its_folder(folder, tmp_path, name):
    bad = tree_with(folder, name)
    with pytest.raises(WorkspaceError):
        contents(folder, bad, tmp_path / "target")
    assert not list((tmp_path / "target").iterdir())
    assert not (tmp_path / "out.txt").exists()


def test_files_with_the_same_or_no_content_are_read_below_any_folder(folder, tmp_path):
    added = {"x/y/z.txt": "same\n", "x/z.txt": "same\n", "x/y/none.txt": "", "none.txt": "", "last/a/b/c.txt": "end"}
    put(folder, added)
    commit(folder, "More")
    assert contents(folder, "HEAD", tmp_path / "1") == added | {
        "a.txt": "2\n",
        "d/b.txt": "x\n",
        ".gitignore": "*.tmp\n",
    }
    assert contents(folder / "x", "HEAD", tmp_path / "2") == {"y/z.txt": "same\n", "z.txt": "same\n", "y/none.txt": ""}


def test_links_of_a_revision_are_left_out(folder, tmp_path):
    (folder / "link").symlink_to("/etc")
    commit(folder, "Link")
    assert set(contents(folder, "HEAD", tmp_path / "1")) == {"a.txt", "d/b.txt", ".gitignore"}


def test_large_files_come_from_their_local_store_or_are_named(folder, tmp_path):
    name = hashlib.sha256(b"large\n").hexdigest()
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{name}\nsize 6\n"
    put(folder, {"d/large.csv": pointer})
    commit(folder, "Large")
    with pytest.raises(WorkspaceError, match=r"large\.csv"):
        contents(folder, "HEAD", tmp_path / "1")
    put(folder, {f".git/lfs/objects/{name[:2]}/{name[2:4]}/{name}": "large\n"})
    assert contents(folder, "HEAD", tmp_path / "2")["d/large.csv"] == "large\n"
    put(folder, {f".git/lfs/objects/{name[:2]}/{name[2:4]}/{name}": "other\n"})
    with pytest.raises(WorkspaceError, match=r"large\.csv"):
        contents(folder, "HEAD", tmp_path / "3")
    # Git LFS has no pointers above 1024 bytes.
    put(folder, {"d/large.csv": pointer.ljust(1024)})
    commit(folder, "Longest")
    with pytest.raises(WorkspaceError, match=r"large\.csv"):
        contents(folder, "HEAD", tmp_path / "4")
    put(folder, {"d/large.csv": pointer.ljust(1025)})
    commit(folder, "Longer")
    assert contents(folder, "HEAD", tmp_path / "5")["d/large.csv"] == pointer.ljust(1025)


def test_a_file_of_a_revision_has_a_maximum_size(folder, monkeypatch):
    repository = Repository.find(folder)
    blob = git(folder, "rev-parse", "HEAD:a.txt").strip()
    for most, is_read in ((2, True), (1, False)):
        monkeypatch.setattr(repository_module, "MAX_BYTES", most)
        if is_read:
            assert repository.read_blobs([blob]) == {blob: b"2\n"}
        else:
            with pytest.raises(WorkspaceError):
                repository.read_blobs([blob])
    assert repository.list_blobs("") == {}
    assert (repository.read_file("HEAD", "a.txt"), repository.read_file("HEAD", "none")) == (b"2\n", None)


def test_an_absent_object_is_an_error_of_one_line(folder, tmp_path):
    blob = git(folder, "rev-parse", "HEAD:a.txt").strip()
    (folder / ".git/objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises(WorkspaceError, match=blob[:10]):
        contents(folder, "HEAD", tmp_path / "1")
    tree = git(folder, "rev-parse", "HEAD^{tree}").strip()
    (folder / ".git/objects" / tree[:2] / tree[2:]).unlink()
    with pytest.raises(WorkspaceError):
        contents(folder, "HEAD", tmp_path / "2")
    assert contents(folder, "HEAD~1", tmp_path / "3")["a.txt"] == "1\n"


def test_git_gets_no_key_and_no_variable_that_names_a_command(folder, tmp_path, monkeypatch):
    calls, accesses = [], []

    def record(argv, access, limits, **options):
        calls.append(options["variables"])
        accesses.append(access)
        return run_child(argv, access, limits, **options)

    monkeypatch.setattr(git_store, "run_child", record)
    for name in ("OPENAI_API_KEY", "GIT_EXTERNAL_DIFF", "GIT_SSH_COMMAND", "GIT_DIR", "LD_PRELOAD_X", "GIT_EXEC_PATH"):
        monkeypatch.setenv(name, "planted")
    versions = Versions(folder)
    version = versions.write_version({"a.txt": "ours\n"}, "builder", "one")
    versions.describe_diff(version)
    (tmp_path / "new").mkdir()
    Versions(tmp_path / "new")
    assert len(calls) > 10
    assert git_store._read_user_setting("oragent.none") == []
    assert all("PATH" in variables and "planted" not in variables.values() for variables in calls)
    # Git runs also where the machine cannot confine it.
    assert all(access.is_lenient for access in accesses)


def put_program(path, text) -> None:
    put(path.parent, {path.name: f"#!/bin/sh\n{text}\n"})
    path.chmod(0o755)


def test_git_of_the_folder_is_not_run_and_git_elsewhere_is(folder, tmp_path, monkeypatch):
    put_program(folder / "git", "echo planted")
    put_program(tmp_path / "prefix/bin/git", 'exec "$(dirname "$0")/../libexec/real" "$@"')
    put_program(tmp_path / "prefix/libexec/real", "echo elsewhere")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PATH", f".::{tmp_path / 'prefix/bin'}:{os.environ['PATH']}")
    assert Repository.find(folder).text_of("log") == "elsewhere"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes files of another user")
def test_a_repository_of_another_user_is_refused_until_the_user_accepts_it(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for path in (folder / ".git", folder):
        os.chown(path, 65534, 65534)
        with pytest.raises(WorkspaceError, match=r"safe\.directory"):
            Versions(folder)
    assert git(folder, "-c", f"safe.directory={folder}", "--version")
    accepted = {"*": True, str(folder): True, f"{folder}/*": True, f"{folder}/d": False, "*\n directory =": False}
    for value, is_accepted in accepted.items():
        put(tmp_path, {"home/.gitconfig": f"[safe]\n directory = {value}\n"})
        if is_accepted:
            assert Repository.find(folder).resolve("HEAD")
        else:
            with pytest.raises(WorkspaceError):
                Repository.find(folder)
    monkeypatch.setenv("SUDO_UID", "65534")
    assert Repository.find(folder).resolve("HEAD")


@pytest.mark.parametrize("name", ["oragent-clone", "info/exclude", "info"])
def test_links_in_a_git_folder_lead_no_write_elsewhere(folder, tmp_path, name):
    outside = tmp_path / "outside"
    outside.mkdir()
    path = folder / ".git" / name
    if path.is_dir():
        (path / "exclude").unlink()
        path.rmdir()
    path.unlink(missing_ok=True)
    path.symlink_to(outside)
    with pytest.raises(WorkspaceError):
        Versions(folder)
    assert not list(outside.iterdir())


def test_logs_and_references_of_a_repository_lead_no_write_elsewhere(folder, tmp_path):
    Versions(folder).write_version({"a.txt": "3\n"}, "builder", "one")
    reference = git(folder, "for-each-ref", "--format=%(refname)", "refs/oragent").strip()
    (tmp_path / "profile").write_text("mine\n")
    log = folder / ".git/logs" / reference
    log.parent.mkdir(parents=True)
    log.symlink_to(tmp_path / "profile")
    Versions(folder).write_version({"a.txt": "4\n"}, "builder", "two")
    assert (tmp_path / "profile").read_text() == "mine\n"


def test_a_damaged_git_folder_is_not_written_over(tmp_path):
    put(tmp_path, {".git/config": "[core]\n fsmonitor = false\n"})
    assert Repository.find(tmp_path) is None
    with pytest.raises(WorkspaceError):
        Versions(tmp_path)
    assert [path.name for path in (tmp_path / ".git").iterdir()] == ["config"]


@pytest.mark.parametrize(
    ("patterns", "is_accepted"),
    [
        ([], False),
        (["*"], True),
        (["TOP"], True),
        (["ABOVE/*"], True),
        (["ABOVE"], False),
        (["/other", "/other/*"], False),
        (["TOP", "/other"], True),
        (["/other/*", "ABOVE/*", "/other"], True),
        (["TOP", ""], False),
        (["", "TOP"], True),
        (["*", "", "/other"], False),
    ],
)
def test_a_repository_of_another_user_is_accepted_as_git_accepts_it(patterns, is_accepted, tmp_path, monkeypatch):
    top = tmp_path / "top"
    (top / ".git").mkdir(parents=True)
    values = [pattern.replace("TOP", str(top)).replace("ABOVE", str(tmp_path)) for pattern in patterns]
    monkeypatch.setattr(git_store, "_read_user_setting", lambda *words: values)
    owner = top.stat().st_uid
    git_store._expect_owner(top, top / ".git")
    monkeypatch.delenv("SUDO_UID", raising=False)
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    if is_accepted:
        git_store._expect_owner(top, top / ".git")
    else:
        with pytest.raises(WorkspaceError):
            git_store._expect_owner(top, top / ".git")


@pytest.mark.parametrize(("sudo", "is_accepted"), [(0, True), (1, False), (None, False)])
def test_root_reads_the_repository_of_the_user_who_became_root(sudo, is_accepted, tmp_path, monkeypatch):
    """Root of ``sudo``, by the number of the user that ``sudo`` names."""
    (tmp_path / ".git").mkdir()
    monkeypatch.setattr(git_store, "_read_user_setting", lambda *words: [])
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("SUDO_UID", "x" if sudo is None else str(tmp_path.stat().st_uid + 5 + sudo))
    owned = SimpleNamespace(st_uid=tmp_path.stat().st_uid + 5)
    monkeypatch.setattr(Path, "stat", lambda path, **named: owned)
    if is_accepted:
        git_store._expect_owner(tmp_path, tmp_path / ".git")
    else:
        with pytest.raises(WorkspaceError):
            git_store._expect_owner(tmp_path, tmp_path / ".git")
