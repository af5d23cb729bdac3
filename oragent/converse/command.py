"""What ``oragent converse`` does in a terminal: begin or go on, listen, show."""

import asyncio
import re
import shutil
import signal
import sys
import textwrap
from contextlib import suppress
from dataclasses import replace
from itertools import groupby
from math import isfinite
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from oragent._base import files
from oragent._base.errors import ConfigError, StoreError
from oragent._base.terminal import print_line
from oragent._base.text_format import escape_text, one_line
from oragent.converse.conversation import Turn, opening_text
from oragent.converse.decider import LEAVING, DecisionView
from oragent.converse.decision import DecisionProblem, Editable
from oragent.converse.problems.reply_formats import read_tables, remove_escapes
from oragent.converse.session import LEAVES, MODEL_ROLES, ConversationRequest, ConversationSession, begin, write_page
from oragent.llm.keys import expect_trusted, model_demands, remember_demands
from oragent.llm.model import Model, Reply
from oragent.llm.model import Request as LlmRequest
from oragent.llm.model_settings import RuntimeWords

# a value of a name, which stays on one line
RELATION = re.compile(r"\S+ (?:\S+ →|<=|>=|=) \S+")
UNBROKEN = "\u00a0"
SECOND_COLUMN = re.compile(r"\s*\S.*?\s{2,}(?=\S)")
MOST_LINES, MOST_NAMED = 400, 5


def converse(outputs: Path, request: ConversationRequest, console: Console, model: Model | None = None) -> int:
    """Begin a conversation and hold it.

    Raises:
        OragentError: The problem or the agent is none, or its model cannot be asked.
    """
    return go_on(begin(outputs, request), console, model)


def trusted_session(folder: Path, runtime: RuntimeWords, trust: bool = False) -> ConversationSession:
    """Open the conversation of a folder with settings of the command line.

    Raises:
        UntrustedError: The folder names an address, a command or a key that its user did not.
    """
    session = ConversationSession(folder)
    settings = runtime.read_runtime(MODEL_ROLES, session.request.runtime)
    session.request = replace(session.request, runtime=settings)
    demands = list(model_demands(settings.every_model))
    if not trust:
        expect_trusted(folder, demands, runtime.overrides)
    remember_demands(demands)
    return session


def go_on(session: ConversationSession | Path, console: Console, model: Model | None = None) -> int:
    """Hold the conversation of a folder, from where it was left."""
    if isinstance(session, Path):
        session = ConversationSession(session)
    else:
        session = session
    folder = session.folder
    print_line(console, f"conversation: {folder}")
    show_text(opening_text(session.problem), console)
    if session.request.agent == "rules":
        hint = "commands: 'help' lists them"
    else:
        hint = "'/undo', '/why' act directly"
    if session.problem.goals == 1:
        console.print(Text(wrap_line(escape_text(one_objective(session.problem)), console.width), style="dim"))
    console.print(Text(f"{session.request.agent} listens ({hint}; 'quit' leaves)", style="dim"))

    async def listen(view: DecisionView) -> str | None:
        if session.notice:
            print_line(console, wrap_line(escape_text(session.notice), console.width), "bold yellow")
            session.notice = ""
        return _line(console)

    def show(turn: Turn, known: bool) -> None:
        if known or not sys.stdin.isatty():
            print_line(console, f"> {escape_text(turn.said)}", "dim")
        show_text(turn.answer, console)

    reason = LEAVES
    with suppress(KeyboardInterrupt):
        reason = asyncio.run(session.hold(listen, show, model))
    if reason != LEAVES:
        print_line(console, f"ended: {one_line(reason, 400)}", "bold yellow")
    written = write_page(session)
    print_line(console, f"report: {written}")
    print_line(console, f"go on with: oragent converse {folder}")
    return 0


def one_objective(problem: DecisionProblem) -> str:
    """Return what can be traded off if there is one objective only: rows, by bounds on them."""
    goals = sorted(problem.expressions[1:], key=lambda goal: not _is_tradable(problem, goal.name))
    rows = [
        f"{goal.word} <= ...{f' ({one_line(goal.meaning, 60)})' if goal.meaning else ''}"
        for goal in goals[: MOST_NAMED - 1]
    ]
    if rows:
        told = f"; bound a row to trade it off: {', '.join(rows)}"
    else:
        told = ""
    return f"one objective only, {problem.expressions[0].word}{told}"


def _is_tradable(problem: DecisionProblem, name: str) -> bool:
    """Return True if an expression has a limit of its own on one side, other than 0."""
    if isinstance(problem, Editable):
        limits = problem.limits(name)
    else:
        limits = None
    return limits is not None and limits[0] != limits[1] and any(limit and isfinite(limit) for limit in limits)


def show(folder: Path, console: Console) -> int:
    """Show what was said in a conversation, from its records; its folder stays as it is."""
    session = ConversationSession(folder)
    print_line(console, f"conversation: {folder}")
    print_line(console, f"problem: {one_line(session.problem.name)}; agent: {session.request.agent}")
    transcript = folder / "transcript.md"
    if transcript.is_file():
        text = transcript.read_text(encoding="utf-8")
    else:
        text = "nothing was said yet"
    show_text(text, console)
    print_line(console, f"go on with: oragent converse {folder}")
    return 0


def page(folder: Path) -> Path:
    """Write the page of a conversation anew, asking nobody; its records stay as they are.

    Raises:
        StoreError: Its recorded replies answer other prompts than this version writes.
    """

    async def nobody(view: DecisionView) -> str | None:
        return None

    # names the folder in errors
    if ConversationSession(folder).request.agent == "rules":
        model = None
    else:
        model = _silent
    with TemporaryDirectory() as home:
        copy = Path(shutil.copytree(folder, Path(home) / folder.resolve().name, symlinks=True))
        session = ConversationSession(copy)
        reason = asyncio.run(session.hold(nobody, lambda turn, known: None, model))
        said = len(list((folder / "states").glob("[0-9][0-9][0-9].json")))
        if len(session.turns) < said:
            raise StoreError(
                f"another version wrote {folder}: of its {said} turns only {len(session.turns)} can be repeated from "
                f"its records ({reason}); its page stays as it is"
            )
        page = write_page(session)
        files.replace_file(folder / page.name, page.read_bytes())
    return folder / page.name


async def _silent(request: LlmRequest, /) -> Reply:
    raise ConfigError("a page is written from what is recorded: nobody is asked")


def show_text(text: str, console: Console) -> None:
    """Show an answer: its tables as tables, all else as plain text."""
    for is_table, block in groupby(text.split("\n")[:MOST_LINES], key=lambda line: line.startswith("|")):
        if is_table:
            for table in read_tables("\n".join(block)):
                console.print(_rich(table.header, table.rows))
        else:
            for line in filter(str.strip, block):
                print_line(console, wrap_line(escape_text(remove_escapes(line)), console.width))


def wrap_line(line: str, width: int) -> str:
    """Wrap a line between words; further lines begin at its second column, or a little behind its own beginning."""
    columns = SECOND_COLUMN.match(line)
    if columns and columns.end() < width // 2:
        indent = columns.end()
    else:
        indent = len(line) - len(line.lstrip()) + 2
    joined = RELATION.sub(
        lambda match: match[0].replace(" ", UNBROKEN if len(match[0]) < width - indent else " "), line
    )
    wrapped = textwrap.fill(
        joined,
        max(width, 40),
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
        drop_whitespace=True,
    )
    if UNBROKEN in line:
        return wrapped
    return wrapped.replace(UNBROKEN, " ")


def _rich(header: tuple[str, ...], rows: tuple[tuple[str, ...], ...]) -> Table:
    """A table without the columns that are empty in every row."""
    rich = Table(box=SIMPLE_HEAD, header_style="dim", padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    shown = [place for place in range(len(header)) if any(row[place].strip() for row in rows if place < len(row))]
    for place in shown:
        rich.add_column(Text(escape_text(header[place])))
    for row in rows:
        rich.add_row(*(Text(escape_text(row[place])) for place in shown if place < len(row)))
    return rich


def _line(console: Console) -> str | None:
    """Read a line; the end of the input, Ctrl-C and a word of leaving end the sitting."""
    # asyncio's own would wait for the line
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        while True:
            if sys.stdin.isatty():
                text = console.input("> ")
            else:
                text = sys.stdin.readline()
            if not text and not sys.stdin.isatty():
                return None
            if text.strip().casefold() in LEAVING:
                return None
            if text.strip():
                return text.strip()
    except (EOFError, KeyboardInterrupt):
        return None
    finally:
        signal.signal(signal.SIGINT, before)
