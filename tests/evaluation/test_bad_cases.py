"""One bad evaluation costs one candidate, never the run: whatever an evaluator prints can be stored and read again."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent._base.protocol import Failure, Result, Status, parse
from oragent.evaluation import Evaluation, EvaluationRunner, Job, runner
from oragent.evaluation.cluster.worker_entry import MalformedAnswer, evaluation_to_json, read_evaluation
from oragent.programs.inspection import inspect_program
from oragent.programs.syntax import Signature
from oragent.sandbox.messages import CommandResult, EndReason, Limits
from oragent.search.store import Store

DEEP = '{"a": ' * 950 + "1" + "}" * 950
HOSTILE = {
    "a number of 20,000 hexadecimal digits": ("{'a': 0x" + "f" * 20_000 + "}", "(1,)"),
    "such a number within a list": ("{'a': [(0x" + "f" * 20_000 + ",)]}", "(1,)"),
    "such a number as a key": ("{0x" + "f" * 20_000 + ": 1}", "(1,)"),
    "such a number in a set": ("{'a': {0x" + "f" * 20_000 + "}}", "(1,)"),
    "such a feature": ("{}", "(0x" + "f" * 20_000 + ",)"),
    "too many features": ("{}", f"({'1, ' * 1_000})"),
    "a tuple as a key": ("{(1, 2): 3}", "(1,)"),
    "bytes as a key below": ("{'a': {b'x': 3}}", "(1,)"),
    "halves of characters": (r"{'a\ud800': '\udfff'}", "(1,)"),
    "what JSON does not have": ("{'a': {1, 2}, 'b': 1j, 'c': ..., 'd': b'x', 'e': nan}", "(1,)"),
}
FAILURES = {  # as text: an encoder may not reach such depths
    "halves of characters": r'{"status": "error", "message": "\ud800", "traceback": "\udfff"}',
    "metrics of 950 levels": f'{{"status": "screened", "message": "m", "metrics": {DEEP}}}',
    "no text as a message": '{"status": "error", "message": ["a"], "traceback": 3}',
}


def block(metrics: str, features: str) -> str:
    parts = (("METRICS", metrics), ("FEATURES", features), ("SCORE", "1.0"))
    inner = "\n".join(f"__{name}_START__\n{text}\n__{name}_END__" for name, text in parts)
    return f"__SANDBOX_RESULT__\n{inner}\n__SANDBOX_SUCCESS__"


def stored(evaluation: Evaluation, path: Path) -> Evaluation | None:
    """What a run reads again of an evaluation."""
    with Store(path) as store:
        store.keep_evaluation("f", evaluation, 1.0)
    with Store(path) as store:
        return store.evaluation("f")


def ended(output: str) -> CommandResult:
    return CommandResult(EndReason.EXITED, 0, output, wall_s=1.0)


@pytest.mark.parametrize(("metrics", "features"), HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_result_can_be_stored(metrics: str, features: str, tmp_path: Path) -> None:
    outcome = parse(block(metrics, features))
    found = stored(Evaluation.from_result(outcome, ended("")), tmp_path / "run.db")
    assert found is not None
    assert found.status in (Status.OK, Status.REJECTED)
    assert isinstance(outcome, Result) or "\n" not in outcome.message


def test_a_key_that_json_does_not_have_is_stored_as_text(tmp_path: Path) -> None:
    found = stored(Evaluation.from_result(parse(block("{(1, 2): 3}", "(1,)")), ended("")), tmp_path / "run.db")
    assert found is not None
    assert found.metrics == {"(1, 2)": 3}


@pytest.mark.parametrize("failure", FAILURES.values(), ids=FAILURES)
def test_a_hostile_failure_can_be_stored(failure: str, tmp_path: Path) -> None:
    outcome = parse(f"__SANDBOX_ERROR__\n{failure}")
    assert isinstance(outcome, Failure)
    assert stored(Evaluation.from_result(outcome, ended("")), tmp_path / "run.db") is not None


@given(st.text(max_size=300), st.text(max_size=100))
def test_whatever_stands_in_a_block_becomes_an_outcome(metrics: str, features: str) -> None:
    assert isinstance(parse(block(metrics, features)), Result | Failure)


@pytest.mark.parametrize("metrics", [json.loads(DEEP), {"a": 1 << 100_000}], ids=["950 levels", "30,000 digits"])
def test_a_worker_cannot_put_metrics_into_a_run_that_it_cannot_read_again(metrics: dict[str, object]) -> None:
    sent = evaluation_to_json(Evaluation(Status.OK, 1.0, (1,), end=EndReason.EXITED, wall_s=1.0))
    with pytest.raises(MalformedAnswer, match="metrics"):
        read_evaluation(sent | {"metrics": metrics, "features": [1]})


def test_an_evaluation_that_we_cannot_read_costs_one_candidate(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    evaluator = tmp_path / "eval.py"
    evaluator.write_text("print('x')\n")
    job = Job(evaluator, "", tmp_path, Limits(cpu_s=20))

    def fail(*_: object) -> None:
        raise RuntimeError("odd")

    with EvaluationRunner(warm=False) as run:
        usual = run(job)
        monkeypatch.setattr(runner, "judge_result", fail)
        assert run(job).message == "the evaluation's result cannot be read: RuntimeError: odd"
    assert usual.status is Status.CRASHED
    assert replace(usual, status=Status.OK) != usual


@pytest.mark.parametrize("language", ["python", "cpp"])
def test_a_program_with_half_a_character_is_rejected_before_it_is_run(language: str) -> None:
    source = "// \ud800\ndouble guess(double x) { return x; }\n"
    source = source if language == "cpp" else "# \ud800\ndef guess(x):\n    return x\n"
    wanted = Signature("guess", ("x",) if language == "python" else (), "guess(x)", language=language)
    assert "valid text" in inspect_program(source, wanted).problem
