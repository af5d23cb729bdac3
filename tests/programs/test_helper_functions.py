"""Functions of earlier programs are copied with all that they use, and nothing else."""

from typing import Any

import pytest

from oragent._base.errors import CandidateError
from oragent.programs import helper_functions
from oragent.programs.helper_functions import copy_helpers, list_helpers, omit_functions

LIBRARY = '''"""A program."""

import math

import numpy as np

SCALE = 3.0
UNUSED = 5


def half(x):
    return x / 2


@np.vectorize
def root(x):
    # A comment that stays.
    return math.sqrt(half(x) * SCALE)


def other(x, *, y=1):
    return UNUSED


def guess(x):
    return root(x)
'''
PROGRAM = (
    '"""Mine."""\n\nfrom __future__ import annotations\n\nSCALE = 1.0\n\n\ndef guess(x):\n    return root(x) + 1\n'
)


def run(source: str, x: float) -> Any:
    names: dict[str, Any] = {}
    exec(source, names)
    return names["guess"](x)


def test_a_function_comes_with_what_it_uses() -> None:
    merged = copy_helpers("def guess(x):\n    return root(x) + 1\n", ["root"], {"root": LIBRARY})
    assert run(merged, 6.0) == run(LIBRARY, 6.0) + 1 == 4.0
    assert "A comment that stays." in merged
    for absent in ("UNUSED", "def other", "A program"):
        assert absent not in merged


def test_what_the_program_defines_itself_is_kept() -> None:
    merged = copy_helpers(PROGRAM, ["root", "guess"], {"root": LIBRARY, "guess": LIBRARY})
    assert merged.startswith('"""Mine."""\n\nfrom __future__ import annotations\n')
    assert merged.count("SCALE = ") == 1
    assert run(merged, 8.0) == 3.0
    assert copy_helpers(LIBRARY, ["root"], {"root": PROGRAM}) == LIBRARY


def test_copied_functions_find_the_imports_of_the_program() -> None:
    program = (
        "import numpy as np\n\nTABLE = [root(8.0)]\n\n\ndef guess(x):\n    return root(x) + TABLE[0] + np.pi - np.pi\n"
    )
    assert run(copy_helpers(program, ["root"], {"root": LIBRARY}), 6.0) == pytest.approx(3 + 12**0.5)


def test_an_unknown_function_is_refused_with_those_that_are_known() -> None:
    with pytest.raises(CandidateError, match="other, root"):
        copy_helpers(PROGRAM, ["rooot"], {"root": LIBRARY, "other": LIBRARY})


def test_helpers_are_listed_as_calls_without_the_functions_of_the_problem() -> None:
    assert list_helpers(LIBRARY, ("guess",)) == {"half": "half(x)", "root": "root(x)", "other": "other(x, *, y=1)"}


def test_copied_text_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    copied = "def half(x):\n    return x / 2"
    for limit in (len(copied), len(copied) - 1):
        monkeypatch.setattr(helper_functions, "MAX_COPIED", limit)
        if limit == len(copied):
            assert copied in copy_helpers(PROGRAM, ["half"], {"half": LIBRARY})
        else:
            with pytest.raises(CandidateError):
                copy_helpers(PROGRAM, ["half"], {"half": LIBRARY})


def test_functions_of_the_last_program_are_shown_once() -> None:
    same, other = "@njit\ndef same(x):\n    return x", "def other(x):\n    return {}"
    texts = [f"N = 3\n\n{same}\n\n{other.format(number)}\n" for number in (1, 2)]
    shown = omit_functions(texts[1], texts[0])
    assert shown == f"N = 3\n\n# same: as in the last program\n\n{other.format(2)}\n"
    assert omit_functions(texts[1], f"{same}\n") == f"N = 3\n\n# same: as in the last program\n\n{other.format(2)}\n"
    assert omit_functions(texts[1], "def (") == texts[1]
    assert omit_functions("def (", texts[0]) == "def ("
