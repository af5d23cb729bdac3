"""Git commands on repositories of others: nothing that a repository configures is read, so nothing of it runs.

Each command gets a temporary git folder with a configuration of oragent. Objects and references are those of the
repository. Its ``config``, attributes, hooks, remotes and modules are not read by git, and no command checks out. Git
runs confined: it sees the repository, and can change only its objects and references, if it has to.
"""

import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import IO

from oragent._base.errors import WorkspaceError
from oragent._base.files import first_link
from oragent.sandbox.children import ChildLimits, run_child
from oragent.sandbox.confined_command import UNPRIVILEGED, ProgramAccess
from oragent.workspace.reading import path_error, read_bytes, shorten, shorten_path

GIT = ".git"
# Maximum bytes of a file of a git folder that is read here.
MAX_HEAD, MAX_CONFIG = 4096, 1 << 20
# Maximum number of stores of objects that other stores name.
MAX_ALTERNATES = 6
LIMITS = ChildLimits(wall_s=300.0, file_bytes=8 << 30)
# Commands that run, each with the folders of the repository that it may change.
COMMANDS = {
    "cat-file": (),
    "check-ignore": (),
    "commit-tree": ("objects",),
    "diff-tree": (),
    "for-each-ref": (),
    "hash-object": ("objects",),
    "log": (),
    "ls-tree": (),
    "read-tree": (),
    "rev-parse": (),
    "update-index": (),
    "update-ref": ("refs", "reftable"),
    "write-tree": ("objects",),
}
NO_BRANCH = "ref: refs/heads/none\n"
HEAD = re.compile(r"(ref: refs/\S+|[0-9a-f]{40}|[0-9a-f]{64})\n?")
# Settings of a repository that are taken over: how objects and references are stored. They name no commands.
STORAGE = re.compile(
    r"^(?:\s*\[[^]\n]*\])?\s*(?P<name>objectformat|refstorage|sharedrepository)\s*=\s*\"?(?P<value>\w+)\"?\s*$",
    re.IGNORECASE | re.MULTILINE,
)
EXTENSIONS = {"objectformat": {"sha1", "sha256"}, "refstorage": {"files", "reftable"}}
# Files that commands read in the shared git folder, and in the git folder of one working tree.
SHARED_FILES = ("refs", "packed-refs", "reftable", "shallow", "info/exclude", "logs/refs")
TREE_FILES = ("ORIG_HEAD", "FETCH_HEAD", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "logs/HEAD")
# Variables that locate the configuration of the user.
USER = ("HOME", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM")
ENVIRONMENT = {
    "LC_ALL": "C",
    "HOME": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
}


@dataclass(frozen=True)
class GitStore:
    """Git folder of a working tree, opened without its configuration."""

    # Top of the working tree.
    top: Path
    # Git folder of this working tree: HEAD and the index.
    git_folder: Path
    # Git folder that linked working trees share: objects and references.
    shared_folder: Path

    def run(
        self,
        folder: Path,
        words: Sequence[str],
        content: bytes = b"",
        *,
        index: Path | None = None,
        variables: Mapping[str, str] | None = None,
        readable: Sequence[Path] = (),
        output: IO[bytes] | None = None,
    ) -> subprocess.CompletedProcess[bytes]:
        """Run a git command.

        Args:
            folder: Folder of the working tree in which the command runs.
            words: The command, with options.
            content: Standard input.
            index: Temporary index that the command may change. None means the index of the user, which it reads.
            variables: Further variables of the command.
            readable: Further files and folders that it reads.
            output: File for its output. None returns the output.
        """
        command = next(word for word in words if word in COMMANDS)
        with self._open(has_logs=command != "update-ref") as own:
            locations = {
                "GIT_DIR": str(own),
                "GIT_WORK_TREE": str(self.top),
                "GIT_OBJECT_DIRECTORY": str(self.shared_folder / "objects"),
                "GIT_INDEX_FILE": str(index or self.git_folder / "index"),
            }
            changed = [self.shared_folder / name for name in COMMANDS[command] if (self.shared_folder / name).exists()]
            access = ProgramAccess(
                str(own),
                tuple(map(str, (*self._list_folders(), *(path.resolve() for path in readable)))),
                tuple(map(str, (*changed, *([index.parent] if index else ())))),
                user=self._choose_user(is_writing=bool(changed or index)),
                is_lenient=True,
            )
            return run_git(
                ["-C", str(folder), *words], access, content, {**ENVIRONMENT, **locations, **(variables or {})}, output
            )

    def _choose_user(self, *, is_writing: bool) -> tuple[int, int]:
        """Return the user that git becomes if root runs it: the owner of what it writes."""
        status = (self.shared_folder / "objects").stat()
        if is_writing or status.st_uid:
            return status.st_uid, status.st_gid
        return UNPRIVILEGED

    def _list_folders(self) -> list[Path]:
        """Return the folders that git reads: working tree, git folders, and other stores of objects."""
        folders = [self.top, self.git_folder, self.shared_folder]
        stores = [self.shared_folder / "objects"]
        for depth in range(MAX_ALTERNATES):
            if depth < len(stores):
                lines = _read_start(stores[depth] / "info/alternates", MAX_CONFIG).splitlines()
                found = [(stores[depth] / line).resolve() for line in lines if line]
                stores += [path for path in found if path.name == "objects" and path.is_dir()]
        return [*folders, *stores[1:]]

    @contextmanager
    def open_index(self) -> Iterator[Path]:
        """Yield the path of a temporary index for some commands."""
        with tempfile.TemporaryDirectory(prefix="oragent-index-") as scratch:
            folder = Path(scratch).resolve()
            if os.geteuid() == 0:
                os.chown(folder, *self._choose_user(is_writing=True))
            yield folder / "index"

    def locate(self, name: str) -> Path:
        """Return the path of a file of the git folder that is to be written, after refusing links."""
        holder = self.shared_folder if "/" in name else self.git_folder
        link = first_link(holder, holder / name)
        if link is not None:
            raise path_error(link, "is a link: delete it, so that nothing is written elsewhere")
        return holder / name

    @contextmanager
    def _open(self, has_logs: bool) -> Iterator[Path]:
        """Yield a temporary git folder with the references of this one and a configuration of oragent."""
        with tempfile.TemporaryDirectory(prefix="oragent-git-") as name:
            own = Path(name).resolve()
            head = _read_start(self.git_folder / "HEAD", MAX_HEAD)
            (own / "HEAD").write_text(head if HEAD.fullmatch(head) else NO_BRANCH)
            (own / "config").write_text(self._describe_storage())
            for part in ("info", "logs"):
                (own / part).mkdir()
            paths = {path: self.shared_folder / path for path in SHARED_FILES}
            paths |= {path: self.git_folder / path for path in TREE_FILES}
            paths |= {path.name: path for path in self.git_folder.glob("sharedindex.*")}
            for path, target in paths.items():
                # Git follows links of logs when it writes references.
                is_readable = target.is_file() or target.is_dir()
                if is_readable and (has_logs or not path.startswith("logs/")):
                    (own / path).symlink_to(target)
            yield own

    def _describe_storage(self) -> str:
        """Return a configuration that says how objects and references are stored."""
        core = {"bare": "false", "logAllRefUpdates": "false"}
        extensions = {}
        for match in STORAGE.finditer(_read_start(self.shared_folder / "config", MAX_CONFIG)):
            name, value = match["name"].lower(), match["value"].lower()
            if name not in EXTENSIONS:
                core[name] = value
            elif value in EXTENSIONS[name]:
                extensions[name] = value
        core["repositoryFormatVersion"] = "1" if extensions else "0"
        lines = [f"core.{name} = {value}" for name, value in core.items()]
        lines += [f"extensions.{name} = {value}" for name, value in extensions.items()]
        return "".join(f"[{line.replace('.', ']', 1)}\n" for line in lines)


def find_store(folder: Path) -> GitStore | None:
    """Return the repository that contains a folder, or None.

    Raises:
        WorkspaceError: The folder does not exist, or its repository is damaged or belongs to another user.
    """
    if not folder.is_dir():
        raise WorkspaceError(f"the folder {shorten_path(folder)} does not exist")
    resolved = folder.resolve()
    for top in (resolved, *resolved.parents):
        git_folder = _find_git_folder(top)
        if git_folder is not None:
            _expect_owner(top, git_folder)
            return GitStore(top, git_folder, _find_shared_folder(git_folder))
    return None


def create_store(folder: Path) -> GitStore:
    """Create a git repository in a folder."""
    if os.path.lexists(folder / GIT):
        raise path_error(folder / GIT, "is not a git repository; remove it")
    branch = ["master", *_read_user_setting("init.defaultBranch")][-1]
    owner = folder.stat()
    access = ProgramAccess(str(folder.resolve()), (), (), user=(owner.st_uid, owner.st_gid), is_lenient=True)
    ended = run_git(("-c", f"init.defaultBranch={branch}", "init", "--quiet"), access)
    store = find_store(folder) if ended.returncode == 0 else None
    if store is None:
        raise WorkspaceError(f"git init failed: {describe_failure(ended)}")
    return store


def find_excluded_names() -> Path:
    """Return the file of the user with patterns of names to ignore; it may not exist."""
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    return Path([f"{home}/git/ignore", *_read_user_setting("core.excludesFile", "--type=path")][-1]).absolute()


def describe_failure(ended: subprocess.CompletedProcess[bytes]) -> str:
    """Return the error message of a git command in one line."""
    return shorten(ended.stderr.decode(errors="replace").strip(), 300)


def run_git(
    words: Sequence[str],
    access: ProgramAccess,
    content: bytes = b"",
    variables: Mapping[str, str] | None = None,
    output: IO[bytes] | None = None,
) -> subprocess.CompletedProcess[bytes]:
    """Run git without the configuration and the variables of the user."""
    path = os.pathsep.join(part for part in os.environ.get("PATH", os.defpath).split(os.pathsep) if os.path.isabs(part))
    program = shutil.which("git", path=path)
    if program is None:
        raise WorkspaceError("workspaces keep their versions in git: install git")
    environment = {"PATH": path, **(ENVIRONMENT if variables is None else variables)}
    access = replace(access, readable=(*access.readable, *_list_program_files(Path(program))))
    try:
        return run_child([program, *words], access, LIMITS, content=content, variables=environment, output=output)
    except OSError as problem:
        raise WorkspaceError(f"git cannot be run: {problem.strerror}") from None
    except subprocess.TimeoutExpired:
        raise WorkspaceError(f"git did not end within {LIMITS.wall_s:g} s: {shorten(' '.join(words), 100)}") from None


@cache
def _list_program_files(program: Path) -> tuple[str, ...]:
    """Return the files of git, which can be installed outside of the folders of the system."""
    real = program.resolve()
    folders = (real.parents[1] / name for name in ("lib", "libexec", "share"))
    store = [Path("/nix/store")] if real.is_relative_to("/nix/store") else []
    return tuple(map(str, (program, real, *folders, *store)))


def _read_user_setting(name: str, *options: str) -> list[str]:
    """Return the values of a setting in the configuration of the user; no repository is read."""
    user = {variable: os.environ[variable] for variable in USER if variable in os.environ}
    files = [Path(value) for value in user.values() if os.path.isabs(value) and Path(value).parent != Path(value)]
    with tempfile.TemporaryDirectory(prefix="oragent-git-") as folder:
        owner = os.geteuid(), os.getegid()
        access = ProgramAccess(str(Path(folder).resolve()), tuple(map(str, files)), user=owner, is_lenient=True)
        words = ("config", "--null", *options, "--get-all", name)
        ended = run_git(words, access, variables={**user, "GIT_DIR": os.devnull})
    return ended.stdout.decode(errors="surrogateescape").split("\0")[:-1]


def _find_git_folder(top: Path) -> Path | None:
    """Return the git folder of a working tree; None if the folder is not the top of one."""
    entry = top / GIT
    if entry.is_dir():
        parts = [entry / "HEAD", *(_find_shared_folder(entry) / name for name in ("objects", "refs"))]
        return entry.resolve() if all(part.exists() for part in parts) else None
    if not entry.is_file():
        return None
    # Linked working trees and submodules have a file that names their git folder.
    key, _, path = _read_start(entry, MAX_HEAD).partition(": ")
    git_folder = (top / path.rstrip("\r\n")).resolve()
    if key != "gitdir" or not (git_folder / "HEAD").is_file():
        raise path_error(entry, "names no git folder; repair it with 'git worktree repair', or remove it")
    return git_folder


def _find_shared_folder(git_folder: Path) -> Path:
    """Return the git folder that has the objects and references of a git folder."""
    return (git_folder / _read_start(git_folder / "commondir", MAX_HEAD).rstrip("\r\n")).resolve()


def _expect_owner(top: Path, git_folder: Path) -> None:
    """Refuse a repository of another user, who could read what is stored there, unless the user's git accepts it."""
    users = {os.geteuid()}
    if os.geteuid() == 0 and os.environ.get("SUDO_UID", "").isdigit():
        users.add(int(os.environ["SUDO_UID"]))
    if all(path.stat().st_uid in users for path in {top, git_folder}):
        return
    accepted = False
    for pattern in _read_user_setting("safe.directory", "--type=path"):
        is_below = pattern.endswith("/*") and top.is_relative_to(pattern[:-2])
        # An empty value removes the values before it.
        accepted = bool(pattern) and (accepted or is_below or pattern in ("*", str(top)))
    if not accepted:
        hint = f"'git config --global --add safe.directory {shlex.quote(str(top))}' accepts it"
        raise WorkspaceError(f"git refuses {shorten_path(top)}: the repository belongs to another user; {hint}")


def _read_start(path: Path, limit: int) -> str:
    """Return the beginning of a regular file as text; empty if it does not exist."""
    try:
        return read_bytes(path, limit).decode(errors="surrogateescape")
    except WorkspaceError:
        return ""
