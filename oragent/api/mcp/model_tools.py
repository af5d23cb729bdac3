"""Tools for optimisation models: open, ask, the grammar of lines, convert."""

import asyncio
from collections.abc import Sequence
from functools import partial
from importlib.resources import files
from typing import Annotated, Literal

from pydantic import Field

from oragent._base.errors import ConfigError, ModellingError
from oragent._base.text_format import one_line
from oragent.api.mcp.answers import page_of_text
from oragent.api.mcp.problems import Page
from oragent.api.mcp.registry import ToolEntry, describe_tool
from oragent.api.mcp.workplace import Workplace
from oragent.modelling.convert import SOURCES, convert_model, form_of, write_source
from oragent.modelling.opening import open_model
from oragent.modelling.operations import ModelSession, SolveLimits, parse_line, schemas
from oragent.modelling.operations import requests as ops
from oragent.modelling.solving.back_ends.registry import find_solver

# Maximum number of open models per server.
MAX_MODELS = 16
MAX_LINES = 20
# Seconds of a solve.
SOLVE_S = 60.0
# Requests repeat the arguments, and limits those of model_open.
OMITTED = {"request", "limits"}

Form = Literal["json", "lp", "mps", "pulp", "pyomo", "gurobipy", "mathopt"]
# Words of forms that the head of the grammar explains.
DEFINED = ("REF", "TARGET", "CHANGE")
ModelHandle = Annotated[str, Field(description="Handle from model_open.")]


class _OpenModel:
    """A session, used by one call at a time."""

    def __init__(self, session: ModelSession) -> None:
        self.session = session
        self.lock = asyncio.Lock()


def model_tools(workplace: Workplace) -> Sequence[ToolEntry]:
    """Make the tools for models."""
    models: dict[str, _OpenModel] = {}

    def find(model: str) -> _OpenModel:
        if model not in models:
            open_names = ", ".join(models) or "none"
            raise ConfigError(f"no open model {one_line(model, 40)!r}: open are {open_names}; call model_open")
        return models[model]

    @describe_tool("model")
    async def model_open(
        path: Annotated[str, Field(description="A .json, .lp or .mps file, a program (.py), or a run's folder.")],
        seconds: Annotated[float, Field(gt=0, le=3600, description="Limit of each solve.")] = SOLVE_S,
        gap: Annotated[float, Field(ge=0, lt=1)] = 0.0,
        solver: Annotated[str, Field(description="doctor lists them.")] = "highs",
    ) -> object:
        """Open an optimisation model and describe it. A program runs in the sandbox."""
        if len(models) >= MAX_MODELS:
            # Close the oldest model.
            models.pop(next(iter(models)))
        resolved = workplace.resolve(path)
        notes: list[str] = []
        opened = await workplace.work(lambda: open_model(resolved, tell=notes.append))
        session = ModelSession(
            opened, SolveLimits(solver=find_solver(solver).name, seconds=seconds, gap=gap), folder=resolved.parent
        )
        handle = next(f"m{number}" for number in range(1, 10**9) if f"m{number}" not in models)
        models[handle] = _OpenModel(session)
        result = await workplace.work(lambda: session.ask("describe"))
        return {"model": handle, "notes": notes, "describe": _dump(result)}

    @describe_tool("lines")
    async def model_ask(
        model: ModelHandle,
        lines: Annotated[list[str], Field(min_length=1, max_length=MAX_LINES)],
    ) -> object:
        """Run lines in order, such as solve, describe ship[Paris, *], why x[a], whatif demand[*] *= 1.1, verify "FILE".

        A question changes nothing. model_grammar lists all lines.
        """
        return await _ask(workplace, find(model), lines)

    @describe_tool("text", reads=True)
    async def model_grammar(
        verb: Annotated[str, Field(description="Such as whatif; empty: all.")] = "", page: Page = 1
    ) -> object:
        """Return the forms of lines for model_ask and workspace_ask, with what each does."""
        return page_of_text(write_grammar(verb), page)

    @describe_tool("converted", again=True)
    async def model_convert(
        model: ModelHandle,
        to: Form,
        out: Annotated[str, Field(description="New file to write; empty: source is returned.")] = "",
        replace: Annotated[bool, Field(description="Replace an existing file.")] = False,
        page: Page = 1,
    ) -> object:
        """Write the present scenario of a model in another form: a file, or source of a modelling library."""
        opened = find(model)
        async with opened.lock:
            present = opened.session.model
            if not out:
                if to not in SOURCES:
                    raise ConfigError(
                        f"{one_line(to, 40)!r} needs a file: give out; without it, to is one of {SOURCES}"
                    )
                return {"form": to, **page_of_text(await workplace.work(lambda: write_source(present, to)), page)}
            target = workplace.resolve(out, exists=False)
            form = form_of(target, to)
            if target.exists() and not replace:
                raise ConfigError(f"{one_line(out, 80)} exists: name a new file, or set replace")
            await workplace.work(lambda: convert_model(present, target, form))
            return {"form": form, "file": str(target.relative_to(workplace.root))}

    return [model_open, model_ask, model_grammar, model_convert]


async def _ask(workplace: Workplace, opened: _OpenModel, lines: Sequence[str]) -> dict[str, object]:
    requests = [_parse(workplace, line) for line in lines]
    results: list[object] = []
    async with opened.lock:
        for line, request in zip(lines, requests, strict=True):
            try:
                results.append(_dump(await workplace.work(partial(opened.session.ask, request))))
            except ModellingError as problem:
                if not results:
                    raise
                return {"results": results, "failed_line": line, "error": one_line(str(problem), 600)}
    return {"results": results}


def _parse(workplace: Workplace, line: str) -> ops.AnyRequest:
    """Parse a line; files that it names must lie within the server's folder."""
    try:
        request = parse_line(line)
    except ModellingError as problem:
        word, verbs = "".join(line.split()[:1]), list_verbs()
        # An unknown word is refused with all verbs.
        if word in verbs or word.isalpha():
            raise
        raise ModellingError(f"{problem}; verbs are {', '.join(verbs)}") from None
    if isinstance(request, ops.VerifyRequest | ops.InverseRequest | ops.DiffRequest):
        return request.model_copy(update={"file": str(workplace.resolve(request.file))})
    return request


def list_verbs() -> list[str]:
    """List the words with which lines of operations begin."""
    words = [form.split(" ", 1)[0].split("|") for form in (entry["syntax"] for entry in schemas().values())]
    return sorted({word for group in words for word in group if word.isalpha() and word.islower()})


def write_grammar(verb: str = "") -> str:
    """Return the forms of lines of operations, with what each does.

    Raises:
        ConfigError: There is no such verb.
    """
    entries = [entry for entry in schemas().values() if not verb or verb in entry["syntax"].split(" ", 1)[0].split("|")]
    if not entries:
        raise ConfigError(f"no verb {one_line(verb, 40)!r}: expected one of {', '.join(list_verbs())}")
    forms = "".join(f"{entry['syntax']}\n    {entry['summary']}\n" for entry in entries)
    head = (files("oragent.api.mcp") / "grammar.txt").read_text(encoding="utf-8")
    if not verb:
        return head + forms
    words = [word for word in DEFINED if word in forms]
    return forms + "".join(f"{line}\n" for line in head.splitlines() if any(f"({word})" in line for word in words))


def _dump(result: object) -> object:
    return result.model_dump(mode="json", exclude=OMITTED, exclude_defaults=True)  # type: ignore[attr-defined]
