"""Misbehaving candidates, each a file of a few lines: every status is right, and nothing of them is left.

They are put to the sandbox with all means of isolation, with limits alone, and as an ordinary user where this machine
has a Python that another user may start.
"""

import json
import os
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from oragent.sandbox.isolation.mechanisms import FORBID, Guarantee
from tests.faults.drive import FAULTS, HERE, Fault
from tests.sharing import once

PROJECT = HERE.parents[1]
# env in between: setpriv itself may still start what its user may not.
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "env"]
MODES = ("all", *(pytest.param(mode, marks=pytest.mark.slow) for mode in ("limits", "user")))
# Kernels as they may be met, made of this one.
KERNELS = (
    "without:namespaces", "without:namespaces,landlock>1", "without:namespaces,landlock>5", "without:landlock",
    "without:cgroups", "without:seccomp",
)  # fmt: skip
GOT_THROUGH = "got through"
Drive = Callable[[str], dict[str, Any]]


@pytest.fixture(scope="session")
def driven(shared: Path) -> Drive:
    """What became of all faults, in a mode; they are driven once."""
    return lambda mode: once(
        shared, f"faults-{mode}", lambda _: drive(*started(mode), *(["--cluster"] if mode == "cluster" else []))
    )


def drive(command: list[str], environment: dict[str, str], *options: str) -> dict[str, Any]:
    environment["PYTHONPATH"] = os.pathsep.join([str(PROJECT), environment.get("PYTHONPATH", "")])
    words = [*command, HERE / "drive.py", *options]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def started(mode: str) -> tuple[list[str], dict[str, str]]:
    """How a mode is started: its command, and its environment."""
    if mode == "cluster":
        pytest.importorskip("distributed")
        pytest.importorskip("cryptography")
        return [sys.executable], {**os.environ}
    if mode != "user":
        forbidden = {} if mode == "all" else {FORBID: mode}
        return [sys.executable], {**os.environ, **forbidden}
    if os.geteuid():
        pytest.skip("the suite already runs as an ordinary user")
    if found := another_user():
        return found
    pytest.skip("no Python on this machine that an ordinary user could start")


@cache
def another_user() -> tuple[list[str], dict[str, str]] | None:
    """A Python that an ordinary user can start and that has our dependencies."""
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": sysconfig.get_paths()["purelib"]}
    for python in (sys.executable, "/usr/bin/python3"):
        command = [*NOBODY, python]
        trial = [*command, "-c", "import numpy, sys; sys.path.insert(0, '.'); import oragent.sandbox"]
        if not subprocess.run(trial, env=environment, cwd=PROJECT, capture_output=True, check=False).returncode:
            return command, environment
    return None


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_has_its_status_and_no_more_than_its_worth(fault: Fault, mode: str, driven: Drive) -> None:
    found = driven(mode)
    ended = found["faults"][fault.name]
    if fault.holds in found["not_held"]:
        assert ended["status"] in ("ok", "error"), ended["message"]
    else:
        assert ended["status"] in fault.expected, ended["message"]
        assert GOT_THROUGH not in ended["message"]
    assert ended["score"] in (None, found["honest"])


@pytest.mark.parametrize("mode", MODES)
def test_the_run_goes_on_and_nothing_is_left(mode: str, driven: Drive) -> None:
    found = driven(mode)
    assert found["honest"] is not None
    assert found["left"] == []
    assert found["threads"] == 1
    if "untouched" not in found["not_held"]:
        assert found["changed"] == []


@pytest.mark.slow
@pytest.mark.parametrize("mode", KERNELS)
def test_on_a_kernel_that_lacks_something_every_line_of_doctor_is_true(mode: str, driven: Drive) -> None:
    found = driven(mode)
    ended = {fault: found["faults"][fault.name] for fault in FAULTS}
    through = {fault.holds for fault in FAULTS if GOT_THROUGH in ended[fault]["message"]}
    assert through <= set(found["not_held"])
    held = [fault for fault in FAULTS if fault.holds not in found["not_held"]]
    assert {fault.name: ended[fault]["message"] for fault in held if ended[fault]["status"] not in fault.expected} == {}
    assert {one["score"] for one in ended.values()} <= {None, found["honest"]}
    assert found["left"] == []


@pytest.mark.slow
def test_a_cluster_holds_what_its_workers_machine_holds(driven: Drive) -> None:
    found = driven("cluster")
    for fault in FAULTS:
        ended = found["faults"][fault.name]
        if fault.holds not in found["not_held"]:
            assert (fault.name, ended["status"]) in {(fault.name, status) for status in fault.expected}, ended
            assert GOT_THROUGH not in ended["message"]
    assert (found["left"], found["changed"]) == ([], [])


@pytest.mark.parametrize("mode", ["all", pytest.param("user", marks=pytest.mark.slow)])
def test_this_machine_holds_everything(mode: str, driven: Drive) -> None:
    missing = driven(mode)["not_held"]
    if missing:
        pytest.skip(f"not held on this machine: {', '.join(missing)}")


@pytest.mark.slow
def test_what_doctor_calls_not_held_is_exactly_what_gets_through_with_limits_alone(driven: Drive) -> None:
    found = driven("limits")
    through = {fault.holds for fault in FAULTS if GOT_THROUGH in found["faults"][fault.name]["message"] and fault.holds}
    assert through == set(found["not_held"])


def test_every_guarantee_that_can_be_missing_is_tried() -> None:
    assert {fault.holds for fault in FAULTS if fault.holds} <= {guarantee.name.lower() for guarantee in Guarantee}


def test_the_headers_can_be_read() -> None:
    assert all(fault.expected for fault in FAULTS)
