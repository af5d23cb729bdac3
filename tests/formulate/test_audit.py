"""Parameters of an encoder against the data and the figures of the text."""

import re
from typing import Any

import pytest

from oragent.formulate.audit import find_foreign_figures, find_mismatches, find_unclear_figures


def mismatches(about: object, value: object, **data: object) -> list[str]:
    return find_mismatches({"p": about}, {"p": value, **data})


@pytest.mark.parametrize(
    ("kind", "value", "is_right"),
    [
        ("integer", 3, True), ("integer", 3.5, False), ("Integer", True, True), ("float", 3, True), ("float", "3", False),
        ("boolean", True, True), ("boolean", 1, True), ("boolean", 0.5, False), ("categorical", "a", True), ("categorical", 2, True),
        ("categorical", 2.5, False), ("a date", 2.5, True), ("integer", [1, [2, 3]], True), ("integer", {"a": 1, "b": 2.5}, False),
    ],
)  # fmt: skip
def test_values_have_the_type_that_was_read(kind: str, value: object, is_right: bool) -> None:
    assert len(mismatches({"Type": kind}, value)) == (not is_right)


def test_the_first_wrong_value_is_named_and_cut() -> None:
    (complaint,) = mismatches({"Type": "integer"}, [1, "x" * 99, 2.5])
    assert complaint.count("x") == 59
    assert "2.5" not in complaint


@pytest.mark.parametrize(
    ("kind", "value", "is_right"),
    [
        ("scalar", 3, True), ("scalar", [3], False), ("vector", [3], True), ("vector", {"a": 3}, True), ("vector", [], True),
        ("matrix", [], False), ("matrix", [[1], [2]], True), ("matrix", {"a": [1]}, True), ("matrix", [[]], True), ("vector", [[]], False),
        # The deepest part counts, and an unknown kind says nothing.
        ("matrix", [1, [2]], True), ("vector", [1, [2]], False), ("tensor", [1, [2]], True), ("Vector", [1], True),
    ],
)  # fmt: skip
def test_values_have_the_number_of_indices_that_was_read(kind: str, value: object, is_right: bool) -> None:
    assert len(mismatches({"Kind": kind}, value)) == (not is_right)


@pytest.mark.parametrize(
    ("shape", "value", "complaints"),
    [
        ("(2, 3)", [[1, 2, 3], [4, 5, 6]], 0), ("(2, 3)", [[1, 2], [4, 5]], 1), ("(3, 2)", [[1, 2, 3], [4, 5, 6]], 2), ("(2 x 3)", [[1, 2, 3], [4, 5]], 1),
        ("[n × 3]", [[1, 2, 3], [4, 5, 6]], 0), ("(n * 2)", [[1, 2, 3], [4, 5, 6]], 1), ("n, m", [[1, 2, 3], [4, 5, 6]], 0), ("m, n", [[1, 2, 3], [4, 5, 6]], 2),
        # A size that is not known ends the shape; so does one that is true or a text.
        ("(k, 9)", [[1], [2]], 0), ("(yes, 9)", [[1], [2]], 0), ("(word, 9)", [[1], [2]], 0),
        # More indices than the data have, and sizes that are too long to be some.
        ("(2, 3, 4)", [[1, 2, 3], [4, 5, 6]], 0), ("(12345678)", [1, 2], 1), ("(123456789)", [1, 2], 0),
        ("(1, 1, 1, 1, 1, 2, 2)", [[[[[[[1]]]]]]], 1), ("", [1, 2], 0),
    ],
)  # fmt: skip
def test_values_have_the_shape_that_was_read(shape: str, value: object, complaints: int) -> None:
    data = {"n": 2, "m": 3, "yes": True, "word": "9"}
    assert len(mismatches({"Type": f"array, shape {shape}"}, value, **data)) == complaints


def test_a_complaint_about_a_shape_has_its_index_its_size_and_three_sizes_of_the_data() -> None:
    (complaint,) = mismatches({"Type": "shape (4, n)"}, [[1], [1, 2], [1, 2, 3], [1, 2, 3, 4]], n=5)
    assert "n = 5" in complaint
    assert re.findall(r"\d+", complaint) == ["5", "2", "1", "2", "3"]
    (complaint,) = mismatches({"Type": "shape (3)"}, [1, 2])
    assert re.findall(r"\d+", complaint) == ["3", "1", "2"]
    (complaint,) = mismatches({"Type": f"shape ({'n' * 99})"}, [1], **{"n" * 99: 2})
    assert max(map(len, re.findall("n+", complaint))) == 60


def test_parameters_after_one_that_cannot_be_compared_are_compared_too() -> None:
    wrong = {"Type": "integer", "Kind": "scalar"}
    parameters = {"text": "odd", "gone": wrong, "deep": {"Kind": "scalar", "Type": "shape (3)"}, "last": wrong}
    complaints = find_mismatches(parameters, {"text": 1, "deep": [1, 2], "last": 2.5})
    # The shape of a value with another number of indices says nothing.
    assert [complaint.split()[0] for complaint in complaints] == ["deep", "last"]


@pytest.mark.parametrize(
    ("text", "value", "is_foreign"),
    [
        # 9 digits of a third, also as the rest of a whole.
        ("a third", 1 / 3, False), ("a third", 2 / 3, False), ("a third", 0.3333, True), ("1/7 of it", 60 / 7, False), ("1/7 of it", 1 / 7 + 1e-8, True),
        ("none", 0, False), ("none", 1, False), ("none", 2, True), ("none", -1.0, False), ("none", 1e300, False), ("none", 0.99e300, True),
        ("30 %", 0.3, False), ("30 %", 0.7, False), ("30 %", 29, False), ("30 %", 0.29, True), ("30 minutes", 0.5, False), ("30 minutes", 1800, False),
        # Every unit of time and mass, and no other one.
        *(("11 of it", 11 * factor, False) for factor in (0.01, 100, 0.001, 1000, 1e6, 60, 1 / 60, 24, 7, 12, 52)),
        *(("11 of it", 11 * factor, True) for factor in (2, 10, 61, 8, 13, 25, 53, 365)),
        ("7", [7, "x", None, {"a": [8]}], True), ("7", [7, "x", None, {"a": [49]}], False),
    ],
)  # fmt: skip
def test_a_figure_is_known_in_the_units_of_its_text(text: str, value: Any, is_foreign: bool) -> None:
    assert bool(find_foreign_figures({"p": {"Value": value}}, text, {})) is is_foreign
    assert find_foreign_figures({"p": {"Value": value}}, text, {"p": 5}) == []
    assert find_foreign_figures({"p": value, "q": "odd"}, text, {}) == []


def test_a_foreign_figure_is_named_once_for_each_parameter() -> None:
    parameters = {"p": {"Value": [7, 8.25, 9.5]}, "known": {"Value": 11}, "q": {"Value": 1.5}}
    complaints = find_foreign_figures(parameters, "7 and 11", {"known": 1})
    assert [re.findall(r"^\w+|[\d.]+\d", complaint) for complaint in complaints] == [["p", "8.25"], ["q", "1.5"]]


@pytest.mark.parametrize(
    ("text", "value", "is_misread"),
    [
        ("2.300 t for 9,20 EUR", 2.3, True), ("2.300 t for 9,20 EUR", 2300, False), ("2.300 t for 9.20 EUR", 2.3, False),
        ("2.300 t for 9,20 or 9.20 EUR", 2.3, False), ("2.300 t", 2.3, False), ("1.234.567 t for 9,20 EUR", 1234567, False),
    ],
)  # fmt: skip
def test_a_point_of_thousands_is_read_by_the_other_figures_of_the_text(
    text: str, value: float, is_misread: bool
) -> None:
    assert bool(find_foreign_figures({"p": {"Value": value}}, text, {})) is is_misread


@pytest.mark.parametrize(
    ("text", "unclear"),
    [
        ("2.300 t", ["2.300"]), ("2.300 t for 9,20 EUR", []), ("2.300 t for 9.20 EUR", []), ("2.300 t for 9.20 or 9,20 EUR", ["2.300"]),
        ("2.300 t, 4.500 t and 2.300 t", ["2.300", "4.500"]), ("1.234.567 t", []), ("12 t", []),
    ],
)  # fmt: skip
def test_a_figure_is_unclear_if_no_other_one_shows_its_point(text: str, unclear: list[str]) -> None:
    assert find_unclear_figures(text) == unclear
