"""The command line: register all commands, in the order of the help, and print errors."""

import sys
from typing import Annotated

import typer
from rich.markup import escape
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

# exit code of an error
ERROR = 1

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False)


def main() -> None:
    """Run the command line; every error that we know is one line, or a JSON document, and exit code 1."""
    words = sys.argv[1:]
    if wants_json(words):
        sys.exit(_run_for_programs(words))
    try:
        app()
    except (OragentError, OSError) as problem:
        Terminal(stderr=True).print(f"[bold red]oragent:[/] {escape(str(problem))}", highlight=False, soft_wrap=True)
        sys.exit(ERROR)


def _run_for_programs(words: list[str]) -> int:
    """Run the command line, and write each error as a document; return the exit code."""
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


app.command()(problems.problems)
app.command()(machine.settings)
app.command()(search.run)
app.command()(search.resume)
app.command(name="compare")(search.compare_strategies)
app.command()(experiments.study)
app.command(name="eval", context_settings={"allow_extra_args": True, "ignore_unknown_options": True})(
    problems.evaluate_candidate
)
app.command()(experiments.probe)
app.command()(experiments.sweep)
app.command(name="show")(runs.show_run)
app.command()(runs.report)
app.command()(runs.figure)
app.command()(runs.watch)
app.command()(runs.steer)
app.command()(runs.memory)
app.command()(runs.rescore)
app.command()(formulate.solve)
app.command()(model.model)
app.command()(convert.convert)
app.command()(formulate.formulate)
app.command()(formulate.verify)
app.command()(formulate.rerun)
app.command()(converse.converse)
app.add_typer(workspace.workspace, name="workspace")
formulate.bench.command(name="workspace")(workspace.bench_workspace)
app.add_typer(formulate.bench, name="bench")
app.command()(agents.mcp)
app.command()(experiments.train)
app.command()(machine.doctor)
app.command()(problems.new)
app.command(name="import-task")(problems.import_task)
app.command()(problems.check)


def _add_json(commands: typer.Typer, prefix: str = "") -> None:
    """Add the options of JSON output to all commands, those of groups too."""
    for entry in commands.registered_commands:
        if entry.callback is not None:
            name = entry.name or entry.callback.__name__.replace("_", "-")
            entry.callback = with_json(entry.callback, f"{prefix}{name}")
    for group in commands.registered_groups:
        if group.typer_instance is not None:
            _add_json(group.typer_instance, f"{prefix}{group.name} ")


_add_json(app)
