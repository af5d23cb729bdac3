"""Shares, metrics, versions and settings of every package, against their definitions."""

import io
from dataclasses import field
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from oragent._base.budget import Budget, apportion
from oragent._base.protocol import ERROR, Failure, Result, Status, format_result, is_finite, parse
from oragent._base.racing import BEHAVIOUR, BY_INSTANCE, displayed_metrics, read_instance_values
from oragent._base.settings import STRICT, explain_validation_error
from oragent._base.spreadsheets import workbook_text
from oragent._base.table_files import parse_text


@given(whole=st.integers(0, 50), weights=st.lists(st.integers(0, 9), min_size=1, max_size=6))
def test_shares_are_those_of_the_largest_remainders(whole: int, weights: list[int]) -> None:
    parts = apportion(whole, weights)
    if not any(weights):
        weights = [1] * len(weights)
    exact = [Fraction(whole * weight, sum(weights)) for weight in weights]
    assert sum(parts) == whole
    remainders = [share - int(share) for share in exact]
    raised = [at for at, (part, share) in enumerate(zip(parts, exact, strict=True)) if part > int(share)]
    assert all(part - int(share) in (0, 1) for part, share in zip(parts, exact, strict=True))
    # No share that was left has a larger remainder than one that was raised, nor an equal one before it.
    for at in raised:
        for other in set(range(len(weights))) - set(raised):
            assert (remainders[at], -at) > (remainders[other], -other)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"50": [1, 2.5]}, {"50": [1.0, 2.5]}),
        ({50: (1.0,)}, {"50": [1.0]}),
        ({"50": [1.0], "100": [2.0]}, {"50": [1.0], "100": [2.0]}),
        ({"50": [1.0, True]}, None), ({"50": [1.0, "2"]}, None), ({"50": [1.0, float("nan")]}, None),
        ({"50": [float("inf"), 1.0]}, None), ({"50": []}, None), ({"50": 1.0}, None), ({}, None), (None, None),
        ({"50": [1.0], "100": [None]}, None),
    ],
)  # fmt: skip
def test_values_of_instances_are_finite_numbers(values: object, expected: object) -> None:
    metrics = {BY_INSTANCE: values, "value": 3.0, BEHAVIOUR: [1]}
    assert read_instance_values(metrics) == expected
    assert displayed_metrics(metrics) == {"value": 3.0}


@pytest.mark.parametrize(
    ("value", "expected"),
    [(1.0, True), (0, True), (10**400, False), (-(10**400), False), (float("nan"), False), (float("-inf"), False)],
)
def test_a_score_is_a_finite_float(value: float, expected: bool) -> None:
    assert is_finite(value) is expected


def test_a_rejected_block_says_what_stands_there() -> None:
    failure = parse(f"{ERROR}\n[1]")
    assert isinstance(failure, Failure)
    assert failure.status is Status.REJECTED
    assert failure.message
    for value, shown in (("'x'", "'x'"), ("'" + "y" * 99 + "'", "y..."), ("0x1" + "0" * 9000, "too long")):
        broken = parse(format_result(Result({}, None, 1.0)).replace("\n1.0", f"\n{value}"))
        assert isinstance(broken, Failure)
        assert shown in broken.message


@dataclass(config=STRICT)
class Inner:
    name: str = "a"
    count: int = 1


@dataclass(config=STRICT)
class Outer:
    title: str
    inner: Inner = field(default_factory=Inner)


@dataclass(config=STRICT)
class Whole:
    outer: Outer


@pytest.mark.parametrize(
    ("tree", "parts"),
    [
        ({"titel": "x"}, ("'titel'", "'title'")),
        ({"title": "x", "zzzzzz": 1}, ("'zzzzzz'", "title, inner")),
        ({}, ("'title'", "missing")),
        ({"title": "x", "inner": {"cuont": 2}}, ("'inner.cuont'", "'count'")),
        ({"title": "x", "inner": {"count": "two"}}, ("'inner.count'", "not 'two'")),
        ({"title": 3}, ("'title'", "not 3")),
    ],
)
def test_a_wrong_setting_is_named_with_its_key(tree: dict[str, object], parts: tuple[str, ...]) -> None:
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(Outer).validate_python(tree)
    text = explain_validation_error(caught.value, Outer)
    assert "\n" not in text
    for part in parts:
        assert part in text


def test_keys_that_a_section_of_a_section_has_are_offered() -> None:
    text = explain({"outer": {"title": "x", "inner": {"cuont": 2}}}, Whole)
    assert "'outer.inner.cuont'" in text
    assert "'count'" in text


@dataclass(config=STRICT)
class Limited:
    budget: Budget | None = None


def explain(tree: object, schema: type) -> str:
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(schema).validate_python(tree)
    return explain_validation_error(caught.value, schema)


def test_an_error_about_several_keys_is_that_of_the_class() -> None:
    text = explain({"until": "both"}, Budget)
    assert text.startswith("until: both needs")
    assert explain({"budget": {"until": "both"}}, Limited).startswith("budget")
    assert explain({"budget": {"until": "both"}}, Limited).endswith(text)
    assert "'evaluations'" in explain({"evaluations": 0}, Budget)


@pytest.mark.parametrize(("key", "value", "is_comma"), [("a b", None, True), ("ab", None, False), ("a b", 3, False)])
def test_words_behind_a_comma_are_no_key(key: str, value: object, is_comma: bool) -> None:
    assert ("comma" in explain({"title": "x", key: value}, Outer)) is is_comma


def test_a_value_without_text_is_told_apart_from_a_number() -> None:
    """A comma in a value of the command line leaves a key without a value behind it."""
    texts = []
    for value in (None, 3):
        with pytest.raises(ValidationError) as caught:
            TypeAdapter(Outer).validate_python({"title": value})
        texts.append(explain_validation_error(caught.value, Outer))
    assert "comma" in texts[0]
    assert "comma" not in texts[1]


@pytest.mark.parametrize(
    ("numbers", "extreme", "negative"),
    [
        ([4, 5, 6, 4, 900_000], True, False),
        ([4, 5, 6, 4, -900_000], True, True),
        ([4, 5, 6, 4, 9], False, False),
        ([4, 5, -6, 4, 9], False, True),
        ([4, -5, -6, 4, 9], False, False),
        ([-4, -5, -6, -4, -900_000], True, False),
    ],
)
def test_values_that_stand_out_are_noted(numbers: list[int], extreme: bool, negative: bool) -> None:
    notes = parse_text("a,b\n" + "".join(f"r{at},{number}\n" for at, number in enumerate(numbers))).notes
    assert any("median" in note for note in notes) is extreme
    assert any("negative" in note for note in notes) is negative


def test_sheets_without_any_cell_are_left_out() -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.title = "full"
    for row in (["a", None, "c"], [None, None, None], [1, None, 3]):
        book.active.append(row)
    book.create_sheet("empty")
    content = io.BytesIO()
    book.save(content)
    text = workbook_text(content.getvalue())
    assert "a,,c" in text
    assert "empty" not in text
