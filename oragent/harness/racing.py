"""Race of one candidate: its values so far, and a hash of its first answers."""

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from oragent._base.racing import BEHAVIOUR, BY_INSTANCE, DIGITS, RaceStop, RaceTerms, mean_score, race_steps

# Resolution of numbers in answers, so that sums in another order give the same hash.
BITS = 2.0**30
# Relative tolerance between a mean of rounded values and a score.
CLOSE = 1e-5


class Outraced(Exception):
    """Raised when the race ends the evaluation early."""

    def __init__(self, ended: RaceStop) -> None:
        super().__init__(ended.reason)
        self.stop = ended


class Race:
    """Race of one candidate: its values so far, and a hash of its first answers."""

    def __init__(self, terms: RaceTerms) -> None:
        self.terms = terms
        self._planned: dict[str, int] = {}
        self._values: dict[str, list[float]] = {}
        # Hash of the uses so far, and that with the answers after the last one.
        self._uses = hashlib.blake2b(digest_size=8)
        self._answers = self._uses.copy()
        self._listens, self._behaviour = False, ""

    def begin_race(self, planned: Mapping[str, int]) -> Iterator[dict[str, int]]:
        """Begin the race with a number of instances of each size.

        Returns:
            Numbers of instances of each size after which to call ``look``.
        """
        self._planned = dict(planned)
        return race_steps(self._planned, self.terms.probes)

    def attend_instance(self, index: int) -> None:
        """Note which instance of its size comes next."""
        self._listens = index < self.terms.probes

    def hear_answer(self, answer: Any) -> None:
        """Note an answer of the candidate."""
        if self._listens:
            _update_digest(self._answers, answer)

    def hear_use(self, use: Any) -> None:
        """Note what the evaluator made of the answers since the last use, in their place."""
        if self._listens:
            _update_digest(self._uses, use)
            self._answers = self._uses.copy()

    def check_standing(self, values: Mapping[int, Sequence[float]], step: Mapping[str, int]) -> None:
        """End the evaluation if the terms of the race allow it.

        Args:
            values: Values so far, by size, in the order of the instances.
            step: Number of instances of each size that are done.

        Raises:
            Outraced: The evaluation ends.
            ValueError: The evaluator has not stored a value for each of them.
        """
        self._values = _round_values(values)
        if {size: len(of_size) for size, of_size in self._values.items()} != dict(step):
            raise ValueError("each() needs one value per instance, by size, in the order of the instances")
        behaviour = ""
        if not self._behaviour and self.terms.is_behaviour_known(step, self._planned):
            behaviour = self._behaviour = self._answers.hexdigest()
        stop = self.terms.check_stop(self._values, self._planned, behaviour)
        if stop is not None:
            raise Outraced(stop)

    def standing_metrics(self, score: float) -> dict[str, Any]:
        """Metrics that races against this candidate need; empty if the score is not the mean of the sizes' means."""
        values = instance_values(self._values, score)
        if not values:
            return {}
        return {BY_INSTANCE: values} | ({BEHAVIOUR: self._behaviour} if self._behaviour else {})


def instance_values(values: Mapping[Any, Sequence[float]], score: float) -> dict[str, list[float]]:
    """Return the value of each instance, by size; empty if the score is not the mean of the sizes' means."""
    try:
        rounded = _round_values(values)
    except (TypeError, ValueError, AttributeError):
        # Outside of a race, values may have any type.
        return {}
    if not rounded or not all(rounded.values()):
        return {}
    if math.isclose(mean_score(rounded), score, rel_tol=CLOSE, abs_tol=CLOSE):
        return rounded
    return {}


def _round_values(values: Mapping[Any, Sequence[float]]) -> dict[str, list[float]]:
    return {str(size): [round(float(value), DIGITS) for value in of_size] for size, of_size in values.items()}


def _update_digest(digest: Any, answer: Any) -> None:
    """Add an answer to a hash. Numbers count up to rounding, all other values exactly."""
    if isinstance(answer, bool | int | float):
        answer = np.asarray(answer)
    elif isinstance(answer, list | tuple) and all(type(item) in (int, float) for item in answer):
        # Integers beyond all floats are compared exactly, as items of a list.
        with suppress(OverflowError):
            answer = np.asarray(answer, dtype=float)
    elif type(answer).__module__ == "torch":
        answer = np.asarray(answer)
    if isinstance(answer, np.ndarray) and answer.dtype.kind in "biuf":
        mantissa, exponent = np.frexp(answer.astype(np.float64))
        digest.update(f"numbers {answer.shape}".encode())
        digest.update((np.round(mantissa * BITS) + 0.0).tobytes() + exponent.astype(np.int32).tobytes())
    elif isinstance(answer, dict):
        digest.update(f"dict {len(answer)}".encode())
        for key, value in answer.items():
            _update_digest(digest, key)
            _update_digest(digest, value)
    elif isinstance(answer, set | frozenset):
        _update_digest(digest, ["set", *sorted(map(repr, answer))])
    elif isinstance(answer, list | tuple):
        digest.update(f"list {len(answer)}".encode())
        for value in answer:
            _update_digest(digest, value)
    else:
        is_exact = isinstance(answer, np.ndarray) and not answer.dtype.hasobject
        data = answer.tobytes() if is_exact else repr(answer).encode(errors="replace")
        digest.update(f"{type(answer).__name__} {len(data)}".encode() + data)
