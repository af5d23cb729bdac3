"""The roles *reflect* and *lead*: what was learned, at three scales.

After an experiment: what changed, what happened and why (the verbal gradient). Over several: a long-term memory that
the lead rewrites (momentum). Beyond a length it is compressed (weight decay). As in Liu et al. 2026 (arXiv:2602.13769).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from oragent.programs.blocks import drop_thoughts, fence
from oragent.search.candidate import Candidate, Elite
from oragent.search.prompting import asked, bins, figures, fill
from oragent.search.run import Run
from oragent.search.strategies.or_agent import telling
from oragent.search.strategies.or_agent.notes import MEMORY, TREE, UNTRIED, MemoryNote, NodeNote, Step, TreeNote
from oragent.search.strategies.or_agent.tree import Idea

__all__ = ["Memory", "gradient", "recalled", "report", "rewrite"]

LESSON, REPORT = 60, 120  # words
MOST_STEPS = 6  # that speak for a missing report
MOST_REPORTS = 30  # in one prompt; more are taken in by several, one after the other


@dataclass(frozen=True)
class Memory:
    """What earlier rounds learned.

    Attributes:
        text: Text of the long-term memory; at first the problem's ``knowledge.md``.
        pending: Reports that it has not taken in yet, the latest last.
    """

    text: str
    pending: tuple[str, ...]


async def gradient(run: Run, before: Elite, candidate: Candidate) -> str:
    """Ask what is to be learned from one experiment."""
    after = telling.scored(candidate)
    result = telling.trouble(candidate.evaluation)
    if after is not None:
        told = figures(after, bins=bins(run), beside=before)
        result = f"{telling.verdict(run, before.score, after.score)}, {told}"
    values = {
        "change": fence(telling.change(before.source, candidate.source), "diff"),
        "result": result,
        "score": f"{before.score:.6g}",
    }
    text = fill("or_agent_lesson", **values, words=LESSON)
    return await _prose(run, "reflect", text, LESSON)


async def report(run: Run, idea: Idea, start: Elite, end: Elite, steps: Sequence[Step]) -> str:
    """Ask for a summary of the experiments on one solution."""
    values = {
        "title": idea.title,
        "idea": idea.text,
        "start": f"{start.score:.6g}",
        "end": f"{end.score:.6g}, {telling.verdict(run, start.score, end.score)}",
        "steps": telling.steps(steps),
    }
    return await _prose(run, "reflect", fill("or_agent_report", **values, words=REPORT), REPORT)


def recalled(run: Run) -> Memory:
    """The long-term memory as the rounds that were committed left it, and what it has not taken in.

    Rounds overlap, so the memory of one does not know the reports of the other: it says up to which round it does.
    """
    text, horizon = run.problem.knowledge.strip(), 0
    for note in run.recall(MEMORY)[-1:]:
        latest = MemoryNote.load(note.text)
        text, horizon = latest.text, latest.horizon
    trees = (TreeNote.load(note.text) for note in run.recall(TREE) if note.round > horizon)
    pending = tuple(_reported(run, tree, node) for tree in trees for node in tree.nodes[1:] if node.state != UNTRIED)
    return Memory(text, pending)


def _reported(run: Run, tree: TreeNote, node: NodeNote) -> str:
    start = tree.nodes[node.parent or 0].score
    assert start is not None  # only what has a solution gets children
    result = node.failure
    if node.score is not None:
        result = f"score {node.score:.6g}, {telling.verdict(run, start, node.score)}"
    return f"- {node.title}: from score {start:.6g} to {result}. {node.report or spoken(node)}"


def spoken(node: NodeNote) -> str:
    """What the experiments say themselves, where nobody could be asked for a report any more."""
    steps = telling.steps(node.steps[-MOST_STEPS:]) if node.steps else ""
    return " ".join(f"{node.idea} {steps}".split())


async def rewrite(run: Run, memory: Memory) -> str:
    """Have the lead rewrite the long-term memory in the light of the reports, and keep it to its length.

    Where the lead says nothing the memory stays as it was, and the reports wait for the next time.
    """
    agent, text = run.own, memory.text
    for begin in range(0, len(memory.pending), MOST_REPORTS):
        reports = "\n".join(memory.pending[begin : begin + MOST_REPORTS])
        values = {"memory": text or "(nothing yet)", "reports": reports, "words": agent.memory_words}
        prompt = fill("or_agent_memory", **values)
        text = await _prose(run, "lead", prompt, 4 * agent.memory_words)
        if not text:
            return memory.text
    if len(text.split()) > agent.memory_words:
        prompt = fill("or_agent_compress", memory=text, words=agent.memory_words)
        text = _cut(await _prose(run, "reflect", prompt, 4 * agent.memory_words) or text, agent.memory_words)
    run.note(MEMORY, MemoryNote(text, run.horizon).dump())
    return text


async def _prose(run: Run, role: str, text: str, words: int) -> str:
    """Ask for plain text; a model that goes on and on is cut short."""
    reply = await run.ask(role, asked(run, text), run.temperature(role))
    return _cut(drop_thoughts(reply.text).strip(), 2 * words)


def _cut(text: str, words: int) -> str:
    """The text up to the last line or sentence that ends within so many words; cut between words if there is none."""
    if len(text.split()) <= words:
        return text
    kept, count = "", 0
    for line in text.split("\n"):
        for sentence in line.split(". "):
            count += len(sentence.split())
            if count > words:
                return kept.strip() or " ".join(text.split()[:words])
            kept += sentence if sentence.endswith(".") else f"{sentence}. "
        kept = f"{kept.rstrip()}\n"
    return kept.strip()
