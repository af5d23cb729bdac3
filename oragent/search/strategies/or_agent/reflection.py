"""The roles *reflect* and *lead*: lessons at three time scales.

After an experiment, a lesson states the change, the effect and the reason (verbal gradient). Over several experiments,
the lead rewrites a long-term memory (momentum). A memory that is too long is compressed (weight decay). This follows
Liu et al. 2026 (arXiv:2602.13769).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from oragent.programs.blocks import drop_thoughts, fence_text
from oragent.search.candidate import Candidate, Elite
from oragent.search.prompting.programs import list_figures
from oragent.search.prompting.prompt_templates import bin_names, task_messages
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

# Maximum numbers of words of a lesson and of a report.
LESSON, REPORT = 60, 120
# Number of steps that replace a missing report.
MAX_STEPS = 6
# Maximum number of words of a memory if no limit is configured.
MAX_MEMORY_WORDS = 5000
# Maximum number of reports in one prompt. For more reports, several calls follow each other.
MAX_REPORTS = 30


@dataclass(frozen=True)
class LessonMemory:
    """Lessons of earlier rounds."""

    # Text of the long-term memory; initially the problem's ``knowledge.md``.
    text: str
    # Reports that the text does not include yet, the latest one last.
    pending: tuple[str, ...]
    # Rounds that were not committed when the text was written, and whose reports it already includes.
    beyond: tuple[int, ...] = ()


async def ask_lesson(run: RoundContext, earlier: Elite | Candidate, candidate: Candidate) -> str:
    """Ask for the lesson of one experiment; ``earlier`` is the program before it, with a score or a failure."""
    if isinstance(earlier, Elite):
        before = f"the score was {earlier.score:.6g}"
    else:
        before = prompt_sections.describe_outcome(earlier)
    after = prompt_sections.scored_parent(candidate)
    result = prompt_sections.describe_failure(candidate.evaluation)
    if after is not None:
        had = earlier if isinstance(earlier, Elite) else None
        verdict = f"{prompt_sections.describe_verdict(run, had.score, after.score)}, " if had else ""
        result = f"{verdict}{list_figures(after, bins=bin_names(run), beside=had)}"
    values = {
        "change": fence_text(prompt_sections.describe_change(earlier.source, candidate.source), "diff"),
        "result": result,
        "before": before,
    }
    text = run.fill_template("or_agent_lesson", **values, words=LESSON)
    return await _ask_prose(run, "reflect", text, LESSON)


async def ask_report(run: RoundContext, idea: Idea, start: str, end: str, steps: Sequence[ExperimentStep]) -> str:
    """Ask for a summary of the experiments on one solution; ``start`` and ``end`` describe its scores."""
    values = {"title": idea.title, "idea": idea.text, "steps": prompt_sections.list_steps(steps), "words": REPORT}
    return await _ask_prose(
        run, "reflect", run.fill_template("or_agent_report", **values, start=start, end=end), REPORT
    )


async def update_memory(run: RoundContext, *, elitist: bool) -> str:
    """Rewrite the long-term memory if that is due, and return it for the prompts of the round.

    Only one of the rounds that run at the same time rewrites it. The text is empty if the prompts of this kind of round
    show no memory.
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
    """Rewrite the memory at the end of an elitist round, with the reports of the round, if configured.

    The next rewrite includes reports of other running rounds.
    """
    memory = recall_memory(run)
    if run.own.reflection == "elitist" and elitist and memory.pending:
        await rewrite_memory(run, memory, (run.number,))


def recall_memory(run: RoundContext) -> LessonMemory:
    """Return the long-term memory after the committed rounds and this one, with the reports that it does not include.

    Rounds overlap, so a memory may lack reports of other rounds. Its note names the rounds that it includes.
    """
    latest = MemoryNote(run.problem.knowledge.strip(), 0)
    # The rounds of these notes are not committed yet.
    ended = [note for note in run.moment.notes if note.round != run.number]
    notes = [*run.memory, *ended, *run.notes]
    for note in [note for note in notes if note.kind == MEMORY][-1:]:
        latest = MemoryNote.load(note.text)
    trees = [note for note in notes if note.kind == TREE]
    new = [note for note in trees if note.round > latest.horizon and note.round not in latest.beyond]
    # In the published method, the first round has no experiments.
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
    # Only nodes with a solution have children.
    assert start is not None
    result = node.failure
    if node.score is not None:
        result = f"score {node.score:.6g}, {prompt_sections.describe_verdict(run, start, node.score)}"
    return f"- {node.title}: from score {start:.6g} to {result}. {node.report or report_from_steps(node)}"


def report_from_steps(node: NodeNote) -> str:
    """Write a report from the steps of a node, if no model call is left for one."""
    steps = prompt_sections.list_steps(node.steps[-MAX_STEPS:]) if node.steps else ""
    return " ".join(f"{node.idea} {steps}".split())


async def rewrite_memory(run: RoundContext, memory: LessonMemory, beyond: Sequence[int] = ()) -> str:
    """Ask the lead to rewrite the long-term memory with the new reports, within its length limit.

    After an empty reply the memory is unchanged, and the next rewrite includes the reports. Reports of the rounds
    ``beyond`` are included, although they were not committed when this round began.
    """
    text, limit = memory.text, run.own.memory_words
    for begin in range(0, len(memory.pending), MAX_REPORTS):
        reports = "\n".join(memory.pending[begin : begin + MAX_REPORTS])
        words = f"At most {limit} words, as a list" if limit else "As a list, as long as it takes"
        prompt = run.fill_template("or_agent_memory", memory=text or "(nothing yet)", reports=reports, words=words)
        text = await _ask_prose(run, "lead", prompt, 4 * limit if limit else MAX_MEMORY_WORDS)
        if not text:
            return memory.text
    if limit and len(text.split()) > limit:
        prompt = run.fill_template("or_agent_compress", memory=text, words=limit)
        text = _cut_words(await _ask_prose(run, "reflect", prompt, 4 * limit) or text, limit)
    taken = {number for number in (*memory.beyond, *beyond) if number > run.horizon}
    run.note(MEMORY, MemoryNote(text, run.horizon, tuple(sorted(taken))).dump())
    return text


async def _ask_prose(run: RoundContext, role: str, text: str, words: int) -> str:
    reply = await run.ask(role, task_messages(run, text), run.temperature(role))
    return _cut_words(drop_thoughts(reply.text).strip(), 2 * words)


def _cut_words(text: str, words: int) -> str:
    """Return the text up to the last line or sentence that ends within ``words`` words, or else cut between words."""
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
