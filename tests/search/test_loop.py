"""What the loop does with its budget, its finds and the times of its programs."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from oragent._base.protocol import Status
from oragent.evaluation import Evaluation
from oragent.search.engine import Engine
from oragent.search.store import Store
from oragent.search.strategies.reevo import STRATEGY, initial_size
from tests.search.players import QUIET, Players, guess, notes, search


def ideas(prompt: str) -> str:
    count = int(prompt.partition("exactly ")[2].split()[0])
    return json.dumps([{"title": f"idea {number}", "idea": f"Return {number}."} for number in range(count)])


@pytest.mark.parametrize(
    ("settings", "asked"),
    [
        (("budget.evaluations=200",), 20),
        (("budget.evaluations=25",), 4),
        (("budget.evaluations=null", "budget.model_calls=38"), 3),
        (("budget.evaluations=25", "or_agent.idea_count=settings"), 20),
        (("budget.evaluations=2",), 1),
    ],
)
def test_no_more_ideas_are_asked_for_than_the_budget_can_code(begun, settings: tuple[str, ...], asked: int) -> None:
    numbers = iter(range(1000))
    model = Players(idea=ideas, code=lambda prompt: guess(next(numbers) / 7))
    folder = begun("model.name=m", "strategy.window=1", "strategy.patience=1", *settings)
    search(folder, model, built=lambda engine: stopping(engine, 1))
    (tree,) = notes(folder, "tree")[:1]
    assert f"exactly {asked} " in model.prompts("idea")[0]
    if "or_agent.idea_count=settings" not in settings:
        assert not [node for node in tree["nodes"] if node["state"] == "untried"]


def stopping(engine: Engine, rounds: int) -> None:
    engine._observer = lambda progress: engine._horizon >= rounds and engine.stop("for a test")


def test_the_best_is_laid_out_when_it_is_scored_and_not_when_its_round_ends(begun) -> None:
    seen: list[tuple[str, int]] = []
    folder = begun("model.name=m", *QUIET, "budget.evaluations=6", "strategy.patience=2")

    def experiment(prompt: str) -> str:
        seen.append(((folder.path / "best.py").read_text(), len(model.prompts("experiment"))))
        return f"ACTION: EDIT\n{guess(60 + len(seen))}"

    model = Players(code=guess(50), experiment=experiment)
    search(folder, model)
    assert "return 50" in seen[0][0]
    assert "return 61" in seen[1][0]  # its round goes on
    assert "by candidate round 2 of" in seen[1][0]
    with Store(folder.database, readonly=True) as store:
        best = min((one for one in store.records() if one.score is not None), key=lambda one: one.score)
    assert f"by candidate {best.id} of" in (folder.path / "best.py").read_text()


def test_a_replay_takes_first_times_over(begun, tmp_path: Path) -> None:
    first, again = begun("strategy.name=gp"), begun("strategy.name=gp")

    def found(seconds: float, status: Status = Status.OK) -> Evaluation:
        score = 1.0 if status is Status.OK else None
        message = "" if score else f"your function took {seconds} s"
        return Evaluation(status, score, metrics={"a": 1, "heuristic_seconds": seconds}, message=message)

    with Store(first.database) as store:
        store.keep_evaluation("f", found(2.5), 0.0)
        store.keep_evaluation("slow", found(9.0, Status.TIMEOUT), 0.0)
    with Store(again.database) as store:
        store.take_times(first.database)
        assert store.with_first_times("f", found(7.0)) == found(2.5)
        assert store.with_first_times("slow", found(9.5, Status.TIMEOUT)).message == "your function took 9.0 s"
        # A program near its limit ends as it did in the replayed run, in both directions.
        assert store.with_first_times("f", found(7.0, Status.TIMEOUT)) == replace(found(2.5), message="")
        ended = store.with_first_times("slow", found(7.0))
        assert (ended.status, ended.score) == (Status.TIMEOUT, None)
        assert store.with_first_times("f", found(7.0, Status.ERROR)) == found(7.0, Status.ERROR)
        assert store.with_first_times("new", found(7.0)) == found(7.0)


@pytest.mark.parametrize(
    ("settings", "size"),
    [
        ((), 30),
        (("budget.evaluations=46",), 9),
        (("budget.evaluations=8",), 4),
        (("budget.evaluations=46", "strategy.options.initial=30"), 30),
    ],
)
def test_reevos_first_population_goes_by_the_budget(begun, settings: tuple[str, ...], size: int) -> None:
    config = begun("strategy.name=reevo", "model.name=m", *settings).config
    seen = SimpleNamespace(own=STRATEGY.own(config), settings=config, turns=None)
    assert initial_size(seen) == size
