"""What prompts tell a model: the task, programs with their figures, what changed, what went wrong, the tree so far."""

import ast
import difflib
from collections.abc import Sequence

from oragent.evaluation import Evaluation
from oragent.programs.inspection import tree as parsed
from oragent.search.candidate import Candidate, Elite
from oragent.search.prompting import bins, fill, show
from oragent.search.run import Run
from oragent.search.strategies.or_agent.notes import Step
from oragent.search.strategies.or_agent.tree import Node, Tree

__all__ = [
    "change",
    "contract",
    "outcome",
    "program",
    "scored",
    "steps",
    "task",
    "tree",
    "trouble",
    "undocumented",
    "verdict",
]

MOST_COMPARED = 1500  # lines of each program in a comparison, whose cost can grow with the square of them
MOST_LINES = 40  # of a comparison or a traceback
MOST_WIDE = 200  # characters of such a line
MOST_NODES = 12  # of the tree: the latest; the root's line of descent is shown as programs


def task(run: Run) -> dict[str, str]:
    """What every prompt begins with, alike, so that servers need to read it once; and what programs must define."""
    about = run.problem.about
    words = fill("or_agent_task", description=about.description.strip(), better=about.direction.comparative)
    return {"task": words, "signature": run.problem.signature.text}


def contract(run: Run) -> dict[str, str]:
    """What the function gets and returns, in the words of the seed heuristic if it has any."""
    function, said = run.problem.about.function, None
    for node in parsed(run.problem.seed).body:
        if isinstance(node, ast.FunctionDef) and node.name == function:
            said = ast.get_docstring(node)
    return {"contract": f"What `{function}` gets and must return:\n{said}\n\n" if said else ""}


def scored(candidate: Candidate) -> Elite | None:
    """A candidate of this round as a parent of others, under its fingerprint; None where it has no score."""
    return None if candidate.score is None else Elite.of(candidate)


def program(run: Run, label: str, elite: Elite) -> str:
    """A program with its score, figures and cell."""
    return show(label, elite, bins=bins(run))


def undocumented(source: str) -> str:
    """A program without its docstrings: who rewrites it would copy them, which takes longer than the code itself."""
    lines: list[str | None] = [*source.split("\n")]
    for node in ast.walk(parsed(source)):
        if isinstance(node, ast.FunctionDef) and ast.get_docstring(node) is not None and len(node.body) > 1:
            said, following = node.body[:2]
            end = said.end_lineno or said.lineno
            if said.lineno > node.lineno and following.lineno > end:  # it has its lines for itself
                lines[said.lineno - 1 : end] = [None] * (end - said.lineno + 1)
    return "\n".join(line for line in lines if line is not None)


def verdict(run: Run, before: float, after: float) -> str:
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


def change(before: str, after: str) -> str:
    """What changed between two programs: the lines that went and the lines that came; what is cut is said."""
    old, new = (text.strip().split("\n")[:MOST_COMPARED] for text in (before, after))
    lines = list(difflib.unified_diff(old, new, lineterm="", n=0))[2:]
    body = [_cut(line) for line in lines if not line.startswith("@@")]
    left_out = [_left_out(len(body) - MOST_LINES)] if len(body) > MOST_LINES else []
    if max(text.strip().count("\n") for text in (before, after)) >= MOST_COMPARED:
        left_out.append(f"(what lies beyond line {MOST_COMPARED} is not compared)")
    return "\n".join([*body[:MOST_LINES], *left_out]) or "(nothing)"


def steps(done: Sequence[Step]) -> str:
    """The experiments so far, one a line."""
    lines = [f"{number}. {_told(step)}" for number, step in enumerate(done, 1)]
    return "\n".join(lines) or "(none yet)"


def _told(step: Step) -> str:
    verdict = "" if step.kind == "probe" else ", kept" if step.better else ", taken back"
    return f"{step.kind}: {_line(step.change)} -> {_line(step.outcome)}{verdict}. {_line(step.lesson)}".rstrip()


def tree(grown: Tree) -> str:
    """The latest nodes of a tree, one a line; how many older ones were left out is said."""
    nodes = grown.nodes[1:]
    left_out = [f"({len(nodes) - MOST_NODES} older ideas are not shown)"] if len(nodes) > MOST_NODES else []
    return "\n".join([*left_out, *map(_branch, nodes[-MOST_NODES:])]) or "(none yet)"


def _branch(node: Node) -> str:
    title = node.idea.title if node.idea else "the start"
    end = node.failure if node.solution is None else f"score {node.solution.score:.6g}"
    parent = f"from idea {node.parent}" if node.parent else "from the start"
    return f"Idea {node.number}, {parent}: {_line(title)} -> {_line(end)}, {node.state}. {_line(node.report)}".rstrip()


def _left_out(lines: int) -> str:
    return f"({lines} more {'line is' if lines == 1 else 'lines are'} not shown)"


def _cut(line: str) -> str:
    return line if len(line) <= MOST_WIDE else f"{line[: MOST_WIDE - 1]}…"


def _line(text: str, most: int = 400) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"
