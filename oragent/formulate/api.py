"""Formulation and verification from Python: ``oragent.formulate``, ``oragent.verify``."""

import asyncio
import inspect
import tempfile
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from oragent._base.budget import Budget
from oragent._base.errors import ConfigError, ModelError
from oragent.formulate.folder import FormulationRequest, create_folder, run_formulation
from oragent.formulate.formulation import FormulationResult
from oragent.formulate.methods import find_method
from oragent.formulate.options import ROLES, Options, check_known, choose_options
from oragent.formulate.problem import DEFAULT, ProblemText, ProgramInterface, name_problem
from oragent.formulate.running import Bounds
from oragent.formulate.verify import read_given, verify_given
from oragent.llm.callable import Function, wrap_function
from oragent.llm.model import Model
from oragent.llm.model_settings import RuntimeWords, build_runtime, check_roles

T = TypeVar("T")


def formulate(
    text: str,
    data: Mapping[str, Any] | None = None,
    model: str | Function | Model = "",
    *,
    name: str = "",
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
        name: Name of the problem, used for its folder; empty: the first words of its text.
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
        ConfigError: An option is unknown, or the data have no names.
        ModelError: The model cannot be called, or the budget was spent before there was an answer.
    """
    for option in options:
        check_known(option, Options.__dataclass_fields__, "option")
    run_options = choose_options(preset, **options)
    find_method(run_options.method)
    named_model = {"model.name": model} if isinstance(model, str) and model else {}
    runtime = check_roles(build_runtime(settings or {}, RuntimeWords(shortcuts=named_model).overrides), ROLES)
    if budget is not None:
        runtime = replace(runtime, budget=budget)
    request = FormulationRequest(_make_problem(text, data, name, interface), run_options, runtime)
    model_instance = None if isinstance(model, str) else _as_model(model)
    with tempfile.TemporaryDirectory(prefix="oragent-formulate-") as passing:
        open_folder = partial(create_folder, Path(passing) if folder is None else folder, request)
        outcome = _run_outside_loop(
            lambda: run_formulation(
                open_folder,
                request,
                model=model_instance,
                replay=replay,
                fresh=model_instance is not None or request.runtime.model is not None,
                bounds=bounds,
            )
        )
    if outcome.result is None:
        raise ModelError(outcome.reason)
    return outcome.result


def verify(
    text: str,
    model: str | Path,
    *,
    data: Mapping[str, Any] | None = None,
    checker: str = "",
    language_model: str | Function | Model = "",
    solution: str | Path | None = None,
    name: str = "",
    folder: Path | None = None,
    settings: Mapping[str, Any] | None = None,
    **options: Any,
) -> FormulationResult:
    """Verify a model against the text of its problem, by a checker that is made from the text alone.

    Args:
        text: The problem in words.
        model: A ``.json``, ``.lp`` or ``.mps`` file, a program (``.py``), or a run's folder.
        data: Parameters by name, as plain data; None if the text has all figures.
        checker: Text of a Python program with ``checks(values, data)``; empty: a language model writes one.
        language_model: Name of a model at ``OPENAI_BASE_URL``, a function that takes messages, or a model.
        solution: ``.json`` or ``.sol`` file with values to verify too.
        name: Name of the problem, used for its folder; empty: the first words of its text.
        folder: Parent of the new folder ``NAME/TIME``; None writes no files.
        settings: As for ``formulate``.
        options: Fields of ``Options``, such as ``time_s=60``.

    Returns:
        ``judgement.verdict`` and the checks; model and solution as for ``formulate``.

    Raises:
        ConfigError: Neither a checker nor a language model is given, or the data have no names.
        ModelError: The language model cannot be called.
        ModellingError: The path has no model, or the solution names an unknown variable.
    """
    for option in options:
        check_known(option, Options.__dataclass_fields__, "option")
    shortcuts = {"model.name": language_model if isinstance(language_model, str) and language_model else None}
    runtime = check_roles(build_runtime(settings or {}, RuntimeWords(shortcuts=shortcuts).overrides), ROLES)
    run_options = choose_options("default", **{"metamorphic": True, **options})
    request = FormulationRequest(_make_problem(text, data, name), run_options, runtime)
    given_model = read_given(Path(model), None if solution is None else Path(solution))
    instance = None if isinstance(language_model, str) else _as_model(language_model)
    with tempfile.TemporaryDirectory(prefix="oragent-verify-") as passing:
        parent = Path(passing) if folder is None else folder
        _, outcome = _run_outside_loop(
            lambda: verify_given(request, given_model, parent, checker=checker, model=instance)
        )
    if outcome.result is None:
        raise ModelError(outcome.reason)
    return outcome.result


def _make_problem(
    text: str, data: Mapping[str, Any] | None, name: str, interface: ProgramInterface = DEFAULT
) -> ProblemText:
    if data is not None and not isinstance(data, Mapping):
        raise ConfigError(f"data is of type {type(data).__name__}: expected values by name, such as {{'acres': 100}}")
    return ProblemText(name or name_problem(text), text, dict(data or {}), interface)


def _as_model(model: Function | Model) -> Model:
    """Return a model; a function of messages is wrapped. A model is recognised by its parameter ``request``."""
    if callable(model) and "request" in inspect.signature(model).parameters:
        return model  # type: ignore[return-value]
    return wrap_function(model)  # type: ignore[arg-type]  # what cannot be called is refused there


def _run_outside_loop(work: Callable[[], T]) -> T:
    """Call a function in a separate thread if this thread already runs an event loop, as in a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return work()
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(work).result()
