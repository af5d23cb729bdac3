"""What a session becomes: a result with all of its parts, in the direction of the problem; and what comes of options."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from oragent._base.budget import Budget, Spent
from oragent.formulate.aims import StatedAim, list_aims
from oragent.formulate.appeals import Citation, Dispute
from oragent.formulate.checks import Checked, CheckStatus, Reason
from oragent.formulate.formulation import FormulationResult, collect_result, formulate_case
from oragent.formulate.metamorphic_tests import Property, PropertyResult
from oragent.formulate.options import choose_options
from oragent.formulate.problem import ProblemText
from oragent.formulate.prompting import CommentPool, PoolEntry
from oragent.formulate.running import ExecutionResult, FormulationRunner
from oragent.formulate.session import FormulationAttempt, FormulationSession
from oragent.formulate.verdicts import Verdict
from oragent.ledger import Study
from oragent.llm.callable import Scripted
from oragent.llm.model import Request
from oragent.modelling.data.features import FurtherObjective, ModelFeatures
from oragent.modelling.data.intervals import PlanInterval, TimeExpression
from oragent.modelling.data.model_records import Objective
from oragent.modelling.data.model_values import Sense
from oragent.modelling.data.solution import SolveStatus, SolveVerdict
from oragent.modelling.files.solution_json import solution_dict
from oragent.modelling.solving.model_solving import solve
from tests.formulate import pharmacy
from tests.formulate.results import BAKERY, FINDING, STORY, checks_of, result_of

SOLVED = solve(BAKERY, duals=False)
RAN = ExecutionResult(None, milp=BAKERY, solution=SOLVED, values={"made": 3.0}, columns={"made": "x"})
CHECKED = Checked(CheckStatus.PASSED, (), 3, 3, compared=True, compared_aims=1)
# Two aims: most loaves of x, then least of y.
TWO_AIMS = BAKERY.with_records(
    objective=Objective({"y": 1.0}, 2.0),
    sense=Sense.MINIMIZE,
    features=ModelFeatures(goals=(FurtherObjective("people", {"x": 1.0}, Sense.MAXIMIZE, priority=1),)),
)


def make_session(*attempts: FormulationAttempt, **options: Any) -> FormulationSession:
    case = SimpleNamespace(used=Spent(model_calls=7))
    problem = ProblemText("bakery", STORY, {"flour": 21})
    session = FormulationSession(case, problem, choose_options("default", **options), None, CommentPool())  # type: ignore[arg-type]
    session.attempts.extend(attempts)
    return session


def make_attempt(ran: ExecutionResult = RAN, checked: Checked | None = CHECKED, number: int = 1) -> FormulationAttempt:
    return FormulationAttempt(number, "revision", "the program", ran, checked)


def formalization(**facts: object) -> PoolEntry:
    return PoolEntry("formalization", json.dumps(facts), dict(facts))


def test_a_result_has_every_part_of_its_session() -> None:
    interval = PlanInterval("bake", TimeExpression({"x": 1.0}), TimeExpression({"x": 1.0}, 2.0), "oven", {}, False)
    dispute = Dispute(str(Reason.VIOLATED), "oven", "why", Citation("a", 1), Citation("b", None))
    properties = (PropertyResult(Property.ORDER, True),)
    ran = replace(RAN, message="m", framework="pulp 3", is_schedule=True, held={"a": "row"}, intervals=(interval,))
    answer = replace(make_attempt(ran), properties=properties)
    failed = FormulationAttempt(0, "draft", "first", ExecutionResult(SolveVerdict.RUNTIME_ERROR, "line 3"))
    session = make_session(failed, answer)
    session.checker = "the checker"
    session.disputes, session.withdrawn = (dispute,), (replace(dispute, name="flour"),)
    session.readings = [{"sentence": "s", "status": "infeasible", "objective": None, "aims": []}]
    session.pool.append(formalization(NOT_MODELLED=["queues -- no figures"], READINGS=["a -- b -- c"]))
    result = collect_result(session, answer)
    assert result.milp is not None
    assert result.milp.row_records == BAKERY.row_records
    expected = {
        "status": "optimal", "answer": True, "solution": solution_dict(SOLVED), "values": {"made": 3.0},
        "program": "the program", "message": "m", "checks": asdict(CHECKED), "checker": "the checker", "kept": 1,
        "pool": tuple(session.pool), "data": {"flour": 21}, "metamorphic": (asdict(properties[0]),),
        "spent": Spent(model_calls=7), "columns": {"made": "x"}, "readings": tuple(session.readings),
        "unmodelled": (("queues", "no figures"),), "framework": "pulp 3", "is_schedule": True, "held": {"a": "row"},
        "intervals": (interval,), "disputes": session.disputes, "withdrawn": session.withdrawn,
    }  # fmt: skip
    assert {name: getattr(result, name) for name in expected} == expected
    assert list(result.attempts) == [
        {
            "number": 0, "origin": "draft", "source": "first", "verdict": "runtime_error", "status": "",
            "message": "line 3", "objective": None, "aims": [], "values": None, "checks": None,
        },
        {
            "number": 1, "origin": "revision", "source": "the program", "verdict": "", "status": "optimal",
            "message": "m", "objective": pytest.approx(39), "aims": [pytest.approx(39)], "values": {"made": 3.0},
            "checks": asdict(CHECKED),
        },
    ]  # fmt: skip
    stored = FormulationResult.from_plain(json.loads(json.dumps(result.to_plain())))
    for name in result.__dataclass_fields__.keys() - {"milp", "checks", "metamorphic", "unmodelled", "attempts"}:
        assert getattr(stored, name) == getattr(result, name), name
    assert json.dumps(stored.to_plain()) == json.dumps(result.to_plain())
    # A field of another version is left out.
    assert FormulationResult.from_plain(result.to_plain() | {"battery": []}).to_plain() == result.to_plain()


def test_a_result_without_a_model_is_the_same_after_it_was_stored() -> None:
    failed = FormulationAttempt(0, "draft", "first", ExecutionResult(SolveVerdict.TIMEOUT, "too long"), None)
    session = make_session(failed)
    session.pool.append(formalization(READINGS=["a -- b -- c"]))
    result = collect_result(session, failed)
    stored = FormulationResult.from_plain(json.loads(json.dumps(result.to_plain())))
    assert (stored.milp, stored.solution, stored.checks, stored.metamorphic) == (None, None, None, ())
    assert (stored.status, stored.message, stored.answer) == ("timeout", "too long", False)
    assert (stored.aims, stored.objective, stored.model_values, stored.is_weighted) == ((), None, (), False)
    assert stored.judgement.verdict is Verdict.NO_ANSWER
    assert stored.judgement.reasons == ("too long",)
    assert replace(stored, message="").judgement.reasons == ("timeout",)
    # What has two readings is known without a solution.
    (reading,) = stored.readings
    assert [reading[name] for name in ("sentence", "used", "other", "objective")] == ["a", "b", "c", None]


def test_an_unsolved_reading_is_no_reading_of_a_solved_problem() -> None:
    answer = make_attempt()
    session = make_session(answer)
    session.pool.append(formalization(READINGS=["a -- b -- c"]))
    assert collect_result(session, answer).readings == ()


@pytest.mark.parametrize(
    ("status", "checked", "accepts", "is_answer"),
    [
        (SolveStatus.OPTIMAL, None, False, True), (SolveStatus.INFEASIBLE, replace(CHECKED, confirmed=True), True, True),
        (SolveStatus.INFEASIBLE, replace(CHECKED, confirmed=True), False, False), (SolveStatus.INFEASIBLE, CHECKED, True, False),
        (SolveStatus.UNKNOWN, None, False, False),
    ],
)  # fmt: skip
def test_the_absence_of_a_plan_is_an_answer_if_it_is_confirmed_and_accepted(
    status: SolveStatus, checked: Checked | None, accepts: bool, is_answer: bool
) -> None:
    answer = make_attempt(replace(RAN, solution=replace(SOLVED, status=status)), checked)
    assert collect_result(make_session(answer, accept_infeasible=accepts), answer).answer is is_answer


@pytest.mark.parametrize(
    ("status", "gap", "words"),
    [(SolveStatus.FEASIBLE, 0.25, "25.00%"), (SolveStatus.FEASIBLE, None, "no bound"),
     (SolveStatus.FEASIBLE, 0.01, ""), (SolveStatus.OPTIMAL, 0.25, ""), (SolveStatus.INFEASIBLE, 0.25, "")],
)  # fmt: skip
def test_a_plan_that_is_not_proven_says_why_it_is_no_answer(status: SolveStatus, gap: float | None, words: str) -> None:
    answer = make_attempt(replace(RAN, solution=replace(SOLVED, status=status, gap=gap)))
    message = collect_result(make_session(answer), answer).message
    assert words in message
    assert bool(message) is bool(words)


NEGATED = BAKERY.with_records(objective=Objective({"x": -3.0, "y": -5.0}, 7.0), sense=Sense.MINIMIZE)


@pytest.mark.parametrize(
    ("stated", "facts"),
    [
        # The checker knows the profit; or the author of the program, whose model has its negative.
        ((StatedAim("profit", Sense.MAXIMIZE, 32.0, aim=0, is_negated=True),), {}),
        ((), {"OBJECTIVE": "maximize: profit"}),
    ],
)
def test_a_negated_objective_is_turned_with_its_bound_and_its_readings(
    stated: Sequence[StatedAim], facts: dict[str, str]
) -> None:
    solution = replace(solve(NEGATED, duals=False), bound=-33.0, status=SolveStatus.FEASIBLE, gap=1 / 32)
    answer = make_attempt(replace(RAN, milp=NEGATED, solution=solution), replace(CHECKED, aims=tuple(stated)))
    session = make_session(answer)
    if facts:
        session.pool.append(formalization(**facts))
    session.readings = [
        {"sentence": "s", "status": "optimal", "objective": -20.0, "aims": [-20.0]},
        {"sentence": "t", "status": "optimal", "objective": 0.0, "aims": [0.0]},
        {"sentence": "u", "status": "infeasible", "objective": None, "aims": []},
    ]
    result = collect_result(session, answer)
    assert result.milp is not None
    assert result.milp.sense is Sense.MAXIMIZE
    assert result.milp.objective_record.terms == {"x": 3.0, "y": 5.0}
    assert result.solution is not None
    assert (result.solution["objective"], result.solution["bound"]) == (pytest.approx(32), 33.0)
    assert result.objective == pytest.approx(32)
    assert [(each["objective"], each["aims"]) for each in result.readings] == [(20.0, [20.0]), (0.0, [0.0]), (None, [])]
    # No zero with a sign.
    assert "-0.0" not in str(result.readings)


def test_a_reading_keeps_the_direction_of_an_aim_that_is_not_turned() -> None:
    """Of two aims, the second one is negated."""
    milp = TWO_AIMS.with_records(objective=Objective({"y": -1.0}), sense=Sense.MAXIMIZE)
    ran = replace(RAN, milp=milp, solution=solve(milp, duals=False))
    stated = StatedAim("y", Sense.MINIMIZE, 0.0, aim=1, is_negated=True)
    answer = make_attempt(ran, replace(CHECKED, aims=(stated,)))
    session = make_session(answer)
    session.readings = [{"sentence": "s", "status": "optimal", "objective": 4.0, "aims": [4.0, -6.0]}]
    (reading,) = collect_result(session, answer).readings
    assert (reading["objective"], reading["aims"]) == (4.0, [4.0, 6.0])


def test_aims_have_the_words_of_the_newest_formalization() -> None:
    pool = (
        formalization(OBJECTIVE="maximize: nothing", UNIT="t"), formalization(OBJECTIVE="maximize: people; minimize: loaves", UNIT="heads; kg"),
        PoolEntry("program", "text", {"OBJECTIVE": "minimize: another module"}), PoolEntry("formalization", "a text"),
    )  # fmt: skip
    aims = result_of(TWO_AIMS, pool=pool).aims
    assert [(aim.name, aim.unit, aim.sense, aim.value) for aim in aims] == [
        ("people", "heads", Sense.MAXIMIZE, 4.0),
        ("loaves", "kg", Sense.MINIMIZE, 2.0),
    ]
    assert [aim.is_compared for aim in result_of(TWO_AIMS).aims] == [True, True]
    compared = result_of(TWO_AIMS, checks=checks_of(CheckStatus.PASSED) | {"compared_aims": 1}, held={"people": "row"})
    assert [(aim.is_compared, aim.held_by) for aim in compared.aims] == [(True, "row"), (False, "")]


def test_a_weighted_sum_has_the_aims_of_the_checker_and_the_value_of_the_model() -> None:
    stated = [asdict(StatedAim(name, Sense.MAXIMIZE, value)) for name, value in (("x", 3.0), ("y", 6.0))]
    pool = (formalization(OBJECTIVE="maximize: loaves; maximize: rolls", UNIT="a; b"),)
    result = result_of(BAKERY, checks=checks_of(CheckStatus.PASSED) | {"aims": stated}, pool=pool)
    assert result.is_weighted
    assert [(aim.name, aim.value, aim.unit) for aim in result.aims] == [("loaves", 3.0, "a"), ("rolls", 6.0, "b")]
    assert (result.objective, result.model_values) == (3.0, (pytest.approx(39),))
    for milp in (BAKERY, TWO_AIMS):
        alone = result_of(milp)
        assert not alone.is_weighted
        assert alone.model_values == tuple(aim.value for aim in list_aims(milp, alone.solution, ()))
        assert len(alone.model_values) == (2 if milp is TWO_AIMS else 1)


def test_the_verdict_of_a_result_counts_each_of_its_parts() -> None:
    dispute = Dispute(str(FINDING.reason), FINDING.name, "why", Citation("a", 1), Citation("b", 2))
    passed, failed = checks_of(CheckStatus.PASSED), checks_of(CheckStatus.FAILED, FINDING)
    wrong = ({"property": "order", "datum": "x", "note": "differs", "holds": False},)
    for fields, verdict in (
        ({"checks": passed}, Verdict.CHECKED), ({"checks": passed, "answer": False}, Verdict.NO_ANSWER),
        ({"checks": passed, "metamorphic": wrong}, Verdict.CONTRADICTED), ({"checks": failed}, Verdict.CONTRADICTED),
        ({"checks": failed, "disputes": (dispute,)}, Verdict.DISPUTED), ({}, Verdict.UNCHECKED),
    ):  # fmt: skip
        assert result_of(BAKERY, **fields).judgement.verdict is verdict, fields


def test_remarks_are_those_of_the_newest_review() -> None:
    pool = [PoolEntry("review", "", ["old"]), PoolEntry("review", "", [f"remark {at}" for at in range(12)])]
    pool += [PoolEntry("review", "no list"), PoolEntry("program", "", ["of another module"])]
    assert result_of(BAKERY, pool=tuple(pool)).remarks == tuple(f"remark {at}" for at in range(10))


class Counted(Scripted):
    """Counts the calls of each role; the program is the given one, and so is the checker."""

    def __init__(self, program: str, checker: str = pharmacy.CHECKER) -> None:
        self.roles: list[str] = []

        def reply(request: Request, number: int) -> str:
            self.roles.append(request.role)
            if request.role == "review":
                return '["round numbers"]'
            return f"```python\n{checker if request.role == 'counterfactual' else program}\n```"

        super().__init__(reply)


BROKEN = "def solve(data):\n    return 1 / 0\n"
REFUSING = 'def solve(data):\n    raise NotImplementedError("nonlinear: x squared")\n'


@pytest.mark.parametrize(
    ("program", "options", "checkers", "properties"),
    [
        (pharmacy.RIGHT, {"method": "standard"}, 0, False), (pharmacy.RIGHT, {"method": "standard", "check_answer": True}, 1, False),
        # The default method checks on its own.
        (pharmacy.RIGHT, {"check_answer": True}, 1, False), (BROKEN, {"method": "standard", "check_answer": True}, 0, False),
        (pharmacy.RIGHT, {"method": "standard", "metamorphic": True}, 0, True), (REFUSING, {"method": "standard", "metamorphic": True}, 0, False),
    ],
)  # fmt: skip
def test_an_answer_is_checked_and_tested_once_if_it_is_asked_for(
    tmp_path: Path, runner: FormulationRunner, program: str, options: dict[str, Any], checkers: int, properties: bool
) -> None:
    model = Counted(program)

    async def work(case):
        problem = ProblemText("pharmacy", pharmacy.TEXT, {"unread": [1, 2]})
        return (await formulate_case(case, problem, choose_options("default", **options), runner)).to_plain()

    with Study(tmp_path, {"": model}, Budget(evaluations=None)) as study:
        (finished,) = asyncio.run(study.run_cases(["case"], work))
    assert finished is not None
    result = FormulationResult.from_plain(finished.result)
    assert model.roles.count("counterfactual") == checkers
    assert bool(result.metamorphic) is properties
    assert (result.checks is not None and result.checks["count"] > 0) is (checkers > 0)
    # No attempt is added to those of the method.
    assert len(result.attempts) == 1
