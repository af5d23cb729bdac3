"""Frames carry plain data both ways and believe nothing."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from oragent.harness.wire_format import HEAD, FrameError, decode, encode

LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
KEYS = st.integers() | st.text() | st.tuples(st.integers(), st.text())
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner) | st.tuples(inner) | st.dictionaries(KEYS, inner) | st.sets(st.integers()),
    max_leaves=10,
)
ARRAYS = hnp.arrays(
    st.sampled_from([np.dtype(kind) for kind in ("f8", "f4", ">f8", "i8", "u2", "?", "c16")]),
    hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
)


def travel(value: object) -> object:
    frame = encode(value)
    header, payload = HEAD.unpack_from(frame)
    body = frame[HEAD.size :]
    assert len(body) == header + payload
    return decode(body[:header], body[header:])


@given(VALUES)
def test_plain_values_arrive_as_they_left(value: object) -> None:
    assert travel(value) == value


@given(ARRAYS)
def test_arrays_arrive_with_dtype_shape_and_bytes(array: np.ndarray) -> None:
    arrived = travel({"a": [array, 1]})["a"][0]
    assert arrived.dtype == array.dtype
    assert arrived.shape == array.shape
    assert arrived.tobytes() == array.tobytes()


def test_an_arrived_array_is_a_copy_that_may_be_changed() -> None:
    array = np.zeros((2, 3)).T
    arrived = travel(array)
    arrived[0, 0] = 7
    assert array[0, 0] == 0


def test_numpy_scalars_arrive_as_numbers() -> None:
    assert travel([np.float64(1.5), np.int64(2), np.bool_(True)]) == [1.5, 2, True]


@pytest.mark.parametrize("value", [object(), b"bytes", np.array([None]), np.array(["text"]), len, 1j])
def test_what_is_not_plain_data_cannot_travel(value: object) -> None:
    with pytest.raises(FrameError):
        encode(value)


def test_a_list_within_itself_cannot_travel() -> None:
    endless: list[object] = []
    endless.append(endless)
    with pytest.raises(FrameError, match="nested"):
        encode(endless)


@given(st.binary(max_size=200), st.binary(max_size=50))
def test_rubbish_is_an_error_and_nothing_else(header: bytes, payload: bytes) -> None:
    with pytest.raises(FrameError):
        decode(header + b"\xff", payload)


@pytest.mark.parametrize(
    ("tree", "specs"),
    [
        ({"array": 0}, [["<f8", [10**6]]]),  # claims more bytes than there are
        ({"array": 0}, [["<f8", [-1]]]),
        ({"array": 0}, [["O", [1]]]),  # objects would be pointers
        ({"array": 0}, [["f8,f8", [1]]]),
        ({"array": 3}, []),
        ({"odd": 1}, []),
        ({"array": 0, "tuple": []}, []),
        ({"set": [[]]}, []),
        ({"dict": [[1]]}, []),
    ],
)
def test_a_frame_that_lies_is_refused(tree: object, specs: object) -> None:
    with pytest.raises(FrameError):
        decode(json.dumps([tree, specs]).encode(), bytes(16))


def test_a_frame_nested_without_end_is_refused() -> None:
    with pytest.raises(FrameError):
        decode(b"[" * 10**5, b"")
