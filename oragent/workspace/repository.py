"""Git repository of a workspace: its revisions and their files.

No function changes the user's branch, index or working tree. Each command that needs an index uses a temporary one.
"""

import hashlib
import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from oragent._base.errors import WorkspaceError
from oragent.workspace.git_store import (
    GIT,
    GitStore,
    create_store,
    describe_failure,
    find_excluded_names,
    find_store,
)
from oragent.workspace.reading import MAX_BYTES, path_error, read_bytes, shorten, shorten_path

REFERENCES = "refs/oragent/"
# Part of a revision that git finds in the configuration of a branch.
CONFIGURED = re.compile(r"@\{(?:u|upstream|push)\}", re.IGNORECASE)
# Beginning of a file in place of a content that Git LFS stores elsewhere, and its maximum bytes.
LFS, MAX_POINTER = b"version https://git-lfs.github.com/spec/", 1024


@dataclass(frozen=True)
class Repository:
    """A git repository, seen from one of its folders."""

    folder: Path
    # Folder below the top of the working tree, with ``/`` at the end. Empty for the top.
    prefix: str
    store: GitStore

    @classmethod
    def find(cls, folder: Path) -> "Repository | None":
        """Return the repository that contains a folder, or None."""
        store = find_store(folder)
        if store is None:
            return None
        below = folder.resolve().relative_to(store.top).as_posix()
        return cls(folder.resolve(), "" if below == "." else f"{below}/", store)

    @classmethod
    def create(cls, folder: Path) -> "Repository":
        """Create a git repository in a folder."""
        return cls(folder.resolve(), "", create_store(folder))

    def git(
        self,
        *words: str,
        content: bytes = b"",
        index: Path | None = None,
        variables: Mapping[str, str] | None = None,
        readable: Sequence[Path] = (),
    ) -> bytes:
        """Run a git command in the folder as ``GitStore.run`` does, and return its output."""
        ended = self.store.run(self.folder, words, content, index=index, variables=variables, readable=readable)
        if ended.returncode:
            raise WorkspaceError(f"git {words[0]} failed: {describe_failure(ended)}")
        return ended.stdout

    def text_of(self, *words: str) -> str:
        """Return the output of a git command as text without the last line feed."""
        return self.git(*words).decode(errors="surrogateescape").rstrip("\n")

    def resolve(self, revision: str) -> str:
        """Return the id of the commit that a branch, tag, id or expression such as ``HEAD~1`` names."""
        if CONFIGURED.search(revision):
            raise WorkspaceError(
                f"revision {shorten(revision)!r} depends on the configuration of the repository, which is not read; "
                "name the branch, such as origin/main"
            )
        words = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
        ended = self.store.run(self.folder, words)
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
        names = find_excluded_names()
        words = ("-c", f"core.excludesFile={names}", "check-ignore", "-z", "--stdin")
        ended = self.store.run(self.folder, words, paths, readable=[names])
        return {os.fsdecode(path) for path in ended.stdout.split(b"\0") if path}

    def list_blobs(self, commit: str) -> dict[str, str]:
        """Return the ids of blobs by path below the folder, without links and submodules; none for no commit."""
        if not commit:
            return {}
        blobs = {}
        words = ("ls-tree", "-r", "-z", "--full-tree", commit, *([self.prefix] if self.prefix else ()))
        for entry in self.git(*words).split(b"\0"):
            head, _, name = entry.partition(b"\t")
            mode, _, blob = head.decode().partition(" blob ")
            path = os.fsdecode(name)
            if blob and mode.startswith("100") and path.startswith(self.prefix):
                blobs[_check_path(path.removeprefix(self.prefix))] = blob
        return blobs

    def read_blobs(self, blobs: Iterable[str]) -> dict[str, bytes]:
        """Return the contents of blobs by id."""
        return dict(self._iterate_blobs(blobs))

    def _iterate_blobs(self, blobs: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """Yield the id and the content of each blob once."""
        unique = list(dict.fromkeys(blobs))
        with tempfile.TemporaryFile() as output:
            content = "".join(f"{blob}\n" for blob in unique).encode()
            ended = self.store.run(self.folder, ("cat-file", "--batch"), content, output=output)
            if ended.returncode:
                raise WorkspaceError(f"git cat-file failed: {describe_failure(ended)}")
            output.seek(0)
            for blob in unique:
                words = output.readline().split()
                if len(words) != 3 or words[0] != blob.encode():
                    raise WorkspaceError(f"git lacks the object {blob[:10]}; clone the whole repository")
                size = int(words[2])
                if size > MAX_BYTES:
                    raise WorkspaceError(f"a file has {size >> 20} MiB; expected at most {MAX_BYTES >> 20} MiB")
                yield blob, output.read(size)
                output.read(1)

    def read_file(self, commit: str, path: str) -> bytes | None:
        """Return the content of a file in a revision, or None."""
        ended = self.store.run(self.folder, ("cat-file", "blob", f"{commit}:{self.prefix}{path}"))
        return ended.stdout if ended.returncode == 0 else None

    def check_out(self, commit: str, target: Path) -> None:
        """Write the files of the folder in a revision into an empty folder, without filters, links and submodules."""
        paths: dict[str, list[str]] = {}
        for path, blob in self.list_blobs(commit).items():
            paths.setdefault(blob, []).append(path)
        for blob, content in self._iterate_blobs(paths):
            if content.startswith(LFS) and len(content) <= MAX_POINTER:
                content = self._read_large_file(content, paths[blob][0])
            for path in paths[blob]:
                try:
                    (target / path).parent.mkdir(parents=True, exist_ok=True)
                    (target / path).write_bytes(content)
                except OSError as error:
                    raise WorkspaceError(f"cannot write {shorten_path(path)}: {error.strerror}") from None

    def _read_large_file(self, pointer: bytes, path: str) -> bytes:
        """Return the content that Git LFS stores for a file."""
        _, _, digest = pointer.partition(b"\noid sha256:")
        name = digest[:64].decode("ascii", "replace")
        try:
            content = read_bytes(self.store.shared_folder / "lfs/objects" / name[:2] / name[2:4] / name)
        except WorkspaceError:
            content = b""
        if hashlib.sha256(content).hexdigest() != name:
            raise path_error(path, "is stored with Git LFS, and its content is not here; get it with 'git lfs fetch'")
        return content


def _check_path(path: str) -> str:
    """Return the path of a file in a revision after checking that it stays below its folder."""
    if any(part in ("", ".", "..") or part.casefold() == GIT for part in path.split("/")):
        raise path_error(path, "is in the revision, but leads out of its folder; no file of the revision is read")
    return path
