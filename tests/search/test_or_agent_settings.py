"""What each setting of a research round does, with the study's value and with ours."""

import itertools
import json
import re
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from oragent._base.protocol import Status
from oragent.evaluation import Evaluation, Job
from oragent.report import run_configuration
from oragent.report.run import load_run, replay_run
from oragent.search.archive import Archive
from oragent.search.candidate import NOWHERE, Elite
from oragent.search.folder import RunFolder, reopen
from oragent.search.selection import draw_by_softmax
from oragent.search.store import Store
from oragent.search.strategies.or_agent.prompt_sections import tree_section as told
from oragent.search.strategies.or_agent.round import choose_start
from oragent.search.strategies.or_agent.settings import AgentSettings
from tests.search.players import QUIET, Players, edit, guess, notes, origins, search
from tests.search.test_engine import scored
from tests.search.test_or_agent_parts import elite, grown

TWO = '[{"title": "a", "idea": "first"}, {"title": "b", "idea": "second"}]'
ALONE = (*QUIET, "model.name=m", "or_agent.depth=1")


def made(score: float, name: str = "e") -> Elite:
    return Elite(id=name, source=f"def f(): return {score}", score=score, features=None, metrics={})


@dataclass
class Round:
    """As much of a run as decides where a round starts."""

    turn: int = 1
    window: int = 1
    archive: Archive = field(default_factory=lambda: Archive("minimize", 2))
    island: int = 0
    own: AgentSettings = field(default_factory=AgentSettings)
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))


def elitist_rounds(window: int, **settings: Any) -> list[int]:
    run = Round(window=window, own=AgentSettings(**settings))
    run.archive.add(made(1.0), 0)
    return [turn for turn in range(1, 40) if choose_start(SimpleNamespace(**{**vars(run), "turn": turn})).elitist]


def test_elitist_rounds_are_the_1st_12th_and_23rd_after_the_opening() -> None:
    assert elitist_rounds(1) == [1, 2, 13, 24, 35]
    assert elitist_rounds(2) == [1, 3, 14, 25, 36]  # round 2 begins beside the opening and sees nothing of it
    assert elitist_rounds(1, opening_counts=True) == [1, 11, 22, 33]


def test_ideas_at_the_root_may_be_a_fraction_more_and_in_crossover_just_one() -> None:
    run = Round(own=AgentSettings(elitist_enlargement=2.5, crossover_ideas=1, fast_crossover=True, depth=3))
    run.archive.add(made(1.0), 0)
    starts = [choose_start(SimpleNamespace(**{**vars(run), "turn": turn})) for turn in (1, 2, 3)]
    assert [(start.ideas, start.depth) for start in starts] == [(20, 1), (5, 3), (1, 1)]


def test_parents_come_from_one_island_where_that_is_wanted_and_never_from_an_empty_one() -> None:
    archive, rng = Archive("minimize", 4), np.random.default_rng(0)
    for island, number in itertools.product((1, 3), range(5)):
        one = Elite(id=f"{island}.{number}", source="", score=float(number), features=(number,), metrics={})
        archive.add(one, island)
    for _ in range(40):
        pair, island = draw_by_softmax(archive, 2, rng, lambda island: 1.0, together=True)
        assert {one.id.partition(".")[0] for one in pair} == {str(island)}
        assert len({one.id for one in pair}) == 2
    mixed = [draw_by_softmax(archive, 2, rng, lambda island: 1.0)[0] for _ in range(40)]
    assert any(one.id[0] != other.id[0] for one, other in mixed)


def test_the_temperature_falls_by_rounds_or_by_the_programs_of_an_island(monkeypatch) -> None:
    seen: list[float] = []

    def draw(archive: Archive, count: int, rng: Any, temperature: Any, **more: Any) -> Any:
        seen.append(temperature(0))
        return draw_by_softmax(archive, count, rng, temperature, **more)

    monkeypatch.setattr("oragent.search.strategies.or_agent.round.draw_by_softmax", draw)
    run = Round(turn=7)
    for number in range(4):
        run.archive.add(made(number, f"e{number}"), 0)
    choose_start(run)
    run.own = AgentSettings(temperature_by="island")
    choose_start(run)
    assert seen == pytest.approx([2 * 0.5 * (1 - 0.7), 1 - 0.4])


@pytest.mark.slow
@pytest.mark.parametrize(("setting", "states"), [("all", ["closed", "grown"]), ("better", ["worse", "grown"])])
def test_children_of_the_root_are_kept_all_or_the_better_ones(begun, setting: str, states: list[str]) -> None:
    values = itertools.chain([10, 60, 90, 95], itertools.repeat(5))
    model = Players(idea=TWO, code=lambda prompt: guess(next(values)), experiment="ACTION: STOP")
    folder = begun(
        "model.name=m", "strategy.window=1", "or_agent.initial_ideas=1", "or_agent.idea_count=settings",
        "or_agent.elitist_enlargement=1", f"or_agent.root_children={setting}", "budget.model_calls=30",
    )  # fmt: skip
    values = itertools.chain(
        [50, 40, 60, 20, 70], itertools.repeat(5)
    )  # the opening, the root's two, then further ones
    search(folder, model)
    (_, tree, *_) = notes(folder, "tree")
    assert [node["state"] for node in tree["nodes"][1:3]] == states
    assert [node["better"] for node in tree["nodes"][1:3]] == [False, True]
    opened = {node["parent"] for node in tree["nodes"][1:]}
    assert (1 in opened) == (setting == "all")
    shown = next(one for one in load_run(folder.path).research.trees if one.round == 2)
    assert [branch.verdict for branch in shown.branches if branch.depth == 1] == ["not better", "better"]


def test_a_root_whose_ideas_all_fail_has_others_as_often_as_wanted(begun) -> None:
    bad = iter(range(2, 99))
    model = Players(code=lambda prompt: guess(f"{next(bad)} / 0"))
    settings = ("or_agent.root_retries=2", "or_agent.debugging=0", "or_agent.initial_ideas=1", "strategy.patience=2")
    folder = begun(*ALONE, *settings, "budget.evaluations=4")
    search(folder, model)
    assert [node["state"] for node in notes(folder, "tree")[0]["nodes"][1:]] == ["failed"] * 3


def test_a_child_of_the_root_has_more_repairs_after_its_experiments(begun) -> None:
    bad = iter(range(2, 99))
    model = Players(code=[guess(50), guess("1 / 0")], debug=lambda prompt: guess(f"{next(bad)} / 0"))
    settings = ("or_agent.root_debugging=2", "or_agent.debugging=1", "or_agent.from_failure=always")
    folder = begun(*ALONE, *settings, "budget.evaluations=6")
    search(folder, model)
    assert origins(folder)[:6] == ["seed", "code", "code", "debug", "debug", "debug"]  # none in the opening


def failing(job: Job) -> Evaluation:
    """The toy, in which a program that says so takes too long."""
    if "slow" in job.source:
        return Evaluation(Status.TIMEOUT, message="no result within 20 CPU seconds", wall_s=1.0)
    return scored(job)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("setting", "program", "begins"),
    [
        ("never", "slow = 1", False),
        ("timeout", "slow = 1", True),
        ("timeout", "x / 0", False),
        ("always", "x / 0", True),
    ],
)
def test_experiments_may_start_from_a_failure(begun, setting: str, program: str, begins: bool) -> None:
    bad = f"```python\ndef guess(x):\n    {program}\n    return 50\n```"
    model = Players(
        code=[guess(50), bad],
        debug=bad,
        experiment=[edit(f"    {program}\n    return 50", "    return 70"), "ACTION: STOP"],
    )
    folder = begun(*ALONE, f"or_agent.from_failure={setting}", "or_agent.debugging=0", "budget.evaluations=6",
                   "or_agent.reflection_calls=own")  # fmt: skip
    search(folder, model, run=failing)
    node = notes(folder, "tree")[1]["nodes"][1]
    if not begins:
        assert (node["state"], model.prompts("experiment")) == ("failed", [])
        return
    assert "The program, which fails:" in model.prompts("experiment")[0]
    assert "What went wrong:" in model.prompts("experiment")[0]
    assert ("Limits of an evaluation: " in model.prompts("experiment")[0]) == (setting == "timeout")
    assert "TUNE" not in model.prompts("experiment")[0]
    assert (node["score"], node["failure"], node["steps"][0]["better"]) == (30, "", True)
    (lesson, report) = [text for text in model.prompts("reflect") if "experiment" in text][:2]
    assert re.search(r"Before the change (timeout: no result|error: division)", lesson)
    assert "The score was none, as it failed at the beginning; at the end it is 30." in report


def test_what_experiments_taught_is_kept_with_a_program_and_shown_when_it_is_a_parent(begun) -> None:
    reports = iter(f"Report {number}." for number in range(99))
    model = Players(
        code=[guess(50), guess(60), guess(70), guess(80)],
        experiment=[edit("    return 60", "    return 65"), "ACTION: STOP"],
        reflect=lambda prompt: next(reports) if "A series" in prompt else "More is better.",
    )
    folder = begun(*ALONE, "budget.evaluations=6", "or_agent.opening_counts=true", "archive.islands=1",
                   "or_agent.parents=1", "or_agent.selection_temperature=0.001", "or_agent.reflection_calls=own",
                   "or_agent.memory_in_crossover=false")  # fmt: skip
    search(folder, model)
    for role in ("idea", "code"):
        shown = next(text for text in model.prompts(role) if "return 65" in text)
        assert "Idea: closer. Go nearer to the target." in shown
        assert "What its experiments taught: Report 0." in shown
    assert "return 60" not in model.prompts("idea")[2]


def test_the_memory_of_the_study_is_rewritten_when_elitist_rounds_begin_and_end(begun) -> None:
    values = iter(np.linspace(50, 99, 400))
    model = Players(code=lambda prompt: guess(next(values)), lead=[f"Memory {n}." for n in range(99)])
    folder = begun(
        *ALONE, "or_agent.elitist_period=3", "or_agent.reflection=elitist", "or_agent.reflection_period=1",
        "or_agent.memory_words=null", "or_agent.memory_in_crossover=false", "budget.evaluations=10",
    )  # fmt: skip
    search(folder, model)
    elitist = [number for number, tree in enumerate(notes(folder, "tree"), 1) if tree["elitist"]]
    assert elitist == [1, 2, 5, 8]
    memories = [(note["horizon"], note["beyond"]) for note in notes(folder, "memory")]
    # Nothing of the opening; the end of round 2; before and after round 5; before and after round 8.
    assert memories == [(1, [2]), (4, []), (4, [5]), (7, []), (7, [8])]
    reports = [prompt.count("- closer: from score") for prompt in model.prompts("lead")]
    assert reports == [1, 2, 1, 2, 1]
    assert all("as long as it takes" in prompt for prompt in model.prompts("lead"))
    told = ["Memory" in prompt for prompt in model.prompts("idea")]
    assert told == [False, False, False, False, True, False, False, True, False]


@pytest.mark.slow
@pytest.mark.parametrize("window", [2, 3])
def test_no_report_is_lost_or_taken_in_twice_by_rounds_in_flight_that_rewrite_when_they_end(begun, window: int) -> None:
    values, names = iter(np.linspace(50, 99, 400)), itertools.count()
    model = Players(code=lambda prompt: guess(next(values)), idea=lambda prompt: f'["idea number {next(names)}"]')
    folder = begun(
        *ALONE, f"strategy.window={window}", "or_agent.elitist_period=3", "or_agent.reflection=elitist",
        "or_agent.experiments=0", "budget.evaluations=24",
    )  # fmt: skip
    search(folder, model)
    lines = [line for prompt in model.prompts("lead") for line in prompt.split("\n") if line.startswith("- idea")]
    assert len(lines) == len(set(lines)) >= 12


def test_independent_ideas_are_asked_for_one_by_one(begun) -> None:
    names = itertools.count()
    model = Players(idea=lambda prompt: f'["go to {next(names)}"]', code=lambda prompt: guess(next(names)))
    folder = begun(
        "model.name=m", "or_agent.ideas=independent", "or_agent.initial_ideas=3", "strategy.window=1",
        "or_agent.idea_count=settings", "budget.evaluations=4",
    )  # fmt: skip
    search(folder, model)
    assert ["exactly 1 new idea " in prompt for prompt in model.prompts("idea")[:3]] == [True] * 3
    assert len(notes(folder, "tree")[0]["nodes"]) == 4


def test_plans_and_docstrings_are_asked_for_as_the_settings_say(begun) -> None:
    documented = '```python\ndef guess(x):\n    """Twice as far."""\n    return 50\n```'
    model = Players(code=documented)
    folder = begun(*ALONE, "model.style=small", "or_agent.plans=detailed", "or_agent.docstrings=true",
                   "budget.evaluations=3", "strategy.patience=2")  # fmt: skip
    search(folder, model)
    assert "a plan of three to eight sentences" in model.prompts("idea")[0]
    assert "Say the idea, and what you considered, in the function's docstring." in model.prompts("code")[0]
    assert "Twice as far." in model.prompts("code")[1]
    brief = Players(code=documented)
    search(
        begun(*ALONE, "model.style=strong", "or_agent.plans=brief", "budget.evaluations=3", "strategy.patience=2"),
        brief,
    )
    assert "in a few lines of code" in brief.prompts("idea")[0]
    assert "docstring" not in brief.prompts("code")[0]
    assert "Twice as far." not in brief.prompts("code")[1]


def cells(of: Archive | RunFolder) -> list[list[str]]:
    """Ids of the elites of every island, as an archive has them or the reports of a run see them."""
    if isinstance(of, RunFolder):
        with Store(of.database, readonly=True) as store:
            of = replay_run(
                run_configuration.read_about(of.path / "config.yaml"),
                store.binned(),
                len(store.rounds()),
                store.resets(),
            )
    return [[one.id for one in of.ranked(island)] for island in range(of.islands)]


def test_the_seed_begins_on_all_islands_or_on_the_first_and_any_strategy_goes_on(begun) -> None:
    folder = begun("strategy.name=gp", "archive.islands=3", "archive.seed_islands=first", "budget.evaluations=6")
    search(folder, None)
    assert [any(name == "0.0" for name in island) for island in cells(folder)] == [True, False, False]


def test_leaves_alone_enter_the_archive_and_the_best_is_never_lost(begun) -> None:
    values = itertools.chain([50, 60, 70], itertools.repeat(5))
    model = Players(
        code=lambda prompt: guess(next(values)),
        experiment=[edit("    return 60", "    return 61"), edit("    return 61", "    return 55"), "ACTION: STOP"],
    )
    folder = begun(
        *QUIET, "model.name=m", "or_agent.leaves_only=true", "or_agent.depth=3", "or_agent.elitist_period=99",
        "or_agent.tuning_evaluations=0", "budget.evaluations=7", "strategy.patience=1",
    )  # fmt: skip
    search(folder, model)
    with Store(folder.database, readonly=True) as store:
        kept = {record.score: record.candidate.island != NOWHERE for record in store.records() if record.id[0] in "012"}
    # The opening's; in the round after it 60 (changed to 61) has a better child, 70, and that one worse ones.
    assert (kept[50], kept[40], kept[39], kept[45], kept[30]) == (True, False, False, False, True)
    assert load_run(folder.path).best.score == 30
    assert reopen(folder.path).path == folder.path


@pytest.mark.slow
def test_islands_start_anew_by_the_clock_and_a_resumed_run_and_its_report_see_the_same(begun, monkeypatch) -> None:
    values = iter(np.linspace(10, 99, 400))
    model = Players(code=lambda prompt: guess(next(values)))
    settings = (*ALONE, "archive.islands=4", "or_agent.initial_ideas=4", "or_agent.idea_count=settings")
    folder = begun(*settings, "archive.reset_s=1e-9", "budget.evaluations=12")
    engines = []
    search(folder, model, built=engines.append)
    with Store(folder.database, readonly=True) as store:
        resets = store.resets()
    assert len(resets) >= 2
    held = cells(engines[0]._archive)
    assert cells(folder) == held
    plain = begun(*settings, "budget.evaluations=12")
    values = iter(np.linspace(10, 99, 400))
    search(plain, Players(code=lambda prompt: guess(next(values))))
    assert cells(plain) != held
    again = []
    search(reopen(folder.path), model, built=again.append)
    assert cells(again[0]._archive) == held


def test_the_whole_tree_is_told_each_idea_below_that_which_it_starts_from() -> None:
    scores = {0: [1.0, 2.0, None], 2: [3.0, 1.5], 4: [4.0 + n / 10 for n in range(16)]}
    tree = grown(scores)
    for node in tree.nodes[1:]:
        node.report = f"Report of {node.number}."
    lines = told(tree).split("\n")
    assert len(lines) == len(tree.nodes) - 1
    assert lines[0] == "Idea 1: t -> score 1, may be taken further."  # an early one, in few words
    assert lines[2] == "  Idea 4: t -> score 3, was taken further."
    assert lines[3].startswith("    Idea 6: t -> score 4")
    assert "Report of 21." in lines[18]
    assert "was not better and is dropped" in told(tree)
    assert told(grown({})) == "(none yet)"
    assert elite(1).score == 1


def test_what_an_evaluation_printed_beside_its_figures_is_shown_to_who_experiments(begun) -> None:
    def printing(job: Job) -> Evaluation:
        found = scored(job)
        output = "value: 50\nsolver_seconds: 0.1\nthe route begins at 7\n__SANDBOX_RESULT__\nrubbish"
        return Evaluation(**{**vars(found), "output": output, "log": "x is 3"})

    model = Players(experiment="ACTION: STOP")
    search(begun(*ALONE, "budget.evaluations=3", "strategy.patience=2"), model, run=printing)
    shown = model.prompts("experiment")[0]
    assert "What its last evaluation printed:\n```\nthe route begins at 7\nx is 3\n```" in shown
    assert "solver_seconds" not in shown
    assert "rubbish" not in shown


def test_code_and_experiments_are_told_the_memory_and_experiments_the_parents(begun, toy) -> None:
    (toy / "knowledge.md").write_text("Numbers count.")
    model = Players(experiment="ACTION: STOP", code=[guess(50), guess(60)])
    search(
        begun(
            *ALONE, "model.style=strong", "budget.evaluations=5", "strategy.patience=2", "or_agent.memory_words=null"
        ),
        model,
    )
    for role in ("code", "experiment"):
        assert "What is known so far:\n" in model.prompts(role)[0]
    assert "Parent 1, score" in model.prompts("experiment")[0]
    assert json.dumps("Numbers count.")[1:-1] in model.prompts("code")[0]
