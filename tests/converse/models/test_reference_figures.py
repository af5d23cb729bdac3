"""Arithmetic, statements and members of references, and results for prompts, against their definitions."""

import contextlib
import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent._base.errors import ModellingError
from oragent.converse.models.workbench import Workbench
from oragent.modelling.data.builder import IndexedModelBuilder
from oragent.modelling.data.display import figure as figure_text
from oragent.modelling.operations.results import CompareResult, Figure, Moved
from oragent.modelling.operations.syntax import parse_line
from oragent.modelling.references.answer_references import (
    COMPLETE,
    MAX_REFERENCE_LENGTH,
    _combine,
    _statement,
    _unit_of,
    fill_reference,
)
from oragent.modelling.references.answer_text import _readings, make_answer, split_references
from oragent.modelling.references.brief_results import SIZES, _brief, _brief_field, brief_result
from oragent.modelling.references.figures import format_figure, format_part
from oragent.modelling.references.reference_text import label_text, name_text
from tests.modelling.indexed_models import transport

LINES = ("solve", "whatif demand[Paris, *] *= 1.1", "total ship by week", "value ship", "binding", "slack capacity")


@pytest.fixture(scope="module")
def bench() -> Workbench:
    made = Workbench(transport())
    for line in LINES:
        made.ask(line)
    return made


def test_expressions_have_the_usual_precedence(bench: Workbench) -> None:
    for text, value in {
        "2 + 3 * 4": 14, "(2 + 3) * 4": 20, "2 - 3 - 4": -5, "2 - (3 - 4)": 3, "24 / 4 / 3": 2, "24 / (4 / 2)": 12,
        "-2 * 3 + 1": -5, "- (2 - 5)": 3, "2 * -3": -6, " 1.5*( 2.25 + 0.75 ) ": 4.5, "7 - -2": 9, "1 - 2 * 3 / 4": -0.5,
    }.items():  # fmt: skip
        filled = fill_reference(text, bench.results, bench.model)
        assert float(filled.text) == value
        assert filled.sources == filled.fields == filled.members == ()


ends = st.tuples(st.integers(-4, 6), st.integers(-4, 6)).map(sorted)


@given(st.sampled_from("+-*/"), ends, ends)
def test_an_interval_holds_exactly_the_results_of_its_ends(sign: str, first: list[int], second: list[int]) -> None:
    left, right = (Figure.between(float(low), low, high) for low, high in (first, second))
    if sign == "/" and second[0] <= 0 <= second[1]:
        with pytest.raises(ModellingError):
            _combine(sign, left, right)
        return
    operation = {
        "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "/": lambda a, b: a / b,
    }[sign]  # fmt: skip
    results = [operation(a, b) for a, b in itertools.product(first, second)]
    figure = _combine(sign, left, right)
    assert (figure.low, figure.high) == (pytest.approx(min(results)), pytest.approx(max(results)))
    assert figure.value == pytest.approx(operation(first[0], second[0]))


def test_units_of_sums_and_products() -> None:
    euro, tons, bare = Figure.exact(6.0, "EUR"), Figure.exact(3.0, "tons"), Figure.exact(2.0)
    assert (_combine("+", euro, euro).unit, _combine("-", tons, tons).unit, _combine("+", bare, bare).unit) == (
        "EUR", "tons", "",
    )  # fmt: skip
    for sign in "+-":
        with pytest.raises(ModellingError):
            _combine(sign, euro, tons)
    products = {
        ("*", "EUR", "tons"): "EUR tons", ("*", "EUR", ""): "EUR", ("*", "", "tons"): "tons", ("*", "", ""): "",
        ("/", "EUR", "tons"): "EUR/tons", ("/", "EUR", ""): "EUR", ("/", "", "tons"): "1/tons", ("/", "EUR", "EUR"): "",
        ("/", "", ""): "",
    }  # fmt: skip
    assert {key: _unit_of(*key) for key in products} == products
    for missing in (Figure(value=1.0, high=2.0), Figure(value=1.0, low=0.0), Figure(low=1.0, high=2.0), "text", True):
        for pair in ((bare, missing), (missing, bare)):
            with pytest.raises(ModellingError):
                _combine("+", *pair)
    assert _combine("*", 3, 2.5) == Figure.exact(7.5)


@pytest.mark.parametrize("maximize", [False, True])
def test_statements_of_a_comparison_follow_its_interval(maximize: bool, bench: Workbench) -> None:
    result = bench.results["r2"]
    assert isinstance(result, CompareResult)
    sense = "maximize" if maximize else "minimize"
    lower, higher = ("worse", "better") if maximize else ("better", "worse")
    open_text = "not decided within the gap"
    for low, high, of_sign, of_change in (
        (0.0, 0.0, "unchanged", "unchanged"), (1.0, 2.0, higher, "changed"), (-2.0, -1.0, lower, "changed"),
        (0.0, 1.0, f"not {lower}", open_text), (-1.0, 0.0, f"not {higher}", open_text), (-1.0, 1.0, open_text, open_text),
        (None, None, open_text, open_text), (1.0, None, higher, "changed"), (None, -1.0, lower, "changed"),
        (None, 1.0, open_text, open_text), (-1.0, None, open_text, open_text), (0.0, None, f"not {lower}", open_text),
        (None, 0.0, f"not {higher}", open_text),
    ):  # fmt: skip
        difference = Figure(value=low, low=low, high=high)
        change = result.objective.model_copy(update={"sense": sense, "difference": difference})
        changed = result.model_copy(update={"objective": change})
        assert (_statement(changed, "better"), _statement(changed, "unchanged")) == (of_sign, of_change), (low, high)


def test_only_comparisons_are_better_and_the_later_status_says_what_is_possible(bench: Workbench) -> None:
    for name in ("better", "unchanged"):
        with pytest.raises(ModellingError):
            _statement(bench.results["r1"], name)
    for status, text in (("optimal", "possible"), ("feasible", "possible"), ("infeasible", "impossible")):
        after = bench.results["r2"].model_copy(update={"status": "unbounded", "status_after": status})
        assert _statement(after, "possible") == _statement(after, "impossible") == text
        assert _statement(bench.results["r1"].model_copy(update={"status": status}), "possible") == text
    assert _statement(bench.results["r1"].model_copy(update={"status": "unknown"}), "possible") not in (
        "possible", "impossible",
    )  # fmt: skip


def fill(bench: Workbench, text: str, **changed: object) -> str:
    return fill_reference(text, bench.results | changed, bench.model).text


def test_members_that_a_list_omits_are_zero_only_if_it_lists_all_others(bench: Workbench) -> None:
    values = bench.results["r4"]
    listed = {member.name for member in values.members}
    family = next(family for family in bench.model.variables if family.name == "ship")
    names = [bench.model.member_name(family, place) for place in range(len(family))]
    unused = next(name for name in names if name not in listed)
    assert fill(bench, f"r4.value({unused})") == f"0 {values.members[0].value.unit}"
    assert fill(bench, f"r4.contribution({unused})") == f"0 {values.members[0].contribution.unit}"
    long = values.model_copy(update={"members": (values.members * COMPLETE)[:COMPLETE]})
    shorter = values.model_copy(update={"members": long.members[1:]})
    part = values.model_copy(update={"request": parse_line("value ship[Lyon, *, *]")})
    other = values.model_copy(update={"request": parse_line("value stock")})
    assert fill(bench, f"r9.value({unused})", r9=shorter).startswith("0 ")
    for result in (long, part, other, bench.results["r6"]):
        with pytest.raises(ModellingError):
            fill(bench, f"r9.value({unused})", r9=result)
    for text in (f"r4.slack({unused})", "r4.value(capacity[Lyon, wk1])", "r1.value(x)", "r4.nothing(ship)"):
        with pytest.raises(ModellingError):
            fill(bench, text)


def test_rows_bind_where_their_slack_is_small_for_their_size(bench: Workbench) -> None:
    slacks = bench.results["r6"]
    name = slacks.members[0].name
    for value, slack, binds in (
        (0.5, 1e-7, True), (0.5, 1e-6, True), (0.5, 1.5e-6, False), (-1e6, 1e-1, True), (1e6, 10.0, False), (None, 0.9e-6, True),
        (None, 1.5e-6, False),
    ):  # fmt: skip
        figures = {"value": Figure(value=value), "slack": Figure.exact(slack)}
        member = slacks.members[0].model_copy(update=figures)
        changed = slacks.model_copy(update={"members": (*slacks.members[1:], member)})
        assert fill(bench, f"r9.binding({name})", r9=changed) == ("binds" if binds else "does not bind")
    without = slacks.model_copy(update={"members": (slacks.members[0].model_copy(update={"slack": None}),)})
    for text in (f"r9.binding({name})", f"r9.binding({slacks.members[1].name})"):
        with pytest.raises(ModellingError):
            fill(bench, text, r9=without)
    binding = bench.results["r5"]
    listed = [member.name for member in binding.members]
    assert fill(bench, "r5.binding") == format_part(tuple(listed))
    assert fill(bench, "r9.binding", r9=binding.model_copy(update={"members": ()})) == "none"
    open_row = next(member.name for member in slacks.members if member.name not in listed)
    assert fill(bench, f"r5.binding({open_row})") == "does not bind"
    long = binding.model_copy(update={"members": (binding.members * COMPLETE)[:COMPLETE]})
    part = binding.model_copy(update={"request": parse_line("binding meet")})
    for result in (long, part):
        assert fill(bench, f"r9.binding({listed[0]})", r9=result) == "binds"
        with pytest.raises(ModellingError):
            fill(bench, f"r9.binding({open_row})", r9=result)


def test_moved_members_groups_and_newly_binding_rows_are_found_by_name(bench: Workbench) -> None:
    rows = bench.results["r6"].members
    zero = Figure.exact(0.0)
    moved = tuple(
        Moved(
            family=name.partition("[")[0], members=1, total_before=zero, total_after=zero, largest=((name, old, new),)
        )
        for name, old, new in (("ship[Lyon, Paris, wk1]", 3.0, 5.5), ("stock[Lyon, wk1]", 7.0, 1.25))
    )
    update = {"moved": moved, "newly_binding": rows[:1], "no_longer_binding": rows[1:2]}
    result = bench.results["r2"].model_copy(update=update)
    assert fill(bench, "r9.before(ship[Lyon, Paris, wk1])", r9=result) == "3"
    assert fill(bench, "r9.after(ship[lyon,paris,WK1])", r9=result) == "5.5"
    assert fill(bench, "r9.after(stock[Lyon, wk1]) - r9.before(stock[Lyon, wk1])", r9=result) == "-5.75"
    assert fill(bench, f"r9.value({rows[1].name})", r9=result) == format_figure(rows[1].value)
    assert fill(bench, "r9.binding", r9=result) == format_part((rows[0].name, rows[1].name))
    groups = {group.label: group.total for group in bench.results["r3"].groups}
    for label, total in groups.items():
        for shown in (label, label.upper(), f'"{label}"'):
            assert fill(bench, f"r3.total({shown})") == fill(bench, f"r3.groups({shown})") == format_figure(total)
    for text in ("r9.after(ship[Nice, Paris, wk1])", "r3.total(wk99)", "r9.before(total ship)", "r9.after(sum ship)"):
        with pytest.raises(ModellingError):
            fill(bench, text, r9=result)


def test_fields_sources_and_members_of_a_reference_are_listed_once(bench: Workbench) -> None:
    filled = fill_reference("r2.objective.before - r1.objective + r2.objective.before", bench.results, bench.model)
    assert (filled.sources, filled.fields, filled.members) == (("r2", "r1"), ("before",), ())
    member = bench.results["r4"].members[0]
    text = f"r4.value({member.name}) + r4.members[0].value"
    filled = fill_reference(text, bench.results, bench.model)
    assert (filled.sources, filled.fields, filled.members) == (("r4",), (), (member.name,))
    assert filled.text == f"{figure_text(2 * member.value.value)} {member.value.unit}"
    exact = "r1.objective".ljust(MAX_REFERENCE_LENGTH)
    assert fill(bench, exact) == fill(bench, "r1.objective")
    for text in (
        f"{exact} ",
        "r1.objective.",
        "r1[0]",
        f"r4.members[{len(bench.results['r4'].members)}]",
        "r1.status.low",
        "r1.status[0]",
        "r4.value(ship",
        "r1.status + 1",
        "",
        "(1",
        "1 +",
    ):
        with pytest.raises(ModellingError):
            fill(bench, text)
    assert fill_reference("r1", bench.results, bench.model).fields == ()
    for count in (20, 21):
        with contextlib.suppress(ModellingError) if count > 20 else contextlib.nullcontext():
            assert fill(bench, "-" * count + "1") == "1"
            assert count <= 20
    for depth in range(12, 30):
        is_read = True
        try:
            fill(bench, "(" * depth + "1" + ")" * depth)
        except ModellingError:
            is_read = False
        assert is_read == (depth <= 20)


def test_parts_and_figures_as_text() -> None:
    parts = {True: "yes", False: "no", 3: "3", 2.5: "2.5", None: "unknown", "a\nb": format_part("a\nb")}
    assert {part: format_part(part) for part in parts} == parts
    assert "\n" not in format_part("a\nb")
    assert format_part(("x", "y")) == "x, y"
    assert len(format_part("x" * 300)) == len(format_part(("x" * 300,))) == 200
    for part in ((1, 2), ("x", 1), {}):
        with pytest.raises(ModellingError):
            format_part(part)
    words = {
        format_figure(Figure.exact(3.0, "kg")): "3 kg", format_figure(Figure(value=3.0, low=2.0, high=4.0)): "between 2 and 4",
        format_figure(Figure(low=2.0, unit="kg")): "at least 2 kg", format_figure(Figure(value=9.0, high=2.0)): "at most 2",
        format_figure(Figure()): "unknown",
    }  # fmt: skip
    assert list(words) == list(words.values())
    assert format_figure(Figure(value=5.0, unit="kg")).startswith("5 kg")
    assert format_figure(Figure(value=5.0)) != "5"
    assert len(format_figure(Figure.exact(1.0, "u" * 50))) == 42


@given(st.text('aA1_ .-"\\é', min_size=1, max_size=6))
def test_names_and_labels_are_read_again(text: str) -> None:
    if not text.strip():
        return
    request = parse_line(f"value {name_text(text)}[{label_text(text)}]")
    assert request.reference.name == text
    assert request.reference.indices[0].labels == (text,)


def test_only_names_and_labels_that_need_them_have_quotes() -> None:
    for word in ("sum", "upper", "Rows", "by", "a b", "2x", ""):
        assert name_text(word) == f'"{word}"'
    assert (name_text("cost2"), label_text("2"), label_text("2.5"), label_text("except")) == (
        "cost2",
        "2",
        "2.5",
        '"except"',
    )


def test_a_result_for_a_prompt_has_the_longest_lists_that_fit(bench: Workbench) -> None:
    result = bench.results["r4"]
    count = len(result.members)
    whole = json.loads(brief_result(result, 10**6))
    assert len(whole["members"]) == min(count, SIZES[0])
    assert [member["name"] for member in whole["members"]] == [member.name for member in result.members[: SIZES[0]]]
    assert whole["members"][0]["value"] == format_figure(result.members[0].value)
    lengths = []
    for size in SIZES:
        shown = whole | {"members": whole["members"][:size], "members_not_shown": count - size}
        if size >= count:
            del shown["members_not_shown"]
        if not size:
            del shown["members"], shown["members_not_shown"]
        lengths.append(len(json.dumps(shown, ensure_ascii=False, separators=(",", ":"))))
    for size, length in zip(SIZES, lengths, strict=True):
        text = brief_result(result, length)
        got = json.loads(text)
        assert len(text) == length
        assert len(got.get("members", ())) == min(size, count)
        if 0 < size < count:
            assert got["members_not_shown"] == count - size
    assert len(brief_result(result, 20)) == 40


def test_a_result_for_a_prompt_has_its_status_end_and_first_warnings(bench: Workbench) -> None:
    result = bench.results["r1"].model_copy(
        update={"ended_by": "seconds", "warnings": ("w" * 300, "two", "three", "four")}
    )
    got = json.loads(brief_result(result))
    assert (got["id"], got["line"], got["scenario"], got["status"]) == ("r1", "solve", "base", "optimal")
    assert (got["ended_by"], got["warnings"][1:], len(got["warnings"][0])) == ("seconds", ["two", "three"], 200)
    assert got["objective"] == format_figure(result.objective)
    plain_result = json.loads(brief_result(bench.results["r1"].model_copy(update={"status": ""})))
    assert not {"ended_by", "warnings", "status", "kind"} & plain_result.keys()


def test_texts_are_divided_at_references_with_quotes_and_braces() -> None:
    text = 'a {r1.x} b {c} {r2.value(x["}"])}{ r3 } {r4'
    pieces = list(split_references(text))
    assert [piece for is_reference, piece in pieces if is_reference] == ["r1.x", 'r2.value(x["}"])', "r3"]
    assert [piece for is_reference, piece in pieces if not is_reference] == ["a ", " b {c} ", "", " {r4"]
    assert list(split_references("{{r1.x} b")) == [(False, "{"), (True, "r1.x"), (False, " b")]
    assert list(split_references("r1 {xr1} {r1x}")) == [(False, "r1 {xr1} {r1x}")]
    for length, is_read in ((790, True), (800, False)):
        assert any(flag for flag, _ in split_references("{r1." + "x" * (length - 4) + "}")) == is_read


def test_a_fresh_model_has_no_members_to_refer_to() -> None:
    builder = IndexedModelBuilder("empty")
    builder.set_objective("gain", "maximize", builder.add_variables("x", [], high=3), [2.0], unit="€")
    bench = Workbench(builder.build())
    bench.ask("solve")
    assert fill(bench, "r1.objective") == "6 €"
    assert '"6 €"' in brief_result(bench.results["r1"])
    with pytest.raises(ModellingError):
        fill(bench, "r1.value(x)")


def test_parts_of_results_for_prompts_are_plain() -> None:
    assert [_brief(part, 2) for part in (None, True, False, 3, 2.5, "text")] == [None, True, False, "3", "2.5", "text"]
    assert _brief((1, 2, 3), 2) == ["1", "2"]
    assert _brief_field("parts", (1, 2, 3), 2) == {"parts": ["1", "2"], "parts_not_shown": 1}
    assert _brief_field("parts", (1, 2), 2) == {"parts": ["1", "2"]}
    assert [_brief_field("part", part, 2) for part in ("", None, (), "text", False)] == [
        {},
        {},
        {},
        {"part": "text"},
        {"part": False},
    ]
    assert _brief(Figure(), 2) is None
    for figure in (Figure(value=1.0), Figure(low=1.0), Figure(high=1.0)):
        assert _brief(figure, 2) == format_figure(figure)
    assert len(_brief("x" * 300, 2)) == 200


@pytest.mark.parametrize(
    ("text", "readings"),
    [
        ("1,234", [(1234.0, 0), (1.234, 3)]), ("1,23", [(1.23, 2)]), ("1,234.5", [(1234.5, 1)]), ("1,234,567", [(1234567.0, 0)]),
        ("2.75", [(2.75, 2)]), ("1 234", [(1234.0, 0)]), ("12", [(12.0, 0)]), (".5", [(0.5, 1)]), ("7,5", [(7.5, 1)]),
        ("12,3456", [(12.3456, 4)]),
    ],
)  # fmt: skip
def test_the_digits_of_a_number_have_one_or_two_meanings(text: str, readings: list[tuple[float, int]]) -> None:
    assert _readings(text) == readings


NUMBERS = {
    "6": True, "2.5": True, "77.77": False, "6.04": False, "6.0": True, "888": False, "15,4": False, "2,5": True,
    "2": True, "3": True, "4": False, "7": False, "6,251": False, "6,000": True, "6.05": False, "2.54": False,
}  # fmt: skip


@given(st.lists(st.sampled_from(sorted(NUMBERS)), min_size=1, max_size=6))
def test_each_number_of_a_text_is_marked_unless_a_figure_rounds_to_it(drawn: list[str]) -> None:
    builder = IndexedModelBuilder("empty")
    builder.set_objective("gain", "maximize", builder.add_variables("x", [], high=3), [2.0])
    text = " and then ".join(f"about {number} euros" for number in drawn)
    parts = make_answer(text, {}, builder.build(), ["Are 6 or 2.5 euros enough?"])
    assert "".join(part.text for part in parts) == text
    assert [part.text for part in parts if part.kind == "unsupported"] == [n for n in drawn if not NUMBERS[n]]
    assert {part.kind for part in parts} <= {"text", "unsupported"}
