"""Recorder of each model that a program solves, and of the returned point. This code runs in the sandbox."""

import json
import math
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as find_version
from pathlib import Path
from typing import Any

from oragent.modelling.capture.keys import PositionOf, resolve_keys
from oragent.modelling.capture.places import PlaceLog
from oragent.modelling.capture.snapshot import MemberKey, Snapshot
from oragent.modelling.capture.tables import find_sets, find_tables

# Maximum number of models; the last ones are kept.
MAX_MODELS = 20
# Maximum size of all kept models, in bytes.
MAX_BYTES = 120 << 20
# Suffix of the file with a claimed point.
POINT = ".point.json"


class Recorder:
    """Records the solves of one program.

    If the process runs single functions instead of a program, no folder is given. Install the recorder of a library
    once (``recorders.from_pulp.install(pulp, recorder)``), call ``begin`` before each run, and read ``files`` after it.

    Args:
        folder: Folder for the files, which is created. None keeps them in ``files``.
        program_folder: Folder of the program's files, whose frames belong to the program.
        limit_s: CPU seconds after which the process is killed.
        gap: Relative gap at which each solve stops. None means the gap of the program.
        is_confined: Whether the process must not start threads or open files. Solvers are set accordingly.
    """

    def __init__(
        self,
        folder: Path | None,
        program_folder: str,
        limit_s: float,
        gap: float | None = None,
        *,
        is_confined: bool = False,
    ) -> None:
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        # Texts by name of the file, if no folder is given: ``000001.json``, and the point in ``000001.point.json``.
        self.files: dict[str, str] = {}
        self._depth = 0
        self.is_confined = is_confined
        # Reference to the last model, because a function may return only variables of it.
        self.last_model: Any = None
        self.begin(limit_s, gap, program_folder)

    def begin(self, limit_s: float, gap: float | None = None, program_folder: str = "") -> None:
        """Forget all models, and set the limits of the solves that follow."""
        self._limit_s, self.gap = limit_s, gap
        self._sizes: dict[int, int] = {}
        self.count = 0
        self.files.clear()
        self.places = PlaceLog(program_folder)

    @property
    def is_quiet(self) -> bool:
        """True during a solve or call that is already recorded, such as HiGHS under PuLP."""
        return self._depth > 0

    @contextmanager
    def quiet(self) -> Iterator[None]:
        """Return a context in which nothing is recorded."""
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1

    def remaining_s(self, threads: int = 1) -> float:
        """Seconds by the clock for a solve that starts now.

        Solvers measure time by the clock and the sandbox measures CPU time, so each thread gets its share. The total is
        at least a CPU second, or a tenth of a shorter limit.

        Args:
            threads: Number of threads of the solver. 0 means one for each processor.
        """
        least = min(1.0, 0.1 * self._limit_s)
        left_s = max(least, 0.9 * (self._limit_s - time.process_time()))
        return left_s / (threads or os.cpu_count() or 1)

    def record(self, framework: str, make: Callable[[], Snapshot]) -> int:
        """Write a snapshot, or the reason why it failed. Return its number."""
        self.count += 1
        try:
            with self.quiet():
                snapshot = make()
            units = vars(sys.modules["__main__"]).get("UNITS")
            if isinstance(units, dict):
                snapshot.units = {str(name): str(unit) for name, unit in units.items()}
            text = snapshot.to_text()
        except Exception as problem:
            reason = f"it cannot be read: {type(problem).__name__}: {str(problem)[:300]}"
            text = Snapshot(framework, missing=[reason]).to_text()
        if 2 * len(text) > MAX_BYTES:
            text = Snapshot(framework, missing=[f"it takes {len(text):,} bytes, more than are read"]).to_text()
        self._write(f"{self.count:06}.json", text)
        self._sizes[self.count] = len(text)
        while len(self._sizes) > MAX_MODELS or sum(self._sizes.values()) > MAX_BYTES:
            oldest = min(self._sizes)
            del self._sizes[oldest]
            for ending in (".json", POINT):
                self._remove(f"{oldest:06}{ending}")
        return self.count

    def _write(self, name: str, text: str) -> None:
        if self._folder is None:
            self.files[name] = text
        else:
            (self._folder / name).write_text(text, encoding="utf-8")

    def _remove(self, name: str) -> None:
        self.files.pop(name, None)
        if self._folder is not None:
            (self._folder / name).unlink(missing_ok=True)

    def claim(self, number: int, make: Callable[[], tuple[str, float | None, Sequence[float] | None]]) -> None:
        """Write the status, objective and values that the solver gave to the program."""
        if number not in self._sizes:
            return
        try:
            with self.quiet():
                status, objective, values = make()
            plain = None if values is None else [_number(value) for value in values]
            text = json.dumps({"status": str(status), "objective": _number(objective), "values": plain})
        except Exception as problem:
            text = json.dumps({"status": f"no point: {type(problem).__name__}", "objective": None, "values": None})
        self._write(f"{number:06}{POINT}", text)

    def fill_keys(
        self,
        snapshot: Snapshot,
        model: Any,
        column_of: PositionOf | None,
        row_of: PositionOf | None,
        given: tuple[dict[int, MemberKey], dict[int, MemberKey]] = ({}, {}),
    ) -> Snapshot:
        """Add families, sets and data from the program to a snapshot."""
        scopes = self.places.variable_scopes()
        columns, rows = (places.get(id(model), {}) for places in (self.places.columns, self.places.rows))
        snapshot.column_keys = resolve_keys(snapshot.columns, given[0], scopes, column_of, columns)
        snapshot.row_keys = resolve_keys(snapshot.rows, given[1], scopes, row_of, rows)
        snapshot.sets = {**find_sets(scopes), **snapshot.sets}
        names = {table.name for table in snapshot.tables}
        snapshot.tables += [table for table in find_tables(scopes) if table.name not in names]
        return snapshot

    def watch_additions(self, owner: Any, methods: Sequence[str], kind: str, count: Callable[[Any], int]) -> None:
        """Watch the methods of a class that add columns or rows, and note their source positions.

        Args:
            owner: Class of the models.
            methods: Names of methods. Those that the class does not have are skipped.
            kind: "columns" or "rows".
            count: Number of columns or rows of a model.
        """
        for name in methods:
            original = getattr(owner, name, None)
            if original is not None:
                setattr(owner, name, self._noting(original, kind, count))

    def _noting(self, original: Any, kind: str, count: Callable[[Any], int]) -> Any:
        def add(model: Any, *arguments: Any, **named: Any) -> Any:
            if self.is_quiet:
                return original(model, *arguments, **named)
            before = count(model)
            with self.quiet():
                added = original(model, *arguments, **named)
            self.places.note(kind, model, before, count(model) - before)
            return added

        add.__doc__ = original.__doc__
        return add

    def watch_solve(
        self,
        owner: Any,
        methods: Sequence[str],
        framework: str,
        snapshot: Callable[..., Snapshot],
        claim: Callable[..., tuple[str, float | None, Sequence[float] | None]],
    ) -> None:
        """Wrap solving methods of a class: record the model at each call, and the point after it.

        ``snapshot`` receives the arguments of the call. ``claim`` receives its result and the arguments.
        """
        for name in methods:
            original = getattr(owner, name, None)
            if original is not None:
                setattr(owner, name, self._recording(original, framework, snapshot, claim))

    def _recording(self, original: Any, framework: str, snapshot: Any, claim: Any) -> Any:
        def solve(*arguments: Any, **named: Any) -> Any:
            if self.is_quiet:
                return original(*arguments, **named)
            number = self.record(framework, lambda: snapshot(*arguments, **named))
            with self.quiet():
                result = original(*arguments, **named)
            self.claim(number, lambda: claim(result, *arguments, **named))
            return result

        solve.__doc__ = original.__doc__
        return solve


def _number(value: Any) -> float | None:
    if value is None:
        return None
    number = float(value)
    return number if math.isfinite(number) else None


def find_by_index(kind: Any) -> PositionOf:
    """Return a function that returns the position of an object of this kind in its model, and None for others."""
    return lambda value: int(value.index) if isinstance(value, kind) else None


def package_version(module: Any, name: str = "") -> str:
    """Return name and version of a library."""
    name = name or module.__name__.partition(".")[0]
    version = getattr(module, "__version__", "")
    if not version:
        try:
            version = find_version(name)
        except PackageNotFoundError:
            version = ""
    return f"{name} {version}".strip()


def program_folder_of(path: Path) -> str:
    """Return the folder of a program, with a separator at its end."""
    return f"{path.parent}{os.sep}"
