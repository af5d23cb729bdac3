"""Start from existing results: programs and lessons of other runs, or elites of a run without its database."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from oragent._base.errors import ConfigError, StoreError
from oragent._base.files import expect_no_links, network_file_system, read_bounded_bytes
from oragent._base.safe_load import load_yaml
from oragent.evaluation.problem import Problem
from oragent.ledger.database import is_blank
from oragent.programs.kept_arrays import contract_references
from oragent.search.folder import RunFolder, best_file
from oragent.search.program_header import drop_head
from oragent.search.store import Store
from oragent.search.strategies.or_agent.tree import final_memory

# Maximum number of programs that are taken from one run.
MAX_PROGRAMS = 20
# Maximum size of a program in bytes, without and with the arrays that it loads.
MAX_BYTES, MAX_WITH_ARRAYS = 200_000, 4 << 20
# Maximum number of characters of lessons, because they make prompts longer.
MAX_LESSON_CHARACTERS = 8_000
LEFT_OUT = "(Earlier lessons are left out here, as there are too many of them.)"
# Word for the lessons of the problem's family, instead of a file.
WORD = "memory"


SUFFIXES = ("", "-wal", "-shm")


@dataclass(frozen=True)
class InitialPrograms:
    """Initial programs and lessons of a run in addition to its seed."""

    # Texts of programs, each once. They are scored with the seed and count as evaluations.
    sources: tuple[str, ...] = ()
    # Lessons in words, which follow the problem's ``knowledge.md``.
    lessons: str = ""


def gather_start(places: Sequence[str], problem: Problem, outputs: Path) -> InitialPrograms:
    """Collect the initial programs and lessons of a run. If the lessons are too long, the oldest are cut.

    A place is a program in the problem's language, a text (``.md``) of lessons, the folder of a run, or ``memory`` for
    the stored lessons of the problem's family in the folder of outputs.

    Raises:
        ConfigError: A place has another form, or is a run of a problem with another function.
        StoreError: The folder of a run contains links, or its database cannot be read.
    """
    ending = _program_suffix(problem)
    sources: list[str] = []
    lessons: list[str] = []
    for source in places:
        path = memory_file(outputs, family_of(problem.name)) if source == WORD else Path(source)
        if (path / "config.yaml").is_file():
            sources += _read_elites(path, problem)
            lessons.append(lessons_of(path))
        elif path.suffix == ending and path.is_file():
            sources.append(_read_start(path))
        elif path.suffix == ".md" and path.is_file():
            lessons.append(_read_limited(path, MAX_BYTES))
        elif source == WORD:
            family_name = family_of(problem.name)
            raise ConfigError(
                f"--start memory: no lessons for {family_name} yet: 'oragent memory {family_name} --add RUN' adds some"
            )
        else:
            expected = f"a program ({ending}), an .md file of lessons, or a run's folder"
            raise ConfigError(f"--start {source}: expected {expected}")
    return InitialPrograms(
        tuple(dict.fromkeys(sources)), _latest_lessons("\n\n".join(text.strip() for text in lessons if text.strip()))
    )


def _latest_lessons(text: str) -> str:
    if len(text) <= MAX_LESSON_CHARACTERS:
        return text
    end = text[len(LEFT_OUT) + 2 - MAX_LESSON_CHARACTERS :]
    return f"{LEFT_OUT}\n\n{end.partition(chr(10))[2] or end}"


def _program_suffix(problem: Problem) -> str:
    return Path(problem.about.candidate.names[0]).suffix


def family_of(problem: str) -> str:
    """Return the family of a problem, which shares lessons: the beginning of its name, such as ``tsp``."""
    return problem.partition("_")[0]


def memory_file(outputs: Path, name: str) -> Path:
    """Return the path of the lessons of a family."""
    return outputs / "memory" / f"{name}.md"


def lessons_of(run: Path) -> str:
    """Return the long-term memory of a run at its end, and later reflections; may be empty."""
    with Store(run / "run.db", readonly=True) as store:
        notes = store.notes()
    try:
        return final_memory(notes)
    except ValueError as problem:
        raise StoreError(f"{run / 'run.db'}: {problem}") from None


def _read_elites(run: Path, problem: Problem) -> list[str]:
    """Return the best programs of a run, best first. Links are refused, because they may lead to other files."""
    expect_no_links(run)
    try:
        function = load_yaml(run / "config.yaml")["problem"]["function"]
    except (OSError, yaml.YAMLError, KeyError, TypeError):
        raise ConfigError(f"--start {run}: its config.yaml is not the configuration of a run") from None
    if function != problem.about.function:
        searched = repr(function[:80]) if isinstance(function, str) else "something else"
        raise ConfigError(
            f"--start {run}: it searched for {searched}, but {problem.name} needs {problem.about.function!r}"
        )
    folders = sorted(run.glob(f"candidates/*/heuristic{_program_suffix(problem)}"))
    scored = sorted(((_elite_fitness(path.parent, problem), path) for path in folders), key=lambda pair: -pair[0])
    best = [file] if (file := best_file(run)).is_file() else []
    return list(_read_programs([*best, *(path for _, path in scored)]))[:MAX_PROGRAMS]


def _read_programs(files: Iterable[Path]) -> Iterable[str]:
    """Read texts of programs, each once, without the comments at the head of ``best.py``."""
    met: set[str] = set()
    for file in files:
        text = _read_start(file)
        bare = drop_head(text) if file.stem == "best" else text
        if bare.strip() not in met:
            met.add(bare.strip())
            yield bare


def _elite_fitness(folder: Path, problem: Problem) -> float:
    try:
        score = load_yaml(folder / "evaluation.yaml")["score"]
        return problem.about.direction.fitness(float(score))
    except (OSError, yaml.YAMLError, KeyError, TypeError, ValueError, OverflowError):
        return float("-inf")


def _read_start(path: Path) -> str:
    text = _read_limited(path, MAX_WITH_ARRAYS)
    if len(contract_references(text)[0]) > MAX_BYTES:
        raise ConfigError(f"cannot read {path}: it has more than {MAX_BYTES:,} bytes")
    return text


def _read_limited(path: Path, limit: int) -> str:
    try:
        return read_bounded_bytes(path, limit).decode("utf-8", errors="replace").replace("\r\n", "\n")
    except OSError as problem:
        raise ConfigError(f"cannot read {path}: {problem.strerror or problem}") from None


def rebuild_run(folder: RunFolder) -> int:
    """Rebuild a run from its elites, and return their number. On resume, they are scored again with the seed.

    Other candidates, replies of models and the used budget are lost. An existing database is kept as ``run.db.broken``.

    Raises:
        StoreError: No elite is left, the database can be read, or another process uses the run.
    """
    if network_file_system(folder.path):
        raise StoreError(f"{folder.path} is on a network folder: copy it to a local disk, and rebuild it there")
    with folder.locked():
        if _is_whole(folder):
            raise StoreError(f"{folder.database} can be read and contains rounds: continue it with 'oragent resume'")
        files = [file for file in folder.found_elites() if file.stat().st_size <= MAX_WITH_ARRAYS]
        sources = list(dict.fromkeys(file.read_text(encoding="utf-8", errors="replace") for file in files))
        if not sources:
            raise StoreError(f"{folder.path} cannot be rebuilt: it has neither candidates/ nor best.py")
        for suffix in SUFFIXES:
            old = folder.database.with_name(folder.database.name + suffix)
            if old.is_file():
                old.replace(old.with_name(f"{folder.database.name}.broken{suffix}"))
        with Store(folder.database) as store:
            store.add_initial_programs(sources)
    return len(sources)


def _is_whole(folder: RunFolder) -> bool:
    try:
        if is_blank(folder.database):
            return False
        with Store(folder.database, readonly=True) as store:
            return bool(store.records(0))
    except (StoreError, ValueError, TypeError, KeyError):
        # The database is corrupted.
        return False
