"""The role *code*: implement an idea, and mend what fails."""

from collections.abc import Sequence
from dataclasses import replace

from oragent.programs.blocks import fence, tag
from oragent.search.candidate import Candidate, Elite, Parent
from oragent.search.prompting import asked, edits, fill, standing, wanted
from oragent.search.run import Run
from oragent.search.strategies.asking import ask_for_program
from oragent.search.strategies.or_agent import telling
from oragent.search.strategies.or_agent.tree import Idea

__all__ = ["debug", "implement"]


async def implement(run: Run, idea: Idea, start: Sequence[Elite]) -> Candidate:
    """Ask for a program that implements an idea, score it, and have it mended where it fails."""
    base = telling.undocumented(start[-1].source)  # what the prompt shows, and edits are about
    asking = ask_for_program(run, "code", asked(run, prompt(run, idea, start)), start, run.temperature("code"), base)
    return await debug(run, await asking)


def prompt(run: Run, idea: Idea, start: Sequence[Elite]) -> str:
    """Write the prompt: the problem, what to start from, the idea."""
    labels = [f"Program {number}" for number in range(1, len(start))] + ["The program to change"]
    shown = [
        telling.program(run, label, replace(elite, source=telling.undocumented(elite.source)))
        for label, elite in zip(labels, start, strict=True)
    ]
    values = {"title": idea.title, "idea": idea.text, "programs": "\n\n".join(shown)}
    return fill("or_agent_code", run.style, **values, **_answer(run, start), standing=standing(run, start[-1]))


async def debug(run: Run, candidate: Candidate) -> Candidate:
    """Give a program that failed its error back, a few times at most; a reply without a program is no program."""
    agent = run.own
    for _ in range(agent.debugging):
        if not candidate.evaluation.status.failed or not candidate.evaluation.ran:
            break
        program, trouble = candidate.source.strip(), telling.trouble(candidate.evaluation)
        values = {"program": fence(program, tag(program)), "trouble": fence(trouble)}
        text = fill("or_agent_debug", run.style, **values, **_answer(run, [candidate]))
        candidate = await ask_for_program(run, "debug", asked(run, text), [candidate], run.temperature("code"))
    return candidate


def _answer(run: Run, shown: Sequence[Parent]) -> dict[str, str]:
    """What the reply must look like."""
    return {**wanted(run), "answer": fill("answer_code", run.style, **wanted(run), edits=edits(run, shown))}
