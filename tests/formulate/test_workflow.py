"""The workflow as published, on the pharmacy and on families whose answers are known."""

import asyncio
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from oragent._base.budget import Budget
from oragent.formulate.checks import Reason, judge
from oragent.formulate.formulation import FormulationResult, formulate_case
from oragent.formulate.model_comparison import ModelComparison, Ruling
from oragent.formulate.options import PRESETS, Options, choose_options
from oragent.formulate.problem import Form, ProblemText
from oragent.formulate.running import ExecutionResult, FormulationRunner, Report
from oragent.formulate.verdicts import Verdict, decide_verdict
from oragent.ledger import Study
from oragent.llm.callable import Scripted
from oragent.llm.model import Model, Request
from oragent.modelling.data.solution import TOLERANCES, Solution, SolveStatus
from oragent_benchmarks.families import FAMILIES
from oragent_benchmarks.formulate.mock_models import GoldModel, errors_of
from tests.formulate import pharmacy

Done = Callable[..., FormulationResult]


@pytest.fixture
def done(tmp_path: Path, runner: FormulationRunner) -> Done:
    """Formulates a problem, as a study of one case."""

    def does(problem: ProblemText, model: Model, options: Options = ORMIND) -> FormulationResult:
        async def work(case):
            return (await formulate_case(case, problem, options, runner)).to_plain()

        with Study(tmp_path / f"{len(list(tmp_path.iterdir()))}", {"": model}, Budget(evaluations=None)) as study:
            (found,) = asyncio.run(study.run_cases([problem.name], work))
            assert found is not None, study.stop_reason
            return FormulationResult.from_plain(found.result)

    return does


class Asked(Scripted):
    """Remembers what was asked."""

    def __init__(self, replies) -> None:
        self.requests: list[Request] = []

        def kept(request: Request, number: int) -> str:
            self.requests.append(request)
            return replies(request, number)

        super().__init__(kept)

    @property
    def roles(self) -> list[str]:
        return [request.role for request in self.requests]


def test_every_writer_of_a_program_or_checker_is_told_its_form(done: Done) -> None:
    """The prompts of writers state what is returned; a checker that does not run goes back with form and data."""
    data = {"morphine": 3000}

    def reply(request: Request, number: int) -> str:
        if request.role == "counterfactual" and "does not run" not in request.messages[0].content:
            return "```python\ndef checks(values, data):\n    yield ('a', missing, '<=', 1, '')\n```"
        return pharmacy.reply(request, number)

    model = Asked(reply)
    done(ProblemText("pharmacy", pharmacy.TEXT, data), model)
    writers = [request.messages[0].content for request in model.requests
               if request.role in ("compiler", "supervisor_forward", "supervisor_backward")]  # fmt: skip
    assert len(writers) == 3
    assert all('"optimized_vars": {variable.name: variable for' in prompt for prompt in writers)
    assert all("NotImplementedError" in prompt for prompt in writers)
    (again,) = [
        request.messages[0].content for request in model.requests if "It does not run." in request.messages[0].content
    ]
    assert '{"morphine": 3000}' in again
    assert '(name, value, "integer", None' in again


ORMIND = choose_options("default", method="ormind")
PHARMACY = ProblemText("pharmacy", pharmacy.TEXT)
FIRST = ["semantic_encoder", "formalization", "compiler", "supervisor_forward", "counterfactual"]


@pytest.mark.parametrize("preset", PRESETS)
def test_the_pharmacy_is_misread_named_and_mended(done: Done, preset: str) -> None:
    model = Asked(pharmacy.reply)
    found = done(PHARMACY, model, replace(PRESETS[preset], method="ormind"))
    assert model.roles == [*FIRST, "supervisor_backward"]
    first, second = found.attempts
    assert (first["objective"], first["values"]) == (150.0, {"painkillers": 50.0, "sleeping_pills": 0.0})
    (finding,) = first["checks"]["findings"]
    assert (finding["name"], finding["left"], finding["right"]) == ("share", 0.0, 35.0)
    assert "would have to be changed to ... >= 0" in finding["text"]
    assert (found.objective, found.values) == (735.0, {"painkillers": 50.0, "sleeping_pills": 117.0})
    assert second["checks"] is None if preset == "paper" else second["checks"]["confirmed"]
    assert found.answer
    assert found.data == {"Morphine": 3000}


def test_the_published_checker_wants_a_whole_objective_and_has_no_tolerance_for_scaffolds() -> None:
    paper = PRESETS["paper"]
    milp = FAMILIES["knapsack"](1, 3).milp
    ran = ExecutionResult(None, milp=milp, solution=Solution(SolveStatus.OPTIMAL, objective=10.5), values={})
    near = (("row", 5.005, "<=", 5.0, ""), ("whole", 2.0, "integer", 0.0, ""))
    found = judge(ran, Report(entries=near), paper)
    assert [(one.reason, one.name) for one in found.findings] == [(Reason.INTEGRALITY, "objective")]
    found = judge(ran, Report(entries=near), paper.for_form(Form.SCAFFOLD))
    assert [(one.reason, one.name) for one in found.findings] == [(Reason.VIOLATED, "row")]
    assert judge(ran, Report(entries=near[1:]), PRESETS["default"]).findings == ()
    assert PRESETS["default"].for_form(Form.SCAFFOLD) == PRESETS["default"]


@pytest.mark.parametrize(
    ("comparison", "verdict"),
    [
        (None, Verdict.UNCHECKED),
        (ModelComparison(Ruling.UNDECIDED), Verdict.UNCHECKED),
        (ModelComparison(Ruling.UNDECIDED, within=0.2), Verdict.UNCHECKED),
        (ModelComparison(Ruling.UNDECIDED, within=0.003), Verdict.CHECKED),
        (ModelComparison(Ruling.AGREES, proven=True), Verdict.CHECKED),
        (ModelComparison(Ruling.FORBIDS, proven=True), Verdict.CONTRADICTED),
    ],
)
def test_a_model_that_could_not_be_compared_is_unchecked(comparison: ModelComparison | None, verdict: Verdict) -> None:
    milp = FAMILIES["knapsack"](1, 3).milp
    ran = ExecutionResult(None, milp=milp, solution=Solution(SolveStatus.OPTIMAL, objective=10.0), values={})
    note = "solver scip is not installed" if comparison is None else ""
    checked = judge(ran, Report(entries=(("row", 4.0, "<=", 5.0, ""),), comparison=comparison, note=note), Options())
    told = decide_verdict(is_answer=True, has_model=True, message="", checks=asdict(checked))
    assert told.verdict is verdict
    assert bool(told.reasons) is (verdict is not Verdict.CHECKED)
    assert note in " ".join(told.reasons)


def test_the_checker_is_written_without_a_look_at_the_program(done: Done) -> None:
    model = Asked(pharmacy.reply)
    done(PHARMACY, model)
    (asked,) = [request for request in model.requests if request.role == "counterfactual"]
    assert "LpProblem" not in asked.prompt
    assert "0.7 * (p + s)" not in asked.prompt
    assert "values['painkillers']: number" in asked.messages[0].content
    assert pharmacy.TEXT in asked.messages[0].content


def test_every_module_reads_all_of_the_pool(done: Done) -> None:
    model = Asked(pharmacy.reply)
    found = done(PHARMACY, model)
    by_role = {request.role: request.messages[0].content for request in model.requests}
    assert "3000" in by_role["formalization"]
    assert pharmacy.MODEL in by_role["compiler"]
    assert pharmacy.WRONG.strip() in by_role["supervisor_forward"]
    assert [entry.module for entry in found.pool] == [*FIRST, "supervisor_backward"]
    assert all(entry.tokens > 0 and entry.author == "model" for entry in found.pool)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "roles"),
    [
        (choose_options("default", method="ormind", without=frozenset({"semantic_encoder"})), FIRST[1:]),
        (choose_options("default", method="ormind", without=frozenset({"formalization"})), [FIRST[0], *FIRST[2:]]),
        (choose_options("default", method="ormind", without=frozenset({"counterfactual"})), FIRST[:-1]),
        (choose_options("default", method="ormind", without=frozenset({"compiler"})), [*FIRST[:2], *FIRST[3:]]),
        (choose_options("default", method="ormind", without=frozenset({"supervisor"})), [*FIRST[:3], *FIRST[4:]]),
        (choose_options("default", method="ormind", extra=("terminology",)), ["terminology", *FIRST]),
        (choose_options("default", method="ormind", extra=("reviewer",)), [*FIRST[:3], "reviewer", *FIRST[3:]]),
        (choose_options("default", method="ormind", extra=("conductor",)), ["conductor", FIRST[0], "conductor", FIRST[1], "conductor", *FIRST[2:]]),
        (choose_options("default", method="standard"), ["standard"]),
    ],
)  # fmt: skip
def test_ablations_leave_out_and_add_what_they_say(done: Done, options: Options, roles: list[str]) -> None:
    instance = FAMILIES["knapsack"](1, 4)
    oracle = GoldModel({instance.name: instance.milp})
    asked: list[str] = []

    async def model(request):
        asked.append(request.role)
        return await oracle(request)

    found = done(ProblemText(instance.name, instance.text, instance.data), model, options)
    assert asked == roles
    assert TOLERANCES["strict"].accepts(found.objective, instance.optimum)


@pytest.mark.parametrize("without", [frozenset(), frozenset({"syntax_analysis"})])
def test_an_error_is_diagnosed_and_repaired(done: Done, without: frozenset[str]) -> None:
    broken = pharmacy.RIGHT.replace("3 * p + 5 * s\n", "p ** -1\n")

    def reply(request: Request, number: int) -> str:
        forward = request.role in ("compiler", "supervisor_forward")
        return f"```python\n{broken}\n```" if forward else pharmacy.reply(request, number)

    model = Asked(reply)
    found = done(PHARMACY, model, choose_options("default", method="ormind", without=without))
    middle = [] if without else ["syntax_analysis"]
    assert model.roles == [*FIRST[:4], *middle, "supervisor_backward", "counterfactual"]
    assert [one["verdict"] for one in found.attempts] == ["runtime_error", ""]
    told = next(request for request in model.requests if request.role == "supervisor_backward").messages[0].content
    assert 'File "program.py"' in told
    assert ("1. a name" in told) == (not without)
    assert found.objective == 735.0


def test_a_failing_program_that_comes_back_as_it_was_is_told_so(done: Done) -> None:
    broken = f"```python\n{pharmacy.RIGHT.replace('3 * p', '3 * q')}\n```"
    revisions = iter([broken, f"```python\n{pharmacy.RIGHT}\n```"])

    def reply(request: Request, number: int) -> str:
        if request.role == "supervisor_backward":
            return next(revisions)
        return broken if request.role in ("compiler", "supervisor_forward") else pharmacy.reply(request, number)

    model = Asked(reply)
    assert done(PHARMACY, model).objective == 735.0
    told = [one.messages[0].content for one in model.requests if one.role == "supervisor_backward"]
    assert ["came back unchanged" in text for text in told] == [False, True]


def test_a_revision_never_replaces_a_working_program_by_a_failing_one(done: Done) -> None:
    def reply(request: Request, number: int) -> str:
        return "```python\ndef solve(data):\n    return 1 / 0\n```" if request.role == "supervisor_backward" else (
            pharmacy.reply(request, number)
        )  # fmt: skip

    kept = done(PHARMACY, Asked(reply))
    assert (kept.kept, kept.objective) == (0, 150.0)
    last = done(PHARMACY, Asked(reply), PRESETS["paper"])  # as published: the last one counts
    assert (last.kept, last.status) == (1, "runtime_error")


def test_an_unusable_reply_goes_back_once(done: Done) -> None:
    def reply(request: Request, number: int) -> str:
        if request.role == "semantic_encoder" and len(request.messages) == 1:
            return "Let me think."
        return "no idea" if request.role == "supervisor_forward" else pharmacy.reply(request, number)

    model = Asked(reply)
    found = done(PHARMACY, model, choose_options("default", method="ormind", repairs=1))
    assert model.roles[:2] == ["semantic_encoder"] * 2
    assert model.roles.count("supervisor_forward") == 2
    assert found.attempts[0]["verdict"] == "compile_error"
    assert found.objective == 735.0  # repaired


def test_a_checker_that_never_runs_leaves_the_answer_unchecked(done: Done) -> None:
    def reply(request: Request, number: int) -> str:
        bad = "```python\ndef checks(values, data):\n    yield values['unknown']\n```"
        return bad if request.role == "counterfactual" else pharmacy.reply(request, number)

    model = Asked(reply)
    found = done(PHARMACY, model)
    assert model.roles == [*FIRST, "counterfactual"]
    assert found.checks is not None
    assert found.checks["state"] == "unchecked"


@pytest.mark.slow
@pytest.mark.parametrize("family", ["product_mix", "knapsack", "facility_location", "investment", "largest_flow"])
def test_planted_errors_are_mended_when_the_feedback_names_them(done: Done, family: str) -> None:
    instance = FAMILIES[family](2, 3)
    problem = ProblemText(instance.name, instance.text, instance.data)
    every = errors_of(instance.milp)
    for error in {every[0], every[len(instance.milp.rows)], every[-1]}:
        found = done(problem, GoldModel({instance.name: instance.milp}, {instance.name: error}))
        assert TOLERANCES["strict"].accepts(found.objective, instance.optimum), str(error)
        assert found.answer


def test_a_person_may_speak_in_place_of_a_module(done: Done) -> None:
    model = Asked(pharmacy.reply)
    options = choose_options(
        "default", method="ormind", edits={"supervisor_forward": f"```python\n{pharmacy.RIGHT}\n```"}
    )
    found = done(PHARMACY, model, options)
    assert model.roles == [*FIRST[:3], "counterfactual"]
    assert next(entry for entry in found.pool if entry.module == "supervisor_forward").author == "person"
    assert found.objective == 735.0


def test_a_supervisor_that_cites_a_sentence_has_the_checker_read_again(done: Done) -> None:
    """The checker forgot a row: the program keeps it, with the sentence, and the checker is asked once more."""
    forgot = "\n".join(line for line in pharmacy.CHECKER.splitlines() if '"share"' not in line)
    cited = pharmacy.RIGHT.replace(
        "    problem.solve", "    # at least 70% of the pills should be sleeping\n    problem.solve"
    )

    def reply(request: Request, number: int) -> str:
        if request.role == "counterfactual":
            asked_again = "somebody else says" in request.messages[0].content
            return f"```python\n{pharmacy.CHECKER if asked_again else forgot}\n```"
        return f"```python\n{cited}\n```" if request.role.startswith("supervisor") else pharmacy.reply(request, number)

    model = Asked(reply)
    found = done(PHARMACY, model)
    assert model.roles == [*FIRST, "supervisor_backward", "counterfactual"]
    told = model.requests[-2].messages[0].content
    assert "forbids too much" in told
    assert "'share'" in told
    assert "# at least 70% of the pills" in model.requests[-1].messages[0].content
    assert "LpProblem" not in model.requests[-1].messages[0].content
    assert found.checks is not None
    assert found.checks["confirmed"]
    assert found.objective == 735.0


@pytest.mark.slow
@pytest.mark.parametrize(("row", "status"), [("x >= 5", "infeasible"), ("x >= 1", "unbounded")])
@pytest.mark.parametrize("agrees", [True, False])
def test_the_absence_of_an_optimum_is_an_answer_where_the_checks_confirm_it(
    done: Done, row: str, status: str, agrees: bool
) -> None:
    limit = ', "<=", 3' if status == "infeasible" else ', ">=", 1'
    program = (
        "import pulp\ndef solve(data):\n    p = pulp.LpProblem('p', pulp.LpMaximize)\n    x = pulp.LpVariable('x', 0)\n"
        f"    p += x\n    p += {row}, 'row'\n{{}}    p.solve()\n    return {{{{'optimized_vars': {{{{'x': x}}}}}}}}\n"
    ).format("    p += x <= 3, 'limit'\n" if status == "infeasible" else "")
    other = row.replace("x >=", "values['x'], '>=',") if agrees else "values['x'], '<=', 2"
    checker = (
        "def checks(values, data):\n"
        f"    yield ('row', {other}, 'a sentence')\n    yield ('limit', values['x']{limit}, 'another')\n"
        "    yield ('worth', values['x'], 'maximize', None, '')\n"
    )

    def reply(request: Request, number: int) -> str:
        if request.role == "counterfactual":
            return f"```python\n{checker}\n```"
        code = request.role in ("supervisor_forward", "supervisor_backward")
        return f"```python\n{program}\n```" if code else pharmacy.reply(request, number)

    found = done(PHARMACY, Asked(reply))
    assert (found.status, found.answer) == (status, agrees)
    if not agrees:
        (finding, *_) = found.attempts[0]["checks"]["findings"]
        assert finding["reason"] == ("forbids too much" if status == "infeasible" else "allows too much")
        assert "row" in finding["text"]
    assert not done(PHARMACY, Asked(reply), PRESETS["paper"]).answer
