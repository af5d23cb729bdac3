"""The file of the best program, resets of islands by time, and bins that follow from the first candidates."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from oragent._base.protocol import Status
from oragent.evaluation import Evaluation
from oragent.evaluation.problem import Feature
from oragent.search import best_program
from oragent.search.archive import FIRST, AddStatus
from oragent.search.best_program import BestProgram
from oragent.search.candidate import PROBE, Candidate, Committed, Elite
from oragent.search.run_archive import RunArchive
from tests.search.test_leader_check import archive
from tests.search.test_round_ends import candidate


class Files:
    """The folder and the store of a run: what is written as the best program."""

    config = SimpleNamespace(limits="limits")
    problem: Any = "problem"

    def __init__(self) -> None:
        self.written: list[tuple[str, str, Any]] = []
        self.committed: dict[int, list[Committed]] = {}

    def write_best(self, elite: Elite, header: Any) -> None:
        self.written.append((elite.id, elite.source, header.args[0]))

    def complete_program(self, source: str) -> str:
        return f"complete {source}"

    def records(self, number: int) -> list[Committed]:
        return self.committed[number]


def elite(name: str, score: float, source: str = "") -> Elite:
    return Elite(id=name, source=source or f"x = {name!r}", score=score, features=None, metrics={})


@pytest.fixture
def files(monkeypatch: pytest.MonkeyPatch) -> Files:
    monkeypatch.setattr(best_program, "describe_program", lambda *given: [given[2].id, *given[3]])
    return Files()


def best_of(files: Files, *scores: float) -> BestProgram:
    leaders: Any = SimpleNamespace(archive=archive(*scores))
    plain: Any = files
    return BestProgram(plain, plain, leaders, [])


def test_a_program_of_an_unfinished_round_is_written_if_it_beats_the_best(files: Files) -> None:
    best = best_of(files, 5.0)
    for name, score in (
        ("worse", 6.0),
        ("equal", 5.0),
        ("better", 4.0),
        ("less", 4.5),
        ("as good", 4.0),
        ("best", 3.0),
    ):
        best.take_scored(7, replace(candidate(name, score), parents=("1.0",)))
    source = {name: f"x = {name!r}" for name in ("better", "as good", "best")}
    written = [("round 7", f"complete {text}") for text in source.values()]
    assert [(name, text) for name, text, _ in files.written] == written
    assert files.written[0][2] == ["round 7", "1.0"]
    assert best.elite is not None
    assert best.elite.source == source["best"]
    best.take_scored(8, candidate("best", 2.0))
    assert len(files.written) == 3
    # Before the seed is committed, no program is written.
    first = best_of(files)
    first.take_scored(1, candidate("a", 1.0))
    assert (first.elite, len(files.written)) == (None, 3)


def test_a_committed_program_is_written_unless_a_better_one_is_written_already(files: Files) -> None:
    best = best_of(files, 5.0)
    best.take_committed(elite("1.0", 4.5), candidate("a", 4.5))
    best.take_scored(3, candidate("b", 3.0))
    best.take_committed(elite("2.0", 4.0), candidate("c", 4.0))
    best.take_committed(elite("3.0", 3.0), candidate("b", 3.0))
    assert [name for name, _, _ in files.written] == ["1.0", "round 3", "3.0"]
    assert best.elite is not None
    assert best.elite.id == "3.0"


def test_a_withdrawn_program_is_replaced_by_the_best_committed_one(files: Files) -> None:
    best = best_of(files, 5.0, 6.0)
    names = ("0.1", "0.0")
    files.committed[0] = [
        Committed(id=name, candidate=replace(candidate(name), parents=(name,)), placed="NEW", elapsed_s=0.0)
        for name in names
    ]
    best.take_scored(3, candidate("b", 3.0))
    best.withdraw()
    assert best.elite is None
    assert files.written[-1] == ("0.0", "complete best 0", ["0.0", "0.0"])
    empty = best_of(files)
    empty.withdraw()
    assert len(files.written) == 2


# --- archive ---------------------------------------------------------------------------------------------------------


class Kept:
    """A store of resets and notes."""

    def __init__(self, resets: dict[int, float] | None = None) -> None:
        self.stored = {} if resets is None else resets
        self.notes: dict[str, str] = {}

    def resets(self) -> dict[int, float]:
        return dict(self.stored)

    def reset(self, number: int, elapsed_s: float) -> None:
        self.stored[number] = elapsed_s

    def note(self, key: str, text: str) -> None:
        self.notes[key] = text


def run_archive(begun: Any, kept: Kept, *settings: str, features: Any = ()) -> RunArchive:
    folder = begun(*settings)
    store: Any = kept
    return RunArchive(folder.config, replace(folder.problem.about, features=tuple(features)), store)


def test_islands_are_reset_by_time_after_a_period(begun) -> None:
    kept = Kept()
    made = run_archive(begun, kept, "archive.reset_s=10", "archive.islands=4")
    assert [made.reset_by_clock(number, at) for number, at in enumerate((0.0, 9.9, 10.0, 19.9, 20.5, 30.0), 1)] == [
        False, False, True, False, True, False
    ]  # fmt: skip
    assert kept.stored == made.resets == {3: 10.0, 5: 20.5}
    assert made._policy.resets == {3, 5}
    resumed = run_archive(begun, kept, "archive.reset_s=10", "archive.islands=4")
    assert resumed._policy.resets == {3, 5}
    assert not resumed.reset_by_clock(9, 30.4)
    assert resumed.reset_by_clock(9, 30.5)
    never = run_archive(begun, Kept(), "archive.islands=4")
    assert not never.reset_by_clock(1, 1e9)


def featured(number: int, origin: str = "code", name: str = "") -> Candidate:
    evaluation = Evaluation(Status.OK, 50.0 - number, (float(number),))
    return replace(candidate(name or f"p{number}", origin=origin), evaluation=evaluation)


def test_bins_follow_from_enough_different_programs(begun) -> None:
    kept = Kept()
    made = run_archive(begun, kept, features=[Feature(name="x", bins=4, kind="number")])
    assert made.lacks_bins
    candidates = [featured(number) for number in range(FIRST)]
    # A probe, a program without features, and one that was there before do not count.
    extra = [featured(99, PROBE, "probe"), candidate("plain", 1.0), candidates[0]]

    def records(number: int, programs: list[Candidate]) -> list[Committed]:
        return [
            Committed(id=f"{number}.{at}", candidate=one, placed="" if one.is_probe else "NEW", elapsed_s=0.0)
            for at, one in enumerate(programs)
        ]

    early = records(0, candidates[:-1] + extra)
    made.choose_bins(0, early)
    assert made.lacks_bins
    assert kept.notes == {}
    made.choose_bins(1, records(1, candidates[-1:]))
    assert not made.lacks_bins
    assert made.archive.grid is not None
    assert kept.notes == {"grid": made.archive.grid.dumps()}
    assert made.archive.grid == made._policy.grid
    declared = run_archive(begun, Kept(), features=[Feature(name="x", bins=4, kind="number")]).archive.grid
    assert declared is not None
    assert made.archive.grid == declared.chosen([(float(number),) for number in range(FIRST)])
    best = made.archive.best
    assert best is not None
    assert best.id == f"0.{FIRST}"
    assert made.place("2.0", candidate("late", None, Status.ERROR)) is None
    assert (
        made.place("2.1", replace(featured(3), evaluation=Evaluation(Status.OK, 0.5, (3.0,))))
        is not AddStatus.NOT_ADDED
    )


def test_printed_bins_need_no_choice(begun) -> None:
    for features in ([], [Feature(name="x", bins=4)]):
        made = run_archive(begun, Kept(), features=features)
        assert made.archive.grid is None
        assert not made.lacks_bins
