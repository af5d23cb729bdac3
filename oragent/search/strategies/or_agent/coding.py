"""The role *code*: implement an idea, and mend what fails."""

from collections.abc import Sequence
from dataclasses import replace

from oragent.llm.model import Message
from oragent.search.archive import Elite
from oragent.search.run import Run
from oragent.search.store import Trial
from oragent.search.strategies.asking import ask_for_program, fill
from oragent.search.strategies.or_agent import telling
from oragent.search.strategies.or_agent.tree import Idea

__all__ = ["debugged", "implement"]


async def implement(run: Run, idea: Idea, start: Sequence[Elite]) -> Trial:
    """Ask for a program that implements an idea, score it, and have it mended where it fails."""
    temperature = run.desk.folder.config.or_agent.temperatures.code
    return await debugged(
        run, await ask_for_program(run, "code", [Message("user", prompt(run, idea, start))], start, temperature)
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


async def debugged(run: Run, trial: Trial) -> Trial:
    """Give a program that failed its error back, a few times at most; a reply without a program is no program."""
    agent = run.desk.folder.config.or_agent
    for _ in range(agent.debugging):
        if not trial.evaluation.status.failed or not trial.evaluation.ran:
            break
        broken = Elite(trial.fingerprint, trial.source, 0.0, None, {}, len(trial.source))
        values = {"program": trial.source.strip(), "trouble": telling.trouble(trial.evaluation)}
        text = fill("or_agent_debug", **telling.task(run), **telling.contract(run), **values)
        trial = await ask_for_program(run, "debug", [Message("user", text)], [broken], agent.temperatures.code)
    return trial
