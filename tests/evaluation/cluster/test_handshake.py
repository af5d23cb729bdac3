"""A worker is looked at before it is used."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent._base.errors import SandboxError
from oragent.evaluation.cluster.handshake import (
    Handshake,
    describe_oddity,
    describe_weakest,
    handshake_to_json,
    make_handshake,
    read_handshake,
    reason_to_refuse,
)
from oragent.sandbox.isolation.mechanisms import Guarantee

ENGINE = Handshake("desk", "1.2", "abc", "3.11.4", {"numpy": "2.1"}, "x86_64", 8, (), 1000.0, 9000.0)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"version": "1.1"}, "it has oragent 1.1"),
        ({"code": "abd"}, "install the same copy"),
        ({"python": "3.12.1"}, "Python 3.12.1"),
        ({"packages": {"numpy": "2.2"}}, "numpy 2.2"),
        ({"packages": {}}, "numpy none"),
        ({"machine": "aarch64"}, "machine type is aarch64"),
        ({"room_mb": 3.0}, "it has 3 MiB for temporary files"),
    ],
)
def test_who_would_score_otherwise_is_not_used(change, why: str) -> None:
    assert why in reason_to_refuse(replace(ENGINE, **change), ENGINE)


def test_who_is_the_same_is_used_and_a_patch_of_python_does_no_harm() -> None:
    assert (
        reason_to_refuse(ENGINE, ENGINE)
        == reason_to_refuse(replace(ENGINE, python="3.11.9", host="other", cores=1), ENGINE)
        == ""
    )


def test_a_clock_that_is_off_is_told_and_does_no_harm() -> None:
    assert reason_to_refuse(replace(ENGINE, clock=5000.0), ENGINE) == ""
    assert "+4000 s off" in describe_oddity(replace(ENGINE, clock=5000.0), 1000.0)
    assert describe_oddity(ENGINE, 1010.0) == ""


def test_the_first_line_says_the_weakest() -> None:
    less = replace(ENGINE, not_held=(str(Guarantee.OFFLINE),))
    assert describe_weakest([ENGINE, ENGINE]) == ""
    assert describe_weakest([ENGINE, less, ENGINE]).startswith(
        f"on 1 of 3 workers a candidate could: {Guarantee.OFFLINE}"
    )


@pytest.mark.slow
def test_this_machine_says_of_itself_what_can_be_read() -> None:
    found = make_handshake()
    assert read_handshake(json.loads(json.dumps(handshake_to_json(found)))) == found
    assert reason_to_refuse(found, found) == ""


@given(
    st.dictionaries(
        st.sampled_from(sorted(handshake_to_json(ENGINE))),
        st.one_of(st.none(), st.integers(), st.text(), st.lists(st.text())),
    )
)
def test_what_a_liar_says_is_refused_or_plain(change) -> None:
    try:
        found = read_handshake(handshake_to_json(ENGINE) | change)
    except SandboxError:
        return
    assert all(len(text) <= 6 * 200 and "\x1b" not in text for text in (found.host, found.version, found.python))
    assert set(found.not_held) <= set(map(str, Guarantee))
