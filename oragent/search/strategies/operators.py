"""Prompt operators of EoH and of later methods: tasks for a model, given the programs in the prompt.

``i1`` writes a program without parents. ``e1`` writes one that differs from all parents, ``e2`` one that uses the
common idea of the parents. ``m1`` changes a mechanism, ``m2`` the parameters, and ``m3`` simplifies (Liu et al. 2024,
arXiv:2401.02051). ``s1`` combines the improvements along a line of ancestors (Zheng et al. 2025, arXiv:2501.08603).
Each operator has a template of its name in ``search/prompts``.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from oragent.llm.dialogue import PromptPart, fit_prompt
from oragent.programs.blocks import drop_thoughts, fence_text, fenced_blocks, language_tag, without_edits
from oragent.search.candidate import Candidate, Committed, Elite
from oragent.search.prompting.programs import Told, as_published, describe_lineage, show_program, shown_figures
from oragent.search.prompting.prompt_templates import (
    bin_meanings,
    bin_names,
    blocks_hint,
    edits_request,
    program_request,
    prompt_tokens_left,
    task_messages,
)
from oragent.search.prompting.search_summary import describe_champion, set_title, summarise_search
from oragent.search.round_context import RoundContext
from oragent.search.strategies.asking import ask_for_program

# Kind of notes that hold the fingerprint of a program, then its thought.
THOUGHT = "thought"
BRACES = re.compile(r"\{([^{}]+)\}")
SENTENCE = re.compile(r"(.+?[.!?:])(\s|$)", re.DOTALL)
# Operators that ask for a program unlike the shown ones.
ANEW = {"e1", "e2", "tide_e1", "tide_e2", "tide_reset"}
# Maximum number of words of a thought or advice in later prompts. Models may exceed the requested length.
MAX_THOUGHT_WORDS = 80


async def apply_operator(
    run: RoundContext,
    operator: str,
    parents: Sequence[Committed],
    *,
    paper: Told = Told.NONE,
    descent: Sequence[Committed] | None = None,
    temperature: float | None = None,
    more: Mapping[str, str] | None = None,
) -> Candidate:
    """Ask for a program by an operator, score it, and store the thought of the reply.

    Parents are shown from worse to better, with the figures that ``paper`` selects; ``m1``, ``m2`` and ``m3`` change
    the last one. The origin of the program is the operator's name. ``descent`` are its parents, if their order differs
    from that in the prompt. ``more`` has further parts of the operator's template.
    """
    outline = "" if parents else fence_text(run.problem.outline, language_tag(run.problem.seed))
    shown = [Elite.of(parent) for parent in parents]
    task = run.fill_template(operator, run.style, outline=outline, **(more or {}))
    prompt = write_prompt(
        run, task, shown, "answer_thought", recall_thoughts(run, parents), paper, anew=operator in ANEW
    )
    ancestors = shown if descent is None else [Elite.of(record) for record in descent]
    base = shown[-1].source if shown else None
    candidate = await ask_for_program(run, operator, task_messages(run, prompt), ancestors, temperature, base)
    descriptions = [read_thought(reply.text) for reply in run.replies[: (candidate.call or 0) + 1]]
    remember_thought(run, candidate, next((words for words in reversed(descriptions) if words), ""))
    return candidate


async def apply_anew(
    run: RoundContext, operator: str, parents: Sequence[Committed], retries: int, temperature: float | None = None
) -> Candidate:
    """Apply an operator. If the program equals an earlier one, ask again, at most ``retries`` times."""
    for _ in range(retries):
        candidate = await apply_operator(run, operator, parents, temperature=temperature)
        if not run.repeats(candidate):
            return candidate
    return await apply_operator(run, operator, parents, temperature=temperature)


def write_prompt(
    run: RoundContext,
    task: str,
    shown: Sequence[Elite],
    answer: str,
    ideas: Mapping[str, str] | None = None,
    paper: Told = Told.NONE,
    anew: bool = False,
) -> str:
    """Write a prompt that asks for a program and fits into the model's context.

    Programs are shown from worse to better, with their thoughts by id and the figures that ``paper`` selects.
    ``answer`` is the template that describes the form of the reply. With ``anew`` the reply must be a whole program,
    not edits of the last one.
    """
    thoughts_of, figures = ideas or {}, shown_figures(run, paper)
    changed = shown[-1] if shown else None
    named, hint = bin_names(run), blocks_hint(run, changed)
    telling = bin_meanings(run) if shown and figures is Told.ALL else ""
    programs = [
        show_program(f"Program {number}", elite, idea=thoughts_of.get(elite.id, ""), bins=named, detail=figures)
        for number, elite in enumerate(shown, 1)
    ]
    heading = f"{_programs_heading(run, figures)}\n\n" if shown else ""
    changes = "" if anew or changed is None or as_published(run) else edits_request(run, changed.source)
    wording = run.fill_template(answer, run.style, **program_request(run), edits=changes)
    return compose_prompt(
        run, task, programs, wording, changed=changed, shown=shown, heading=heading, telling=telling, hint=hint
    )


def compose_prompt(
    run: RoundContext,
    task: str,
    programs: Sequence[str],
    answer: str,
    *,
    changed: Elite | None = None,
    shown: Sequence[Elite] = (),
    heading: str = "",
    telling: str = "",
    hint: str = "",
    fill: Callable[..., str] | None = None,
) -> str:
    """Compose a prompt that asks for a program and fits into the model's context.

    The last program is never dropped. ``changed`` is the program to change; the prompt describes its history and
    archive cell if the settings ask for that. ``heading`` precedes the programs, ``telling`` follows them.
    """
    live, compose = bool(run.settings.strategy.live), fill or partial(run.fill_template, "evolve")
    return fit_prompt(
        lambda sections: compose(
            knowledge="".join(sections["what is known about the problem"]),
            programs=heading + "\n\n".join(sections["programs"]) + telling + "".join(sections["the best program"]),
            blocks="".join(sections["a hint"]),
            standing="".join(sections["where the search stands"]),
            history="".join(sections["how the program came about"]),
            task=task,
            answer=answer,
        ),
        [
            PromptPart("a hint", [hint]),
            PromptPart("how the program came about", [describe_lineage(run, changed) if changed else ""]),
            PromptPart("where the search stands", [summarise_search(run, changed) if changed or live else ""]),
            PromptPart("the best program", [describe_champion(run, shown)]),
            PromptPart("what is known about the problem", [run.problem.knowledge.strip()]),
            PromptPart("programs", programs, keep=1),
        ],
        prompt_tokens_left(run),
    )


async def ask_reflector(
    run: RoundContext, template: str, parts: Sequence[PromptPart], preface: str = "", longest: int = MAX_THOUGHT_WORDS
) -> str:
    """Ask the reflector for advice of at most ``longest`` words. Names of the parts are those in the template."""
    prompt = fit_prompt(
        lambda sections: run.fill_template(template, **{name: "\n".join(pieces) for name, pieces in sections.items()}),
        parts,
        prompt_tokens_left(run),
    )
    return read_prose((await run.ask("reflect", task_messages(run, preface + prompt))).text, longest)


def _programs_heading(run: RoundContext, figures: Told) -> str:
    if figures is Told.NONE:
        return "Here are programs that were tried."
    better = run.problem.about.direction.comparative
    return f"Here are programs that were tried, with their scores. A {better} score is better."


def read_thought(reply: str) -> str:
    """Return the idea of a reply: the text between braces, or without braces the first sentence outside the code."""
    blocks, outside = fenced_blocks(without_edits(drop_thoughts(reply)))
    braced = BRACES.search(outside)
    if braced:
        return _shorten(braced[1])
    sentence = SENTENCE.match(outside.strip()) if blocks else None
    if sentence:
        return _shorten(sentence[1])
    return ""


def read_prose(reply: str, longest: int = MAX_THOUGHT_WORDS) -> str:
    """Return the prose of a reply without code, cut to ``longest`` words."""
    return _shorten(fenced_blocks(drop_thoughts(reply))[1], longest)


def remember_thought(run: RoundContext, candidate: Candidate, words: str) -> None:
    """Store the thought behind a program. It replaces an earlier thought about the same program."""
    if words:
        set_title(run, candidate.source, words)
        run.note(THOUGHT, f"{candidate.fingerprint} {words}")


def recall_thoughts(run: RoundContext, records: Sequence[Committed]) -> dict[str, str]:
    """Return the thoughts behind programs that were committed before the round began, by id."""
    # Without parents, a search in all notes of the run is not needed.
    if not records:
        return {}
    ids = {record.candidate.fingerprint: record.id for record in records}
    noted = (note.text.partition(" ") for note in run.recall(THOUGHT))
    return {ids[fingerprint]: words for fingerprint, _, words in noted if fingerprint in ids}


def _shorten(text: str, longest: int = MAX_THOUGHT_WORDS) -> str:
    words = text.split()
    return " ".join(words[:longest]) + (" ..." if len(words) > longest else "")
