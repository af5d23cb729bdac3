"""The parts of a round of one action: what it may do, what a reply becomes, and what the next prompt shows of it."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from oragent._base.budget import Budget, Spent
from oragent._base.direction import Direction
from oragent._base.errors import BudgetExhausted, CandidateError, ConfigError, OragentError, ReplyError
from oragent._base.protocol import Status
from oragent.evaluation import Evaluation
from oragent.evaluation.job import KEPT_METRIC
from oragent.llm.dialogue import ModelAnswer
from oragent.programs.blocks import NEAREST
from oragent.search.archive import Archive
from oragent.search.calibration import Calibration
from oragent.search.candidate import PROBE, Candidate, Elite
from oragent.search.experiments import MIN_S, PRACTICE, Subset
from oragent.search.journal import Moment
from oragent.search.prompting.search_summary import LESSON, TITLE, program_mark, set_title
from oragent.search.round_experiments import KeptNote
from oragent.search.store import RoundNote
from oragent.search.strategies.or_agent import action_prompt
from oragent.search.strategies.or_agent import action_round as acting
from oragent.search.strategies.or_agent.allocation import ACTION, ActionKind, ActionRecord
from oragent.search.strategies.or_agent.coding import ProgramDraft
from oragent.search.strategies.or_agent.settings import AgentSettings
from oragent.search.strategies.or_agent.tree import ACCOUNT, Idea, account_of, remember_account

SCALED = "SCALE = 3  # param: SCALE = 3, 1..40\n\ndef guess(x):\n    return x * SCALE\n"
WORKING = SCALED.replace("SCALE = 3, 1..40", "SCALE work")
ON_PRACTICE = Subset((), "8", PRACTICE)
SEED = "def guess(x):\n    return x\n"


def elite(name: str, score: float, source: str = "", **metrics: Any) -> Elite:
    return Elite(id=name, source=source or f"program {name}", score=score, features=None, metrics=metrics)


def candidate(
    source: str, score: float | None = None, status: Status = Status.ERROR, origin: str = "code", **details: Any
) -> Candidate:
    evaluation = Evaluation(status if score is None else Status.OK, score, wall_s=0.1, **details)
    return Candidate(
        source=source,
        fingerprint=f"print of {source}",
        parents=(),
        origin=origin,
        island=0,
        call=0,
        evaluation=evaluation,
    )


class Round(SimpleNamespace):
    """A round without an engine. Programs get their results by their text; branches are the round itself."""

    def note(self, kind: str, text: str) -> None:
        self.notes.append(RoundNote(self.number, kind, text))

    def recall(self, kind: str) -> list[RoundNote]:
        return [note for note in self.memory if note.kind == kind]

    @property
    def solutions(self) -> list[Candidate]:
        return [found for found in self.candidates if not found.is_probe]

    def reject(self, text: str, why: str, parents: Sequence[str], origin: str, call: int) -> Candidate:
        self.course.append(("reject", text, why, [*parents], origin, call))
        return candidate(text, status=Status.REJECTED, message=why)

    async def evaluate(self, source: str, parents: Sequence[str], origin: str, call: int | None = None) -> Candidate:
        self.course.append(("evaluate", source, [*parents], origin, call))
        found = self.results[source]
        if isinstance(found, Exception):
            raise found
        self.candidates.append(found)
        return found

    async def fork(self, works: Sequence[Callable[[Any], Any]], islands: Sequence[int] = ()) -> list[Any]:
        self.forks.append((len(works), [*islands]))
        return [await work(self) for work in works]

    def temperature(self, role: str) -> float | None:
        return {"code": 0.25, "idea": 0.75}.get(role)

    def fill_template(self, name: str, style: str = "", /, **values: Any) -> str:
        self.filled.append((name, style, values))
        return name


def make_run(*elites: Elite, **changes: Any) -> Any:
    built = Archive(Direction.MINIMIZE, changes.pop("islands", 1))
    for one in elites or (elite("0.0", 9.0, SEED),):
        built.add(one, 0)
    settings = {name: value for name, value in changes.items() if name in AgentSettings.__dataclass_fields__}
    given: dict[str, Any] = {
        "number": 5, "window": 1, "practice": 8, "experiment_s": 30.0, "instances": ON_PRACTICE, "cpu_s": 100.0,
        "limit_s": 10.0, "budget": Budget(evaluations=100), "memory": (), "results": {}, "used": Spent(),
        "allowance": Spent(evaluations=50), "spent": Spent(), "language": "python", "style": "strong",
    }  # fmt: skip
    given |= {name: value for name, value in changes.items() if name not in settings}
    told: list[str] = []
    experiments = SimpleNamespace(
        instances=given["instances"], cpu_s_left=given["cpu_s"], list_arrays=dict, probe=None, probe_train=None
    )
    strategy = SimpleNamespace(practice=given["practice"], experiment_s=given["experiment_s"])
    about = SimpleNamespace(function="guess", sizes={"val": [20]})
    return Round(
        archive=built, own=AgentSettings(**settings), rng=np.random.default_rng(0), candidates=[], notes=[],
        written=(), moment=Moment(), course=[], forks=[], filled=[], told=told, reply_problems=["", ""],
        case=SimpleNamespace(allowance=given["allowance"]), experiments=experiments,
        context=SimpleNamespace(scoring=SimpleNamespace(tell=told.append)),
        settings=SimpleNamespace(strategy=strategy, budget=given["budget"], limits=None),
        problem=SimpleNamespace(heuristic_s=lambda limits: given["limit_s"], seed=SEED, about=about),
        **{name: given[name] for name in ("number", "window", "memory", "results", "used", "spent", "style")},
    )  # fmt: skip


def noted(run: Any, kind: str) -> list[str]:
    return [note.text for note in run.notes if note.kind == kind]


# --- the choice and record of an action ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scores", "gain"), [([7.0, 4.0, None], 5.0), ([9.0], 0.0), ([12.0], 0.0), ([None], 0.0), ([], 0.0)]
)
def test_the_gain_of_an_action_is_that_of_its_best_program(scores: list[float | None], gain: float) -> None:
    run = make_run(used=Spent(evaluations=3, tokens=70))
    run.candidates = [candidate("p", score) for score in scores] + [candidate("probe", 1.0, origin=PROBE)]
    acting._record_action(run, ActionKind.EDIT, elite("0.0", 9.0))
    assert [ActionRecord.load(text) for text in noted(run, ACTION)] == [ActionRecord(ActionKind.EDIT, 3, 70, gain)]


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("action", [ActionKind.SWEEP, ActionKind.IDEA])
def test_an_action_is_recorded_once_also_if_it_fails(
    action: ActionKind, fails: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    best = elite("0.0", 9.0, SEED)
    done: list[Any] = []

    async def act(run: Any, *arguments: Any) -> None:
        done.append(arguments)
        if fails:
            raise OragentError("gone")

    monkeypatch.setattr(acting, "choose_action", lambda run, available: action)
    monkeypatch.setattr(acting, "_sweep_parameters", act)
    monkeypatch.setattr(acting, "_write_programs", act)
    run = make_run(best)
    if fails:
        with pytest.raises(OragentError):
            asyncio.run(acting.play_action(run))
    else:
        asyncio.run(acting.play_action(run))
    assert done == [(best,) if action is ActionKind.SWEEP else (action, best)]
    assert [ActionRecord.load(text).action for text in noted(run, ACTION)] == [action]


@pytest.mark.parametrize(
    ("source", "mates", "changes", "missing"),
    [
        (SCALED, 1, {}, set()),
        (SCALED, 0, {}, {ActionKind.CROSSOVER}),
        (SEED, 1, {}, {ActionKind.SWEEP}),
        (SCALED, 1, {"cpu_s": MIN_S}, set()),
        (SCALED, 1, {"cpu_s": MIN_S - 0.01}, {ActionKind.SWEEP}),
        (SCALED, 1, {"memory": [RoundNote(1, acting.SWEPT, program_mark(SCALED))]}, {ActionKind.SWEEP}),
        (SCALED, 1, {"memory": [RoundNote(1, acting.SWEPT, program_mark(SEED))]}, set()),
    ],
)
def test_actions_without_numbers_or_mates_are_not_available(
    source: str, mates: int, changes: dict[str, Any], missing: set[ActionKind]
) -> None:
    best = elite("2.0", 1.0, source)
    others = [elite("1.0", 5.0)] * mates
    run = make_run(best, elite("0.0", 9.0, SEED), *others, **changes)
    available = acting._available_actions(run, best)
    assert set(acting.PRIORS) - set(available) == missing
    assert len(available) == len(set(available))


# --- sweeps without a call -------------------------------------------------------------------------------------------


def sweep(run: Any, best: Elite, found: Calibration, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    asked: list[Any] = []

    async def sweep_numbers(run: Any, *arguments: Any) -> Calibration:
        asked.append(arguments)
        return found

    monkeypatch.setattr(acting, "sweep_numbers", sweep_numbers)
    asyncio.run(acting._sweep_parameters(run, best))
    return asked


def test_a_better_setting_is_scored_and_takes_over_title_and_idea(monkeypatch: pytest.MonkeyPatch) -> None:
    best, swept = elite("3.1", 5.0, SCALED), SCALED.replace("= 3  #", "= 9  #")
    run = make_run(best, results={swept: candidate(swept, 2.0)})
    set_title(run, SCALED, "scaled")
    remember_account(run, SCALED, Idea("scaled", "Scale it."))
    asked = sweep(run, best, Calibration(swept, "the table"), monkeypatch)
    assert asked == [(SCALED, ["SCALE"], best, 2)]
    three = SCALED + "B = 1  # param: B = 1, 0..9\nC = 1  # param: C = 1, 0..9\n"
    assert sweep(make_run(), elite("3.1", 5.0, three), Calibration(three), monkeypatch)[0][-1] == 6
    assert run.course == [("evaluate", swept, ["3.1"], "tune", None)]
    assert noted(run, acting.SWEPT) == [program_mark(SCALED), program_mark(swept)]
    (table,) = noted(run, acting.MEASURED_NOTE)
    assert "'scaled'" in table
    assert "the table" in table
    assert "scaled" in noted(run, TITLE)[-1].partition(" ")[2]
    account = account_of(run, swept)
    assert account is not None
    assert account.idea == "scaled. Scale it."


@pytest.mark.parametrize("score", [2.0, None])
@pytest.mark.parametrize("has_account", [False, True])
def test_a_setting_without_a_score_or_idea_has_no_account(
    score: float | None, has_account: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    best, swept = elite("3.1", 5.0, SCALED), SCALED.replace("= 3  #", "= 9  #")
    run = make_run(best, results={swept: candidate(swept, score)}, experiment_s=None)
    if has_account:
        remember_account(run, SCALED, Idea("scaled", "Scale it."))
    asked = sweep(run, best, Calibration(swept, "the table"), monkeypatch)
    assert asked[0][-1] == 0
    assert (account_of(run, swept) is not None) == (has_account and score is not None)
    # Without a title the program has its id.
    assert "'3.1'" in noted(run, acting.MEASURED_NOTE)[0]


@pytest.mark.parametrize(
    "found", [Calibration(SCALED, "none is better"), Calibration(SCALED + "\n", "late", "no time")]
)
def test_a_sweep_that_finds_nothing_scores_nothing(found: Calibration, monkeypatch: pytest.MonkeyPatch) -> None:
    best = elite("3.1", 5.0, SCALED)
    run = make_run(best)
    sweep(run, best, found, monkeypatch)
    assert run.course == []
    assert noted(run, acting.SWEPT) == [program_mark(SCALED)]
    assert found.report in noted(run, acting.MEASURED_NOTE)[0]


# --- parents and numbers of programs ---------------------------------------------------------------------------------


def test_mates_are_the_other_programs_but_for_the_seed() -> None:
    run = make_run(elite("0.0", 9.0, SEED), elite("1.0", 5.0), elite("2.0", 1.0), elite("3.0", 7.0))
    assert [mate.id for mate in acting._list_mates(run)] == ["1.0", "3.0"]
    assert acting._list_mates(make_run()) == []


def test_a_crossover_draws_its_mate_by_rank() -> None:
    best = elite("9.0", 1.0)
    run = make_run(elite("0.0", 90.0, SEED), best, *(elite(f"{rank}.0", 1.0 + rank) for rank in (1, 2, 3)))
    drawn = [acting._choose_parents(run, ActionKind.CROSSOVER, best) for _ in range(3000)]
    assert all(pair[1] is best for pair in drawn)
    shares = [sum(pair[0].id == f"{rank}.0" for pair in drawn) / len(drawn) for rank in (1, 2, 3)]
    # Weights 1, 1/2 and 1/3.
    assert shares == pytest.approx([6 / 11, 3 / 11, 2 / 11], abs=0.03)
    assert acting._choose_parents(run, ActionKind.EDIT, best) == [best]
    assert acting._choose_parents(run, ActionKind.IDEA, best) == [best]
    assert acting._choose_parents(run, ActionKind.RESTART, best) == []


@pytest.mark.parametrize(
    ("action", "allowed", "whole", "count"),
    [
        (ActionKind.EDIT, 50, 100, 3),
        (ActionKind.EDIT, 2, 100, 2),
        (ActionKind.EDIT, 0, 100, 1),
        (ActionKind.OPENING, 50, 100, 6),
        (ActionKind.OPENING, 4, 100, 4),
        (ActionKind.OPENING, 50, 29, 5),
        (ActionKind.OPENING, 50, 4, 2),
        (ActionKind.OPENING, 0, 4, 1),
    ],
)
def test_a_call_asks_for_as_many_programs_as_the_budget_allows(
    action: ActionKind, allowed: int, whole: int, count: int
) -> None:
    run = make_run(
        wave=6, programs=3, allowance=Spent(evaluations=allowed + 1), used=Spent(evaluations=1),
        budget=Budget(evaluations=whole + 5), spent=Spent(evaluations=5),
    )  # fmt: skip
    assert acting._program_count(run, action) == count


# --- what the next prompt shows --------------------------------------------------------------------------------------


def action_note(number: int, action: ActionKind) -> RoundNote:
    return RoundNote(number, ACTION, ActionRecord(action, 1, 1, 0.0).dump())


def test_a_prompt_shows_the_results_since_the_latest_prompt() -> None:
    sweeps = [action_note(3, ActionKind.SWEEP), action_note(4, ActionKind.SWEEP), action_note(2, ActionKind.EDIT)]
    assert acting._first_shown_round(make_run(memory=sweeps)) == 2
    assert acting._first_shown_round(make_run(memory=sweeps[1:])) == 3
    assert acting._first_shown_round(make_run(memory=sweeps[2:])) == 4
    assert acting._first_shown_round(make_run(memory=sweeps, window=3)) == 2
    assert acting._first_shown_round(make_run(memory=sweeps, window=2)) == 2


def test_outcomes_and_measurements_of_older_rounds_are_left_out() -> None:
    memory = [RoundNote(number, kind, f"{kind} {number}") for number in (3, 4) for kind in ("outcomes", "measured")]
    run = make_run(memory=memory)
    (told,) = acting._recall_outcomes(run)
    assert told.endswith("outcomes 4")
    assert "outcomes 3" not in told
    assert acting._recall_measured(run) == ["measured 4"]
    assert acting._recall_measured(make_run(memory=memory, practice=None)) == []
    assert acting._recall_outcomes(make_run(memory=memory[:2])) == []
    (both,) = acting._recall_outcomes(make_run(memory=memory, window=2))
    assert both.index("outcomes 3") < both.index("outcomes 4")


def test_programs_of_the_latest_probes_can_be_edited_by_their_labels() -> None:
    run = make_run(memory=[RoundNote(1, acting.PROBE_NOTE, f"1.{at}\nprogram {at}\n") for at in range(50)])
    drafts = [
        ProgramDraft("a", "", "source a", "", is_probe=True),
        ProgramDraft("b", "", "source b", ""),
        ProgramDraft("c", "", "", "text", "broken", is_probe=True),
        ProgramDraft("d", "", "source d", "", is_probe=True),
    ]
    assert acting._label_probes(run, drafts) == ["5.1", "", "", "5.2"]
    assert acting._label_probes(run, drafts[:1]) == ["5.3"]
    run.note("other", "5.9\nno probe")
    sources = acting._probe_sources(run)
    assert len(sources) == acting.MAX_PROBES
    assert (sources["5.1"], sources["5.2"], sources["5.3"]) == ("source a", "source d", "source a")
    assert "1.12" not in sources
    assert sources["1.13"] == "program 13\n"
    assert "5.9" not in sources


def test_a_prompt_with_probes_says_that_they_can_be_edited() -> None:
    assert acting._join_measured(["a", "b"]) == "a\n\nb"
    assert acting._join_measured([]) == ""
    assert acting._join_measured(["a", "Probe 1.1"]) == f"a\n\nProbe 1.1\n\n{acting.BUILD_ON}"


def test_a_rejection_keeps_some_of_its_reason_and_of_the_nearest_lines() -> None:
    told = acting._describe_rejection(f"{'r' * 2000}{NEAREST}{'n' * 500}")
    assert told.count("r" * acting.MAX_COMPLAINT) == 1
    assert "r" * (acting.MAX_COMPLAINT + 1) not in told
    assert told.endswith(f"{NEAREST}{'n' * acting.MAX_NEAREST}")
    assert acting._describe_rejection(f"r {NEAREST} x ").endswith(" x")


def test_nearest_lines_that_the_prompt_shows_are_not_repeated() -> None:
    problem = f"No match. {NEAREST}\n    return x\n"
    assert acting._without_nearest(problem, SEED) == "No match"
    assert acting._without_nearest(problem, "other") == problem
    assert acting._without_nearest(problem, None) == problem


# --- repairs of parts of a reply -------------------------------------------------------------------------------------

GOOD = ProgramDraft("good", "An idea.", "source", "text")
FIRST = ProgramDraft("first", "", "", "text 1", "problem 1")
SECOND = ProgramDraft("second", "Its idea.", "", "text 2", "problem 2", is_probe=True)


def repair(
    run: Any, drafts: list[ProgramDraft], answer: list[ProgramDraft] | Exception, base: str | None = SEED
) -> Any:
    asked: list[Any] = []

    async def ask(role: str, messages: Any, temperature: float | None) -> Any:
        asked.append((role, messages[-1].content, temperature))
        return SimpleNamespace(text="reply", call=8)

    def read(text: str) -> list[ProgramDraft]:
        assert text == "reply"
        if isinstance(answer, Exception):
            raise answer
        return answer

    run.ask = ask
    run.asked = asked
    return asyncio.run(acting._repair_drafts(run, drafts, 7, base, read))


@pytest.fixture
def plain_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acting, "task_messages", lambda run, text: [SimpleNamespace(content=text)])


@pytest.mark.usefixtures("plain_messages")
def test_broken_parts_are_replaced_by_those_of_the_same_title() -> None:
    run = make_run()
    again = [ProgramDraft("second", "", "source 2", "t"), ProgramDraft("other", "", "source 3", "t")]
    drafts, calls = repair(run, [GOOD, FIRST, SECOND, replace(SECOND, title="third")], again)
    assert calls == [7, 7, 8, 7]
    assert drafts[0] is GOOD
    assert drafts[1] is FIRST
    assert (drafts[2].title, drafts[2].source, drafts[2].idea, drafts[2].is_probe) == (
        "second", "source 2", "Its idea.", True,
    )  # fmt: skip
    assert run.asked == [("repair", "or_agent_wave_repair", 0.25)]
    ((_, style, values),) = run.filled
    assert style == "strong"
    parts = values["parts"].split("\n\n")
    assert [part.partition("\n")[0] for part in parts] == ["PROGRAM: first", "PROBE: second", "PROBE: third"]
    assert "problem 1" in parts[0]
    assert "text 2" in parts[1]
    assert SEED.strip() in values["program"]


@pytest.mark.usefixtures("plain_messages")
def test_parts_without_a_title_are_replaced_in_order_if_all_came_back() -> None:
    again = [ProgramDraft("", "new", "source 1", "t"), ProgramDraft("", "", "source 2", "t")]
    drafts, calls = repair(make_run(), [FIRST, GOOD, SECOND], again)
    assert [draft.source for draft in drafts] == ["source 1", "source", "source 2"]
    assert [draft.idea for draft in drafts] == ["new", "An idea.", "Its idea."]
    assert [draft.title for draft in drafts] == ["first", "good", "second"]
    assert [draft.is_probe for draft in drafts] == [False, False, True]
    assert calls == [8, 7, 8]
    fewer, calls = repair(make_run(), [FIRST, SECOND], again[:1])
    assert [draft.source for draft in fewer] == ["", ""]
    useless = [ProgramDraft("first", "", "", "t", "still broken")]
    assert repair(make_run(), [FIRST, SECOND], useless) == ([FIRST, SECOND], [7, 7])
    swapped = [replace(again[1], title="second"), replace(again[0], title="first")]
    assert [draft.source for draft in repair(make_run(), [FIRST, SECOND], swapped)[0]] == ["source 1", "source 2"]


@pytest.mark.usefixtures("plain_messages")
def test_parts_stay_broken_where_no_repair_is_possible() -> None:
    empty = replace(FIRST, text="  \n")
    for drafts, changes in (([GOOD], {}), ([GOOD, empty], {}), ([FIRST], {"debugging": 0})):
        run = make_run(**changes)
        assert repair(run, [*drafts], [GOOD]) == (drafts, [7] * len(drafts))
        assert run.asked == []
    assert repair(make_run(), [FIRST], ReplyError("nothing")) == ([FIRST], [7])
    assert repair(make_run(), [FIRST], BudgetExhausted("no call is left")) == ([FIRST], [7])
    run = make_run()
    repair(run, [replace(FIRST, problem="p" * 3000)], [GOOD], None)
    assert run.filled[0][2]["program"] == "(none)"
    assert "p" * acting.MAX_COMPLAINT in run.filled[0][2]["parts"]
    assert "p" * (acting.MAX_COMPLAINT + 1) not in run.filled[0][2]["parts"]


# --- one part of a reply ---------------------------------------------------------------------------------------------


def attempt(
    run: Any, draft: ProgramDraft, monkeypatch: pytest.MonkeyPatch, found: Calibration | None = None, **options: Any
) -> acting._TriedPart:
    """Try a draft; ``found`` is what its sweep or calibration gives, by default the draft itself."""

    async def sweep_numbers(run: Any, source: str, axes: Any, like: Any) -> Calibration:
        run.course.append(("sweep", source, axes, like))
        return found or Calibration(source)

    async def calibrate_work(run: Any, source: str) -> Calibration:
        run.course.append(("calibrate", source))
        return found or Calibration(source)

    async def debug_program(run: Any, failed: Candidate, attempts: int) -> Candidate:
        run.course.append(("debug", failed.source, attempts))
        return run.repaired

    monkeypatch.setattr(acting, "sweep_numbers", sweep_numbers)
    monkeypatch.setattr(acting, "calibrate_work", calibrate_work)
    monkeypatch.setattr(acting, "debug_program", debug_program)
    given = {"parents": [elite("1.0", 8.0), elite("2.0", 7.0)], "role": "code", "call": 4, "beside": 3.0, "label": ""}
    return asyncio.run(acting._try_draft(run, draft, **(given | options)))


DRAFT = ProgramDraft("title", "Its idea.", "source", "text")


def test_a_program_is_calibrated_scored_and_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    run = make_run(results={"source": candidate("source", 6.0)})
    assert attempt(run, DRAFT, monkeypatch) == acting._TriedPart("", "score 6")
    assert run.course == [("calibrate", "source"), ("evaluate", "source", ["1.0", "2.0"], "code", 4)]
    assert noted(run, TITLE) == [f"{program_mark('source')} title"]
    account = account_of(run, "source")
    assert account is not None
    assert (account.idea, account.report) == ("title. Its idea.", "")
    untitled = make_run(results={"source": candidate("source", 6.0)})
    attempt(untitled, replace(DRAFT, idea=""), monkeypatch)
    account = account_of(untitled, "source")
    assert account is not None
    assert account.idea == "title"


@pytest.mark.parametrize(("axes", "named"), [((), False), (("A=1,2",), True)])
def test_what_was_measured_before_a_program_is_told_with_its_outcome(
    axes: tuple[str, ...], named: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_run(results={"better": candidate("better", 6.0)})
    found = Calibration("better", "the table")
    tried = attempt(run, replace(DRAFT, axes=axes), monkeypatch, found)
    assert run.course[0] == (("sweep", "source", axes, elite("2.0", 7.0)) if named else ("calibrate", "source"))
    assert tried.outcome == "score 6"
    assert "score 6" in tried.report
    assert "the table" in tried.report
    assert ("practice instances" in tried.report) == named
    account = account_of(run, "better")
    assert account is not None
    assert account.report.endswith("the table")
    alone = make_run(results={"source": candidate("source", 6.0)})
    attempt(alone, replace(DRAFT, axes=("A=1",)), monkeypatch, parents=[])
    assert alone.course[0][-1] is None
    assert alone.course[1][2] == []
    attempt(alone, replace(DRAFT, axes=("A=1",)), monkeypatch, parents=[elite("3.0", 7.0)])
    assert alone.course[2][-1] == elite("3.0", 7.0)


def test_a_program_without_time_is_rejected_with_what_was_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    run = make_run()
    tried = attempt(run, DRAFT, monkeypatch, Calibration("slow", "the table", "no setting fits"))
    assert run.course[1:] == [("reject", "slow", "no setting fits", ["1.0", "2.0"], "code", 4)]
    assert "no setting fits" in tried.report
    assert "the table" in tried.report
    assert tried.outcome
    assert noted(run, ACCOUNT) == []


def test_a_part_that_cannot_be_used_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    run = make_run()
    tried = attempt(run, FIRST, monkeypatch)
    assert run.course == [("reject", "text 1", "problem 1", ["1.0", "2.0"], "code", 4)]
    assert tried.report == ""
    assert "problem 1" in tried.outcome


@pytest.mark.parametrize(
    ("failed", "options", "attempts"),
    [
        (candidate("source", message="x"), {}, 1),
        (candidate("source", message="x"), {"debugging": 5}, 1),
        (candidate("source", message="x"), {"debugging": 0}, 0),
        (candidate("source", status=Status.SCREENED), {}, None),
        (candidate("source", status=Status.TIMEOUT), {}, None),
        (candidate("source", 6.0), {}, None),
    ],
)
def test_a_failing_program_is_repaired_once(
    failed: Candidate, options: dict[str, Any], attempts: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_run(results={"source": failed}, repaired=None, **options)
    run.repaired = candidate("repaired", 5.0)
    tried = attempt(run, DRAFT, monkeypatch)
    assert [entry for entry in run.course if entry[0] == "debug"] == (
        [] if attempts is None else [("debug", "source", attempts)]
    )
    titled = [text.partition(" ")[0] for text in noted(run, TITLE)]
    assert titled == [program_mark("source"), *([] if attempts is None else [program_mark("repaired")])]
    if attempts is not None:
        assert tried.outcome == "score 5"
        assert account_of(run, "repaired") is not None
    elif failed.score is None:
        assert tried.outcome.startswith(str(failed.evaluation.status))
        assert noted(run, ACCOUNT) == []


def test_a_program_that_ran_out_of_time_is_scored_with_less_work(monkeypatch: pytest.MonkeyPatch) -> None:
    metrics = {"heuristic_seconds": 10.0, "instances_done": 8, "instances_planned": 10}
    late = candidate(WORKING.replace("= 3", "= 100"), status=Status.TIMEOUT, metrics=metrics)
    # 80 % of 10 s, at 10 s for 8 of 10 instances.
    lowered = WORKING.replace("= 3", "= 64")
    run = make_run(results={late.source: late, lowered: candidate(lowered, 4.0)})
    tried = attempt(run, replace(DRAFT, source=late.source), monkeypatch)
    assert [entry[0] for entry in run.course] == ["calibrate", "evaluate", "evaluate"]
    assert run.course[2] == ("evaluate", lowered, ["1.0", "2.0"], "code", 4)
    assert tried.outcome == "score 4"
    assert noted(run, TITLE)[-1] == f"{program_mark(lowered)} title"


@pytest.mark.parametrize(
    ("metrics", "status", "limit_s", "lowers"),
    [
        ({}, Status.TIMEOUT, 10.0, True),
        ({}, Status.ERROR, 10.0, False),
        ({}, Status.TIMEOUT, None, False),
        ({"instances_done": 0}, Status.TIMEOUT, 10.0, False),
        ({"instances_planned": "10"}, Status.TIMEOUT, 10.0, False),
        ({"heuristic_seconds": "10"}, Status.TIMEOUT, 10.0, False),
        ({"heuristic_seconds": 10}, Status.TIMEOUT, 10.0, True),
        ({"places_seconds": {"20": 9.0}}, Status.TIMEOUT, 10.0, True),
    ],
)
def test_work_is_lowered_where_its_time_and_its_share_are_known(
    metrics: dict[str, Any], status: Status, limit_s: float | None, lowers: bool
) -> None:
    known = {"heuristic_seconds": 10.0, "instances_done": 8, "instances_planned": 10}
    late = candidate(WORKING.replace("= 3", "= 100"), status=status, metrics=known | metrics)
    lowered = acting._lower_work(make_run(limit_s=limit_s), late)
    assert (lowered != "") == lowers
    if "places_seconds" in metrics:
        # One second does not depend on the work: (8 - 1) * 0.8 / 9 of it remain.
        assert "= 62 " in lowered


@pytest.mark.parametrize(
    ("status", "done", "share", "worth"),
    [
        (Status.ERROR, 0, None, True),
        (Status.OK, 10, 0.5, False),
        (Status.SCREENED, 10, 0.5, False),
        (Status.TIMEOUT, 5, 0.5, True),
        (Status.TIMEOUT, 4, 0.5, False),
        (Status.TIMEOUT, 9, None, False),
        (Status.TIMEOUT, None, 0.5, False),
    ],
)
def test_a_repair_is_worth_its_call_where_the_program_nearly_ended(
    status: Status, done: int | None, share: float | None, worth: bool
) -> None:
    metrics = {"instances_done": done, "instances_planned": 10}
    assert acting._is_worth_repair(Evaluation(status, metrics=metrics), share) is worth


@pytest.mark.parametrize("at", [0, 1])
def test_a_budget_that_ends_leaves_the_outcome_so_far(at: int, monkeypatch: pytest.MonkeyPatch) -> None:
    over = BudgetExhausted("none left")
    metrics = {"heuristic_seconds": 10.0, "instances_done": 8, "instances_planned": 10}
    late = candidate(WORKING.replace("= 3", "= 100"), status=Status.TIMEOUT, message="late", metrics=metrics)
    results: dict[str, Any] = {late.source: late, WORKING.replace("= 3", "= 64"): over} if at else {late.source: over}
    run = make_run(results=results)
    tried = attempt(run, replace(DRAFT, source=late.source), monkeypatch)
    assert tried.report == ""
    assert ("late" in tried.outcome) == bool(at)
    assert tried.outcome
    assert noted(run, ACCOUNT) == []


# --- probes ----------------------------------------------------------------------------------------------------------


def test_a_probe_is_run_and_described(monkeypatch: pytest.MonkeyPatch) -> None:
    run = make_run()

    async def probe(source: str, parents: Sequence[str], call: int) -> Candidate:
        run.course.append(("probe", source, [*parents], call))
        return candidate(source, 2.0, log="seen\n")

    run.experiments.probe = probe
    tried = attempt(run, replace(DRAFT, is_probe=True), monkeypatch, label="5.1")
    assert run.course == [("probe", "source", ["1.0", "2.0"], 4)]
    assert tried.outcome == ""
    assert all(part in tried.report for part in ("Probe 5.1", "'title'", "scored 2 ", "scores 3", "seen"))
    assert noted(run, TITLE) == []


def describe(found: Candidate, best: float | None = 3.0, **changes: Any) -> str:
    return acting._describe_probe(make_run(**changes), DRAFT, "5.1", found, best)


def test_a_probe_without_a_score_is_told_with_its_failure() -> None:
    failed = candidate("p", message="no more", log="before", traceback="line 3")
    for changes in ({}, {"instances": Subset()}):
        told = describe(failed, **changes)
        assert told.endswith("printed:\nbefore\nerror: no more\nline 3")
    assert describe(candidate("p", message="no more", log="before")).endswith("printed:\nbefore\nerror: no more")
    silent = describe(candidate("p", message="no more", log=" \n"))
    assert silent.endswith("printed:\nerror: no more")


def test_a_probe_on_training_instances_has_output_but_no_score() -> None:
    told = describe(candidate("p", 2.0, log="seen"), instances=Subset())
    assert told.endswith("printed:\nseen")
    assert "scored" not in told
    assert describe(candidate("p", 2.0), instances=Subset()).endswith("(nothing)")
    long = describe(candidate("p", 2.0, log="x" * 9000))
    assert long.count("x") <= acting.MEASURED


def test_a_score_of_a_probe_is_compared_with_the_best_program() -> None:
    assert "3" in describe(candidate("p", 2.0)).partition("practice instances")[2]
    alone = describe(candidate("p", 2.0), None)
    assert alone.endswith("practice instances.")


def test_the_time_of_a_probe_is_scaled_to_the_instances_of_a_score() -> None:
    best = elite("0.0", 9.0, SEED, instances_done=40)
    metrics = {"heuristic_seconds": 1.0, "instances_done": 8}

    def describe_time(limit_s: float | None = 10.0, best: Elite = best, **more: Any) -> str:
        return acting._describe_practice_time(
            make_run(best, limit_s=limit_s), Evaluation(Status.OK, 1.0, metrics=metrics | more)
        )

    told = describe_time()
    assert all(part in told for part in ("about 1 s", "8 instances", "about 5 s", "10 s"))
    late = describe_time(5.2)
    # 5 s are more than 95 % of 5.2 s.
    assert late.removeprefix(describe_time(5.3).replace("5.3", "5.2"))
    assert len(late) > len(describe_time(5.3))
    assert "about 5 s" in describe_time(None)
    assert "10 s" not in describe_time(None)
    assert "when it is scored" not in describe_time(best=elite("0.0", 9.0, SEED))
    assert "10 s" not in describe_time(best=elite("0.0", 9.0, SEED))
    assert "20 about" in describe_time(places_seconds={"20": 0.3, "50": 0.7})
    assert describe_time(heuristic_seconds=None) == ""
    assert describe_time(instances_done=None) == ""
    assert describe_time(instances_done=8.0) == ""


def test_the_arrays_that_a_probe_kept_are_named() -> None:
    def describe_kept(listed: Any) -> str:
        run = make_run()
        notes = {"a": KeptNote(5, "a", "digest a", "<f8", (2,)), "b": KeptNote(5, "b", "digest b", "<f8", (2,))}
        run.experiments.list_arrays = lambda: notes
        return acting._describe_kept(run, Evaluation(Status.OK, 1.0, metrics={KEPT_METRIC: listed}))

    listed = {"a": ["digest a", "<f8", [2]], "b": ["other", "<f8", [2]], "c": ["digest c", "<f8", [2]]}
    assert describe_kept(listed).endswith("arrays a.")
    assert describe_kept({"c": ["digest c", "<f8", [2]]}) == ""
    assert "too large" in describe_kept("too large")
    assert describe_kept(None) == ""
    run = make_run()
    run.experiments.list_arrays = lambda: {"a": KeptNote(5, "a", "digest a", "<f8", (2,))}
    found = candidate("p", 2.0, log="seen", metrics={KEPT_METRIC: {"a": ["digest a", "<f8", [2]]}})
    assert acting._describe_probe(run, DRAFT, "5.1", found, None).endswith("seen\nIt kept the arrays a.")


@pytest.mark.parametrize("error", [None, ConfigError("used up"), CandidateError("another frame")])
def test_the_best_program_is_measured_beside_probes_on_practice_instances(error: Exception | None) -> None:
    best = elite("2.0", 1.0)
    for instances in (ON_PRACTICE, Subset()):
        run = make_run(elite("0.0", 9.0, SEED), best, instances=instances)
        asked: list[Any] = []

        async def probe_train(source: str, subset: Subset, asked: list[Any] = asked) -> Any:
            asked.append((source, subset))
            if error:
                raise error
            return SimpleNamespace(score=2.5)

        run.experiments.probe_train = probe_train
        found = asyncio.run(acting._practice_score(run))
        on_practice = instances is ON_PRACTICE
        assert asked == [(best.source, ON_PRACTICE)] * on_practice
        assert found == (2.5 if on_practice and error is None else None)


# --- a call as a whole -----------------------------------------------------------------------------------------------


class Dialogue:
    """Replies in turn, each as the parts that are read from it; parts have their results by their titles."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *replies: list[ProgramDraft] | str) -> None:
        self.replies = list(replies)
        self.texts = ["LESSON: learned.\n```python\ncode\n```"] * len(replies)
        self.requests: list[Any] = []
        self.asked: list[Any] = []
        self.tried: list[Any] = []
        self.repaired: dict[str, ProgramDraft] = {}
        self.parts: dict[str, acting._TriedPart] = {}
        monkeypatch.setattr(acting, "describe_example", self.describe_example)
        monkeypatch.setattr(acting, "write_prompt", self.write_prompt)
        monkeypatch.setattr(acting, "task_messages", lambda run, text: [text])
        monkeypatch.setattr(acting, "ask_and_read", self.ask_and_read)
        monkeypatch.setattr(acting, "read_drafts", self.read_drafts)
        monkeypatch.setattr(acting, "library_programs", lambda run: ["library"])
        monkeypatch.setattr(acting, "shown_text", lambda run, one: f"shown {one.id}")
        monkeypatch.setattr(acting, "_repair_drafts", self.repair_drafts)
        monkeypatch.setattr(acting, "_try_draft", self.try_draft)
        monkeypatch.setattr(acting, "_practice_score", self.practice_score)
        self.measured = 0

    async def describe_example(self, run: Any) -> str:
        return "example"

    def write_prompt(self, run: Any, request: Any) -> str:
        self.requests.append(request)
        return "prompt"

    def read_drafts(self, run: Any, text: str, **options: Any) -> Any:
        return options

    async def ask_and_read(
        self, run: Any, role: str, messages: Any, read: Any, complain: Any, temperature: float | None
    ) -> Any:
        self.asked.append((role, messages, temperature, read("text")))
        at = len(self.asked) - 1
        found = self.replies[at]
        reply = SimpleNamespace(text=self.texts[at], call=10 + at)
        run.reply_problems.append("")
        if isinstance(found, str):
            return ModelAnswer(None, (reply,), found)
        return ModelAnswer(found, (reply,), "")

    async def repair_drafts(self, run: Any, drafts: Any, call: int, base: Any, read: Any) -> Any:
        self.base = base
        assert read("text")["libraries"] == ["library"]
        return [self.repaired.get(draft.title, draft) for draft in drafts], [call + at for at in range(len(drafts))]

    async def try_draft(self, run: Any, draft: ProgramDraft, **options: Any) -> acting._TriedPart:
        self.tried.append((draft.title, options))
        default = acting._TriedPart("Probe x" if draft.is_probe else "", "" if draft.is_probe else "score 1")
        return self.parts.get(draft.title, default)

    async def practice_score(self, run: Any) -> float | None:
        self.measured += 1
        return 2.5


def draft(title: str, **changes: Any) -> ProgramDraft:
    return ProgramDraft(title, "", f"source {title}", "text", **changes)


BEST = elite("2.0", 1.0)


def write(run: Any, action: ActionKind = ActionKind.EDIT) -> None:
    asyncio.run(acting._write_programs(run, action, BEST))


def test_a_call_asks_its_role_and_tries_each_program(monkeypatch: pytest.MonkeyPatch) -> None:
    dialogue = Dialogue(monkeypatch, [draft("a"), draft("b")])
    run = make_run(BEST, programs=2, islands=3)
    write(run)
    ((role, messages, temperature, options),) = dialogue.asked
    assert (role, messages, temperature) == ("experiment", ["prompt"], None)
    assert options == {"base": "shown 2.0", "limit": 4, "probes": {}, "libraries": ["library"]}
    (request,) = dialogue.requests
    assert (request.action, request.parents, request.count, request.measured, request.example) == (
        ActionKind.EDIT, [BEST], 2, "", "example",
    )  # fmt: skip
    shared = {"parents": [BEST], "role": "experiment", "beside": None, "label": ""}
    assert dialogue.tried == [("a", {**shared, "call": 10}), ("b", {**shared, "call": 11})]
    assert run.forks == [(2, [])]
    assert noted(run, acting.OUTCOME_NOTE) == ["- 'a': score 1\n- 'b': score 1"]
    assert noted(run, acting.MEASURED_NOTE) == []
    assert noted(run, LESSON) == ["learned."]
    assert run.reply_problems == ["", "", ""]
    assert dialogue.measured == 0


@pytest.mark.parametrize(
    ("action", "role", "temperature"),
    [
        (ActionKind.OPENING, "idea", 0.75),
        (ActionKind.IDEA, "idea", 0.75),
        (ActionKind.RESTART, "idea", 0.75),
        (ActionKind.CROSSOVER, "code", 0.25),
    ],
)
def test_each_action_has_its_role_and_the_opening_fills_the_islands(
    action: ActionKind, role: str, temperature: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    dialogue = Dialogue(monkeypatch, [draft("a"), draft("b"), draft("c"), draft("d")])
    run = make_run(BEST, elite("1.0", 5.0), islands=3)
    write(run, action)
    assert dialogue.asked[0][0] == role
    assert dialogue.asked[0][2] == temperature
    assert dialogue.base == (None if action is ActionKind.RESTART else "shown 2.0")
    assert dialogue.asked[0][3]["base"] == dialogue.base
    count = 4 if action is ActionKind.OPENING else 3
    assert run.forks == [(count, [0, 1, 2, 0] if action is ActionKind.OPENING else [])]


def test_programs_beyond_the_number_are_not_tried_but_probes_are(monkeypatch: pytest.MonkeyPatch) -> None:
    drafts = [draft("a"), draft("p", is_probe=True), draft("b"), draft("c")]
    dialogue = Dialogue(monkeypatch, drafts)
    run = make_run(BEST, programs=2)
    write(run)
    assert [title for title, _ in dialogue.tried] == ["a", "p", "b"]
    assert [options["label"] for _, options in dialogue.tried] == ["", "5.1", ""]
    assert {options["beside"] for _, options in dialogue.tried} == {2.5}
    lines = noted(run, acting.OUTCOME_NOTE)[0].split("\n")
    assert [line.partition(":")[0] for line in lines] == ["- 'c'", "- 'a'", "- 'b'"]
    assert "2" in lines[0]
    # A program came with the probe, so no further reply is asked for.
    assert len(dialogue.asked) == 1
    assert noted(run, acting.MEASURED_NOTE) == ["Probe x"]


def test_replies_with_probes_alone_are_answered_up_to_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    probes = [draft("p", is_probe=True)]
    memory = [RoundNote(4, acting.MEASURED_NOTE, "earlier"), RoundNote(4, acting.OUTCOME_NOTE, "- 'x': bad")]
    dialogue = Dialogue(monkeypatch, *[probes] * 9)
    run = make_run(BEST, memory=memory)
    write(run)
    assert len(dialogue.asked) == acting.MAX_ROUND_CALLS
    assert dialogue.measured == 1
    assert [request.measured.count("Probe x") for request in dialogue.requests] == [0, 1, 2, 3]
    assert all("earlier" in request.measured for request in dialogue.requests)
    assert all("- 'x': bad" in request.measured for request in dialogue.requests)
    assert [sorted(asked[3]["probes"]) for asked in dialogue.asked] == [
        [], ["5.1"], ["5.1", "5.2"], ["5.1", "5.2", "5.3"],
    ]  # fmt: skip
    # Only the last result is new to the next prompt.
    assert noted(run, acting.MEASURED_NOTE) == ["Probe x"]
    assert noted(run, acting.OUTCOME_NOTE) == []
    plain = Dialogue(monkeypatch, *[probes] * 9)
    write(make_run(BEST, practice=None, memory=memory))
    assert len(plain.asked) == 2
    assert ["earlier" in request.measured for request in plain.requests] == [False, False]
    assert ["Probe x" in request.measured for request in plain.requests] == [False, True]


def test_a_probe_that_shows_nothing_ends_the_round(monkeypatch: pytest.MonkeyPatch) -> None:
    dialogue = Dialogue(monkeypatch, *[[draft("p", is_probe=True)]] * 9)
    dialogue.parts["p"] = acting._TriedPart("", "not scored, because the budget was used up")
    run = make_run(BEST)
    write(run)
    assert len(dialogue.asked) == 1
    assert noted(run, acting.OUTCOME_NOTE)


def test_a_reply_that_cannot_be_used_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    dialogue = Dialogue(monkeypatch, [draft("p", is_probe=True)], "no program")
    run = make_run(BEST)
    write(run)
    assert run.course == [("reject", dialogue.texts[0], "no program", ["2.0"], "experiment", 11)]
    assert "no program" in noted(run, acting.OUTCOME_NOTE)[0]
    # The prompt of the second call has shown the result of the probe.
    assert noted(run, acting.MEASURED_NOTE) == []


@pytest.mark.parametrize(("text", "works"), [("PROGRAM: a", False), ("def guess(x):", True)])
def test_a_reply_of_titles_does_not_show_that_the_model_works(
    text: str, works: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = ProgramDraft("a", "", "", "", "no code")
    dialogue = Dialogue(monkeypatch, [broken])
    dialogue.texts = [text]
    run = make_run(BEST)
    write(run)
    assert run.reply_problems == ["", "", "" if works else "no code"]
    assert noted(run, LESSON) == []
    mixed = Dialogue(monkeypatch, [broken, draft("b")])
    mixed.texts = [text]
    run = make_run(BEST)
    write(run)
    assert run.reply_problems == ["", "", ""]


def test_a_sweep_line_that_was_not_followed_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    dialogue = Dialogue(monkeypatch, [draft("a", remark="OTHER is no number"), draft("b")])
    run = make_run(BEST)
    write(run)
    (line,) = run.told
    assert "OTHER is no number" in line
    assert "'a'" in line
    assert "5" in line
    first, second = noted(run, acting.OUTCOME_NOTE)[0].split("\n")
    assert first.startswith("- 'a': score 1; ")
    assert first.endswith("OTHER is no number")
    assert second == "- 'b': score 1"
    assert dialogue.tried


def test_a_repaired_part_counts_in_place_of_the_first_one(monkeypatch: pytest.MonkeyPatch) -> None:
    dialogue = Dialogue(monkeypatch, [ProgramDraft("a", "", "", "text", "broken")])
    dialogue.repaired = {"a": draft("a")}
    dialogue.texts = ["PROGRAM: a"]
    run = make_run(BEST)
    write(run)
    assert run.reply_problems == ["", "", ""]
    assert noted(run, acting.OUTCOME_NOTE) == ["- 'a': score 1"]


@pytest.mark.parametrize(
    ("window", "turn", "shown", "number"), [(2, 1, 2, 1), (2, 2, 2, 2), (2, 3, 2, 1), (5, 4, 3, 1), (3, 3, 3, 3)]
)
def test_calls_that_run_at_the_same_time_have_directions_of_their_own(
    window: int, turn: int, shown: int, number: int
) -> None:
    run = make_run(window=window)
    run.turn = turn
    text = action_prompt.describe_siblings(run, ["a", "b", "c"])
    assert text == "or_agent_wave_siblings\n\n"
    ((_, _, values),) = run.filled
    assert values["directions"] == "\n".join(["1. a", "2. b", "3. c"][:shown])
    assert (values["count"], values["number"]) == (window, number)
    alone = make_run(window=1)
    assert action_prompt.describe_siblings(alone, ["a", "b"]) == ""
