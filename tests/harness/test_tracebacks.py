"""A traceback says what the values on the failing line were, and calls nothing of the candidate's to tell it."""

from pathlib import Path

import numpy as np
import pytest

from oragent.harness import Guest
from oragent._base.errors import CandidateError


def told(folder: Path, body: str, *values: object) -> str:
    """The last line of the traceback of a candidate that raises."""
    path = folder / "heuristic.py"
    path.write_text(f"import numpy as np\n{body}")
    with Guest(path, "f") as guest, pytest.raises(CandidateError) as caught:
        guest(*values)
    return caught.value.traceback.splitlines()[-1]


def test_a_line_that_fails_tells_kinds_shapes_and_sizes(tmp_path: Path) -> None:
    body = "def f(node, left, lengths):\n    return lengths[node, left].mean()\n"
    line = told(tmp_path, body, 3, {1, 2, 5}, np.zeros((20, 20)))
    assert line == "On that line: lengths: float64 array of shape (20, 20); node: int 3; left: set of 3 int"


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("None", "None"),
        ("1 << 99999", "int of 100000 bits"),
        ("np.float64(0.5)", "float64 0.5"),
        ("[1, 'a']", "list of 2"),
        ("{}", "dict of 0"),
        ("'abc'", "str of 3 characters"),
        ("object()", "object"),
    ],
)
def test_each_kind_of_value_is_told(tmp_path: Path, value: str, said: str) -> None:
    assert told(tmp_path, f"def f(x):\n    held = {value}\n    held[1][0]()()\n", 1) == f"On that line: held: {said}"


def test_an_unknown_name_is_answered_with_the_known_ones(tmp_path: Path) -> None:
    body = "def f(x):\n    half = x / 2\n    return half * share\n"
    assert told(tmp_path, body, 3) == "Known there: x: int 3; half: float 1.5"


def test_what_a_candidate_wrote_is_not_called_to_describe_it(tmp_path: Path) -> None:
    body = (
        "class Odd(list):\n    def __len__(self): raise SystemExit\n    def __repr__(self): raise SystemExit\n"
        "def f(x):\n    odd = Odd()\n    return odd[x]\n"
    )
    assert told(tmp_path, body, 3) == "On that line: odd: Odd; x: int 3"


def test_what_fails_while_it_is_imported_has_no_values(tmp_path: Path) -> None:
    assert told(tmp_path, "a = 1\nb = a / 0\ndef f(x): return x\n", 1) == "ZeroDivisionError: division by zero"


def test_what_fails_within_a_library_tells_the_candidates_own_line(tmp_path: Path) -> None:
    body = "def f(x):\n    rows = np.ones((2, 3))\n    return np.linalg.inv(rows) + x\n"
    assert told(tmp_path, body, 3) == "On that line: rows: float64 array of shape (2, 3); x: int 3"
