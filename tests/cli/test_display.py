"""What a person sees of a search while it runs."""

import pytest

from oragent.budget import Budget, Spent
from oragent.cli.display import Bar
from oragent.direction import Direction
from oragent.evaluation import Evaluation
from oragent.protocol import Status
from oragent.search.candidate import Candidate, Elite
from oragent.search.engine import Progress


def candidate(origin: str, score: float) -> Candidate:
    return Candidate(
        source=origin,
        fingerprint=origin,
        parents=(),
        origin=origin,
        island=0,
        call=None,
        evaluation=Evaluation(Status.OK, score),
    )


def elite(name: str, score: float) -> Elite:
    return Elite(id=name, source="", score=score, features=None, metrics={})


def test_a_new_best_is_said_to_be_by_what_made_it_and_not_by_what_came_last(capsys: pytest.CaptureFixture[str]) -> None:
    seed = elite("0.0", 10.0)
    with Bar(Budget(), Direction.MINIMIZE) as bar:
        bar(Progress(Spent(1), seed, seed, [candidate("seed", 10.0)]))
        bar(
            Progress(
                Spent(4),
                seed,
                elite("1.1", 7.0),
                [candidate("code", 9.0), candidate("tune", 7.0), candidate("probe", 9.0)],
            )
        )
    said = capsys.readouterr().out.splitlines()
    assert [line.rpartition(", by ")[2] for line in said] == ["seed", "tune"]
