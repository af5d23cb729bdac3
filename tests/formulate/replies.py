"""Play a formulation with given replies."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from oragent._base.budget import Budget
from oragent.ledger import LedgerCase, Study
from oragent.llm.callable import Scripted
from oragent.llm.model import Request


def play(folder: Path, work: Callable[[LedgerCase], Awaitable[Any]], replies: Mapping[str, str], other: str) -> Any:
    """Return the result of a case whose replies are given by role; other roles get the last text."""

    def reply(request: Request, number: int) -> str:
        return replies.get(request.role, other)

    with Study(folder, {"": Scripted(reply)}, Budget(evaluations=None)) as study:
        (finished,) = asyncio.run(study.run_cases(["case"], work))
    return finished.result
