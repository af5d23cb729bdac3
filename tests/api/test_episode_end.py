"""An episode ends within two seconds of its limit, with all processes of the agent, whatever the agent does."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from oragent.sandbox.confinement_trial import explain_unconfined
from oragent.sandbox.isolation.mechanisms import FORBID
from tests.faults.test_faults import another_user
from tests.sources import ROOT

DRIVER = Path(__file__).parent / "end_episodes.py"
# Seconds after the limit of an episode.
MAX_LATE_S = 2.0


@pytest.mark.slow
@pytest.mark.parametrize("user", ["root", "user"])
@pytest.mark.parametrize("mode", ["confined", "open", "without:namespaces"])
def test_an_episode_ends_within_two_seconds_of_its_limit_and_leaves_nothing(mode: str, user: str) -> None:
    if mode == "confined" and explain_unconfined():
        pytest.skip("this machine cannot confine an agent")
    command, environment = [sys.executable], {**os.environ}
    if user == "root" and os.geteuid():
        pytest.skip("these tests run as an ordinary user")
    if user == "user" and not os.geteuid():
        if not (found := another_user()):
            pytest.skip("no Python on this machine that an ordinary user could start")
        command, environment = found
    path = os.pathsep.join([str(ROOT), environment.get("PYTHONPATH", "")])
    environment = {**environment, "PYTHONPATH": path, **({FORBID: mode} if ":" in mode else {})}
    ended = subprocess.run(
        [*command, DRIVER, mode], cwd="/", env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert ended.returncode == 0, ended.stderr
    ends = json.loads(ended.stdout)
    assert {agent: end for agent, end in ends.items() if end["late_s"] > MAX_LATE_S or end["left"]} == {}
    early = {agent for agent, end in ends.items() if "exited" in end["ended"]}
    assert early == {"ends before its child"}
