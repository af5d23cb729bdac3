"""Searching a folder for labels: by file name, by content, by sentence and by value.

What may be seen and what is scored must never lie together; this is the test of it, run on every view that is made.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from oragent.evals.workspace.references import Reference
from oragent.evals.workspace.rubric import Rubric
from oragent.workspace.layout import sha256_of
from oragent.workspace.matching import normalise_text
from oragent.workspace.objective import relative_error
from oragent.workspace.reading import list_files, read_bytes

LABEL_FILES = frozenset({"reference_objectives.csv", "rubrics.jsonl", "judge_prompt.md", "empirical_difficulty.csv"})
SHORTEST = 24  # characters of a sentence that stands nowhere by chance
DIGITS = 5  # significant ones, of a number that stands nowhere by chance
NUMBER = re.compile(r"[-+]?[0-9]+(?:\.[0-9]+)?(?:e[-+]?[0-9]+)?")


class Trace(StrEnum):
    """How a label shows."""

    NAME = "is named like a file of labels"
    CONTENT = "is a copy of a file of labels"
    SENTENCE = "holds a sentence of a label"
    VALUE = "holds the reference objective"


@dataclass(frozen=True)
class HiddenLabels:
    """What must not be found.

    Attributes:
        names: Names of files of labels, without their folders.
        hashes: SHA-256 of files of labels.
        sentences: Sentences of answers and checklists, each with the label that it is of.
        values: Reference objectives, each with the label that it is of.
    """

    names: frozenset[str] = LABEL_FILES
    hashes: frozenset[str] = frozenset()
    sentences: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Leak:
    """A label that was found.

    Attributes:
        path: Path of the file, relative to the folder.
        trace: Trace by which it showed.
        label: Name of the label, never its content.
        certain: Whether chance is out of the question; a value of few digits may stand in any table.
    """

    path: str
    trace: Trace
    label: str
    certain: bool = True


def labels_of(
    references: Mapping[str, Reference], rubric: Rubric | None = None, hashes: frozenset[str] = frozenset()
) -> HiddenLabels:
    """The labels of one instance.

    Args:
        references: Labels whose objectives must not be found; none for explain, whose evidence holds them.
        rubric: Label of its question.
        hashes: SHA-256 of the files of labels.
    """
    sentences = {}
    if rubric is not None:
        parts = {"expected_short_answer": rubric.short_answer, "multi_hop_path": rubric.path}
        parts |= {f"{one.id}.criterion": one.text for one in rubric.criteria}
        parts |= {f"{one.id}.instruction": one.instruction for one in rubric.criteria}
        sentences = {f"{rubric.instance_id}.{name}": text for name, text in parts.items()}
    values = {name: reference.objective for name, reference in references.items()}
    return HiddenLabels(hashes=hashes, sentences=sentences, values=values)


def search(folder: Path, labels: HiddenLabels) -> tuple[Leak, ...]:
    """Find labels in the files below a folder.

    Raises:
        WorkspaceError: if the folder cannot be read, or holds a link or a device.
    """
    wanted = {label: normalise_text(text) for label, text in labels.sentences.items()}
    wanted = {label: text for label, text in wanted.items() if len(text) >= SHORTEST}
    leaks: list[Leak] = []
    for path, place in list_files(folder).items():
        content = read_bytes(place)
        if path.rpartition("/")[2].casefold() in labels.names:
            leaks.append(Leak(path, Trace.NAME, path.rpartition("/")[2].casefold()))
        if sha256_of(content) in labels.hashes:
            leaks.append(Leak(path, Trace.CONTENT, sha256_of(content)[:12]))
        text = normalise_text(content.decode("utf-8", "replace"))
        leaks += [Leak(path, Trace.SENTENCE, label) for label, sentence in wanted.items() if sentence in text]
        leaks += _values(path, text, labels.values)
    return tuple(leaks)


def _values(path: str, text: str, values: Mapping[str, float]) -> list[Leak]:
    if not values:
        return []
    tokens = {token.lstrip("+-") for token in NUMBER.findall(text)}
    found = {token: float(token) for token in tokens}
    leaks = []
    for label, value in values.items():
        same = [token for token, number in found.items() if relative_error(number, abs(value)) <= 1e-9]
        if same:
            leaks.append(Leak(path, Trace.VALUE, label, certain=max(map(_significant, same)) >= DIGITS))
    return leaks


def _significant(token: str) -> int:
    """Significant digits of a number, zeros at its end aside."""
    digits = token.partition("e")[0].replace(".", "").lstrip("0")
    return len(digits.rstrip("0"))
