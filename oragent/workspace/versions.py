"""Versions of a workspace: commits on a separate git reference of oragent.

Each clone and folder has its own reference below ``refs/oragent/``, so that clones merge without conflicts. The user's
branch and index do not change; only files that a command writes change. The user's own changes are saved as a version
before and after each command, and before a file is overwritten. The module ``undoing`` reverts versions.
"""

import hashlib
import os
import secrets
import shutil
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import accumulate
from pathlib import Path

from oragent._base import files
from oragent._base.errors import WorkspaceError
from oragent.workspace.git_store import GIT
from oragent.workspace.reading import RUN_FILES, list_files, path_error, read_bytes, shorten, shorten_path
from oragent.workspace.repository import REFERENCES, Repository

PERSON = "person"
# Files that commands create. They are local and can be created again.
LOCAL = (".oragent/", *RUN_FILES, "answers/")
IGNORED_TEXT = "".join(f"/{name}\n" for name in LOCAL)
# Journal of an unfinished write, below the workspace.
PENDING_WRITE = Path(".oragent") / "writing"
# Maximum number of lines of a diff, and of characters of a line.
MAX_LINES = 400
MAX_CHARACTERS = 2000
# Maximum number of bytes of a name, and of a path with the folder of the workspace; below the limits of Linux.
MAX_NAME_BYTES, MAX_PATH_BYTES = 255, 4000
# Fields of a commit, between bytes that no name contains.
FIELDS = ("%H", "%ct", "%an", "%s", "%(trailers:key=Verb,valueonly)", "%(trailers:key=Undoes,valueonly)")
FORMAT = f"%x01{'%x02'.join(FIELDS)}%x03"
SHORT = 10
# Maximum number of bytes of a file with the name of a clone or the id of a version.
MAX_ID_BYTES = 100


@dataclass(frozen=True)
class FileChange:
    """Change of one file by a version; contents are ids of blobs."""

    # Path below the workspace.
    path: str
    # Content before. None if the file did not exist.
    before: str | None
    # Content after. None if the file was removed.
    after: str | None


@dataclass(frozen=True)
class WorkspaceVersion:
    """One commit on oragent's reference."""

    # Id of the commit.
    id: str
    # Seconds since 1970.
    at: int
    # A role, a command, or ``person``.
    author: str
    # Reason in one line.
    reason: str
    # Changed paths below the workspace.
    paths: tuple[str, ...] = ()
    # Verb that wrote this version, such as ``revise-2``. Empty outside of a verb.
    verb: str = ""
    # Id of the version that this one reverts, or from which it restored all files.
    undoes: str = ""
    # Whether the version is from another clone.
    is_foreign: bool = False

    @property
    def short(self) -> str:
        """Short form of the id for display."""
        return self.id[:SHORT]


@dataclass
class Versions:
    """Versions of one workspace. With ``readonly``, nothing is written."""

    folder: Path
    readonly: bool = False
    _repository: Repository | None = field(default=None, init=False)
    _reference: str = field(default="", init=False)

    def __post_init__(self) -> None:
        self._repository = find_repository(self.folder)
        if self._repository is None and not self.readonly:
            self._repository = Repository.create(self.folder)
        if self._repository is None:
            return
        self._reference = self._find_reference(self._repository)
        if not self.readonly:
            self._exclude_local_files(self._repository)
            self._finish_write()

    def __enter__(self) -> "Versions":
        return self

    def __exit__(self, *exception: object) -> None:
        pass

    @property
    def repository(self) -> Repository:
        """Repository of the workspace."""
        if self._repository is None:
            raise WorkspaceError(f"{shorten_path(self.folder)} has no versions yet: no command has written in it")
        return self._repository

    @property
    def tip(self) -> str:
        """Id of the last version; empty without versions."""
        if self._repository is None or not self._reference:
            return ""
        return self._repository.try_resolve(self._reference)

    def write_version(
        self, contents: Mapping[str, str | bytes | None], author: str, reason: str, undoes: str = "", verb: str = ""
    ) -> str:
        """Write files. Return the id of the version, or an empty text if nothing changes.

        ``contents`` maps paths below the workspace to new contents; None removes a file. Earlier changes by the user
        are saved as a separate version first.

        Raises:
            WorkspaceError: A path leads out of the workspace, or a file cannot be written.
        """
        encoded = {path: text.encode() if isinstance(text, str) else text for path, text in contents.items()}
        changed = {path: content for path, content in encoded.items() if self.read_file(path) != content}
        if not changed:
            return ""
        self.save_snapshot("as it was found")
        blobs: dict[str, str | None] = dict.fromkeys(changed)
        for path, content in changed.items():
            if content is not None:
                blobs[path] = self.repository.git("hash-object", "-w", "--stdin", content=content).decode().strip()
        commit = self._commit(self.tip, blobs, author, reason, undoes, verb)
        self._write_local(PENDING_WRITE, commit)
        self.repository.git("update-ref", self._reference, commit)
        self._write_files(commit)
        (self.folder / PENDING_WRITE).unlink(missing_ok=True)
        return commit

    def note_reversal(self, author: str, reason: str, undoes: str) -> str:
        """Commit a version that reverts another one but changes no file."""
        commit = self._commit(self.tip, {}, author, reason, undoes, "")
        self.repository.git("update-ref", self._reference, commit)
        return commit

    def save_snapshot(self, reason: str) -> str:
        """Commit the present files as a version of the user; return its id, or an empty text if nothing changed."""
        present = self.save_files(self.folder, self._list_versioned())
        last = self.repository.list_blobs(self.tip) if self.tip else {}
        blobs: dict[str, str | None] = {path: blob for path, blob in present.items() if last.get(path) != blob}
        blobs |= dict.fromkeys(path for path in last if path not in present)
        if not blobs:
            return ""
        commit = self._commit(self.tip, blobs, PERSON, reason, "", "")
        self.repository.git("update-ref", self._reference, commit)
        return commit

    def list_versions(self) -> tuple[WorkspaceVersion, ...]:
        """Return all versions, including those of other clones, in order of time.

        Those of the same second are in the order of their numbers in their clones, then of their ids. So the order is
        the same in each clone, and does not depend on the random names of clones.
        """
        if self._repository is None:
            return ()
        pattern = f"{REFERENCES}*/{self._reference.rpartition('/')[2]}"
        names = self._repository.text_of("for-each-ref", "--format=%(refname)", pattern).split()
        own_ids = {version.id for version in self.list_own()}
        versions: dict[tuple[int, int, str], WorkspaceVersion] = {}
        for name in names:
            history = self._read_log(name)
            # A version comes after those before it in its clone, also if the clock of the clone went back.
            times = accumulate((version.at for version in history), max)
            for number, (version, time) in enumerate(zip(history, times, strict=True)):
                versions[time, number, version.id] = replace(version, is_foreign=version.id not in own_ids)
        return tuple(versions[key] for key in sorted(versions))

    def list_own(self) -> tuple[WorkspaceVersion, ...]:
        """Return the versions of this clone in order of time."""
        return tuple(self._read_log(self._reference)) if self.tip else ()

    def find_version(self, name: str) -> WorkspaceVersion:
        """Return the version whose id begins with a text."""
        matching = [version for version in self.list_versions() if len(name) >= 4 and version.id.startswith(name)]
        if len(matching) == 1:
            return matching[0]
        problem = "several versions begin with" if matching else "no version"
        where = shorten_path(self.folder)
        raise WorkspaceError(f"{problem} {shorten(name, 50)!r} in {where}; 'oragent workspace history' lists them")

    def read_changes(self, version: str) -> tuple[FileChange, ...]:
        """Return the files that a version changed."""
        after = self.repository.list_blobs(version)
        before = self.repository.list_blobs(f"{version}^") if self.repository.try_resolve(f"{version}^") else {}
        paths = [path for path in dict.fromkeys([*before, *after]) if before.get(path) != after.get(path)]
        return tuple(FileChange(path, before.get(path), after.get(path)) for path in sorted(paths))

    def describe_diff(self, version: str) -> str:
        """Return the changes of a version as git's unified diff of at most ``MAX_LINES`` lines."""
        options = (
            "--root",
            "--no-commit-id",
            "--patch",
            "--no-color",
            "--no-ext-diff",
            "--no-textconv",
            "--relative",
            "--no-prefix",
        )
        text = self.repository.git("diff-tree", *options, version).decode("utf-8", "replace")
        lines = text.rstrip("\n").split("\n")
        more = [f"... {len(lines) - MAX_LINES} more lines"] if len(lines) > MAX_LINES else []
        return "".join(f"{line[:MAX_CHARACTERS]}\n" for line in [*lines[:MAX_LINES], *more])

    def save_files(self, folder: Path, paths: Iterable[str]) -> dict[str, str]:
        """Store the contents of files of any folder without a commit, and return their blob ids by path."""
        saved = [path for path in paths if "\n" not in path]
        if not saved:
            return {}
        text = "".join(f"{folder.resolve()}/{path}\n" for path in saved).encode(errors="surrogateescape")
        ids = self.repository.git("hash-object", "-w", "--no-filters", "--stdin-paths", content=text, readable=[folder])
        return dict(zip(saved, ids.decode().split(), strict=True))

    def write_files(self, blobs: Mapping[str, str], folder: Path) -> None:
        """Write blobs by path into a new folder; a folder of this name is replaced."""
        contents = self.repository.read_blobs(blobs.values()) if blobs else {}
        try:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            for path, blob in blobs.items():
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_bytes(contents[blob])
        except OSError as error:
            raise WorkspaceError(f"cannot write {shorten_path(folder)}: {error.strerror}; make room for it") from None

    def keep_contents(self, name: str, blobs: Mapping[str, str]) -> None:
        """Keep blobs by path under a name, so that git does not remove them as unused."""
        commit = self._commit("", dict(blobs), "draft", name, "", "")
        self.repository.git("update-ref", f"{REFERENCES}drafts/{self._reference.split('/')[2]}/{name}", commit)

    def read_content(self, blob: str | None) -> bytes | None:
        """Return a content by its id; None for no id."""
        return None if blob is None else self.repository.git("cat-file", "blob", blob)

    def read_file(self, path: str) -> bytes | None:
        """Return the present content of a file; None if it does not exist."""
        file = self._safe_path(path)
        return read_bytes(file) if file.exists() or file.is_symlink() else None

    def _commit(
        self, parent: str, blobs: Mapping[str, str | None], author: str, reason: str, undoes: str, verb: str
    ) -> str:
        """Commit the files of a parent with some new contents. The reference does not move."""
        repository = self.repository
        # Zeros mark a removed file.
        entries = "".join(
            f"{'100644' if blob else '0'} {blob or '0' * 40}\t{repository.prefix}{path}\0"
            for path, blob in blobs.items()
        )
        trailers = "".join(f"{key}: {value}\n" for key, value in (("Verb", verb), ("Undoes", undoes)) if value)
        message = f"{shorten(' '.join(reason.split()), 300) or 'no reason'}\n\n{trailers}"
        with repository.store.open_index() as index:
            if parent:
                repository.git("read-tree", parent, index=index)
            content = entries.encode(errors="surrogateescape")
            repository.git("update-index", "-z", "--index-info", content=content, index=index)
            tree = repository.git("write-tree", index=index).decode().strip()
        names = {"AUTHOR": author, "COMMITTER": "oragent"}
        people = {f"GIT_{role}_NAME": name for role, name in names.items()}
        people |= {f"GIT_{role}_EMAIL": "oragent@localhost" for role in names}
        parents = ("-p", parent) if parent else ()
        commit = repository.git("commit-tree", tree, *parents, content=message.encode(), variables=people)
        return commit.decode().strip()

    def _list_versioned(self) -> list[str]:
        """Return the paths of files that git does not ignore, without hidden ones."""
        local = {name.rstrip("/") for name in LOCAL}
        every = list_files(self.folder, hidden=False)
        paths = [path for path in every if path.partition("/")[0] not in local and "\n" not in path]
        if not paths:
            return []
        content = "\0".join(paths).encode(errors="surrogateescape")
        ignored = self.repository.list_ignored(content)
        return [path for path in paths if path not in ignored]

    def _read_log(self, reference: str) -> list[WorkspaceVersion]:
        prefix = self.repository.prefix
        words = ("log", "--reverse", "--topo-order", "-z", "--no-renames", "--name-only", f"--format={FORMAT}")
        versions = []
        for entry in self.repository.text_of(*words, reference).split("\1")[1:]:
            head, _, names = entry.partition("\3")
            commit, at, author, reason, verb, undoes = head.split("\2")
            paths = (name.strip("\n") for name in names.split("\0"))
            below = tuple(path.removeprefix(prefix) for path in paths if path and path.startswith(prefix))
            versions.append(
                WorkspaceVersion(commit, int(at), author, reason, below, verb.strip("\n"), undoes.strip("\n"))
            )
        return versions

    def _find_reference(self, repository: Repository) -> str:
        """Return the reference of this clone and folder. The name of the clone is created once."""
        holder = repository.store.locate("oragent-clone")
        name = ""
        with suppress(OSError):
            name = files.read_bounded(holder, MAX_ID_BYTES).strip()
        if not (name.isalnum() and len(name) == 12):
            if self.readonly:
                return ""
            name = secrets.token_hex(6)
            files.replace_file(holder, f"{name}\n")
        scope = hashlib.sha256(os.fsencode(repository.prefix)).hexdigest()[:8] if repository.prefix else "top"
        return f"{REFERENCES}{name}/{scope}"

    def _exclude_local_files(self, repository: Repository) -> None:
        """Make git ignore oragent's own files in this clone, without changing the user's files."""
        path = repository.store.locate("info/exclude")
        lines = [f"/{repository.prefix}{name}" for name in LOCAL]
        present = path.read_text(encoding="utf-8", errors="surrogateescape") if path.is_file() else ""
        missing = [line for line in lines if line not in present.splitlines()]
        if missing:
            path.parent.mkdir(exist_ok=True)
            joint = "" if not present or present.endswith("\n") else "\n"
            text = present + joint + "".join(f"{line}\n" for line in missing)
            files.replace_file(path, text.encode(errors="surrogateescape"))

    def _write_local(self, path: Path, text: str) -> None:
        target = self._safe_path(path.as_posix())
        try:
            target.parent.mkdir(exist_ok=True)
            files.replace_file(target, text)
        except OSError as error:
            raise WorkspaceError(f"cannot write {shorten_path(target)}: {error.strerror}; make room for it") from None

    def _finish_write(self) -> None:
        """Finish an interrupted write."""
        marker = self.folder / PENDING_WRITE
        if not marker.is_file() or marker.is_symlink():
            return
        commit = ""
        # A damaged marker names no version.
        with suppress(OSError, UnicodeDecodeError):
            commit = self.repository.try_resolve(files.read_bounded(marker, MAX_ID_BYTES).strip())
        if commit and commit != self.tip and self.repository.try_resolve(f"{commit}^") == self.tip:
            self.repository.git("update-ref", self._reference, commit)
        if commit and commit == self.tip:
            self._write_files(commit, skip=True)
        marker.unlink(missing_ok=True)

    def _write_files(self, commit: str, skip: bool = False) -> None:
        """Write the files of a version, except files that changed since.

        With ``skip``, files that cannot be written are skipped, so that an interrupted write does not block commands.
        """
        for change in self.read_changes(commit):
            before, after = self.read_content(change.before), self.read_content(change.after)
            try:
                if self.read_file(change.path) not in (before, after):
                    continue
                target = self._safe_path(change.path)
                if after is None:
                    target.unlink(missing_ok=True)
                else:
                    target.parent.mkdir(parents=True, exist_ok=True)
                    files.replace_file(target, after)
            except (OSError, WorkspaceError) as error:
                if skip:
                    continue
                why = error.strerror if isinstance(error, OSError) else error
                what = f"cannot write {shorten_path(change.path)}: {why}"
                raise WorkspaceError(
                    f"{what}; version {commit[:SHORT]} is kept; free disk space and repeat the command"
                ) from None

    def _safe_path(self, path: str) -> Path:
        """Return the location of a file after checking that no link leads out of the workspace."""
        target = self.folder / path
        parts = Path(path).parts
        if len(os.fsencode(target)) > MAX_PATH_BYTES or any(len(os.fsencode(part)) > MAX_NAME_BYTES for part in parts):
            raise WorkspaceError(
                f"{shorten_path(path)} is too long; expected names of at most {MAX_NAME_BYTES} bytes, and "
                f"{MAX_PATH_BYTES} with all folders"
            )
        above = [self.folder.joinpath(*parts[:depth]) for depth in range(1, len(parts) + 1)]
        outside = not parts or Path(path).is_absolute() or any(part == ".." or part.casefold() == GIT for part in parts)
        if outside or any(parent.is_symlink() for parent in above):
            raise path_error(path, "leads out of the workspace; expected a path below it, without links")
        file_above = next((parent for parent in above[:-1] if parent.exists() and not parent.is_dir()), None)
        if file_above is not None:
            raise WorkspaceError(f"{shorten_path(path)} cannot be written: {shorten_path(file_above)} is a file")
        return target


def find_repository(folder: Path) -> Repository | None:
    """Return the repository of a folder; None if no repository contains it, or if its repository ignores it."""
    repository = Repository.find(folder)
    if repository is None or not repository.prefix or not repository.list_ignored(b"."):
        return repository
    return None
