"""Tools for formulations: verify a model against its text, apply a formulation to new data."""

import io
from collections.abc import Callable, Sequence
from typing import Annotated

from pydantic import Field

from oragent._base.terminal import Terminal
from oragent.api.mcp.answers import quote_output
from oragent.api.mcp.registry import ToolFunction, describe_tool
from oragent.api.mcp.workplace import Workplace
from oragent.formulate.command import rerun_files, verify_files
from oragent.formulate.options import VerifyCommand
from oragent.llm.model_settings import RuntimeWords

EXIT_CODES = {0: "checked", 3: "no answer", 4: "contradicted", 5: "unchecked", 6: "disputed"}

Files = Annotated[list[str], Field(description="JSON, CSV or table files.")]


def formulate_tools(workplace: Workplace) -> Sequence[ToolFunction]:
    """Make the tools for formulations."""

    @describe_tool("verification")
    async def formulate_verify(
        story: Annotated[str, Field(description="File with the problem in words.")],
        given: Annotated[str, Field(description="Its model: .json, .mps, .lp, or a PuLP program, .py.")],
        checker: Annotated[str, Field(description="Python file with checks(values, data).")] = "",
        data: Files = [],  # noqa: B006 a schema needs the default
        solution: str = "",
        model: Annotated[str, Field(description="Language model that writes the checker, if none is given.")] = "",
    ) -> object:
        """Verify a model against the text of its problem, by a checker made from the text alone."""
        command = VerifyCommand(
            workplace.resolve(story),
            workplace.resolve(given),
            workplace.outputs / "verify",
            tuple(map(workplace.resolve, data)),
            workplace.resolve(solution) if solution else None,
            workplace.resolve(checker) if checker else None,
            runtime=RuntimeWords((), {"model.name": model or None}),
        )
        return await workplace.work(lambda: _run_printing(lambda console: verify_files(command, console)))

    @describe_tool("verification")
    async def formulate_rerun(
        folder: Annotated[str, Field(description="A finished formulation.")],
        data: Files = [],  # noqa: B006 a schema needs the default
    ) -> object:
        """Apply the program and the checker of a formulation to new data, without a language model."""
        resolved, files = workplace.resolve(folder), tuple(map(workplace.resolve, data))
        return await workplace.work(
            lambda: _run_printing(lambda console: rerun_files(resolved, files, workplace.outputs / "rerun", console))
        )

    return [formulate_verify, formulate_rerun]


def _run_printing(run: Callable[[Terminal], int]) -> dict[str, object]:
    """Run a command, and return its exit code with its printed text."""
    text = io.StringIO()
    code = run(Terminal(file=text, width=120, color_system=None))
    report = quote_output(text.getvalue(), 2500, 1500)
    return {"exit_code": code, "verdict": EXIT_CODES.get(code, "failed"), "report": report}
