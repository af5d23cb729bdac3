"""Kernels that lack something, made of this one: the probe finds out, and doctor says so."""

import os
import subprocess
import sys

import pytest

from oragent._base.errors import SandboxError
from oragent.sandbox.isolation import landlock
from oragent.sandbox.isolation.mechanisms import (
    FORBID,
    Guarantee,
    Mechanism,
    is_allowed,
    list_not_held,
    newest_landlock,
)
from oragent.sandbox.isolation.probe import probe_mechanisms

WORKING = {report.mechanism for report in probe_mechanisms() if report.works}


def working(monkeypatch: pytest.MonkeyPatch, forbidden: str) -> set[Mechanism]:
    monkeypatch.setenv(FORBID, forbidden)
    return {report.mechanism for report in probe_mechanisms() if report.works}


@pytest.mark.slow
@pytest.mark.parametrize("means", ["namespaces", "seccomp", "landlock", "cgroups"])
def test_what_is_left_out_is_not_found(means: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert Mechanism(means) not in working(monkeypatch, f"without:{means}")


def test_nothing_but_limits_leaves_every_channel_open(monkeypatch: pytest.MonkeyPatch) -> None:
    missing = list_not_held(working(monkeypatch, "limits"))
    assert {Guarantee.UNSEEN, Guarantee.UNREAD, Guarantee.OFFLINE} <= set(missing)
    assert Guarantee.SCORED not in missing


@pytest.mark.slow
@pytest.mark.skipif(landlock.abi_version() < 5, reason="this machine has no Landlock of version 5")
@pytest.mark.parametrize("version", [1, 3, 5])
def test_an_older_landlock_can_be_had(version: int, monkeypatch: pytest.MonkeyPatch) -> None:
    found = working(monkeypatch, f"without:namespaces,landlock>{version}")
    assert landlock.abi_version() == version
    assert Mechanism.LANDLOCK in found
    assert Guarantee.UNREAD not in list_not_held(found)
    assert Guarantee.UNSEEN in list_not_held(found)  # paths can be asked for where no namespace hides them


@pytest.mark.parametrize("text", ["nothing", "without:", "without:walls", "without:landlock>x", "only:cgroups"])
def test_what_cannot_be_forbidden_is_one_clear_line(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FORBID, text)
    with pytest.raises(SandboxError, match="ORAGENT_ISOLATION") as caught:
        is_allowed(Mechanism.CGROUPS)
    assert "\n" not in str(caught.value)


def test_several_can_be_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FORBID, "without:cgroups,namespaces,landlock>2")
    assert [is_allowed(means) for means in (Mechanism.CGROUPS, Mechanism.NAMESPACES, Mechanism.LANDLOCK)] == [
        False,
        False,
        True,
    ]
    assert newest_landlock() == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("forbidden", "lines"),
    [
        ("limits", ["NOT HELD  see or signal", "held      print or patch"]),
        ("without:namespaces,landlock", ["NOT HELD  read your files", "NOT HELD  change, create or delete a file"]),
        ("without:cgroups", ["held      take more time, memory", "forbidden by ORAGENT_ISOLATION"]),
    ],
)
def test_doctor_says_what_is_not_held(forbidden: str, lines: list[str]) -> None:
    environment = {**os.environ, FORBID: forbidden, "COLUMNS": "200"}
    command = [sys.executable, "-m", "oragent", "doctor"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    for line in lines:
        assert line in done.stdout
