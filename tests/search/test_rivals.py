"""The published strategies: each ends a run, gives one history for one seed, and asks as its paper does."""

import asyncio
import random
from collections import Counter
from itertools import groupby, pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from oragent.evaluation.pool import JobPool
from oragent.llm.factory import Ensemble
from oragent.llm.model import Reply, Request
from oragent.search.candidate import Committed
from oragent.search.config import read_config
from oragent.search.engine import Engine
from oragent.search.events import SearchResult
from oragent.search.folder import RunFolder, reopen
from oragent.search.store import Store
from oragent.search.strategies import STRATEGIES, reevo, resolve_strategy
from tests.search.test_engine import history, jittery, scored
from tests.search.writer import Writer

ROOT = Path(__file__).parents[2]
RIVALS = ("random", "funsearch", "eoh", "reevo", "mcts_ahd", "ael", "tide", "levi")


def search(folder: RunFolder, model=None, *, workers=2, run=scored, observer=lambda progress: None) -> SearchResult:
    pool = JobPool(workers, run)
    with Store(folder.database) as store:
        try:
            strategy = STRATEGIES[folder.config.strategy_name]
            return asyncio.run(Engine(folder, store, pool, strategy, model or Writer(), observer).run())
        finally:
            pool.close()


def records(folder: RunFolder) -> list[Committed]:
    with Store(folder.database, readonly=True) as store:
        return store.records()


def settings(strategy: str, *others: str, evaluations: int = 60) -> tuple[str, ...]:
    small = ("archive.population=6", "strategy.patience=60")
    return (f"strategy.name={strategy}", "model.name=writer", f"budget.evaluations={evaluations}", *small, *others)


@pytest.mark.slow
@pytest.mark.parametrize("strategy", RIVALS)
def test_a_search_improves_on_the_seed(begun, strategy: str) -> None:
    outcome = search(begun(*settings(strategy)))
    assert outcome.complete, outcome.reason
    assert outcome.progress.spent.evaluations == 60
    assert outcome.progress.best.score < outcome.progress.seed.score / 4


def test_no_prompt_of_random_shows_a_program(begun) -> None:
    model = Writer()
    folder = begun(*settings("random"), "model.style=strong")
    search(folder, model)
    assert not any("x * 2.0" in prompt or ", score" in prompt for prompt in model.prompts("i1"))
    assert len(set(model.prompts("i1"))) == 1
    assert all(record.candidate.parents == () for record in records(folder))


def made_by(records: list[Committed]) -> dict[int, str]:
    """The operator of each round that has one program; repairs aside."""
    rounds: dict[int, list[str]] = {}
    for record in records:
        rounds.setdefault(int(record.id.split(".")[0]), []).append(record.candidate.origin)
    return {number: origins[0] for number, origins in rounds.items() if "repair" not in origins}


def test_eoh_begins_with_i1_and_then_lets_its_operators_take_turns(begun) -> None:
    folder = begun(*settings("eoh"))
    search(folder)
    made = made_by(records(folder))
    turns = ("e1", "e2", "m1", "m2", "m3")
    for number, origin in made.items():  # two times as many as survive, of which there are six
        assert origin == ("seed" if number == 0 else "i1" if number <= 12 else turns[(number - 13) % 5])


def test_eoh_draws_five_different_parents_or_one_among_the_best_so_far(begun) -> None:
    folder = begun(*settings("eoh", "strategy.window=1"))
    search(folder)
    known = records(folder)
    for place, record in enumerate(known):
        if record.candidate.origin in ("e1", "e2", "m1", "m2", "m3"):
            before = {other.id: other.candidate.evaluation.score for other in known[:place] if other.placed}
            best = sorted(set(before.values()))[:6]
            drawn = [before[parent] for parent in record.candidate.parents]
            assert len(drawn) == (min(5, len(best)) if record.candidate.origin[0] == "e" else 1)
            assert set(drawn) <= set(best)
            assert all(worse > better for worse, better in pairwise(drawn))  # low scores are good


def test_eoh_shows_the_thought_behind_each_program(begun) -> None:
    model = Writer()
    search(begun(*settings("eoh")), model)
    prompts = model.prompts("e2")
    assert any("Idea: Take 1" in prompt for prompt in prompts)
    for prompt in prompts:
        for program in prompt.split("\nProgram ")[1:]:
            number = program.split("return ")[1].split(" ")[0]
            assert "Idea: " not in program or f"Idea: Take {number}" in program


@pytest.mark.slow
def test_reevo_makes_its_first_programs_then_crossovers_then_mutations_of_the_best(begun) -> None:
    folder = begun(*settings("reevo", evaluations=90), "strategy.options.initial=30")
    search(folder)
    made = made_by(records(folder))
    for number, origin in made.items():
        position = (number - 31) % 11
        after = "crossover" if position < 10 else "mutation"
        assert origin == ("seed" if number == 0 else "initial" if number <= 30 else after)
    mutated = Counter(record.id.split(".")[0] for record in records(folder) if record.candidate.origin == "mutation")
    assert max(mutated.values()) <= reevo.MUTATIONS


@pytest.mark.slow
def test_reevo_crosses_programs_of_different_scores_by_the_hint_about_them(begun) -> None:
    model = Writer()
    folder = begun(*settings("reevo", evaluations=90))
    search(folder, model)
    score = {record.id: record.candidate.evaluation.score for record in records(folder)}
    crossed = [record for record in records(folder) if record.candidate.origin == "crossover"]
    assert crossed
    assert all(score[record.candidate.parents[0]] > score[record.candidate.parents[1]] for record in crossed)
    with Store(folder.database, readonly=True) as store:
        notes = store.notes()
    hints = [note for note in notes if note.kind == reevo.HINT]
    for prompt in model.prompts("crossover"):
        assert any(f"two programs:\n{hint.text}\n" in prompt for hint in hints)


def test_reevo_joins_the_hints_of_a_generation_with_what_was_known_before(begun) -> None:
    model = Writer()
    folder = begun(*settings("reevo", "strategy.window=1", evaluations=90))
    search(folder, model)
    with Store(folder.database, readonly=True) as store:
        notes = store.notes()
    advice = [note for note in notes if note.kind == reevo.ADVICE]
    joining = [prompt for prompt in model.prompts("reflect") if "What was known before" in prompt]
    assert len(advice) == len(joining) >= 2
    for earlier, later, prompt in zip(advice, advice[1:], joining[1:], strict=False):
        assert f"before:\n{earlier.text}" in prompt
        hints = [note.text for note in notes if note.kind == reevo.HINT and earlier.round < note.round < later.round]
        assert hints
        assert all(f"- {hint}" in prompt for hint in hints)
        assert prompt.count("\n- ") == len(hints)


def test_the_reflector_and_the_generator_of_reevo_are_told_apart(begun) -> None:
    model = Writer()
    search(begun(*settings("reevo", evaluations=45)), model)
    for role, word in (
        ("initial", "You write programs"),
        ("crossover", "You write programs"),
        ("reflect", "You tell others"),
    ):
        assert all(prompt.startswith("--- system\n") and word in prompt for prompt in model.prompts(role))


class Useless:
    """A model that never says anything of use."""

    async def __call__(self, request: Request) -> Reply:
        return Reply("I had rather not.", model="useless", tokens_in=10, tokens_out=10, money=None, seconds=0.0)


@pytest.mark.slow
def test_of_two_models_the_one_whose_programs_gain_is_asked_most_and_resuming_changes_nothing(begun) -> None:
    runs = []
    for stop, workers in ((1000, 1), (1000, 8), (20, 2)):
        folder = begun(*settings("eoh", "ensemble=[{name: useless}]", evaluations=50))

        def kill(progress, stop=stop) -> None:
            if progress.spent.evaluations >= stop:
                raise KeyboardInterrupt

        try:
            search(folder, Ensemble([Writer(), Useless()]), workers=workers, run=jittery, observer=kill)
        except KeyboardInterrupt:
            search(reopen(folder.path), Ensemble([Writer(), Useless()]))
        with Store(folder.database, readonly=True) as store:
            asked = Counter(reply.model for reply in store.replies.all_replies())
        assert asked["writer"] > asked["useless"] > 1
        runs.append(history(folder))
    assert runs[0] == runs[1]


@pytest.mark.slow
@pytest.mark.parametrize("strategy", RIVALS)
def test_no_prompt_is_longer_than_the_context_has_room_for(begun, toy, strategy: str) -> None:
    (toy / "knowledge.md").write_text("Numbers below 200 are enough. " * 60)
    model = Writer()
    assert search(begun(*settings(strategy, "model.context_tokens=700")), model).complete
    lengths = [sum(len(message.content) for message in prompt.messages) for prompt in model.asked]
    assert max(lengths) <= 3 * 525  # three letters a token, and a quarter of the context is the reply's
    assert any("(Left out, as your context has no room for it" in prompt.messages[-1].content for prompt in model.asked)


class Repeating(Writer):
    """Writes the same program again and again, and now and then another one."""

    def _answer(self, text: str, rng: random.Random) -> str:
        number = 7 if rng.random() < 0.8 else rng.randrange(500)
        return f"{{Take {number}}}\n```python\ndef guess(x):\n    return {number}\n```"


def test_eoh_asks_again_for_a_program_that_was_tried_twice_at_most(begun) -> None:
    model, folder = Repeating(), begun(*settings("eoh", "strategy.window=1", evaluations=20))
    search(folder, model)
    asked = Counter(int(one.key.split(".")[0]) for one in model.asked)
    known: set[str] = set()
    for number, round_ in groupby(records(folder), key=lambda record: record.round):
        prints = [record.candidate.fingerprint for record in round_]
        again = [print_ in known or print_ in prints[:place] for place, print_ in enumerate(prints)]
        if number:
            assert asked[number] == len(prints) <= 3
            assert all(again[:-1])
            assert not again[-1] or len(prints) == 3
        known |= set(prints)
    assert max(asked.values()) == 3


def test_eoh_draws_its_population_and_parents_as_the_settings_have_it(begun) -> None:
    options = ("population=3", "first=4", "parents=2", "operators=[e1, m2]")
    folder = begun(*settings("eoh", "strategy.window=1", *(f"strategy.options.{one}" for one in options)))
    search(folder)
    made = made_by(records(folder))
    assert {number: origin for number, origin in made.items() if 0 < number < 5} == {
        number: "i1" for number in made if 0 < number < 5
    }
    assert {origin for number, origin in made.items() if number > 4} == {"e1", "m2"}
    drawn = [len(record.candidate.parents) for record in records(folder) if record.candidate.origin == "e1"]
    assert set(drawn) == {2}


def test_reevo_has_generations_of_other_sizes_if_it_is_told_so(begun) -> None:
    options = ("initial=5", "crossovers=4", "mutations=2")
    folder = begun(*settings("reevo", *(f"strategy.options.{one}" for one in options), evaluations=40))
    search(folder)
    for number, origin in made_by(records(folder)).items():
        after = "crossover" if (number - 6) % 5 < 4 else "mutation"
        assert origin == ("seed" if number == 0 else "initial" if number <= 5 else after)


@pytest.mark.parametrize("name", sorted(path.stem for path in (ROOT / "configs" / "paper").glob("*.yaml")))
def test_the_settings_of_each_paper_tell_models_no_more_than_it_does(name: str) -> None:
    config = resolve_strategy(read_config(ROOT / "configs" / "paper" / f"{name}.yaml", ["model.name=m"]))
    assert config.strategy.name == name
    assert (config.strategy.show, config.strategy.blocks) == ("paper", "none")
    assert not any((config.strategy.features, config.strategy.standing, config.strategy.history))


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["funsearch", "mcts_ahd"])
def test_until_both_are_used_up_no_round_is_cut_and_a_killed_run_ends_alike(begun, strategy: str) -> None:
    bounds = ("budget.model_calls=30", "budget.until=both", "strategy.window=2")
    whole, broken = (begun(*settings(strategy, *bounds, evaluations=25)) for _ in range(2))
    outcome = search(whole, workers=4)
    assert outcome.complete
    assert outcome.reason == "the budget of 25 evaluations and 30 model calls is used up"
    spent = outcome.progress.spent
    assert spent.evaluations >= 25
    assert spent.model_calls >= 30

    class Killed(Exception):
        pass

    def kill(progress) -> None:
        if progress.spent.evaluations >= 10:
            raise Killed

    with pytest.raises(Killed):
        search(broken, observer=kill)
    search(reopen(broken.path))
    assert history(broken) == history(whole)


TABLED = ("funsearch", "eoh", "reevo", "ael", "mcts_ahd", "tide", "levi")


@pytest.mark.parametrize("name", TABLED)
def test_the_mechanisms_of_every_rival_are_in_the_documentation_and_its_options_with_them(name: str) -> None:
    text = (ROOT / "docs" / "strategies.md").read_text()
    section = (ROOT / "docs" / "strategies" / f"{name}.md").read_text()
    assert len(section.split()) >= 80  # how it works, and each difference from its source
    settings = STRATEGIES[name].settings
    assert all(
        f"`{option}`" in section or f"{option}=" in section for option in getattr(settings, "__dataclass_fields__", {})
    )
    assert f"paper/{name}`" in text
    assert (ROOT / "configs" / "paper" / f"{name}.yaml").is_file()


def test_no_strategy_that_asks_a_model_is_left_out_of_the_list() -> None:
    text = (ROOT / "docs" / "strategies.md").read_text()
    assert all(f"| [`{name}`](strategies/{name}.md) |" in text for name in STRATEGIES)
    assert {*TABLED, "gp", "random", "hill_climb", "one_shot", "or_agent", "portfolio"} == set(STRATEGIES)


@pytest.mark.parametrize("anew", [False, True])
def test_the_generator_of_reevo_is_asked_at_its_temperature(anew: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    async def ask(run: Any, operator: str, messages: Any, parents: Any, temperature: float | None = None) -> None:
        asked.append((operator, messages, parents, temperature))

    def write(run: Any, task: str, parents: Any, form: str, *, anew: bool) -> str:
        return f"{task} {form} {anew}"

    monkeypatch.setattr(reevo, "ask_for_program", ask)
    monkeypatch.setattr(reevo, "write_prompt", write)
    monkeypatch.setattr(reevo, "task_messages", lambda run, text: text)
    run: Any = SimpleNamespace(fill_template=lambda name: f"<{name}>")
    asyncio.run(reevo.generate_program(run, "mutate", "task", (), 1.3, anew=anew))
    assert asked == [("mutate", f"<reevo_generator>\n\ntask answer_code {anew}", (), 1.3)]
