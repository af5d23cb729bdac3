"""The role *code*: implement an idea, and mend what fails."""

from collections.abc import Sequence
from functools import partial

from oragent.programs.blocks import fence_text, language_tag
from oragent.search.candidate import Candidate, Elite
from oragent.search.prompting import (
    describe_champion,
    describe_exceeded_limits,
    describe_standing,
    edits_request,
    fill_template,
    program_request,
    task_messages,
)
from oragent.search.round_context import RoundContext
from oragent.search.strategies.asking import ask_for_program
from oragent.search.strategies.or_agent import prompt_sections
from oragent.search.strategies.or_agent.tree import Idea

DOCUMENTED = {
    False: {"small": "Leave comments and docstring out. ", "strong": ""},
    True: dict.fromkeys(("small", "strong"), "Say the idea, and what you considered, in the function's docstring. "),
}

UNCHANGED = "\n\nThis was answered once already, with this very program: the line must change."


async def implement_idea(run: RoundContext, idea: Idea, start: Sequence[Elite], memory: str) -> Candidate:
    """Ask for a program that implements an idea, score it, and have it mended where it fails."""
    base = _shown_text(run, start[-1])  # what the prompt shows, and edits are about
    text = write_prompt(run, idea, start, memory)
    asking = ask_for_program(run, "code", task_messages(run, text), start, run.temperature("code"), base)
    return await debug_program(run, await asking, run.own.debugging)


def write_prompt(run: RoundContext, idea: Idea, start: Sequence[Elite], memory: str) -> str:
    """Write the prompt: the problem, what is known, what to start from, the idea."""
    programs = prompt_sections.programs_section(run, start, "change", partial(_shown_text, run))
    return fill_template(
        "or_agent_code",
        run.style,
        **_answer_format(run, _shown_text(run, start[-1])),
        title=idea.title,
        idea=idea.text,
        programs=programs + describe_champion(run, start),
        memory=prompt_sections.memory_section(memory),
        documented=DOCUMENTED[run.own.docstrings][run.style],
        standing=describe_standing(run, start[-1]),
    )


async def debug_program(run: RoundContext, candidate: Candidate, attempts: int) -> Candidate:
    """Give a program that failed its error back, ``most`` times; a reply without a program is no program."""
    again = ""
    for _ in range(attempts):
        failed = candidate
        if not failed.evaluation.status.failed or not failed.evaluation.was_started:
            break
        program, trouble = failed.source.strip(), fence_text(prompt_sections.describe_failure(failed.evaluation))
        trouble += describe_exceeded_limits(run, failed.evaluation)
        values = {"program": fence_text(program, language_tag(program)), "trouble": trouble, "again": again}
        failing_line = prompt_sections.failing_line(failed.source, failed.evaluation)
        text = fill_template("or_agent_debug", run.style, **values, **_answer_format(run, program, failing_line))
        candidate = await ask_for_program(run, "debug", task_messages(run, text), [failed], run.temperature("code"))
        again = UNCHANGED if candidate.source.strip() == program else ""
    return candidate


def _shown_text(run: RoundContext, elite: Elite) -> str:
    """The text of a program as who rewrites it is shown it."""
    return elite.source if run.own.docstrings else prompt_sections.drop_docstrings(elite.source)


def _answer_format(run: RoundContext, base: str, first_line: str = "") -> dict[str, str]:
    """What the reply must look like, where the text of the program to change is ``base``; edits begin at ``line``."""
    changes = edits_request(run, base, first_line)
    return {
        **program_request(run),
        "edits": changes,
        "answer": fill_template("answer_code", run.style, **program_request(run), edits=changes),
    }
