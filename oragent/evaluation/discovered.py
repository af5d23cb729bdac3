"""Programs that ship with a problem, with the evidence for them.

They are in the folder ``discovered`` of the problem: ``TITLE.py``, and ``evidence.yaml`` with an entry for each title.
Evaluations do not see this folder, so no search can copy from it.
"""

from dataclasses import field
from pathlib import Path
from typing import Annotated, Any

import yaml
from annotated_types import Ge
from pydantic import TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass as checked

from oragent._base.errors import ProblemError
from oragent._base.files import read_bounded
from oragent._base.safe_load import parse_yaml
from oragent._base.settings import STRICT, explain_validation_error
from oragent.evaluation.job import DISCOVERED
from oragent.evaluation.problem import Problem

EVIDENCE = "evidence.yaml"
# Largest number of bytes of the evidence and of a program.
MAX_BYTES = 4 << 20


@checked(frozen=True, config=STRICT)
class SetEvidence:
    """Scores on one set.

    Attributes:
        seed: Score of the seed heuristic.
        best: Score of the program.
        interval: Interval of the gain at 95 %, low and high; above 0 is better.
        sizes: Score of the program at each size.
        fresh_seed: Seed by which a fresh set is drawn again.
    """

    seed: float
    best: float
    interval: tuple[float, float] | None = None
    sizes: dict[str, float] = field(default_factory=dict)
    fresh_seed: int | None = None


@checked(frozen=True, config=STRICT)
class Evidence:
    """Origin of a program, and its scores.

    Attributes:
        why: Why it works, one or two sentences.
        origin: ``bred`` by genetic programming, ``written`` by a person, or ``searched`` with a language model.
        strategy: Strategy of the run.
        seed: Seed of the run.
        evaluations: Evaluations of the run.
        calls: Model calls of the run.
        tokens: Tokens of the run's prompts and replies.
        seconds: CPU seconds of all calls of the function on ``val``.
        limit_s: Limit on these.
        val: Scores on the set that the search read.
        test: Scores on the held-out set.
        fresh: Scores on a fresh set.
        harden: Outcome of ``oragent harden``, one line.
        date: Day of the measurements.
        packages: Versions of the packages that the problem requires, by name.
        duel: Outcome of a duel on new instances, one line.
        sets: Scores on named sets, by name; those on which the program has no score are missing.
    """

    why: str
    origin: str
    strategy: str
    seed: Annotated[int, Ge(0)]
    evaluations: Annotated[int, Ge(0)]
    calls: Annotated[int, Ge(0)]
    tokens: Annotated[int, Ge(0)]
    seconds: float
    limit_s: float | None
    val: SetEvidence
    test: SetEvidence
    fresh: SetEvidence | None
    harden: str
    date: str
    packages: dict[str, str] = field(default_factory=dict)
    duel: str = ""
    sets: dict[str, SetEvidence] = field(default_factory=dict)


def list_discovered(problem: Problem) -> dict[str, Evidence]:
    """Return the programs that ship with a problem, by title; empty without any.

    Raises:
        ProblemError: The evidence cannot be read, or names a program that is missing.
    """
    folder = problem.folder / DISCOVERED
    if not (folder / EVIDENCE).is_file():
        return {}
    try:
        tree: Any = parse_yaml(read_bounded(folder / EVIDENCE, MAX_BYTES))
        evidence = TypeAdapter(dict[str, Evidence]).validate_python(tree or {})
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as fault:
        raise ProblemError(f"{folder / EVIDENCE} cannot be read: {' '.join(str(fault).split())}") from None
    except ValidationError as fault:
        raise ProblemError(f"{folder / EVIDENCE}: {explain_validation_error(fault, Evidence)}") from None
    if missing := [title for title in evidence if not _program_path(problem, title).is_file()]:
        raise ProblemError(
            f"{folder / EVIDENCE} names {missing[0]}, and {_program_path(problem, missing[0])} is missing"
        )
    return evidence


def find_discovered(problem: Problem, title: str) -> Path:
    """Return the path of a program that ships with a problem.

    Raises:
        ProblemError: The problem has no program of that name; the message lists the names.
    """
    titles = list_discovered(problem)
    if title not in titles:
        known_titles = ", ".join(titles) or "none"
        raise ProblemError(f"{problem.name} has no discovered program {title!r}: known are {known_titles}")
    return _program_path(problem, title)


def _program_path(problem: Problem, title: str) -> Path:
    suffix = Path(problem.about.candidate.names[0]).suffix
    return problem.folder / DISCOVERED / f"{Path(title).name}{suffix}"
