"""Warm starts: programs and lessons that a run begins with, of one's own or of other runs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from oragent._base.errors import ConfigError, StoreError
from oragent.evaluation.problem import Problem
from oragent.search.folder import best_file
from oragent.search.store import Store
from oragent.search.strategies.or_agent.notes import MEMORY, MemoryNote

MOST_PROGRAMS = 20  # of one run: its best
MOST_BYTES = 200_000  # of a program; what is longer is none
MOST_LETTERS = 8_000  # of lessons: every prompt that has them is as much longer
LEFT_OUT = "(Earlier lessons are left out here, as there are too many of them.)"
WORD = "memory"  # in place of a file: what is kept of the problem's family


@dataclass(frozen=True)
class InitialPrograms:
    """What a run begins with beside its seed.

    Attributes:
        sources: Texts of programs, each once; they are scored with the seed, and count.
        lessons: What is known, in words; it stands behind the problem's ``knowledge.md``.
    """

    sources: tuple[str, ...] = ()
    lessons: str = ""


def gather(places: Sequence[str], problem: Problem, outputs: Path) -> InitialPrograms:
    """Collect what a run is to begin with.

    Args:
        places: Each a program in the problem's language, a text (``.md``) of lessons, the folder of a run, or
            ``memory``: what is kept of the problem's family.
        problem: Problem that is to be searched.
        outputs: Folder where runs and memories are kept.

    Returns:
        Programs and lessons; where these are too many the latest, with a line that says so.

    Raises:
        ConfigError: one is none of these, or a run of another function.
    """
    ending = _ending(problem)
    sources: list[str] = []
    lessons: list[str] = []
    for place in places:
        path = memory_file(outputs, family(problem.name)) if place == WORD else Path(place)
        if (path / "config.yaml").is_file():
            sources += _elites(path, problem)
            lessons.append(lessons_of(path))
        elif path.suffix == ending and path.is_file():
            sources.append(_text(path, MOST_BYTES))
        elif path.suffix == ".md" and path.is_file():
            lessons.append(_text(path, MOST_BYTES))
        elif place == WORD:
            kept = family(problem.name)
            raise ConfigError(f"--start memory: nothing is kept of {kept} yet: oragent memory --add RUN keeps lessons")
        else:
            expected = f"a program ({ending}), an .md file of lessons, or a run's folder"
            raise ConfigError(f"--start {place}: expected {expected}")
    return InitialPrograms(
        tuple(dict.fromkeys(sources)), _latest("\n\n".join(text.strip() for text in lessons if text.strip()))
    )


def _latest(told: str) -> str:
    """Lessons that fit, the latest: what is added to a memory stands at its end."""
    if len(told) <= MOST_LETTERS:
        return told
    end = told[len(LEFT_OUT) + 2 - MOST_LETTERS :]
    return f"{LEFT_OUT}\n\n{end.partition(chr(10))[2] or end}"


def _ending(problem: Problem) -> str:
    """How the file of a program ends: ``.py`` or ``.cpp``."""
    return Path(problem.about.candidate.names[0]).suffix


def family(problem: str) -> str:
    """The family of a problem, whose lessons may serve all of it: what its name begins with, such as ``tsp``."""
    return problem.partition("_")[0]


def memory_file(outputs: Path, name: str) -> Path:
    """Where the lessons of a family are kept."""
    return outputs / "memory" / f"{name}.md"


def lessons_of(run: Path) -> str:
    """The long-term memory that a run ended with; empty where it has none.

    Raises:
        StoreError: its database cannot be read.
    """
    with Store(run / "run.db", readonly=True) as store:
        kept = [note.text for note in store.notes() if note.kind == MEMORY]
    try:
        return MemoryNote.load(kept[-1]).text.strip() if kept else ""
    except ValueError as problem:
        raise StoreError(f"{run / 'run.db'}: {problem}") from None


def _elites(run: Path, problem: Problem) -> list[str]:
    """The best programs that a run has left, best first."""
    try:
        function = yaml.safe_load(_text(run / "config.yaml", MOST_BYTES))["problem"]["function"]
    except (yaml.YAMLError, KeyError, TypeError):
        raise ConfigError(f"--start {run}: its config.yaml is not what a run leaves") from None
    if function != problem.about.function:
        other = repr(function[:80]) if isinstance(function, str) else "something else"
        raise ConfigError(f"--start {run}: it searched for {other}, {problem.name} is about {problem.about.function!r}")
    folders = sorted(run.glob(f"candidates/*/heuristic{_ending(problem)}"))
    scored = sorted(((_score(path.parent, problem), path) for path in folders), key=lambda pair: -pair[0])
    best = [file] if (file := best_file(run)).is_file() else []
    return list(_programs([*best, *(path for _, path in scored)]))[:MOST_PROGRAMS]


def _programs(files: Iterable[Path]) -> Iterable[str]:
    """Texts, each once; the line at the head of ``best.py`` says whose it is, and is no part of the program."""
    met: set[str] = set()
    for file in files:
        text = _text(file, MOST_BYTES)
        bare = text.partition("\n")[2] if file.stem == "best" and text.startswith(("# ", "// ")) else text
        if bare.strip() not in met:
            met.add(bare.strip())
            yield bare


def _score(folder: Path, problem: Problem) -> float:
    """An elite's fitness, as its folder says; what cannot be read comes last."""
    try:
        score = yaml.safe_load(_text(folder / "evaluation.yaml", MOST_BYTES))["score"]
        return problem.about.direction.fitness(float(score))
    except (ConfigError, yaml.YAMLError, KeyError, TypeError, ValueError):
        return float("-inf")


def _text(path: Path, most: int) -> str:
    try:
        if path.stat().st_size > most:
            raise ConfigError(f"{path} has more than {most:,} bytes")
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError as problem:
        raise ConfigError(f"cannot read {path}: {problem.strerror}") from None
