"""A wrong checker condemns no right plan: its author mends it after an appeal, or the verdict is disputed."""

import asyncio
import json
from pathlib import Path

import pytest

from oragent._base.budget import Budget
from oragent.formulate.appeals import find_citation, find_line
from oragent.formulate.formulation import FormulationResult, formulate_case
from oragent.formulate.options import choose_options
from oragent.formulate.problem import ProblemText
from oragent.formulate.running import FormulationRunner
from oragent.formulate.verdicts import Verdict
from oragent.ledger import Study
from oragent.llm.callable import Scripted
from oragent.llm.model import Request

TEXT = """A dairy makes butter and cheese for the market.
A kilogram of butter brings 4 EUR and a kilogram of cheese 7 EUR. Cooling costs 2.5 cents
for each kilogram. There are 1,200 litres of milk; butter needs 20 litres and cheese 12 litres.
At most 70 kg of cheese can be sold, and at least 6 kg of butter are wanted. Make the most profit."""
PROGRAM = """
import pulp
def solve(data):
    m = pulp.LpProblem("dairy", pulp.LpMaximize)
    butter, cheese = pulp.LpVariable("butter", 0), pulp.LpVariable("cheese", 0)
    m += 3.975 * butter + 6.975 * cheese
    m += 20 * butter + 12 * cheese <= 1200, "milk"
    m += cheese <= 70, "market"
    m += butter >= 6, "orders"
    m.solve()
    return {"optimized_vars": {"butter": butter, "cheese": cheese}}
"""
CHECKER = """
def checks(values, data):
    b, c = values["butter"], values["cheese"]
    yield ("milk", 20 * b + 12 * c, "<=", 1200, "There are 1,200 litres of milk")
    yield ("market", c, "<=", 70, "At most 70 kg of cheese can be sold")
    yield ("orders", b, ">=", 6, "at least 6 kg of butter are wanted")
    yield ("profit", 3.975 * b + 6.975 * c, "maximize", None, "Cooling costs 2.5 cents for each kilogram")
"""
# Twelve misreadings of a checker: figures, units, directions, and rules that the text does not have.
WRONG = [
    ("3.975 * b + 6.975 * c", "3.75 * b + 6.75 * c"),
    ("<=\", 1200", "<=\", 12000"),
    ("<=\", 1200", "<=\", 120"),
    ("20 * b + 12 * c", "12 * b + 20 * c"),
    ("<=\", 70", "<=\", 7"),
    ("<=\", 70", "<=\", 30"),
    (">=\", 6,", ">=\", 60,"),
    (">=\", 6,", "<=\", 6 - 1,"),
    ("\"maximize\"", "\"minimize\""),
    ("3.975 * b + 6.975 * c", "4 * b + 7 * c"),
    ("c, \"<=\", 70", "c, \">=\", 70 + 20"),
    ("yield (\"orders\"", "yield (\"even\", b, \"=\", c, \"of each\")\n    yield (\"orders\""),
]  # fmt: skip
CITES = '# The problem says: "{}"\n'


def formulate(folder: Path, runner: FormulationRunner, checkers: list[str], comment: str, program: str = PROGRAM):
    """Return the result and the number of calls. The program's author keeps the program, and adds a comment."""
    asked: list[str] = []

    def reply(request: Request, number: int) -> str:
        asked.append(request.role)
        if request.role == "program":
            return f"```json\n{json.dumps({'OBJECTIVE': 'maximize: profit', 'UNIT': 'EUR'})}\n```\n```python\n{program}\n```"
        if request.role == "counterfactual":
            return f"```python\n{checkers[min(asked.count('counterfactual'), len(checkers)) - 1]}\n```"
        return f"```python\n{comment}{program}\n```"

    async def work(case):
        return (await formulate_case(case, ProblemText("dairy", TEXT), choose_options("default"), runner)).to_plain()

    with Study(folder, {"": Scripted(reply)}, Budget(evaluations=None)) as study:
        (finished,) = asyncio.run(study.run_cases(["case"], work))
    return FormulationResult.from_plain(finished.result), asked


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_no_wrong_checker_condemns_a_right_plan(runner: FormulationRunner, tmp_path: Path, number: int) -> None:
    old, new = WRONG[number]
    assert old in CHECKER
    wrong = CHECKER.replace(old, new)
    comment = CITES.format("Cooling costs 2.5 cents\nfor each kilogram".replace("\n", " "))
    mended, asked = formulate(tmp_path / "mended", runner, [wrong, CHECKER], comment)
    assert mended.judgement.verdict is Verdict.CHECKED
    assert mended.disputes == ()
    assert {dispute.program.line for dispute in mended.withdrawn} == {2}
    assert len(asked) == 4
    insisted, asked = formulate(tmp_path / "insisted", runner, [wrong], comment)
    assert insisted.judgement.verdict is Verdict.DISPUTED
    assert insisted.judgement.verdict.exit_code == 6
    assert {dispute.program.line for dispute in insisted.disputes} == {2}
    assert insisted.objective == mended.objective
    assert insisted.withdrawn == ()
    assert len(asked) == 4
    # Lines of the sentences that the checker names.
    lines = {dispute.checker.line for dispute in insisted.disputes} - {None}
    assert lines <= {2, 3, 4}


def test_a_plan_that_cites_nothing_stays_contradicted(runner: FormulationRunner, tmp_path: Path) -> None:
    wrong = CHECKER.replace('<=", 1200', '<=", 120')
    for number, comment in enumerate(("", "# I keep this.\n", CITES.format("There are 12 litres of milk in the can"))):
        result, _ = formulate(tmp_path / str(number), runner, [wrong], comment)
        assert result.judgement.verdict is Verdict.CONTRADICTED
        assert result.disputes == ()


def test_another_finding_beside_a_dispute_is_a_contradiction(runner: FormulationRunner, tmp_path: Path) -> None:
    """After the appeal the checker finds something else, which nobody has disputed."""
    first = CHECKER.replace('<=", 1200', '<=", 120')
    second = CHECKER.replace('<=", 70', '<=", 30').replace('<=", 1200', '<=", 120')
    comment = CITES.format("There are 1,200 litres of milk")
    result, _ = formulate(tmp_path, runner, [first, second], comment)
    assert result.judgement.verdict is Verdict.CONTRADICTED


def test_a_citation_is_found_with_its_line() -> None:
    assert find_line("for each KILOGRAM. There are", TEXT) == 3
    assert find_line("cooling costs 2.5 cents for each kilogram", TEXT) == 2
    assert find_line("cooling costs 25 cents for each kilogram", TEXT) is None
    assert find_line("", TEXT) is None
    citation = find_citation('x = 1  # kept: "Cooling costs 2.5 cents for each kilogram"\ny = 2  # milk', TEXT)
    assert citation is not None
    assert (citation.line, citation.sentence) == (2, "Cooling costs 2.5 cents for each kilogram")
    # Two words are no sentence.
    assert find_citation("# Make the\n", TEXT) is None
    assert find_citation("x = 1\n", TEXT) is None
