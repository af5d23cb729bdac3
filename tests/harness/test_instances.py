"""Instances come size by size, in a race in blocks of all sizes, and a race ends where nothing can be won any more."""

import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from oragent.harness import each
from oragent._base.direction import Direction
from oragent._base.protocol import Failure, Result, Status, parse
from oragent._base.racing import BEHAVIOUR, BY_INSTANCE, RaceTerms
from oragent.harness.racing import Outraced, Race

SETS = {20: list(range(8)), 50: list(range(8))}
EVALUATOR = """
from oragent.harness import each, figures, run, Result

def evaluate(arguments, guess):
    values = {10: [], 20: []}
    for size, index, instance in each(guess, {10: list(range(8)), 20: list(range(8))}, values):
        values[size].append(abs(float(guess(instance)) - size))
    metrics, score = figures("miss", values)
    return Result(metrics, None, score)

run(evaluate, function="guess", sizes={"train": (10, 20), "val": (10, 20)}, race=True)
"""


def guest(terms: RaceTerms | None = None) -> SimpleNamespace:
    return SimpleNamespace(
        where="",
        done_count=0,
        planned_count=0,
        place_counts=defaultdict(int),
        instance_range=None,
        race=Race(terms) if terms else None,
        settle=None,
    )


def measured(one: SimpleNamespace, value: float = 1.0) -> list[str]:
    values: dict[int, list[float]] = {20: [], 50: []}
    places = []
    for size, index, _ in each(one, SETS, values):
        places.append(one.where)
        values[size].append(value + index / 7)
        if one.race is not None:
            one.race.hear_answer(np.array([value, index]))
    return places


def test_without_a_race_they_come_size_by_size() -> None:
    one = guest()
    assert measured(one) == [f"size {size}, instance {index}" for size in SETS for index in range(8)]
    assert (one.done_count, one.planned_count) == (16, 16)
    assert one.place_counts == {"size 20": 8, "size 50": 8}


@pytest.mark.parametrize(
    ("few", "each_size"),
    [
        (range(1), range(1)),
        (range(3), range(3)),
        (range(8), range(8)),
        (range(99), range(8)),
        (range(2, 5), range(2, 5)),
        (range(6, 99), range(6, 8)),
    ],
)
def test_where_a_few_are_wanted_the_first_of_each_size_come(few: range, each_size: range) -> None:
    for one in (guest(), guest(RaceTerms(Direction.MINIMIZE))):
        one.instance_range = few
        wanted = [f"size {size}, instance {index}" for size in SETS for index in each_size]
        assert sorted(measured(one)) == sorted(wanted)
        assert (one.done_count, one.planned_count) == (2 * len(each_size),) * 2


def test_in_a_race_sizes_alternate_and_each_instance_comes_once(capsys) -> None:
    places = measured(guest(RaceTerms(Direction.MINIMIZE)))
    assert sorted(places) == sorted(measured(guest()))
    assert places[:4] == [f"size {size}, instance {index}" for size in (20, 50) for index in (0, 1)]
    assert "size 50, instance 7: 2" in capsys.readouterr().out


def test_who_is_behind_everywhere_is_ended() -> None:
    bar = {str(size): [0.1 + index / 7 for index in range(8)] for size in SETS}
    one = guest(RaceTerms(Direction.MINIMIZE, bar))
    with pytest.raises(Outraced, match="6 of"):
        measured(one)
    assert one.done_count == sum(one.place_counts.values()) == 6
    measured(guest(RaceTerms(Direction.MAXIMIZE, bar)))


def behaviour(value: float) -> str:
    one = guest(RaceTerms(Direction.MINIMIZE, probes=2))
    measured(one, value)
    assert one.race is not None
    return str(one.race.standing_metrics(value + 0.5)[BEHAVIOUR])


def test_equal_answers_are_alike_up_to_rounding_and_others_are_not() -> None:
    assert behaviour(1.0) == behaviour(1.0 + 1e-13) != behaviour(1.001)
    one = guest(RaceTerms(Direction.MINIMIZE, probes=2, twins=frozenset([behaviour(1.0)])))
    with pytest.raises(Outraced, match="4 of"):
        measured(one)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([1, 2], [2, 1]), ({"a": 1}, {"a": 2}), ("1", 1), ({1, 2}, {1, 3}), ([[1], [2]], [[1, 2]]), (None, False),
        ([10**400, 1], [10**400 + 1, 1]), (10**400, 10**400 + 1),
    ],
)  # fmt: skip
def test_what_differs_is_not_alike(first: object, second: object) -> None:
    found = []
    for answer in (first, second, first):
        race = Race(RaceTerms(Direction.MINIMIZE, probes=1))
        race.begin_race({"1": 1})
        race.attend_instance(0)
        race.hear_answer(answer)
        race.check_standing({1: [1.0]}, {"1": 1})
        found.append(race.standing_metrics(1.0)[BEHAVIOUR])
    assert found[0] == found[2] != found[1]


def test_a_score_that_is_no_mean_of_means_is_no_bar_for_anybody() -> None:
    one = guest(RaceTerms(Direction.MINIMIZE))
    measured(one)
    assert one.race is not None
    assert one.race.standing_metrics(1.5)[BY_INSTANCE]["20"][0] == 1.0
    assert one.race.standing_metrics(1.7) == {}


def test_an_evaluator_that_keeps_no_values_is_told_so() -> None:
    with pytest.raises(ValueError, match="value"):
        list(each(guest(RaceTerms(Direction.MINIMIZE)), SETS, {20: [], 50: []}))


def asked(folder: Path, body: str, *options: str) -> "subprocess.CompletedProcess[str]":
    (folder / "eval.py").write_text(EVALUATOR)
    (folder / "heuristic.py").write_text(f"def guess(x):\n    {body}\n")
    argv = [sys.executable, "eval.py", "--root_dir=.", *options]
    return subprocess.run(argv, cwd=folder, capture_output=True, text=True, check=False)


def evaluated(folder: Path, body: str, terms: RaceTerms) -> Result | Failure:
    return parse(asked(folder, body, f"--race={terms.dumps()}").stdout)


@pytest.mark.slow
def test_a_few_instances_by_hand_and_never_where_a_score_counts(tmp_path: Path) -> None:
    ran = asked(tmp_path, "print(x); return 2.0 * x", "--mode=train", "--problem_size=10", "--instances=2")
    found = parse(ran.stdout)
    assert isinstance(found, Result)
    assert (found.score, ran.stderr) == (14.0, "0\n1\n0\n1\n")
    refused = asked(tmp_path, "return 1.0", "--instances=2")
    assert refused.returncode == 2
    assert "--instances goes with --mode=train and --mode=practice alone" in refused.stderr
    assert (
        "1 or more, or a range such as 4:8, not '0'"
        in asked(tmp_path, "return 1.0", "--mode=train", "--instances=0").stderr
    )


@pytest.mark.slow
def test_a_race_by_hand(tmp_path: Path) -> None:
    full = evaluated(tmp_path, "return 14.5", RaceTerms(Direction.MINIMIZE, probes=1))
    assert isinstance(full, Result)
    bar = full.metrics[BY_INSTANCE]
    assert bar == {"10": [4.5] * 8, "20": [5.5] * 8}
    ended = evaluated(tmp_path, "return 0.0", RaceTerms(Direction.MINIMIZE, bar))
    assert isinstance(ended, Failure)
    assert ended.status is Status.SCREENED
    assert ended.metrics == {"raced": {"done": 6, "planned": 16, "estimate": 15.0}}
    twin = evaluated(
        tmp_path, "return 29 / 2", RaceTerms(Direction.MINIMIZE, None, 1, frozenset([full.metrics[BEHAVIOUR]]))
    )
    assert isinstance(twin, Failure)
    assert "answers just as an elite" in twin.message
    # A candidate cannot say of itself that it was screened: what it raises is an error.
    lied = evaluated(
        tmp_path,
        "from oragent._base.errors import CandidateError; raise CandidateError('x', 'screened')",
        RaceTerms(Direction.MINIMIZE, json.loads(json.dumps(bar))),
    )
    assert isinstance(lied, Failure)
    assert lied.status is not Status.SCREENED


def instance_values(folder: Path, text: str, *options: str) -> object:
    """The values by instance that an evaluator prints; None where it prints none."""
    (folder / "eval.py").write_text(text)
    (folder / "heuristic.py").write_text("def guess(x):\n    return float(x)\n")
    argv = [sys.executable, "eval.py", "--root_dir=.", *options]
    ended = subprocess.run(argv, cwd=folder, capture_output=True, text=True, check=False)
    found = parse(ended.stdout)
    assert isinstance(found, Result), ended.stdout + ended.stderr
    assert BY_INSTANCE not in ended.stdout.split("__SANDBOX_RESULT__")[0]  # nor on a line of its own
    return found.metrics.get(BY_INSTANCE)


MISSES = {str(size): [float(size - index) for index in range(8)] for size in (10, 20)}
FIGURES = 'metrics, score = figures("miss", values)'
BARE = "metrics, score = {}, sum(sum(row) / len(row) for row in values.values()) / len(values)"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "options", "expected"),
    [
        ((FIGURES, FIGURES), ["--mode=val"], MISSES),
        ((FIGURES, BARE), ["--mode=val"], MISSES),  # from ``each``, where ``figures`` is not used
        ((FIGURES, FIGURES), ["--mode=train"], None),
        ((FIGURES, FIGURES), ["--mode=val", "--check"], MISSES),
        ((FIGURES, f"{BARE} + 1"), ["--mode=val"], None),  # the values do not make up the score
        ((FIGURES, "values[10].append('x'); metrics, score = {}, 1.0"), ["--mode=val"], None),
        (("list(range(8))", "list(range(250))"), ["--mode=val"], 500),
        (("list(range(8))", "list(range(251))"), ["--mode=val"], None),  # too many for the database of a search
    ],
)
def test_an_evaluation_of_a_search_has_the_value_of_each_instance(
    change: tuple[str, str], options: list[str], expected: object, tmp_path: Path
) -> None:
    found = instance_values(tmp_path, EVALUATOR.replace(*change), *options)
    if isinstance(expected, int):
        assert isinstance(found, dict)
        assert sum(map(len, found.values())) == expected
    else:
        assert found == expected
