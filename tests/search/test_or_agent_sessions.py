"""Sessions of experiments on one solution: what each action changes, keeps and teaches, and what prompts offer."""

import asyncio
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from oragent._base.budget import Spent
from oragent._base.direction import Direction
from oragent._base.protocol import Status
from oragent.evaluation import Evaluation
from oragent.evaluation.problem import CandidateInput
from oragent.llm.dialogue import ModelAnswer
from oragent.programs.blocks import NEAREST
from oragent.search.archive import Archive
from oragent.search.candidate import Candidate, Elite
from oragent.search.experiments import MIN_S, PRACTICE, Subset
from oragent.search.journal import Moment
from oragent.search.prompting.search_summary import LESSON, TITLE, program_mark
from oragent.search.store import RoundNote
from oragent.search.strategies.constants import Constant, Range
from oragent.search.strategies.or_agent import experiments as sessions
from oragent.search.strategies.or_agent.actions import ExperimentAction
from oragent.search.strategies.or_agent.experiments import ExperimentSession
from oragent.search.strategies.or_agent.settings import AgentSettings
from oragent.search.strategies.or_agent.tree import ACCOUNT, ExperimentStep, Idea, account_of

IDEA = Idea("closer", "Go nearer.")
BASE = "A = 4.0  # param: A = 4.0, 0..10\n\ndef guess(x):\n    return x * 2.5 + A\n"


def candidate(source: str, score: float | None = None, status: Status = Status.ERROR, **details: Any) -> Candidate:
    evaluation = Evaluation(status if score is None else Status.OK, score, **({"wall_s": 0.1} | details))
    return Candidate(
        source=source,
        fingerprint=f"print of {source}",
        parents=(),
        origin="code",
        island=0,
        call=0,
        evaluation=evaluation,
    )


def session(score: float | None = 5.0, source: str = BASE, **changes: Any) -> ExperimentSession:
    latest = candidate(source, score, message="x is no number")
    best = None if score is None else Elite.of(latest)
    return ExperimentSession(IDEA, changes.pop("parents", ()), latest, best, **changes)


class Round(SimpleNamespace):
    """A round without an engine; templates are filled with their name, style and values."""

    def note(self, kind: str, text: str) -> None:
        self.notes.append(RoundNote(self.number, kind, text))

    def publish(self, kind: str, text: str, label: str) -> None:
        self.published.append((kind, text, label))

    def temperature(self, role: str) -> float | None:
        return {"experiment": 0.5}.get(role)

    def fill_template(self, name: str, style: str = "", /, **values: Any) -> str:
        self.filled.append((name, style, values))
        return f"<{name}>"

    async def evaluate(self, source: str, parents: Sequence[str], origin: str) -> Candidate:
        self.course.append(("evaluate", source, [*parents], origin))
        return self.results[source]


def make_run(**changes: Any) -> Any:
    settings = {name: value for name, value in changes.items() if name in AgentSettings.__dataclass_fields__}
    given: dict[str, Any] = {"style": "strong", "cpu_s": 100.0, "hooks": {}, "results": {}, "allowed": 30}
    given |= {name: value for name, value in changes.items() if name not in settings}
    signature = SimpleNamespace(shown="guess(x)", language="python")
    return Round(
        archive=Archive(Direction.MINIMIZE), own=AgentSettings(**settings), number=3, notes=[], written=(), memory=(),
        moment=Moment(), published=[], filled=[], course=[], style=given["style"], results=given["results"],
        case=SimpleNamespace(allowance=Spent(evaluations=given["allowed"])), used=Spent(evaluations=10),
        problem=SimpleNamespace(
            about=SimpleNamespace(function="guess", sizes={"val": [20]}, input=CandidateInput.ARGUMENTS),
            signature=signature,
        ),
        settings=SimpleNamespace(strategy=SimpleNamespace(features=True)), history=[],
        experiments=SimpleNamespace(
            cpu_s_left=given["cpu_s"], hooks=given["hooks"], instances=Subset((), "8", PRACTICE), probe=None
        ),
    )  # fmt: skip


def noted(run: Any, kind: str) -> list[str]:
    return [note.text for note in run.notes if note.kind == kind]


# --- the session -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("score", "status", "wall_s", "setting", "begins"),
    [
        (5.0, Status.OK, 0.1, "never", True),
        (None, Status.ERROR, 0.1, "never", False),
        (None, Status.ERROR, 0.1, "timeout", False),
        (None, Status.ERROR, 0.1, "always", True),
        (None, Status.TIMEOUT, 0.1, "never", False),
        (None, Status.TIMEOUT, 0.1, "timeout", True),
        (None, Status.REJECTED, 0.0, "always", False),
    ],
)
def test_experiments_begin_from_a_program_that_ran(
    score: float | None, status: Status, wall_s: float, setting: str, begins: bool
) -> None:
    latest = candidate(BASE, score, status, wall_s=wall_s)
    found = ExperimentSession(IDEA, (), latest, None if score is None else Elite.of(latest))
    assert found.may_begin(setting) is begins


def test_a_session_begins_with_its_score_and_changes_the_best_or_the_failing_program() -> None:
    good, failing = session(), session(None)
    assert (good.begun, failing.begun) == (5.0, None)
    assert good.base is good.best
    assert failing.base is failing.latest
    repaired = candidate("repaired", 3.0)
    failing.mend(repaired)
    assert failing.latest is repaired
    assert failing.best is not None
    assert (failing.best.score, failing.begun) == (3.0, None)
    failing.mend(candidate("again"))
    assert failing.best is None


def test_the_idea_of_a_program_has_the_changes_that_led_to_it() -> None:
    found = session()
    found.changes["later"] = ["edit: more", "tune: A"]
    assert found.changed_idea("other") == IDEA
    changed = found.changed_idea("later")
    assert changed.title == IDEA.title
    assert changed.text.startswith(IDEA.text)
    assert "edit: more; tune: A" in changed.text


@pytest.mark.parametrize(("limit", "acts"), [(0, 0), (2, 2), (9, 4)])
def test_experiments_go_on_to_the_limit_or_until_the_model_stops(
    limit: int, acts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    kinds = iter(("edit", "probe", "instrument", "sweep", "stop", "edit"))
    remaining: list[int] = []
    course: list[str] = []

    async def choose(run: Any, found: ExperimentSession, left: int) -> ExperimentAction:
        remaining.append(left)
        return ExperimentAction(next(kinds), "")

    async def probe(run: Any, found: ExperimentSession, action: ExperimentAction) -> None:
        course.append(f"measure {action.kind}")

    async def change(run: Any, found: ExperimentSession, action: ExperimentAction) -> None:
        course.append(f"change {action.kind}")

    monkeypatch.setattr(sessions, "_choose_action", choose)
    monkeypatch.setattr(sessions, "_run_probe", probe)
    monkeypatch.setattr(sessions, "_change_solution", change)
    found = session()
    asyncio.run(sessions.run_experiments(make_run(), found, limit))
    assert course == ["change edit", "measure probe", "measure instrument", "change sweep"][:acts]
    assert remaining == [limit - number for number in range(acts + (limit > 4))]
    assert found.is_over == (limit > 4)


@pytest.mark.parametrize("score", [4.0, None])
def test_a_session_ends_with_a_report_that_its_program_keeps(
    score: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []

    async def ask_report(run: Any, idea: Idea, start: str, end: str, steps: Any) -> str:
        asked.append((idea, start, end, list(steps)))
        return "the report"

    monkeypatch.setattr(sessions, "ask_report", ask_report)
    run, empty = make_run(), session()
    asyncio.run(sessions.conclude_session(run, empty))
    assert (asked, empty.report, run.notes) == ([], "", [])
    found = session(score)
    found.steps = [
        ExperimentStep("edit", "a", "score 5", True, "first"),
        ExperimentStep("edit", "b", "score 4", True, "second"),
        ExperimentStep("edit", "c", "score 9", False, "third"),
    ]
    asyncio.run(sessions.conclude_session(run, found))
    assert found.report == "the report"
    assert asked[0][0] is IDEA
    assert len(asked[0][3]) == 3
    account = account_of(run, BASE)
    if score is None:
        assert account is None
    else:
        assert account is not None
        assert (account.idea, account.report, account.lesson) == (IDEA.account, "the report", "second")


def test_scores_of_a_session_are_told_with_a_verdict() -> None:
    run = make_run()
    better, worse, failing, mended = session(5.0), session(5.0), session(None), session(None)
    better.best = Elite.of(candidate("b", 4.0))
    worse.best = Elite.of(candidate("b", 6.0))
    mended.mend(candidate("m", 7.0))
    assert sessions._describe_scores(run, better) == ("5", "4, better")
    assert sessions._describe_scores(run, worse) == ("5", "6, worse")
    start, end = sessions._describe_scores(run, failing)
    assert "x is no number" in end
    assert start == sessions._describe_scores(run, mended)[0] != "None"
    assert sessions._describe_scores(run, mended)[1] == "7"


def test_the_best_of_several_candidates_counts_or_the_first_failure() -> None:
    run = make_run()
    failed, other = candidate("f"), candidate("o")
    good, better = candidate("g", 5.0), candidate("b", 4.0)
    assert sessions._best_candidate(run, [failed, good, better, other]) is better
    assert sessions._best_candidate(run, [better, good, candidate("equal", 4.0)]) is better
    assert sessions._best_candidate(run, [failed, other]) is failed
    assert sessions._best_candidate(run, []) is None


# --- the choice of an action -----------------------------------------------------------------------------------------


def choose(
    run: Any, found: ExperimentSession, monkeypatch: pytest.MonkeyPatch, text: str = "", value: Any = None
) -> tuple[ExperimentAction, Any]:
    asked: dict[str, Any] = {}

    async def ask_and_read(
        run: Any, role: str, messages: Any, read: Any, complain: Any, temperature: float | None
    ) -> Any:
        asked.update(role=role, messages=messages, read=read, complain=complain, temperature=temperature)
        return ModelAnswer(value, (SimpleNamespace(text=text, call=1),), "no action")

    def write_prompt(run: Any, found: ExperimentSession, offered: Any, remaining: int) -> str:
        asked.update(offered=list(offered), remaining=remaining)
        return "prompt"

    monkeypatch.setattr(sessions, "ask_and_read", ask_and_read)
    monkeypatch.setattr(sessions, "write_prompt", write_prompt)
    monkeypatch.setattr(sessions, "task_messages", lambda run, prompt: [prompt])
    return asyncio.run(sessions._choose_action(run, found, 6)), asked


@pytest.mark.parametrize(
    ("changes", "score", "offers"),
    [
        ({}, 5.0, True),
        ({}, None, False),
        ({"tuning_evaluations": 0}, 5.0, False),
        ({"allowed": 13}, 5.0, True),
        ({"allowed": 12}, 5.0, False),
    ],
)
def test_constants_are_offered_if_evaluations_are_left_to_tune_them(
    changes: dict[str, Any], score: float | None, offers: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_run(**changes)
    action, asked = choose(run, session(score), monkeypatch)
    assert bool(asked["offered"]) == offers
    assert (asked["role"], asked["messages"], asked["temperature"], asked["remaining"]) == (
        "experiment", ["prompt"], 0.5, 6,
    )  # fmt: skip
    # A reply without an action ends the session.
    assert (action.kind, action.thought) == ("stop", "no action")
    assert asked["read"].keywords["source"] == BASE
    assert asked["read"].keywords["constants"] == asked["offered"]
    assert asked["complain"].keywords["base"] == BASE
    given = ExperimentAction("edit", "try")
    assert choose(run, session(score), monkeypatch, value=given)[0] is given


@pytest.mark.parametrize("better", [True, False])
@pytest.mark.parametrize("score", [5.0, None])
def test_a_lesson_in_the_reply_belongs_to_the_last_experiment(
    better: bool, score: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, found = make_run(), session(score)
    found.steps = [ExperimentStep("edit", "a", "score 4", better)]
    choose(run, found, monkeypatch, "LESSON: nearer is better\nACTION: STOP")
    assert found.steps == [ExperimentStep("edit", "a", "score 4", better, "nearer is better")]
    ((kind, text, label),) = run.published
    assert kind == LESSON
    assert all(part in text for part in ("closer", "a", "score 4", "nearer is better"))
    assert label == "closer~1"
    account = account_of(run, BASE)
    assert (account is not None) == (better and score is not None)
    if account is not None:
        assert account.lesson == "nearer is better"
    # A lesson that is known already is not replaced.
    choose(run, found, monkeypatch, "LESSON: another\nACTION: STOP")
    assert found.steps[0].lesson == "nearer is better"
    assert len(run.published) == 1
    fresh = session(score)
    choose(run, fresh, monkeypatch, "LESSON: of nothing\nACTION: STOP")
    assert fresh.steps == []


def test_a_lesson_for_other_branches_is_cut() -> None:
    run, found = make_run(), session()
    found.steps = [ExperimentStep("edit", "a\nb", "score 4", True, "long " * 200)]
    sessions._publish_lesson(run, found)
    ((_, text, _),) = run.published
    assert len(text) == sessions.MAX_PUBLISHED
    assert "a b" in text


# --- prompts ---------------------------------------------------------------------------------------------------------

LONG = "def guess(x):\n" + "".join(f"    a{number} = 1\n" for number in range(sessions.SHORT - 1)) + "    return 1\n"


@pytest.mark.parametrize(
    ("style", "base", "written"),
    [("small", BASE, True), ("strong", BASE, False), ("small", LONG, False)],
)
def test_small_models_write_out_short_programs(style: str, base: str, written: bool) -> None:
    run = make_run(style=style)
    assert sessions._written_out(run, base) is written
    assert sessions._written_out(run, LONG.replace("    a1 = 1\n", "")) is (style == "small")
    for problem, whole in (("no action", written), (f"no match {NEAREST}", False)):
        sessions._repair_request(run, problem, base)
        name, shape_style, values = run.filled[-1]
        assert name == "or_agent_experiment_repair"
        assert shape_style == ("small" if whole else "strong")
        assert (values["problem"], values["signature"]) == (problem, "guess(x)")
        assert "python" in values["shape"]


@pytest.mark.parametrize(
    ("setting", "style", "own"),
    [("auto", "small", True), ("auto", "strong", False), ("own", "strong", True), ("same", "small", False)],
)
def test_lessons_have_calls_of_their_own_for_small_models(setting: str, style: str, own: bool) -> None:
    run = make_run(reflection_calls=setting, style=style)
    assert sessions.own_calls(run) is own
    for kinds in (["edit"], ["probe"], ["probe", "edit"], ["edit", "probe"], ["probe", "probe", "edit"]):
        found = session()
        found.steps = [ExperimentStep(kind, "a", "score 4", True) for kind in kinds]
        sessions._reply_format(run, found)
        values = run.filled[-1][2]
        assert bool(values["lesson"]) == (kinds[-1] == "edit" and not own)
        assert "python" in values["shape"]
    sessions._reply_format(run, session())
    name, _, values = run.filled[-1]
    assert values["lesson"] == ""
    assert values["line"] == "    return x * 2.5 + A"
    assert name.endswith("whole" if style == "small" else "lines")


def test_constants_are_offered_with_the_cost_of_a_tuning() -> None:
    first = Constant(0, 2.5, False, "    return x * 2.5 + A")
    declared = Constant(1, 4.0, False, BASE.split("\n")[0], "A", 0.0, 10.0)
    assert sessions._tuning_action(make_run(), []) == ""
    for allowed, cost in ((30, 20), (99, 24)):
        run = make_run(allowed=allowed)
        assert sessions._tuning_action(run, [first, declared]) == "<or_agent_experiment_tune>\n"
        ((_, _, values),) = run.filled
        assert values["cost"] == cost
        around = Range.around(first)
        assert (values["first"], values["low"], values["high"]) == ("c0", f"{around.low:g}", f"{around.high:g}")
        lines = values["constants"].split("\n")
        assert all(part in lines[0] for part in ("c0 = 2.5", "return x * 2.5"))
        assert all(part in lines[1] for part in ("A = 4", "0", "10"))


@pytest.mark.parametrize(
    ("changes", "score", "source", "offers"),
    [
        ({}, 5.0, BASE, True),
        ({"style": "small"}, 5.0, BASE, False),
        ({}, None, BASE, False),
        ({}, 5.0, BASE.replace("param", "note"), False),
        ({"cpu_s": MIN_S}, 5.0, BASE, True),
        ({"cpu_s": MIN_S - 0.01}, 5.0, BASE, False),
    ],
)
def test_sweeps_are_offered_for_declared_numbers(
    changes: dict[str, Any], score: float | None, source: str, offers: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "sweep_seconds", lambda run: "time")
    run = make_run(**changes)
    assert (sessions._sweep_action(run, session(score, source)) != "") == offers
    if offers:
        values = run.filled[-1][2]
        assert (values["name"], values["low"], values["high"], values["left"]) == ("A", "0", "10", "time")


def test_observers_are_offered_where_the_evaluator_has_hooks() -> None:
    hooks = {"step": "the state", "end": "the result"}
    run = make_run(hooks=hooks)
    assert sessions._observer_action(run)
    assert [line.strip() for line in run.filled[0][2]["hooks"].split("\n")] == [
        "`step`: the state",
        "`end`: the result",
    ]
    assert sessions._observer_action(make_run()) == ""
    assert sessions._observer_action(make_run(hooks=hooks, instrument=False)) == ""


# --- measurements ----------------------------------------------------------------------------------------------------


def measure(run: Any, found: ExperimentSession, kind: Any, result: Candidate) -> list[Any]:
    asked: list[Any] = []

    async def probe(source: str, parents: Sequence[str], *, observer: str = "") -> Candidate:
        asked.append((source, [*parents], observer))
        return result

    run.experiments.probe = probe
    asyncio.run(sessions._run_probe(run, found, ExperimentAction(kind, "look", "given text")))
    return asked


def test_a_probe_shows_what_it_printed_and_changes_nothing() -> None:
    run, found = make_run(), session()
    assert measure(run, found, "probe", candidate("p", 1.0, log="seen\n")) == [("given text", [found.base.id], "")]
    assert found.measured.endswith("printed:\nseen")
    assert found.steps == [ExperimentStep("probe", "look", "it ran", better=False)]
    assert found.best is not None
    assert found.best.score == 5.0
    measure(run, found, "probe", candidate("p", 1.0, log="  "))
    assert found.measured.endswith("(nothing)")


def test_an_observer_watches_the_solution_and_shows_only_its_own_output() -> None:
    run, found = make_run(), session()
    log = f"of the program\n{sessions.TOLD}watched\n"
    assert measure(run, found, "instrument", candidate("p", 1.0, log=log)) == [(BASE, [found.base.id], "given text")]
    assert found.measured.endswith("printed:\nwatched")
    assert "of the program" not in found.measured
    plain = session()
    measure(run, plain, "probe", candidate("p", 1.0, log=log))
    assert "of the program" in plain.measured
    assert found.measured.partition(" printed")[0] != plain.measured.partition(" printed")[0]


def test_a_measurement_that_fails_shows_why() -> None:
    run, found = make_run(), session()
    failed = candidate("p", message="no more", log=f"before\n{sessions.TOLD}watched\n", traceback="line 3")
    measure(run, found, "probe", failed)
    assert all(part in found.measured for part in ("no more", "line 3"))
    assert "watched" not in found.measured
    assert "no more" in found.steps[-1].outcome
    measure(run, found, "instrument", failed)
    assert found.measured.endswith("watched")
    assert "no more" in found.measured


# --- changes ---------------------------------------------------------------------------------------------------------


def change(
    run: Any, found: ExperimentSession, action: ExperimentAction, monkeypatch: pytest.MonkeyPatch, **parts: Any
) -> None:
    async def tune_constants(run: Any, best: Elite, ranges: Any, evaluations: int) -> list[Candidate]:
        run.course.append(("tune", best.id, tuple(ranges), evaluations))
        return parts["tuned"]

    async def sweep_numbers(run: Any, source: str, words: Any, scored: Elite | None) -> Any:
        run.course.append(("sweep", source, words, scored))
        return SimpleNamespace(source=parts["swept"], report="the table")

    async def debug_program(run: Any, failed: Candidate, attempts: int) -> Candidate:
        run.course.append(("debug", failed.source, attempts))
        return parts.get("debugged", failed)

    async def ask_lesson(run: Any, earlier: Any, later: Candidate) -> str:
        run.course.append(("lesson", earlier.source, later.source))
        return "learned"

    monkeypatch.setattr(sessions, "tune_constants", tune_constants)
    monkeypatch.setattr(sessions, "sweep_numbers", sweep_numbers)
    monkeypatch.setattr(sessions, "debug_program", debug_program)
    monkeypatch.setattr(sessions, "ask_lesson", ask_lesson)
    asyncio.run(sessions._change_solution(run, found, action))


@pytest.mark.parametrize(("score", "better"), [(4.0, True), (5.0, False), (6.0, False), (None, False)])
def test_an_edit_becomes_the_solution_if_it_is_better(
    score: float | None, better: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, found = make_run(results={"new": candidate("new", score, message="bad")}), session(measured="old")
    before = found.base
    change(run, found, ExperimentAction("edit", "halve it", "new"), monkeypatch)
    assert run.course == [("evaluate", "new", [before.id], "experiment"), ("debug", "new", 2)]
    (step,) = found.steps
    assert (step.kind, step.change, step.better, step.lesson) == ("edit", "halve it", better, "")
    assert found.latest.source == "new"
    assert found.base.source == ("new" if better else BASE)
    assert found.measured == ("" if better else "old")
    assert (found.changes == {"new": ["edit: halve it"]}) == (score is not None)
    titles = noted(run, TITLE)
    assert [text.partition(" ")[0] for text in titles] == [program_mark("new")] * (score is not None)
    assert all("halve it" in text and "closer" in text for text in titles)
    account = account_of(run, "new")
    assert (account is not None) == (score is not None)
    if account is not None:
        assert "halve it" in account.idea
    assert run.published == []


def test_changes_add_up_and_an_edit_without_words_is_described(monkeypatch: pytest.MonkeyPatch) -> None:
    found = session(source="old line")
    run = make_run(results={"new line": candidate("new line", 4.0), "third": candidate("third", 3.0)})
    change(run, found, ExperimentAction("edit", "", "new line"), monkeypatch)
    assert found.steps[0].change == "-old line\n+new line"
    change(run, found, ExperimentAction("edit", "again", "third"), monkeypatch)
    assert found.changes["third"] == [*found.changes["new line"], "edit: again"]


def test_a_failing_solution_is_repaired_by_experiments(monkeypatch: pytest.MonkeyPatch) -> None:
    run, found = make_run(results={"new": candidate("new", 9.0)}), session(None)
    before = found.base
    change(run, found, ExperimentAction("edit", "mend", "new"), monkeypatch)
    # No repair within the experiment: the next one is it.
    assert run.course == [("evaluate", "new", [before.id], "experiment")]
    assert found.best is not None
    assert found.best.score == 9.0
    for kind in ("tune", "sweep", "stop"):
        idle = session(None)
        change(run, idle, ExperimentAction(kind, "x"), monkeypatch)
        assert idle.steps == []
    assert len(run.course) == 1


def test_lessons_are_asked_for_in_calls_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    for score in (5.0, None):
        for after in (4.0, None):
            run = make_run(results={"new": candidate("new", after)}, reflection_calls="own")
            found = session(score)
            change(run, found, ExperimentAction("edit", "halve it", "new"), monkeypatch)
            assert run.course[-1] == ("lesson", BASE, "new")
            assert found.steps[-1].lesson == "learned"
            assert len(run.published) == 1
            account = account_of(run, "new")
            assert (account is not None) == (after is not None)
            if account is not None:
                assert account.lesson == "learned"
                assert "halve it" in account.idea
    failing = session(None)
    failing.best, failing.latest = Elite.of(candidate("best", 3.0)), candidate("latest")
    run = make_run(results={"new": candidate("new", 4.0)}, reflection_calls="own")
    change(run, failing, ExperimentAction("edit", "x", "new"), monkeypatch)
    assert run.course[-1] == ("lesson", "best", "new")


def test_a_tuning_takes_the_best_of_its_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    ranges = (Range(Constant(0, 2.5, False, ""), 1.0, 9.0), Range(Constant(2, 4.0, False, "", "A"), 0.0, 10.0))
    run, found = make_run(tuning_evaluations=7), session()
    tuned = [candidate("a", 6.0), candidate("b", 3.0), candidate("c")]
    change(run, found, ExperimentAction("tune", "", ranges=ranges), monkeypatch, tuned=tuned)
    assert run.course == [("tune", f"print of {BASE}", ranges, 7)]
    assert found.base.source == "b"
    assert found.steps[0].change == "c0, A over 3 evaluations"
    nothing = session()
    change(run, nothing, ExperimentAction("tune", "", ranges=ranges), monkeypatch, tuned=[])
    assert nothing.steps == []


def test_a_sweep_scores_the_values_that_are_shown_better(monkeypatch: pytest.MonkeyPatch) -> None:
    action = ExperimentAction("sweep", "", words=("A=1,2", "B"))
    run, found = make_run(results={"swept": candidate("swept", 4.0)}), session()
    before = found.best
    change(run, found, action, monkeypatch, swept="swept")
    assert run.course == [
        ("sweep", BASE, action.words, before),
        ("evaluate", "swept", [f"print of {BASE}"], "tune"),
    ]
    assert found.steps[0].change == "A=1,2 B"
    assert found.base.source == "swept"
    # Its table describes the new solution too.
    assert found.measured.endswith("the table")
    same = session()
    change(run, same, action, monkeypatch, swept=BASE)
    assert len(run.course) == 3
    (step,) = same.steps
    assert (step.kind, step.change, step.better) == ("sweep", "A=1,2 B", False)
    assert same.measured.endswith("the table")
    assert noted(run, ACCOUNT)
