"""The command line of an ``eval.py``."""

import argparse
import locale  # noqa: F401 - argparse wants it at its first use; a warm process has it when it forks
import math
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import yaml

__all__ = ["FRESH", "MODES", "Arguments", "parse_arguments"]

DESCRIPTION = "Score a candidate heuristic and print a marked result block."
MODES = ("train", "val", "test")
FRESH = "fresh"  # a mode that evaluators may have: instances that did not exist before
SEARCHED = frozenset(("train", "val"))  # instances of other modes may be larger, and take longer
SEEDS = ("heuristic.py", "heuristic.cpp")
ALL = -1  # decisions of an audit
SEED_BYTES = 8


def _common(fresh: bool) -> argparse.ArgumentParser:
    modes = (*MODES, FRESH) if fresh else MODES
    parser = argparse.ArgumentParser()
    parser.add_argument("--root_dir", type=Path, default=Path(), help="project root (default: current directory)")
    parser.add_argument("--file_output_prefix", default="", help="prefix of every file that is saved")
    parser.add_argument("--mode", default="val", help=f"{', '.join(modes)} (default: val)")
    parser.add_argument("--problem_size", type=int, help="just this size (default: all sizes of the mode)")
    parser.add_argument(
        "--audit", type=_audit, default=0, metavar="N|all", help="put so many decisions to fresh guests"
    )
    parser.add_argument("--heuristic_s", type=_seconds, metavar="X|none", help="CPU seconds of all calls together")
    if fresh:
        parser.add_argument("--fresh_seed", type=int, metavar="N", help="draw the fresh set of this seed again")
    parser.add_argument("--candidate", type=Path, help="heuristic to score (default: heuristic.py beside this script)")
    return parser


def _audit(text: str) -> int:
    if text == "all":
        return ALL
    if text.isdecimal():
        return int(text)
    raise argparse.ArgumentTypeError(f"a number of decisions, or all, and not {text!r}")


def _seconds(text: str) -> float:
    try:
        value = math.inf if text == "none" else float(text)
    except ValueError:
        value = math.nan
    if not value > 0:
        raise argparse.ArgumentTypeError(f"a positive number of seconds, or none, and not {text!r}")
    return value


COMMON, WITH_FRESH = (
    _common(fresh=False),
    _common(fresh=True),
)  # once for all evaluations that are forked from a warm process


@dataclass(frozen=True)
class Arguments:
    """What an evaluation was asked to do.

    Attributes:
        root_dir: Root of the project; data and checkpoints are found from here, never from the script's own path.
        file_output_prefix: Prefix, not only a folder, of any file that the evaluation saves.
        mode: Mode of the evaluation: ``train`` (small and fast), ``val`` (what a search optimises), ``test`` (which no
            search reads) or ``fresh`` (drawn when the evaluation begins, where the evaluator has that mode).
        sizes: Problem sizes to run: all of the mode, or the one that was asked for.
        candidate: Path of the file with the heuristic to score.
        audit: Number of decisions to put to fresh guests; -1 for all of them, 0 for no audit.
        heuristic_s: CPU seconds that all calls of the candidate may take together; None for any.
        flags: Names of the evaluator's own options without a value that were given.
        choices: Values of its other options, by name.
        given_seed: Seed of the fresh set, where it is to be drawn again.
    """

    root_dir: Path
    file_output_prefix: str
    mode: str
    sizes: tuple[int, ...]
    candidate: Path
    audit: int = 0
    heuristic_s: float | None = None
    flags: frozenset[str] = frozenset()
    choices: Mapping[str, str] = field(default_factory=dict)
    given_seed: int | None = None

    @cached_property
    def fresh_seed(self) -> int | None:
        """Seed of the fresh set; None in other modes.

        It is drawn at the first look, when the guests have been forked: none of them has it in its memory.
        """
        if self.mode != FRESH:
            return None
        return int.from_bytes(os.urandom(SEED_BYTES), "big") if self.given_seed is None else self.given_seed


def parse_arguments(
    sizes: Mapping[str, Sequence[int]],
    argv: Sequence[str] | None = None,
    *,
    flags: Mapping[str, str] | None = None,
    choices: Mapping[str, Sequence[str]] | None = None,
) -> Arguments:
    """Read the arguments of the contract, and an evaluator's own.

    Args:
        sizes: Problem sizes of each mode.
        argv: Command line without the program's name; default: the process's own.
        flags: Options of the evaluator's own, none of which takes a value: name and help text.
        choices: Options of its own that take one of several values: name and values, the default first.

    Raises:
        SystemExit: with code 2 and one line on standard error, if an argument is unknown or out of range.
    """
    own = flags or {}
    common = WITH_FRESH if FRESH in sizes else COMMON
    parser = argparse.ArgumentParser(parents=[common], add_help=False) if own or choices else common
    parser.prog, parser.description = Path(sys.argv[0]).name, DESCRIPTION
    for name, text in own.items():
        parser.add_argument(f"--{name}", action="store_true", help=text.replace("%", "%%"))
    for name, values in (choices or {}).items():
        parser.add_argument(f"--{name}", choices=values, default=values[0], help=f"default: {values[0]}")
    given = parser.parse_args(argv)
    if given.mode not in sizes:
        parser.error(f"unknown mode {given.mode!r}: choose one of {', '.join(sizes)}")
    known, seed = tuple(sizes[given.mode]), getattr(given, "fresh_seed", None)
    if seed is not None and (given.mode != FRESH or seed < 0):
        parser.error("--fresh_seed is a whole number, 0 or more, and goes with --mode=fresh alone")
    if given.problem_size is not None and given.problem_size not in known:
        valid = ", ".join(map(str, known))
        parser.error(f"unknown problem_size {given.problem_size} in mode {given.mode}: choose one of {valid}")
    candidate = given.candidate or _beside()
    if not candidate.is_file():
        parser.error(f"no candidate at {candidate}: name a Python file with --candidate FILE")
    chosen = known if given.problem_size is None else (given.problem_size,)
    root, prefix = given.root_dir.resolve(), given.file_output_prefix
    raised = frozenset(name for name in own if getattr(given, name))
    picked = {name: getattr(given, name) for name in choices or {}}
    return Arguments(
        root,
        prefix,
        given.mode,
        chosen,
        candidate.resolve(),
        given.audit,
        _heuristic_s(given),
        raised,
        picked,
        seed,
    )


def _beside() -> Path:
    """The candidate beside the script."""
    folder = Path(sys.argv[0]).resolve().parent
    return next((path for path in (folder / name for name in SEEDS) if path.is_file()), folder / SEEDS[0])


def _heuristic_s(given: argparse.Namespace) -> float | None:
    """What was asked for, or in the modes of a search what the ``problem.yaml`` beside the script says."""
    if given.heuristic_s is not None:
        return None if math.isinf(given.heuristic_s) else float(given.heuristic_s)
    described = Path(sys.argv[0]).resolve().parent / "problem.yaml"
    if given.mode not in SEARCHED or not described.is_file():
        return None
    said = (yaml.safe_load(described.read_text(encoding="utf-8")) or {}).get("heuristic_s")
    return float(said) if said else None
