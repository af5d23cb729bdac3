"""Exceptions that carry data."""

import pytest

from oragent._base.errors import CandidateError, ProblemError
from oragent._base.protocol import Status


@pytest.mark.parametrize("status", [status for status in Status if status is not Status.OK])
def test_a_candidate_error_takes_a_status_or_its_name(status: Status) -> None:
    assert CandidateError("wrong", status).status is status
    assert CandidateError("wrong", status.value).status is status


@pytest.mark.parametrize("status", ["infeasible", "OK", "ok", ""])
def test_an_unknown_status_is_refused_where_the_error_is_built(status: str) -> None:
    with pytest.raises(ProblemError):
        CandidateError("wrong", status)
