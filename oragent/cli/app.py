"""Command line: registers all commands in the order of the help, and prints errors."""

import errno
import sys
from typing import Annotated, Any

import typer
from rich.markup import escape
from typer.core import TyperGroup
from typer.exceptions import TyperException

from oragent import __version__
from oragent._base.errors import OragentError
from oragent._base.terminal import Terminal
from oragent.cli import (
    agents,
    converse,
    convert,
    experiments,
    formulate,
    machine,
    model,
    problems,
    runs,
    search,
    workspace,
)
from oragent.cli.json_output import UsageError, wants_json, with_json, write_error
from oragent.cli.options import console

# Exit code of an error.
ERROR = 1
# Remedies of errors of the operating system.
REMEDIES = {
    errno.EMFILE: "raise the limit, such as with 'ulimit -n 1024'",
    errno.ENFILE: "end programs that have many files open",
    errno.ENOSPC: "make room on its disk",
    errno.EROFS: "name a folder on a disk that can be written",
}
# Exit code of a command that Ctrl-C ended.
INTERRUPTED = 130
# Titles of the groups of commands in the help, in their order.
SEARCH = "Search for heuristics"
MODELS = "Formulate, solve and explore models"
WORKSPACE = "Models in folders"
OTHERS = "Everything else"
PANELS = (SEARCH, MODELS, WORKSPACE, OTHERS)


class ProductGroup(TyperGroup):
    """Commands in the order of their groups in the help. Ctrl-C ends a command with one line."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all commands, sorted by group."""
        return sorted(
            self.commands, key=lambda name: PANELS.index(getattr(self.commands[name], "rich_help_panel", OTHERS))
        )

    def invoke(self, ctx: Any) -> Any:
        """Run the command that the arguments name."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            # Without this line, typer would end without a message.
            Terminal(stderr=True).print("oragent: stopped by Ctrl-C", highlight=False)
            raise typer.Exit(INTERRUPTED) from None


app = typer.Typer(cls=ProductGroup, no_args_is_help=True, pretty_exceptions_enable=False)


def main() -> None:
    """Run the command line. Each expected error is one line, or a JSON document, with exit code 1."""
    words = sys.argv[1:]
    if wants_json(words):
        sys.exit(_run_for_programs(words))
    try:
        app()
    except (OragentError, OSError) as problem:
        text = escape(_explain_error(problem))
        Terminal(stderr=True).print(f"[bold red]oragent:[/] {text}", highlight=False, soft_wrap=True)
        sys.exit(ERROR)


def _explain_error(problem: OragentError | OSError) -> str:
    if isinstance(problem, OSError) and problem.errno in REMEDIES:
        return f"{problem}: {REMEDIES[problem.errno]}"
    return str(problem)


def _run_for_programs(words: list[str]) -> int:
    """Run the command line and write each error as a document; return the exit code."""
    try:
        return int(app(standalone_mode=False) or 0)
    except (OragentError, OSError) as problem:
        code, error = ERROR, problem
    except TyperException as problem:
        code, error = problem.exit_code, UsageError(problem.format_message())
    write_error(words, error, code)
    return code


@app.callback(invoke_without_command=True)
def version(show_version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    """Search for heuristics, and formulate, explore and maintain optimisation models, with LLM agents."""
    if show_version:
        console.print(__version__, highlight=False)


app.command(rich_help_panel=SEARCH)(problems.problems)
app.command(rich_help_panel=SEARCH)(search.run)
app.command(rich_help_panel=SEARCH)(search.resume)
app.command(name="show", rich_help_panel=SEARCH)(runs.show_run)
app.command(rich_help_panel=SEARCH)(runs.report)
app.command(rich_help_panel=SEARCH)(runs.watch)
app.command(rich_help_panel=SEARCH)(runs.steer)
app.command(name="compare", rich_help_panel=SEARCH)(search.compare_strategies)
app.command(rich_help_panel=SEARCH)(problems.new)
app.command(rich_help_panel=SEARCH)(problems.check)
app.command(rich_help_panel=SEARCH)(problems.discovered)
app.command(name="import-task", rich_help_panel=SEARCH)(problems.import_task)
app.command(name="export-task", rich_help_panel=SEARCH)(problems.export_task)
app.command(
    name="eval",
    rich_help_panel=SEARCH,
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
)(problems.evaluate_candidate)
app.command(rich_help_panel=SEARCH)(experiments.probe)
app.command(rich_help_panel=SEARCH)(experiments.sweep)
app.command(rich_help_panel=SEARCH)(runs.rescore)
app.command(rich_help_panel=SEARCH)(runs.harden)
app.command(rich_help_panel=SEARCH)(runs.memory)
app.command(rich_help_panel=SEARCH)(runs.figure)

app.command(rich_help_panel=MODELS)(formulate.formulate)
app.command(rich_help_panel=MODELS)(formulate.verify)
app.command(rich_help_panel=MODELS)(formulate.rerun)
app.command(rich_help_panel=MODELS)(formulate.solve)
app.command(rich_help_panel=MODELS)(model.model)
app.command(rich_help_panel=MODELS)(convert.convert)
app.command(rich_help_panel=MODELS)(converse.converse)

app.add_typer(workspace.workspace, name="workspace", rich_help_panel=WORKSPACE)

app.command(rich_help_panel=OTHERS)(machine.doctor)
app.command(rich_help_panel=OTHERS)(machine.settings)
formulate.bench.command(name="workspace")(workspace.bench_workspace)
formulate.bench.command(name="skills")(agents.bench_skills)
app.add_typer(formulate.bench, name="bench", rich_help_panel=OTHERS)
app.command(rich_help_panel=OTHERS)(experiments.study)
app.command(rich_help_panel=OTHERS)(experiments.train)
app.command(rich_help_panel=OTHERS)(agents.mcp)
app.add_typer(agents.skills, name="skills", rich_help_panel=OTHERS)


def _add_json(commands: typer.Typer, prefix: str = "") -> None:
    """Add the options of JSON output to all commands, also to those in groups."""
    for entry in commands.registered_commands:
        if entry.callback is not None:
            name = entry.name or entry.callback.__name__.replace("_", "-")
            entry.callback = with_json(entry.callback, f"{prefix}{name}")
    for group in commands.registered_groups:
        if group.typer_instance is not None:
            _add_json(group.typer_instance, f"{prefix}{group.name} ")


_add_json(app)
