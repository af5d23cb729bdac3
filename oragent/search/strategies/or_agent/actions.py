"""Actions of a model on a solution: edit it, tune constants, measure or observe something, or stop."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from oragent._base.errors import CandidateError, ConfigError, ReplyError
from oragent.programs.blocks import drop_thoughts
from oragent.programs.inspection import inspect_program
from oragent.programs.replies import extract_code
from oragent.programs.syntax import Signature
from oragent.search.experiments import NUMBER, read_axes
from oragent.search.round_context import RoundContext
from oragent.search.strategies.asking import read_program
from oragent.search.strategies.constants import Constant, Range

# The patterns stay within one line, so that the time is linear in the length of a reply.
WORD = re.compile(r"^[^\w\n]*ACTION\W+(EDIT|TUNE|SWEEP|PROBE|INSTRUMENT|STOP)\b", re.IGNORECASE | re.MULTILINE)
THOUGHT = re.compile(r"^[^\w\n]*THOUGHT\W+(.+)$", re.IGNORECASE | re.MULTILINE)
LESSON = re.compile(r"^[^\w\n]*LESSON\W+(.+)$", re.IGNORECASE | re.MULTILINE)
CHOICE = re.compile(rf"\b([A-Za-z_]\w{{0,60}})\b(?:[^\w\n.+-]*({NUMBER})[^\d\n.+-]+({NUMBER}))?")


@dataclass(frozen=True)
class ExperimentAction:
    """Action of a model on a solution, with its reason."""

    kind: Literal["edit", "tune", "sweep", "probe", "instrument", "stop"]
    thought: str
    # Program that replaces the solution (edit), prints measurements (probe) or observes it (instrument).
    source: str = ""
    # Ranges of the constants to tune.
    ranges: tuple[Range, ...] = ()
    # Numbers with values to try, in the form that ``read_axes`` reads.
    words: tuple[str, ...] = ()


AXIS = re.compile(r"[A-Za-z_]\w{0,60}=[-+\w.,]{1,200}")
SPACES = re.compile(r"[ \t]+")
# Signature of the function that an observer must define.
OBSERVER = Signature("observe", ("hook", "data"), "observe(hook, data)")


def read_action(run: RoundContext, text: str, source: str, constants: Sequence[Constant]) -> ExperimentAction:
    """Read the action of a reply. Without an ACTION line, a program or an edit counts as the action EDIT.

    Raises:
        ReplyError: The reply has no action, or the action is incomplete.
        CandidateError: Its program does not have the required signature.
    """
    answer = drop_thoughts(text)
    word = WORD.search(answer)
    if word:
        kind, below = (word[1].upper(), answer[word.end() :])
    else:
        kind, below = ("", answer)
    match = THOUGHT.search(answer)
    thought = " ".join(match[1].split())[:300] if match else ""
    if kind == "STOP":
        return ExperimentAction("stop", thought)
    if kind == "TUNE":
        return ExperimentAction("tune", thought, ranges=_read_ranges(below, constants))
    if kind == "SWEEP":
        return ExperimentAction("sweep", thought, words=_read_axes(below, source))
    if kind == "INSTRUMENT":
        return ExperimentAction("instrument", thought, _read_observer(run, answer))
    try:
        changed = read_program(run, answer, source)
    except ReplyError as problem:
        raise ReplyError(str(problem) if kind else f"it names no ACTION, and {problem}") from None
    if kind == "PROBE":
        return ExperimentAction("probe", thought, changed)
    old, new = (inspect_program(program, run.problem.signature).fingerprint for program in (source, changed))
    if old == new:
        raise ReplyError("the edit changes no code, or comments alone; change one thing, or choose ACTION: STOP")
    return ExperimentAction("edit", thought, changed)


def _read_observer(run: RoundContext, answer: str) -> str:
    if not run.experiments.hooks or not run.own.instrument:
        raise ReplyError("INSTRUMENT is no action here: this evaluator has no hooks; choose EDIT, PROBE or STOP")
    try:
        source = extract_code(answer, OBSERVER.function, None, OBSERVER)
        inspected = inspect_program(source, OBSERVER)
    except CandidateError as problem:
        raise ReplyError(str(problem)) from None
    if inspected.problem:
        raise ReplyError(f"the observer cannot be used: {inspected.problem}")
    return source


def read_lesson(text: str) -> str:
    """Return the lesson of the last experiment in a reply; empty if there is none."""
    match = LESSON.search(drop_thoughts(text))
    if match:
        return " ".join(match[1].split())[:400]
    return ""


def _read_axes(text: str, source: str) -> tuple[str, ...]:
    lines = (SPACES.sub("", line).strip("`*-") for line in text.split("\n"))
    words = tuple(line for line in lines if AXIS.fullmatch(line))
    if not words:
        raise ReplyError("SWEEP names no number; write a line such as 'WINDOW=15,23,40' or 'WINDOW=5..60' for each")
    try:
        read_axes(words, source)
    except (ConfigError, CandidateError) as problem:
        raise ReplyError(str(problem)) from None
    return words


def _read_ranges(text: str, constants: Sequence[Constant]) -> tuple[Range, ...]:
    by_label = {constant.label: constant for constant in sorted(constants, key=lambda constant: constant.number)}
    ranges: dict[str, Range] = {}
    for label, low, high in CHOICE.findall(text):
        if label in by_label:
            ranges.setdefault(label, Range.around(by_label[label], low, high))
    if not ranges:
        names = ", ".join(by_label) or "none, as the program has no constants to tune"
        example = next(iter(by_label), "c0")
        raise ReplyError(
            f"TUNE names no constant; there are {names}; write a line such as '{example} 0.5 4.0' for each"
        )
    return tuple(ranges.values())
