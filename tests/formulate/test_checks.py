"""Findings of a checker and the verdict on them, for results and reports that are made by hand."""

from dataclasses import asdict, replace

import pytest

from oragent.formulate.aims import StatedAim
from oragent.formulate.appeals import Citation, Dispute, find_citation, list_disputes, read_dispute
from oragent.formulate.checks import Checked, CheckStatus, Reason, judge
from oragent.formulate.metamorphic_tests import Property, _compare_ranges
from oragent.formulate.model_comparison import ModelComparison, Ruling
from oragent.formulate.options import choose_options
from oragent.formulate.rules import RuleComparison, RuleOutcome
from oragent.formulate.running import ExecutionResult, Report
from oragent.formulate.verdicts import Verdict, decide_verdict
from oragent.formulate.verify import _check_point, place_point
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_records import Objective, Row, Variable
from oragent.modelling.data.model_values import Relation, Sense, VariableKind
from oragent.modelling.data.solution import Solution, SolveStatus
from oragent.modelling.solving.model_solving import solve

OPTIONS = choose_options("default")
AGREES = ModelComparison(Ruling.AGREES, compared_aims=1)
MILP = IndexedModel.from_records(
    (Variable("x", kind=VariableKind.INTEGER), Variable("y")),
    (Row("hours", {"x": 2.0, "y": 1.0}, Relation.AT_MOST, 7.0), Row("few", {"y": 1.0}, Relation.AT_LEAST, 1.0)),
    Objective({"x": 3.0, "y": 1.0}),
    Sense.MAXIMIZE,
)
# x = 3 and y = 1: 10.
RAN = ExecutionResult(None, milp=MILP, solution=solve(MILP, duals=False), values={"x": 3.0, "y": 1.0})
PROFIT = ("profit", 10.0, "maximize", 0.0, "the most profit")


def judged(
    *entries: tuple[str, float, str, float, str], comparison: ModelComparison | None = AGREES, **options: object
):
    return judge(RAN, Report("", entries, comparison), replace(OPTIONS, **options))


@pytest.mark.parametrize(
    ("left", "relation", "right", "holds"),
    [
        (7.0, "<=", 7.0, True), (7.1, "<=", 7.0, False), (6.0, "<=", 7.0, True),
        (7.0, ">=", 7.0, True), (6.9, ">=", 7.0, False), (8.0, ">=", 7.0, True),
        (7.0, "=", 7.0, True), (7.1, "=", 7.0, False), (6.9, "=", 7.0, False),
        # A relative millionth is no violation: 1 of a million, and a smaller one of 7.
        (1_000_000.9, "<=", 1_000_000.0, True), (1_000_002.0, "<=", 1_000_000.0, False), (7.00001, "<=", 7.0, False),
        (-1_000_000.9, ">=", -1_000_000.0, True), (-1_000_002.0, ">=", -1_000_000.0, False),
        # Small figures have the tolerance of 1.
        (0.5000009, "<=", 0.5, True), (0.5000015, "<=", 0.5, False), (0.4999985, ">=", 0.5, False), (-0.5000015, "=", -0.5, False),
        (float("nan"), "<=", 7.0, False), (float("inf"), "<=", 7.0, False), (float("-inf"), "<=", 7.0, True),
        (3.0, "integer", 0.0, True), (3.4, "integer", 0.0, False), (2.999999, "integer", 0.0, True),
        (float("inf"), "integer", 0.0, False),
    ],
)  # fmt: skip
def test_an_entry_holds_within_the_tolerance(left: float, relation: str, right: float, holds: bool) -> None:
    checked = judged(("row", left, relation, right, "a sentence"), PROFIT)
    assert checked.state is (CheckStatus.PASSED if holds else CheckStatus.FAILED)
    assert (checked.count, checked.met) == (2, 1 + holds)
    assert checked.confirmed is holds
    if not holds:
        (finding,) = checked.findings
        whole = relation == "integer"
        assert finding.reason is (Reason.INTEGRALITY if whole else Reason.VIOLATED)
        assert (finding.name, finding.sentence) == ("row", "a sentence")
        assert finding.text in checked.feedback
        if not whole and left - right == left - right and abs(left) < 1e9:
            assert finding.violation == pytest.approx(abs(left - right))


def test_a_wider_tolerance_accepts_more() -> None:
    entry = ("row", 7.05, "<=", 7.0, "")
    assert judged(entry, PROFIT).state is CheckStatus.FAILED
    assert judged(entry, PROFIT, absolute=0.1).state is CheckStatus.PASSED
    assert judged(entry, PROFIT, relative=0.01).state is CheckStatus.PASSED
    assert judged(("row", 3.05, "integer", 0.0, ""), PROFIT, absolute=0.1).state is CheckStatus.PASSED


@pytest.mark.parametrize(
    ("value", "relation", "reason"),
    [
        (10.0, "maximize", None),
        (11.0, "maximize", Reason.OBJECTIVE),
        # The other direction with the same figure is wrong; with the opposite figure it is the same aim.
        (10.0, "minimize", Reason.OBJECTIVE),
        (-10.0, "minimize", None),
    ],
)
def test_the_objective_of_the_checker_is_that_of_the_program(
    value: float, relation: str, reason: Reason | None
) -> None:
    checked = judged(("profit", value, relation, 0.0, ""))
    assert [finding.reason for finding in checked.findings] == ([] if reason is None else [reason])


@pytest.mark.parametrize(
    ("ruling", "reason"),
    [
        (Ruling.AGREES, None),
        (Ruling.FORBIDS, Reason.FORBIDS),
        (Ruling.ALLOWS, Reason.ALLOWS),
        (Ruling.OBJECTIVE, Reason.OBJECTIVE),
    ],
)
def test_a_ruling_of_the_comparison_is_a_finding(ruling: Ruling, reason: Reason | None) -> None:
    checked = judged(PROFIT, comparison=ModelComparison(ruling, "why", ("hours",), compared_aims=1))
    assert [(finding.reason, finding.name) for finding in checked.findings] == (
        [] if reason is None else [(reason, "hours")]
    )
    assert (checked.compared, checked.confirmed) == (True, reason is None)


def test_a_row_that_is_violated_is_not_named_again_by_the_comparison() -> None:
    entry = ("hours", 9.0, "<=", 7.0, "")
    comparison = ModelComparison(Ruling.ALLOWS, "why", ("hours",), compared_aims=1)
    assert [finding.reason for finding in judged(entry, PROFIT, comparison=comparison).findings] == [Reason.VIOLATED]
    further = replace(comparison, names=("hours", "few"))
    reasons = [finding.reason for finding in judged(entry, PROFIT, comparison=further).findings]
    assert reasons == [Reason.VIOLATED, Reason.ALLOWS]


@pytest.mark.parametrize(
    ("within", "gap", "compared"), [(None, 0.0, False), (0.04, 0.0, True), (0.06, 0.0, False), (0.04, 0.01, False)]
)
def test_an_undecided_comparison_counts_within_the_gap(within: float | None, gap: float, compared: bool) -> None:
    checked = judged(PROFIT, comparison=ModelComparison(Ruling.UNDECIDED, within=within, compared_aims=1), gap=gap)
    assert (checked.compared, checked.confirmed, bool(checked.note)) == (compared, False, not compared)
    verdict = decide_verdict(is_answer=True, has_model=True, message="", checks=asdict(checked)).verdict
    assert verdict is (Verdict.CHECKED if compared else Verdict.UNCHECKED)


def test_rules_of_one_side_are_findings_unless_they_are_named_already() -> None:
    rules = (
        RuleComparison("hours", RuleOutcome.HOLDS),
        RuleComparison("few", RuleOutcome.MISSING, 3.0, "at least one"),
        RuleComparison("more", RuleOutcome.ADDED, 2.0),
        RuleComparison("far", RuleOutcome.NOT_DECIDED),
        RuleComparison("slow", RuleOutcome.NOT_COMPARED),
    )
    checked = judge(RAN, Report("", (PROFIT,), AGREES, rules=rules), OPTIONS)
    assert [(f.reason, f.name) for f in checked.findings] == [(Reason.ALLOWS, "few"), (Reason.FORBIDS, "more")]
    broken = judge(RAN, Report("", (("few", 0.0, ">=", 1.0, ""), PROFIT), AGREES, rules=rules), OPTIONS)
    assert [(f.reason, f.name) for f in broken.findings] == [(Reason.VIOLATED, "few"), (Reason.FORBIDS, "more")]


def test_a_checker_that_fails_or_says_nothing_checks_nothing() -> None:
    assert judge(RAN, Report("no function"), OPTIONS).state is CheckStatus.UNCHECKED
    assert judge(RAN, Report("", ()), OPTIONS).state is CheckStatus.UNCHECKED


PASSED = Checked(CheckStatus.PASSED, compared=True, compared_aims=1)
FAILED = judged(("row", 9.0, "<=", 7.0, ""), PROFIT)
WRONG = {"property": "order", "datum": "x", "note": "differs", "holds": False}
DISPUTE = Dispute(str(Reason.VIOLATED), "row", "9 <= 7", Citation("a", 1), Citation("b", 2))


@pytest.mark.parametrize(
    ("checks", "changes", "verdict", "code"),
    [
        (PASSED, {}, Verdict.CHECKED, 0),
        (PASSED, {"has_model": False, "is_answer": False}, Verdict.NO_ANSWER, 3),
        (PASSED, {"is_answer": False}, Verdict.NO_ANSWER, 3),
        (PASSED, {"properties": [WRONG]}, Verdict.CONTRADICTED, 4),
        (PASSED, {"properties": [{**WRONG, "holds": None}]}, Verdict.CHECKED, 0),
        (replace(PASSED, compared=False), {}, Verdict.UNCHECKED, 5),
        (replace(PASSED, compared_aims=0), {}, Verdict.UNCHECKED, 5),
        (replace(PASSED, compared_aims=None), {}, Verdict.CHECKED, 0),
        (replace(PASSED, state=CheckStatus.UNCHECKED), {}, Verdict.UNCHECKED, 5),
        (None, {}, Verdict.UNCHECKED, 5),
        (FAILED, {}, Verdict.CONTRADICTED, 4),
        # A contradiction comes before the missing proof of an optimum.
        (FAILED, {"is_answer": False}, Verdict.CONTRADICTED, 4),
        (FAILED, {"disputes": [DISPUTE]}, Verdict.DISPUTED, 6),
        (FAILED, {"disputes": [DISPUTE], "properties": [WRONG]}, Verdict.CONTRADICTED, 4),
        (FAILED, {"disputes": [replace(DISPUTE, name="other")]}, Verdict.CONTRADICTED, 4),
        (PASSED, {"disputes": [DISPUTE]}, Verdict.CHECKED, 0),
    ],
)  # fmt: skip
def test_each_situation_has_its_verdict_and_exit_code(
    checks: Checked | None, changes: dict[str, object], verdict: Verdict, code: int
) -> None:
    situation = {"is_answer": True, "has_model": True, "message": "", **changes}
    judgement = decide_verdict(checks=None if checks is None else asdict(checks), **situation)  # type: ignore[arg-type]
    assert (judgement.verdict, judgement.verdict.exit_code) == (verdict, code)


@pytest.mark.parametrize(
    ("point", "status", "reasons"),
    [
        ({"x": 3.0, "y": 1.0}, SolveStatus.OPTIMAL, []),
        ({"x": 2.0, "y": 3.0}, SolveStatus.FEASIBLE, [Reason.OBJECTIVE]),
        ({"x": 3.0, "y": 2.0}, SolveStatus.FEASIBLE, [Reason.VIOLATED]),
        ({"x": 3.0, "y": 0.0}, SolveStatus.FEASIBLE, [Reason.VIOLATED]),
        ({"x": 2.5, "y": 2.0}, SolveStatus.FEASIBLE, [Reason.VIOLATED]),
    ],
)
def test_a_given_point_is_compared_with_the_model_and_its_optimum(
    point: dict[str, float], status: SolveStatus, reasons: list[Reason]
) -> None:
    solution = place_point(MILP, point, solve(MILP, duals=False))
    assert solution.status is status
    assert solution.objective == pytest.approx(3 * point["x"] + point["y"])
    assert solution.activities == {"hours": 2 * point["x"] + point["y"], "few": point["y"]}
    assert solution.slacks["hours"] == pytest.approx(max(0.0, 7 - 2 * point["x"] - point["y"]))
    checked = _check_point(MILP, solution, PASSED)
    assert [finding.reason for finding in checked.findings] == reasons
    assert checked.state is (CheckStatus.FAILED if reasons else CheckStatus.PASSED)
    assert checked.compared


@pytest.mark.parametrize(
    ("ends", "expected", "holds"),
    [
        ((5.0, 5.0), (5.0, 5.0), True),
        ((5.0, 5.0), (6.0, 6.0), False),
        ((6.0, 6.0), (5.0, 5.0), False),
        # Ranges that have a value in common may be the same optimum.
        ((4.0, 6.0), (5.0, 8.0), True),
        ((4.0, 6.0), (7.0, 8.0), False),
        ((7.0, 8.0), (4.0, 6.0), False),
        ((4.0, 9.0), (5.0, 8.0), True),
        ((6.0, 7.0), (5.0, 8.0), True),
        # A millionth of the optimum, or of 1 for small ones.
        ((1_000_000.5, 1_000_000.5), (1e6, 1e6), True),
        ((1_000_002.0, 1_000_002.0), (1e6, 1e6), False),
        ((-1_000_000.5, -1_000_000.5), (-1e6, -1e6), True),
        ((0.1000005, 0.1000005), (0.1, 0.1), True),
        ((0.1000015, 0.1000015), (0.1, 0.1), False),
        (None, (5.0, 5.0), False),
        ((5.0, 5.0), None, None),
    ],
)
def test_optima_of_changed_data_agree_where_their_ranges_meet(
    ends: tuple[float, float] | None, expected: tuple[float, float] | None, holds: bool | None
) -> None:
    result = _compare_ranges(Property.ORDER, ["a"], ends, expected)
    assert result.holds is holds
    if holds is False:
        # Both optima, or both ends of a range, are in the note.
        assert all(f"{end:.10g}" in result.note for end in (*(ends or ()), *(expected or ())))


@pytest.mark.parametrize(
    ("comment", "is_cited"),
    [
        ("# the oven has 12 hours", True),
        # Long enough, but of two words; three words, but short; not in the problem.
        ("# breadmaking operations", False),
        ("# a b c", False),
        ("# the oven has 13 hours", False),
        ("# the checker is wrong: the oven has 12 hours", True),
        ('# see "The oven has 12 hours" of the story', True),
    ],
)
def test_a_comment_cites_a_sentence_of_the_problem_if_it_is_long_enough(comment: str, is_cited: bool) -> None:
    problem = "Baking.\nBreadmaking operations: a b c. The oven has 12 hours."
    citation = find_citation(f"def solve(data):\n    {comment}\n    pass\n", problem)
    assert (citation is not None) is is_cited
    assert citation is None or citation.line == 2


@pytest.mark.parametrize(
    ("aim", "finding"),
    [
        (StatedAim("b", Sense.MAXIMIZE, 10.0, aim=0), None), (StatedAim("b", Sense.MAXIMIZE, 11.0, aim=0), (11.0, 10.0)), (StatedAim("b", Sense.MAXIMIZE, None, aim=0), None),
        # The other direction is wrong, unless the objective is the negative of the aim.
        (StatedAim("b", Sense.MINIMIZE, 10.0, aim=0), (None, None)), (StatedAim("b", Sense.MINIMIZE, -10.0, aim=0, is_negated=True), None),
        (StatedAim("b", Sense.MINIMIZE, 10.0, aim=0, is_negated=True), (10.0, -10.0)), (StatedAim("b", Sense.MAXIMIZE, 10.0, aim=0, is_negated=True), (None, None)),
        (StatedAim("b", Sense.MINIMIZE, 99.0), None),
    ],
)  # fmt: skip
def test_each_aim_that_has_an_objective_is_compared_with_it(
    aim: StatedAim, finding: tuple[float | None, float | None] | None
) -> None:
    """Before it there is an aim that corresponds to no objective."""
    stated = (
        ("first", 5.0, "minimize", 0.0, "the first sentence"),
        ("row", 1.0, "<=", 2.0, ""),
        ("b", 10.0, "maximize", 0.0, "the second one"),
    )
    comparison = replace(AGREES, aims=(StatedAim("first", Sense.MINIMIZE, 5.0), aim))
    checked = judge(RAN, Report("", stated, comparison), OPTIONS)
    found = [(each.reason, each.name, each.left, each.right, each.sentence) for each in checked.findings]
    assert found == ([] if finding is None else [(Reason.OBJECTIVE, "b", *finding, "the second one")])
    assert checked.aims == comparison.aims
    assert all("the second one" in each.text for each in checked.findings)
    # Without a sentence, and without a plan, whose value nobody knows.
    bare = judge(RAN, Report("", (), comparison), OPTIONS)
    assert [each.sentence for each in bare.findings] == [""] * len(found)
    infeasible = replace(RAN, solution=Solution(SolveStatus.INFEASIBLE))
    assert len(judge(infeasible, Report("", stated, comparison), OPTIONS).findings) == (finding == (None, None))
    assert len(judge(replace(RAN, solution=None), Report("", stated, comparison), OPTIONS).findings) == (
        finding == (None, None)
    )


@pytest.mark.parametrize(
    ("value", "relation", "is_fraction"), [(10.5, "integer", True), (10.5, "<=", False), (10.0, "integer", False), (None, "integer", False), (10.0 + 1e-9, "integer", False)]
)  # fmt: skip
def test_the_published_checker_wants_a_whole_objective_beside_whole_values(
    value: float | None, relation: str, is_fraction: bool
) -> None:
    ran = replace(RAN, solution=Solution(SolveStatus.OPTIMAL, objective=value, values={}))
    report = Report("", (("whole", 2.0, relation, 3.0, ""),))
    findings = judge(ran, report, choose_options("paper")).findings
    assert [(each.reason, each.left, each.right) for each in findings] == (
        [(Reason.INTEGRALITY, 10.5, 10.0)] if is_fraction else []
    )
    assert judge(ran, report, OPTIONS).findings == ()


@pytest.mark.parametrize(
    ("value", "published", "absolute", "is_whole"),
    [
        (3.0 + 0.9e-5, False, 0.0, True), (3.0 + 1.1e-5, False, 0.0, False), (3.0 + 0.9e-5, True, 0.0, False), (3.0 + 1e-9, True, 0.0, True),
        (3.0 - 0.9e-5, False, 0.0, True), (3.09, False, 0.1, True), (-3.0, True, 0.0, True), (float("nan"), False, 0.0, False), (float("inf"), True, 0.0, False),
    ],
)  # fmt: skip
def test_a_whole_value_has_its_tolerance(value: float, published: bool, absolute: float, is_whole: bool) -> None:
    options = replace(OPTIONS, published=published, absolute=absolute, solve_checks=False)
    findings = judge(RAN, Report("", (("whole", value, "integer", 0.0, "in pieces"),)), options).findings
    assert [each.reason for each in findings] == ([] if is_whole else [Reason.INTEGRALITY])
    for each in findings:
        assert each.right == (3.0 if value < 4 else None)
        assert each.violation == (None if each.right is None else pytest.approx(abs(value - 3)))
        assert "in pieces" in each.text


def test_options_that_do_not_compare_models_ignore_the_comparison() -> None:
    forbids = ModelComparison(Ruling.FORBIDS, "why", ("hours",), aims=(StatedAim("x", Sense.MINIMIZE, 3.0, aim=0),))
    checked = judge(RAN, Report("", (PROFIT,), forbids, sentences={"hours": "s"}), replace(OPTIONS, solve_checks=False))
    assert (checked.state, checked.findings, checked.compared, checked.confirmed) == (
        CheckStatus.PASSED,
        (),
        True,
        False,
    )
    assert (checked.compared_aims, checked.sentences, checked.note) == (1, {"hours": "s"}, "")
    assert [(aim.name, aim.aim) for aim in checked.aims] == [("profit", 0)]
    assert judge(RAN, Report("", (PROFIT,)), OPTIONS).compared is False
    noted = judge(RAN, Report("", (), None, "no rows"), OPTIONS)
    assert (noted.state, noted.note) == (CheckStatus.UNCHECKED, "no rows")
    # Without rows, a comparison alone is a check.
    assert judge(RAN, Report("", (), AGREES), OPTIONS).state is CheckStatus.PASSED
    unnamed = judge(RAN, Report("", (PROFIT,), replace(forbids, names=())), OPTIONS).findings
    assert [(each.reason, each.name) for each in unnamed] == [(Reason.OBJECTIVE, "x"), (Reason.FORBIDS, "")]


@pytest.mark.parametrize("ruling", [Ruling.FORBIDS, Ruling.ALLOWS, Ruling.OBJECTIVE])
def test_only_rows_that_are_all_violated_make_a_comparison_needless(ruling: Ruling) -> None:
    broken = (("few", 0.0, ">=", 1.0, ""), ("hours", 9.0, "<=", 7.0, ""))
    for names, again in ((("few",), False), (("few", "hours"), False), (("few", "other"), True), ((), False)):
        findings = judge(RAN, Report("", (*broken, PROFIT), ModelComparison(ruling, "why", names)), OPTIONS).findings
        assert len(findings) == 2 + (again or ruling is not Ruling.ALLOWS)
    # With no finding of its own, a comparison counts.
    assert len(judge(RAN, Report("", (PROFIT,), ModelComparison(ruling, "why", ())), OPTIONS).findings) == 1
    feedback = judge(
        RAN, Report("", tuple((f"r{at}", 9.0, "<=", 1.0, "") for at in range(22)), AGREES), OPTIONS
    ).feedback
    assert len(feedback.splitlines()) == 20


@pytest.mark.parametrize(
    ("sentence", "is_cited"), [("the oven has", True), ("an oven has", False), ("the ovens 12", True), ("a1 b2 c3 d4 e5", True), ("breadmaking has", False)]
)  # fmt: skip
def test_a_citation_has_twelve_characters_and_three_words(sentence: str, is_cited: bool) -> None:
    assert (find_citation(f"# {sentence}\n", f"One.\nTwo: {sentence}.") is not None) is is_cited


def test_citations_and_disputes_are_shown_with_their_places_and_cut() -> None:
    assert Citation("", None).text.count("no sentence") == 1
    assert "line 3" in Citation("the oven", 3).text
    assert "line" not in Citation("the oven", None).text
    assert Citation("x" * 999, 1).text.count("x") == 299
    dispute = Dispute("r", "n", "y" * 999, Citation("a b", 1), Citation("c d", 2))
    assert dispute.text.count("y") == 299
    assert all(side.text in dispute.text for side in (dispute.checker, dispute.program))
    finding = FAILED.findings[0]
    (listed,) = list_disputes([replace(finding, sentence="c d")], Citation("a b", 7), "a b\nc d")
    assert (listed.reason, listed.name, listed.finding) == (str(finding.reason), finding.name, finding.text)
    assert (listed.checker, listed.program) == (Citation("c d", 2), Citation("a b", 7))
    assert read_dispute(asdict(listed)) == listed


def test_a_verdict_has_at_most_twenty_reasons_of_a_line_each() -> None:
    many = judged(*((f"row {at}", 9.0, "<=", 7.0, "") for at in range(25)), PROFIT)
    situation = {"is_answer": True, "has_model": True, "message": ""}
    reasons = decide_verdict(checks=asdict(many), **situation).reasons  # type: ignore[arg-type]
    assert len(reasons) == 20
    disputes = [replace(DISPUTE, name=f"row {at}") for at in range(25)]
    disputed = decide_verdict(checks=asdict(many), disputes=disputes, **situation)  # type: ignore[arg-type]
    assert (disputed.verdict, len(disputed.reasons)) == (Verdict.DISPUTED, 20)
    failed = decide_verdict(checks=asdict(PASSED), properties=[WRONG], **situation)  # type: ignore[arg-type]
    assert all(word in failed.reasons[0] for word in ("order", "x", "differs"))
    long = decide_verdict(checks=None, is_answer=False, has_model=False, message="z" * 999)
    assert [reason.count("z") for reason in long.reasons] == [599]
    assert decide_verdict(checks=None, is_answer=False, has_model=False, message="").reasons == ()
    silent = decide_verdict(checks=None, **situation)  # type: ignore[arg-type]
    assert (silent.verdict, len(silent.reasons)) == (Verdict.UNCHECKED, 1)
