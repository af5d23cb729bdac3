"""A research round: its root, its ideas, its experiments, what it mends and what it learns."""

import itertools
import re

import pytest

from oragent._base.protocol import Status
from oragent.evaluation import Evaluation, Job
from oragent.search.store import Store
from oragent.search.strategies.or_agent.reflection import report_from_steps
from oragent.search.strategies.or_agent.tree import ExperimentStep, NodeNote
from tests.search.players import IDEA, QUIET, Players, edit, guess, notes, origins, replies, search
from tests.search.test_engine import scored

TWO = '[{"title": "a", "idea": "first"}, {"title": "b", "idea": "second"}]'


def trees(folder) -> list[dict]:
    return notes(folder, "tree")


def nodes(folder, round_number: int) -> list[dict]:
    return trees(folder)[round_number - 1]["nodes"][1:]


def test_it_is_the_strategy_where_a_model_is_configured(begun) -> None:
    folder = begun("model.name=m")
    assert folder.config.strategy_name == "or_agent"
    assert (folder.config.archive.islands, folder.config.strategy.window) == (4, 1)


STUDY = "or_agent.idea_count=settings"  # as many as the settings say, whatever the budget


def test_the_first_round_fills_the_archive_with_ideas_on_all_islands(begun) -> None:
    ideas = "[" + ", ".join(f'{{"title": "idea {n}", "idea": "return {n * 10}"}}' for n in range(1, 7)) + "]"
    model = Players(idea=ideas, code=lambda prompt: guess(re.search(r"idea \d\. return (\d+)", prompt)[1]))
    folder = begun("model.name=m", "or_agent.initial_ideas=6", "strategy.window=1", "budget.evaluations=7", STUDY)
    assert search(folder, model).complete
    assert "Propose exactly 6 new ideas" in model.prompts("idea")[0]
    assert model.prompts("experiment") == []
    with Store(folder.database) as store:
        tried = [(record.candidate.island, record.candidate.evaluation.score) for record in store.records()[1:]]
    assert tried == [(0, 90), (1, 80), (2, 70), (3, 60), (0, 50), (1, 40)]


def test_the_elitist_is_the_root_alone_in_every_so_many_rounds_with_more_ideas(begun) -> None:
    model = Players(idea=TWO, code=lambda prompt: guess(len(prompt) % 60))
    folder = begun(
        "model.name=m", "strategy.window=1", "or_agent.elitist_period=3", "or_agent.initial_ideas=3",
        "or_agent.children=2", "or_agent.elitist_enlargement=4", "budget.model_calls=90", "budget.evaluations=null",
        "or_agent.experiments=0", "or_agent.depth=1", STUDY,
    )  # fmt: skip
    search(folder, model)
    elitist = [tree["elitist"] for tree in trees(folder)]
    assert elitist[:6] == [True, True, False, False, True, False]  # the opening, then rounds 1, 4 ... after it
    assert all(len(tree["start"]) == 1 for tree in trees(folder) if tree["elitist"])
    first = [text for text in model.prompts("idea") if "Propose exactly 8 new ideas" in text]
    assert len(first) >= 2
    crossed = [text for text in model.prompts("idea") if "At least one idea must join" in text]
    assert len(crossed) >= 3


@pytest.mark.slow
def test_a_child_that_is_better_is_opened_and_one_that_is_not_is_dropped(begun) -> None:
    values = itertools.chain([50, 60, 55, 80, 60, 90], itertools.repeat(60))
    model = Players(idea=TWO, code=lambda prompt: guess(next(values)))
    folder = begun("model.name=m", "strategy.window=1", "or_agent.initial_ideas=1", "budget.evaluations=8")
    search(folder, model)
    states = [(node["parent"], node["score"], node["state"]) for node in nodes(folder, 2)]
    assert states[:6] == [
        (0, 40, "grown"), (0, 45, "grown"),  # both better than 50: the better one is opened first
        (1, 20, "grown"), (1, 40, "worse"),
        (3, 10, "closed"), (3, 40, "worse"),  # as deep as the tree may be
    ]  # fmt: skip


def test_a_leaf_without_a_better_child_is_closed_and_the_search_goes_back(begun) -> None:
    values = itertools.chain([50, 60, 55, 10, 10, 70], itertools.repeat(10))
    model = Players(idea=TWO, code=lambda prompt: guess(next(values)))
    folder = begun("model.name=m", "strategy.window=1", "or_agent.initial_ideas=1", "budget.model_calls=17")
    search(folder, model)
    states = [(node["parent"], node["score"], node["state"]) for node in nodes(folder, 2)]
    assert states[:4] == [(0, 40, "closed"), (0, 45, "grown"), (1, 90, "worse"), (1, 90, "worse")]
    assert states[4][:2] == (2, 30)


def test_fast_crossover_ends_rounds_without_the_elitist_at_depth_one(begun) -> None:
    values = iter(range(50, 99))
    model = Players(idea=TWO, code=lambda prompt: guess(next(values)))
    folder = begun(
        "model.name=m", "strategy.window=1", "or_agent.initial_ideas=1", "or_agent.fast_crossover=true",
        "budget.evaluations=10", "or_agent.opening_counts=true", STUDY,
    )  # fmt: skip
    search(folder, model)
    assert [node["parent"] for tree in trees(folder) for node in tree["nodes"][1:]] == [0] * 9


def test_a_program_that_fails_gets_its_error_back(begun) -> None:
    model = Players(code=guess("1 / 0"), debug=guess("70"))
    folder = begun("model.name=m", *QUIET, "budget.evaluations=3")
    search(folder, model)
    (prompt,) = model.prompts("debug")
    assert "error: division by zero" in prompt
    assert "return 1 / 0" in prompt
    assert origins(folder) == ["seed", "code", "debug"]
    assert nodes(folder, 1)[0]["score"] == 30
    with Store(folder.database) as store:
        assert store.records()[2].candidate.parents == ("1.0",)


@pytest.mark.parametrize("style", ["small", "strong"])
@pytest.mark.parametrize("status", [Status.TIMEOUT, Status.MEMORY, Status.ERROR])
def test_a_program_that_runs_out_of_time_or_memory_gets_the_limits_of_the_run(
    begun, status: Status, style: str
) -> None:
    def fail(job: Job) -> Evaluation:
        if style == "small":
            counts = {"heuristic_calls": 400, "instances_done": 10, "instances_planned": 50}
        else:
            # All instances were advancing in step, so that none was done.
            counts = {"heuristic_calls": 400, "instances_done": 0, "instances_planned": 50}
            counts |= {"instances_in_step": 50, "decisions_done": 400, "decisions_planned": 2000}
        metrics = counts if status is Status.TIMEOUT else {}
        return (
            Evaluation(status, message="too much", metrics=metrics, wall_s=0.1)
            if "return 60" in job.source
            else scored(job)
        )

    limits = "limits.heuristic_s=3", "limits.timeout_s=17", "limits.memory_mb=1500"
    model = Players(code=guess("60"), debug=guess("70"))
    folder = begun("model.name=m", f"model.style={style}", *QUIET, "budget.evaluations=3", *limits)
    search(folder, model, run=fail)
    (prompt,) = model.prompts("debug")
    each = ", which is about 0.0015 s for each of about 2,000 calls" if status is Status.TIMEOUT else ""
    expected = (
        f"Limits of an evaluation: 3 CPU seconds for all calls of the function together{each}; 17 CPU seconds in all; "
        "1,500 MiB of memory in each process."
    )
    assert (expected in prompt) == (status is not Status.ERROR)


def test_a_program_is_given_up_when_its_error_came_back_twice(begun) -> None:
    values = iter(range(2, 9))
    model = Players(code=guess("1 / 0"), debug=lambda prompt: guess(f"{next(values)} / 0"))
    folder = begun("model.name=m", *QUIET, "budget.evaluations=4")
    search(folder, model)
    assert origins(folder) == ["seed", "code", "debug", "debug"]
    assert nodes(folder, 1)[0]["state"] == "failed"
    assert nodes(folder, 1)[0]["failure"] == "error: division by zero"


def test_a_program_that_comes_back_unchanged_is_told_so(begun) -> None:
    program = "def guess(x):\n    half = x / 0\n    return half\n"
    model = Players(code=f"```python\n{program}```", debug=[f"```python\n{program}```", guess("70")])
    folder = begun("model.name=m", *QUIET, "budget.evaluations=3")
    search(folder, model)
    first, second = model.prompts("debug")
    assert "answered once already" not in first
    assert "answered once already, with this very program" in second


def test_ideas_that_are_no_json_are_asked_for_once_more(begun) -> None:
    model = Players(idea="I think one should look closer.", repair=IDEA)
    folder = begun("model.name=m", *QUIET, "budget.evaluations=2")
    search(folder, model)
    assert "the reply holds no JSON" in model.prompts("repair")[0]
    assert [node["title"] for node in nodes(folder, 1)] == ["closer"]


def test_a_model_without_ideas_closes_the_root_and_ends_the_run_with_patience(begun) -> None:
    model = Players(idea="none", repair="none")
    folder = begun("model.name=m", *QUIET, "strategy.patience=3")
    outcome = search(folder, model)
    assert outcome.reason.startswith("no new program to score in 3 rounds")
    assert all(len(tree["nodes"]) == 1 for tree in trees(folder))


def test_a_reply_without_a_program_fails_the_idea_and_is_counted(begun) -> None:
    model = Players(code="no", repair="no again")
    folder = begun("model.name=m", *QUIET, "strategy.patience=2")
    search(folder, model)
    assert nodes(folder, 1)[0]["failure"].startswith("rejected: the reply holds no code")
    with Store(folder.database) as store:
        assert store.records()[1].candidate.evaluation.status is Status.REJECTED


@pytest.mark.slow
def test_experiments_go_on_from_the_best_seen_and_take_back_what_is_worse(begun) -> None:
    model = Players(
        code=guess("50"),
        experiment=[edit("    return 50", "    return 40"), edit("    return 50", "    return 60"), "ACTION: STOP"],
    )
    own = "or_agent.reflection_calls=own"
    folder = begun("model.name=m", *QUIET, "budget.evaluations=5", "or_agent.depth=1", own)
    search(folder, model)
    first, second, third = model.prompts("experiment")[:3]
    assert "8 of them are left" in first
    assert "return 50" in second
    assert "1. edit: try it -> score 60, taken back. Learned." in second
    assert "return 60" in third
    assert "2. edit: try it -> score 40, kept. Learned." in third
    node = nodes(folder, 2)[0]
    assert (node["score"], node["candidate"], node["report"]) == (40, "2.2", "Learned.")
    assert [step["better"] for step in node["steps"]] == [False, True]


def test_a_solution_is_kept_as_it_was_when_every_experiment_is_worse(begun) -> None:
    worse = [edit("    return 50", f"    return {n}") for n in (49, 48, 47)]
    folder = begun("model.name=m", *QUIET, "or_agent.experiments=3", "budget.evaluations=5")
    model = Players(experiment=worse)
    search(folder, model)
    assert nodes(folder, 2)[0]["score"] == 50
    assert "return 49" not in model.prompts("experiment")[-1].split("Experiments so far")[0]


@pytest.mark.parametrize("same", ["    return 50  # a guess", "    return (50)", '    """A guess."""\n\n    return 50'])
def test_an_edit_of_what_no_program_computes_is_sent_back(begun, same: str) -> None:
    model = Players(
        experiment=[f"ACTION: EDIT\n```python\ndef guess(x):\n{same}\n```", "ACTION: STOP"], repair="ACTION: STOP"
    )
    folder = begun("model.name=m", *QUIET, "budget.model_calls=8")
    search(folder, model)
    assert "the edit changes no code" in model.prompts("repair")[0]
    assert nodes(folder, 2)[0]["steps"] == []


def test_the_number_of_experiments_is_bounded(begun) -> None:
    values = iter(range(51, 99))
    model = Players(
        experiment=lambda prompt: edit(
            next(line for line in prompt.split("\n") if line.startswith("    return")), f"    return {next(values)}"
        )
    )
    folder = begun("model.name=m", *QUIET, "or_agent.experiments=3", "or_agent.depth=1", "budget.evaluations=6")
    search(folder, model)
    assert len(nodes(folder, 2)[0]["steps"]) == 3


@pytest.mark.slow
def test_constants_are_tuned_by_an_optimiser_on_evaluations_that_count(begun) -> None:
    model = Players(
        code=guess("x * 10.0 + 2"), experiment=["THOUGHT: scale\nACTION: TUNE\nc0 5.0 50.0\nc1 0 5", "ACTION: STOP"]
    )
    folder = begun("model.name=m", *QUIET, "budget.evaluations=27", "or_agent.depth=1")
    outcome = search(folder, model)
    assert "c0 = 10 in `return x * 10.0 + 2`" in model.prompts("experiment")[0]
    assert origins(folder).count("tune") == 24
    assert outcome.progress.spent.evaluations <= 27
    node = nodes(folder, 2)[0]
    assert node["score"] < 10 < abs(100 - 32)
    assert node["steps"][0]["change"] == "c0, c1 over 24 evaluations"


def test_a_tuning_that_names_no_constant_is_told_so_once(begun) -> None:
    model = Players(code=guess("x * 10.0"), experiment="ACTION: TUNE\nthe factor", repair="ACTION: STOP")
    search(begun("model.name=m", *QUIET, "budget.model_calls=9"), model)
    assert "TUNE names no constant; there are c0;" in model.prompts("repair")[0]


def test_what_a_probe_prints_is_shown_and_the_probe_is_never_the_solution(begun) -> None:
    def printing(job: Job) -> Evaluation:
        found = scored(job)
        return Evaluation(**{**vars(found), "log": "x is 3\n"}) if "print" in job.source else found

    probe = f"ACTION: PROBE\n{guess('99')}".replace("    return", "    print(x)\n    return")
    model = Players(experiment=[probe, "ACTION: STOP"])
    folder = begun("model.name=m", *QUIET, "budget.evaluations=4", "or_agent.depth=1", "strategy.patience=2")
    search(folder, model, run=printing)
    assert "The probe printed:\nx is 3" in model.prompts("experiment")[1]
    assert nodes(folder, 2)[0]["score"] == 50
    assert "probe" in origins(folder)


def test_an_edit_that_fails_is_mended_and_then_counts(begun) -> None:
    model = Players(experiment=[edit("    return 50", "    return 1 / 0"), "ACTION: STOP"], debug=guess("75"))
    folder = begun("model.name=m", *QUIET, "budget.evaluations=4", "or_agent.depth=1")
    search(folder, model)
    assert origins(folder) == ["seed", "code", "code", "experiment", "debug"]
    assert nodes(folder, 2)[0]["score"] == 25


def test_an_edit_that_misses_is_answered_with_the_nearest_lines_and_not_with_the_program_again(begun) -> None:
    model = Players(
        code=[guess("50 + x"), edit("    return 49 + x", "    return 70")],
        experiment=edit("    return 61 + x", "    return 70"),
        repair=[edit("    return 50 + x", "    return 60 + x"), "ACTION: STOP"],
    )
    folder = begun("model.name=m", *QUIET, "budget.evaluations=4", "or_agent.depth=1", "model.style=small")
    search(folder, model)
    for prompt, number in zip(model.prompts("repair")[:2], (50, 60), strict=True):
        assert f"The nearest lines of the parent are:\n    return {number} + x\n" in prompt
        assert "def guess(x):\n" not in prompt


@pytest.mark.slow
def test_every_role_has_its_temperature_and_may_have_its_model(begun) -> None:
    model, thinker = Players(code=guess("1 / 0"), debug=guess("60")), Players(idea=IDEA)
    folder = begun(
        "model.name=m", "models={idea: {name: thinker}}", *QUIET, "budget.evaluations=4",
        "or_agent.temperatures={lead: 0.1, code: 0.2, reflect: 0.3}",
    )  # fmt: skip
    search(folder, model, cast={"idea": thinker})
    assert {temperature for role, _, temperature in thinker.asked if role == "idea"} == {1.3}
    assert {temperature for role, _, temperature in model.asked if role in ("code", "debug")} == {0.2}
    assert model.prompts("idea") == []


@pytest.mark.slow
def test_a_child_names_its_parents_as_the_store_knows_them(begun) -> None:
    model = Players(experiment=[edit("    return 50", "    return 60"), "ACTION: STOP"])
    folder = begun("model.name=m", *QUIET, "budget.evaluations=4", "or_agent.depth=1")
    search(folder, model)
    with Store(folder.database) as store:
        records = store.records()
    ids = {record.id for record in records}
    assert all(set(record.candidate.parents) <= ids for record in records)
    assert [record.candidate.parents for record in records if record.candidate.origin == "experiment"] == [("2.0",)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("setting", "bound"), [("budget.evaluations=23", "evaluations"), ("budget.model_calls=31", "model_calls")]
)
def test_a_budget_is_spent_to_the_last_and_not_beyond_by_rounds_side_by_side(begun, setting: str, bound: str) -> None:
    values = iter(range(1000))
    model = Players(
        idea=TWO,
        code=lambda prompt: guess(f"50 + {next(values)} / 100"),
        experiment=lambda prompt: f"ACTION: EDIT\n{guess(f'60 + {next(values)} / 100')}",
    )
    folder = begun("model.name=m", "budget.evaluations=null", setting, "or_agent.initial_ideas=3")
    outcome = search(folder, model)
    assert outcome.complete
    assert getattr(outcome.progress.spent, bound) == int(setting.split("=")[1])


@pytest.mark.slow
def test_calls_are_counted_by_role(begun) -> None:
    folder = begun("model.name=m", *QUIET, "budget.evaluations=4", "or_agent.depth=1")
    search(folder, Players(experiment=[edit("    return 50", "    return 60"), "ACTION: STOP"]))
    assert {reply.role for reply in replies(folder)} >= {"idea", "code", "experiment", "reflect"}


@pytest.mark.slow
def test_ideas_that_the_budget_does_not_reach_are_no_failures_and_teach_nothing(begun) -> None:
    ideas = "[" + ", ".join(f'{{"title": "idea {n}", "idea": "return {n}"}}' for n in range(4)) + "]"
    model = Players(idea=[ideas, IDEA], code=lambda prompt: guess(prompt.split("return ")[-1][:2].strip()))
    folder = begun(
        "model.name=m",
        "or_agent.initial_ideas=4",
        "budget.evaluations=7",
        "or_agent.elitist_period=2",
        "strategy.window=2",
        STUDY,
    )
    search(folder, model)  # two rounds side by side: three evaluations each, for four ideas
    assert [node["state"] for node in nodes(folder, 1)].count("untried") == 1
    assert not any("idea 3" in prompt for prompt in model.prompts("lead"))


def test_ideas_beyond_those_that_were_asked_for_are_taken_down_and_told_as_not_tried(begun) -> None:
    ideas = "[" + ", ".join(f'{{"title": "idea {n}", "idea": "return {n}"}}' for n in range(3)) + "]"
    model = Players(idea=[IDEA, ideas], code=lambda prompt: guess(60))
    folder = begun("model.name=m", *QUIET, "budget.evaluations=20", "strategy.patience=2", "or_agent.depth=2")
    search(folder, model)
    assert [(node["title"], node["state"]) for node in nodes(folder, 2)][1:3] == [
        ("idea 1", "untried"), ("idea 2", "untried")
    ]  # fmt: skip
    assert "\nIdea 2: idea 1, was not tried.\n" in model.prompts("idea")[2]
    folder = begun("model.name=m", *QUIET, "budget.evaluations=20", "strategy.patience=2", STUDY)
    search(folder, Players(idea=[IDEA, ideas], code=lambda prompt: guess(60)))
    assert [node["title"] for node in nodes(folder, 2)][:1] == ["idea 0"]
    assert "idea 1" not in str(trees(folder))


@pytest.mark.slow
def test_a_lesson_in_the_same_reply_saves_a_call_and_is_told_on(begun) -> None:
    again = f"LESSON: 40 is worse\n{edit('    return 50', '    return 60')}"
    model = Players(experiment=[edit("    return 50", "    return 40"), again, "LESSON: less is worse\nACTION: STOP"])
    same = "or_agent.reflection_calls=same"
    folder = begun("model.name=m", *QUIET, "budget.evaluations=5", "or_agent.depth=1", same)
    search(folder, model)
    assert "LESSON" not in model.prompts("experiment")[0]
    assert "LESSON: what the last experiment taught" in model.prompts("experiment")[1]
    assert ["An experiment has ended" in prompt for prompt in model.prompts("reflect")].count(True) == 0
    assert [step["lesson"] for step in nodes(folder, 2)[0]["steps"]] == ["40 is worse", "less is worse"]


def test_a_node_without_a_report_speaks_by_its_steps() -> None:
    steps = (
        ExperimentStep("edit", "halve it", "score 60", False),
        ExperimentStep("tune", "c0 over 8 evaluations", "score 40", True, "c0 matters"),
    )
    node = NodeNote(1, 0, "closer", "Go nearer.", "open", "1.1", 40.0, "", steps, "", better=True)
    said = report_from_steps(node)
    assert said.startswith("Go nearer. 1. edit: halve it -> score 60, taken back.")
    assert "2. tune: c0 over 8 evaluations -> score 40, kept. c0 matters" in said
