"""Numbers of programs that can be tuned: which they are, in which order, and programs with other values."""

import ast
import asyncio
from types import SimpleNamespace

import numpy as np
import pytest

from oragent.search.strategies import tuning
from oragent.search.strategies.constants import MAX_CONSTANTS, Range, find_constants, with_values
from oragent.search.strategies.tuning import BOX, CROSSOVER, FACTOR, MEMBERS, Box, evolve_constants, make_trial


def find(body: str, head: str = "x: np.ndarray, k", top: str = "") -> str:
    """Return the constants of a function, the most influential first; ``!`` marks those that stay whole."""
    lines = "".join(f"    {line}\n" for line in body.split("; "))
    found = find_constants(f"import numpy as np\n{top}def f({head}):\n{lines}", "f")
    return " ".join(f"{constant.value:g}{'!' * constant.whole}" for constant in found)


@pytest.mark.parametrize(
    ("body", "constants"),
    [
        # Exponents, factors and names, thresholds, terms, other numbers, ends of slices and divisors.
        ("return (x - 4.5) * 3.5 + x ** 2", "2 3.5 4.5"),
        ("return 1.5 if x > 2.5 else 3", "2.5 1.5 3"),
        ("return x // 7 + x % 9 + np.clip(x, 0.5, 99.0)", "0.5 99 7 9"),
        ("y = 7; return x[:y] + 8 * x", "7! 8"),
        ("return x[1:8] + x[2:] + x[-3:] + x[:k // 4]", "8! 2! 4!"),
        ("return x ** -2.0 + x / 3.0", "2 3"),
        ("return -2.5 * x - -1 + -3", "2.5 3"),
        ("return x if x < 3 else -4.5", "3 4.5"),
        ("y = [1.5, 2]; return x * 2.5, (3.5, 4)", "2.5 1.5 3.5"),
        ("return np.full(12, 1.5) * x", "1.5"),
        # Counters, markers and bits are none.
        ("y = 0; y += 1; y -= 2; y += 2.5; return x * y", "2! 2.5"),
        ("y = 5; y //= 64; y %= 3; y <<= 2; y &= 3; y *= 3; return x * y", "5! 3!"),
        ("y = -1; return x * y", ""),
        ("y = 1; return x * y", ""),
        ("y = 2; return x * y", "2!"),
        ("return -1", ""),
        ("return 2.0", "2"),
        ("return x + 1 - 1.0", "1"),
        ("return (k >> 3) + (k << 2) + (k & 7) + True * x", ""),
        # Sentinels, epsilons and seeds are none.
        ("return x + 1e5 + 99999.0 + 1e-6 + 2e-6 - 1e9", "99999 2e-06"),
        ("return np.random.default_rng(42).random() * 3.0", "3"),
        ("return other(x, seed=7.5, axis=1.5, Random_State=3.5, dtype=4.5) + max(x, 2.5)", "2.5"),
    ],
)
def test_numbers_are_offered_by_their_influence(body: str, constants: str) -> None:
    assert find(body) == constants


def test_defaults_and_named_numbers_are_offered() -> None:
    assert find("return x * a * b", "x, a=2.5, *, b=3, c=1") == "2.5 3!"
    top = "A = 2.5\nB = 3\nC = (1.5, [2.5, 4])\nD = {'a': 0.5}\nE = 1\n"
    assert find("return x * A", "x", top) == "2.5 3! 1.5 2.5 0.5"


def test_numbers_count_in_text_order_and_know_their_line() -> None:
    source = "def f(x):\n    y = x + 4.5\n    return y ** 2.5\n"
    power, term = find_constants(source, "f")
    assert [(found.number, found.value, found.line, found.label) for found in (power, term)] == [
        (1, 2.5, "return y ** 2.5", "c1"),
        (0, 4.5, "y = x + 4.5", "c0"),
    ]
    many = "def f(x):\n    return " + " + ".join(f"x * {number}.5" for number in range(1, MAX_CONSTANTS + 9))
    assert len(find_constants(many, "f")) == MAX_CONSTANTS
    assert find_constants("int f() { return 3; }", "f") == []


@pytest.mark.parametrize(
    ("values", "body"),
    [
        ({}, "y = x[:7] + 4.5; return y ** 2.5 - 3"),
        ({0: 8.6, 1: -1.23456, 2: 3.0, 3: 2.4}, "y = x[:9] + -1.23; return y ** 3.0 - 2.4"),
        ({1: 1e-9}, "y = x[:7] + 1e-09; return y ** 2.5 - 3"),
    ],
)
def test_values_are_written_in_their_places(values: dict[int, float], body: str) -> None:
    source = "def f(x):\n    y = x[:7] + 4.5  # a remark\n    return y ** 2.5 - 3\n"
    assert with_values(source, "f", values) == "def f(x):\n" + "".join(f"    {line}\n" for line in body.split("; "))


@pytest.mark.parametrize(
    ("value", "low", "high", "found"),
    [
        ("2.0", "", "", (0.5, 8.0)), ("-2.0", "", "", (-8.0, -0.5)), ("0.0", "", "", (-1.0, 1.0)), ("2.0", "1", "3", (1.0, 3.0)),
        ("2.0", "3", "1", (0.5, 8.0)), ("2.0", "1", "1e9", (0.5, 8.0)), ("2.0", "-1e9", "3", (0.5, 8.0)), ("2.0", "1", "nan", (0.5, 8.0)),
    ],
)  # fmt: skip
def test_a_range_is_the_given_one_or_a_factor_around_the_value(
    value: str, low: str, high: str, found: tuple[float, float]
) -> None:
    constant = find_constants(f"def f(x, y={value.lstrip('-')}):\n    return x * {value}\n", "f")[-1]
    constant = type(constant)(0, float(value), False, "")
    made = Range.around(constant, low, high)
    assert (made.low, made.high) == found
    assert made.logarithmic is (found == (0.5, 8.0))


# --- differential evolution ------------------------------------------------------------------------------------------


def test_a_box_is_in_proportion_to_the_constants() -> None:
    source = "def f(x):\n    return x * 4.0 + x ** 0.5 - 0.0002 + 2.5\n"
    constants = sorted(find_constants(source, "f"), key=lambda constant: constant.number)
    box = Box.around(constants)
    assert box.centre.tolist() == [4.0, 0.5, 0.0002, 2.5]
    assert box.reach == pytest.approx([4.0 * BOX, 0.5 * BOX, tuning.AROUND_ZERO, 2.5 * BOX])
    assert box.clipped(np.array([1e9, -1e9, 0.1, 2.5])) == pytest.approx([4 + 4 * BOX, 0.5 - 0.5 * BOX, 0.1, 2.5])
    rng = np.random.default_rng(1)
    points = np.array([box.neighbour(rng) for _ in range(400)])
    assert points.mean(axis=0) == pytest.approx(box.centre, abs=0.1)
    assert points.std(axis=0) == pytest.approx(box.reach * tuning.SIGMA / BOX, rel=0.15)


def test_a_trial_mixes_a_mutant_into_the_target() -> None:
    box = Box(np.zeros(4), np.full(4, 100.0))
    target, first, second, third = (np.arange(4) * scale for scale in (1.0, 10.0, 7.0, 2.0))
    mutant = first + FACTOR * (second - third)
    rng, taken = np.random.default_rng(1), []
    for _ in range(400):
        trial = make_trial(target, (first, second, third), box, rng)
        assert all(value in (old, new) for value, old, new in zip(trial, target, mutant, strict=True))
        taken.append([value == new for value, new in zip(trial[1:], mutant[1:], strict=True)])
    # A dimension is taken by chance, or because one must be.
    assert np.mean(taken) == pytest.approx(CROSSOVER + (1 - CROSSOVER) / 4, abs=0.05)
    far = make_trial(target, (first * 100, second, third), box, rng)
    assert far.max() == 100.0


class Run:
    """Evaluate programs by a function of their only constant; record the values in batches."""

    def __init__(self, score, limit: int = 1000) -> None:
        self.rng, self.score, self.limit = np.random.default_rng(4), score, limit
        self.batches: list[list[float]] = []
        self.problem = SimpleNamespace(about=SimpleNamespace(function="f"))
        self.archive = SimpleNamespace(fitness=lambda score: -score)

    async def fork(self, works):
        sources = [work.keywords["source"] for work in works]
        values = [find_constants(source, "f")[0].value for source in sources]
        if sum(map(len, self.batches)) + len(values) > self.limit:
            raise tuning.BudgetExhausted("none is left")
        self.batches.append(values)
        return [
            SimpleNamespace(evaluation=SimpleNamespace(score=self.score(value)), score=self.score(value))
            for value in values
        ]


def evolve(run: Run, evaluations: int, batch: int, source: str = "def f(x):\n    return x * 2.0\n"):
    elite = SimpleNamespace(id="1.0", source=source, score=1.0)
    return asyncio.run(evolve_constants(run, elite, evaluations, batch))


def test_trials_of_each_member_are_evaluated_as_far_as_the_budget_goes() -> None:
    run = Run(lambda value: (value - 3) ** 2)
    tried = evolve(run, 20, 4)
    assert [len(values) for values in run.batches] == [MEMBERS - 1, 4, 4, 4, 4]
    assert len(tried) == 19
    assert [candidate.score for candidate in tried] == [run.score(value) for values in run.batches for value in values]
    # The least loss is approached.
    best = min(abs(value - 3) for value in run.batches[0] + [2.0])
    assert min(abs(value - 3) for values in run.batches[1:] for value in values) < best
    few = Run(lambda value: value)
    assert evolve(few, MEMBERS + 2, 4) == []
    assert len(evolve(Run(lambda value: value), MEMBERS + 3, 4)) == MEMBERS + 3
    assert evolve(few, 20, 4, "def f(x):\n    return x\n") == []
    ended = Run(lambda value: value, limit=8)
    assert len(evolve(ended, 20, 4)) == 7


def test_a_member_is_replaced_by_its_best_trial_if_that_is_better() -> None:
    """With a loss that grows with the constant, the population goes down; with failures it stays."""
    down = Run(lambda value: value)
    evolve(down, 80, 4)
    assert np.mean(down.batches[-1]) < np.mean(down.batches[0]) - 0.3
    assert min(map(min, down.batches)) >= 2.0 - 2.0 * BOX - 1e-9
    fails = Run(lambda value: None if value < 2.0 else value)
    evolve(fails, 80, 4)
    assert np.mean(fails.batches[-1]) == pytest.approx(2.0, abs=0.6)


def test_a_program_is_written_again_that_computes_the_same() -> None:
    source = "def f(x):\n    return (x * 2.0 + 3) ** 1.5 - x // 4\n"
    space: list[dict] = [{}, {}]
    exec(source, space[0])
    exec(
        with_values(source, "f", {constant.number: constant.value for constant in find_constants(source, "f")}),
        space[1],
    )
    assert space[0]["f"](7.0) == space[1]["f"](7.0)
    assert ast.parse(with_values(source, "f", {0: 5.0}))
