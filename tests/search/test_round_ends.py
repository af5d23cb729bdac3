"""Ends of rounds: which programs count, which events they give, and when a run ends."""

from types import SimpleNamespace
from typing import Any

import pytest

from oragent._base.budget import Spent
from oragent._base.errors import OragentError
from oragent._base.protocol import Status
from oragent.evaluation import Evaluation
from oragent.search import engine as engines
from oragent.search.archive import AddStatus
from oragent.search.candidate import PROBE, Candidate, Elite
from oragent.search.engine import Engine
from oragent.search.evaluation_key import ended_race_text
from oragent.search.events import EventKind
from oragent.search.leader_race import LeaderRace
from oragent.search.practice_check import PRACTICE_NOTE
from oragent.search.round_commit import RoundCommit
from oragent.search.store import RoundNote


def candidate(name: str, score: float | None = 1.0, status: Status = Status.OK, origin: str = "code") -> Candidate:
    evaluation = Evaluation(status, score, wall_s=0.1, traceback="where", log="log", output="output")
    return Candidate(
        source=f"x = {name!r}", fingerprint=name, parents=(), origin=origin, island=0, call=0, evaluation=evaluation
    )


def engine(**parts: Any) -> Any:
    events: list[Any] = []
    fake: Any = SimpleNamespace(**{f"_{name}": part for name, part in parts.items()}, events=events)
    fake._emit = lambda kind, number, data: events.append((kind, number, dict(data)))
    return fake


def test_programs_that_enter_the_archive_and_a_new_best_one_are_events() -> None:
    before, after = SimpleNamespace(id="1.0"), SimpleNamespace(id="4.2")
    effects = [AddStatus.NEW.name, AddStatus.IMPROVED.name, AddStatus.IMPROVED.name, "", AddStatus.NOT_ADDED.name]
    placed = [(candidate(f"{number}", float(number)), effect) for number, effect in enumerate(effects)]
    spent = Spent(evaluations=7)

    def emitted(best: Any) -> list[Any]:
        fake = engine(archive=SimpleNamespace(best=best), budget=SimpleNamespace(spent=spent))
        Engine._emit_round(fake, 4, placed, before)
        return fake.events

    def accepted(number: int) -> tuple[EventKind, int, dict[str, Any]]:
        values = {"id": f"4.{number}", "score": float(number), "origin": "code", "placed": effects[number]}
        return EventKind.ACCEPTED, 4, values

    best = EventKind.BEST, 4, {"id": "4.2", "score": 2.0, "origin": "code"}
    budget = EventKind.BUDGET, 4, vars(spent)
    assert emitted(after) == [accepted(0), accepted(1), accepted(2), best, budget]
    assert emitted(before) == [accepted(0), accepted(1), accepted(2), budget]
    assert emitted(None) == [accepted(0), accepted(1), accepted(2), budget]


def test_an_evaluated_candidate_is_an_event_and_one_with_a_score_may_lead() -> None:
    taken: list[Any] = []
    fake = engine(best=SimpleNamespace(take_scored=lambda *given: taken.append(given)))
    good, bad = candidate("a", 2.0), candidate("b", None, Status.ERROR)
    for one in (good, bad):
        Engine._notice_candidate(fake, 3, one)
    assert fake.events == [
        (EventKind.EVALUATED, 3, {"status": str(Status.OK), "score": 2.0, "origin": "code"}),
        (EventKind.EVALUATED, 3, {"status": str(Status.ERROR), "score": None, "origin": "code"}),
    ]
    assert taken == [(3, good)]


@pytest.mark.parametrize(
    ("ending", "allows", "lacks", "recorded", "begins"),
    [
        (False, True, False, False, True),
        (True, True, False, True, False),
        (False, False, False, True, False),
        (False, True, True, False, False),
        (False, True, True, True, True),
    ],
)
def test_a_round_begins_if_it_can_end(ending: bool, allows: bool, lacks: bool, recorded: bool, begins: bool) -> None:
    budget = SimpleNamespace(allows_more=lambda: allows, lacks_time=lacks)
    fake: Any = SimpleNamespace(is_ending=ending, _budget=budget, _recorded={5: Spent()} if recorded else {})
    assert Engine._may_begin(fake, 5) is begins


@pytest.mark.parametrize(
    ("number", "free", "recorded", "kinds", "idle", "checked", "fitted"),
    [
        (3, 0, 0, (), False, True, False),
        (3, 3, 0, (), True, True, False),
        (4, 3, 0, (), False, True, False),
        (3, 0, 4, (PRACTICE_NOTE,), False, True, True),
        (3, 0, 5, (PRACTICE_NOTE,), False, False, False),
        (3, 0, 0, ("other", PRACTICE_NOTE), False, True, True),
        (3, 0, 0, ("other",), False, True, False),
    ],
)
def test_the_end_of_a_run_is_looked_for_after_its_last_recorded_round(
    number: int, free: int, recorded: int, kinds: tuple[str, ...], idle: bool, checked: bool, fitted: bool
) -> None:
    course: list[Any] = []
    end = SimpleNamespace(
        count_answers=lambda problems: course.append(("answers", problems)),
        count_round=lambda evaluations, candidates, may_idle: course.append(
            ("round", evaluations, candidates, may_idle)
        ),
        check=lambda bounds, spent: course.append(("check", bounds, spent)),
    )
    fake = engine(
        free=free, run_end=end, recorded=range(recorded), budget=SimpleNamespace(bounds="bounds", spent="spent"),
        end_if_val_is_fitted=lambda: course.append("fitted"),
    )  # fmt: skip
    notes = [RoundNote(number, kind, "") for kind in kinds]
    run: Any = SimpleNamespace(reply_problems=["a", ""], candidates=["b"], notes=notes)
    Engine._note_end(fake, number, run, Spent(evaluations=8))
    wanted: list[Any] = [("answers", ["a", ""]), ("round", 8, ["b"], idle)]
    wanted += [("check", "bounds", "spent")] * checked + ["fitted"] * fitted
    assert course == wanted


@pytest.mark.parametrize(("number", "begins"), [(0, ""), (1, "; one "), (2, "; 2 ")])
def test_what_was_ended_after_the_time_is_counted(number: int, begins: str) -> None:
    context = SimpleNamespace(cut_short=number)
    text = Engine._cut_short(engine(context=context, budget=SimpleNamespace(bounds=SimpleNamespace(grace_s=2.5))))
    assert text.startswith(begins)
    assert ("2.5 s" in text) == (number > 0)
    assert (text == "") == (number == 0)


def test_progress_has_the_solutions_of_a_round_and_the_instances_of_won_races() -> None:
    best, seed = SimpleNamespace(id="3.0"), SimpleNamespace(id="0.0")
    probe, solution = candidate("a", origin=PROBE), candidate("b")
    races = [LeaderRace("b", shown, number, 0.5, 4) for shown, number in ((True, 10), (False, 100), (True, 1))]

    def progress(best: Any, seed: Any) -> Any:
        fake = engine(
            commits=SimpleNamespace(seed=seed), archive=SimpleNamespace(best=best), budget=SimpleNamespace(spent="spent")
        )  # fmt: skip
        return Engine._make_progress(fake, [probe, solution], races)

    made = progress(best, seed)
    assert (made.spent, made.seed, made.best, made.candidates) == ("spent", seed, best, (solution,))
    assert made.shown_on == 11
    for missing in ((None, seed), (best, None)):
        with pytest.raises(OragentError):
            progress(*missing)


@pytest.mark.parametrize("reason", ["", "worse"])
def test_a_run_whose_leaders_are_worse_on_practice_ends(reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stopped: list[str] = []
    monkeypatch.setattr(engines, "find_disagreement", lambda *given: reason if given == (["n"], "down", 4) else "other")
    folder = SimpleNamespace(
        problem=SimpleNamespace(about=SimpleNamespace(direction="down")),
        config=SimpleNamespace(strategy=SimpleNamespace(disagreement=4)),
    )
    fake = engine(folder=folder, notes=["n"], run_end=SimpleNamespace(stop=stopped.append))
    Engine._end_if_val_is_fitted(fake)
    assert stopped == [reason] * bool(reason)


# --- commits ---------------------------------------------------------------------------------------------------------


class Placing:
    """An archive that improves with lower scores, and the elites that are written and named best."""

    def __init__(self) -> None:
        self.archive = SimpleNamespace(best=None)
        self.written: list[tuple[str, str]] = []
        self.best: list[str] = []

    def place(self, name: str, candidate: Candidate) -> AddStatus | None:
        if candidate.score is None or candidate.is_probe:
            return None
        leader = self.archive.best
        if leader is not None and leader.score <= candidate.score:
            return AddStatus.NOT_ADDED
        self.archive.best = SimpleNamespace(score=candidate.score)
        return AddStatus.NEW if leader is None else AddStatus.IMPROVED

    def write_elite(self, elite: Elite) -> None:
        self.written.append((elite.id, elite.source))

    def take_committed(self, elite: Elite, candidate: Candidate) -> None:
        assert elite.score == candidate.score
        self.best.append(elite.id)


def commits(placing: Placing, **context: Any) -> RoundCommit:
    store: Any = SimpleNamespace(complete_program=lambda source: f"complete {source}")
    given: Any = (
        placing,
        store,
        SimpleNamespace(committed={}, **context),
        placing,
        SimpleNamespace(elapsed_s=lambda: 7.5),
    )
    best: Any = placing
    return RoundCommit(*given, best, {}, remembers=True)


def test_each_candidate_is_placed_and_a_new_best_one_is_written() -> None:
    placing = Placing()
    made = commits(placing)
    names = ["NEW", "IMPROVED", "NOT_ADDED", "", ""]
    candidates = [
        candidate("a", 5.0), candidate("b", 3.0), candidate("c", 4.0), candidate("d", None, Status.ERROR),
        candidate("e", 1.0, origin=PROBE),
    ]  # fmt: skip
    assert [made._place(f"2.{number}", one) for number, one in enumerate(candidates)] == names
    assert made.seed is not None
    assert made.seed.id == "2.0"
    assert placing.written == [("2.0", "complete x = 'a'"), ("2.1", "complete x = 'b'")]
    assert placing.best == ["2.0", "2.1"]


def test_a_program_counts_as_an_evaluation_once_and_if_it_ran() -> None:
    made = commits(Placing())
    first = [
        candidate("a"), candidate("a"), candidate("b", None, Status.ERROR), candidate("c", None, Status.REJECTED),
        candidate("d", origin=PROBE), candidate("e", None, Status.SCREENED),
    ]  # fmt: skip
    started = [one.evaluation for one in first if one.evaluation.was_started]
    assert first[0].evaluation in started
    counted = made._register(3, first)
    wanted = [first[0], first[2], *[one for one in first[3:] if one.evaluation.was_started and not one.is_probe]]
    assert counted == [one.evaluation for one in wanted]
    race = ended_race_text("e")
    assert made._context.committed == {"a": 3, "b": 3, "c": 3, "d": 3, "e": 3, race: 3}
    assert made._register(4, [candidate("a"), candidate("f")]) == [candidate("f").evaluation]
    assert made._context.committed["a"] == 3
    assert made._context.committed["f"] == 4


def test_records_of_later_rounds_have_no_output() -> None:
    made = commits(Placing())
    placed = [(candidate("a"), "NEW"), (candidate("b", None, Status.ERROR), "")]
    records = made._make_records(6, placed)
    assert [(one.id, one.placed, one.elapsed_s, one.score) for one in records] == [
        ("6.0", "NEW", 7.5, 1.0), ("6.1", "", 7.5, None)
    ]  # fmt: skip
    for one in records:
        evaluation = one.candidate.evaluation
        assert (evaluation.traceback, evaluation.log, evaluation.output) == ("", "", "")
        assert evaluation.wall_s == 0.1
