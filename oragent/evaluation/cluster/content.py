"""Files that evaluations need: identified by their hash, sent to each machine once, and kept there unchanged."""

import hashlib
import json
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from oragent._base.errors import ConfigError, SandboxError
from oragent.evaluation.job import walk_files
from oragent.evaluation.problem import Problem
from oragent.sandbox.messages import is_safe_name

# Folder names on a worker, of a root and of a problem outside of it.
ROOT, APART = "home", "problem"
# Folders of a root that an evaluator may read in addition to the problem's folder.
DATA = ("checkpoints", "data")
PART_BYTES = 4 << 20
MAX_BYTES = 4 << 30
MAX_FILES = 20_000
# Age after which unused content is removed.
OLD_S = 14 * 86_400


@dataclass(frozen=True)
class Piece:
    """File of the content."""

    name: str
    size: int
    sha256: str


@dataclass(frozen=True)
class Content:
    """All files that evaluations of a problem need."""

    pieces: tuple[Piece, ...]
    # Name of the problem's evaluator among the files.
    evaluator: str
    # Paths on the engine's disk by name; empty on a worker.
    paths: Mapping[str, Path]

    @cached_property
    def manifest(self) -> str:
        """Names, sizes and hashes of all files as JSON; the hash of this text identifies the content."""
        pieces = [list(vars(piece).values()) for piece in self.pieces]
        return json.dumps({"evaluator": self.evaluator, "pieces": pieces})

    @cached_property
    def digest(self) -> str:
        """Hash that identifies the content."""
        return hashlib.sha256(self.manifest.encode()).hexdigest()

    @property
    def size(self) -> int:
        """Total size in bytes."""
        return sum(piece.size for piece in self.pieces)

    @classmethod
    def from_manifest(cls, manifest: str) -> "Content":
        """Parse a manifest on a worker.

        Raises:
            SandboxError: It is not a manifest, or a name would leave the folder.
        """
        try:
            plain = json.loads(manifest)
            pieces = tuple(Piece(str(name), int(size), str(digest)) for name, size, digest in plain["pieces"])
            evaluator = str(plain["evaluator"])
        except (KeyError, TypeError, ValueError, RecursionError) as problem:
            raise SandboxError(f"invalid manifest of content: {type(problem).__name__}") from None
        if not all(is_safe_name(piece.name) for piece in pieces) or evaluator not in {piece.name for piece in pieces}:
            raise SandboxError("a manifest of content contains invalid file names")
        return cls(pieces, evaluator, {})

    def read_parts(self, piece: Piece) -> Iterator[tuple[int, bytes]]:
        """Yield the bytes of a file in limited parts, each with its offset; an empty file has one empty part."""
        with self.paths[piece.name].open("rb") as file:
            offset = 0
            while (part := file.read(PART_BYTES)) or offset == 0:
                yield offset, part
                offset += len(part)
                if not part:
                    break


def gather_content(problem: Problem, root: Path) -> Content:
    """List the files to send to workers: the problem's folder, and data and checkpoints below the root."""
    folder, root = problem.folder.resolve(), root.resolve()
    home = f"{ROOT}/{folder.relative_to(root).as_posix()}" if folder.is_relative_to(root) else f"{APART}/{folder.name}"
    home = home.removesuffix("/.")
    paths = {f"{home}/{path.relative_to(folder).as_posix()}": path for path in walk_files(folder)}
    for name in DATA:
        if (root / name).is_dir():
            paths |= {f"{ROOT}/{path.relative_to(root).as_posix()}": path for path in walk_files(root / name)}
    size = sum(path.stat().st_size for path in paths.values())
    if size > MAX_BYTES or len(paths) > MAX_FILES:
        raise ConfigError(
            f"{folder} with {' and '.join(DATA)} of {root} is too large to be sent to every worker: {len(paths):,} "
            f"files of {size / (1 << 30):.1f} GiB, at most {MAX_FILES:,} of {MAX_BYTES >> 30} GiB"
        )
    pieces = tuple(Piece(name, path.stat().st_size, _hash_file(path)) for name, path in sorted(paths.items()))
    return Content(pieces, f"{home}/{problem.evaluator.name}", paths)


class ContentStore:
    """Content on a worker's machine, shared by all workers of one user.

    Files are complete or missing. Each worker verifies existing files once before it uses them.

    Raises:
        OSError: The folder cannot be created.
        SandboxError: Another user could change its content.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder or Path(tempfile.gettempdir()) / f"oragent-content-{os.getuid()}"
        self._folder.mkdir(mode=0o711, parents=True, exist_ok=True)
        status = self._folder.lstat()
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o022:
            raise SandboxError(f"{self._folder} is accessible to other users: remove it, or set TMPDIR")
        # Evaluations of root run as an unprivileged user, who must be able to pass through.
        self._folder.chmod(0o711)
        self._contents: dict[str, Content] = {}
        self._drafts: dict[str, Path] = {}
        self._remove_old()

    def find_folder(self, digest: str) -> Path | None:
        """Return the folder of complete content, or None."""
        folder = self._folder / digest
        if digest in self._contents and digest not in self._drafts:
            if folder.is_dir():
                return folder
            return None
        return None

    def evaluator_name(self, digest: str) -> str:
        """Return the name of the evaluator of content."""
        return self._contents[digest].evaluator

    def begin_draft(self, manifest: str) -> list[int]:
        """Start receiving content, and return the numbers of the files to send; none if it is complete."""
        content = Content.from_manifest(manifest)
        folder = self._folder / content.digest
        if folder.is_dir():
            if _is_whole(folder, content.pieces):
                os.utime(folder)
                self._contents[content.digest] = content
                self._drafts.pop(content.digest, None)
                return []
            shutil.rmtree(folder, ignore_errors=True)
        self._contents[content.digest] = content
        self._drafts[content.digest] = Path(tempfile.mkdtemp(prefix=f"draft-{os.getpid()}-", dir=self._folder))
        return list(range(len(content.pieces)))

    def write_part(self, digest: str, number: int, offset: int, part: bytes) -> None:
        """Write a part of a file."""
        content, draft = self._contents.get(digest), self._drafts.get(digest)
        if content is None or draft is None or not 0 <= number < len(content.pieces):
            raise SandboxError("a part of content that was not announced")
        path = draft / content.pieces[number].name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("r+b" if offset else "wb") as file:
            file.seek(offset)
            file.write(part)

    def finish_draft(self, digest: str) -> Path:
        """Verify the complete content and move it to its final folder."""
        content, draft = self._contents[digest], self._drafts[digest]
        if not _is_whole(draft, content.pieces):
            shutil.rmtree(draft, ignore_errors=True)
            raise SandboxError("the received content does not match its hash")
        for path in (draft, *draft.rglob("*")):
            path.chmod(0o555 if path.is_dir() else 0o444)
        draft.chmod(0o755)
        # Another worker on this machine may have been faster.
        with suppress(OSError):
            draft.rename(self._folder / digest)
        _remove_read_only(draft)
        del self._drafts[digest]
        return self._folder / digest

    def _remove_old(self) -> None:
        for folder in self._folder.iterdir():
            with suppress(OSError):
                age_s = time.time() - folder.stat().st_mtime
                if age_s > (86_400 if folder.name.startswith("draft-") else OLD_S):
                    _remove_read_only(folder)


def _is_whole(folder: Path, pieces: Iterable[Piece]) -> bool:
    expected = {piece.name: piece for piece in pieces}
    try:
        present = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}
        if present != set(expected) or any(path.is_symlink() for path in folder.rglob("*")):
            return False
        return all(_hash_file(folder / name) == piece.sha256 for name, piece in expected.items())
    except OSError:
        return False


def _remove_read_only(folder: Path) -> None:
    for inner in (folder, *folder.rglob("*")):
        if inner.is_dir() and not inner.is_symlink():
            with suppress(OSError):
                inner.chmod(0o755)
    shutil.rmtree(folder, ignore_errors=True)


def _hash_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
