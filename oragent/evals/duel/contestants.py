"""Programs of a duel: files, candidates of runs, discovered programs, references, and the seed heuristic."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from oragent._base.errors import ConfigError
from oragent._base.text_format import one_line
from oragent.evaluation.discovered import find_discovered
from oragent.evaluation.job import DISCOVERED
from oragent.evaluation.problem import Problem, find_problem
from oragent.programs.inspection import read_program
from oragent.report.held_out import best_text
from oragent.report.swept_reference import read_swept
from oragent.search.folder import RunFolder, problem_of_program, reopen
from oragent.search.program_header import drop_head
from oragent.search.store import Store

SEED, BEST, SWEPT = "seed", "best", "swept"
REFERENCE = "reference"
EXPECTED = f"a file, a run's folder, RUN#ID, RUN#{SWEPT}, {DISCOVERED}/TITLE, {REFERENCE}/NAME, or {SEED}"


@dataclass(frozen=True)
class Contestant:
    """A program of a duel."""

    name: str
    source: str


def find_contestants(
    words: Sequence[str], problem: str | None, root: Path
) -> tuple[Problem, tuple[Contestant, Contestant]]:
    """Return the programs that two words name, and their problem.

    Args:
        words: Two of: a file, the folder of a run (its best program), ``RUN#ID`` (an id, ``best``, ``seed``, or
            ``swept`` for its swept reference), ``discovered/TITLE``, ``reference/NAME``, and ``seed``.
        problem: Name of the problem; None: the problem of the first run, else that of a file, by its folder.
        root: Project root.

    Raises:
        OragentError: A word names no program, or the programs have different problems.
    """
    paths = {word: _run_path(word) for word in words}
    runs = {path: _open_run(path).problem for path in dict.fromkeys(paths.values()) if path}
    files = [Path(word) for word in words if not paths[word] and Path(word).is_file()]
    if problem is not None:
        resolved = find_problem(problem, root)
    elif runs:
        resolved = next(iter(runs.values()))
    elif files:
        resolved = find_problem(problem_of_program(files[0]), root)
    else:
        raise ConfigError(f"name the problem of {' and '.join(words)} by --problem")
    for word, path in paths.items():
        # A problem that is named may be a copy of that of a run.
        if path:
            _expect_problem(word, runs[path], resolved, may_be_copy=problem is not None)
    first, second = (_make_contestant(word, resolved) for word in words)
    return resolved, (first, second)


def find_contestant(word: str, problem: Problem) -> Contestant:
    """Return the program that a word names, as for `find_contestants`."""
    if path := _run_path(word):
        _expect_problem(word, _open_run(path).problem, problem, may_be_copy=True)
    return _make_contestant(word, problem)


def _expect_problem(word: str, found: Problem, expected: Problem, *, may_be_copy: bool) -> None:
    """Raise ConfigError if a run is not of the expected problem, or of one with its function if it may be a copy."""
    if found.about.function != expected.about.function or not (may_be_copy or found.name == expected.name):
        raise ConfigError(f"{word} is a run of {found.name}, and not of {expected.name}")


def _make_contestant(word: str, problem: Problem) -> Contestant:
    return Contestant(_make_name(word), _read_source(word, problem))


def _make_name(word: str) -> str:
    """Name a program by its word; a run or a file by the last two parts of its path."""
    is_path = _run_path(word) or Path(word).is_file()
    return one_line("/".join(Path(word).parts[-2:]) if is_path else word, 60)


def _run_path(word: str) -> str:
    """Return the folder of a run that a word names; empty for another word."""
    path = word if Path(word, "run.db").is_file() else word.rpartition("#")[0]
    return path if path and Path(path, "run.db").is_file() else ""


def _open_run(path: str) -> RunFolder:
    return reopen(Path(path), changed=True, only_read=True)


def _read_source(word: str, problem: Problem) -> str:
    path = Path(word)
    if run := _run_path(word):
        return _read_candidate(Path(run), word[len(run) + 1 :] or BEST)
    if path.is_file():
        return drop_head(read_program(path, problem.signature))
    if word == SEED:
        return problem.seed
    if path.parent.name == DISCOVERED:
        return read_program(find_discovered(problem, path.stem), problem.signature)
    if path.parent.name == REFERENCE:
        return problem.read_reference(path.name)[0]
    raise ConfigError(f"{one_line(word, 80)} names no program: expected {EXPECTED}")


def _read_candidate(run: Path, name: str) -> str:
    if name == BEST:
        return drop_head(best_text(run))
    if name == SWEPT:
        swept = read_swept(run)
        if swept is None:
            raise ConfigError(f"{run} has no swept reference of its best: 'oragent sweep --reference --run RUN'")
        return swept.text
    with Store(run / "run.db", readonly=True) as store:
        record = next((entry for entry in store.records() if name in (entry.id, SEED)), None)
        if record is None:
            raise ConfigError(f"{run} has no candidate {one_line(name, 40)!r}: 'oragent show RUN' lists ids")
        return store.complete_program(record.source)
