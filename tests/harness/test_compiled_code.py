"""Machine code is used again only for the same function with the same values, and no state goes with it."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oragent.harness import Guest
from oragent.harness.compiled_code import CompiledCode, _describe, _NoKey, may_ask_cache

FUNCTION = """
import numba
import numpy as np
LEVEL = 3
TABLE = np.arange(4)

@numba.njit({options})
def inner(x):
    return x + {number} + TABLE[1]

@numba.njit
def f(x):
    return inner(x) * LEVEL
"""
COUNTING = """
import numba
calls = []

@numba.njit(cache=True)
def power(x):
    total = 0.0
    for k in range(20):
        total += x ** k
    return total

def f(x):
    calls.append(x)
    return power(x) + len(calls)
"""


def key_of(text: str, **values: Any) -> Any:
    names: dict[str, Any] = {"__name__": "candidate"}
    exec(text, names)
    names.update(values)
    return _describe(names["f"], [])


def test_the_key_covers_all_that_the_code_depends_on() -> None:
    text = FUNCTION.format(options="", number=1)
    key = key_of(text)
    assert key == key_of(text)
    assert key == key_of(f"\n\n# A comment.\n{text}")
    others = [
        key_of(FUNCTION.format(options="", number=2)),
        key_of(FUNCTION.format(options="fastmath=True", number=1)),
        key_of(text, LEVEL=4),
        key_of(text, LEVEL=3.0),
        key_of(text, TABLE=np.arange(5)),
        key_of(text.replace("* LEVEL", "+ LEVEL")),
    ]
    assert len({repr(each) for each in (key, *others)}) == len(others) + 1


@pytest.mark.parametrize("value", [[1], {"a": 1}, object(), np.array([None]), np.zeros(1 << 18)])
def test_a_value_without_comparable_content_has_no_key(value: object) -> None:
    with pytest.raises(_NoKey):
        key_of(FUNCTION.format(options="", number=1), LEVEL=value)


def test_a_function_of_another_file_of_the_candidate_is_compared_by_its_code() -> None:
    def make(number: int) -> Any:
        names: dict[str, Any] = {"__name__": "parts"}
        exec(f"def g(x): return x + {number}", names)
        return names["g"]

    text = FUNCTION.format(options="", number=1)
    assert key_of(text, LEVEL=make(1)) != key_of(text, LEVEL=make(2))


@pytest.mark.parametrize("content", [b"", b"x", b"\0" * 100])
def test_unreadable_content_counts_as_empty(content: bytes) -> None:
    code = CompiledCode(content)
    assert (code.entries, code.dump()) == ({}, b"")


def test_a_numba_with_other_modules_compiles_as_usual(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numba.core.dispatcher", None)
    content = CompiledCode(b"")
    content.install()
    assert content.dump() == b""


def test_programs_that_ask_for_a_cache_are_found() -> None:
    assert may_ask_cache({"heuristic.py": COUNTING})
    assert not may_ask_cache({"heuristic.py": "import numba"})


@pytest.fixture
def guest_of(tmp_path: Path) -> Iterator[Any]:
    guests: list[Guest] = []

    def make(text: str, compiled: Path | None) -> Guest:
        path = tmp_path / f"heuristic{len(guests)}.py"
        path.write_text(text)
        guests.append(Guest(path, "f", compiled=compiled))
        return guests[-1]

    yield make
    for guest in guests:
        guest.__exit__()


@pytest.mark.slow
def test_a_later_process_takes_over_the_code_but_no_state(guest_of: Any, tmp_path: Path) -> None:
    file = tmp_path / "compiled.txt"
    first = guest_of(COUNTING, file)
    answers = [first(1.5), first(2.0)]
    first.keep_compiled()
    assert file.is_file()
    second = guest_of(COUNTING, file)
    assert [second(1.5), second(2.0)] == answers
    assert second._main.first_s < first._main.first_s
    before = file.read_bytes()
    second.keep_compiled()
    assert file.read_bytes() == before


@pytest.mark.slow
def test_another_function_of_the_same_name_is_compiled_anew(guest_of: Any, tmp_path: Path) -> None:
    file = tmp_path / "compiled.txt"
    first = guest_of(COUNTING, file)
    expected = first(2.0)
    first.keep_compiled()
    changed = COUNTING.replace("x ** k", "x ** k + 1")
    assert guest_of(changed, file)(2.0) == expected + 20
    assert guest_of(changed, None)(2.0) == expected + 20


def test_a_damaged_file_counts_as_none(guest_of: Any, tmp_path: Path) -> None:
    file = tmp_path / "compiled.txt"
    file.write_bytes(b"soon\n\xff")
    assert guest_of("def f(x):\n    return 2 * x\n", file)(1.5) == 3.0
