"""Pictures of the solutions of the best program and of the seed heuristic.

The evaluator draws them, and they are checked here.
"""

import base64
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from oragent._base import files
from oragent._base.errors import ProblemError
from oragent._base.protocol import Failure, Result
from oragent.evaluation.capabilities import BESIDE, DRAW
from oragent.evaluation.runner import judge_result
from oragent.report.held_out import HeldOutScorer, best_text, hash_identity, read_record, write_record
from oragent.sandbox.messages import Command, CommandResult, CompanionFolder
from oragent.sandbox.sandbox import Sandbox

MAX_SVG_BYTES = 2 << 20
NAMESPACE = "{http://www.w3.org/2000/svg}"
ELEMENTS = frozenset(
    (
        "svg",
        "g",
        "path",
        "rect",
        "circle",
        "ellipse",
        "line",
        "polyline",
        "polygon",
        "text",
        "tspan",
        "title",
        "desc",
    )
)
ATTRIBUTES = frozenset(
    (
        "width",
        "height",
        "viewBox",
        "preserveAspectRatio",
        "x",
        "y",
        "x1",
        "y1",
        "x2",
        "y2",
        "cx",
        "cy",
        "r",
        "rx",
        "ry",
        "dx",
        "dy",
        "d",
        "points",
        "transform",
        "fill",
        "fill-opacity",
        "fill-rule",
        "stroke",
        "stroke-width",
        "stroke-opacity",
        "stroke-dasharray",
        "stroke-linecap",
        "stroke-linejoin",
        "opacity",
        "font-size",
        "font-family",
        "font-weight",
        "text-anchor",
        "dominant-baseline",
    )
)
VALUE = re.compile(r"[\w\s.,#%+\-]*", re.ASCII)
TRANSFORM = re.compile(r"[a-zA-Z\d\s.,+\-()]*")


FOLDER = "pictures"
RECORD = f"{FOLDER}/pictures.yaml"
# Metric of the harness: value of each drawn solution.
SVG, DRAWN = ".svg", "drawn"
PROGRAMS = ("best", "seed")
INSTANCE = re.compile(r"\w{1,80}", re.ASCII)
MAGIC = {".png": b"\x89PNG\r\n\x1a\n", ".gif": b"GIF8"}
# Maximum size of all pictures in bytes, so that the page can be opened.
MAX_BYTES = 16 << 20
# Maximum number of pictures.
MAX_PICTURES = 12
# Drawing may take this many times longer than scoring.
DRAWING_FACTOR = 3


def is_plain_svg(data: bytes) -> bool:
    """Return True for an SVG document of known elements and attributes, with at most 2 MiB.

    Elements and attributes that can contain scripts, styles or addresses are not known ones, and neither are document
    types, entities and processing instructions.
    """
    if len(data) > MAX_SVG_BYTES or b"<!" in data or b"<?" in data or b"\0" in data:
        return False
    try:
        root = ElementTree.fromstring(data.decode("utf-8"))
    except (ElementTree.ParseError, UnicodeDecodeError, ValueError):
        return False
    return root.tag == f"{NAMESPACE}svg" and all(map(_is_plain, root.iter()))


def _is_plain(element: ElementTree.Element) -> bool:
    namespace, name = element.tag[: len(NAMESPACE)], element.tag[len(NAMESPACE) :]
    return (
        namespace == NAMESPACE
        and name in ELEMENTS
        and all(
            key in ATTRIBUTES and (TRANSFORM if key == "transform" else VALUE).fullmatch(value)
            for key, value in element.attrib.items()
        )
    )


Run = Callable[[Command, Path], CommandResult]


@dataclass(frozen=True)
class Picture:
    """A picture."""

    # Name of its file: ``INSTANCE.PROGRAM.svg`` for a solution of ``best`` or ``seed``.
    name: str
    data: bytes
    # Objective of the solution. None if unknown.
    value: float | None = None

    @property
    def program(self) -> str:
        """Program whose solution it shows, ``best`` or ``seed``. Empty if it shows both."""
        program = Path(Path(self.name).stem).suffix[1:]
        if program in PROGRAMS and Path(self.name).suffix == SVG:
            return program
        return ""

    @property
    def instance(self) -> str:
        """Name of the instance of a solution."""
        return Path(Path(self.name).stem).stem.replace("_", " ")

    @property
    def caption(self) -> str:
        """Caption made from the file's name."""
        if self.program:
            return f"{self.instance}, {self.program}"
        return Path(self.name).stem.replace("_", " ")

    @property
    def address(self) -> str:
        """Picture as a data URL."""
        kind = "svg+xml" if Path(self.name).suffix == SVG else Path(self.name).suffix[1:]
        return f"data:image/{kind};base64,{base64.b64encode(self.data).decode()}"


def draw_pictures(path: Path, scorer: HeldOutScorer, run: Run | None = None) -> tuple[Picture, ...]:
    """Let the evaluator draw solutions of best and seed, once per best program. Write the folder ``pictures``.

    Returns:
        The pictures by name. None if the evaluator draws none.
    """
    if not {BESIDE, DRAW} & scorer.offers:
        return ()
    best, about = best_text(path), hash_identity(scorer)
    if recorded := _read_recorded(path, about):
        return recorded
    drawn: tuple[Picture, ...] = ()
    if BESIDE in scorer.offers:
        _, images = _run_option(scorer, best, BESIDE, MAGIC, run)
        drawn = tuple(Picture(Path(name).name, data) for name, data in sorted(images.items()))
    if DRAW in scorer.offers:
        drawn += _draw_solutions(scorer, best, run)
    drawn = tuple(picture for picture in drawn if _is_picture(picture.name, picture.data))[:MAX_PICTURES]
    (path / FOLDER).mkdir(exist_ok=True)
    for picture in drawn:
        # This function follows no links.
        files.replace_file(path / FOLDER / picture.name, picture.data)
    tree: dict[str, Any] = {"about": about, "pictures": [picture.name for picture in drawn]}
    if values := {picture.name: picture.value for picture in drawn if picture.value is not None}:
        tree["values"] = values
    write_record(path, RECORD, tree)
    return drawn


def read_pictures(path: Path) -> tuple[Picture, ...]:
    """Return the stored pictures of the present best program, without damaged ones."""
    return _read_recorded(path, None)


def _draw_solutions(scorer: HeldOutScorer, best: str, run: Run | None) -> tuple[Picture, ...]:
    """Draw the same instances for best and seed, each in its own evaluation. Only instances with both are returned."""
    values: dict[str, Mapping[str, float]] = {}
    images: dict[str, Mapping[str, bytes]] = {}
    for program, source in zip(PROGRAMS, (best, scorer.seed), strict=True):
        outcome, drawn = _run_option(scorer, source, DRAW, (SVG,), run)
        values[program] = _read_values(outcome.metrics.get(DRAWN))
        images[program] = {Path(name).stem: data for name, data in drawn.items() if is_plain_svg(data)}
    shared = [
        name for name in values["best"] if all(name in values[each] and name in images[each] for each in PROGRAMS)
    ]
    pairs = [(name, side) for name in shared for side in PROGRAMS]
    return tuple(Picture(f"{name}.{side}{SVG}", images[side][name], values[side][name]) for name, side in pairs)


def _read_values(claim: Any) -> dict[str, float]:
    pairs = claim.items() if isinstance(claim, dict) else ()
    return {
        str(name): float(value)
        for name, value in pairs
        if INSTANCE.fullmatch(str(name)) and isinstance(value, float) and math.isfinite(value)
    }


def _read_recorded(path: Path, about: str | None) -> tuple[Picture, ...]:
    def parse(tree: dict[str, Any]) -> tuple[Picture, ...]:
        if about not in (None, tree["about"]):
            return ()
        names = [Path(str(name)).name for name in tree["pictures"]][:MAX_PICTURES]
        values = {name: float(value) for name, value in tree.get("values", {}).items()}
        contents = {name: files.read_bounded_bytes(path / FOLDER / name, MAX_BYTES) for name in names}
        return tuple(Picture(name, contents[name], values.get(name)) for name in names)

    pictures = read_record(path, RECORD, parse) or ()
    return tuple(picture for picture in pictures if _is_picture(picture.name, picture.data))


def _is_picture(name: str, data: bytes) -> bool:
    """Return True if the content of a file fits its name. The program that drew it is untrusted."""
    if Path(name).suffix == SVG:
        return is_plain_svg(data)
    magic = MAGIC.get(Path(name).suffix)
    return magic is not None and data.startswith(magic) and len(data) <= MAX_BYTES


def _run_option(
    scorer: HeldOutScorer, source: str, option: str, suffixes: Iterable[str], run: Run | None
) -> tuple[Result, Mapping[str, bytes]]:
    job = scorer.make_job(source, None, option, patience=DRAWING_FACTOR)
    command = replace(job.make_command(), bring=tuple(f"*{suffix}" for suffix in suffixes))
    ended = (run or partial(_run_sandboxed, companion_folder=job.companion_folder))(command, scorer.folder.root)
    outcome = judge_result(ended, command.limits)
    if isinstance(outcome, Failure):
        raise ProblemError(f"{scorer.folder.problem.name} with {option}: {outcome.status}: {outcome.message}")
    return outcome, ended.files


def _run_sandboxed(command: Command, root: Path, companion_folder: CompanionFolder) -> CommandResult:
    with Sandbox() as sandbox:
        return sandbox(command, root_dir=root, companion_folder=companion_folder)
