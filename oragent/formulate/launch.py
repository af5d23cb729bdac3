"""Formulate one problem in a folder: begin, go on, replay."""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from oragent._base.errors import ConfigError
from oragent.formulate.folder import CASE, FormulationRequest, leave
from oragent.formulate.formulation import FormulationResult, formulated
from oragent.formulate.running import Bounds, FormulationRunner, solution_of
from oragent.ledger.case import LedgerCase
from oragent.ledger.runtime import open_study
from oragent.llm.model import Model
from oragent.milp.solution import Solution
from oragent.milp.solving import priced
from oragent.sandbox.border import Sandbox


@dataclass(frozen=True)
class FormulationEnd:
    """How it ended.

    Attributes:
        found: What came of it; None where it was left unfinished.
        solution: Of its model, with duals.
        reason: Why it was left unfinished.
    """

    found: FormulationResult | None
    solution: Solution | None = None
    reason: str = ""


def launch(
    folder: Path | Callable[[], Path],
    request: FormulationRequest,
    *,
    model: Model | None = None,
    replay: Path | None = None,
    fresh: bool = False,
    bounds: Bounds | None = None,
) -> FormulationEnd:
    """Formulate the problem of a folder, or go on with it.

    Args:
        folder: Where it lives, ``run.db`` in it has what was paid for; or a function that makes it, which is called
            once the model has answered, so that a missing key leaves nothing.
        request: What is asked.
        model: Who is asked; None: whom the request names, at its server.
        replay: Folder whose replies are given again, and nobody is asked.
        fresh: Whether a prompt that reads otherwise than when it was answered there is put to a model after all.
        bounds: Of each program.

    Raises:
        OragentError: It cannot begin.
    """
    own = bounds or Bounds(request.options.time_s, gap=request.options.gap)
    return asyncio.run(_launch(folder, request, model, replay, fresh or replay is None, own))


async def _launch(
    home: Path | Callable[[], Path],
    request: FormulationRequest,
    model: Model | None,
    replay: Path | None,
    is_asking: bool,
    bounds: Bounds,
) -> FormulationEnd:
    if model is None and is_asking and request.runtime.model is None:
        raise ConfigError("nobody is asked: name a model with --model, or a folder to --replay")
    async with AsyncExitStack() as stack:
        opening = open_study(home, request.runtime, model=model, replay=replay, is_asking=is_asking)
        study = await stack.enter_async_context(opening)
        box = stack.enter_context(Sandbox(1))
        runner = FormulationRunner(box, bounds)

        async def work(case: LedgerCase) -> object:
            return (await formulated(case, request.problem, request.options, runner)).to_plain()

        (finished,) = await study.run([CASE], work)
        if finished is None:
            return FormulationEnd(None, reason=study.reason)
        return settle(study.folder, FormulationResult.from_plain(finished.result))


def settle(folder: Path, found: FormulationResult) -> FormulationEnd:
    """Compute duals at the very point that was checked, and write the files of the folder."""
    outcome = price_result(found)
    leave(folder, found, outcome.solution)
    return outcome


def price_result(found: FormulationResult) -> FormulationEnd:
    """Compute duals at the very point that was checked; no file is written."""
    solution = None
    if found.milp is not None and found.solution is not None:
        solution = priced(found.milp, solution_of(found.solution))
    return FormulationEnd(found, solution)
