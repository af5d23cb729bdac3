"""Arrays that probes keep: references in programs, their content in files, and what a candidate may keep."""

import base64
import json
import zlib
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from oragent._base.errors import CandidateError
from oragent.harness.kept_arrays import read_kept, write_arrays
from oragent.programs.inspection import inspect_program, signature_of
from oragent.programs.kept_arrays import (
    MAX_BYTES,
    MAX_LOADS,
    KeptArray,
    contract_references,
    expand_references,
    pin_references,
)

PROGRAM = 'TABLE = load_array("table")\n\n\ndef guess(x):\n    return TABLE[0]\n'


def keep(array: Any) -> KeptArray:
    return KeptArray.read(json.loads(write_arrays({"table": array}))["arrays"]["table"])


def written(array: Any, source: str = PROGRAM) -> tuple[str, str]:
    """A program with a reference to an array, and with its content."""
    kept = keep(array)
    pinned = pin_references(source, {"table": kept.digest})
    return pinned, expand_references(pinned, {kept.digest: kept}.get)


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6, dtype=np.int8).reshape(2, 3),
        np.array([[True], [False]]),
        np.array(2.5),
        np.array([np.nan, np.inf, -0.0]),
        np.arange(4, dtype=">u4"),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.arange(10, dtype=np.float32)[::2],
    ],
)
def test_a_program_in_a_file_has_the_array_read_only_and_with_its_lines_in_place(array: Any) -> None:
    pinned, full = written(array)
    names: dict[str, Any] = {}
    exec(full, names)
    assert names["TABLE"].dtype == array.dtype.newbyteorder("<")
    np.testing.assert_array_equal(names["TABLE"], array)
    assert not names["TABLE"].flags.writeable
    assert full.split("\n")[1:] == PROGRAM.split("\n")[1:]
    source, arrays = contract_references(full)
    assert source == pinned
    assert expand_references(source, arrays.get) == full


def test_programs_that_differ_in_an_array_alone_are_different_programs() -> None:
    signature = signature_of("def guess(x):\n    return x\n", "guess")
    prints = {
        inspect_program(written(array)[0], signature).fingerprint
        for array in (np.ones(3), np.ones((3, 1)), np.zeros(3))
    }
    assert len(prints) == 3


@pytest.mark.parametrize(
    "text",
    [
        'X = load_array("tabel")',
        "X = load_array(name)",
        'X = load_array("a" + "b")',
        'X = load_array("table")\n' * (MAX_LOADS + 1),
    ],
)
def test_a_reference_that_loads_nothing_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(CandidateError) as refused:
        pin_references(text, {"table": "0" * 16})
    assert "\n" not in str(refused.value)


def test_the_largest_content_is_read() -> None:
    text = "A" * (2 * MAX_BYTES)
    assert KeptArray.read(["<f8", [2, 3], text]) == KeptArray("<f8", (2, 3), text)


def test_the_arrays_that_there_are_are_named_in_order() -> None:
    with pytest.raises(CandidateError, match="first, second"):
        pin_references(PROGRAM, {"second": "0" * 16, "first": "1" * 16})


def test_as_many_references_as_may_be_are_taken() -> None:
    text = 'X = load_array("table")\n' * MAX_LOADS
    assert pin_references(text, {"table": "0" * 16}).count("0" * 16) == MAX_LOADS


def test_a_reference_whose_array_is_gone_is_refused() -> None:
    for source in (PROGRAM, PROGRAM.replace('"table"', "'table', '0123456789abcdef'")):
        with pytest.raises(CandidateError):
            expand_references(source, {}.get)


def test_a_program_may_have_a_function_of_its_own_of_that_name() -> None:
    own = f"def load_array(name):\n    return [1]\n\n\n{PROGRAM}"
    assert pin_references(own, {}) == own
    assert expand_references(own, {}.get) == own


def test_arrays_of_a_program_are_limited_together() -> None:
    noise = np.random.default_rng(0).integers(0, 255, MAX_BYTES, dtype=np.uint8)
    assert len(written(noise)[1]) > MAX_BYTES
    with pytest.raises(CandidateError):
        written(noise, PROGRAM + 'A = load_array("table")\nB = load_array("table")\n')


@pytest.mark.parametrize(
    "kept",
    [
        [np.ones(3)],
        {"x": [1, 2]},
        {"x": np.array([object()])},
        {"x": np.array(["a"])},
        {"x": np.array([1j])},
        {"x": np.empty(0)},
        {"no name": np.ones(3)},
        {float("nan"): np.ones(3)},
        {"x" * 41: np.ones(3)},
        {"x": np.ones(MAX_BYTES // 8 + 1)},
        {"x": np.ones(MAX_BYTES // 16 + 1), "y": np.ones(MAX_BYTES // 16 + 1)},
        {f"x{number}": np.ones(1) for number in range(9)},
    ],
)
def test_only_small_arrays_of_numbers_are_kept(kept: Any) -> None:
    module = ModuleType("candidate")
    module.KEPT_ARRAYS = kept  # type: ignore[attr-defined]
    for check in (lambda: read_kept(module), lambda: write_arrays(kept)):
        with pytest.raises(CandidateError) as refused:
            check()
        assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "tree",
    [
        ["|O8", [1], "AAAA"],
        ["<f8", [-1], "AAAA"],
        ["<f8", [2, 0], "AAAA"],
        ["<f8", [True], "AAAA"],
        ["<f8", [1], "A" * (2 * MAX_BYTES + 1)],
        ["<f8", [1], '")'],
        ["<f8", [1]],
        "x",
    ],
)
def test_what_is_stored_is_checked(tree: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        KeptArray.read(tree)


def test_text_like_the_content_of_an_array_stays_if_it_is_none() -> None:
    _, full = written(np.ones(2))
    packed = base64.b64encode(zlib.compress(np.ones(2).tobytes())).decode()
    other = full.replace(packed, packed + "!")
    assert contract_references(other) == (other, {})
