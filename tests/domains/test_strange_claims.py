"""Whatever can come over the wire is either an answer or the candidate's fault: it never breaks an evaluator."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent.harness import matrix, wire_format
from oragent._base.errors import CandidateError
from oragent.domains import bpp, tsp

PLAIN = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 60),
    st.integers(),
    st.just(10**400),
    st.floats(),
    st.text(max_size=3),
)
ARRAYS = st.sampled_from([
    np.zeros((0,)),
    np.arange(5),
    np.arange(25).reshape(5, 5),
    np.zeros((3, 5), complex),
    np.array([np.nan, np.inf]),
    np.ones((2, 0, 3), bool),
    np.array(3.0),
    np.arange(5, dtype=np.uint64) + np.uint64(2**63),
])  # fmt: skip
VALUES = st.recursive(
    st.one_of(PLAIN, ARRAYS),
    lambda inner: st.one_of(
        st.lists(inner, max_size=5),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(PLAIN, inner, max_size=3),
        st.sets(PLAIN, max_size=4),
    ),
    max_leaves=12,
)


def checks() -> dict[str, Callable[[Any], object]]:
    """What each problem does first with what came back."""
    one = {
        "tour": (tsp.check, tsp.stream(tsp.CONSTRUCTIVE_STREAM, "train", 50)[0]),
        "packing": (bpp.check, bpp.weibull_stream("train", 5000)[0]),
    }
    found: dict[str, Callable[[Any], object]] = {
        name: lambda value, check=check, instance=instance: check(instance, value)
        for name, (check, instance) in one.items()
    }
    found["matrix"] = lambda value: matrix(value, (5, 5))
    found["vector"] = lambda value: matrix(value, (5,), allow_inf=True)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(checks()))
@given(value=VALUES)
def test_a_strange_answer_is_the_candidates_fault(name: str, value: Any) -> None:
    encoded = wire_format.encode(value)
    header, payload = wire_format.HEAD.unpack_from(encoded)
    start = wire_format.HEAD.size
    came = wire_format.decode(encoded[start : start + header], encoded[start + header :])
    assert len(encoded) == start + header + payload
    with suppress(CandidateError):  # any other exception would be the evaluator's
        CHECKS[name](came)


CHECKS = checks()
