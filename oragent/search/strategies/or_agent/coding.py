"""The role *code*: implement an idea, and mend what fails."""

from collections.abc import Sequence
from dataclasses import replace

from oragent.llm.model import Message
from oragent.programs.blocks import fence, tag
from oragent.search.candidate import Candidate, Elite
from oragent.search.prompting import fill
from oragent.search.run import Run
from oragent.search.strategies.asking import ask_for_program
from oragent.search.strategies.or_agent import telling
from oragent.search.strategies.or_agent.tree import Idea

__all__ = ["debug", "implement"]


async def implement(run: Run, idea: Idea, start: Sequence[Elite]) -> Candidate:
    """Ask for a program that implements an idea, score it, and have it mended where it fails."""
    return await debug(
        run,
        await ask_for_program(run, "code", [Message("user", prompt(run, idea, start))], start, run.temperature("code")),
    )


def prompt(run: Run, idea: Idea, start: Sequence[Elite]) -> str:
    """Write the prompt: the problem, what to start from, the idea."""
    labels = [f"Program {number}" for number in range(1, len(start))] + ["The program to change"]
    shown = [
        telling.program(run, label, replace(elite, source=telling.undocumented(elite.source)))
        for label, elite in zip(labels, start, strict=True)
    ]
    values = {"title": idea.title, "idea": idea.text, "programs": "\n\n".join(shown)}
    return fill("or_agent_code", **telling.task(run), **telling.contract(run), **values)


async def debug(run: Run, candidate: Candidate) -> Candidate:
    """Give a program that failed its error back, a few times at most; a reply without a program is no program."""
    agent = run.own
    for _ in range(agent.debugging):
        if not candidate.evaluation.status.failed or not candidate.evaluation.ran:
            break
        program, trouble = candidate.source.strip(), telling.trouble(candidate.evaluation)
        values = {"program": fence(program, tag(program)), "trouble": fence(trouble)}
        text = fill("or_agent_debug", **telling.task(run), **telling.contract(run), **values)
        candidate = await ask_for_program(run, "debug", [Message("user", text)], [candidate], run.temperature("code"))
    return candidate
