"""The prompt of an action: the state of the search, the programs, the direction of the call, and the form of the reply.

All kinds of actions have the same form. No section repeats a text of another one, and a prompt that would be longer
than `MAX_PROMPT` characters loses the sections that matter least.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from oragent._base.errors import CandidateError
from oragent.programs.helper_functions import list_helpers
from oragent.programs.inspection import documentation
from oragent.programs.kept_arrays import MAX_BYTES
from oragent.search.calibration import SHARE
from oragent.search.candidate import Elite
from oragent.search.experiments import MIN_S, PRACTICE
from oragent.search.prompting.instance_values import (
    describe_instances,
    describe_parts,
    describe_references,
    describe_sizes,
)
from oragent.search.prompting.programs import describe_lineage
from oragent.search.prompting.prompt_templates import bin_meanings, blocks_hint, program_request, system_prompt
from oragent.search.prompting.search_summary import describe_tried, summarise_search
from oragent.search.round_context import RoundContext
from oragent.search.store import CORE
from oragent.search.strategies.or_agent import prompt_sections
from oragent.search.strategies.or_agent.allocation import ActionKind
from oragent.search.strategies.or_agent.coding import find_helpers, library_programs
from oragent.search.strategies.or_agent.sweeps import experiment_words, sweep_seconds

# Maximum number of characters of a prompt with its description of the problem, unless the program to change is longer.
MAX_PROMPT = 24_000
# Maximum number of characters of the mark where a text was cut.
MAX_MARK = 60
# Sections that a prompt which is too long loses, in this order, each with the number of characters that it keeps.
SHORTENED = (
    ("history", 0), ("tried", 0), ("helpers", 0), ("measured", 6000), ("example", 0), ("others", 4000),
    ("measured", 2000), ("instances", 0), ("memory", 2000), ("others", 1500),
)  # fmt: skip
# Maximum number of functions of earlier programs that a prompt offers.
MAX_HELPERS = 24
BUILD_ON = (
    "A part that builds on one of these probes has the line FROM: with its number below its title, and only edits "
    "or the functions and constants that change."
)
FUNCTIONS = (
    "- one such block with only the functions and constants that change, which replace those of the same name in the "
    "program to change\n"
)
# Directions of calls that run at the same time. New programs differ in kind, changes in what they look at.
NEW_KINDS = (
    "a rule that builds the answer step by step, with look-ahead or regret, and mends its worst decisions",
    "local search from a good start by several kinds of moves, with costs that are updated and not computed anew",
    "large steps: parts of an answer are taken out and put together again, nearly optimally",
    "a mathematical view: relaxations, bounds, dynamic programming or beam search, and answers made from them",
)
CHANGES = (
    "the largest losses in the figures: the worst instances and sizes, and the largest part of the cost",
    "speed: the same decisions with fewer operations, and more of them in the time that is allowed",
    "moves, terms or steps that the program does not have yet",
    "decisions that it makes by a fixed rule, order or number, and its beginning and end",
)


@dataclass(frozen=True)
class PromptRequest:
    """Content of the prompt of an action."""

    action: ActionKind
    # Programs that it shows. The last one is to be changed.
    parents: Sequence[Elite]
    # Maximum number of programs in the reply.
    count: int
    # Results of experiments and outcomes of the programs of the latest replies.
    measured: str = ""
    # Arguments of the function in numbers.
    example: str = ""


def write_prompt(run: RoundContext, request: PromptRequest) -> str:
    """Write the prompt: the state of the search, the programs, the action, and the form of the reply."""
    last = request.parents[-1] if request.parents else None
    sections = _list_sections(run, request, last)
    excess = sum(map(len, sections.values())) + len(system_prompt(run).content) - MAX_PROMPT
    for name, least in SHORTENED:
        size = len(sections[name])
        if excess > 0 and size > least:
            kept = max(least, size - excess - MAX_MARK)
            sections[name] = prompt_sections.head_and_tail(sections[name], kept) if least else ""
            excess -= size - len(sections[name])
    after, before = prompt_sections.with_blank_line, _before_blank_line
    return run.fill_template(
        "or_agent_wave",
        memory=prompt_sections.memory_section(sections["memory"]),
        # Constant text comes first, because servers cache equal prefixes.
        setting=before(sections["core"]) + before(sections["example"]),
        features=before(sections["features"]),
        standing=sections["standing"] + after(sections["instances"]),
        tried=after(sections["tried"]),
        programs=after(sections["others"]) + after(sections["program"]),
        history=after(sections["history"]),
        measured=after(sections["measured"]),
        siblings=sections["siblings"],
        task=sections["task"],
        # A strong model needs no building blocks.
        blocks="" if run.style == "strong" else blocks_hint(run, last),
        form=sections["form"] + after(sections["helpers"]),
    ).rstrip()


def _list_sections(run: RoundContext, request: PromptRequest, last: Elite | None) -> dict[str, str]:
    amount = "one program" if request.count == 1 else f"up to {request.count} programs"
    others, program = _describe_programs(run, request.parents, request.measured)
    return {
        "memory": run.problem.knowledge.strip(),
        "core": run.context.store.meta(CORE) or "",
        "example": request.example,
        "features": bin_meanings(run).strip(),
        "standing": _describe_standing(run, last),
        "instances": "\n".join(filter(None, [describe_instances(run, last), describe_parts(run)])),
        "tried": describe_tried(run),
        "others": others,
        "program": program,
        "history": describe_lineage(run, last) if last else "",
        "measured": request.measured,
        "siblings": describe_siblings(run, CHANGES if request.action is ActionKind.EDIT else NEW_KINDS),
        "task": run.fill_template(f"or_agent_wave_{request.action}", amount=amount),
        "form": _describe_form(run, last),
        "helpers": _describe_helpers(run),
    }


def _before_blank_line(text: str) -> str:
    return f"{text}\n\n" if text else ""


def describe_siblings(run: RoundContext, directions: Sequence[str]) -> str:
    """Name the directions of the calls that run at the same time; empty if rounds run one after the other.

    Rounds that begin together know the same state, so without directions their prompts would be equal.
    """
    count = min(run.window, len(directions))
    if count == 1:
        return ""
    lines = "\n".join(f"{number}. {text}" for number, text in enumerate(directions[:count], 1))
    number = (run.turn - 1) % count + 1
    return run.fill_template("or_agent_wave_siblings", count=run.window, directions=lines, number=number) + "\n\n"


def _describe_standing(run: RoundContext, last: Elite | None) -> str:
    """Describe the state of the search, the sizes that count, and the known bounds."""
    sentences = " ".join(filter(None, [describe_sizes(run), describe_references(run)]))
    return "\n\n".join(filter(None, [summarise_search(run, last), sentences]))


def _describe_programs(run: RoundContext, parents: Sequence[Elite], measured: str) -> tuple[str, str]:
    """Show the other parents, as changes of the last one where these are shorter, and the last one."""
    if not parents:
        return "", ""
    section = partial(prompt_sections.program_section, run, reported=measured)
    *others, last = parents
    text = shown_text(run, last)
    shown = [
        section(f"Program {number}", elite, text=shown_text(run, elite), against=text)
        for number, elite in enumerate(others, 1)
    ]
    return "\n\n".join(shown), section("The program to change", last, text=text)


def shown_text(run: RoundContext, elite: Elite) -> str:
    """Return the text of a program to which edits apply, without the docstring if the task shows the same one."""
    signature, described = run.problem.signature, run.problem.documentation
    if signature.language != "python" or not described:
        return elite.source
    try:
        is_told = documentation(elite.source, signature.function) == described
    except CandidateError:
        # The program is written for another version of Python.
        return elite.source
    if is_told:
        return prompt_sections.drop_docstrings(elite.source)
    return elite.source


def _describe_form(run: RoundContext, base: Elite | None) -> str:
    # Only Python programs have parameters.
    has_numbers = run.problem.signature.language == "python" and run.experiments.cpu_s_left >= MIN_S
    # The task section has the whole signature.
    words = program_request(run) | {"signature": run.problem.about.function}
    answer = f"one fenced {words['language']} block that holds the complete program and defines `{words['signature']}`"
    if base is not None:
        functions = FUNCTIONS if run.problem.signature.language == "python" else ""
        line = shown_text(run, base).rstrip().split("\n")[-1]
        answer = run.fill_template("or_agent_wave_edits", **words, functions=functions, line=line)
    return run.fill_template(
        "or_agent_wave_form",
        answer=answer,
        effects=words["effects"],
        sweep="SWEEP: NAME=15,23,40 OTHER=0.5,1\n" if has_numbers else "",
        numbers=f"\n{_describe_numbers(run)}" if has_numbers else "",
        probe=_describe_probes(run, "practice instances as well" if has_numbers else experiment_words(run)),
    )


def _describe_numbers(run: RoundContext) -> str:
    """Ask for ranges of numbers, and for a work parameter if it can be set to fit the time limit."""
    work = ""
    if run.experiments.instances.mode == PRACTICE and run.problem.heuristic_s(run.settings.limits) is not None:
        work = "\n" + run.fill_template("or_agent_wave_work", share=f"{100 * SHARE:.0f}")
    return run.fill_template(
        "or_agent_wave_numbers", left=sweep_seconds(run), instances=experiment_words(run), work=work
    )


def _describe_probes(run: RoundContext, instances: str) -> str:
    """Describe a probe, which is measured on practice instances or prints on a few training instances, and arrays."""
    if run.experiments.instances.mode == PRACTICE:
        text = run.fill_template("or_agent_wave_practice", instances=instances)
    else:
        sizes = run.problem.about.sizes.get("train", ())
        text = run.fill_template("or_agent_wave_probe", probed=f" of size {min(sizes)}" if sizes else "")
    if not run.experiments.keeps_arrays:
        return text
    text += "\n" + run.fill_template("or_agent_wave_arrays", most=f"{MAX_BYTES:,}")
    kept = run.experiments.list_arrays().values()
    if kept:
        text += " Kept so far:\n" + "\n".join(f"- {note.call}, by a probe of round {note.round}" for note in kept)
    return text


def _describe_helpers(run: RoundContext) -> str:
    """Offer the functions of earlier programs; empty if there are none."""
    calls = []
    for name, source in find_helpers(run, library_programs(run)).items():
        calls.append(f"- `{list_helpers(source, ())[name]}`")
    if not calls:
        return ""
    return run.fill_template("or_agent_wave_helpers", functions="\n".join(calls[:MAX_HELPERS]))
