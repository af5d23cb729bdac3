"""Parts of prompts by themselves: times, limits, tables of programs, changes, thoughts, and gains of members."""

import math
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from oragent._base.budget import Budget, Spent
from oragent._base.direction import Direction
from oragent._base.protocol import Status
from oragent.evaluation import Evaluation
from oragent.search.archive import Archive, success_rate
from oragent.search.candidate import Candidate, Elite
from oragent.search.coarse_times import STEPS, describe_seconds, round_coarsely, round_down
from oragent.search.journal import Finding, Moment
from oragent.search.prompting import search_summary
from oragent.search.prompting.prompt_templates import (
    describe_exceeded_limits,
    describe_places,
    describe_times,
    finished_share,
    round_one_two_five,
    seconds_of,
)
from oragent.search.prompting.search_summary import (
    budget_left,
    clock_s_left,
    describe_champion,
    describe_tried,
    program_mark,
    shorter_of_text_and_changes,
    summarise_search,
    title_of,
)
from oragent.search.store import RoundNote
from oragent.search.strategies import portfolio
from oragent.search.strategies.operators import read_prose, read_thought
from oragent.search.strategies.portfolio import MARKS, MemberGain, better_half, budget_phase, member_gains
from tests.search.test_strategy_parts import record

# --- times -----------------------------------------------------------------------------------------------------------


@given(st.floats(1e-6, 1e6))
@example(0.15)
def test_coarse_numbers_are_the_nearest_step_or_the_one_below(value: float) -> None:
    grid = sorted({float(f"{step * 10.0**power:.3g}") for step in STEPS for power in range(-7, 7)})
    assert round_down(value) == max(step for step in grid if step <= value * (1 + 1e-12))
    nearest = min(grid, key=lambda step: abs(math.log(step / value)))
    assert abs(math.log(round_coarsely(value) / value)) == pytest.approx(abs(math.log(nearest / value)))
    decade = [step * 10.0**power for step in (1, 2, 5) for power in range(-7, 7)]
    found = round_one_two_five(value)
    assert abs(math.log(found / value)) == pytest.approx(min(abs(math.log(step / value)) for step in decade))


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf])
def test_other_numbers_are_zero(value: float) -> None:
    assert round_coarsely(value) == round_down(value) == 0.0


@pytest.mark.parametrize(
    ("metrics", "text"),
    [
        ({}, ""), ({"heuristic_seconds": True}, ""), ({"heuristic_seconds": "1"}, ""), ({"heuristic_seconds": math.nan}, ""),
        ({"heuristic_seconds": 0.05}, "less than 0.1 s"), ({"heuristic_seconds": 0.1}, "about 0.1 s"),
        ({"heuristic_seconds": 0.5, "heuristic_calls": 1200, "instances_done": 8}, "about 0.5 s in 1,200 calls on 8 instances"),
        ({"heuristic_seconds": 0.5, "heuristic_calls": True, "instances_done": 2.0}, "about 0.5 s"),
        ({"heuristic_seconds": 0.5, "places_seconds": {"a": 0.1, "b": 0.4}}, "about 0.5 s, most of it at b"),
        ({"heuristic_seconds": 0.5, "places_seconds": {"a": 0.25, "b": 0.25}}, "about 0.5 s"),
        ({"heuristic_seconds": 0.5, "places_seconds": {"b": 0.5}}, "about 0.5 s"),
        ({"heuristic_seconds": 0.05, "places_seconds": {"a": 0.01, "b": 0.04}}, "less than 0.1 s"),
        ({"heuristic_seconds": 3.1, "places_seconds": {"a": 1.0, "b": 2.1}}, "about 3 s (a about 1 s; b about 2 s)"),
        ({"heuristic_seconds": 3.1, "places_seconds": {"a": 3.1}}, "about 3 s"),
        ({"heuristic_seconds": 3.1, "places_seconds": [1]}, "about 3 s"),
        ({"heuristic_seconds": 3.1, "start_seconds": 2, "places_seconds": {"a": 3.1}},
         "about 3 s (import and compilation, which do not count: about 2 s; calls: a about 3 s)"),
        ({"heuristic_seconds": 3.1, "start_seconds": 2.0}, "about 3 s (import and compilation, which do not count: about 2 s)"),
        ({"heuristic_seconds": 3.1, "start_seconds": True}, "about 3 s"),
    ],
)  # fmt: skip
def test_the_time_of_a_function_is_described_by_its_largest_parts(metrics: dict[str, Any], text: str) -> None:
    assert describe_times(metrics) == text
    if text:
        total = metrics["heuristic_seconds"]
        assert seconds_of(metrics) == (f"; {describe_seconds(total)}" if total >= 1 else "")
    assert describe_places({"places_seconds": {"a": 1.0, "b": "x"}}) == ""


@pytest.mark.parametrize(
    ("metrics", "share"),
    [
        ({}, None), ({"instances_done": 2}, None), ({"instances_done": 2, "instances_planned": 0}, None),
        ({"instances_done": 2, "instances_planned": 8}, 0.25), ({"instances_done": 2.0, "instances_planned": 8}, None),
        ({"instances_done": 0, "instances_planned": 1}, 0.0),
        ({"instances_done": 2, "instances_planned": 8, "instances_in_step": 4, "decisions_done": 3, "decisions_planned": 6}, 0.5),
        ({"instances_done": 2, "instances_planned": 8, "instances_in_step": 4, "decisions_done": 3, "decisions_planned": 0}, 0.25),
        ({"instances_done": 2, "instances_planned": 8, "instances_in_step": 4, "decisions_done": True, "decisions_planned": 6}, 0.25),
    ],
)  # fmt: skip
def test_instances_in_step_count_with_their_share_of_decisions(metrics: dict[str, Any], share: float | None) -> None:
    assert finished_share(metrics) == share


@pytest.mark.parametrize(
    ("status", "function_s", "metrics", "text"),
    [
        (Status.ERROR, 8.0, {}, ""),
        (Status.TIMEOUT, 8.0, {}, "8 CPU seconds for all calls of the function together; 20 CPU seconds in all; 512 MiB of memory in each process."),
        (Status.MEMORY, None, {}, "20 CPU seconds in all; 512 MiB of memory in each process."),
        (Status.TIMEOUT, 20.0, {}, "20 CPU seconds in all; 512 MiB of memory in each process."),
        (Status.TIMEOUT, 8.0, {"heuristic_calls": 500, "instances_done": 1, "instances_planned": 4},
         "8 CPU seconds for all calls of the function together, which is about 0.004 s for each of about 2,000 calls; 20 CPU seconds in all; "
         "512 MiB of memory in each process."),
        (Status.TIMEOUT, 8.0, {"heuristic_calls": 500, "places_seconds": {"a": 1.0, "b": 2.0}},
         "8 CPU seconds for all calls of the function together; 20 CPU seconds in all; 512 MiB of memory in each process.\n"
         "Time of the function (a about 1 s; b about 2 s)."),
    ],
)  # fmt: skip
def test_the_limits_that_were_exceeded_are_shown(
    status: Status, function_s: float | None, metrics: dict[str, Any], text: str
) -> None:
    problem = SimpleNamespace(
        make_limits=lambda limits: SimpleNamespace(cpu_s=20.0, memory_mb=512), heuristic_s=lambda limits: function_s
    )
    run = SimpleNamespace(problem=problem, settings=SimpleNamespace(limits=None))
    found = describe_exceeded_limits(run, Evaluation(status, metrics=metrics))
    assert found == (f"\nLimits of an evaluation: {text}" if text else "")


# --- the state of a search -------------------------------------------------------------------------------------------


def elite(score: float, source: str, **fields: Any) -> Elite:
    return Elite(id=f"{score}", source=source, score=score, features=fields.pop("features", None), metrics=fields)


class Run(SimpleNamespace):
    """A minimisation with three elites, whose notes and findings are given."""

    def __init__(
        self,
        *elites: Elite,
        history: tuple = (),
        findings: tuple = (),
        notes: tuple = (),
        budget: Budget | None = None,
        **strategy: Any,
    ) -> None:
        archive = Archive("minimize")
        for found in elites:
            archive.add(found, 0)
        options = {"standing": True, "live": True, "features": False} | strategy
        settings = SimpleNamespace(strategy=SimpleNamespace(**options), budget=budget or Budget(evaluations=None))
        features = [SimpleNamespace(name="width"), SimpleNamespace(name="depth")]
        problem = SimpleNamespace(
            about=SimpleNamespace(direction=Direction.MINIMIZE, features=features), seed="the = seed"
        )
        moment = Moment(findings=findings, notes=(), spent=Spent(evaluations=30))
        super().__init__(
            archive=archive, settings=settings, problem=problem, moment=moment, history=[*history], solutions=[], memory=[*notes],
            notes=[], written=[], case=SimpleNamespace(allowance=Spent(evaluations=5, model_calls=9)), used=Spent(evaluations=2),
            style="strong",
        )  # fmt: skip


FIRST, SECOND, SEED = "x = 1\nreturn 1", "x = 2\nreturn 2", "the = seed"


def title(source: str, words: str) -> RoundNote:
    return RoundNote(1, search_summary.TITLE, f"{program_mark(source)} {words}")


def test_the_best_programs_are_listed_with_titles_or_last_lines() -> None:
    elites = (elite(3.0, FIRST, heuristic_seconds=2.0), elite(4.0, SECOND), elite(5.0, SEED))
    run = Run(*elites, notes=(title(SECOND, "A title"), title(SECOND, "A later title")))
    lines = summarise_search(run).split("\n")
    assert lines[0].startswith("Where the search stands: the best score is 3 (lower is better).")
    assert lines[2:] == ["- 3: `return 1`; about 2 s", "- 4: A later title", "- 5: the seed heuristic"]
    assert "that of the program below" in summarise_search(run, elites[0])
    assert "The program below has 4." in summarise_search(run, elites[1])
    assert "The best programs" not in summarise_search(Run(elites[0]))
    assert summarise_search(Run(*elites, standing=False)) == ""
    shown = summarise_search(Run(elite(3.0, FIRST, features=(2, 7)), elites[1], features=True))
    assert "- 3: `return 1`; width 2; depth 7" in shown
    assert title_of("x", {}) == ""
    assert title_of(f"\n{FIRST}\n", {program_mark(FIRST): "t"}) == "t"


def test_at_most_so_many_programs_are_listed_one_of_each_score() -> None:
    many = [elite(float(number // 2), f"x = {number}") for number in range(2 * search_summary.ROWS + 4)]
    lines = summarise_search(Run(*many)).split("\n")
    assert [line.partition(":")[0] for line in lines[2:]] == [f"- {number}" for number in range(search_summary.ROWS)]


def test_failures_and_lessons_are_the_latest_of_all_rounds() -> None:
    failed = [record(f"{number}.0", None, f"y = {number}") for number in range(1, 7)]
    probe = record("7.0", None, "y = 7", "probe")
    notes = tuple(RoundNote(1, search_summary.LESSON, f"Lesson {number % 5}.") for number in range(7))
    findings = (
        Finding(8, "8.0", record("8.0", None, "y = 8").candidate),
        Finding(8, "8.1", record("8.1", 1.0, "y = 9").candidate),
    )
    run = Run(elite(3.0, FIRST), history=(*failed, probe), findings=findings, notes=(*notes, title("y = 6", "Six")))
    lines = summarise_search(run).split("\n")
    begin = lines.index("The latest programs that failed:")
    assert lines[begin + 1 : begin + 5] == [
        "- a program: error: failed 4.0", "- a program: error: failed 5.0", "- Six: error: failed 6.0", "- a program: error: failed 8.0",
    ]  # fmt: skip
    assert lines[begin + 5 :] == ["The latest lessons:", *(f"- Lesson {number}." for number in range(1, 5))]
    # The program that an unfinished round found is the best.
    assert "the best score is 1" in lines[0]
    quiet = summarise_search(Run(elite(3.0, FIRST), history=(*failed,), notes=notes, live=False))
    assert "failed" not in quiet
    assert "Lesson" not in quiet


def test_scored_programs_outside_of_the_table_are_listed_if_they_have_a_title() -> None:
    scored = [record(f"{number}.0", float(number), f"y = {number}") for number in range(1, 20)]
    notes = tuple(title(f"y = {number}", f"Title {number}") for number in range(1, 20) if number != 18)
    best = [elite(float(number), f"y = {number}") for number in (1, 2)]
    probe = record("20.0", 20.0, "y = 20", "probe")
    lines = describe_tried(Run(*best, history=(*scored, probe), notes=notes)).split("\n")
    assert lines[1:] == [f"- {number}: Title {number}" for number in [*range(7, 18), 19]]
    assert describe_tried(Run(*best, history=tuple(scored[:2]), notes=notes)) == ""


def test_the_best_program_is_shown_unless_the_prompt_has_it() -> None:
    best, other = elite(3.0, FIRST), elite(4.0, SECOND)
    run = Run(best, other)
    assert describe_champion(run, [other]).startswith("\n\nThe best program so far, score 3:\n```python\nx = 1")
    assert describe_champion(run, [other, best]) == ""
    assert describe_champion(Run(best, live=False), [other]) == ""
    assert describe_champion(Run(), [other]) == ""
    long = "\n".join(f"a{number} = {number}" for number in range(40))
    shown = describe_champion(Run(elite(3.0, f"{long}\nb = 1")), [elite(4.0, f"{long}\nb = 2")])
    assert "as changes of the last program" in shown
    assert shown.rstrip("`\n").endswith("@@\n a39 = 39\n-b = 2\n+b = 1")


@pytest.mark.parametrize(("changed", "kind"), [(1, "diff"), (30, "")])
def test_changes_are_shown_if_they_are_much_shorter(changed: int, kind: str) -> None:
    lines = [f"a{number} = {number}" for number in range(40)]
    other = [f"b{number}" if number < changed else line for number, line in enumerate(lines)]
    found, text = shorter_of_text_and_changes("\n".join(other), "\n".join(lines))
    assert found == kind
    assert len(text) < 400
    assert shorter_of_text_and_changes("x = 1\n", "x = 1") == ("", "x = 1")
    most = search_summary.COMPARED
    for count, expected in ((most, "diff"), (most + 1, "")):
        assert shorter_of_text_and_changes("a\n" * (count - 1) + "b", "a\n" * (count - 1) + "c")[0] == expected


@pytest.mark.parametrize(
    ("budget", "elapsed_s", "text"),
    [
        (Budget(evaluations=None), 0.0, ""),
        (Budget(evaluations=100), 0.0, "Left of the budget: 70 evaluations (this step may use 3)."),
        (Budget(evaluations=33), 0.0, "Left of the budget: 3 evaluations."),
        (Budget(evaluations=100, model_calls=9), 0.0, "Left of the budget: 70 evaluations (this step may use 3) and 9 model calls."),
        (Budget(evaluations=100, model_calls=50, seconds=600), 120.0,
         "Left of the budget: 70 evaluations (this step may use 3), 50 model calls (this step may use 9) and about 8 minutes of the clock, which "
         "also runs while you write."),
    ],
)  # fmt: skip
def test_what_is_left_of_the_budget_is_told_in_all_and_for_the_step(
    budget: Budget, elapsed_s: float, text: str
) -> None:
    history = (SimpleNamespace(elapsed_s=elapsed_s), SimpleNamespace(elapsed_s=elapsed_s / 2))
    run = Run(history=history, budget=budget)
    assert budget_left(run, run.moment) == text
    assert clock_s_left(run) == (None if budget.seconds is None else budget.seconds - elapsed_s)
    assert clock_s_left(Run(budget=Budget(seconds=60), history=(SimpleNamespace(elapsed_s=90.0),))) == 0.0


# --- thoughts --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "thought"),
    [
        ("{Use the ratio.} Then\n```\nx = {1}\n```", "Use the ratio."),
        ("```\nx = {1}\n```\n{Later, outside.}", "Later, outside."),
        ("First, a ratio. Then a sum.\n```\nx\n```", "First, a ratio."),
        ("A ratio without an end\n```\nx\n```", ""),
        ("A ratio. No code.", ""),
        ("<think>{no}</think>Is it good? Yes.\n```\nx\n```", "Is it good?"),
        ("{" + "word " * 90 + "}", " ".join(["word"] * 80) + " ..."),
        ("{" + "word " * 80 + "}", " ".join(["word"] * 80)),
    ],
)
def test_a_thought_stands_in_braces_or_is_the_first_sentence(reply: str, thought: str) -> None:
    assert read_thought(reply) == thought


def test_prose_is_read_without_code_up_to_a_number_of_words() -> None:
    assert read_prose("<think>a</think>one two\n```\nx = 1\n```\nthree", 3) == "one two three"
    assert read_prose("one two three", 2) == "one two ..."


# --- gains of members ------------------------------------------------------------------------------------------------


def member_run(*played: tuple[int, str, float | None], spent: int = 0, limit: int = 100) -> SimpleNamespace:
    """Return a run in which each round of a member made one program."""
    history = [record("0.0", 10.0), *(record(f"{number}.0", score) for number, _, score in played)]
    notes = [RoundNote(number, portfolio.PLAYED, name) for number, name, _ in played]
    return SimpleNamespace(
        recall=lambda kind: [note for note in notes if note.kind == kind], own=SimpleNamespace(members=("a", "b")), history=history,
        fitness=lambda found: -found.score, settings=SimpleNamespace(budget=Budget(evaluations=limit)), spent=Spent(evaluations=spent),
        window=1, number=len(history), case=SimpleNamespace(allowance=Spent(evaluations=90, model_calls=90)),
    )  # fmt: skip


def test_a_member_gains_what_its_programs_improved_the_best_by() -> None:
    run = member_run((1, "a", 8.0), (2, "b", 9.0), (3, "a", None), (4, "b", 5.0), (5, "a", 6.0), (6, "a", 4.0))
    gains = member_gains(run)
    # The way from the seed to the best is 6.
    assert gains["a"].mean == pytest.approx((2 + 0 + 0 + 1) / (6 * 4))
    assert gains["b"].mean == pytest.approx((0 + 3) / (6 * 2))
    rounds = [2.0, 0.0, 0.0, 1.0]
    centre = sum(rounds) / 4
    deviation = math.sqrt(sum((value - centre) ** 2 for value in rounds) / 3)
    assert gains["a"].error == pytest.approx(deviation * 2 / (6 * 4))
    assert gains["b"].error == math.inf
    assert member_gains(member_run((1, "a", 12.0)))["b"] == MemberGain(0.0, math.inf)


@pytest.mark.parametrize(("spent", "phase"), [(0, 0), (24, 0), (25, 1), (50, 2), (74, 2), (75, 3), (100, 3)])
def test_phases_begin_at_the_marks_of_the_budget(spent: int, phase: int) -> None:
    run = member_run(spent=spent)
    assert budget_phase(run) == phase
    # A round of one of two members has at most its share of a phase, and in the last phase all that is left.
    found = portfolio._cap_allowance(run, phase, 2)
    assert found.evaluations == (90 if phase == len(MARKS) else 100 // ((len(MARKS) + 1) * 2))
    assert found.model_calls == 90


@pytest.mark.parametrize(
    ("means", "kept"),
    [((3.0, 2.0, 1.0), "ab"), ((1.0, 2.0, 3.0), "bc"), ((1.0, 1.0, 1.0), "abc"), ((1.0, 3.0, 2.0, 0.0), "bc"), ((2.0, 2.0, 1.0, 3.0), "abd")],
)  # fmt: skip
def test_the_better_half_stays_with_those_that_are_no_worse(means: tuple[float, ...], kept: str) -> None:
    gained = {name: MemberGain(mean, 0.0) for name, mean in zip("abcd", means, strict=False)}
    assert better_half([*gained], gained) == [*kept]


def test_the_member_with_the_fewest_programs_is_next() -> None:
    run = member_run((1, "a", 8.0), (2, "b", 9.0), (3, "a", 7.0))
    assert portfolio._choose_member(run, ["a", "b"]) == "b"
    # Rounds that run at the same time take different members.
    run.window = 2
    assert [
        portfolio._choose_member(SimpleNamespace(**vars(run) | {"number": at}), ["a", "b"]) for at in (4, 5, 6)
    ] == ["b", "a", "b"]
    equal = member_run((1, "a", 8.0), (2, "b", 9.0))
    assert [portfolio._choose_member(equal, alive) for alive in (["a", "b"], ["b", "a"])] == ["a", "b"]


def test_a_parent_of_the_same_round_is_no_elite() -> None:
    def child(*parents: str, score: float = 1.0):
        made = record("2.0", score)
        candidate = Candidate(**{**vars(made.candidate), "parents": parents})
        return SimpleNamespace(candidate=candidate, score=score)

    history = [[record("0.0", 9.0)], [record("1.0", 2.0), record("1.1", None)]]
    for parents, score, rate in (
        (("1.0",), 1.0, 1.0), (("1.0",), 2.0, 0.0), (("1.0",), 3.0, 0.0), (("print 2.1",), 3.0, 1.0), (("a.b",), 3.0, 1.0), (("1.1",), 3.0, 1.0),
        ((), 3.0, 1.0), ((), 9.5, 0.0), (("1.0", "0.0"), 3.0, 0.0),
    ):  # fmt: skip
        assert success_rate([*history, [child(*parents, score=score)]], lambda value: -value) == rate, parents
