"""Command line of an ``eval.py``."""

import argparse
import locale  # noqa: F401 - argparse wants it at its first use; a warm process has it when it forks
import math
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

from oragent._base import package_data
from oragent._base.errors import ProblemError
from oragent._base.racing import RaceTerms
from oragent._base.safe_load import parse_yaml

# Option of evaluators whose instances differ between studies.
PROTOCOL = {"protocol": ("reevo", "oragent")}
DESCRIPTION = "Score a candidate heuristic and print a marked result block."
MODES = ("train", "val", "test")
# Optional mode with newly drawn instances.
FRESH = "fresh"
# Mode that goes with it: instances with the distribution of val, but different ones.
PRACTICE = "practice"
# Seed of practice instances if ``--fresh_seed`` is not given.
PRACTICE_SEED = 0
# Optional mode with instances that are used only to compare the best elites at the end of a run.
FINAL = "final"
# Modes whose scores do not count.
EXPERIMENTS = frozenset(("train", PRACTICE))
# Modes of a search. Instances of other modes may be larger and take longer.
SEARCHED = frozenset(("train", "val"))
SEEDS = ("heuristic.py", "heuristic.cpp")
# Maximum number of digits of a seed.
SEED_DIGITS = 40
SEED_BYTES = 8


def _parse_seed(text: str) -> int | Path:
    """Read a seed, or the path of a file with it.

    A file keeps the seed out of the candidate's memory, which contains the command line.
    """
    if text.removeprefix("-").isdecimal():
        return int(text)
    if os.path.isabs(text):
        return Path(text)
    raise argparse.ArgumentTypeError(f"expected a whole number, or the full path of a file with one, not {text!r}")


def _parse_instances(text: str) -> range:
    low, _, high = text.rpartition(":")
    if high.isdecimal() and (low or "0").isdecimal() and int(low or 0) < int(high):
        return range(int(low or 0), int(high))
    raise argparse.ArgumentTypeError(f"expected a number of instances, 1 or more, or a range such as 4:8, not {text!r}")


def _number_parser(expected: str, is_valid: Callable[[float], bool]) -> Callable[[str], float]:
    """Return a function that reads a number; ``none`` is infinity."""

    def parse(text: str) -> float:
        try:
            value = float("inf" if text == "none" else text)
        except ValueError:
            value = math.nan
        if not is_valid(value):
            raise argparse.ArgumentTypeError(f"expected {expected}, not {text!r}")
        return value

    return parse


def _parse_race(text: str) -> RaceTerms:
    try:
        return RaceTerms.loads(text)
    except ValueError as problem:
        raise argparse.ArgumentTypeError(
            f"expected the terms of a race in JSON, not {text[:80]!r}: {problem}"
        ) from None


class Option(NamedTuple):
    """Option of the command line."""

    # Function that reads its value.
    read: Callable[[str], Any]
    # Value if the option is not given.
    default: Any
    # Help text. ``{modes}`` is replaced by the names of the modes.
    text: str
    # Placeholder for the value in the help. None means its name.
    sign: str | None = None
    # Ability of the evaluator without which it does not have the option.
    ability: str = ""


_parse_seconds = _number_parser("a positive number of seconds, or none", lambda value: value > 0)
_parse_factor = _number_parser("a positive factor on the work, such as 5", lambda value: 0 < value < math.inf)
_parse_score = _number_parser("a score, which is a finite number", math.isfinite)
OPTIONS: Mapping[str, Option] = {
    "root_dir": Option(Path, Path(), "project root (default: current directory)"),
    "file_output_prefix": Option(str, "", "prefix of every file that it writes"),
    "mode": Option(str, "val", "{modes} (default: val)"),
    "problem_size": Option(int, None, "only this size (default: all sizes of the mode)"),
    "heuristic_s": Option(_parse_seconds, None, "limit on the CPU seconds of all calls of the heuristic", "X|none"),
    "candidate": Option(Path, None, "heuristic to score (default: heuristic.py next to this script)"),
    "fresh_seed": Option(
        _parse_seed,
        None,
        "seed of a fresh test set, to draw it again, or of practice; or a file that holds it",
        "N",
        "fresh",
    ),
    "instances": Option(
        _parse_instances, None, "only the first N of each size, or A to B-1; on train or practice", "N|A:B", "race"
    ),
    "observer": Option(
        Path, None, "Python file with observe(hook, data), called at hooks; on train or practice", "FILE", "hooks"
    ),
    # File of `CompiledCode`.
    "compiled": Option(
        Path,
        None,
        "file of the candidate's machine code: used if it exists, else written; on train or practice",
        "FILE",
    ),
    "data": Option(Path, None, "file or folder, below the root, with the instances of the set --mode", "PATH", "data"),
    "work": Option(_parse_factor, 1.0, "factor on the work of each solve (default: 1)", "X", "work"),
    # File of the arrays that a probe keeps.
    "kept_arrays": Option(
        Path, None, "file for the arrays that the candidate keeps in KEPT_ARRAYS; on train or practice", "FILE"
    ),
    "floor": Option(_parse_score, None, "end early if this score is out of reach", "X", "floor"),
    "race": Option(
        _parse_race, None, "end early if an elite is out of reach, by these terms of a search", "JSON", "race"
    ),
}


@dataclass(frozen=True)
class Arguments:
    """Arguments of an evaluation.

    Attributes:
        root_dir: Project root, from which data are found.
        file_output_prefix: Prefix of the paths of files that the evaluation writes.
        mode: ``train`` (small and fast), ``val`` (scored by a search), ``test`` (held out) or ``fresh`` (newly drawn);
            ``practice`` is a fresh set of the sizes of ``val`` whose seed is known.
        sizes: Problem sizes to run.
        candidate: Path of the heuristic to score.
        heuristic_s: CPU seconds of all calls of the candidate. None means no limit.
        flags: Names of the evaluator's own options without a value that are given.
        choices: Values of its other options, by name.
        given_seed: Seed with which a fresh set is drawn again, or the file with it.
        floor: Score below which the evaluation may end early. None means none.
        observer: File with ``observe``, which is called at hooks. None means no observer.
        race: Terms of the race. None means no race.
        instances: Indices of the instances to use, for each size. None means all.
        compiled: File of the candidate's machine code. None means that it is neither read nor written.
        kept_arrays: File for the arrays that the candidate keeps. None means that none are kept.
        data: File or folder with the instances of a named set; ``mode`` is its name, and ``sizes`` is empty unless they
            are stated for it. None in other modes.
        work: Factor on the evaluator's limits on work.
    """

    root_dir: Path
    file_output_prefix: str
    mode: str
    sizes: tuple[int, ...]
    candidate: Path
    heuristic_s: float | None = None
    flags: frozenset[str] = frozenset()
    choices: Mapping[str, str] = field(default_factory=dict)
    given_seed: int | Path | None = None
    floor: float | None = None
    observer: Path | None = None
    race: RaceTerms | None = None
    instances: range | None = None
    compiled: Path | None = None
    kept_arrays: Path | None = None
    data: Path | None = None
    work: float = 1.0

    @property
    def protocol(self) -> str:
        """Name of the study whose instances are scored; ``reevo`` by default."""
        return self.choices.get("protocol", "reevo")

    @cached_property
    def fresh_seed(self) -> int | None:
        """Seed of the fresh set. None in other modes.

        The seed is drawn, or read from its file, when it is first needed. The candidate's process exists by then, so
        its memory does not contain the seed.

        Raises:
            ProblemError: The file of the seed contains no whole number.
        """
        if self.mode != FRESH:
            return None
        if self.given_seed is None:
            return int.from_bytes(os.urandom(SEED_BYTES), "big")
        if isinstance(self.given_seed, int):
            return self.given_seed
        try:
            with self.given_seed.open(encoding="ascii") as file:
                return int(file.read(SEED_DIGITS))
        except (OSError, ValueError):
            raise ProblemError(
                f"{self.given_seed} contains no seed: write a whole number, 0 or more, into it"
            ) from None

    def place(self, relative: str | Path) -> Path:
        """Return the path of a project file, given relative to the root, or of the file in this package."""
        return package_data.find_path(self.root_dir, relative)


def parse_arguments(
    sizes: Mapping[str, Sequence[int]],
    argv: Sequence[str] | None = None,
    *,
    flags: Mapping[str, str] | None = None,
    choices: Mapping[str, Sequence[str]] | None = None,
    floor: bool = False,
    hooks: bool = False,
    race: bool = False,
    data: bool = False,
    work: bool = False,
) -> Arguments:
    """Read the arguments of the contract, and the evaluator's own arguments.

    Args:
        sizes: Problem sizes of each mode.
        argv: Command line without the name of the program; by default that of this process.
        flags: Name and help text of the evaluator's own options without a value.
        choices: Names and allowed values of its own options with a value. The first value is the default.
        floor: True if it has the option ``--floor``.
        hooks: True if it has the option ``--observer``.
        race: True if it has the options ``--race`` and ``--instances``.
        data: True if it has the option ``--data``.
        work: True if it has the option ``--work``.

    Raises:
        SystemExit: with code 2 and one line on standard error, if an argument is unknown or out of range.
    """
    own_flags, picks = flags or {}, choices or {}
    if race and FRESH in sizes and set(sizes.get("val", ())) <= set(sizes[FRESH]):
        sizes = {**sizes, PRACTICE: sizes["val"]}
    offered = {
        "": True,
        "fresh": FRESH in sizes,
        "floor": floor,
        "hooks": hooks,
        "race": race,
        "data": data,
        "work": work,
    }
    options = {name: option for name, option in OPTIONS.items() if offered[option.ability]}
    parser = partial(_make_parser, options, own_flags, picks, sizes)
    words = sys.argv[1:] if argv is None else argv
    given = _parse_plainly(words, options)
    if given is None:
        if not hooks and any(word.startswith("--observer") for word in words):
            parser().error("this evaluator reports no progress (it has no hooks for an observer): leave --observer out")
        given = vars(parser().parse_args(argv))
    here = os.path.dirname(os.path.realpath(sys.argv[0]))
    seeds = [path for name in SEEDS if (path := Path(here, name)).is_file()]
    candidate = given["candidate"] or next(iter(seeds), Path(here, SEEDS[0]))
    if data:
        root_dir, path = given["root_dir"], given["data"]
        # A relative path begins at the root.
        given["data"] = root_dir / path if path else _find_data(given["mode"], sizes, here, root_dir)
    if problem := _find_problem(given, sizes, candidate):
        parser().error(problem)
    size, mode, seed = given["problem_size"], given["mode"], given.get("fresh_seed")
    is_practice = mode == PRACTICE
    optional = {name: given.get(name) for name in ("floor", "race", "instances")}
    paths = ("observer", "compiled", "kept_arrays", "data")
    optional |= {name: _real_path(given[name]) for name in paths if given.get(name)}
    return Arguments(
        root_dir=_real_path(given["root_dir"]),
        file_output_prefix=given["file_output_prefix"],
        mode=FRESH if is_practice else mode,
        sizes=tuple(sizes.get(mode, ())) if size is None else (size,),
        candidate=_real_path(candidate),
        heuristic_s=_resolve_heuristic_s(given["heuristic_s"], mode, here),
        flags=frozenset(name for name in own_flags if given.get(name)),
        choices={name: given.get(name, values[0]) for name, values in picks.items()},
        given_seed=PRACTICE_SEED if is_practice and seed is None else seed,
        work=given.get("work", 1.0),
        **optional,
    )


def _parse_plainly(words: Sequence[str], options: Mapping[str, Option]) -> dict[str, Any] | None:
    """Parse a command line of the form ``--name=value``, as searches write it. Return None for another form.

    This saves a millisecond of argparse in evaluations that take a few milliseconds.
    """
    values = {name: option.default for name, option in options.items()}
    for word in words:
        name, equals, value = word.removeprefix("--").partition("=")
        if not word.startswith("--") or not equals or name not in options:
            return None
        try:
            values[name] = options[name].read(value)
        except (ValueError, argparse.ArgumentTypeError):
            return None
    return values


def _make_parser(
    options: Mapping[str, Option],
    flags: Mapping[str, str],
    choices: Mapping[str, Sequence[str]],
    sizes: Mapping[str, Sequence[int]],
) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(Path(sys.argv[0]).name, description=DESCRIPTION)
    modes = dict.fromkeys(mode for mode in (*MODES, *sizes) if mode != FINAL)
    for name, option in options.items():
        text = option.text.format(modes=", ".join(modes))
        if PRACTICE not in sizes:
            # A search takes this word for the mode.
            text = re.sub(r",? or (of )?practice", "", text)
        parser.add_argument(f"--{name}", type=option.read, default=option.default, metavar=option.sign, help=text)
    for name, text in flags.items():
        parser.add_argument(f"--{name}", action="store_true", help=text.replace("%", "%%"))
    for name, values in choices.items():
        parser.add_argument(f"--{name}", choices=values, default=values[0], help=f"default: {values[0]}")
    if FINAL in sizes:
        help_text = "score on the set of the last round of a run's best elites"
        parser.add_argument("--final", dest="mode", action="store_const", const=FINAL, help=help_text)
    return parser


def _find_problem(values: Mapping[str, Any], sizes: Mapping[str, Sequence[int]], candidate: Path) -> str:
    """Return the reason why an evaluation cannot begin; empty if it can."""
    mode, size, seed, data = values["mode"], values["problem_size"], values.get("fresh_seed"), values.get("data")
    if data and mode in (*MODES, FRESH, PRACTICE, FINAL):
        return "--data goes with the name of a set as --mode: the instances of other modes are those of the evaluator"
    if data and not os.path.exists(data):
        return f"no data at {data}: name a file or folder with the instances of set {mode!r}"
    if mode not in sizes and not data:
        return f"unknown mode {mode!r}: choose one of {', '.join(sizes)}"
    is_negative = isinstance(seed, int) and seed < 0
    if seed is not None and (mode not in (FRESH, PRACTICE) or is_negative):
        return "--fresh_seed is a whole number, 0 or more, and goes with --mode=fresh and --mode=practice alone"
    if size is not None and mode in sizes and size not in sizes[mode]:
        return f"unknown problem_size {size} in mode {mode}: choose one of {', '.join(map(str, sizes[mode]))}"
    if (watched := values.get("observer")) and mode not in EXPERIMENTS:
        return "--observer goes with --mode=train and --mode=practice alone: where a score counts nobody watches"
    if watched and not os.path.isfile(watched):
        return f"no observer at {watched}: name a Python file that defines observe(hook, data)"
    if values["compiled"] and mode not in EXPERIMENTS:
        return "--compiled goes with --mode=train and --mode=practice alone: other evaluations compile themselves"
    if values["kept_arrays"] and mode not in EXPERIMENTS:
        return "--kept_arrays goes with --mode=train and --mode=practice alone: what scores must not pass on data"
    if values.get("instances") and mode not in EXPERIMENTS:
        return "--instances goes with --mode=train and --mode=practice alone: where a score counts all instances do"
    if not os.path.isfile(candidate):
        return f"no candidate at {candidate}: name a Python file with --candidate FILE"
    return ""


def _real_path(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _find_data(mode: str, sizes: Mapping[str, Sequence[int]], here: str, root_dir: Path) -> Path | None:
    """Return the data of a set that ``problem.yaml`` of the script's folder names; None without any."""
    if mode in sizes:
        return None
    described = os.path.join(here, "problem.yaml")
    if not os.path.isfile(described):
        return None
    sets = (parse_yaml(Path(described).read_text(encoding="utf-8")) or {}).get("sets")
    chosen = sets.get(mode) if isinstance(sets, dict) else None
    relative = chosen.get("data") if isinstance(chosen, dict) else chosen
    if not relative:
        return None
    places = [Path(base, str(relative)) for base in (here, root_dir)]
    return next((path for path in places if path.exists()), places[0])


def _resolve_heuristic_s(requested: float | None, mode: str, here: str) -> float | None:
    """Return the requested limit.

    In the modes of a search, the default is the limit in ``problem.yaml`` of the script's folder.
    """
    if requested is not None:
        if math.isinf(requested):
            return None
        return requested
    described = os.path.join(here, "problem.yaml")
    if mode not in SEARCHED or not os.path.isfile(described):
        return None
    text = Path(described).read_text(encoding="utf-8")
    bound = (parse_yaml(text) or {}).get("heuristic_s") if "heuristic_s" in text else None
    if bound:
        return float(bound)
    return None
