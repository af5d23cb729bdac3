"""Formulation from Python: ``from oragent.formulate.api import formulate``."""

import asyncio
import inspect
import tempfile
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from oragent._base.budget import Budget
from oragent._base.errors import ModelError
from oragent.formulate.folder import FormulationEnd, FormulationRequest, create_folder, run_formulation
from oragent.formulate.formulation import FormulationResult
from oragent.formulate.methods import METHODS
from oragent.formulate.options import ROLES, Options, check_known, choose_options
from oragent.formulate.problem import DEFAULT, ProblemText, ProgramInterface
from oragent.formulate.running import Bounds
from oragent.llm.callable import Function, wrap_function
from oragent.llm.model import Model
from oragent.llm.model_settings import RuntimeWords, build_runtime, check_roles


def formulate(
    text: str,
    data: Mapping[str, Any] | None = None,
    model: str | Function | Model = "",
    *,
    name: str = "problem",
    interface: ProgramInterface = DEFAULT,
    preset: str = "default",
    folder: Path | None = None,
    replay: Path | None = None,
    budget: Budget | None = None,
    bounds: Bounds | None = None,
    settings: Mapping[str, Any] | None = None,
    **options: Any,
) -> FormulationResult:
    """Turn a problem in words into a solved and checked model.

    Args:
        text: The problem.
        data: Parameters by name, as plain data; None if the text has all figures.
        model: Name of a model at ``OPENAI_BASE_URL``; a function that takes messages and returns a text; or a model.
        name: Name of the problem, used for its folder.
        interface: Function that the program must define.
        preset: ``default`` or ``paper``.
        folder: Parent of the new folder ``NAME/TIME``, as in the command; None writes no files.
        replay: Folder of an earlier formulation, whose replies are reused. Only other prompts are sent to a model.
        budget: Limits of calls, tokens and money; None means no limit.
        bounds: Limits of each program.
        settings: ``model``, ``models``, ``ensemble`` and ``budget`` as in a file of settings, such as
            ``{"model": {"name": "m", "base_url": "http://localhost:8000/v1"}, "budget": {"money": 2}}``.
        options: Fields of ``Options`` that differ from the preset's, such as ``method="cot"``.

    Returns:
        Model, solution, program, checks, pool and costs.

    Raises:
        ConfigError: An option is unknown.
        ModelError: The model cannot be called, or the budget was spent before there was an answer.
    """
    for option in options:
        check_known(option, Options.__dataclass_fields__, "option")
    run_options = choose_options(preset, **options)
    check_known(run_options.method, METHODS, "method")
    if isinstance(model, str) and model:
        named_model = {"model.name": model}
    else:
        named_model = {}
    runtime = check_roles(build_runtime(settings or {}, RuntimeWords(shortcuts=named_model).overrides), ROLES)
    if budget is not None:
        runtime = replace(runtime, budget=budget)
    request = FormulationRequest(ProblemText(name, text, dict(data or {}), interface), run_options, runtime)
    if isinstance(model, str):
        model_instance = None
    else:
        model_instance = _as_model(model)
    with tempfile.TemporaryDirectory(prefix="oragent-formulate-") as passing:
        open_folder = partial(create_folder, Path(passing) if folder is None else folder, request)
        outcome = _launch_outside_loop(open_folder, request, model_instance, replay, bounds)
    if outcome.result is None:
        raise ModelError(outcome.reason)
    return outcome.result


def _as_model(model: Function | Model) -> Model:
    """Return a model; a function of messages is wrapped. A model is recognised by its parameter ``request``."""
    if callable(model) and "request" in inspect.signature(model).parameters:
        return model  # type: ignore[return-value]
    return wrap_function(model)  # type: ignore[arg-type]  # what cannot be called is refused there


def _launch_outside_loop(
    open_folder: Callable[[], Path],
    request: FormulationRequest,
    model: Model | None,
    replay: Path | None,
    bounds: Bounds | None,
) -> FormulationEnd:
    """Launch in a separate thread if this thread already runs an event loop, as in a notebook."""

    def run_launch() -> FormulationEnd:
        fresh = model is not None or request.runtime.model is not None
        return run_formulation(open_folder, request, model=model, replay=replay, fresh=fresh, bounds=bounds)

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return run_launch()
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(run_launch).result()
