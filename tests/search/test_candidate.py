"""A candidate is one thing by one name; a failure never becomes an elite."""

import pytest

from oragent._base.protocol import Status
from oragent.evaluation import Evaluation
from oragent.search.candidate import Candidate, Committed, Elite

SOURCE = "def guess(x):\n    return x + 1\n"


def candidate(evaluation: Evaluation, source: str = SOURCE) -> Candidate:
    return Candidate(
        source=source, fingerprint="f", parents=(), origin="seed", island=0, call=None, evaluation=evaluation
    )


def test_an_elite_is_a_scored_candidate_under_its_own_or_another_name() -> None:
    scored = candidate(Evaluation(Status.OK, 3.5, (1,), {"value": 2}))
    committed = Committed(id="7.2", candidate=scored, placed="NEW", elapsed_s=1.0)
    assert Elite.of(scored) == Elite(id="f", source=SOURCE, score=3.5, features=(1,), metrics={"value": 2})
    assert [Elite.of(committed).id, Elite.of(scored, id="8.0").id] == ["7.2", "8.0"]
    assert (committed.round, committed.score, committed.source) == (7, 3.5, SOURCE)


def test_a_failure_has_no_score_and_is_no_elite() -> None:
    failed = candidate(Evaluation(Status.TIMEOUT, message="slow"))
    assert failed.score is None
    with pytest.raises(ValueError, match="timeout"):
        Elite.of(failed)


def test_the_length_of_an_elite_is_in_nodes_and_0_where_nobody_can_read_it() -> None:
    assert (
        Elite.of(candidate(Evaluation(Status.OK, 1.0))).length == 9
    )  # module, def, parameters, x; return, x + 1 as three and +
    assert Elite.of(candidate(Evaluation(Status.OK, 1.0), "def guess(x")).length == 0


def test_the_fields_of_a_candidate_are_named() -> None:
    with pytest.raises(TypeError):
        Elite("1.0", SOURCE, 1.0, None, {})  # type: ignore[misc]
