"""What prompts tell a model: the task, programs with their figures, what changed, what went wrong, the tree so far."""

import ast
import difflib
import math
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from oragent._base.errors import CandidateError
from oragent._base.protocol import ERROR, RESULT
from oragent.evaluation import Evaluation
from oragent.programs.blocks import fence, tag
from oragent.programs.inspection import tree as parsed
from oragent.search.candidate import Candidate, Elite
from oragent.search.prompting import bins, show
from oragent.search.round_context import RoundContext
from oragent.search.strategies.or_agent.accounts import account_of
from oragent.search.strategies.or_agent.notes import MEASURING, UNTRIED, ExperimentStep
from oragent.search.strategies.or_agent.tree import IdeaNode, IdeaTree

MOST_COMPARED = 1500  # lines of each program in a comparison, whose cost can grow with the square of them
MOST_LINES = 40  # of a comparison or a traceback
MOST_WIDE = 200  # characters of such a line
MOST_NODES = 12  # of the tree that are told with their reports: the latest
MOST_TOLD = 900  # characters of the idea behind a program, and of what its experiments taught
MOST_SHORT = 80  # of an older idea's title
MOST_OTHERS, MOST_LESSON = 6, 160  # other ideas that experiments are told of, the best, and characters of a lesson
WHERE = re.compile(r'File "(?:[^"\n]*/)?heuristic\.py", line (\d{1,6}), in ')
STATES = {
    "open": "may be taken further",
    "grown": "was taken further",
    "closed": "is done",
    "worse": "was not better and is dropped",
    "failed": "failed",
    UNTRIED: "was not tried",
}


def scored(candidate: Candidate) -> Elite | None:
    """A candidate of this round as a parent of others, under its fingerprint; None where it has no score."""
    return None if candidate.score is None else Elite.of(candidate)


def program(run: RoundContext, label: str, elite: Elite, *, text: str = "") -> str:
    """A program with its score, figures and cell, the idea behind it, and what its experiments taught.

    Args:
        run: Round that asks.
        label: Name that the prompt gives the program.
        elite: Program to be shown.
        text: Form in which it is shown; empty: as it is.
    """
    account = account_of(run, elite.source)
    shown = show(
        label,
        replace(elite, source=text or elite.source),
        idea=_line(account.idea, MOST_TOLD) if account else "",
        bins=bins(run),
    )
    taught = account.report or account.lesson if account else ""
    return f"{shown}\nWhat its experiments taught: {_line(taught, MOST_TOLD)}" if taught else shown


def failing(candidate: Candidate) -> str:
    """A program that has no score yet, with what went wrong."""
    text = candidate.source.strip()
    wrong = fence(trouble(candidate.evaluation))
    return f"The program, which fails:\n{fence(text, tag(text))}\nWhat went wrong:\n{wrong}"


def parents(run: RoundContext, programs: Sequence[Elite]) -> str:
    """What a solution was made from: for a strong model with their texts, for a small one their figures alone."""
    if run.style == "strong":
        return "\n\n".join(program(run, f"Parent {number}", one) for number, one in enumerate(programs, 1))
    scores = ", ".join(f"{one.score:.6g}" for one in programs)
    return f"It was made from {'a program' if len(programs) == 1 else 'programs'} of score {scores}." if scores else ""


def others(run: RoundContext, nodes: Sequence[IdeaNode]) -> str:
    """What came of the other ideas for the same leaf so far, the best first, a line each with the latest lesson."""
    tried = sorted((node for node in nodes if node.state != UNTRIED), key=lambda node: -_fitness(run, node))
    lines = [f"- {_other(node)}" for node in tried[:MOST_OTHERS]]
    return "\n".join(["Other ideas for the same program, and what came of them so far:", *lines]) if lines else ""


def _other(node: IdeaNode) -> str:
    title = _line(node.idea.title if node.idea else "", MOST_SHORT)
    lesson = next((step.lesson for step in reversed(node.steps) if step.lesson), "")
    return f"{title} -> {_line(_end(node), MOST_SHORT)}, {_count(node.steps)}. {_line(lesson, MOST_LESSON)}".rstrip()


def _count(done: Sequence[ExperimentStep]) -> str:
    return f"after {len(done)} experiment{'s' if len(done) > 1 else ''}" if done else "as it was coded"


def _end(node: IdeaNode) -> str:
    return node.failure if node.solution is None else f"score {node.solution.score:.6g}"


def _fitness(run: RoundContext, node: IdeaNode) -> float:
    return -math.inf if node.solution is None else run.archive.fitness(node.solution.score)


def known(memory: str) -> str:
    """What the long-term memory says; empty where a round is told none."""
    return f"What is known so far:\n{memory}\n\n" if memory else ""


def printed(candidate: Candidate, most: int) -> str:
    """The head and tail of what the last evaluation printed, beside its figures and its times, which prompts have."""
    found = candidate.evaluation
    lines = found.output.partition(RESULT)[0].partition(ERROR)[0].split("\n")
    named = [(line.partition(":")[0], line) for line in lines if line.strip()]
    new = [line for name, line in named if name not in found.metrics and not name.endswith("seconds")]
    said = "\n".join([*new, found.log if found.score is not None else ""]).strip()
    return f"What its last evaluation printed:\n{fence(ends(said, most))}" if said else ""


def undocumented(source: str) -> str:
    """A program without its docstrings: who rewrites it would copy them, which takes longer than the code itself."""
    lines: list[str | None] = [*source.split("\n")]
    try:
        program = parsed(source)
    except CandidateError:  # of another language
        return source
    for node in ast.walk(program):
        if isinstance(node, ast.FunctionDef) and ast.get_docstring(node) is not None and len(node.body) > 1:
            said, following = node.body[:2]
            end = said.end_lineno or said.lineno
            if said.lineno > node.lineno and following.lineno > end:  # it has its lines for itself
                lines[said.lineno - 1 : end] = [None] * (end - said.lineno + 1)
    return "\n".join(line for line in lines if line is not None)


def verdict(run: RoundContext, before: float, after: float) -> str:
    """Whether a score is better than another, in words: models mistake which way is up."""
    gain = run.archive.fitness(after) - run.archive.fitness(before)
    return "better" if gain > 0 else "worse" if gain < 0 else "neither better nor worse"


def outcome(candidate: Candidate) -> str:
    """How an evaluation ended, on one line."""
    result = candidate.evaluation
    return f"score {result.score:.6g}" if result.score is not None else f"{result.status}: {_line(result.message)}"


def trouble(result: Evaluation) -> str:
    """What went wrong: status, message and the end of the traceback, or of the log where there is none."""
    every = result.detail.split("\n")
    left_out = [_left_out(len(every) - MOST_LINES)] if len(every) > MOST_LINES else []
    detail = [*left_out, *map(_cut, every[-MOST_LINES:])]
    return "\n".join([f"{result.status}: {result.message}", *detail]).strip()


def failing_line(source: str, result: Evaluation) -> str:
    """The line of a program where it failed; empty where no traceback tells it, or it stands there more than once."""
    lines, places = source.split("\n"), WHERE.findall(result.traceback)
    number = int(places[-1]) if places else 0
    line = lines[number - 1] if 0 < number <= len(lines) else ""
    return line if line.strip() and lines.count(line) == 1 else ""


def change(before: str, after: str) -> str:
    """What changed between two programs: the lines that went and the lines that came; what is cut is said."""
    old, new = (text.strip().split("\n")[:MOST_COMPARED] for text in (before, after))
    lines = list(difflib.unified_diff(old, new, lineterm="", n=0))[2:]
    body = [_cut(line) for line in lines if not line.startswith("@@")]
    left_out = [_left_out(len(body) - MOST_LINES)] if len(body) > MOST_LINES else []
    if max(text.strip().count("\n") for text in (before, after)) >= MOST_COMPARED:
        left_out.append(f"(what lies beyond line {MOST_COMPARED} is not compared)")
    return "\n".join([*body[:MOST_LINES], *left_out]) or "(nothing)"


def ends(text: str, most: int) -> str:
    """A text's head and tail, where it is longer than ``most`` characters."""
    if len(text) <= most:
        return text
    head, tail = text[: most // 2].rstrip(), text[-(most // 2) :].lstrip()
    return f"{head}\n[... {len(text) - most:,} characters left out ...]\n{tail}"


def steps(done: Sequence[ExperimentStep]) -> str:
    """The experiments so far, one a line."""
    lines = [f"{number}. {_told(step)}" for number, step in enumerate(done, 1)]
    return "\n".join(lines) or "(none yet)"


def _told(step: ExperimentStep) -> str:
    verdict = "" if step.kind in MEASURING else ", kept" if step.better else ", taken back"
    return f"{step.kind}: {_line(step.change)} -> {_line(step.outcome)}{verdict}. {_line(step.lesson)}".rstrip()


def tree(grown: IdeaTree) -> str:
    """The whole tree, a line for each idea, below that which it starts from; what came early is told in few words."""
    latest = {node.number for node in grown.nodes[-MOST_NODES:]}
    return "\n".join(_below(grown, grown.nodes[0], latest)) or "(none yet)"


def _below(grown: IdeaTree, node: IdeaNode, latest: Collection[int], depth: int = 0) -> Iterator[str]:
    for child in grown.children(node):
        yield "  " * depth + _branch(child, child.number in latest)
        yield from _below(grown, child, latest, depth + 1)


def _branch(node: IdeaNode, in_full: bool) -> str:
    title = node.idea.title if node.idea else "the start"
    end = _end(node)
    if node.state == UNTRIED:
        return f"Idea {node.number}: {_line(title, MOST_SHORT)}, {STATES[node.state]}."
    if not in_full:
        return f"Idea {node.number}: {_line(title, MOST_SHORT)} -> {_line(end, MOST_SHORT)}, {STATES[node.state]}."
    said = f"Idea {node.number}: {_line(title)} -> {_line(end)}, {STATES[node.state]}. {_line(node.report)}"
    return said.rstrip()


def _left_out(lines: int) -> str:
    return f"({lines} more {'line is' if lines == 1 else 'lines are'} not shown)"


def _cut(line: str) -> str:
    return line if len(line) <= MOST_WIDE else f"{line[: MOST_WIDE - 1]}…"


def _line(text: str, most: int = 400) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"
