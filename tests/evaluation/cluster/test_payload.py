"""Of what a worker says nothing is believed but that it is JSON of one form."""

import json
from dataclasses import fields, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent._base.protocol import Status
from oragent.evaluation import Evaluation
from oragent.evaluation.cluster.worker_entry import (
    MalformedAnswer,
    WorkerTrouble,
    evaluation_to_json,
    make_request,
    read_answer,
    read_evaluation,
    read_job,
)
from oragent.sandbox.messages import EndReason
from tests.evaluation.cluster.conftest import job

GOOD = json.loads(
    json.dumps(evaluation_to_json(Evaluation(Status.OK, 1.5, (1, 2.5), {"a": [1]}, end=EndReason.EXITED, wall_s=0.1)))
)
texts = st.text(max_size=20)
numbers = st.floats(allow_nan=False, allow_infinity=False, width=32)
scores = st.one_of(st.none(), numbers)
plain = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), texts),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)),
    max_leaves=6,
)


@given(
    score=scores, status=st.sampled_from([Status.ERROR, Status.INVALID, Status.TIMEOUT]), message=texts, log=texts,
    features=st.one_of(st.none(), st.lists(st.integers(-9, 9), max_size=4)),
    metrics=st.dictionaries(texts, st.one_of(st.integers(), texts, st.lists(numbers, max_size=3)), max_size=3),
)  # fmt: skip
def test_an_evaluation_comes_back_as_it_was(score, status, message, log, features, metrics) -> None:
    status = status if score is None else Status.OK
    cell = None if features is None else tuple(features)
    sent = Evaluation(status, score, cell, metrics, message=message, log=log, end=EndReason.EXITED, wall_s=1.0)
    assert read_answer(json.dumps({"evaluation": evaluation_to_json(sent)})) == sent


@pytest.mark.parametrize(
    "change",
    [
        {"score": None}, {"score": float("nan")}, {"score": float("inf")}, {"score": "1"}, {"score": True},
        {"score": 10**400}, {"status": "screened"}, {"status": "fine"}, {"status": ["ok"]}, {"status": "error"},
        {"features": 3}, {"features": ["1"]}, {"features": [float("nan")]}, {"features": [0] * 65}, {"metrics": []},
        {"message": None}, {"log": 3}, {"end": "soon"}, {"wall_s": -1}, {"cpu_s": float("inf")}, {"queued_s": None},
        {"peak_mb": "much"}, {"more": 1},
    ],
)  # fmt: skip
def test_what_is_none_is_refused(change) -> None:
    with pytest.raises(MalformedAnswer):
        read_evaluation(GOOD | change)


@given(plain)
def test_no_answer_does_anything_but_be_refused(tree) -> None:
    for answer in (json.dumps(tree), json.dumps({"evaluation": tree}), json.dumps({"trouble": tree})):
        with pytest.raises((MalformedAnswer, WorkerTrouble)):
            read_answer(answer)


@given(st.sampled_from(sorted(GOOD)), plain)
def test_no_field_does_either(name, tree) -> None:
    try:
        found = read_evaluation(GOOD | {name: tree})
    except MalformedAnswer:
        return
    assert isinstance(found, Evaluation)
    assert found.message.encode() is not None


@pytest.mark.parametrize(
    "answer", [None, b"{}", 3, object(), "[" * 100_000, '{"a":' * 50_000, "9" * 5000, "x" * (17 << 20)]
)
def test_nor_does_what_is_no_text_or_has_no_end(answer) -> None:
    with pytest.raises(MalformedAnswer):
        read_answer(answer)


def test_halves_of_characters_do_not_reach_the_database() -> None:
    assert read_evaluation(GOOD | {"message": "a\ud800b"}).message.encode() == b"a?b"


def test_a_job_is_the_same_at_the_other_end(toy, tmp_path, content) -> None:
    sent = replace(
        job(toy, tmp_path),
        mode="train",
        problem_size=20,
        arguments=("--instances=2",),
        names=("heuristic.py", "more.py"),
        environment={"A": "b"},
        observer="def observe(hook, data): pass",
        program="key",
        keeps_arrays=True,
    )
    plain_job = json.loads(make_request(sent, content))["job"]
    found = read_job(plain_job, Path("/there"), content.evaluator)
    assert found.evaluator == Path("/there/home/problems/toy/eval.py")
    assert found.root_dir == Path("/there/home") or not Path("/there/home").is_dir()
    for field in fields(sent):
        if field.name not in ("evaluator", "root_dir"):
            assert getattr(found, field.name) == getattr(sent, field.name), field.name


def test_what_the_tests_change_is_taken_as_it_is() -> None:
    assert read_evaluation(GOOD).features == (1, 2.5)
