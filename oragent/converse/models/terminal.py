"""A conversation about a model in a terminal: completion, history, results as tables, figures with their operation."""

import asyncio
import re
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from itertools import groupby
from pathlib import Path

from rich.console import Console
from rich.text import Text

from oragent._base.terminal import print_line
from oragent._base.text_format import escape_text
from oragent.converse.models.message_record import MessageRecord
from oragent.converse.models.model_agents import COMMANDS
from oragent.converse.models.model_conversation import ModelConversation
from oragent.converse.terminal_text import show_table, wrap_line
from oragent.llm.model import Model
from oragent.modelling.data.display import plain
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.operations.printing import print_result
from oragent.modelling.operations.registry import QUERIES, STATES
from oragent.modelling.operations.slices import fold
from oragent.modelling.references.reference_text import label_text, name_text

try:
    import readline
except ImportError:
    # Some platforms lack it.
    readline = None  # type: ignore[assignment]

# Words that end the conversation.
# Styles of the parts of an answer by kind.
STYLES = {"text": "", "figure": "bold", "unsupported": "underline", "missing": "yellow", "opinion": "italic"}
LEAVING = {"quit", "exit", "bye"}
HISTORY = ".history"
# Maximum numbers of history lines, and of completions of one word.
MAX_HISTORY, MAX_COMPLETIONS = 1000, 100
DELIMITERS = " \t\n[](){},;:=<>*+"
# Words that begin a change, and words within a line.
VERBS = ("forbid", "free", "drop", "relax", "row", "objective")
WORDS = ("sum", "upper", "lower", "by", "within", "except")
# Matches the name of a family, and the text after its opening bracket.
OPEN_BRACKET = re.compile(r'(\w+|"(?:[^"\\]|\\.)*")\[([^\[\]]*)\Z')


def hold_conversation(conversation: ModelConversation, console: Console, model: Model | None = None) -> int:
    """Run a conversation until the user leaves."""
    print_line(console, f"conversation: {conversation.folder}")
    with suppress(KeyboardInterrupt):
        asyncio.run(_hold(conversation, console, model))
    print_line(console, f"go on with: oragent converse {conversation.folder}")
    return 0


async def _hold(conversation: ModelConversation, console: Console, model: Model | None) -> None:
    earlier = len(conversation.records)
    async with conversation.open(model):
        _greet(conversation, console)
        for record in conversation.records[:1] + conversation.records[1:][-20:]:
            if record.said:
                print_line(console, f"> {escape_text(record.said)}", "dim")
            show_record(record, console)
        if earlier:
            print_line(console, f"{earlier - 1} earlier messages", "dim")
        with _Completion(conversation) as completion:
            while (text := completion.read_line(console)) is not None:
                if not sys.stdin.isatty():
                    print_line(console, f"> {escape_text(text)}", "dim")
                show_record(await conversation.say(text), console)


def _greet(conversation: ModelConversation, console: Console) -> None:
    model = conversation.workbench.model
    rows, columns = model.shape
    print_line(console, f"{plain(model.name) or 'model'}: {columns} variables, {rows} rows", "bold")
    if conversation.is_asking:
        hint = "ask in your own words; lines that begin with '/' are operations, such as '/undo'"
    else:
        hint = "lines of operations: 'describe' shows the model, 'help' lists the lines, Tab completes names"
    print_line(console, f"{hint}; 'quit' leaves", "dim")
    if conversation.absence:
        print_line(console, f"the model cannot be asked: {escape_text(conversation.absence)}", "bold yellow")


def show_record(record: MessageRecord, console: Console) -> None:
    """Print the result of a message; each figure of an answer names its operation."""
    if record.parts:
        _show_answer(record, console)
    else:
        for result in record.results:
            print_result(result, console)
    for is_table, block in groupby(record.note.split("\n"), key=lambda line: line.startswith("|")):
        lines = [line for line in block if line.strip()]
        if is_table and len(lines) > 1:
            header, _, *rows = (tuple(cell.strip() for cell in line.split("|")[1:-1]) for line in lines)
            show_table(header, tuple(rows), console)
        else:
            for line in lines:
                print_line(console, wrap_line(escape_text(line), console.width))


def _show_answer(record: MessageRecord, console: Console) -> None:
    text = Text()
    for part in record.parts:
        shown = escape_text(part.text)
        text.append(shown, STYLES[part.kind])
        if part.mark:
            text.append(f" [{escape_text(part.mark)}]", "dim" if part.kind == "figure" else "yellow")
    console.print(text)
    used = {source for part in record.parts for source in part.sources}
    for result in record.results:
        mark = "*" if result.id in used else " "
        print_line(console, f"{mark} {result.id}: {plain(result.line, 200)} ({result.scenario})", "dim")


def complete(model: IndexedModel, typed: str, fragment: str) -> list[str]:
    """Return the names and labels that complete a fragment; ``typed`` is the line up to the fragment."""
    bracket = OPEN_BRACKET.search(typed)
    if bracket:
        words = _labels_at(model, bracket[1].strip('"'), bracket[2].count(","))
    elif not typed.strip():
        words = iter([*QUERIES, *STATES, *VERBS, *COMMANDS])
    else:
        words = iter([*(name_text(family.name) for family in model.families()), *VERBS, *WORDS])
    folded = fold(fragment.strip('"'))
    matching = (word for word in words if fold(word.strip('"')).startswith(folded))
    return list(dict.fromkeys(word for word, _ in zip(matching, range(MAX_COMPLETIONS), strict=False)))


def _labels_at(model: IndexedModel, name: str, axis: int) -> Iterator[str]:
    for family in model.families():
        if fold(family.name) == fold(name) and axis < len(family.sets):
            yield from map(label_text, model.index_set(family.sets[axis]).labels)


class _Completion:
    """Reads lines with completion and a persistent history, if the terminal supports them."""

    def __init__(self, conversation: ModelConversation) -> None:
        self._conversation = conversation
        self._path: Path = conversation.folder / HISTORY

    def __enter__(self) -> "_Completion":
        if sys.stdin.isatty() and readline is not None:
            with suppress(OSError):
                readline.set_completer_delims(DELIMITERS)
                readline.set_completer(self._complete)
                readline.parse_and_bind("tab: complete")
                if self._path.is_file():
                    readline.read_history_file(self._path)
        return self

    def __exit__(self, *exception: object) -> None:
        if sys.stdin.isatty() and readline is not None:
            with suppress(OSError):
                readline.set_history_length(MAX_HISTORY)
                readline.write_history_file(self._path)
                readline.set_completer(None)

    def _complete(self, fragment: str, number: int) -> str | None:
        typed = readline.get_line_buffer()[: readline.get_begidx()]
        words = complete(self._conversation.workbench.model, typed, fragment)
        return words[number] if number < len(words) else None

    def read_line(self, console: Console) -> str | None:
        """Read a line that is not empty; None if the user leaves."""
        # The handler of asyncio would wait for the line.
        handler = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            while True:
                text = input("> ") if sys.stdin.isatty() else sys.stdin.readline()
                if not text and not sys.stdin.isatty():
                    return None
                if text.strip().casefold() in LEAVING:
                    return None
                if text.strip():
                    return text.strip()
        except (EOFError, KeyboardInterrupt):
            return None
        finally:
            signal.signal(signal.SIGINT, handler)
