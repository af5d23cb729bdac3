"""Sections of prompts: the task, programs with their figures, changes, failures, and the tree of ideas."""

import ast
import difflib
import math
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace

from oragent._base.errors import CandidateError
from oragent._base.protocol import ERROR, RESULT
from oragent._base.text_format import one_line, shorten
from oragent.evaluation import Evaluation
from oragent.programs.blocks import fence_text, language_tag
from oragent.programs.inspection import parse_tree as parsed
from oragent.search.candidate import Candidate, Elite
from oragent.search.prompting.programs import show_program
from oragent.search.prompting.prompt_templates import bin_names, describe_exceeded_limits, shows_changes
from oragent.search.round_context import RoundContext
from oragent.search.strategies.or_agent.tree import MEASURING, UNTRIED, ExperimentStep, IdeaNode, IdeaTree, account_of

# Maximum number of lines of a compared program. The time of a comparison can be quadratic in it.
MAX_COMPARED = 1500
# Largest number of lines of a comparison or traceback.
MAX_LINES = 40
# Largest number of characters of such a line.
MAX_LINE_CHARACTERS = 200
# Number of latest nodes of the tree whose reports are shown.
MAX_NODES = 12
# Maximum number of characters of the idea of a program, and of the report on its experiments.
MAX_SHOWN_CHARACTERS = 900
# Largest number of characters of a step, or of a part of it.
MAX_STEP = 400
# Largest number of characters of an older idea's title.
MAX_TITLE_CHARACTERS = 80
# Maximum number of characters of a message about a failure that other parts of a prompt can repeat.
MAX_MESSAGE = 180
# Maximum number of other ideas in prompts of experiments, and of characters of a lesson.
MAX_OTHERS, MAX_LESSON = 6, 160
WHERE = re.compile(r'File "(?:[^"\n]*/)?heuristic\.py", line (\d{1,6}), in ')
STATES = {
    "open": "may be taken further",
    "grown": "was taken further",
    "closed": "is done",
    "worse": "was not better and is dropped",
    "failed": "failed",
    UNTRIED: "was not tried",
}


def with_blank_line(text: str) -> str:
    """Return a section after a blank line; an empty section stays empty."""
    if text:
        return f"\n\n{text}"
    return ""


def scored_parent(candidate: Candidate) -> Elite | None:
    """Return a candidate of this round as a parent, with its fingerprint as id; None if it has no score."""
    if candidate.score is None:
        return None
    return Elite.of(candidate)


def program_section(
    run: RoundContext, label: str, elite: Elite, *, text: str = "", against: str = "", reported: str = ""
) -> str:
    """Show a program with its score, figures and cell, its idea, and the report on its experiments.

    ``text`` is the form in which it is shown; empty means its source. ``against`` is the last program of the prompt. If
    the changes relative to that program are shorter, they are shown instead. An idea or report that ``reported``, a
    text of the same prompt, has already is not repeated.
    """
    account = account_of(run, elite.source)
    shown = show_program(
        label,
        replace(elite, source=text or elite.source),
        idea=_drop_repetition(account.idea, reported) if account else "",
        bins=bin_names(run),
        against=against,
    )
    taught = _drop_repetition(account.report or account.lesson, reported) if account else ""
    return f"{shown}\nWhat its experiments taught: {taught}" if taught else shown


def _drop_repetition(text: str, reported: str) -> str:
    """Return a text on one line, without a beginning that ``reported`` is; empty if ``reported`` has the whole text."""
    new = " ".join(text.removeprefix(reported).split())
    return "" if new in " ".join(reported.split()) else one_line(new, MAX_SHOWN_CHARACTERS)


def programs_section(
    run: RoundContext, elites: Sequence[Elite], verb: str, text_of: Callable[[Elite], str] = lambda elite: elite.source
) -> str:
    """Show the starting programs: the last one whole, the others as changes of it where these are shorter."""
    last = elites[-1]
    others = [elite for elite in elites[:-1] if elite.source != last.source]
    against = text_of(last) if shows_changes(run, text_of(last)) else ""
    shown = [
        program_section(run, f"Program {number}", elite, text=text_of(elite), against=against)
        for number, elite in enumerate(others, 1)
    ]
    return "\n\n".join([*shown, program_section(run, f"The program to {verb}", last, text=text_of(last))])


def failing_section(run: RoundContext, candidate: Candidate) -> str:
    """Show a program without a score, and its failure."""
    text = candidate.source.strip()
    wrong = fence_text(describe_failure(candidate.evaluation)) + describe_exceeded_limits(run, candidate.evaluation)
    return f"The program, which fails:\n{fence_text(text, language_tag(text))}\nWhat went wrong:\n{wrong}"


def parents_section(run: RoundContext, programs: Sequence[Elite], against: str) -> str:
    """Show the parents of a solution: for a strong model with their texts, for a small model only with figures.

    ``against`` is the program of the prompt. If the changes relative to it are shorter, they replace a text.
    """
    if run.style == "strong":
        return "\n\n".join(
            program_section(run, f"Parent {number}", elite, against=against)
            for number, elite in enumerate(programs, 1)
            if elite.source != against
        )
    scores = ", ".join(f"{elite.score:.6g}" for elite in programs)
    if scores:
        return f"It was made from {'a program' if len(programs) == 1 else 'programs'} of score {scores}."
    return ""


def others_section(run: RoundContext, nodes: Sequence[IdeaNode]) -> str:
    """List the results of the other ideas for the same leaf so far, best first, one line each with its lesson."""

    def loss(node: IdeaNode) -> float:
        if node.solution is None:
            return math.inf
        return -run.archive.fitness(node.solution.score)

    tried = sorted((node for node in nodes if node.state != UNTRIED), key=loss)
    lines = [f"- {_other_idea(node)}" for node in tried[:MAX_OTHERS]]
    if lines:
        return "\n".join(["Other ideas for the same program, and what came of them so far:", *lines])
    return ""


def _other_idea(node: IdeaNode) -> str:
    title = one_line(node.idea.title if node.idea else "", MAX_TITLE_CHARACTERS)
    lesson = next((step.lesson for step in reversed(node.steps) if step.lesson), "")
    result, count = one_line(_node_result(node), MAX_TITLE_CHARACTERS), len(node.steps)
    plural = "s" if count > 1 else ""
    experiments = f"after {count} experiment{plural}" if count else "as it was coded"
    return f"{title} -> {result}, {experiments}. {one_line(lesson, MAX_LESSON)}".rstrip()


def _node_result(node: IdeaNode) -> str:
    if node.solution is None:
        return node.failure
    return f"score {node.solution.score:.6g}"


def memory_section(memory: str) -> str:
    """Show the long-term memory; empty if the round has none."""
    if memory:
        return f"What is known so far:\n{memory}\n\n"
    return ""


def printed_section(candidate: Candidate, limit: int) -> str:
    """Show the head and tail of the log of the last evaluation, without figures and times that prompts show anyway."""
    evaluation = candidate.evaluation
    lines = evaluation.output.partition(RESULT)[0].partition(ERROR)[0].split("\n")
    named = [(text.partition(":")[0], text) for text in lines if text.strip()]
    new = [text for name, text in named if name not in evaluation.metrics and not name.endswith("seconds")]
    output = "\n".join([*new, evaluation.log if evaluation.score is not None else ""]).strip()
    if output:
        return f"What its last evaluation printed:\n{fence_text(head_and_tail(output, limit))}"
    return ""


def drop_docstrings(source: str) -> str:
    """Remove the docstrings of a program. A model would copy them, at the cost of more tokens than the code."""
    lines: list[str | None] = [*source.split("\n")]
    try:
        program = parsed(source)
    except CandidateError:
        # The program is in another language.
        return source
    for node in ast.walk(program):
        if isinstance(node, ast.FunctionDef) and ast.get_docstring(node) is not None and len(node.body) > 1:
            docstring, following = node.body[:2]
            end = docstring.end_lineno or docstring.lineno
            # The docstring shares no line with code.
            if docstring.lineno > node.lineno and following.lineno > end:
                lines[docstring.lineno - 1 : end] = [None] * (end - docstring.lineno + 1)
    return "\n".join(text for text in lines if text is not None)


def describe_verdict(run: RoundContext, earlier: float, later: float) -> str:
    """State in words whether a score is better than another one, because models confuse the direction."""
    gain = run.archive.fitness(later) - run.archive.fitness(earlier)
    if gain > 0:
        return "better"
    if gain < 0:
        return "worse"
    return "neither better nor worse"


def describe_outcome(candidate: Candidate) -> str:
    """Describe the result of an evaluation on one line."""
    result = candidate.evaluation
    if result.score is not None:
        return f"score {result.score:.6g}"
    return f"{result.status}: {one_line(result.message, MAX_MESSAGE)}"


def describe_failure(result: Evaluation) -> str:
    """Describe a failure: status, message and the end of the traceback, or without one the end of the log."""
    every = result.detail.split("\n")
    left_out = [_left_out(len(every) - MAX_LINES)] if len(every) > MAX_LINES else []
    detail = [*left_out, *(shorten(text, MAX_LINE_CHARACTERS) for text in every[-MAX_LINES:])]
    return "\n".join([f"{result.status}: {result.message}", *detail]).strip()


def failing_line(source: str, result: Evaluation) -> str:
    """Return the text of the failing line of a program; empty without a traceback, or if the line occurs twice."""
    lines, places = source.split("\n"), WHERE.findall(result.traceback)
    number = int(places[-1]) if places else 0
    text = lines[number - 1] if 0 < number <= len(lines) else ""
    if text.strip() and lines.count(text) == 1:
        return text
    return ""


def describe_change(earlier: str, later: str) -> str:
    """Show the removed and added lines between two programs. A mark shows where lines were cut."""
    old, new = (text.strip().split("\n")[:MAX_COMPARED] for text in (earlier, later))
    lines = list(difflib.unified_diff(old, new, lineterm="", n=0))[2:]
    body = [shorten(text, MAX_LINE_CHARACTERS) for text in lines if not text.startswith("@@")]
    left_out = [_left_out(len(body) - MAX_LINES)] if len(body) > MAX_LINES else []
    if max(text.strip().count("\n") for text in (earlier, later)) >= MAX_COMPARED:
        left_out.append(f"(what lies beyond line {MAX_COMPARED} is not compared)")
    return "\n".join([*body[:MAX_LINES], *left_out]) or "(nothing)"


def head_and_tail(text: str, limit: int) -> str:
    """Return head and tail of a text that is longer than ``limit`` characters, in whole lines if possible."""
    if len(text) <= limit:
        return text
    head, tail = text[: limit // 2], text[-(limit // 2) :]
    # A line longer than half of a part is cut.
    if (end := head.rfind("\n")) > len(head) // 2:
        head = head[:end]
    if -1 < (start := tail.find("\n")) < len(tail) // 2:
        tail = tail[start + 1 :]
    left_out = len(text) - len(head) - len(tail)
    return f"{head.rstrip()}\n[... {left_out:,} characters left out ...]\n{tail.lstrip()}"


def list_steps(steps_taken: Sequence[ExperimentStep]) -> str:
    """List the experiments so far, one per line."""
    lines = [f"{number}. {_describe_step(step)}" for number, step in enumerate(steps_taken, 1)]
    return "\n".join(lines) or "(none yet)"


def _describe_step(step: ExperimentStep) -> str:
    if step.kind in MEASURING:
        verdict = ""
    elif step.better:
        verdict = ", kept"
    else:
        verdict = ", taken back"
    change, outcome, lesson = (one_line(text, MAX_STEP) for text in (step.change, step.outcome, step.lesson))
    return f"{step.kind}: {change} -> {outcome}{verdict}. {lesson}".rstrip()


def tree_section(grown: IdeaTree) -> str:
    """Show the whole tree, one line per idea, each below its parent. Early ideas are shortened."""
    latest = {node.number for node in grown.nodes[-MAX_NODES:]}
    return "\n".join(_lines_below(grown, grown.nodes[0], latest)) or "(none yet)"


def _lines_below(grown: IdeaTree, node: IdeaNode, latest: Collection[int], depth: int = 0) -> Iterator[str]:
    for child in grown.children(node):
        yield "  " * depth + _idea_line(child, child.number in latest)
        yield from _lines_below(grown, child, latest, depth + 1)


def _idea_line(node: IdeaNode, in_full: bool) -> str:
    title = node.idea.title if node.idea else "the start"
    end = _node_result(node)
    if node.state == UNTRIED:
        return f"Idea {node.number}: {one_line(title, MAX_TITLE_CHARACTERS)}, {STATES[node.state]}."
    if in_full:
        limit, report = (MAX_STEP, f" {one_line(node.report, MAX_STEP)}")
    else:
        limit, report = (MAX_TITLE_CHARACTERS, "")
    result = f"{one_line(title, limit)} -> {one_line(end, limit)}"
    return f"Idea {node.number}: {result}, {STATES[node.state]}.{report}".rstrip()


def _left_out(lines: int) -> str:
    return f"({lines} more {'line is' if lines == 1 else 'lines are'} not shown)"
