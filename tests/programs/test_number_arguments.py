"""Constants of compiled functions become arguments, and the program computes the same for all values."""

import sys
import types

import pytest

from oragent.programs.number_arguments import pass_numbers
from oragent.programs.parameters import write_values

PROGRAM = """import numba
from numba import njit

STEP = 3
SCALE = 0.5
OTHER = 7

@njit
def inner(x, extra=1):
    return x * SCALE + extra

@numba.njit(fastmath=False)
def outer(x):
    total = 0.0
    for _ in range(STEP):
        total += inner(x) + inner(x, 2)
    return total

@njit
def plain(x):
    return x + 1

def f(x):
    return outer(x) + inner(x, extra=OTHER) + plain(x) + STEP
"""


@pytest.fixture
def interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace Numba by a module whose decorators return the function itself."""
    stand_in = types.ModuleType("numba")
    stand_in.njit = lambda *args, **options: args[0] if args else lambda function: function
    monkeypatch.setitem(sys.modules, "numba", stand_in)


def run(source: str, x: float) -> float:
    names: dict[str, object] = {}
    exec(source, names)
    return names["f"](x)


@pytest.mark.parametrize("values", [{}, {"STEP": 5}, {"STEP": 1, "SCALE": -2.25}])
def test_the_program_computes_the_same(interpreted: None, values: dict[str, float]) -> None:
    source = write_values(PROGRAM, values)
    changed = pass_numbers(source, ["STEP", "SCALE"])
    assert changed != source
    assert run(changed, 4.0) == run(source, 4.0)


def test_compiled_functions_are_the_same_text_for_all_values() -> None:
    def functions(source: str) -> str:
        return source[source.index("@") :]

    texts = [
        pass_numbers(write_values(PROGRAM, {"STEP": step, "SCALE": scale}), ["STEP", "SCALE"])
        for step, scale in ((3, 0.5), (8, 4.5))
    ]
    assert functions(texts[0]) == functions(texts[1])
    assert "def plain(x):" in texts[0]


@pytest.mark.parametrize(
    ("old", "new", "name"),
    [
        ("def f(x):", "g = outer\n\ndef f(x):", "STEP"),
        ("@numba.njit(fastmath=False)", "@numba.njit('float64(float64)')", "STEP"),
        ("OTHER = 7", "OTHER = 7\nSTEP = 4", "STEP"),
        ("def f(x):", "def f(x, STEP=2):", "STEP"),
        ("@njit\ndef inner(x, extra=1)", "@njit\ndef inner(x, *extra)", "SCALE"),
        ("extra=1", "extra=STEP", "STEP"),
        ("STEP = 3", "STEP = (", "STEP"),
        ("STEP = 3", "def set_step():\n    STEP = 3", "STEP"),
        ("numba", "other", "STEP"),
    ],
)
def test_a_program_that_cannot_be_changed_stays(old: str, new: str, name: str) -> None:
    source = PROGRAM.replace(old, new)
    assert pass_numbers(source, [name]) == source


def test_only_named_constants_become_arguments() -> None:
    assert pass_numbers(PROGRAM, ["OTHER", "UNKNOWN"]) == PROGRAM
    assert "def outer(x, STEP)" in pass_numbers(PROGRAM, ["STEP"])
