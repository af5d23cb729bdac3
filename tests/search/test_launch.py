"""A search asks each role's own model, all with the one key that the environment held."""

from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_cli import complaint, oragent
from tests.llm.chat_server import Answer, ChatServer, ok


def answer(request: dict[str, Any]) -> Answer:
    prompt = request["messages"][-1]["content"]
    if "JSON list" in prompt:
        return ok('[{"title": "broken", "idea": "Fail."}]')
    if "What went wrong" in prompt:
        return ok("```python\ndef guess(x):\n    return 70\n```")
    return ok("```python\ndef guess(x):\n    return 1 / 0\n```")


@pytest.mark.slow
def test_roles_may_have_models_of_their_own_and_who_writes_programs_mends_them(toy: Path, tmp_path: Path) -> None:
    with ChatServer(*[answer] * 40) as server:
        done = oragent(
            "run", "toy", "--model", "main", "--evaluations", 3, "or_agent.initial_ideas=1", "or_agent.rounds=tree", "strategy.window=1",
            "models={idea: {name: thinker}, code: {name: coder}}",
            cwd=tmp_path, OPENAI_BASE_URL=server.url, OPENAI_API_KEY="sk-secret",
        )  # fmt: skip
        asked = [(request["model"], request["messages"][-1]["content"]) for request in server.requests]
        keys = set(server.keys)
    assert done.returncode == 0, done.stderr
    assert {model for model, _ in asked[:3]} == {"thinker", "coder", "main"}  # each has shown that it answers
    tasks = zip(asked[3:6], ("You lead the research", "You write the next program", "What went wrong"), strict=True)
    assert [(model, words in prompt) for (model, prompt), words in tasks] == [
        ("thinker", True), ("coder", True), ("coder", True),
    ]  # fmt: skip
    assert keys == {"Bearer sk-secret"}


def test_a_role_that_nobody_plays_is_named_before_anything_begins(toy: Path, tmp_path: Path) -> None:
    done = oragent("run", "toy", "--model", "scripted", "models={ideas: {name: m}}", cwd=tmp_path)
    assert "models.ideas" in complaint(done)
    assert not (tmp_path / "outputs").exists()
