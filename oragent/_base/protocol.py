"""Marked result block that every ``eval.py`` prints: formatting and parsing.

::

    __SANDBOX_RESULT__
    __METRICS_START__
    {'length_20': 3.85}
    __METRICS_END__
    __FEATURES_START__
    (2, 0, 1)
    __FEATURES_END__
    __SCORE_START__
    12.34
    __SCORE_END__
    __SANDBOX_SUCCESS__

or, without a score, ``__SANDBOX_ERROR__`` and a line of JSON: ``{"status", "message", "traceback"}``, and optionally
``"metrics"``.

Values are Python literals; nothing of a block is ever evaluated. This module uses the standard library only.
"""

import json
import math
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from oragent._base.literals import read_literal
from oragent._base.text_format import shorten

# Maximum depth of nested collections in metrics, as in ``read_literal``.
MAX_DEPTH = 40
# Maximum bits of an integer, as in ``safe_load``, which reads stored metrics; such an integer fits into a float.
MAX_BITS = 1000
MAX_FEATURES = 64
# CPU seconds of a guest's first call that do not count, for imports and compilation.
FIRST_S = 5.0
# CPU seconds that the process may take which compiles a candidate before its first call.
COMPILE_S = 90.0
RESULT, SUCCESS, ERROR = "__SANDBOX_RESULT__", "__SANDBOX_SUCCESS__", "__SANDBOX_ERROR__"


class Status(StrEnum):
    """Outcome of an evaluation."""

    # The candidate was scored.
    OK = "ok"
    # The candidate returned something that is not a solution.
    INVALID = "invalid"
    # The candidate raised.
    ERROR = "error"
    # The time limit was reached.
    TIMEOUT = "timeout"
    # The memory limit was reached.
    MEMORY = "memory"
    # A process died, or the evaluator printed no result.
    CRASHED = "crashed"
    # The program has the wrong form, or failed its check.
    REJECTED = "rejected"
    # Ended before a full score: it cannot reach the elites, or gives the same answers as one of them.
    SCREENED = "screened"

    @property
    def failed(self) -> bool:
        """True if the candidate failed, as opposed to being scored or screened."""
        return self not in (Status.OK, Status.SCREENED)


@dataclass(frozen=True)
class Result:
    """Result of an evaluation.

    Attributes:
        metrics: Figures for people and models.
        features: Cell of the archive (integers), or measured numbers if ``problem.yaml`` says so; None: the problem has
            no features.
        score: Score in natural units; ``problem.yaml`` gives the direction.
    """

    metrics: dict[str, Any]
    features: tuple[float, ...] | None
    score: float


@dataclass(frozen=True)
class Failure:
    """Reason why an evaluation has no score."""

    status: Status
    # Reason, one line.
    message: str
    # Traceback of the candidate; empty if it raised nothing.
    traceback: str = ""
    # Metrics of an evaluation that ended early without a score.
    metrics: dict[str, Any] = field(default_factory=dict)


def format_result(result: Result) -> str:
    """Render ``result`` as the block that ends an evaluation's standard output, or as a failure if it has no text."""
    metrics = _to_python(result.metrics)
    try:
        storable_metrics(metrics)
    except ValueError as problem:
        return format_failure(Failure(Status.REJECTED, f"broken result block: {problem}"))
    parts = [
        ("METRICS", metrics),
        ("FEATURES", _to_python(result.features)),
        ("SCORE", float(result.score)),
    ]
    body = "\n".join(f"__{name}_START__\n{value!r}\n__{name}_END__" for name, value in parts)
    return f"{RESULT}\n{body}\n{SUCCESS}"


def format_failure(failure: Failure) -> str:
    """Render ``failure`` as the marker and its line of JSON."""
    fields: dict[str, Any] = {"status": failure.status, "message": failure.message, "traceback": failure.traceback}
    if failure.metrics:
        fields["metrics"] = _to_python(failure.metrics)
    return f"{ERROR}\n{json.dumps(fields)}"


def parse(output: str) -> Result | Failure:
    """Read the single result or error block of an evaluation's standard output.

    Returns:
        The result, or a failure: the printed one, also if results stand beside it; ``crashed`` if there is no block;
        ``rejected`` if there are several results (one of them is forged) or the content breaks the contract.
    """
    lines = [line.strip() for line in output.splitlines()]
    markers = [number for number, line in enumerate(lines) if line in (RESULT, ERROR)]
    if not markers:
        return Failure(Status.CRASHED, f"the evaluation printed no result block (no line {RESULT} or {ERROR})")
    if len(markers) > 1:
        failures = (_parse_failure(lines[number : number + 2]) for number in markers if lines[number] == ERROR)
        if (failure := next(failures, None)) is not None and failure.status.failed:
            return failure
        return Failure(Status.REJECTED, f"the evaluation printed {len(markers)} result blocks where one was expected")
    block = [line for line in lines[markers[0] :] if line]
    if block[0] == ERROR:
        return _parse_failure(block)
    return _parse_result(block)


def _to_python(value: Any) -> Any:
    """Turn numpy scalars and arrays into numbers and lists, without importing numpy."""
    if isinstance(value, dict):
        return {_to_python(key): _to_python(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_to_python(item) for item in value)
    if hasattr(value, "tolist"):
        return value.tolist()
    return value


def _parse_failure(block: list[str]) -> Failure:
    try:
        fields = json.loads(block[1])
        status, metrics = Status(fields["status"]), storable_metrics(dict(fields.get("metrics", {})))
        failure = Failure(status, storable_text(fields["message"]), storable_text(fields.get("traceback", "")), metrics)
    except (IndexError, KeyError, TypeError, ValueError, RecursionError):
        return _reject_block(f"the line after {ERROR} must be JSON with status, message and traceback")
    # An evaluation that ended in a race has metrics; without them only the search may mark a candidate as screened.
    raced = failure.status is Status.SCREENED and bool(failure.metrics)
    if failure.status.failed or raced:
        return failure
    return _reject_block(f"status '{failure.status}' after {ERROR}")


def _parse_result(block: list[str]) -> Result | Failure:
    if block[-1] != SUCCESS:
        return _reject_block(f"the output must end with {SUCCESS}")
    try:
        metrics, features, score = (_read_part(block, part) for part in ("METRICS", "FEATURES", "SCORE"))
        if not isinstance(metrics, dict):
            return _reject_block(f"metrics must be a dict, not {_shorten_repr(metrics)}")
        metrics = storable_metrics(metrics)
    except ValueError as problem:
        return _reject_block(str(problem))
    if isinstance(features, list):
        features = tuple(features)
    if features is not None and not (isinstance(features, tuple) and all(map(_is_feature, features))):
        return _reject_block(
            f"features must be a tuple of ints, or of finite numbers, or None, not {_shorten_repr(features)}"
        )
    if features is not None and len(features) > MAX_FEATURES:
        return _reject_block(f"{len(features)} features, at most {MAX_FEATURES} are possible")
    if type(score) not in (int, float) or not is_finite(score):
        return _reject_block(f"the score must be a finite number, not {_shorten_repr(score)}")
    return Result(metrics, features, float(score))


def storable_metrics(metrics: dict[Any, Any]) -> dict[str, Any]:
    """Return metrics in a form that a run can store and read back.

    Lone surrogates are replaced, and keys that JSON does not have become texts.

    Raises:
        ValueError: They are nested too deeply, or contain an integer that is too long.
    """
    checked: dict[str, Any] = _make_storable(metrics, 0)
    return checked


def storable_text(value: object) -> str:
    """Return a value as text that can be encoded; lone surrogates become question marks."""
    return str(value).encode("utf-8", "replace").decode()


def _make_storable(value: Any, depth: int) -> Any:
    if depth > MAX_DEPTH:
        raise ValueError(f"metrics are nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, dict):
        keys = (key if isinstance(key, int | float) else storable_text(key) for key in value)
        return {
            _make_storable(key, depth): _make_storable(item, depth + 1)
            for key, item in zip(keys, value.values(), strict=True)
        }
    if isinstance(value, list | tuple | set):
        return type(value)(_make_storable(item, depth + 1) for item in value)
    if isinstance(value, int) and value.bit_length() > MAX_BITS:
        raise ValueError("metrics hold a whole number beyond 1e300; let the evaluator print a smaller one, or a text")
    if isinstance(value, str):
        return storable_text(value)
    return value


def _read_part(block: list[str], part: str) -> Any:
    start, end = f"__{part}_START__", f"__{part}_END__"
    try:
        first = block.index(start) + 1
        text = "\n".join(block[first : block.index(end, first)])
    except ValueError:
        raise ValueError(f"the block has no {start} ... {end}") from None
    try:
        return read_literal(text)
    except (ValueError, RecursionError):
        raise ValueError(f"{part.lower()} must be a Python literal, not {_shorten_repr(text)}") from None


def is_finite(score: float) -> bool:
    """Return True if a number is finite and not beyond the range of floats."""
    try:
        return math.isfinite(score)
    except OverflowError:
        # The int is beyond the range of floats.
        return False


def _is_feature(value: object) -> bool:
    if type(value) is int:
        return value.bit_length() <= MAX_BITS
    return type(value) is float and math.isfinite(value)


def _shorten_repr(value: object, width: int = 60) -> str:
    try:
        text = repr(value)
    except ValueError:
        # The integer is too long for Python to write.
        text = "a whole number that is too long"
    return shorten(text, width, "...")


def _reject_block(what: str) -> Failure:
    return Failure(Status.REJECTED, f"broken result block: {what}")
