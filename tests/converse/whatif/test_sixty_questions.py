"""The sixty questions by gold lines and by a language model that saw the prompts: right, and how many calls and tokens."""

import asyncio
import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from oragent._base.errors import ConfigError
from oragent.evals.converse.whatif.question_sets import QUESTIONS as FILE
from oragent.evals.converse.whatif.question_sets import read_questions
from oragent.evals.converse.whatif.run_questions import print_scores, run_questions
from oragent.llm.callable import wrap_function
from oragent.llm.model_settings import RuntimeWords
from oragent.milp.indexed_files import write_indexed
from tests.converse.whatif.sixty import SIXTY
from tests.milp import indexed_models
from tests.milp.test_operations_truth import QUESTIONS

RUNTIME = RuntimeWords((), {"model.name": "recorded"}, None).read_runtime(("agent",))
LINES = {question: lines for _, question, lines, _ in SIXTY}
PATHS = {question: path for _, question, _, path in SIXTY}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The set as a folder; the expected figures are those of independent scripts."""
    rows = []
    for place, question, lines, path in SIXTY:
        name, _, _, truth = QUESTIONS[place]
        target = tmp_path / f"{name}.json"
        if not target.exists():
            write_indexed(getattr(indexed_models, name)(), target)
        value = None if path == "status_after" else truth()
        expected = {path: "infeasible" if value is None else value}
        rows.append({"model": target.name, "question": question, "lines": lines, "expected": expected})
    (tmp_path / FILE).write_text("\n".join(map(json.dumps, rows)))
    return tmp_path


def reply(messages: list[dict[str, str]]) -> str:
    """What the model wrote: first a call of the tool, then an answer whose figures are references."""
    asked = next(message["content"] for message in reversed(messages) if message["content"] in LINES)
    if messages[-1]["content"] == asked:
        call = {"name": "ask", "arguments": {"lines": LINES[asked]}}
        return f"```json\n{json.dumps(call)}\n```"
    path = PATHS[asked]
    if path == "status_after":
        return "That is {r1.possible}: the constraints do not allow it."
    return f"It is {{r1.{path}}}."


def run(folder: Path, agent: str, model=None):
    return asyncio.run(run_questions(folder, agent, RUNTIME, folder / f"out-{agent}", model))


@pytest.mark.slow
def test_all_are_one_line_each_and_right(folder: Path) -> None:
    assert len(SIXTY) == 60
    assert all(len(lines) == 1 for _, _, lines, _ in SIXTY)
    scores = run(folder, "gold")
    assert [(score.question.question, score.breach) for score in scores if score.breach] == []
    assert print_scores(scores, Console(file=io.StringIO())) == 0


@pytest.mark.slow
def test_a_model_that_saw_the_prompts_is_right_in_two_calls_each(folder: Path) -> None:
    scores = run(folder, "T-P-P", wrap_function(reply))
    assert [(score.question.question, score.breach) for score in scores if score.breach] == []
    assert sum(score.unsupported for score in scores) == 0
    assert {score.calls for score in scores} == {2}
    assert max(score.tokens for score in scores) < 10_000


@pytest.mark.slow
def test_a_small_model_that_writes_lines_is_measured_by_the_same_set(folder: Path) -> None:
    def write_lines(messages: list[dict[str, str]]) -> str:
        if "Refused" in messages[-1]["content"] or "bagel" not in messages[-1]["content"]:
            return json.dumps({"lines": LINES[next(one["content"] for one in messages if one["content"] in LINES)]})
        return '{"lines": ["how many bagels?"]}'

    scores = run(folder, "lines", wrap_function(write_lines))
    assert all(not score.breach for score in scores)
    assert sorted({score.calls for score in scores}) == [1, 2]


def test_a_wrong_answer_is_named(tmp_path: Path) -> None:
    write_indexed(indexed_models.bakery(), tmp_path / "bakery.json")
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
