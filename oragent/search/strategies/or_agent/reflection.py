"""The roles *reflect* and *lead*: what was learned, at three scales.

After an experiment: what changed, what happened and why (the verbal gradient). Over several: a long-term memory that
the lead rewrites (momentum). Beyond a length it is compressed (weight decay). As in Liu et al. 2026 (arXiv:2602.13769).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from oragent.programs.blocks import drop_thoughts, fence_text
from oragent.search.candidate import Candidate, Elite
from oragent.search.prompting.programs import list_figures
from oragent.search.prompting.prompt_templates import bin_names, fill_template, task_messages
from oragent.search.round_context import RoundContext
from oragent.search.strategies.or_agent import prompt_sections
from oragent.search.strategies.or_agent.tree import (
    MEMORY,
    TREE,
    UNTRIED,
    ExperimentStep,
    Idea,
    MemoryNote,
    NodeNote,
    TreeNote,
)

# words
LESSON, REPORT = 60, 120
# that speak for a missing report
MOST_STEPS = 6
# words of a memory that may be of any length: a model that goes on and on is cut short
LONGEST = 5000
# in one prompt; more are taken in by several, one after the other
MOST_REPORTS = 30


@dataclass(frozen=True)
class LessonMemory:
    """Lessons of earlier rounds."""

    # text of the long-term memory; at first the problem's ``knowledge.md``
    text: str
    # reports that it has not taken in yet, the latest last
    pending: tuple[str, ...]
    # rounds that it has taken in, though they were committed after it was written
    beyond: tuple[int, ...] = ()


async def ask_lesson(run: RoundContext, earlier: Elite | Candidate, candidate: Candidate) -> str:
    """Ask what is to be learned from one experiment; before it the program had a score, or failed."""
    after = prompt_sections.scored_parent(candidate)
    result = prompt_sections.describe_failure(candidate.evaluation)
    if after is not None:
        if isinstance(earlier, Elite):
            had = earlier
        else:
            had = None
        if had:
            verdict = f"{prompt_sections.describe_verdict(run, had.score, after.score)}, "
        else:
            verdict = ""
        result = f"{verdict}{list_figures(after, bins=bin_names(run), beside=had)}"
    values = {
        "change": fence_text(prompt_sections.describe_change(earlier.source, candidate.source), "diff"),
        "result": result,
        "before": f"the score was {earlier.score:.6g}"
        if isinstance(earlier, Elite)
        else prompt_sections.describe_outcome(earlier),
    }
    text = fill_template("or_agent_lesson", **values, words=LESSON)
    return await _ask_prose(run, "reflect", text, LESSON)


async def ask_report(run: RoundContext, idea: Idea, start: str, end: str, steps: Sequence[ExperimentStep]) -> str:
    """Ask for a summary of the experiments on one solution, which had one score and has another, in words."""
    values = {"title": idea.title, "idea": idea.text, "steps": prompt_sections.list_steps(steps), "words": REPORT}
    return await _ask_prose(run, "reflect", fill_template("or_agent_report", **values, start=start, end=end), REPORT)


async def update_memory(run: RoundContext, *, elitist: bool) -> str:
    """Recall the long-term memory, and have it rewritten when it is time; a round may not be told any.

    Of the rounds in flight at once, only one does so, or all of them would.
    """
    agent, memory = run.own, recall_memory(run)
    enough = len(memory.pending) >= agent.reflection_period and run.turn % run.window == 0
    due = elitist or (enough and agent.reflection == "period")
    if memory.pending and due:
        text = await rewrite_memory(run, memory)
    else:
        text = memory.text
    if elitist or agent.memory_in_crossover:
        return text
    return ""


async def learn_from(run: RoundContext, *, elitist: bool) -> None:
    """Rewrite the memory once more at the end of a round from the elitist, with its own reports, where that is wanted.

    What the round does not know of, as it was in flight beside it, is taken in the next time.
    """
    memory = recall_memory(run)
    if run.own.reflection == "elitist" and elitist and memory.pending:
        await rewrite_memory(run, memory, (run.number,))


def recall_memory(run: RoundContext) -> LessonMemory:
    """The long-term memory as this round and those committed before it left it, and what it has not taken in.

    Rounds overlap, so the memory of one does not know the reports of the other: it says which rounds it does.
    """
    latest = MemoryNote(run.problem.knowledge.strip(), 0)
    # their rounds are not committed yet
    ended = [note for note in run.moment.notes if note.round != run.number]
    notes = [*run.memory, *ended, *run.notes]
    for note in [note for note in notes if note.kind == MEMORY][-1:]:
        latest = MemoryNote.load(note.text)
    trees = [note for note in notes if note.kind == TREE]
    new = [note for note in trees if note.round > latest.horizon and note.round not in latest.beyond]
    # in the study's manner nothing is experimented on in the opening
    if run.own.reflection != "period":
        new = [note for note in new if run.turn_of(note.round) > 1]
    pending = [
        _report_of_node(run, tree, node)
        for tree in (TreeNote.load(note.text) for note in new)
        for node in tree.nodes[1:]
        if node.state != UNTRIED
    ]
    beyond = {*latest.beyond, *(note.round for note in ended if note.kind == TREE)}
    return LessonMemory(latest.text, tuple(pending), tuple(sorted(beyond)))


def _report_of_node(run: RoundContext, tree: TreeNote, node: NodeNote) -> str:
    start = tree.nodes[node.parent or 0].score
    # only what has a solution gets children
    assert start is not None
    result = node.failure
    if node.score is not None:
        result = f"score {node.score:.6g}, {prompt_sections.describe_verdict(run, start, node.score)}"
    return f"- {node.title}: from score {start:.6g} to {result}. {node.report or report_from_steps(node)}"


def report_from_steps(node: NodeNote) -> str:
    """Write a report from the experiments themselves, where no model can be asked any more."""
    if node.steps:
        steps = prompt_sections.list_steps(node.steps[-MOST_STEPS:])
    else:
        steps = ""
    return " ".join(f"{node.idea} {steps}".split())


async def rewrite_memory(run: RoundContext, memory: LessonMemory, beyond: Sequence[int] = ()) -> str:
    """Have the lead rewrite the long-term memory in the light of the reports, and keep it to its length.

    Where the lead says nothing the memory stays as it was, and the reports wait for the next time. Reports of the
    rounds ``beyond`` are among them, though they were not committed when this one began.
    """
    text, limit = memory.text, run.own.memory_words
    for begin in range(0, len(memory.pending), MOST_REPORTS):
        reports = "\n".join(memory.pending[begin : begin + MOST_REPORTS])
        if limit:
            words = f"At most {limit} words, as a list"
        else:
            words = "As a list, as long as it takes"
        prompt = fill_template("or_agent_memory", memory=text or "(nothing yet)", reports=reports, words=words)
        text = await _ask_prose(run, "lead", prompt, 4 * limit if limit else LONGEST)
        if not text:
            return memory.text
    if limit and len(text.split()) > limit:
        prompt = fill_template("or_agent_compress", memory=text, words=limit)
        text = _cut_words(await _ask_prose(run, "reflect", prompt, 4 * limit) or text, limit)
    taken = {number for number in (*memory.beyond, *beyond) if number > run.horizon}
    run.note(MEMORY, MemoryNote(text, run.horizon, tuple(sorted(taken))).dump())
    return text


async def _ask_prose(run: RoundContext, role: str, text: str, words: int) -> str:
    reply = await run.ask(role, task_messages(run, text), run.temperature(role))
    return _cut_words(drop_thoughts(reply.text).strip(), 2 * words)


def _cut_words(text: str, words: int) -> str:
    """The text up to the last line or sentence that ends within so many words; cut between words if there is none."""
    if len(text.split()) <= words:
        return text
    shortened, count = "", 0
    for paragraph in text.split("\n"):
        for sentence in paragraph.split(". "):
            count += len(sentence.split())
            if count > words:
                return shortened.strip() or " ".join(text.split()[:words])
            if sentence.endswith("."):
                shortened += sentence
            else:
                shortened += f"{sentence}. "
        shortened = f"{shortened.rstrip()}\n"
    return shortened.strip()
