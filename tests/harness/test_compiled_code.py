"""Machine code is used again only for the same function with the same values, and no state goes with it."""

import base64
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oragent.harness import Guest
from oragent.harness.code_memory import MAX_BYTES, CodeMemory
from oragent.harness.compiled_code import CompiledCode, _describe, _NoKey, may_ask_cache
from oragent.harness.compiling import make_example

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
    assert CompiledCode(content).entries == {}


def test_a_later_object_has_the_functions_that_were_appended() -> None:
    memory = CodeMemory()
    first = CompiledCode(b"", memory)
    first.add("a", b"one")
    first.add("b", b"")
    assert CompiledCode(memory.read()).entries == first.entries == {"a": b"one", "b": b""}
    # The rest of a content that was cut is left out.
    assert CompiledCode(memory.read()[:-1]).entries == {"a": b"one"}


def test_memory_takes_what_fits_and_believes_no_length() -> None:
    memory = CodeMemory()
    memory.append(b"x" * (MAX_BYTES - 1))
    memory.append(b"yy")
    memory.append(b"z")
    assert memory.read() == b"x" * (MAX_BYTES - 1) + b"z"
    memory._memory[:8] = b"\xff" * 8
    assert len(memory.read()) == MAX_BYTES


def test_a_numba_with_other_modules_compiles_as_usual(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numba.core.dispatcher", None)
    content = CompiledCode()
    content.install()
    assert content.entries == {}


def test_programs_that_ask_for_a_cache_are_found() -> None:
    assert may_ask_cache({"heuristic.py": COUNTING})
    assert not may_ask_cache({"heuristic.py": "import numba"})


@pytest.fixture
def guest_of(tmp_path: Path) -> Iterator[Any]:
    guests: list[Guest] = []

    def make(text: str, compiled: Path | None) -> Guest:
        path = tmp_path / f"heuristic{len(guests)}.py"
        path.write_text(text)
        guests.append(Guest(path, "f", compiled=compiled, compiles_apart=compiled is not None))
        return guests[-1]

    yield make
    for guest in guests:
        guest.__exit__()


@pytest.mark.slow
def test_a_later_process_takes_over_the_code_but_no_state(guest_of: Any, tmp_path: Path) -> None:
    file = tmp_path / "compiled.txt"
    first = guest_of(COUNTING, file)
    answers = [first(1.5), first(2.0)]
    before = file.read_bytes()
    second = guest_of(COUNTING, file)
    assert [second(1.5), second(2.0)] == answers
    alone = guest_of(COUNTING, None)
    assert [alone(1.5), alone(2.0)] == answers
    # Compilation takes a third of a second, of which neither process needs anything.
    assert max(first._main.first_s, second._main.first_s) < alone._main.first_s
    assert first.whole_start_s == second.whole_start_s > first.start_seconds
    assert file.read_bytes() == before


@pytest.mark.slow
def test_another_function_of_the_same_name_is_compiled_anew(guest_of: Any, tmp_path: Path) -> None:
    file = tmp_path / "compiled.txt"
    expected = guest_of(COUNTING, file)(2.0)
    changed = COUNTING.replace("x ** k", "x ** k + 1")
    assert guest_of(changed, file)(2.0) == expected + 20
    assert guest_of(changed, None)(2.0) == expected + 20


# A program that hides what it was called with in the machine code, and looks for it there.
HIDING = """
import gc
import numba
import numpy as np

@numba.njit
def double(x):
    return 2 * x

def f(x):
    answer = float(double(x).sum())
    for code in [each for each in gc.get_objects() if type(each).__name__ == "CompiledCode"]:
        answer += sum(float(key[7:]) for key in code.entries if key.startswith("hidden "))
        code.add(f"hidden {float(x.sum())}", b"")
    return answer
"""


def test_machine_code_carries_nothing_of_the_calls(guest_of: Any, tmp_path: Path) -> None:
    file = tmp_path / "compiled.txt"
    answers = [guest_of(HIDING, file)(np.array([1.0, 2.0, 4.0])) for _ in range(3)]
    assert len(set(answers)) == 1
    other = tmp_path / "other.txt"
    guest_of(HIDING, other)(np.array([8.0, 16.0, 32.0]))
    content = [CompiledCode(base64.b64decode(each.read_text().partition("\n")[2])).entries for each in (file, other)]
    # The code is that of a call with the same types, whatever the content of the array.
    assert [*content[0]] == [*content[1]]
    assert any(name.startswith("hidden") for name in content[0])


def test_a_call_that_does_not_end_or_fails_leaves_what_it_compiled(guest_of: Any, tmp_path: Path) -> None:
    for index, end in enumerate(
        ("while x.sum() != 7: pass", "assert x.sum() == 7", "import os; x.sum() == 7 or os._exit(1)")
    ):
        file = tmp_path / f"compiled{index}.txt"
        program = HIDING[: HIDING.index("    for code")] + f"    {end}\n    return answer\n"
        guest = guest_of(program, file)
        assert guest(np.array([1.0, 2.0, 4.0])) == 14
        assert guest.call_count == 1
        code = CompiledCode(base64.b64decode(file.read_text().partition("\n")[2]))
        assert len(code.entries) == 1


class Values:
    """State whose calls get the start and the item."""

    def __init__(self, start: Any) -> None:
        self.start = start

    def arguments(self, item: Any) -> tuple[Any, ...]:
        return (self.start + item,)

    def choose(self, answer: Any) -> float:
        return float(answer)

    def apply(self, decision: float) -> None:
        pass


def test_programs_that_decide_step_by_step_are_compiled_too(tmp_path: Path) -> None:
    file, path = tmp_path / "compiled.txt", tmp_path / "heuristic.py"
    path.write_text(HIDING[: HIDING.index("    for code")] + "    return answer\n")
    for _ in range(2):
        with Guest(path, "f", compiled=file, compiles_apart=True, state=Values) as guest:
            steps = guest.reveal([(np.ones(2),), (np.zeros(2),)], [[1.0, 2.0], [3.0]])
        assert steps == [[8.0, 12.0], [12.0]]
    assert CompiledCode(base64.b64decode(file.read_text().partition("\n")[2])).entries


def run_all(function: Any, values: list[float]) -> list[float]:
    return [function(np.full(3, value)) for value in values]


def test_loops_in_the_process_of_the_candidate_are_compiled_too(guest_of: Any, tmp_path: Path) -> None:
    file = tmp_path / "compiled.txt"
    program = HIDING[: HIDING.index("    for code")] + "    return answer\n"
    assert guest_of(program, file).run(run_all, [1.0, 2.0]) == [6.0, 12.0]
    assert CompiledCode(base64.b64decode(file.read_text().partition("\n")[2])).entries


@pytest.mark.parametrize(
    ("value", "example"),
    [
        (True, True),
        (False, True),
        (7, 1),
        (7.5, 1.0),
        (np.int64(3), 1),
        (np.float32(3), 1.0),
        ("text", ""),
        (None, None),
        ([4, 9, 2], [0, 1, 2]),
        ([4, 9.5], [1, 1.0]),
        ((3, 4), (1, 1)),
        ({7, 9}, {0, 1}),
        ({"text"}, {""}),
        ({"a": 5, 9: [2.5]}, {"a": 1, 1: [1.0]}),
    ],
)
def test_an_example_has_the_type_and_shape_of_a_value_but_nothing_else(value: Any, example: Any) -> None:
    made = make_example(value)
    assert made == example
    assert type(made) is type(example)


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int32", "bool", "complex128"])
@pytest.mark.parametrize("shape", [(), (4,), (3, 5), (0, 2)])
def test_an_example_of_an_array_depends_on_type_and_shape_alone(shape: tuple[int, ...], dtype: str) -> None:
    first, second = (make_example(np.full(shape, number).astype(dtype)) for number in (3, 8))
    assert first.shape == shape
    assert first.dtype == np.dtype(dtype)
    assert np.array_equal(first, second)
    if first.dtype.kind == "f":
        assert np.all((first > 0) & np.isfinite(first))
    if first.dtype.kind == "i" and shape:
        assert np.all((first >= 0) & (first < max(shape[0], 1)))


def test_a_damaged_file_counts_as_none(guest_of: Any, tmp_path: Path) -> None:
    file = tmp_path / "compiled.txt"
    file.write_bytes(b"soon\n\xff")
    assert guest_of("def f(x):\n    return 2 * x\n", file)(1.5) == 3.0
