"""Folders below a root that ``oragent watch`` shows: their kinds and their entries."""

import os
import re
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from oragent._base.errors import StoreError
from oragent._base.files import NAMES, WORKSPACE_TRACES, FolderKind, find_kind
from oragent._base.text_format import escape_text
from oragent.report.live.evidence import read_trust
from oragent.report.live.snapshot import RunReader
from oragent.search.folder import best_file
from oragent.search.store import is_running

CHANGING = {"run.db", "run.db-wal"}
PAGES = ("report.html", "page.html", "index.html")
MAX_DEPTH, MAX_FOLDERS, MAX_LISTED = 6, 20_000, 2_000
SKIPPED = {"candidates", "figures", "pictures", "cache"}


POLL_S = 0.5
# Minimum time between two scans of the folder, in seconds.
LIST_S = 5.0
# First line of a best program, with problem and score.
BEST_LINE = re.compile(r"(?:#|//) ([\w.-]{1,100}: [-+.\w]{1,40}) by ")
MAX_LINE = 400
# Maximum share of time for repeated summaries, so that a watched run does not become slower.
SHARE = 0.01
# Maximum number of cached rows of candidates for other clients.
SHARED_ROWS = 2_000
MAX_PAGE = 64 << 20


@dataclass(frozen=True)
class ListedFolder:
    """A folder that the page lists."""

    # Path below the root, with slashes. ``.`` means the root itself.
    id: str
    kind: FolderKind
    path: Path
    # Time of its last change, in seconds since 1970.
    changed: float
    # Name of a finished page in it. Empty if it has none.
    page: str

    def describe(self) -> dict[str, object]:
        """Return the entry in the form of the page."""
        return {
            "id": escape_text(self.id),
            "kind": str(self.kind),
            "changed": self.changed,
            "page": self.page,
            "running": is_running(self.path),
            "score": read_first_line(self.path),
        }


def read_first_line(folder: Path) -> str:
    """Return problem and best score from the first line of a run's best program; empty without one."""
    try:
        with best_file(folder).open(encoding="utf-8", errors="replace") as file:
            match = BEST_LINE.match(file.readline(MAX_LINE))
    except OSError:
        return ""
    if match:
        return escape_text(match[1])
    return ""


def list_folders(root: Path) -> list[ListedFolder]:
    """List the folders of runs below a root, the latest first. Links are not followed."""
    entries = [entry for folder, names in _walk(root) if (entry := _describe_folder(root, folder, names))]
    return sorted(entries, key=lambda entry: -entry.changed)[:MAX_LISTED]


def _walk(root: Path) -> Iterator[tuple[Path, set[str]]]:
    for count, (folder, folders, names) in enumerate(os.walk(root, followlinks=False)):
        depth, entries = len(Path(folder).relative_to(root).parts), {*folders, *names}
        folders[:] = [] if depth >= MAX_DEPTH or count >= MAX_FOLDERS else sorted(set(folders) - SKIPPED)
        yield Path(folder), entries


def _describe_folder(root: Path, folder: Path, names: set[str]) -> ListedFolder | None:
    kind = find_kind(names)
    if kind is None:
        return None
    try:
        changed = max((folder / name).stat().st_mtime for name in names & (CHANGING | NAMES[kind] | WORKSPACE_TRACES))
    except OSError:
        return None
    page = next((name for name in PAGES if name in names), "")
    return ListedFolder(folder.relative_to(root).as_posix(), kind, folder, changed, page)


class Watched:
    """The folders that a server shows.

    Args:
        root: Folder below which runs are listed, or the folder of one run.
        isolation: Guarantees of this machine that hold (``held``) and do not hold (``missing``). None if unknown.
    """

    def __init__(self, root: Path, isolation: dict[str, list[str]] | None = None) -> None:
        self.root, self.isolation = root.resolve(), isolation
        self._listed: dict[str, ListedFolder] = {}
        self._scanned = -LIST_S
        self._readers: dict[str, RunReader] = {}
        self._parts: dict[str, tuple[int, tuple[float, ...], int, dict[str, Any]]] = {}
        self._summaries: dict[str, tuple[tuple[float, ...], float, dict[str, Any]]] = {}

    def list_runs(self) -> list[dict[str, object]]:
        """List the folders, scanned at most every `LIST_S` seconds."""
        if time.monotonic() - self._scanned >= LIST_S:
            self._listed = {entry.id: entry for entry in list_folders(self.root)}
            self._scanned = time.monotonic()
        return [entry.describe() for entry in self._listed.values()]

    def find(self, name: str) -> ListedFolder:
        """Return a listed folder. Only listed folders can be read."""
        self.list_runs()
        if name not in self._listed:
            raise StoreError(f"no run {escape_text(name)[:100]!r} below {self.root}")
        return self._listed[name]

    def read_page(self, path: str) -> bytes:
        """Return a written page in or below a listed folder, by its path below the root. Links are not followed."""
        self.list_runs()
        below = PurePosixPath(path)
        owners = [self._listed[str(parent)] for parent in below.parents if str(parent) in self._listed]
        file = self.root / below
        is_inside = bool(owners) and ".." not in below.parts and file.resolve() == file and below.suffix == ".html"
        if not is_inside or not file.is_file() or file.stat().st_size > MAX_PAGE:
            raise StoreError(
                f"page {escape_text(path)[:200]!r} does not exist: oragent report RUN writes the page of a folder"
            )
        return file.read_bytes()

    def reader(self, name: str) -> RunReader:
        """Return the reader of a search."""
        entry = self.find(name)
        if entry.kind != "search":
            raise StoreError(f"{escape_text(name)[:100]} is a {entry.kind}, not a search")
        if name not in self._readers:
            self._readers[name] = RunReader(entry.path)
        return self._readers[name]

    def summary(self, name: str) -> dict[str, Any]:
        """Return a run's summary. It is read again when it has changed, but not more often than `SHARE` allows."""
        reader = self.reader(name)
        version, now = reader.version(), time.monotonic()
        if name in self._summaries:
            stamp, due, summary = self._summaries[name]
            if stamp == version or now < due:
                return summary
        summary = asdict(reader.read_summary())
        took = time.monotonic() - now
        self._summaries[name] = version, now + took + took / SHARE, summary
        return summary

    def read_trust(self, name: str) -> dict[str, Any]:
        """Return the evidence for a run's best program, with this machine's isolation if the run recorded none."""
        trust = read_trust(self.reader(name))
        return {**trust, "isolation": trust.get("isolation") or self.isolation}

    def candidates(self, name: str, after: int) -> dict[str, Any]:
        """Return the candidates after a row. Equal requests at the same time are read once."""
        reader, tick = self.reader(name), current_tick()
        version = reader.version()
        if (cached := self._parts.get(name)) and cached[0] == after and (cached[1] == version or cached[2] == tick):
            return cached[3]
        part = vars(reader.read_candidates(after))
        if len(part["round"]) <= SHARED_ROWS:
            self._parts[name] = after, version, tick, part
        return part


def current_tick() -> int:
    """Return the number of the interval in which changes of runs are looked for, which is the same for all clients."""
    return int(time.monotonic() / POLL_S)
