"""What prompts say of times, of where the search stands and how a program came about, and in which wording."""

import asyncio
import re
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent._base.budget import Spent
from oragent._base.prompt_templates import split_style
from oragent._base.protocol import Status
from oragent.evaluation import Evaluation
from oragent.evaluation.pool import JobPool
from oragent.evaluation.problem import CandidateInput, load_problem
from oragent.llm.model_settings import ModelSettings
from oragent.search.archive import Archive
from oragent.search.candidate import Candidate, Elite
from oragent.search.prompting.programs import describe_lineage, format_figure
from oragent.search.prompting.prompt_templates import (
    blocks_hint,
    describe_times,
    program_request,
    round_one_two_five,
    system_prompt,
)
from oragent.search.prompting.search_summary import set_title, summarise_search
from oragent.search.round_context import RoundContext
from oragent.search.run_context import PROMPTS, ReplyCounts, RunContext, choose_style, count_replies
from oragent.search.scoring import Scoring
from oragent.search.store import Store
from tests.search.test_engine import scored


@given(st.floats(1e-3, 1e6))
def test_times_are_told_in_steps_of_1_2_5(value: float) -> None:
    step = round_one_two_five(value)
    assert float(f"{step:e}".partition("e")[0]) in (1.0, 2.0, 5.0)
    assert 0.6 < value / step < 1.7
    assert round_one_two_five(step) == step


@pytest.mark.parametrize(
    ("metrics", "words"),
    [
        ({}, ""),
        ({"heuristic_seconds": True}, ""),
        ({"heuristic_seconds": float("nan")}, ""),
        ({"heuristic_seconds": 0.04}, "less than 0.1 s"),
        ({"heuristic_seconds": 0.43}, "about 0.5 s"),
        ({"heuristic_seconds": 2.13}, "about 2 s"),
        ({"heuristic_seconds": 8.7654, "heuristic_calls": 12800, "instances_done": 128, "places_seconds": {"size 20": 1.0, "size 100": 7.7654}}, "about 10 s in 12,800 calls on 128 instances (size 20 about 1 s; size 100 about 7 s)"),
        ({"heuristic_seconds": 2.13, "places_seconds": {"size 20": 0.1, "size 100": 2.0}}, "about 2 s (size 20 about 0.1 s; size 100 about 2 s)"),
        ({"heuristic_seconds": 2.13, "places_seconds": {"size 20": 1.0, "size 100": 1.03}}, "about 2 s (size 20 about 1 s; size 100 about 1 s)"),
        ({"heuristic_seconds": 2.13, "places_seconds": "rubbish"}, "about 2 s"),
        ({"heuristic_seconds": 2.8, "start_seconds": 6.3, "places_seconds": {"size 40": 0.6, "size 80": 0.9}}, "about 3 s (import and compilation, which do not count: about 7 s; calls: size 40 about 0.7 s, size 80 about 1 s)"),
    ],
)  # fmt: skip
def test_the_functions_own_time_is_told_with_the_size_that_takes_most(metrics: dict, words: str) -> None:
    assert describe_times(metrics) == words


@pytest.mark.parametrize(
    ("name", "style"),
    [
        ("qwen2.5-coder:1.5b", "small"),
        ("Qwen/Qwen3-8B", "small"),
        ("llama-3.3-70b-instruct", "strong"),
        ("gpt-5-mini", "strong"),
        ("mixtral-8x7b", "strong"),
        ("claude-sonnet-4-5", "strong"),
    ],
)
def test_at_first_the_size_in_a_name_decides_the_wording(name: str, style: str) -> None:
    assert choose_style(ModelSettings(name), ReplyCounts()) == style
    assert choose_style(ModelSettings(name, style="small"), ReplyCounts(9, 9, 9)) == "small"


def test_then_the_replies_decide() -> None:
    small, strong = ModelSettings("m-1.5b"), ModelSettings("gpt-5")
    assert choose_style(small, ReplyCounts(5, 5, 5)) == "small"  # too few
    assert choose_style(small, ReplyCounts(5, 5, 5) + ReplyCounts(5, 5, 4)) == "strong"
    assert choose_style(small, ReplyCounts(10, 8, 10)) == "small"
    # a strong model has a few edits that do not match
    assert choose_style(strong, ReplyCounts(10, 6, 9)) == "strong"
    assert choose_style(strong, ReplyCounts(10, 5, 9)) == "small"
    assert choose_style(strong, ReplyCounts(10, 10, 4)) == "strong"
    assert choose_style(strong, ReplyCounts(10, 10, 3)) == "small"
    assert choose_style(None, ReplyCounts()) == "strong"


@pytest.mark.parametrize("source", CandidateInput)
def test_no_prompt_forbids_what_the_input_of_a_program_needs(source: CandidateInput, toy: Path) -> None:
    (toy / "problem.yaml").write_text(f"{(toy / 'problem.yaml').read_text()}\ninput: {source}\n")
    problem = load_problem(toy)
    request = program_request(cast(RoundContext, SimpleNamespace(problem=problem)))
    texts = [problem.brief]
    for wording in PROMPTS.list_names():
        name, style = split_style(wording)
        values = dict.fromkeys(PROMPTS.list_placeholders(name)[0], "")
        texts.append(PROMPTS.fill(name, style, **values | request))
    for prohibition, allowed in (("no files", CandidateInput.FILES), ("no printing", CandidateInput.STREAMS)):
        assert any(prohibition in text for text in texts) is (source is not allowed)
    assert ("files whose paths" in problem.brief) is (source is CandidateInput.FILES)
    assert ("standard output" in problem.brief) is (source is CandidateInput.STREAMS)


@pytest.fixture
def on_a_line(begun):
    """A run whose archive holds a line of three programs."""

    def make(*settings: str) -> tuple[RoundContext, list[Elite]]:
        folder = begun(
            "model.name=m", "strategy.name=or_agent", "budget.evaluations=200", "budget.model_calls=40", *settings
        )
        with Store(folder.database) as store:
            pool = JobPool(1, scored)
            scoring = Scoring(folder.problem, folder.root, folder.config, store, pool, lambda: 0.0)
            context = RunContext(
                folder.problem, folder.config, folder.config.or_agent, store, scoring, None, lambda: 0.0
            )
            context.packages = ("numpy", "numba")
            run = RoundContext.opened(
                context, 1, archive=Archive("minimize"), rng=np.random.default_rng(1), allowance=Spent(7, 9, 10**6, 1.0, 1.0),
                horizon=0, island=0, spent=Spent(30, 10),
            )  # fmt: skip

            async def evaluated() -> None:
                parent = ()
                for body in ("x * 2.0", "x * 20", "x * 30"):
                    made = await run.evaluate(f"def guess(x):\n    return {body}\n", parent, "code")
                    parent = (made.id,)

            asyncio.run(evaluated())
            pool.close()
        elites = [Elite.of(one) for one in run.candidates]
        for one in elites:
            run.archive.add(one, 0)
        return run, elites

    return make


def test_the_standing_names_the_best_the_budget_and_what_the_step_may_cost(on_a_line) -> None:
    run, (_, better, best) = on_a_line()
    set_title(run, better.source, "twenty  times\nas much")
    lines = summarise_search(run, better).split("\n")
    assert lines[0] == ("Where the search stands: the best score is 10 (lower is better). The program below has 40.")
    assert lines[2:5] == [
        "- 10: `return x * 30`; remainder 6",
        "- 40: twenty times as much; remainder 4",
        "- 94: the seed heuristic; remainder 6",
    ]
    assert (
        lines[5]
        == "Left of the budget: 170 evaluations (this step may use 4) and 30 model calls (this step may use 9)."
    )
    assert "that of the program below" in summarise_search(run, best)


def test_the_line_of_descent_says_what_each_step_brought(on_a_line) -> None:
    run, (_, better, best) = on_a_line()
    set_title(run, best.source, "thirty")
    assert describe_lineage(run, best) == "How it came about:\n- 94 -> 40: return x * 20\n- 40 -> 10: thirty"
    assert describe_lineage(run, better).count("->") == 1


def test_both_can_be_left_out(on_a_line) -> None:
    run, (_, _, best) = on_a_line("strategy.standing=false", "strategy.history=false")
    assert summarise_search(run, best) == describe_lineage(run, best) == ""


def test_building_blocks_go_once_a_program_has_left_them_behind(on_a_line) -> None:
    run, (seed, *_) = on_a_line("strategy.blocks=all")
    assert "`x * x`" in blocks_hint(run, seed)
    terms = " + ".join(f"x * {number}.5" for number in range(60))
    grown = Elite(id="g", source=f"def guess(x):\n    return {terms}\n", score=1, features=None, metrics={})
    assert blocks_hint(run, grown) == ""
    assert "`x * x`" in blocks_hint(run)


def test_the_problem_comes_first_with_limits_and_packages_and_is_the_same_each_time(on_a_line) -> None:
    run, _ = on_a_line("limits.heuristic_s=5")
    said = system_prompt(run)
    assert said.role == "system"
    assert said == system_prompt(run)
    assert "20 CPU seconds in all, and all calls of the function together 5 of them" in said.content
    assert "for at most 90 CPU seconds" in said.content
    assert "Programs may import numpy and numba, in Python 3." in said.content


def test_a_program_that_ran_out_of_time_does_not_make_its_writer_a_small_model() -> None:
    def written(status: Status, score: float | None = None) -> Candidate:
        evaluation = Evaluation(status, score, wall_s=1.0)
        return Candidate(source="", fingerprint="", parents=(), origin="code", island=0, call=0, evaluation=evaluation)

    late = [*[written(Status.TIMEOUT)] * 6, *[written(Status.OK, 1.0)] * 3]
    assert choose_style(ModelSettings("gpt-5"), count_replies(late)) == "strong"
    broken = [*[written(Status.ERROR)] * 6, *[written(Status.OK, 1.0)] * 3]
    assert choose_style(ModelSettings("gpt-5"), count_replies(broken)) == "small"


def test_a_metric_is_never_cut_within_a_value() -> None:
    routes = {f"route {number}": 12.3456789 for number in range(40)}
    text = format_figure(routes)
    assert text.startswith("{route 0: 12.3457, ")
    assert re.search(r", and \d+ more}$", text)
    assert format_figure([1.0, 2.0]) == "[1, 2]"
    assert format_figure("x" * 500).endswith("…")
