"""Figures of answers: planted false ones are never shown as the model's, true ones are never marked."""

import contextlib
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent._base.errors import ModellingError
from oragent.converse.models.workbench import Workbench
from oragent.modelling.data.display import figure as figure_text
from oragent.modelling.operations.results import Figure
from oragent.modelling.references.answer_references import fill_reference
from oragent.modelling.references.answer_text import find_problems, make_answer, plain_answer
from oragent.modelling.references.figures import format_figure
from tests.modelling.indexed_models import transport

LINES = (
    "solve",
    "whatif demand[Paris, *] *= 1.1",
    "whatif forbid ship[Lyon, *, *]",
    "total ship by week",
    "value ship",
    "binding",
    "slack capacity",
    "whatif stock[Lyon, wk1] <= 1000",
    "row huge: sum ship >= 100000",
    "solve",
)


@pytest.fixture(scope="module")
def bench() -> Workbench:
    made = Workbench(transport())
    for line in LINES:
        made.ask(line)
    return made


def filled(bench: Workbench, text: str) -> str:
    return fill_reference(text, bench.results, bench.model).text


def test_references_are_the_figures_of_their_results(bench: Workbench) -> None:
    first, second = bench.results["r1"], bench.results["r2"]
    assert filled(bench, "r1.objective") == format_figure(first.objective)
    assert filled(bench, "r2.objective") == format_figure(second.objective.after)
    difference = second.objective.after.value - first.objective.value
    assert filled(bench, "r2.objective - r1.objective") == f"{figure_text(difference)} EUR"
    share = 100 * difference / first.objective.value
    assert filled(bench, "100 * (r2.objective - r1.objective) / r1.objective") == figure_text(share)
    groups = {group.label: group.total for group in bench.results["r4"].groups}
    assert filled(bench, "r4.total(wk2)") == format_figure(groups["wk2"])
    member = bench.results["r5"].members[0]
    assert filled(bench, f"r5.value({member.name})") == format_figure(member.value)
    unused = next(
        bench.model.member_name(family, place)
        for family in bench.model.variables
        if family.name == "ship"
        for place in range(len(family))
        if bench.model.member_name(family, place) not in {one.name for one in bench.results["r5"].members}
    )
    assert filled(bench, f"r5.value({unused})") == "0 tons"


def test_statements_are_those_of_the_solver(bench: Workbench) -> None:
    assert filled(bench, "r2.better") == "worse"
    assert filled(bench, "r8.unchanged") == "unchanged"
    assert filled(bench, "r2.unchanged") == "changed"
    assert filled(bench, "r10.possible") == filled(bench, "r10.impossible") == "impossible"
    binding = {member.name for member in bench.results["r6"].members}
    for member in bench.results["r7"].members:
        expected = "binds" if member.slack.value <= 1e-6 else "does not bind"
        assert filled(bench, f"r7.binding({member.name})") == expected
        assert filled(bench, f"r6.binding({member.name})") == ("binds" if member.name in binding else "does not bind")


@pytest.mark.parametrize(
    "text",
    [
        "r99.objective",
        "r1.nothing",
        "r1.objective / (r1.objective - r1.objective)",
        "r1.objective + r4.total",
        "r5.members[9999]",
        "r5.value(ship[Lyon])",
        "r5.value(nothing[Lyon])",
        "r1",
        "(" * 50 + "r1.objective" + ")" * 50,
        "r1.__class__",
        "r1.objective +",
        "r1.objective r1.objective",
        "r5.value(ship[Lyon, Paris, wk1]",
        "r1.objective" + " + r1.objective" * 100,
    ],
)
def test_references_to_nothing_are_refused_in_one_line(bench: Workbench, text: str) -> None:
    if text == "r1":
        assert filled(bench, text) == filled(bench, "r1.objective")
        return
    with pytest.raises(ModellingError) as refused:
        filled(bench, text)
    assert "\n" not in str(refused.value)


@pytest.mark.slow
@given(st.text('r123.[]()+-*/ objectivevalue{}"', max_size=60))
def test_no_text_breaks_the_reader(bench: Workbench, text: str) -> None:
    with contextlib.suppress(ModellingError):
        filled(bench, text)
    find_problems(f"{{{text}}}", bench.results, bench.model)
    make_answer(f"a {{{text}}} b", bench.results, bench.model, [])


def test_the_interval_of_a_difference_holds_the_true_one(bench: Workbench) -> None:
    first = bench.results["r1"].model_copy(update={"objective": Figure.between(100.0, 90.0, 100.0, "EUR")})
    second = bench.results["r1"].model_copy(update={"objective": Figure.between(80.0, 75.0, 80.0, "EUR")})
    results = {"r1": first, "r2": second}
    assert fill_reference("r2.objective - r1.objective", results, bench.model).text == "between -25 and -10 EUR"
    assert fill_reference("r2.objective / r1.objective", results, bench.model).text.startswith("between 0.75 and ")
    with pytest.raises(ModellingError):
        fill_reference("r1.objective / (r2.objective - r2.objective)", results, bench.model)


def _true_figures(bench: Workbench) -> list[str]:
    """Two hundred true figures and statements: references, figures of results as text, and numbers of the person."""
    random.seed(3)
    texts = ["{r1.objective}", "{r2.objective.after}", "{r2.objective.difference}", "{r4.total}", "{r2.better}"]
    texts += ["{100 * r2.objective.difference / r2.objective.before} %", "{r10.possible}", "{r8.unchanged}"]
    for member in bench.results["r5"].members:
        texts += [f"{{r5.value({member.name})}}", f"{{r5.contribution({member.name})}}"]
        texts += [figure_text(member.value.value), f"{member.name} ships {figure_text(member.contribution.value)} EUR"]
    for member in bench.results["r7"].members:
        texts += [f"{member.name} {{r7.binding({member.name})}}", f"{{r7.slack({member.name})}}"]
    for group in bench.results["r4"].groups:
        texts += [
            f"{{r4.total({group.label})}}",
            f"in {group.label}: {group.total.value:g} tons",
            f"{group.label} is low",
        ]
    cost = bench.results["r1"].objective.value
    texts += [f"{cost:,.0f} EUR", f"{cost:.1f}", "10 %", "the 3 depots", "1. ship first\n2. then stock", "CO2 rises"]
    assert len(texts) >= 150
    return (texts * 2)[:200]


def test_true_figures_are_never_marked(bench: Workbench) -> None:
    marked = []
    for text in _true_figures(bench):
        parts = make_answer(f"Then {text} follows.", bench.results, bench.model, ["What if Paris needs 10 % more CO2?"])
        marked += [text for part in parts if part.kind in ("unsupported", "missing")]
    assert marked == []


def test_false_figures_are_never_shown_as_those_of_the_model(bench: Workbench) -> None:
    random.seed(4)
    figures = sorted(
        figure.value
        for result in bench.results.values()
        for name in type(result).model_fields
        if isinstance(figure := getattr(result, name), Figure) and figure.value
    )
    false = [f"{random.choice(figures) * random.uniform(1.013, 1.9):,.2f} EUR" for _ in range(60)]
    false += [f"EUR{random.randint(10**5, 10**6)}", "about 77.77 tons", ".777", "123456", "up by 91,7 %", "٧٧٧٧ tons"]
    false += [f"{{r{number}.objective}}" for number in range(50, 70)]
    false += [
        "{r1.price}",
        "{r1.objective / (r1.objective - r1.objective)}",
        "{r2.value(ship[Lyon])}",
        "{r4.total(wk9)}",
    ]
    false += [f"saves {random.randint(20000, 90000)} a year" for _ in range(100 - len(false))]
    assert len(false) == 100
    for text in false:
        parts = make_answer(f"Then {text}.", bench.results, bench.model, ["What if Paris needs more?"])
        kinds = {part.kind for part in parts}
        assert "figure" not in kinds, text
        assert kinds & {"unsupported", "missing"}, text
        assert "missing" in kinds or "not from the model" in plain_answer(parts)


def test_answers_name_the_operation_of_each_figure(bench: Workbench) -> None:
    parts = make_answer("{r2.objective - r1.objective} more", bench.results, bench.model, [])
    assert parts[0].sources == ("r2", "r1")
    assert "[r2, r1]" in plain_answer(parts)


def test_braces_without_results_stay_text(bench: Workbench) -> None:
    for text in ("{}", "{Lyon, Metz}", "{ r", "a } b {", "{'json': true}"):
        assert "".join(part.text for part in make_answer(text, bench.results, bench.model, [])) == text


def test_labels_with_signs_and_other_scripts(tmp_path: Path) -> None:
    from oragent.modelling.data.builder import IndexedModelBuilder

    builder = IndexedModelBuilder("مخزن")
    builder.add_set("مدينة", ["باريس", 'the "old" (port)', "a]b}", "b) c", "(d", 'x" ) y'])
    columns = builder.add_variables("نقل", ["مدينة"], high=5)
    builder.set_objective("ربح", "maximize", columns, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    bench = Workbench(builder.build())
    bench.ask("value نقل")
    for name in (
        "نقل[باريس]",
        'نقل["the \\"old\\" (port)"]',
        'نقل["a]b}"]',
        'نقل["b) c"]',
        'نقل["(d"]',
        'نقل["x\\" ) y"]',
    ):
        parts = make_answer(f"is {{r1.value({name})}}", bench.results, bench.model, [])
        assert parts[-1].kind == "figure"
        assert parts[-1].text == "5"
