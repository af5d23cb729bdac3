"""What an evaluation needs of the engine's disk: known by its content, sent to a machine once, kept there unchanged."""

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
from typing import Any

from oragent._base.errors import ConfigError, SandboxError
from oragent.evaluation.companions import walked
from oragent.evaluation.problem import Problem
from oragent.sandbox.messages import sound_name

ROOT, APART = "home", "problem"  # where a root and a problem outside of it lie on a worker
DATA = ("checkpoints", "data")  # what of a root an evaluator may read beside its problem's folder
PART_BYTES = 4 << 20
MOST_BYTES = 4 << 30
MOST_FILES = 20_000
OLD_S = 14 * 86_400  # content that nobody asked for so long goes


@dataclass(frozen=True)
class Piece:
    """A file of the content.

    Attributes:
        name: Path below the content's folder.
        size: Size in bytes.
        sha256: Hash of its bytes.
    """

    name: str
    size: int
    sha256: str


@dataclass(frozen=True)
class Content:
    """All files that evaluations of a problem need.

    Attributes:
        pieces: Files, in order of their names.
        evaluator: Name of the problem's evaluator among them.
        places: Paths on the engine's disk by name; empty on a worker.
    """

    pieces: tuple[Piece, ...]
    evaluator: str
    places: Mapping[str, Path]

    @cached_property
    def manifest(self) -> str:
        """The content but for its bytes, as a text; its hash is the content's name."""
        return json.dumps({"evaluator": self.evaluator, "pieces": [list(vars(one).values()) for one in self.pieces]})

    @cached_property
    def digest(self) -> str:
        """Hash by which a worker knows it."""
        return hashlib.sha256(self.manifest.encode()).hexdigest()

    @property
    def size(self) -> int:
        """Size of all files together."""
        return sum(piece.size for piece in self.pieces)

    @classmethod
    def read(cls, manifest: str) -> "Content":
        """Read a manifest back, as a worker does.

        Raises:
            SandboxError: if it is none, or a name in it would leave the folder.
        """
        try:
            plain = json.loads(manifest)
            pieces = tuple(Piece(str(name), int(size), str(known)) for name, size, known in plain["pieces"])
            evaluator = str(plain["evaluator"])
        except (KeyError, TypeError, ValueError, RecursionError) as problem:
            raise SandboxError(f"this is no manifest of content: {type(problem).__name__}") from None
        if not all(sound_name(piece.name) for piece in pieces) or evaluator not in {one.name for one in pieces}:
            raise SandboxError("a manifest of content names files that cannot be its own")
        return cls(pieces, evaluator, {})

    def parts(self, piece: Piece) -> Iterator[tuple[int, bytes]]:
        """The bytes of a file, in parts that a message can hold, each with its offset; one empty part for none."""
        with self.places[piece.name].open("rb") as file:
            offset = 0
            while (part := file.read(PART_BYTES)) or offset == 0:
                yield offset, part
                offset += len(part)
                if not part:
                    break


def gather(problem: Problem, root: Path) -> Content:
    """Look at what goes to the workers: the problem's folder, and data and checkpoints below the root.

    Raises:
        ConfigError: if that is too much to be sent.
        OSError: if something cannot be read.
    """
    folder, root = problem.folder.resolve(), root.resolve()
    home = f"{ROOT}/{folder.relative_to(root).as_posix()}" if folder.is_relative_to(root) else f"{APART}/{folder.name}"
    home = home.removesuffix("/.")
    places = {f"{home}/{path.relative_to(folder).as_posix()}": path for path in walked(folder)}
    for name in DATA:
        if (root / name).is_dir():
            places |= {f"{ROOT}/{path.relative_to(root).as_posix()}": path for path in walked(root / name)}
    size = sum(path.stat().st_size for path in places.values())
    if size > MOST_BYTES or len(places) > MOST_FILES:
        raise ConfigError(
            f"{folder} with {' and '.join(DATA)} of {root} is too much for every worker to be sent: {len(places):,} "
            f"files of {size / (1 << 30):.1f} GiB, at most {MOST_FILES:,} of {MOST_BYTES >> 30} GiB"
        )
    pieces = tuple(Piece(name, path.stat().st_size, _hash(path)) for name, path in sorted(places.items()))
    return Content(pieces, f"{home}/{problem.evaluator.name}", places)


class Shelf:
    """Content that a machine keeps, for all workers of one user on it.

    A file is there whole or not at all, and what is there is read again, once by each worker, before it is used.

    Args:
        place: Folder of it; None: one among the machine's temporary files.

    Raises:
        OSError: if it cannot be made.
        SandboxError: if somebody else could change what is in it.
    """

    def __init__(self, place: Path | None = None) -> None:
        self._place = place or Path(tempfile.gettempdir()) / f"oragent-content-{os.getuid()}"
        self._place.mkdir(mode=0o711, parents=True, exist_ok=True)
        found = self._place.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o022:
            raise SandboxError(f"{self._place} is not this user's alone: remove it, or set TMPDIR")
        self._place.chmod(0o711)  # whom root becomes for an evaluation goes through
        self._known: dict[str, Content] = {}
        self._drafts: dict[str, Path] = {}
        self._clear()

    def find(self, digest: str) -> Path | None:
        """The folder of content that is there, whole and unchanged; None otherwise."""
        folder = self._place / digest
        if digest in self._known and digest not in self._drafts:
            return folder if folder.is_dir() else None
        return None

    def evaluator(self, digest: str) -> str:
        """Name of the evaluator in content that is known."""
        return self._known[digest].evaluator

    def lacks(self, manifest: str) -> list[int]:
        """The numbers of the pieces that are to be sent; none where the content is there.

        Raises:
            SandboxError, OSError: if the manifest is none, or nothing can be written.
        """
        content = Content.read(manifest)
        folder = self._place / content.digest
        if folder.is_dir():
            if _is_whole(folder, content.pieces):
                os.utime(folder)
                self._known[content.digest] = content
                self._drafts.pop(content.digest, None)
                return []
            shutil.rmtree(folder, ignore_errors=True)
        self._known[content.digest] = content
        self._drafts[content.digest] = Path(tempfile.mkdtemp(prefix=f"draft-{os.getpid()}-", dir=self._place))
        return list(range(len(content.pieces)))

    def put(self, digest: str, number: int, offset: int, part: bytes) -> None:
        """Write a part of a piece.

        Raises:
            SandboxError: if it belongs to nothing that is being sent.
            OSError: if there is no room.
        """
        content, draft = self._known.get(digest), self._drafts.get(digest)
        if content is None or draft is None or not 0 <= number < len(content.pieces):
            raise SandboxError("a part of content that is not being sent")
        path = draft / content.pieces[number].name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("r+b" if offset else "wb") as file:
            file.seek(offset)
            file.write(part)

    def finish(self, digest: str) -> Path:
        """Put content that is complete in its place, for good.

        Raises:
            SandboxError: if it is not what its name says.
        """
        content, draft = self._known[digest], self._drafts[digest]
        if not _is_whole(draft, content.pieces):
            shutil.rmtree(draft, ignore_errors=True)
            raise SandboxError("the content that was sent is not what its name says")
        for path in (draft, *draft.rglob("*")):
            path.chmod(0o555 if path.is_dir() else 0o444)
        draft.chmod(0o755)
        with suppress(OSError):  # where another worker of this machine was first
            draft.rename(self._place / digest)
        _remove(draft)
        del self._drafts[digest]
        return self._place / digest

    def _clear(self) -> None:
        """Remove what nobody uses any more, and what those left who were killed."""
        for folder in self._place.iterdir():
            with suppress(OSError):
                age_s = time.time() - folder.stat().st_mtime
                if age_s > (86_400 if folder.name.startswith("draft-") else OLD_S):
                    _remove(folder)


def _is_whole(folder: Path, pieces: Iterable[Piece]) -> bool:
    wanted = {piece.name: piece for piece in pieces}
    try:
        there = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}
        if there != set(wanted) or any(path.is_symlink() for path in folder.rglob("*")):
            return False
        return all(_hash(folder / name) == piece.sha256 for name, piece in wanted.items())
    except OSError:
        return False


def _remove(folder: Path) -> None:
    """Remove a folder of files that were made unchangeable."""
    for inner in (folder, *folder.rglob("*")):
        if inner.is_dir() and not inner.is_symlink():
            with suppress(OSError):
                inner.chmod(0o755)
    shutil.rmtree(folder, ignore_errors=True)


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def as_plain(content: Content) -> dict[str, Any]:
    """The content as the courier is told it: the manifest, and where the files lie."""
    return {"manifest": content.manifest, "places": {name: str(path) for name, path in content.places.items()}}
