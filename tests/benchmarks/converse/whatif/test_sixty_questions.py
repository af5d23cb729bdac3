"""Sixty questions of planners by their lines and by recorded replies of a language model that saw the prompts alone."""

import asyncio
import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from oragent._base.errors import ConfigError
from oragent.llm.callable import wrap_function
from oragent.llm.model_settings import RuntimeWords
from oragent.modelling.files.model_files import write
from oragent_benchmarks.converse.whatif.question_sets import QUESTIONS as FILE
from oragent_benchmarks.converse.whatif.question_sets import read_questions
from oragent_benchmarks.converse.whatif.run_questions import bench_questions, print_scores, run_questions
from tests.benchmarks.converse.whatif.played import REPLIES, replay, write_set
from tests.benchmarks.converse.whatif.questions import QUESTIONS
from tests.modelling import indexed_models

RUNTIME = RuntimeWords((), {"model.name": "recorded"}, None).read_runtime(("agent",))
# One question of each model, for the fast tests.
FEW = QUESTIONS[7::10]


def run(folder: Path, agent: str, model=None):
    return asyncio.run(run_questions(folder, agent, RUNTIME, folder / f"out-{agent}", model))


def check_lines(folder: Path) -> None:
    scores = run(folder, "gold")
    assert [(score.question.question, score.breach) for score in scores if score.breach] == []
    assert print_scores(scores, Console(file=io.StringIO())) == 0


def check_replies(folder: Path) -> None:
    scores = run(folder, "T-P-P", wrap_function(replay()))
    assert [(score.question.question, score.breach) for score in scores if score.breach] == []
    assert sum(score.unsupported for score in scores) == 0
    assert {score.calls for score in scores} == {2}
    # A quarter of what three turns on 448 variables took before, for one message.
    assert max(score.tokens for score in scores) < 131_000 / 3 / 4


def test_few_are_right_by_lines_and_by_the_model(tmp_path: Path) -> None:
    write_set(tmp_path, FEW)
    check_lines(tmp_path)
    check_replies(tmp_path)


@pytest.mark.slow
def test_all_are_right_by_one_line_each(tmp_path: Path) -> None:
    assert len({question.text for question in QUESTIONS}) == len(QUESTIONS) == 60
    check_lines(write_set(tmp_path))


@pytest.mark.slow
def test_all_are_right_by_the_model_in_two_calls_each(tmp_path: Path) -> None:
    assert set(REPLIES) == {question.text for question in QUESTIONS}
    check_replies(write_set(tmp_path))


def test_an_answer_without_the_figure_or_with_another_one_is_wrong(tmp_path: Path) -> None:
    write_set(tmp_path, QUESTIONS[2:4])
    answers = iter(["It costs 31 EUR more.", "It is {r1.objective.before}."])

    def reply(messages: list[dict[str, str]]) -> str:
        question = next(message["content"] for message in reversed(messages) if message["content"] in REPLIES)
        if messages[-1]["content"] != question:
            return next(answers)
        return f"```json\n{json.dumps({'name': 'ask', 'arguments': {'lines': REPLIES[question][0]}})}\n```"

    assert all(score.breach for score in run(tmp_path, "T-P-P", wrap_function(reply)))


def test_a_small_model_that_writes_lines_is_measured_by_the_same_set(tmp_path: Path) -> None:
    write_set(tmp_path, FEW)
    lines = {question.text: [question.line] for question in FEW}
    corrected = FEW[1].text

    def write_lines(messages: list[dict[str, str]]) -> str:
        asked = next(message["content"] for message in messages if message["content"] in lines)
        is_first = messages[-1]["content"] == asked
        return json.dumps({"lines": ["how much?"] if asked == corrected and is_first else lines[asked]})

    scores = run(tmp_path, "lines", wrap_function(write_lines))
    assert all(not score.breach for score in scores)
    assert {score.question.question: score.calls for score in scores if score.calls > 1} == {corrected: 2}


@pytest.mark.parametrize("agent", ["C-P-P", "T-P-P,gold", "T-P-P"])
def test_agents_that_cannot_answer_are_refused(tmp_path: Path, agent: str) -> None:
    write_set(tmp_path, FEW[:1])
    with pytest.raises(ConfigError):
        bench_questions(tmp_path, agent, RuntimeWords((), {}, None), tmp_path / "out", Console(file=io.StringIO()))


def test_a_wrong_answer_is_named(tmp_path: Path) -> None:
    write(indexed_models.bakery(), tmp_path / "bakery.json")
    rows = [
        {"model": "bakery.json", "question": "a", "lines": ["solve"], "expected": {"objective": 1.0}},
        {"model": "bakery.json", "question": "b", "lines": ["solve"], "expected": {"objectiv": 1.0}},
        {"model": "bakery.json", "question": "c", "lines": ["nonsense"], "expected": {"objective": 1.0}},
        {"model": "bakery.json", "question": "d", "lines": ["solve"], "expected": {"status": "optimal"}},
    ]
    (tmp_path / FILE).write_text("\n".join(map(json.dumps, rows)))
    scores = run(tmp_path, "gold")
    assert [bool(score.breach) for score in scores] == [True, True, True, False]
    assert print_scores(scores, Console(file=io.StringIO())) == 3


@pytest.mark.parametrize(
    "text",
    ["", "{}", "[1]", '{"model": "none.json", "question": "", "lines": [], "expected": {}}', '{"model": "../a.json"}'],
)
def test_a_damaged_set_is_refused_in_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE).write_text(text)
    with pytest.raises(ConfigError) as refused:
        read_questions(tmp_path)
    assert "\n" not in str(refused.value)
