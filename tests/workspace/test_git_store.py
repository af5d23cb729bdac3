"""What git gets to see, to change and to read of a repository; git itself does not run here."""

import io
import os
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from oragent._base.errors import WorkspaceError
from oragent.sandbox.confined_command import UNPRIVILEGED, ProgramAccess
from oragent.workspace import git_store
from oragent.workspace.git_store import ENVIRONMENT, NO_BRANCH, GitStore
from tests.workspace.release import put

COMMIT = "1" * 40


def make_repository(folder: Path, **files: str) -> GitStore:
    """Files of a repository, as far as they are read here."""
    put(folder, {".git/HEAD": "ref: refs/heads/main\n", ".git/objects/x": "", ".git/refs/heads/main": f"{COMMIT}\n"})
    put(folder / ".git", files)
    return git_store.find_store(folder)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[SimpleNamespace]:
    """Calls of git with the content of the git folder that it gets; each succeeds without output."""
    recorded = []

    def run_child(argv: list[str], access: ProgramAccess, limits: Any, **options: Any) -> Any:
        own = Path(access.folder)
        links = {path.relative_to(own).as_posix(): path.readlink() for path in own.rglob("*") if path.is_symlink()}
        texts = {path.name: path.read_text() for path in own.iterdir() if path.is_file() and not path.is_symlink()}
        recorded.append(SimpleNamespace(argv=argv, access=access, own=own, links=links, texts=texts, **options))
        return subprocess.CompletedProcess(argv, 0, b"", b"")

    monkeypatch.setattr(git_store, "run_child", run_child)
    return recorded


@pytest.mark.parametrize(
    ("words", "has_index", "writable", "has_logs"),
    [
        (("log", "-z"), False, [], True),
        (("-c", "core.excludesFile=x", "check-ignore"), False, [], True),
        (("hash-object", "-w"), False, ["objects"], True),
        (("update-ref", "refs/x", "id"), False, ["refs"], False),
        (("read-tree", "id"), True, [], True),
        (("write-tree",), True, ["objects"], True),
    ],
)
def test_a_command_may_change_what_it_has_to(
    words: tuple[str, ...], has_index: bool, writable: list[str], has_logs: bool,
    tmp_path: Path, calls: list[SimpleNamespace], monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    top, index = tmp_path / "top", tmp_path / "scratch/index"
    store = make_repository(top, **{"logs/HEAD": "", "logs/refs/x": "", "packed-refs": "", "ORIG_HEAD": "", "info/exclude": "",
                                    "sharedindex.1": "", "hooks/pre-commit": "", "config": "", "index": ""})  # fmt: skip
    monkeypatch.setattr(GitStore, "_choose_user", lambda store, *, is_writing: (7, int(is_writing)))
    output = io.BytesIO()
    store.run(
        top / "below", words, b"text", index=index if has_index else None, variables={"GIT_X": "y", "LC_ALL": "de"},
        readable=[tmp_path / "more"], output=output,
    )  # fmt: skip
    (call,) = calls
    git = (top / ".git").resolve()
    assert call.argv[1:] == ["-C", str(top / "below"), *words]
    assert (call.content, call.output) == (b"text", output)
    assert call.own.name.startswith("oragent-git-")
    assert not call.own.exists()
    assert call.access.user == (7, int(bool(writable) or has_index))
    assert call.access.is_lenient
    assert sorted(call.access.writable) == sorted(
        [*(str(git / name) for name in writable), *([str(index.parent)] if has_index else [])]
    )
    assert {str(top), str(git), str((tmp_path / "more").resolve())} <= set(call.access.readable)
    # Objects and the index are those of the repository, references and logs are linked, settings and hooks are not.
    expected = {"GIT_DIR": str(call.own), "GIT_WORK_TREE": str(top), "GIT_OBJECT_DIRECTORY": str(git / "objects")}
    expected |= {"GIT_INDEX_FILE": str(index if has_index else git / "index"), "GIT_X": "y", "LC_ALL": "de"}
    assert {name: call.variables[name] for name in expected} == expected
    assert {name: call.variables[name] for name in ENVIRONMENT if name != "LC_ALL"} == {
        name: value for name, value in ENVIRONMENT.items() if name != "LC_ALL"
    }
    logs = ["logs/HEAD", "logs/refs"] if has_logs else []
    assert call.links == {
        name: git / name for name in ("refs", "packed-refs", "ORIG_HEAD", "info/exclude", "sharedindex.1", *logs)
    }
    assert sorted(call.texts) == ["HEAD", "config"]
    assert call.texts["HEAD"] == "ref: refs/heads/main\n"


@pytest.mark.parametrize(
    "head", [f"{COMMIT}\n", "2" * 64, "ref: refs/heads/a/b", "x\n", "ref: ../x\n", f"{COMMIT}\n\n", ""]
)
def test_only_a_branch_or_a_commit_is_taken_as_head(head: str, tmp_path: Path, calls: list[SimpleNamespace]) -> None:
    store = make_repository(tmp_path, HEAD=head)
    store.run(tmp_path, ["log"])
    is_taken = (head[:1] in tuple("12") and head.count("\n") < 2) or head.startswith("ref: refs/")
    assert calls[0].texts["HEAD"] == (head if is_taken else NO_BRANCH)


@pytest.mark.parametrize(
    ("config", "core", "extensions"),
    [
        ("", {}, {}),
        ("[core]\n\tsharedRepository = group\n\tfsmonitor = x\n", {"sharedrepository": "group"}, {}),
        ("[extensions]\n objectFormat = SHA256\n", {"repositoryFormatVersion": "1"}, {"objectformat": "sha256"}),
        ('[extensions] refStorage = "reftable"\n', {"repositoryFormatVersion": "1"}, {"refstorage": "reftable"}),
        ("[extensions]\n refStorage = other\n objectFormat = md5\n partialClone = origin\n", {}, {}),
    ],
)
def test_only_storage_is_taken_from_the_configuration(
    config: str, core: dict[str, str], extensions: dict[str, str], tmp_path: Path
) -> None:
    lines = make_repository(tmp_path, config=config)._describe_storage().splitlines()
    usual = {"bare": "false", "logAllRefUpdates": "false", "repositoryFormatVersion": "0"}
    expected = [f"[core]{name} = {value}" for name, value in (usual | core).items()]
    expected += [f"[extensions]{name} = {value}" for name, value in extensions.items()]
    assert sorted(lines) == sorted(expected)


@pytest.mark.parametrize(
    ("owner", "is_writing", "user"),
    [(0, True, (0, 9)), (0, False, UNPRIVILEGED), (5, True, (5, 9)), (5, False, (5, 9))],
)
def test_git_of_root_becomes_the_owner_of_what_it_writes(
    owner: int, is_writing: bool, user: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "stat", lambda path, **options: SimpleNamespace(st_uid=owner, st_gid=9))
    assert GitStore(Path("t"), Path("g"), Path("s"))._choose_user(is_writing=is_writing) == user


@pytest.mark.parametrize(("uid", "is_given"), [(0, True), (1, False)])
def test_an_index_of_root_is_given_to_the_owner_of_the_repository(
    uid: int, is_given: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, given = make_repository(tmp_path), []
    monkeypatch.setattr(os, "geteuid", lambda: uid)
    monkeypatch.setattr(os, "chown", lambda *words: given.append(words))
    monkeypatch.setattr(GitStore, "_choose_user", lambda store, *, is_writing: (7, int(is_writing)))
    with store.open_index() as index:
        assert (index.parent.is_dir(), index.exists(), index.parent.name.startswith("oragent-index-")) == (
            True,
            False,
            True,
        )
    assert given == ([(index.parent, 7, 1)] if is_given else [])
    assert not index.parent.exists()


def test_a_repository_is_found_above_a_folder_or_by_the_file_of_a_linked_one(tmp_path: Path) -> None:
    store = make_repository(tmp_path / "r")
    git = (tmp_path / "r/.git").resolve()
    assert (store.top, store.git_folder, store.shared_folder) == ((tmp_path / "r").resolve(), git, git)
    (tmp_path / "r/a/b").mkdir(parents=True)
    assert git_store.find_store(tmp_path / "r/a/b") == store
    put(tmp_path, {"r/.git/worktrees/w/HEAD": "x", "r/.git/worktrees/w/commondir": "../..\n", "w/a": "x",
                   "w/.git": "gitdir: ../r/.git/worktrees/w\r\n"})  # fmt: skip
    linked = git_store.find_store(tmp_path / "w")
    assert (linked.top, linked.git_folder, linked.shared_folder) == (
        (tmp_path / "w").resolve(),
        git / "worktrees/w",
        git,
    )
    assert [linked.locate(name) for name in ("oragent-clone", "info/exclude")] == [
        git / "worktrees/w/oragent-clone",
        git / "info/exclude",
    ]
    (git / "link").symlink_to(tmp_path)
    for name in ("link", "link/x"):
        with pytest.raises(WorkspaceError):
            store.locate(name)


def test_stores_of_objects_are_read_as_far_as_they_name_each_other(tmp_path: Path) -> None:
    """Only folders that have git's name of a store count; paths may be relative and no Unicode text."""
    odd = tmp_path / os.fsdecode(b"\xff/objects")
    put(
        tmp_path,
        {"second/objects/info/alternates": f"{tmp_path}/third/objects\n", "third/objects/x": "", "other/x": ""},
    )
    odd.mkdir(parents=True)
    store = make_repository(tmp_path / "r")
    assert store._list_folders() == [store.top, store.git_folder, store.shared_folder]
    lines = ["../../../second/objects", "", str(tmp_path / "other"), str(tmp_path / "gone/objects"), str(odd)]
    (store.shared_folder / "objects/info").mkdir()
    (store.shared_folder / "objects/info/alternates").write_bytes(os.fsencode("\n".join(lines)))
    expected = [tmp_path / "second/objects", odd, tmp_path / "third/objects"]
    assert store._list_folders()[3:] == [path.resolve() for path in expected]


@pytest.mark.parametrize(
    ("user", "sudo", "top", "git", "is_accepted"),
    [
        (5, "", 5, 5, True), (5, "", 6, 5, False), (5, "", 5, 6, False), (5, "6", 6, 6, False), (0, "6", 6, 6, True), (0, "6", 0, 6, True),
        (0, "", 6, 6, False), (0, "6", 7, 6, False), (1, "6", 6, 6, False),
    ],
)  # fmt: skip
def test_a_repository_belongs_to_the_user_with_both_of_its_folders(
    user: int, sudo: str, top: int, git: int, is_accepted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Users by number; ``sudo`` names the one who became root."""
    monkeypatch.setattr(git_store, "_read_user_setting", lambda *words: [])
    monkeypatch.setattr(os, "geteuid", lambda: user)
    monkeypatch.setenv("SUDO_UID", sudo)
    owners = {Path("/r"): top, Path("/r/.git"): git}
    monkeypatch.setattr(Path, "stat", lambda path, **options: SimpleNamespace(st_uid=owners[path]))
    if is_accepted:
        git_store._expect_owner(*owners)
    else:
        with pytest.raises(WorkspaceError):
            git_store._expect_owner(*owners)


@pytest.mark.parametrize("missing", ["HEAD", "objects", "refs"])
def test_a_git_folder_without_one_of_its_parts_is_none(missing: str, tmp_path: Path) -> None:
    make_repository(tmp_path)
    (tmp_path / ".git" / missing).rename(tmp_path / "elsewhere")
    assert git_store._find_git_folder(tmp_path) is None


@pytest.mark.parametrize("text", ["gitdir: r/.git", "other: r/.git", "gitdir: nowhere", "", "gitdir:r/.git"])
def test_a_file_names_the_git_folder_or_is_refused(text: str, tmp_path: Path) -> None:
    make_repository(tmp_path / "r")
    put(tmp_path, {".git": text})
    if text == "gitdir: r/.git":
        assert git_store._find_git_folder(tmp_path) == (tmp_path / "r/.git").resolve()
        return
    with pytest.raises(WorkspaceError):
        git_store._find_git_folder(tmp_path)


def test_a_folder_that_does_not_exist_has_no_repository(tmp_path: Path) -> None:
    put(tmp_path, {"file": ""})
    for name in ("gone", "file"):
        with pytest.raises(WorkspaceError):
            git_store.find_store(tmp_path / name)


@pytest.mark.parametrize(
    ("settings", "branch"), [([], "master"), (["trunk"], "trunk"), (["first", "second", "third"], "third")]
)
@pytest.mark.parametrize("code", [0, 1])
def test_a_new_repository_has_the_branch_of_the_user(
    settings: list[str], branch: str, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = []

    def run_git(words: tuple[str, ...], access: ProgramAccess) -> Any:
        runs.append((words, access))
        if code == 0:
            make_repository(tmp_path)
        return subprocess.CompletedProcess(words, code, b"", b"fatal: no room\n")

    monkeypatch.setattr(git_store, "_read_user_setting", lambda name: settings)
    monkeypatch.setattr(git_store, "run_git", run_git)
    owner, stat = SimpleNamespace(st_uid=17, st_gid=18), Path.stat
    # The owner of the folder, until git has run.
    monkeypatch.setattr(
        Path, "stat", lambda path, **options: owner if path == tmp_path and not runs else stat(path, **options)
    )
    if code == 0:
        assert git_store.create_store(tmp_path).top == tmp_path.resolve()
    else:
        with pytest.raises(WorkspaceError, match="no room"):
            git_store.create_store(tmp_path)
    ((words, access),) = runs
    assert (words[1], words[2:]) == (f"init.defaultBranch={branch}", ("init", "--quiet"))
    assert (access.folder, tuple(access.user), access.is_lenient) == (str(tmp_path.resolve()), (17, 18), True)
    put(tmp_path / "other", {".git/x": ""})
    with pytest.raises(WorkspaceError):
        git_store.create_store(tmp_path / "other")


@pytest.mark.parametrize(
    ("settings", "home", "path"),
    [
        ([], "/c", "/c/git/ignore"), ([], "", "HOME/.config/git/ignore"), (["/a"], "/c", "/a"), (["/a", "/b", "/d"], "", "/d"),
        (["a"], "/c", "HERE/a"),
    ],
)  # fmt: skip
def test_names_to_ignore_are_in_the_last_file_that_the_user_names(
    settings: list[str], home: str, path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git_store, "_read_user_setting", lambda *words: settings)
    monkeypatch.setenv("XDG_CONFIG_HOME", home)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    expected = path.replace("HOME", str(tmp_path / "home")).replace("HERE", str(tmp_path))
    assert git_store.find_excluded_names() == Path(expected)


def test_a_failure_is_one_short_line() -> None:
    def describe(error: bytes) -> str:
        return git_store.describe_failure(subprocess.CompletedProcess([], 1, b"", error))

    assert describe(b"\n fatal: caf\xe9\n\n") == "fatal: caf�"
    assert describe(b"x" * 301) == f"{'x' * 299}…"
    assert describe(b"x" * 300) == "x" * 300


def test_git_runs_with_absolute_folders_of_the_path_alone(
    tmp_path: Path, calls: list[SimpleNamespace], monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, {"prefix/real/git": "", "bin/x": "", "here/git": ""})
    (tmp_path / "prefix/real/git").chmod(0o755)
    (tmp_path / "here/git").chmod(0o755)
    (tmp_path / "bin/git").symlink_to(tmp_path / "prefix/real/git")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"here:{tmp_path / 'bin'}::.")
    access = ProgramAccess(str(tmp_path / "bin"), ("/a",))
    git_store.run_git(["log"], access)
    git_store.run_git(["log"], access, b"in", {"A": "b"})
    for call, variables, content in zip(calls, (ENVIRONMENT, {"A": "b"}), (b"", b"in"), strict=True):
        assert call.argv == [str(tmp_path / "bin/git"), "log"]
        assert call.variables == {"PATH": str(tmp_path / "bin"), **variables}
        assert (call.content, call.output) == (content, None)
        # A program that is installed elsewhere needs its files.
        prefix = (tmp_path / "prefix").resolve()
        files = [
            str(tmp_path / "bin/git"),
            str(prefix / "real/git"),
            *(str(prefix / name) for name in ("lib", "libexec", "share")),
        ]
        assert call.access.readable == ("/a", *files)
    monkeypatch.setenv("PATH", "here")
    with pytest.raises(WorkspaceError, match="install git"):
        git_store.run_git(["log"], access)


@pytest.mark.parametrize("error", [OSError(13, "denied"), subprocess.TimeoutExpired(["git"], 1.0)])
def test_git_that_does_not_start_or_end_is_an_error_of_one_line(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*words: Any, **options: Any) -> None:
        raise error

    monkeypatch.setattr(git_store, "run_child", fail)
    with pytest.raises(WorkspaceError) as caught:
        git_store.run_git(["log", "x" * 200], ProgramAccess("/tmp"))
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 200


def test_settings_of_the_user_are_read_from_files_of_the_user_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = []

    def run_git(words: tuple[str, ...], access: ProgramAccess, variables: dict[str, str]) -> Any:
        runs.append((words, access, variables))
        return subprocess.CompletedProcess(words, 0, b"first\0caf\xe9\nx\0", b"")

    monkeypatch.setattr(git_store, "run_git", run_git)
    for name in git_store.USER:
        monkeypatch.delenv(name, raising=False)
    user = {"HOME": "/", "XDG_CONFIG_HOME": "/home/me/.config", "GIT_CONFIG_GLOBAL": "mine", "GIT_CONFIG_NOSYSTEM": "1"}
    for name, value in user.items():
        monkeypatch.setenv(name, value)
    assert git_store._read_user_setting("a.b", "--type=path") == ["first", os.fsdecode(b"caf\xe9\nx")]
    ((words, access, variables),) = runs
    assert words == ("config", "--null", "--type=path", "--get-all", "a.b")
    # The whole file system is not shown, nor files below the present folder.
    assert access.readable == ("/home/me/.config",)
    assert (access.user, access.is_lenient) == ((os.geteuid(), os.getegid()), True)
    assert Path(access.folder).name.startswith("oragent-git-")
    assert variables == {**user, "GIT_DIR": os.devnull}
    monkeypatch.setattr(git_store, "run_git", lambda *words, **options: subprocess.CompletedProcess([], 1, b"", b""))
    assert git_store._read_user_setting("a.b") == []
