"""Git repository of a workspace: its revisions and their files.

No function changes the user's branch, index or working tree. Each command that needs an index uses a temporary one.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from oragent._base.errors import WorkspaceError
from oragent.workspace.reading import shorten, shorten_path

REFERENCES = "refs/oragent/"
# Do not start hooks and monitors of the repository, and write links as files.
OPTIONS = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "core.symlinks=false")
# Variables that point git to another repository, for example in a hook.
FOREIGN = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR")
SETTINGS = {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
# Maximum seconds of one command.
PATIENCE_S = 300.0


@dataclass(frozen=True)
class Repository:
    """A git repository, seen from one of its folders."""

    folder: Path
    # Folder below the top of the working tree, with ``/`` at the end. Empty for the top.
    prefix: str

    @classmethod
    def find(cls, folder: Path) -> "Repository | None":
        """Return the repository that contains a folder, or None."""
        ended = _run_git(folder, ("rev-parse", "--show-prefix"))
        if ended.returncode == 0:
            return cls(folder.resolve(), ended.stdout.decode(errors="surrogateescape").rstrip("\n"))
        message = ended.stderr.decode(errors="replace")
        if "not a git repository" in message:
            return None
        raise WorkspaceError(f"git refuses {shorten_path(folder)}: {shorten(message.strip(), 300)}")

    @classmethod
    def create(cls, folder: Path) -> "Repository":
        """Create a git repository in a folder."""
        ended = _run_git(folder, ("init", "--quiet"))
        if ended.returncode:
            raise WorkspaceError(f"git init failed: {shorten(ended.stderr.decode(errors='replace').strip(), 300)}")
        return cls(folder.resolve(), "")

    def git(self, *words: str, content: bytes | None = None, **environment: str) -> bytes:
        """Run a git command in the folder and return its output."""
        ended = _run_git(self.folder, words, content, environment)
        if ended.returncode:
            message = shorten(ended.stderr.decode(errors="replace").strip(), 300)
            raise WorkspaceError(f"git {words[0]} failed: {message}")
        return ended.stdout

    def text_of(self, *words: str) -> str:
        """Return the output of a git command as text without the last line feed."""
        return self.git(*words).decode(errors="surrogateescape").rstrip("\n")

    def resolve(self, revision: str) -> str:
        """Return the id of the commit that a branch, tag, id or expression such as ``HEAD~1`` names."""
        words = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
        ended = _run_git(self.folder, words)
        if ended.returncode or not revision:
            raise WorkspaceError(f"no revision {shorten(revision)!r} in git; expected a branch, tag, id, or HEAD~1")
        # Some versions of git also print the separator of options.
        return ended.stdout.decode().split()[-1]

    def try_resolve(self, revision: str) -> str:
        """Return the id of a commit; empty if the revision does not exist."""
        try:
            return self.resolve(revision)
        except WorkspaceError:
            return ""

    def list_ignored(self, paths: bytes) -> set[str]:
        """Return the paths in a zero-separated list that git ignores; tracked files are not ignored."""
        ended = _run_git(self.folder, ("check-ignore", "-z", "--stdin"), paths)
        return {os.fsdecode(path) for path in ended.stdout.split(b"\0") if path}

    def list_blobs(self, commit: str) -> dict[str, str]:
        """Return the ids of blobs by path below the folder, without links and submodules."""
        blobs = {}
        tree = f"{commit}:{self.prefix.rstrip('/')}" if self.prefix else f"{commit}^{{tree}}"
        if _run_git(self.folder, ("rev-parse", "--verify", "--quiet", tree)).returncode:
            return {}
        for entry in self.git("ls-tree", "-r", "-z", "--full-tree", tree).split(b"\0"):
            head, _, path = entry.partition(b"\t")
            mode, _, blob = head.decode().partition(" blob ")
            if blob and mode.startswith("100"):
                blobs[os.fsdecode(path)] = blob
        return blobs

    def read_blobs(self, blobs: Iterable[str]) -> dict[str, bytes]:
        """Return the contents of blobs by id."""
        unique = list(dict.fromkeys(blobs))
        output = self.git("cat-file", "--batch", content="".join(f"{blob}\n" for blob in unique).encode())
        contents, start = {}, 0
        for blob in unique:
            head, _, _ = output[start : start + 200].partition(b"\n")
            size = int(head.split()[2])
            start += len(head) + 1
            contents[blob] = output[start : start + size]
            start += size + 1
        return contents

    def read_file(self, commit: str, path: str) -> bytes | None:
        """Return the content of a file in a revision, or None."""
        ended = _run_git(self.folder, ("cat-file", "blob", f"{commit}:{self.prefix}{path}"))
        return ended.stdout if ended.returncode == 0 else None

    def check_out(self, commit: str, target: Path) -> None:
        """Write the files of the folder in a revision into an empty folder."""
        tree = f"{commit}:{self.prefix.rstrip('/')}" if self.prefix else commit
        git_folder = self.text_of("rev-parse", "--absolute-git-dir")
        with own_index() as index:
            environment = {"GIT_DIR": git_folder, "GIT_WORK_TREE": str(target), "GIT_INDEX_FILE": index}
            for words in (("read-tree", tree), ("checkout-index", "--all", "--force")):
                ended = _run_git(target, words, None, environment)
                if ended.returncode:
                    message = shorten(ended.stderr.decode(errors="replace").strip(), 300)
                    raise WorkspaceError(f"git {words[0]} failed: {message}")


@contextmanager
def own_index() -> Iterator[str]:
    """Yield the path of a temporary index for one command."""
    scratch = tempfile.mkdtemp(prefix="oragent-index-")
    try:
        yield f"{scratch}/index"
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _run_git(
    folder: Path, words: Sequence[str], content: bytes | None = None, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    inherited = {name: value for name, value in os.environ.items() if name not in FOREIGN}
    try:
        return subprocess.run(
            ["git", *OPTIONS, *words],
            cwd=folder,
            input=b"" if content is None else content,
            capture_output=True,
            env=inherited | SETTINGS | dict(environment or {}),
            timeout=PATIENCE_S,
        )
    except FileNotFoundError:
        if folder.is_dir():
            raise WorkspaceError("workspaces keep their versions in git: install git") from None
        raise WorkspaceError(f"the folder {shorten_path(folder)} does not exist") from None
    except OSError as problem:
        raise WorkspaceError(f"git cannot be run in {shorten_path(folder)}: {problem.strerror}") from None
    except subprocess.TimeoutExpired:
        raise WorkspaceError(f"git {words[0]} did not end within {PATIENCE_S:g} s in {shorten_path(folder)}") from None
