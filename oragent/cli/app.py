"""Command line: imports the command that the words name, and prints errors."""

import difflib
import errno
import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Annotated, Any

import typer
from rich.markup import escape
from typer.core import TyperCommand, TyperGroup
from typer.exceptions import TyperException

from oragent import __version__
from oragent._base.errors import OragentError
from oragent._base.terminal import Terminal
from oragent._base.text_format import one_line
from oragent.cli.commands import COMMANDS, CommandEntry
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
# Maximum number of problems that the message for an unknown command names.
MAX_SUGGESTIONS = 3
ENTRIES = {entry.name: entry for entry in COMMANDS}


class LazyCommands(dict[str, Any]):
    """Commands by name. A command's module is imported when the command is looked up."""

    def __missing__(self, name: str) -> Any:
        """Import the command of a name; raise ``KeyError`` if there is none."""
        if name not in ENTRIES:
            raise KeyError(name)
        self[name] = load_command(ENTRIES[name])
        return self[name]

    def get(self, name: str, default: Any = None) -> Any:
        """Return the command of a name, or the default."""
        return self[name] if name in ENTRIES else default

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of all commands."""
        return iter(ENTRIES)

    def __len__(self) -> int:
        """Return the number of all commands."""
        return len(ENTRIES)

    def __contains__(self, name: object) -> bool:
        """Return True if there is such a command."""
        return name in ENTRIES

    def items(self) -> Any:
        """Return names with commands, all imported."""
        return [(name, self[name]) for name in self]


class ProductGroup(TyperGroup):
    """Commands in the order of their groups in the help. Ctrl-C ends a command with one line."""

    def __init__(self, **settings: Any) -> None:
        """Make the group with the commands of the table."""
        super().__init__(**settings)
        self.commands = self.commands or LazyCommands()
        self._lists_names = False

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all commands, in the order of the table."""
        return list(self.commands)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command. A list of all commands has only their names and lines of help, and imports none."""
        if self._lists_names and isinstance(self.commands, LazyCommands) and cmd_name in ENTRIES:
            entry = ENTRIES[cmd_name]
            return TyperCommand(entry.name, help=entry.help, rich_help_panel=entry.panel)
        return self.commands.get(cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that the first word names; the error for another word names what is near."""
        if args and args[0] not in self.commands and not args[0].startswith("-"):
            ctx.fail(_suggest_commands(args[0]))
        return super().resolve_command(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help."""
        self._lists_names = True
        super().format_help(ctx, formatter)
        self._lists_names = False

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        """Return completions of a word that may name a command."""
        self._lists_names = True
        completions = super().shell_complete(ctx, incomplete)
        self._lists_names = False
        return completions

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


def _suggest_commands(word: str) -> str:
    """Return the message for a word that is no command: commands and problems with near names."""
    from oragent._base import package_data

    root = package_data.find_project_root()
    folders = [*package_data.shipped_problems(), *(path.parent for path in (root / "problems").glob("*/problem.yaml"))]
    problems = sorted({folder.name for folder in folders})
    exact = [name for name in problems if name == word]
    near = exact or [name for name in problems if word in name] or difflib.get_close_matches(word, problems)
    lines = [f"oragent {name}" for name in difflib.get_close_matches(word, list(ENTRIES))]
    lines += [f"oragent run {name}" for name in near[:MAX_SUGGESTIONS]]
    hint = f"did you mean {' or '.join(map(repr, lines))}?" if lines else "oragent --help lists the commands"
    return f"No such command {one_line(word, 40)!r}: {hint}"


def _explain_error(problem: OragentError | OSError) -> str:
    if not isinstance(problem, OSError):
        return str(problem)
    text = f"{problem.filename}: {problem.strerror}" if problem.filename else str(problem)
    return f"{text}: {REMEDIES[problem.errno]}" if problem.errno in REMEDIES else text


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


@cache
def load_command(entry: CommandEntry) -> Any:
    """Import a command or a group of commands, and add the options of JSON output."""
    loaded = getattr(import_module(f"oragent.cli.{entry.module}"), entry.attribute)
    if isinstance(loaded, typer.Typer):
        _add_json(loaded, f"{entry.name} ")
        command: Any = typer.main.get_group(loaded)
    else:
        context = {"allow_extra_args": True, "ignore_unknown_options": True} if entry.takes_further_options else None
        single = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
        single.command(name=entry.name, context_settings=context)(with_json(loaded, entry.name))
        command = typer.main.get_command(single)
    command.name, command.rich_help_panel = entry.name, entry.panel
    return command


def _add_json(group: typer.Typer, prefix: str) -> None:
    """Add the options of JSON output to all commands of a group."""
    for info in group.registered_commands:
        if info.callback is not None:
            name = info.name or info.callback.__name__.replace("_", "-")
            info.callback = with_json(info.callback, f"{prefix}{name}")
