"""A model for tests whose roles are played by what each test gives, and a search that it plays in."""

import asyncio
import json
import os
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from oragent.evaluation.pool import JobPool
from oragent.ledger import RecordedReply
from oragent.llm.model import Reply, Request
from oragent.search.engine import Engine
from oragent.search.events import SearchResult
from oragent.search.folder import RunFolder
from oragent.search.store import Store
from oragent.search.strategies import choose_strategy
from tests.outlines import hold_outline
from tests.search.test_engine import scored

GOLDEN = Path(__file__).parent / "golden"
OUTLINES = GOLDEN / "prompts.txt"
IDEA = '[{"title": "closer", "idea": "Go nearer to the target."}]'
QUIET = ("or_agent.initial_ideas=1", "or_agent.children=1", "or_agent.elitist_enlargement=1", "strategy.window=1")


def golden(name: str, text: str) -> None:
    """Hold a text against what it was; to write it anew, set ORAGENT_WRITE_GOLDEN and read the difference."""
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("ORAGENT_WRITE_GOLDEN"):
        path.write_text(f"{text}\n")
    assert f"{text}\n" == path.read_text(), name


def golden_prompt(name: str, prompt: str) -> None:
    """Hold sections, figures and size of a prompt."""
    hold_outline(OUTLINES, name, prompt)


def guess(value: object) -> str:
    """A program of the toy problem."""
    return f"```python\ndef guess(x):\n    return {value}\n```"


def edit(old: str, new: str) -> str:
    return f"THOUGHT: try it\nACTION: EDIT\n<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE"


class Players:
    """Each role answers with a text, with texts in turn (the last one over again), or with a function of the prompt."""

    def __init__(self, **roles: str | Sequence[str] | Callable[[str], str]) -> None:
        given: dict[str, Any] = {"idea": IDEA, "code": guess(50), "experiment": "ACTION: STOP"}
        self.roles = given | {"lead": "Known.", "reflect": "Learned."} | roles
        self.asked: list[tuple[str, str, float | None]] = []
        self.systems: set[str] = set()

    async def __call__(self, request: Request) -> Reply:
        self.systems |= {message.content for message in request.messages if message.role == "system"}
        role, question = request.role, request.messages[-1].content
        self.asked.append((role, question, request.temperature))
        given = self.roles.get(role, "")
        if callable(given):
            text = given(question)
        elif isinstance(given, str):
            text = given
        else:
            text = given[min(len(self.prompts(role)) - 1, len(given) - 1)]
        return Reply(text, model="players", tokens_in=10, tokens_out=5, money=0.0, seconds=0.0)

    def prompts(self, role: str) -> list[str]:
        return [text for asked, text, _ in self.asked if asked == role]


class Late:
    """A model that answers after a random time."""

    def __init__(self, model: Any) -> None:
        self.model = model

    async def __call__(self, request: Request) -> Reply:
        await asyncio.sleep(random.random() / 50)
        return await self.model(request)


def search(
    folder: RunFolder,
    model: Any,
    *,
    run: Any = scored,
    workers: int = 2,
    built: Callable[[Engine], Any] = lambda engine: None,
    **more: Any,
) -> SearchResult:
    pool = JobPool(workers, run)
    with Store(folder.database) as store:
        try:
            engine = Engine(folder, store, pool, choose_strategy(folder.config), model, **more)
            built(engine)
            return asyncio.run(engine.run())
        finally:
            pool.close()


def notes(folder: RunFolder, kind: str) -> list[dict[str, Any]]:
    with Store(folder.database, readonly=True) as store:
        return [json.loads(note.text) for note in store.notes() if note.kind == kind]


def replies(folder: RunFolder) -> list[RecordedReply]:
    with Store(folder.database, readonly=True) as store:
        return store.replies.all_replies()


def origins(folder: RunFolder) -> list[str]:
    with Store(folder.database, readonly=True) as store:
        return [record.candidate.origin for record in store.records()]
