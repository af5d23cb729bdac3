"""Warm starts: what a run may begin with, that it counts, and what is refused."""

from dataclasses import replace
from pathlib import Path

import pytest

from oragent._base.errors import ConfigError
from oragent.evaluation.problem import load_problem
from oragent.search.config import build_config
from oragent.search.folder import make_folder
from oragent.search.launch import STARTED, launch
from oragent.search.starting import LEFT_OUT, InitialPrograms, family_of, gather_start, memory_file
from oragent.search.store import Store

GOOD = "def guess(x):\n    return 99 + x / 3\n"
SETTINGS = ("budget.evaluations=6", "workers=1", "zygote=false", "strategy.name=gp")


def searched(tmp_path: Path, problem, start: InitialPrograms | None = None, replay: Path | None = None):
    config = build_config({}, SETTINGS, "test")
    made = []

    def opening():
        made.append(make_folder(tmp_path, tmp_path / "outputs", problem, config))
        return made[-1]

    launch(config, tmp_path, problem, opening, lambda progress: None, replay, start=start)
    return made[0]


def records(folder) -> list:
    with Store(folder.database, readonly=True) as store:
        return store.records()


@pytest.mark.slow
def test_programs_and_lessons_begin_a_run_and_count(toy: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(GOOD)
    (tmp_path / "known.md").write_text("Numbers near 100 are good.\n")
    problem = load_problem(toy)
    start = gather_start([str(tmp_path / "mine.py"), str(tmp_path / "known.md")], problem, tmp_path / "outputs")
    assert start == InitialPrograms((GOOD,), "Numbers near 100 are good.")
    folder = searched(tmp_path, problem, start)
    first = [one for one in records(folder) if one.round == 0]
    assert [one.candidate.origin for one in first] == ["seed", STARTED]
    assert first[1].score == 0
    with Store(folder.database, readonly=True) as store:
        assert store.meta("lessons") == "Numbers near 100 are good."
        assert store.rounds()[0].evaluations == 2
    again = gather_start([str(folder.path)], problem, tmp_path / "outputs")
    assert any(source.strip().endswith(GOOD.strip()) for source in again.sources)
    assert len({source.split("\n", 1)[-1] for source in again.sources}) > 1


def test_what_is_no_start_is_refused(toy: Path, tmp_path: Path) -> None:
    problem = load_problem(toy)
    (tmp_path / "huge.py").write_text("x = 1\n" * 100_000)
    (tmp_path / "mine.cpp").write_text("double guess(double x) { return x; }\n")
    other = tmp_path / "run"
    other.mkdir()
    (other / "config.yaml").write_text("problem: {function: other}\n")
    for place, said in [
        ("nowhere", r"expected a program \(\.py\)"),
        (str(tmp_path / "huge.py"), "more than"),
        (str(other), "it searched for 'other'"),
        (str(tmp_path / "mine.cpp"), r"expected a program \(\.py\)"),
        ("memory", "no lessons for toy yet: 'oragent memory toy --add RUN'"),
    ]:
        with pytest.raises(ConfigError, match=said) as caught:
            gather_start([place], problem, tmp_path / "outputs")
        assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_what_a_program_does_to_the_scorer_is_the_same_as_for_any_candidate(toy: Path, tmp_path: Path) -> None:
    folder = searched(
        tmp_path, load_problem(toy), InitialPrograms(("def guess(x):\n    return 1 / 0\n", "not python at all ("))
    )
    ends = [str(one.candidate.evaluation.status) for one in records(folder) if one.candidate.origin == STARTED]
    assert ends == ["error", "rejected"]


def test_lessons_of_a_family_are_kept_beside_the_runs(toy: Path, tmp_path: Path) -> None:
    path = memory_file(tmp_path / "outputs", family_of("tsp_aco"))
    assert path == tmp_path / "outputs" / "memory" / "tsp.md"
    place = memory_file(tmp_path / "outputs", family_of(load_problem(toy).name))
    place.parent.mkdir(parents=True)
    place.write_text("Keep near 100.\n" * 2000 + "This is the latest.\n")
    start = gather_start(["memory"], load_problem(toy), tmp_path / "outputs")
    assert start.lessons.startswith(f"{LEFT_OUT}\n\nKeep near 100.\n")
    assert start.lessons.endswith("This is the latest.")
    assert 7900 < len(start.lessons) <= 8000


def test_a_run_in_another_language_gives_its_programs_too(toy: Path, tmp_path: Path) -> None:
    run, native = tmp_path / "run", tmp_path / "native"
    problem = load_problem(toy)
    native_one = replace(
        problem, about=replace(problem.about, candidate=replace(problem.about.candidate, language="cpp"))
    )
    (run / "candidates" / "3.0").mkdir(parents=True)
    (run / "config.yaml").write_text("problem: {function: guess}\n")
    with Store(run / "run.db"):
        pass
    program = "double guess(double x) { return 100; }\n"
    (run / "best.cpp").write_text(f"// toy: 0 by candidate 3.0 of run\n{program}")
    (run / "candidates" / "3.0" / "heuristic.cpp").write_text(program)
    assert gather_start([str(run)], native_one, native).sources == (program,)
    (tmp_path / "mine.cpp").write_text(program)
    assert gather_start([str(tmp_path / "mine.cpp")], native_one, native).sources == (program,)
