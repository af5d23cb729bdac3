"""What a person sees of a search while it runs."""

import pytest

from oragent.budget import Budget, Spent
from oragent.cli.display import Bar
from oragent.direction import Direction
from oragent.evaluation import Evaluation
from oragent.protocol import Status
from oragent.search.archive import Elite
from oragent.search.engine import Progress
from oragent.search.store import Trial


def trial(origin: str, score: float) -> Trial:
    return Trial(origin, origin, (), origin, 0, None, Evaluation(Status.OK, score))


def elite(name: str, score: float) -> Elite:
    return Elite(name, "", score, None, {}, 1)


def test_a_new_best_is_said_to_be_by_what_made_it_and_not_by_what_came_last(capsys: pytest.CaptureFixture[str]) -> None:
    seed = elite("0.0", 10.0)
    with Bar(Budget(), Direction.MINIMIZE) as bar:
        bar(Progress(Spent(1), seed, seed, [trial("seed", 10.0)]))
        bar(Progress(Spent(4), seed, elite("1.1", 7.0), [trial("code", 9.0), trial("tune", 7.0), trial("probe", 9.0)]))
    said = capsys.readouterr().out.splitlines()
    assert [line.rpartition(", by ")[2] for line in said] == ["seed", "tune"]
