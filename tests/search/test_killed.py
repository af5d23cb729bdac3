"""SIGKILL in the middle of a tuning, a race, a portfolio, a check: the run goes on, and nothing is asked or scored twice."""

import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from oragent._base.protocol import Status
from oragent.search.folder import RunFolder
from oragent.search.store import Store
from tests.search.killing import Log, play
from tests.search.test_engine import history

ROOT = Path(__file__).parents[2]
AT_ONCE = 4  # rounds in flight: each may have a question that is asked and not yet written down
RUNS = {
    "tuning": ("strategy.name=gp", "budget.evaluations=40", "strategy.tuning=0.3"),
    "race": ("strategy.name=gp", "budget.evaluations=25", "race=0.5", "twins=1"),
    "portfolio": ("strategy.name=portfolio", "model.name=m", "strategy.live=false", "budget.evaluations=24"),
    "check": ("strategy.name=gp", "budget.evaluations=60", "strategy.window=2"),
}


def fatal(what: str, folder: RunFolder) -> int:
    """The number of an evaluation in the middle of it, by the run that was left alone."""
    with Store(folder.database, readonly=True) as store:
        tried = [record.candidate for record in store.records()]
    wanted = {
        "tuning": [number for number, one in enumerate(tried, 1) if one.origin == "tune"],
        "race": [number for number, one in enumerate(tried, 1) if one.evaluation.status is Status.SCREENED],
        "portfolio": list(range(1, len(tried))),
        "check": [2, 3, 4],  # of the checks
    }[what]
    return wanted[len(wanted) // 2]


@pytest.mark.parametrize(
    "what", [*(pytest.param(name, marks=pytest.mark.slow) for name in ("tuning", "race", "portfolio")), "check"]
)
def test_nothing_is_asked_or_scored_twice(begun, tmp_path: Path, what: str) -> None:
    whole, broken = begun(*RUNS[what]), begun(*RUNS[what])
    unbroken, log = Log(tmp_path / "unbroken"), tmp_path / "log"
    play(whole, unbroken)
    number = fatal(what, whole)
    argv = [sys.executable, "-m", "tests.search.killing", str(broken.path), str(log), str(number)]
    argv += ["--check"] if what == "check" else []
    ended = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    before = Log(log).read()
    play(broken, Log(log))
    assert history(broken) == history(whole)
    began = Counter(map(tuple, Log(log).read()))
    assert set(began) == set(map(tuple, unbroken.read()))
    twice = [words for words, times in began.items() if times > 1]
    # What was under way is done again: that evaluation, and questions that had no reply yet, a few at once at most.
    assert twice.count(tuple(before[-1])) <= 1
    assert sum(words[0] == "evaluation" for words in twice) <= 1
    asked = [tuple(words) for words in before if words[0] == "question"]
    assert {words for words in twice if words[0] == "question"} <= set(asked[-AT_ONCE:])
