"""No word passes from the guest that solves an instance to the guest that checks it.

``draws_a_rule.py`` draws a random rule and tries every channel we know. Where a channel were open, the checking guest
would follow the same rule, and the evaluation would end with a score.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from oragent.harness.audits import is_same_answer

from oragent.harness import Guest
from oragent._base.protocol import Status, parse
from oragent.harness.frames import encode
from oragent.sandbox.isolation import Guarantee, list_not_held, probe_means

HERE = Path(__file__).parent
PROJECT = HERE.parents[1]
CANDIDATE = HERE / "draws_a_rule.py"
RUNS = int(os.environ.get("ORAGENT_TEST_CHANNEL_RUNS", "100"))
EVALUATORS = {
    "bpp_online": PROJECT / "problems" / "bpp_online" / "eval.py",
    "tsp_constructive": PROJECT / "problems" / "tsp_constructive" / "eval.py",
    "choices": PROJECT / "tests" / "faults" / "eval.py",
}
pytestmark = pytest.mark.skipif(
    Guarantee.UNFORGED in list_not_held(offer.means for offer in probe_means() if offer.works),
    reason="this machine has no means to close the channels between processes",
)


def choose(function, sizes):
    """A trusted loop, by whose name the candidate knows that it solves an instance."""
    return [function(size) for size in sizes]


def asked(guest: Guest) -> object:
    """What a guest in which no loop ever ran hears."""
    witness = guest.make_stranger()
    try:
        return guest.ask_other(witness, encode({"loop": None, "name": "heard", "args": (), "kwargs": {}}))
    finally:
        witness.close()


def test_a_guest_hears_nothing_of_the_one_before() -> None:
    with Guest(CANDIDATE, "noise", functions=("heard",), spare=True) as guest:
        guest.run(choose, [3])
        guest.end()
        assert asked(guest) == {}


def test_no_rule_of_ten_is_passed_on() -> None:
    passed = 0
    for _ in range(10):
        with Guest(CANDIDATE, "noise", spare=True) as guest:
            rule = guest.run(choose, [8])[0]
            guest.end()
            witness = guest.make_stranger()
            request = encode({"loop": None, "name": "noise", "args": (8,), "kwargs": {}})
            passed += is_same_answer(guest.ask_other(witness, request), rule)
            witness.close()
    assert passed == 0


def accepted(name: str, root: Path, *options: str) -> bool:
    """Whether an evaluation ends with a score."""
    command = [sys.executable, EVALUATORS[name], f"--root_dir={root}", f"--candidate={CANDIDATE}", *options]
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": str(PROJECT)}, capture_output=True, text=True, check=False
    )
    outcome = parse(done.stdout)
    status = getattr(outcome, "status", Status.OK)
    assert status in (Status.OK, Status.REJECTED), done.stdout[-500:] + done.stderr[-500:]
    return status is Status.OK


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("--audit=300",)], ids=["checked", "audited"])
@pytest.mark.parametrize("name", EVALUATORS)
def test_no_random_rule_is_ever_accepted(name: str, options: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "val.txt").write_text("held-out data")
    root = tmp_path if name == "choices" else PROJECT
    assert [accepted(name, root, *options) for _ in range(RUNS)] == [False] * RUNS
