"""Every rival speaks to the same tools, in as many calls as its source says, and solves what it is told right."""

import asyncio
import json
from collections import Counter
from pathlib import Path

import pytest

from oragent._base import distribution
from oragent._base.budget import Budget
from oragent._base.errors import ConfigError
from oragent.formulate.formulation import FormulationResult, formulate_case
from oragent.formulate.methods import METHODS, find_method
from oragent.formulate.options import choose_options
from oragent.formulate.problem import ProblemText
from oragent.formulate.running import FormulationRunner
from oragent.ledger import Study
from oragent.llm.callable import Scripted
from oragent.llm.model import Model, Request
from oragent_benchmarks.families import FAMILIES
from oragent_benchmarks.formulate.baselines import PATTERNS, cot, look_up_pattern
from oragent_benchmarks.formulate.mock_models import Error, Fault, GoldModel
from tests.formulate import pharmacy

INSTANCE = FAMILIES["knapsack"](1, 4)
PROBLEM = ProblemText("case", INSTANCE.text, INSTANCE.data)
CALLS = {
    "two_calls": {"program": 1, "counterfactual": 1},
    "ormind": {"semantic_encoder": 1, "formalization": 1, "compiler": 1, "supervisor_forward": 1, "counterfactual": 1},
    "standard": {"standard": 1},
    "cot": {"cot": 1},
    "progressive_hint": {"progressive_hint": 2},  # two in a row agree
    "tot": {"propose": 1 + 2 + 2, "score": 3 + 6 + 6, "tot": 1},
    "got": {"propose": 3, "score": 9, "unite": 2, "got": 1},
    "react": {"react": 2},  # the same program twice ends it
    "reflexion": {"reflexion": 3, "reflection": 2},
    "spp": {"spp": 1},
    "coe": {"coe_conductor": 4, "coe_expert": 4, "coe_reducer": 1},
    "optimus": {"optimus_extract": 1, "optimus_clause": 2, "optimus_code": 2, "optimus_assemble": 1},
}


def solved(
    folder: Path, runner: FormulationRunner, method: str, model: Model, problem: ProblemText = PROBLEM
) -> tuple[FormulationResult, Counter]:
    async def work(case):
        return (await formulate_case(case, problem, choose_options("default", method=method), runner)).to_plain()

    with Study(folder, {"": model}, Budget(evaluations=None)) as study:
        (found,) = asyncio.run(study.run_cases([problem.name], work))
        assert found is not None, study.stop_reason
        return FormulationResult.from_plain(found.result), Counter(reply.role for reply in study.all_replies())


@pytest.mark.slow
@pytest.mark.parametrize("method", CALLS)
def test_a_right_model_is_solved_in_the_calls_of_the_source(
    tmp_path: Path, runner: FormulationRunner, method: str
) -> None:
    found, roles = solved(tmp_path, runner, method, GoldModel({"case": INSTANCE.milp}))
    assert found.objective == INSTANCE.optimum
    assert roles == CALLS[method]


@pytest.mark.slow
@pytest.mark.parametrize("method", CALLS)
def test_a_wrong_model_is_found_by_its_checks_or_not_at_all(
    tmp_path: Path, runner: FormulationRunner, method: str
) -> None:
    """The planted error runs and is optimal: of all methods ours alone has something that can tell."""
    error = Error(Fault.DROP, "weight")
    found, _ = solved(tmp_path, runner, method, GoldModel({"case": INSTANCE.milp}, {"case": error}))
    assert (found.objective == INSTANCE.optimum) == (method in ("ormind", "two_calls"))


BROKEN = pharmacy.RIGHT.replace("problem.solve()", "problem.solve(missing)")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "roles"),
    [
        ("progressive_hint", {"progressive_hint": 3}),
        ("reflexion", {"reflexion": 2, "reflection": 2}),
        ("react", {"react": 4}),
        ("optimus", {"optimus_extract": 1, "optimus_assemble": 1, "optimus_debug": 1}),
        ("coe", {"coe_conductor": 4, "coe_expert": 4, "coe_reducer": 2, "coe_backward": 2}),
    ],
)
def test_an_error_goes_back_where_the_source_sends_it(tmp_path, runner, method: str, roles: dict[str, int]) -> None:
    def reply(request: Request, number: int) -> str:
        prompt = request.messages[-1].content
        if request.role == "coe_backward":
            return json.dumps({"caused_by_me": '"parameters"' in prompt, "refined": "x"})
        if request.role == "coe_conductor":
            return next(
                name for name in ("modelling", "terminology", "parameters", "programming") if f"- {name}:" in prompt
            )
        if request.role == "optimus_extract":
            return "{}"
        if request.role == "reflection":
            return "CORRECT" if "status optimal" in prompt else "the solver does not exist"
        if request.role == "react":
            return ["lookup: ratios", f"```python\n{BROKEN}\n```", f"```python\n{pharmacy.RIGHT}\n```", "finish"][
                number
            ]
        first = not any(word in prompt for word in ("solver does not exist", "NameError")) and (
            number == {"coe": 8, "optimus": 1}.get(method, 0)
        )
        return f"```python\n{BROKEN if first else pharmacy.RIGHT}\n```"

    found, asked = solved(tmp_path, runner, method, Scripted(reply), ProblemText("pharmacy", pharmacy.TEXT))
    assert [one["verdict"] for one in found.attempts][:2] == ["runtime_error", ""]
    assert found.objective == 735.0
    if method == "optimus":
        asked = Counter({name: count for name, count in asked.items() if name in roles})
    assert asked == roles


def test_patterns_are_found_by_their_nearest_name() -> None:
    assert look_up_pattern("ratios").startswith("ratio:")
    assert all(look_up_pattern(term).startswith(term) for term in PATTERNS)
    assert "terms:" in look_up_pattern("qqqq")


def test_a_method_of_the_benchmarks_names_their_installation(monkeypatch: pytest.MonkeyPatch) -> None:
    distribution.import_benchmarks.cache_clear()
    assert find_method("cot") is cot
    monkeypatch.setattr(distribution, "entry_points", lambda group: [])
    monkeypatch.setattr(distribution, "find_spec", lambda name: None)
    distribution.import_benchmarks.cache_clear()
    with pytest.raises(ConfigError, match=r"pip install \./benchmarks"):
        find_method("cot")
    distribution.import_benchmarks.cache_clear()
    assert find_method("ormind") is METHODS["ormind"]
    with pytest.raises(ConfigError):
        find_method("reflexon")
