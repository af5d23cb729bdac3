"""Source positions at which a program makes members of a model, with the variables of loops and frames."""

import ast
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from types import FrameType
from typing import Any, NamedTuple

# Maximum number of frames whose variables are kept until the next solve.
MAX_FRAMES = 2000
# Maximum number of frames above a call that are inspected.
DEEPEST = 40
MAX_CHARACTERS = 4 << 20


class Place(NamedTuple):
    """A line of a program, and the values of the loops around it."""

    file: str
    line: int
    # Names of the loop variables, outer ones first.
    names: tuple[str, ...]
    values: tuple[Any, ...]


@dataclass
class PlaceLog:
    """Source positions at which columns and rows were made, by model and position in the model."""

    # Only frames of files below this folder belong to the program.
    folder: str
    columns: dict[int, dict[int, Place]] = field(default_factory=dict)
    rows: dict[int, dict[int, Place]] = field(default_factory=dict)
    # Source positions of columns that get their position in the model only at the solve.
    named_columns: dict[str, Place] = field(default_factory=dict)
    # Frames by ``id``. References keep the variables of a function after it returns.
    frames: dict[int, FrameType] = field(default_factory=dict)
    # Models are kept alive here, so that Python does not use their ``id`` for another object.
    _models: dict[int, Any] = field(default_factory=dict)
    _objects: dict[tuple[str, int], tuple[Any, Place]] = field(default_factory=dict)

    def note(self, kind: str, model: Any, first: int, count: int) -> None:
        """Note that positions ``first`` to ``first + count - 1`` are made at the current source position."""
        if count <= 0:
            return
        self._models[id(model)] = model
        place = self.current_place()
        if place is None:
            return
        places = (self.columns if kind == "columns" else self.rows).setdefault(id(model), {})
        for position in range(first, first + count):
            places[position] = place

    def note_frame(self, kind: str, model: Any, position: int, frame: FrameType) -> None:
        """Note the position of the row or column that a generator yields next; ``frame`` has its loop variables."""
        self._models[id(model)] = model
        place = self._place_of([*reversed(list(self.program_frames())), frame])
        if place is not None:
            (self.columns if kind == "columns" else self.rows).setdefault(id(model), {})[position] = place

    def note_object(self, kind: str, made: Any) -> None:
        """Note the source position of an object. Its position in the model is known only at the solve."""
        place = self.current_place()
        if place is not None:
            self._objects[kind, id(made)] = (made, place)

    def line_name(self, kind: str, made: Any) -> str:
        """Return a name for an object without one, made of its line number; empty if the line is unknown."""
        noted = self._objects.get((kind, id(made)))
        return f"line_{noted[1].line}" if noted else ""

    def place_object(self, kind: str, model: Any, made: Any, find: Callable[[Any], int | None]) -> None:
        """Assign a position in the model to an object that was noted."""
        noted = self._objects.get((kind, id(made)))
        position = find(made) if noted else None
        if noted and position is not None and position >= 0:
            (self.columns if kind == "columns" else self.rows).setdefault(id(model), {})[position] = noted[1]

    def current_place(self) -> Place | None:
        """Return the current source position in the program; None outside of the program."""
        return self._place_of(reversed(list(self.program_frames())))

    def _place_of(self, frames: Iterable[FrameType]) -> Place | None:
        names: list[str] = []
        values: list[Any] = []
        innermost: tuple[str, int] | None = None
        for frame in frames:
            if len(self.frames) < MAX_FRAMES:
                self.frames[id(frame)] = frame
            file, line = frame.f_code.co_filename, frame.f_lineno
            innermost = (file, line)
            variables = frame.f_locals
            for name in _loop_names(file, line):
                if name in variables and name not in names:
                    names.append(name)
                    values.append(variables[name])
        if innermost is None:
            return None
        return Place(*innermost, tuple(names), tuple(values))

    def program_frames(self) -> Iterator[FrameType]:
        """Yield the frames of the program that lead to this call, inner ones first."""
        frame: FrameType | None = sys._getframe()
        for _ in range(DEEPEST):
            if frame is None:
                return
            if frame.f_code.co_filename.startswith(self.folder):
                yield frame
            frame = frame.f_back

    def variable_scopes(self) -> list[dict[str, Any]]:
        """Return the variables of the program's modules and functions, those of the caller first."""
        frames = [*self.program_frames(), *self.frames.values()]
        scopes: dict[int, dict[str, Any]] = {}
        for frame in frames:
            if frame.f_code.co_name.startswith("<") and frame.f_code.co_name != "<module>":
                # Comprehensions hold only loop variables.
                continue
            for scope in (frame.f_locals, frame.f_globals):
                scopes.setdefault(id(scope), scope)
        return list(scopes.values())


@cache
def _loops_of_file(file: str) -> tuple[tuple[int, int, tuple[str, ...]], ...]:
    """Return first line, last line and variables of each loop of a file, outer ones first."""
    try:
        if os.path.getsize(file) > MAX_CHARACTERS:
            return ()
        with open(file, "rb") as source:
            tree = ast.parse(source.read())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return ()
    loops: list[tuple[int, int, tuple[str, ...]]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.For):
            loops.append((node.lineno, node.end_lineno or node.lineno, _target_names([node.target])))
        elif isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp):
            targets = [generator.target for generator in node.generators]
            loops.append((node.lineno, node.end_lineno or node.lineno, _target_names(targets)))
    # The walk is breadth-first, so outer loops come first.
    return tuple(loops)


@cache
def _loop_names(file: str, line: int) -> tuple[str, ...]:
    names = [name for first, last, found in _loops_of_file(file) if first <= line <= last for name in found]
    return tuple(dict.fromkeys(names))


def _target_names(targets: Sequence[ast.AST]) -> tuple[str, ...]:
    return tuple(node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name))
