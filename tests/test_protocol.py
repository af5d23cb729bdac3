"""The result block: what is written can be read, and nothing else is believed."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent._base.protocol import Failure, Result, Status, format_failure, format_result, parse

FINITE = st.floats(allow_nan=False, allow_infinity=False)
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | FINITE | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner),
    max_leaves=8,
)
RESULTS = st.builds(Result, st.dictionaries(st.text(), PLAIN), st.none() | st.lists(st.integers()).map(tuple), FINITE)
BLOCK = format_result(Result({"length_20": 3.85}, (2, 0, 1), 12.34))


@pytest.mark.slow
@given(RESULTS)
def test_a_result_survives_its_block(result: Result) -> None:
    assert parse(format_result(result)) == result


@given(st.sampled_from([status for status in Status if status.failed]), st.text(), st.text())
def test_a_failure_survives_its_line(status: Status, message: str, traceback: str) -> None:
    failure = Failure(status, message, traceback)
    assert parse(f"details\n{format_failure(failure)}\n") == failure


@pytest.mark.parametrize("status", [Status.OK, Status.SCREENED])
def test_an_evaluator_cannot_fail_with_what_is_no_failure(status: Status) -> None:
    parsed = parse(format_failure(Failure(status, "")))
    assert isinstance(parsed, Failure)
    assert parsed.status is Status.REJECTED


@given(st.text())
def test_any_text_is_a_verdict_and_no_exception(text: str) -> None:
    assert isinstance(parse(text), Failure)


@given(st.text(), st.sampled_from(["METRICS", "FEATURES", "SCORE"]))
def test_any_text_inside_a_block_is_a_verdict(text: str, part: str) -> None:
    start, end = f"__{part}_START__", f"__{part}_END__"
    head, rest = BLOCK.split(f"{start}\n")
    parse(f"{head}{start}\n{text}\n{end}{rest.split(end)[1]}")


def test_the_block_reads_as_in_the_contract() -> None:
    assert BLOCK.splitlines() == [
        "__SANDBOX_RESULT__",
        "__METRICS_START__",
        "{'length_20': 3.85}",
        "__METRICS_END__",
        "__FEATURES_START__",
        "(2, 0, 1)",
        "__FEATURES_END__",
        "__SCORE_START__",
        "12.34",
        "__SCORE_END__",
        "__SANDBOX_SUCCESS__",
    ]


def test_details_before_and_blank_lines_inside_do_not_matter() -> None:
    spaced = "size 20: done\n\n" + BLOCK.replace("\n", "\n\n") + "\n\n"
    assert parse(spaced) == Result({"length_20": 3.85}, (2, 0, 1), 12.34)


def test_numbers_of_numpy_are_read_as_numbers() -> None:
    block = BLOCK.replace("3.85", "np.float64(3.85)").replace("12.34", "np.float64(-1.5)")
    assert parse(block) == Result({"length_20": 3.85}, (2, 0, 1), -1.5)


def test_numbers_of_numpy_are_written_as_numbers() -> None:
    result = Result({"a": np.float64(1.5), "b": np.arange(2), "c": (np.int64(3),)}, (np.int64(1),), np.float64(2))  # type: ignore[arg-type]
    assert parse(format_result(result)) == Result({"a": 1.5, "b": [0, 1], "c": (3,)}, (1,), 2.0)


def test_a_metric_may_be_undefined() -> None:
    parsed = parse(BLOCK.replace("3.85", "nan"))
    assert isinstance(parsed, Result)
    assert math.isnan(parsed.metrics["length_20"])


@pytest.mark.parametrize("score", ["nan", "inf", "-inf", "1e999", "'12'", "True", "None", "1+2j", "", "x", "9" * 400])
def test_a_score_that_is_no_finite_number_is_rejected(score: str) -> None:
    verdict = parse(BLOCK.replace("12.34", score))
    assert isinstance(verdict, Failure)
    assert verdict.status is Status.REJECTED
    assert "score" in verdict.message


@pytest.mark.parametrize("features", ["(1e999, 2)", "3", "(True,)", "'ab'", "{1: 2}", "(1, (2,))"])
def test_features_are_numbers_or_none(features: str) -> None:
    verdict = parse(BLOCK.replace("(2, 0, 1)", features))
    assert isinstance(verdict, Failure)
    assert "features" in verdict.message


def test_two_blocks_are_one_forgery_too_many() -> None:
    verdict = parse(f"{BLOCK}\n{BLOCK}")
    assert verdict == Failure(Status.REJECTED, "the evaluation printed 2 result blocks where one was expected")


def test_something_after_the_block_is_rejected() -> None:
    assert isinstance(parse(f"{BLOCK}\nbye"), Failure)


def test_no_block_at_all_says_so() -> None:
    verdict = parse("Traceback (most recent call last):\nValueError")
    assert isinstance(verdict, Failure)
    assert verdict.status is Status.CRASHED
    assert "no result block" in verdict.message


@pytest.mark.parametrize(
    "line", ["", "[]", "{}", '{"status": "ok", "message": ""}', '{"status": "odd", "message": ""}']
)
def test_a_broken_error_line_is_rejected(line: str) -> None:
    verdict = parse(f"__SANDBOX_ERROR__\n{line}")
    assert isinstance(verdict, Failure)
    assert verdict.status is Status.REJECTED


def test_an_error_line_is_json() -> None:
    line = format_failure(Failure(Status.INVALID, "a\nb")).splitlines()[1]
    assert json.loads(line) == {"status": "invalid", "message": "a\nb", "traceback": ""}


def test_who_was_ended_in_a_race_says_how_far_it_came() -> None:
    ended = Failure(Status.SCREENED, "ended after 6 of 192 instances", metrics={"raced": {"done": 6, "planned": 192}})
    assert parse(format_failure(ended)) == ended
