"""All that is known of a program, in one value of plain data; what is wrong with it is no exception."""

import dataclasses
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent._base.errors import CandidateError
from oragent.programs import syntax
from oragent.programs.inspection import Inspected, inspect_program, read_program
from oragent.programs.syntax import Signature

WANTED = Signature("guess", ("x",), "def guess(x):")


def test_a_usable_program_is_known_by_its_canonical_form() -> None:
    one = inspect_program("def guess(x):\n    # doubled\n    twice = x * 2\n    return twice\n", WANTED)
    other = inspect_program('def guess(x):\n    """Double."""\n    y = x*2\n    return y', WANTED)
    assert one == other
    assert one.problem == ""
    assert one.length == syntax.count_nodes("def guess(x):\n    y = x * 2\n    return y")


def test_a_file_that_is_too_long_is_told_by_its_true_size(tmp_path: Path) -> None:
    (tmp_path / "long.py").write_text("ä" * 1_500_000)
    with pytest.raises(CandidateError, match="3,000,000"):
        read_program(tmp_path / "long.py", WANTED)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("def guess(x)", "syntax error on line 1"),
        ("def other(x):\n    return x", "has no function guess"),
        ("def guess(a, b):\n    return a", "has other parameters than wanted"),
        ("def guess(x):\n    return x\n\0", "null byte"),
        ("x = " + "(" * 150 + "1" + ")" * 150, "has no function guess"),
        ("def guess(x):\n    return " + "-" * 300 + "x", "nested deeper"),
        ("# " + "x" * 200_000, "at most 100,000"),
        ("def guess(x):\n    return '\ud800'", "no valid text"),
    ],
)
def test_what_is_wrong_is_said_in_one_line_and_not_raised(source: str, words: str) -> None:
    found = inspect_program(source, WANTED)
    assert words in found.problem
    assert "\n" not in found.problem
    assert (found.canonical, found.length) == (source, 0)
    assert len(found.fingerprint) == 64


@pytest.mark.slow
@given(st.text(max_size=200))
def test_any_text_can_be_looked_at_and_what_is_found_is_plain_data(source: str) -> None:
    found = inspect_program(source, WANTED)
    assert Inspected(**json.loads(json.dumps(dataclasses.asdict(found)))) == found
