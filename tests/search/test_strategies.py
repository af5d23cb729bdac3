"""Every strategy ends a run against a model that is fast, varied and sometimes wrong."""

import ast
import asyncio

import pytest

from oragent._base.protocol import Status
from oragent.evaluation import Evaluation
from oragent.evaluation.job import Job
from oragent.evaluation.pool import JobPool
from oragent.llm.model import Reply, Request
from oragent.search.candidate import Committed
from oragent.search.engine import Engine
from oragent.search.events import SearchResult
from oragent.search.folder import RunFolder, reopen
from oragent.search.store import Store
from oragent.search.strategies import STRATEGIES
from oragent.search.strategies.scripted import make_player
from tests.search.test_engine import history, jittery, scored


def search(folder: RunFolder, model=None, workers: int = 2, run=scored, observer=lambda progress: None) -> SearchResult:
    pool = JobPool(workers, run)
    with Store(folder.database) as store:
        try:
            strategy = STRATEGIES[folder.config.strategy_name]
            return asyncio.run(Engine(folder, store, pool, strategy, model, observer).run())
        finally:
            pool.close()


def records(folder: RunFolder) -> list[Committed]:
    with Store(folder.database, readonly=True) as store:
        return store.records()


class Says:
    """A model that answers from a list and notes what it was asked."""

    def __init__(self, *answers: str) -> None:
        self.answers, self.asked = list(answers), []

    async def __call__(self, request: Request) -> Reply:
        self.asked.append([message.content for message in request.messages])
        text = self.answers.pop(0) if self.answers else f"def guess(x):\n    return {len(self.asked)}"
        return Reply(text, model="says", tokens_in=1, tokens_out=1, money=None, seconds=0.0)


@pytest.mark.slow
def test_breeding_improves_on_the_seed(begun) -> None:
    outcome = search(begun("budget.evaluations=150", "seed=1"))
    assert outcome.complete
    assert outcome.progress.best.score < outcome.progress.seed.score / 4


def test_breeding_says_which_operator_made_a_program_and_of_whom(begun) -> None:
    folder = begun("budget.evaluations=20")
    search(folder)
    ids = {record.id for record in records(folder)}
    for record in records(folder)[1:]:
        assert record.candidate.origin
        assert set(record.candidate.parents) <= ids
        assert record.candidate.parents


class Killed(Exception):
    """Stands for a kill between two rounds."""


# Breeding runs with the fast tests, as a sample of all strategies.
EACH = [pytest.param(name, marks=[] if name == "gp" else [pytest.mark.slow]) for name in sorted(STRATEGIES)]


@pytest.mark.parametrize("strategy", EACH)
def test_one_seed_gives_one_history_at_any_number_of_workers_and_after_a_kill(begun, strategy: str) -> None:
    settings = ("budget.evaluations=25", f"strategy.name={strategy}", "model.name=scripted", "strategy.patience=60")
    whole, shared, broken = (begun(*settings) for _ in range(3))
    for folder, workers in ((whole, 1), (shared, 8)):
        assert search(folder, make_player(0), workers, jittery).complete
    assert history(shared) == history(whole)

    def kill(progress) -> None:
        if progress.spent.evaluations >= 12:
            raise Killed

    with pytest.raises(Killed):
        search(broken, make_player(0), 2, jittery, kill)
    # The first round of or_agent may take the whole budget; its branches are killed in test_branches.
    assert len(records(broken)) < len(records(whole)) or strategy == "or_agent"
    scored_later = []

    def count(job: Job) -> Evaluation:
        scored_later.append(job)
        return scored(job)

    outcome = search(reopen(broken.path), make_player(0), 2, count)
    assert history(broken) == history(whole)
    assert outcome.progress.spent.evaluations == 25
    assert len(scored_later) <= 25 - 12


def test_a_prompt_shows_programs_worse_to_better_and_what_to_return(begun) -> None:
    model = Says("def guess(x):\n    return 50.5", "def guess(x):\n    return 99")
    search(
        begun(
            "budget.evaluations=4", "strategy.name=funsearch", "model.name=m", "strategy.window=1", "archive.islands=1"
        ),
        model,
    )
    system, prompt = model.asked[2]
    assert "Write guess(x), called with 3, such that it returns 100." in system
    assert "A lower score is better" in prompt
    assert "def guess(x):" in prompt
    shown = [
        float(line.split("score ")[1].split()[0].rstrip(","))
        for line in prompt.splitlines()
        if line.startswith("Version")
    ]
    assert len(shown) == 2
    assert shown == sorted(shown, reverse=True)


def test_a_reply_without_a_program_is_told_so_once(begun) -> None:
    model = Says("I would rather not.", "```python\ndef guess(x):\n    return 98\n```")
    folder = begun("budget.evaluations=2", "strategy.name=funsearch", "model.name=m", "strategy.window=1")
    assert search(folder, model).progress.best.score == 2
    complaint = model.asked[1][-1]
    assert "cannot be used" in complaint
    assert "def guess(x):" in complaint
    assert model.asked[1][2] == "I would rather not."
    assert [record.candidate.origin for record in records(folder)] == ["seed", "repair"]


def test_a_second_useless_reply_is_rejected_and_the_run_goes_on(begun) -> None:
    model = Says("no", "no again")
    folder = begun("budget.evaluations=3", "strategy.name=funsearch", "model.name=m", "strategy.window=1")
    assert search(folder, model).complete
    rejected = records(folder)[1]
    assert rejected.candidate.evaluation.status is Status.REJECTED
    assert rejected.candidate.source == "no again"
    assert rejected.candidate.evaluation.score is None


def test_a_model_that_never_says_anything_of_use_ends_the_run_with_the_reason(begun) -> None:
    outcome = search(begun("strategy.name=funsearch", "model.name=m", "strategy.patience=4"), Says(*["no"] * 100))
    assert not outcome.complete
    assert outcome.reason.startswith("no new program to score in 4 rounds; the latest was rejected: ")


def test_an_edit_is_applied_to_the_better_parent(begun) -> None:
    edit = "<<<<<<< SEARCH\n    return x * 2.0\n=======\n    return x * 30.0\n>>>>>>> REPLACE"
    folder = begun("budget.evaluations=2", "strategy.name=funsearch", "model.name=m", "strategy.window=1")
    search(folder, Says(edit))
    made = records(folder)[1].candidate.source
    assert ast.dump(ast.parse(made)) == ast.dump(ast.parse("def guess(x):\n    return x * 30.0"))
