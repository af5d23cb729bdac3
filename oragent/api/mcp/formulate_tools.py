"""Tools for formulations: verify a model against its text, apply a formulation to new data."""

import io
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated

from pydantic import Field

from oragent._base.documents import JsonValue, to_plain
from oragent._base.errors import ConfigError
from oragent._base.publishing import listen
from oragent._base.terminal import Terminal
from oragent.api.mcp.answers import quote_output
from oragent.api.mcp.registry import ToolEntry, describe_tool
from oragent.api.mcp.workplace import Workplace
from oragent.formulate.command import prompt_for_checker, rerun_files, verify_files
from oragent.formulate.options import VerifyCommand
from oragent.formulate.verdicts import Verdict
from oragent.llm.model_settings import RuntimeWords

# Parts of a result that are left to its folder, where the page and the JSON of the command have them.
IN_FOLDER = {"class", "sense", "gap", "objective_parts", "limits", "effects", "comparison"}
IN_FOLDER |= {"calls", "tokens", "money", "unpriced"}
NEXT = "write the checker that the prompt asks for, and call formulate_verify again with checker_text"

Files = Annotated[list[str], Field(description="JSON, CSV or table files.")]


def formulate_tools(workplace: Workplace) -> Sequence[ToolEntry]:
    """Make the tools for formulations."""

    @describe_tool("verification")
    async def formulate_verify(
        given: Annotated[str, Field(description="Model: .json, .mps, .lp, or a program, .py.")],
        story: Annotated[str, Field(description="File: the problem in words.")] = "",
        text: Annotated[str, Field(description="Its text instead.")] = "",
        checker: Annotated[str, Field(description="File: checks(values, data) in Python.")] = "",
        checker_text: Annotated[str, Field(description="Its text instead.")] = "",
        data: Files = [],  # noqa: B006 a schema needs the default
        solution: str = "",
        model: Annotated[str, Field(description="Writes the checker, if none is given.")] = "",
    ) -> object:
        """Verify a model by a checker that was made from the problem's text alone.

        Without a checker, returns the prompt by which you write it.
        """
        if bool(story) == bool(text):
            raise ConfigError("give either story, a file, or text: the problem in words")
        command = VerifyCommand(
            workplace.resolve(story) if story else text,
            workplace.resolve(given),
            workplace.outputs / "verify",
            tuple(map(workplace.resolve, data)),
            workplace.resolve(solution) if solution else None,
            workplace.resolve(checker) if checker else checker_text or None,
            runtime=RuntimeWords((), {"model.name": model or None}),
        )
        if command.checker is None and not model:
            prompt = await workplace.work(lambda: prompt_for_checker(command))
            return {
                "exit_code": Verdict.UNCHECKED.exit_code,
                "verdict": Verdict.UNCHECKED,
                "next": NEXT,
                "prompt": prompt,
            }
        return await workplace.work(lambda: _publish(lambda console: verify_files(command, console)))

    @describe_tool("verification")
    async def formulate_rerun(
        folder: Annotated[str, Field(description="A finished formulation.")],
        data: Files,
    ) -> object:
        """Apply a formulation to new data, without a language model."""
        resolved, files = workplace.resolve(folder), tuple(map(workplace.resolve, data))
        return await workplace.work(
            lambda: _publish(lambda console: rerun_files(resolved, files, workplace.outputs / "rerun", console))
        )

    return [formulate_verify, formulate_rerun]


def _publish(run: Callable[[Terminal], int]) -> dict[str, object]:
    """Run a command, and return its exit code with the result that it publishes, or its text without one."""
    text, published = io.StringIO(), list[object]()
    with listen(published.append, None):
        code = run(Terminal(file=text, width=120, color_system=None))
    if published and isinstance(published[-1], Mapping):
        return {**_shorten(published[-1]), "exit_code": code}
    return {"exit_code": code, "verdict": Verdict.NO_ANSWER, "report": quote_output(text.getvalue(), 2500, 1500)}


def _shorten(result: Mapping[str, object]) -> dict[str, JsonValue]:
    """Return a result without what its folder shows too: rules that hold, parts of the objective, single limits."""
    plain = {str(name): to_plain(value) for name, value in result.items() if name not in IN_FOLDER}
    rules, aims = plain.pop("rules", None), plain.pop("aims", None)
    compared = to_plain(result.get("comparison"))
    if isinstance(rules, list):
        plain["rules"] = [rule for rule in rules if not (isinstance(rule, dict) and rule.get("outcome") == "holds")]
    if isinstance(aims, list) and len(aims) > 1:
        plain["aims"] = aims
    if isinstance(compared, dict):
        plain |= {name: compared[name] for name in ("met", "count") if name in compared}
    return plain
