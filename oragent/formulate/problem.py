"""A problem in words, with its data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from oragent._base.errors import ProblemError
from oragent.formulate.data import read_data
from oragent.formulate.interface import DEFAULT, ProgramInterface, read_interface
from oragent.formulate.texts import read_text, shown

MOST_CHARACTERS = 200_000  # of a problem's text in a prompt; a longer one is cut, and says so


@dataclass(frozen=True)
class ProblemText:
    """What is to be formulated.

    Attributes:
        name: Of the case.
        text: In words.
        data: Parameters by name, as plain lists, dicts, texts and numbers; what the text alone tells is not in it.
        interface: How the program is called.
        background: What a reader should know beside the text; may be empty.

    Raises:
        ProblemError: The text is empty.
    """

    name: str
    text: str
    data: Mapping[str, Any] = field(default_factory=dict, hash=False)
    interface: ProgramInterface = DEFAULT
    background: str = ""

    def __post_init__(self) -> None:
        if not self.text.strip():
            raise ProblemError(f"problem {self.name!r} is empty: describe what is to be decided, and under what limits")


def read_problem(path: Path, data: Sequence[Path] = (), interface: Path | None = None) -> ProblemText:
    """Read a problem from its files.

    Args:
        path: Text or Markdown.
        data: JSON or CSV files.
        interface: A Python file with the head of the function that is wanted; None for ours.

    Raises:
        ProblemError: One of the files is not what it should be, in one line with its name.
    """
    found: dict[str, Any] = {}
    for one in data:
        for name, value in read_data(one).items():
            if name in found:
                raise ProblemError(f"{shown(one)}: {name!r} is in another data file too: rename one of them")
            found[name] = value
    text = read_text(path, "a problem in words")
    return ProblemText(path.stem, text, found, DEFAULT if interface is None else read_interface(interface))


def fitted(text: str) -> str:
    """A text that fits a prompt: of a long one head and tail, with a word on what is missing."""
    if len(text) <= MOST_CHARACTERS:
        return text
    half = MOST_CHARACTERS // 2
    left = len(text) - 2 * half
    return f"{text[:half]}\n[... {left:,} characters left out here: the text was longer than fits ...]\n{text[-half:]}"
