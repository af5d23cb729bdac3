"""Declared parameters are read from comments and rewritten in the text, and nothing else changes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent._base.errors import CandidateError
from oragent.programs.parameters import ProgramParameter, read_parameters, read_value, write_values

SOURCE = '''"""Docstring: # param: FALSE = 1, 0..2"""
WINDOW = 23  # param: WINDOW = 23, 5..60
# param: decay = 0.1, 0.001..1, log
SHIFT: float = -2  # param: SHIFT, -5..5, float


def guide(x, decay=0.1, *, steps=4):
    größe = "é # param: no = 1, 0..2"; radius = 3.5  # param: radius = 9, 1..10
    return x * decay + WINDOW + radius + steps
'''


def run(source: str) -> dict[str, object]:
    names: dict[str, object] = {}
    exec(source, names)
    return names


def test_declarations_are_read_with_the_values_of_the_code() -> None:
    reading = read_parameters(SOURCE)
    assert reading.problems == ()
    assert reading.parameters == (
        ProgramParameter("WINDOW", 23, 5, 60, is_integer=True),
        ProgramParameter("decay", 0.1, 0.001, 1, is_logarithmic=True),
        ProgramParameter("SHIFT", -2, -5, 5),
        ProgramParameter("radius", 3.5, 1, 10),
    )


def test_other_values_are_written_into_code_and_comment_and_nothing_else_changes() -> None:
    written = write_values(SOURCE, {"WINDOW": 7, "decay": 0.25, "radius": 1 / 3, "steps": 9})
    assert written == (
        SOURCE.replace("WINDOW = 23", "WINDOW = 7")
        .replace("decay = 0.1,", "decay = 0.25,")
        .replace("decay=0.1", "decay=0.25")
        .replace("radius = 3.5", "radius = 0.333333")
        .replace("radius = 9", "radius = 0.333333")
        .replace("steps=4", "steps=9")
    )


@given(
    st.integers(-(10**9), 10**9) | st.floats(-1e9, 1e9),
    st.floats(1e-12, 1e12) | st.floats(-1e12, -1e-12),
)
def test_what_is_written_is_what_the_program_gets(shift: float, decay: float) -> None:
    names = run(write_values(SOURCE, {"SHIFT": shift, "decay": decay}))
    assert names["SHIFT"] == pytest.approx(shift, rel=1e-5)
    assert getattr(names["guide"], "__defaults__", None) == pytest.approx((decay,), rel=1e-5)
    assert names["WINDOW"] == 23


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("# param: a = 1, 0..2\n", "line 1: a is no constant at the top of the program and no default"),
        ("a = 1\na = 2\n# param: a = 1, 0..2\n", "line 3: a gets a number in more than one place (lines 1, 2)"),
        ("def f(a=1): ...\ndef g(a=1): ...\n# param: a, 0..2\n", "more than one place (lines 1, 2)"),
        *(
            (f"a = {value}  # param: a, 0..2\n", "a is no constant")
            for value in ("True", "~1", "+1", "not 1", "'1'", "1j", "(1,)", "2e9", "-2e9", "-\\\n1")
        ),
        ("def f():\n    def g(a=1): ...\n# param: a, 0..2\n", "a is no constant"),
        ("def f():\n    a: int = 1\n# param: a, 0..2\n", "a is no constant"),
        ("def f():\n    a = 1\n# param: a, 0..2\n", "a is no constant"),
        ("a = 1  # param: a = 1, 2..0\n", "the range of a must rise"),
        ("a = 1  # param: a = 1, 0..1e99\n", "the range of a must rise, within -1e+09..1e+09"),
        ("a = 1  # param: a = 1, 0..2, log\n", "the range of a must be positive for log"),
        ("a = 3  # param: a = 1, 0..2\n", "a = 3 is outside its range 0..2"),
        ("a = 1  # param: a = __import__('os'), 0..2\n", "declares no parameter; write `# param: window = 23, 5..60`"),
        ("a = 1  # param: a in 0..2\n", "declares no parameter"),
        ("a = 1  # param: a, 0..2\n# param: a, 0..3\n", "line 2: a is declared twice"),
    ],
)
def test_a_declaration_that_binds_nothing_is_named_with_its_line(text: str, problem: str) -> None:
    reading = read_parameters(text)
    assert len(reading.problems) == 1
    assert problem in reading.problems[0]


@pytest.mark.parametrize(
    ("line", "is_integer"),
    [
        ("a = 3  # param: a = 3, 1..5", True),
        ("a = 3  # param: a = 3, -1..+1_000", True),
        ("a = 3  # param: a = 3, 1..5, float", False),
        ("a = 3  # param: a = 3, 1..5.5", False),
        ("a = 3  # param: a = 3, 0.5..5", False),
        ("a = 3  # param: a = 3, 0.5..5, int", True),
        ("a = 3.0  # param: a = 3, 1..5", False),
        ("a = 3.0  # param: a = 3, 1..5, int", True),
    ],
)
def test_a_number_stays_whole_where_all_that_is_written_is_whole(line: str, is_integer: bool) -> None:
    (parameter,) = read_parameters(f"{line}\n").parameters
    assert parameter.is_integer is is_integer


@pytest.mark.parametrize(
    "line",
    [
        "def f(b, a=2): ...",
        "def f(b, /, a=2): ...",
        "def f(a=2, /): ...",
        "def f(*, b, a=2): ...",
        "a: int = 2",
        "a = 2",
    ],
)
@pytest.mark.parametrize("where", ["a, 1..3", "a = 7, 1..3"])
def test_constants_and_all_kinds_of_defaults_are_parameters(line: str, where: str) -> None:
    reading = read_parameters(f"b = 1\n{line}\n# param: {where}\n")
    assert reading.parameters == (ProgramParameter("a", 2, 1, 3, is_integer=True),)


def test_too_many_declarations_are_refused() -> None:
    reading = read_parameters("".join(f"a{n} = 1  # param: a{n}, 0..2\n" for n in range(22)))
    assert len(reading.parameters) == 20
    assert reading.problems == tuple(f"line {n}: at most 20 parameters are read" for n in (21, 22))


def test_a_text_that_is_no_program_declares_nothing() -> None:
    assert read_parameters("int a = 3; // # param: a = 3, 1..5").parameters == ()
    assert read_parameters("a = 3\n").parameters == ()


def test_a_constant_can_be_written_without_a_declaration() -> None:
    assert write_values("ALPHA = 2.5\n", {"ALPHA": 3}) == "ALPHA = 3.0\n"
    assert read_value("ALPHA = -2.5\n", "ALPHA") == -2.5
    with pytest.raises(CandidateError):
        write_values("ALPHA = 2.5\n", {"BETA": 3})


@pytest.mark.parametrize(
    ("line", "low", "high", "is_integer"),
    [
        ("ROUNDS = 100  # param: ROUNDS work", 1.0, 100_000.0, True),
        ("ROUNDS = 100  # param: ROUNDS, work", 1.0, 100_000.0, True),
        ("ROUNDS = 0.5  # param: ROUNDS = 0.5 work", 0.0005, 500.0, False),
        ("ROUNDS = 20  # param: ROUNDS = 20, 5..60, work", 5.0, 60.0, True),
    ],
)
def test_an_amount_of_work_needs_no_range(line: str, low: float, high: float, is_integer: bool) -> None:
    (parameter,) = read_parameters(f"{line}\ndef f(x):\n    return x\n").parameters
    assert parameter.is_work
    assert parameter.is_logarithmic is (".." not in line)
    assert (parameter.low, parameter.high, parameter.is_integer) == (low, high, is_integer)
    written = write_values(f"{line}\ndef f(x):\n    return x\n", {"ROUNDS": 7})
    assert read_parameters(written).parameters[0].value == 7


@pytest.mark.parametrize(("low", "is_read"), [("-10", False), ("-0.5", False), ("0", True), ("1", True)])
def test_the_range_of_an_amount_of_work_is_not_negative(low: str, is_read: bool) -> None:
    reading = read_parameters(f"ROUNDS = 5  # param: ROUNDS = 5, {low}..10, work\n")
    assert (len(reading.parameters), len(reading.problems)) == (is_read, not is_read)


def test_an_amount_of_work_that_is_not_positive_is_refused() -> None:
    reading = read_parameters("ROUNDS = 0  # param: ROUNDS work\n")
    assert not reading.parameters
    assert "positive" in reading.problems[0]
