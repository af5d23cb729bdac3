"""What a result prints: verdict, figures with units, and no more lines than fit, for results that are made by hand."""

import io
import re
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from oragent._base.budget import Spent
from oragent.formulate.aims import Aim
from oragent.formulate.appeals import Citation, Dispute
from oragent.formulate.checks import CheckFinding, CheckStatus, Reason
from oragent.formulate.effects import IncompletePlan, LimitEffect, Shortage
from oragent.formulate.folder import FormulationEnd, FormulationRequest, price_result
from oragent.formulate.formulation import FormulationResult
from oragent.formulate.options import choose_options
from oragent.formulate.printing import (
    MAX_ATTEMPT_LINES,
    MAX_QUESTION_LINES,
    MAX_REASON_LINES,
    MAX_RULE_LINES,
    describe_aims,
    describe_alternative,
    describe_differences,
    describe_effect,
    describe_shortage,
    describe_status,
    describe_values,
    explain_outcome,
    headline,
    print_outcome,
    rerun_lines,
)
from oragent.formulate.problem import ProblemText
from oragent.formulate.prompting import PoolEntry
from oragent.formulate.rerun import Rerun
from oragent.formulate.rules import RuleComparison, RuleOutcome
from oragent.modelling.data.features import FurtherObjective, ModelFeatures
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_records import Objective, Row, Variable
from oragent.modelling.data.model_values import INFINITY, Relation, Sense
from oragent.modelling.data.solution import Solution, SolveStatus
from oragent.modelling.files.solution_json import solution_dict
from tests.formulate.results import BAKERY, FINDING, ROWS, STORY, checks_of, result_of

AIMS = (Aim("profit", Sense.MAXIMIZE, 39.0, "EUR"), Aim("work", Sense.MINIMIZE, 4.0, "hours"))


def shown(outcome: FormulationEnd, width: int = 120) -> list[str]:
    """Return the lines that are printed."""
    console = Console(file=io.StringIO(), width=width)
    print_outcome(outcome, console)
    return console.file.getvalue().splitlines()


def finding(number: int) -> CheckFinding:
    return CheckFinding(Reason.VIOLATED, f"row {number}", f"row {number}: 14 <= 12 does not hold", 14.0, 12.0)


def reading(number: int, **fields: object) -> dict[str, Any]:
    plain = {"sentence": f"sentence {number}", "used": "per day", "other": "per week", "status": "optimal"}
    return {**plain, "objective": 41.5, **fields}


def attempt(number: int, **fields: object) -> dict[str, Any]:
    plain = {"number": number, "verdict": "", "status": "optimal", "objective": 39.0, "message": "", "checks": None}
    return {**plain, "values": {"x": 3.0, "y": 6.0}, **fields}


@pytest.mark.parametrize(
    ("checks", "style"),
    [
        (checks_of(CheckStatus.PASSED), "1;32"),
        (None, "1;33"),
        (checks_of(CheckStatus.FAILED, FINDING), "1;31"),
    ],
)
def test_the_first_line_has_the_colour_of_its_verdict(checks: Mapping[str, Any] | None, style: str) -> None:
    console = Console(file=io.StringIO(), width=120, force_terminal=True, color_system="standard", legacy_windows=False)
    print_outcome(price_result(result_of(BAKERY, checks=checks)), console)
    first, *rest = console.file.getvalue().splitlines()
    assert first.startswith(f"\x1b[{style}m")
    assert not any(f"\x1b[{style}m" in line for line in rest)


@pytest.mark.parametrize("width", [40, 80, 200])
def test_no_part_of_the_output_is_longer_than_its_limit(width: int) -> None:
    """Thirty of everything: reasons, readings, programs, rules, effects."""
    rules = tuple(asdict(RuleComparison(f"rule {at}", RuleOutcome.MISSING, 2.0, "sentence")) for at in range(30))
    checks = checks_of(CheckStatus.FAILED, *map(finding, range(30))) | {"rules": rules}
    result = result_of(
        BAKERY,
        checks=checks,
        readings=tuple(map(reading, range(30))),
        attempts=tuple(attempt(at, status="infeasible", objective=None) for at in range(30)),
    )
    effects = tuple(LimitEffect(f"limit{at}", "", 1, (4.0,), "<=", {1: 0.5, 10: 5.0}) for at in range(30))
    lines = shown(replace(price_result(result), effects=effects), width)
    assert all(len(line) <= max(width, 60) for line in lines[1:])

    def count(pattern: str) -> int:
        return sum(bool(re.match(pattern, line)) for line in lines)

    assert 0 < count(r"- row \d+") <= MAX_REASON_LINES
    assert 0 < count(r"two readings") <= MAX_QUESTION_LINES
    assert 0 < count(r"program \d+") <= MAX_ATTEMPT_LINES
    assert 0 < count(r"rule rule \d+") <= MAX_RULE_LINES
    assert 0 < count(r"- “limit\d+”") <= 6
    # What is left out is counted: with what is shown it is the whole.
    last = max(at for at, line in enumerate(lines) if line.startswith("program "))
    omitted = re.search(r"and (\d+) more", lines[last + 1])
    assert omitted is not None
    assert int(omitted[1]) + count(r"program \d+") == 30


def test_a_single_program_is_not_listed_unless_it_has_no_model() -> None:
    assert not any(
        line.startswith("program 1") for line in shown(price_result(result_of(BAKERY, attempts=(attempt(0),))))
    )
    failed = replace(
        result_of(BAKERY, attempts=(attempt(0, verdict="timeout", objective=None, message="too long"),)),
        milp=None, solution=None, status="timeout",
    )  # fmt: skip
    assert "program 1: timeout: too long" in shown(price_result(failed))
    two = result_of(BAKERY, attempts=(attempt(0, status="optimal"), attempt(1, aims=[39.0, 4.5])))
    lines = shown(price_result(two))
    assert "program 1: optimal, objective 39 at x = 3, y = 6" in lines
    assert "program 2: optimal, objective 39, then 4.5 at x = 3, y = 6" in lines


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"a": {"b": [1.0, 2.5]}, "ok": True}, "a[b][0] = 1, a[b][1] = 2.5, ok = True"),
        ([4.0, {"x": 12345.678}], "[0] = 4, [1][x] = 12,345.68"),
        ({f"x{at}": 1.0 for at in range(6)}, "x0 = 1, x1 = 1, x2 = 1, x3 = 1, x4 = 1, x5 = 1"),
        # More values than six are left to the report.
        ({f"x{at}": 1.0 for at in range(7)}, ""),
    ],
)
def test_the_values_of_a_program_are_printed_by_their_places(values: object, text: str) -> None:
    lines = shown(price_result(result_of(BAKERY, attempts=(attempt(0, values=values), attempt(1)))), 200)
    assert f"program 1: optimal, objective 39{f' at {text}' if text else ''}" in lines


def test_findings_of_each_program_are_below_it() -> None:
    checks = asdict_of(finding(7))
    lines = shown(price_result(result_of(BAKERY, attempts=(attempt(0, checks=checks), attempt(1)))))
    at = next(number for number, line in enumerate(lines) if line.startswith("program 1"))
    assert lines[at + 1] == "  row 7: 14 <= 12 does not hold"


def asdict_of(*findings: CheckFinding) -> dict[str, object]:
    return checks_of(CheckStatus.FAILED, *findings)


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"aims": [39.0], "changed": []}, "per day; per week: both 39; the same decisions"),
        ({"objective": 39.0, "changed": ["x"]}, "per day; per week: both 39; 1 decision differs"),
        ({"changed": ["x", "y"]}, "per day: 39; per week: 41.5; 2 decisions differ"),
        ({}, "per day: 39; per week: 41.5"),
        ({"objective": None, "status": "infeasible"}, "per day: 39; per week: infeasible"),
        ({"aims": [41.5, 7.0]}, "per day: 39; per week: 41.5, then 7"),
    ],
)
def test_a_reading_is_shown_with_both_figures(fields: dict[str, Any], text: str) -> None:
    lines = shown(price_result(result_of(BAKERY, readings=(reading(1, **fields),))))
    at = lines.index("two readings of: sentence 1")
    assert lines[at + 1].strip() == text


def test_a_reading_of_a_problem_without_a_plan_names_the_reading_used() -> None:
    failed = replace(
        result_of(BAKERY, readings=(reading(1, objective=None, status="not solved"),)), milp=None, solution=None, status="timeout"
    )  # fmt: skip
    assert "  per day (used here); or per week" in shown(price_result(failed))


def test_open_questions_and_checks_are_printed() -> None:
    result = result_of(
        BAKERY,
        checks=checks_of(CheckStatus.PASSED, note="seen once", confirmed=True),
        unmodelled=(("Bread is nice", "no figure"), ("Be quick", "")),
        pool=(PoolEntry("review", "", ["odd hours"]),),
        metamorphic=tuple({"property": "p", "datum": "d", "note": "n", "holds": holds} for holds in (True, True, None)),
        spent=Spent(model_calls=3, tokens=12345, money=0.5),
        unpriced=1,
    )
    lines = shown(price_result(result))
    assert {"not in the model: Bread is nice (no figure)", "not in the model: Be quick"} <= set(lines)
    assert any(line.endswith("odd hours") for line in lines)
    assert "changed data: 2 of 2 tests pass" in lines
    (checks,) = (line for line in lines if line.startswith("checks"))
    assert "passed: 3 of 3 hold" in checks
    assert "same optimum" in checks
    assert "(seen once)" in checks
    (spent,) = (line for line in lines if line.startswith("spent"))
    assert all(part in spent for part in ("3 calls", "12,345 tokens", "$0.5", "1 call"))
    untested = result_of(BAKERY, metamorphic=({"property": "p", "datum": "", "note": "why not", "holds": None},))
    lines = shown(price_result(untested))
    assert any("changed data: not tested" in line and "why not" in line for line in lines)
    assert not any("changed data" in line for line in shown(price_result(result_of(BAKERY))))


@pytest.mark.parametrize(
    ("checks", "parts", "absent"),
    [
        (None, ("unchecked",), "hold"),
        (checks_of(CheckStatus.FAILED, FINDING), ("failed: 2 of 3 hold",), "meets"),
        # The point is right, and the model is not: both are said.
        (checks_of(CheckStatus.FAILED, FINDING) | {"met": 3}, ("failed: violated row", "meets all 3"), "hold"),
        (checks_of(CheckStatus.PASSED) | {"met": 0, "count": 0}, ("passed",), "hold"),
    ],
)
def test_the_line_of_checks_counts_what_holds(
    checks: Mapping[str, Any] | None, parts: tuple[str, ...], absent: str
) -> None:
    (line,) = (line for line in shown(price_result(result_of(BAKERY, checks=checks))) if line.startswith("checks"))
    assert all(part in line for part in parts)
    assert absent not in line


def test_rules_that_hold_are_counted_and_others_named() -> None:
    rules = (
        RuleComparison("hours", RuleOutcome.HOLDS),
        RuleComparison("flour", RuleOutcome.MISSING, 2.5, "There are 21 kg"),
        RuleComparison("oven", RuleOutcome.ADDED, float("inf")),
        RuleComparison("dough", RuleOutcome.NOT_COMPARED),
    )
    checks = checks_of(CheckStatus.PASSED) | {"rules": tuple(map(asdict, rules))}
    lines = shown(price_result(result_of(BAKERY, checks=checks)))
    assert "rules     1 of 4 hold" in lines
    (flour,) = (line for line in lines if line.startswith("rule flour"))
    assert "There are 21 kg" in flour
    assert "2.5" in flour
    (oven,) = (line for line in lines if line.startswith("rule oven"))
    assert "without limit" in oven
    assert any(line.startswith("rule dough") for line in lines)
    assert not any(line.startswith("rule hours") for line in lines)


def unbounded(sense: Sense, sign: float) -> IndexedModel:
    """The objective improves while x changes in one direction; a row ties y to it."""
    variables = (Variable("x", -INFINITY), Variable("y", -INFINITY))
    rows = (Row("tie", {"x": 2.0, "y": -1.0}, Relation.EQUAL, 0.0),)
    return IndexedModel.from_records(variables, rows, Objective({"x": sign}), sense)


@pytest.mark.parametrize(
    ("sense", "sign", "step"),
    [(Sense.MAXIMIZE, 3.0, 1), (Sense.MAXIMIZE, -3.0, -1), (Sense.MINIMIZE, 3.0, -1), (Sense.MINIMIZE, -3.0, 1)],
)
def test_an_unbounded_result_names_the_direction_of_improvement(sense: Sense, sign: float, step: int) -> None:
    outcome = price_result(result_of(unbounded(sense, sign)))
    assert outcome.solution is not None
    assert outcome.solution.status is SolveStatus.UNBOUNDED
    sizes = {}
    for line in explain_outcome(outcome):
        name, size = re.search(r"while (\w+) changes by ([+-][\d.e]+)", line).groups()  # type: ignore[union-attr]
        sizes[name] = float(size)
    assert sizes["x"] * step > 0
    assert sizes["y"] == pytest.approx(2 * sizes["x"])
    assert headline(outcome).startswith("unchecked: unbounded")
    assert all(f"- {line}" in " ".join(shown(outcome)) for line in explain_outcome(outcome))


def test_a_result_without_a_solution_explains_nothing() -> None:
    assert explain_outcome(FormulationEnd(None)) == []
    assert explain_outcome(FormulationEnd(result_of(BAKERY))) == []
    assert explain_outcome(price_result(replace(result_of(BAKERY), milp=None))) == []


def test_an_infeasible_result_states_each_shortage() -> None:
    shortages = (Shortage("day", "5 by day", ">=", 5.0, 3.0), Shortage("night", "", "<=", 2.0, 3.5))
    bakery = BAKERY.with_records(rows=(*ROWS, Row("never", {"x": 1.0}, Relation.AT_LEAST, 99.0)))
    outcome = replace(price_result(result_of(bakery)), incomplete=IncompletePlan(shortages, None, True))
    title, *rest = explain_outcome(outcome)
    assert "least" in title
    assert [line for line in rest if "possible" in line] == [describe_shortage(each) for each in shortages]
    assert "“5 by day” [day]: >= 5 is asked, 3 is possible" in rest[-2]
    assert "“night”: <= 2 is asked, 3.5 is possible" in rest[-1]
    unproven = replace(outcome, incomplete=replace(outcome.incomplete, is_least=False))  # type: ignore[arg-type]
    assert "perhaps" in explain_outcome(unproven)[0]
    line = headline(outcome)
    assert line.startswith("unchecked: infeasible")
    assert "and 1 more" in line
    assert "more" not in headline(replace(outcome, incomplete=IncompletePlan(shortages[:1], None, True)))


EFFECT = LimitEffect("oven", "The oven has 12 hours", 1, (12.0,), "<=", {1: 0.18, 10: 1.8})


@pytest.mark.parametrize(
    ("effect", "aims", "text"),
    [
        (EFFECT, AIMS[:1], "“The oven has 12 hours” (<= 12): 1 % more: +0.18 EUR, 10 % more: +1.8 EUR"),
        (EFFECT, (), "“The oven has 12 hours” (<= 12): 1 % more: +0.18, 10 % more: +1.8"),
        (replace(EFFECT, aim=1), AIMS, "“The oven has 12 hours” (<= 12): 1 % more: +0.18 hours, 10 % more: +1.8 hours"),
        (replace(EFFECT, aim=2), AIMS, "“The oven has 12 hours” (<= 12): 1 % more: +0.18, 10 % more: +1.8"),
        # Without a unit, the name tells one of several aims.
        (EFFECT, (replace(AIMS[0], unit=""), AIMS[1]), "“The oven has 12 hours” (<= 12): 1 % more: +0.18 profit, 10 % more: +1.8 profit"),
        (EFFECT, (replace(AIMS[0], unit=""),), "“The oven has 12 hours” (<= 12): 1 % more: +0.18, 10 % more: +1.8"),
        (replace(EFFECT, sentence="", relation=">=", changes={10: -2.0}), AIMS[:1], "“oven” (>= 12): 10 % less: -2 EUR"),
        (
            replace(EFFECT, rows=3, limits=(12.0, 4.0, 12.0), changes={1: 0.0}), AIMS[:1],
            "“The oven has 12 hours” (<= 4 to 12, 3 limits): 1 % more: 0 EUR",
        ),
        (replace(EFFECT, rows=2, limits=(4.0, 4.0), changes={1: 1.0}), (), "“The oven has 12 hours” (<= 4, 2 limits): 1 % more: +1"),
    ],
)  # fmt: skip
def test_an_effect_has_its_limit_its_change_and_its_unit(effect: LimitEffect, aims: tuple[Aim, ...], text: str) -> None:
    assert describe_effect(effect, aims) == text


def test_another_plan_shows_four_decisions_and_counts_the_rest() -> None:
    solution = Solution(SolveStatus.OPTIMAL, objective=1.0, values={f"x{at}": float(at) for at in range(6)})
    text = describe_alternative({f"x{at}": at + 0.5 for at in range(6)}, solution)
    assert [f"x{at} {at}.5 instead of {at}" in text for at in range(6)] == [True] * 4 + [False] * 2
    assert "2 more" in text
    assert "more" not in describe_alternative({f"x{at}": 9.0 for at in range(4)}, solution)
    outcome = replace(price_result(result_of(BAKERY)), alternative={"x": 4.0})
    assert any("x 4 instead of 3" in line for line in explain_outcome(outcome))


@pytest.mark.parametrize(
    ("changed", "text"), [(None, ""), ([], "; the same decisions"), (["x"], "; 1 decision differs")]
)
def test_differences_of_a_reading_are_counted(changed: list[str] | None, text: str) -> None:
    assert describe_differences({} if changed is None else {"changed": changed}) == text


def test_values_of_aims_are_listed_in_their_order() -> None:
    assert describe_values([1234.5, None, 0.25]) == "1,234.5, then none, then 0.25"
    assert describe_values([]) == ""


def two_aims() -> IndexedModel:
    goals = (FurtherObjective("people", {"x": 1.0}, Sense.MAXIMIZE, priority=1),)
    return BAKERY.with_records(
        objective=Objective({"y": 1.0}), sense=Sense.MINIMIZE, features=ModelFeatures(goals=goals)
    )


STATED = (
    {"name": "people", "sense": "maximize", "value": 4.0},
    {"name": "cost", "sense": "minimize", "value": 2.0},
)


@pytest.mark.parametrize(
    ("milp", "status", "gap", "bound", "stated", "parts"),
    [
        (BAKERY, SolveStatus.OPTIMAL, 0.0, 39.0, (), ("optimal (maximize)",)),
        (BAKERY, SolveStatus.FEASIBLE, 0.0125, 39.5, (), ("feasible within 1.25%", "at most 39.5")),
        (BAKERY, SolveStatus.FEASIBLE, None, None, (), ("feasible (maximize)",)),
        (BAKERY, SolveStatus.FEASIBLE, None, 40.0, (), ("feasible (maximize)",)),
        (BAKERY, SolveStatus.FEASIBLE, 0.1, None, (), ("feasible (maximize)",)),
        (BAKERY, SolveStatus.UNKNOWN, None, None, (), ("unknown (maximize)",)),
        (two_aims(), SolveStatus.OPTIMAL, 0.0, 0.0, (), ("optimal in this order",)),
        (two_aims(), SolveStatus.FEASIBLE, 0.02, 0.0, (), ("feasible within 2.00%", "in this order")),
        (two_aims(), SolveStatus.FEASIBLE, float("inf"), 0.0, (), ("feasible in this order",)),
        (two_aims(), SolveStatus.FEASIBLE, None, 0.0, (), ("feasible in this order",)),
        # The program weights both aims of the checker.
        (BAKERY, SolveStatus.OPTIMAL, 0.0, 39.0, STATED, ("optimal by weights (maximize 39)",)),
    ],
)
def test_the_status_has_its_gap_and_its_bound(
    milp: IndexedModel,
    status: SolveStatus,
    gap: float | None,
    bound: float | None,
    stated: tuple,
    parts: tuple[str, ...],
) -> None:
    solution = Solution(status, objective=39.0, bound=bound, gap=gap, values={"x": 3.0, "y": 6.0})
    checks = checks_of(CheckStatus.PASSED) | {"aims": stated} if stated else None
    text = describe_status(result_of(milp, solution=solution_dict(solution), checks=checks), solution)
    assert all(part in text for part in parts), text
    assert ("within" in text) == ("within" in "".join(parts))


def test_the_use_of_limits_is_printed_for_tables_that_are_short() -> None:
    def model(count: int) -> IndexedModel:
        names = [f"{kind}[{at}]" for kind in ("make", "sell") for at in range(count)]
        rows = tuple(
            Row(f"room[{at}]", {f"make[{at}]": 1.0, f"sell[{at}]": 2.0}, Relation.AT_MOST, 8.0) for at in range(count)
        )
        worth = {name: 3.0 if name.startswith("make") else 4.0 for name in names}
        limits = tuple(Variable(name, 0, 5 if name.startswith("make") else INFINITY) for name in names)
        return IndexedModel.from_records(limits, rows, Objective(worth), Sense.MAXIMIZE)

    lines = shown(price_result(result_of(model(14))), 400)
    (used,) = (line for line in lines if line.startswith("used of room"))
    # Five are made, and 1.5 sold, in each: 15 and 6.
    assert used.count("8 of 8") == 14
    (parts,) = (line for line in lines if line.startswith("objective by kind"))
    assert re.findall(r"(\w+) ([\d.]+)", parts.partition(": ")[2]) == [("make", "210"), ("sell", "84")]
    assert not any(line.startswith("used of room") for line in shown(price_result(result_of(model(15))), 400))


def test_a_rerun_shows_figures_and_decisions_side_by_side() -> None:
    wider = BAKERY.with_records(rows=(replace(ROWS[0], rhs=13.0), *ROWS[1:]))
    request = FormulationRequest(ProblemText("bakery", STORY), choose_options("default"))

    def lines(old: FormulationResult, new: FormulationResult, changes: dict[str, tuple]) -> list[str]:
        return rerun_lines(Rerun(Path("folder"), request, price_result(new), old, changes))

    # Half an hour per y: y + 0.5, and x - 1/3.
    first, *rest = lines(result_of(BAKERY), result_of(wider), {"x": (3.0, 8 / 3), "z": (None, 1.0), "y": (6.0, None)})
    assert re.findall(r"[\d.]+", first) == ["39", "40.5"]
    assert rest == ["  x: 3 before, 2.66667 now", "  z: - before, 1 now", "  y: 6 before, - now"]
    failed = replace(result_of(BAKERY), milp=None, solution=None)
    assert "none" in lines(result_of(BAKERY), failed, {})[0]
    many = {f"x{at}": (0.0, 1.0) for at in range(1025)}
    text = lines(result_of(BAKERY), result_of(wider), many)
    assert len(text) == 22
    assert "1,005" in text[-1]
    assert len(lines(result_of(BAKERY), result_of(wider), dict(list(many.items())[:20]))) == 21


def test_decisions_are_printed_and_those_of_an_incomplete_plan_are_called_so() -> None:
    lines = shown(price_result(result_of(BAKERY)))
    assert {"x": "3", "y": "6"}.items() <= dict(line.split() for line in lines if len(line.split()) == 2).items()
    assert not any("incomplete" in line for line in lines)
    needy = BAKERY.with_records(rows=(*ROWS, Row("order", {"x": 1.0}, Relation.AT_LEAST, 6.0, "6 of x are ordered")))
    lines = shown(price_result(result_of(needy)))
    at = next(number for number, line in enumerate(lines) if "incomplete plan" in line)
    assert any(line.split() == ["x", "4"] for line in lines[at:])


@pytest.mark.parametrize("disputed", [False, True])
def test_only_a_disputed_plan_says_that_the_text_has_two_readings(disputed: bool) -> None:
    dispute = Dispute(str(Reason.VIOLATED), "oven", "why", Citation("a", 1), Citation("b", 2))
    checks = checks_of(CheckStatus.FAILED, FINDING) if disputed else checks_of(CheckStatus.PASSED)
    line = headline(price_result(result_of(BAKERY, checks=checks, disputes=(dispute,) if disputed else ())))
    assert ("differently" in line) is disputed


def longest(text: str, letter: str) -> int:
    """Return the length of the longest run of a letter, with the sign that it is cut."""
    return max((len(run) for run in re.findall(f"{letter}+…?", text)), default=0)


LONG = 999


def test_words_of_others_are_cut_in_each_sentence() -> None:
    """The limit of each part, by a letter that stands for it."""
    unit, name, sentence = "u" * LONG, "n" * LONG, "s" * LONG
    aims = (Aim(name, Sense.MAXIMIZE, 1.0, unit), Aim(name, Sense.MINIMIZE, 2.0))
    first, second = describe_aims(aims)
    assert (longest(first, "u"), longest(second, "n")) == (40, 60)
    effect = LimitEffect(name, sentence, 1, (12.0,), "<=", {1: 0.18})
    assert longest(describe_effect(effect, aims), "u") == 40
    assert longest(describe_effect(effect, aims), "s") == 160
    assert longest(describe_effect(replace(effect, aim=1), aims), "n") == 60
    assert longest(describe_effect(replace(effect, sentence=""), ()), "n") == 160
    shortage = describe_shortage(Shortage(name, sentence, ">=", 5.0, 3.0))
    assert (longest(shortage, "s"), longest(shortage, "n")) == (160, 60)
    solution = Solution(SolveStatus.OPTIMAL, objective=1.0, values={name: 1.0})
    assert longest(describe_alternative({name: 2.0}, solution), "n") == 60
    request = FormulationRequest(ProblemText("bakery", STORY), choose_options("default"))
    rerun = Rerun(Path("folder"), request, price_result(result_of(BAKERY)), result_of(BAKERY), {name: (1.0, 2.0)})
    assert longest(rerun_lines(rerun)[1], "n") == 60


def test_words_of_others_are_cut_in_each_line() -> None:
    rules = (asdict(RuleComparison("r" * LONG, RuleOutcome.MISSING, 2.5, "s" * LONG)),)
    result = result_of(
        BAKERY,
        checks=checks_of(CheckStatus.PASSED, note="k" * LONG) | {"rules": rules},
        readings=(reading(1, sentence="a" * LONG, used="b" * LONG, other="c" * LONG),),
        unmodelled=(("d" * LONG, "e" * LONG),),
        pool=(PoolEntry("review", "", ["f" * LONG]),),
        metamorphic=({"property": "p", "datum": "d", "note": "g" * LONG, "holds": None},),
        attempts=(attempt(0, message="h" * LONG, checks=asdict_of(replace(finding(1), text="i" * LONG))), attempt(1)),
    )
    lines = shown(price_result(result), 2000)

    def widest(start: str, letter: str) -> int:
        return max(longest(line, letter) for line in lines if line.startswith(start))

    limits = {
        ("two readings of", "a"): 120, ("  b", "b"): 120, ("  b", "c"): 120, ("not in the model", "d"): 120, ("not in the model", "e"): 80, ("odd", "f"): 200,
        ("changed data", "g"): 200, ("program 1", "h"): 200, ("  i", "i"): 600, ("checks", "k"): 200, ("rule r", "r"): 60, ("rule r", "s"): 120,
    }  # fmt: skip
    assert {place: widest(*place) for place in limits} == limits


def test_names_of_kinds_and_limits_are_cut() -> None:
    first, second = "p" * 60, "q" * 60
    rows = (Row("m" * 60, {first: 1.0, second: 1.0}, Relation.AT_MOST, 5.0),)
    milp = IndexedModel.from_records(
        (Variable(first, 0, 3), Variable(second)), rows, Objective({first: 3.0, second: 2.0}), Sense.MAXIMIZE
    )
    lines = shown(price_result(result_of(milp)), 2000)
    (parts,) = (line for line in lines if line.startswith("objective by kind"))
    assert (longest(parts, "p"), longest(parts, "q")) == (40, 40)
    (used,) = (line for line in lines if line.startswith("used of"))
    assert longest(used, "m") == 40
