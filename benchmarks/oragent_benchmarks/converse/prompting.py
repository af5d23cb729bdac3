"""Prompts of the agents of evaluations, from templates of ``converse/prompts``."""

import json
from string import Template

from oragent._base.errors import ConfigError
from oragent._base.prompt_templates import PromptFolder
from oragent.converse.prompting import quote_line
from oragent_benchmarks.converse.decision import DecisionProblem

PROMPTS = PromptFolder("oragent_benchmarks.converse")
fill_template = PROMPTS.fill
PARTS = ("task", "setting", "dialogue", "tools")
# Maximum number of tool calls in one reply.
MAX_CALLS = 10
# Maximum number of characters of data in a prompt.
MAX_DATA = 4000


def fill_lines(template: str, **values: object) -> dict[str, str]:
    """Fill each line of a template such as ``NAME: TEXT`` separately: line breaks in a value are replaced."""
    lines = (line.partition(": ") for line in PROMPTS.read(template).template.splitlines())
    return {Template(name).substitute(values): Template(text).substitute(values) for name, _, text in lines}


def tools_prompt(problem: DecisionProblem, extended: bool, without: frozenset[str] = frozenset()) -> str:
    """Return the prompt of T-P-P."""
    tips = fill_template("tools_tpp", decision=problem.vocabulary.decision, calls=MAX_CALLS)
    more = "\n" + fill_template("tools_extended") if extended else ""
    return _join_parts(problem, " through tools", tips + more, without)


def program_prompt(problem: DecisionProblem, readable: bool, without: frozenset[str] = frozenset()) -> str:
    """Return the prompt of C-P-P and C-P-R."""
    form, word = problem.program, problem.vocabulary.decision
    data = json.dumps(form.data, ensure_ascii=False)
    shown = data if len(data) <= MAX_DATA else f"{data[:MAX_DATA]} ..."
    table = f"the {word} as a table, with {_name_objectives(problem)}"
    comes = table if readable else "raw values of variables, x[3,2] = 1"
    part = fill_template(
        "tools_cp", mathematics=form.mathematics, program=form.source, data=f"{form.about}\n{shown}", comes=comes
    )
    return _join_parts(problem, " by writing its formulation anew", part, without)


def blank_prompt(seconds: float) -> str:
    """Return the prompt of C-N-R: instructions for Python, without the problem."""
    return fill_template("cnr", seconds=f"{seconds:g}")


def _name_objectives(problem: DecisionProblem) -> str:
    return {1: "the objective", 2: "both objectives"}.get(problem.goals, f"all {problem.goals} objectives")


def _join_parts(problem: DecisionProblem, means: str, tools_part: str, without: frozenset[str]) -> str:
    strange = without - {*PARTS}
    if strange:
        raise ConfigError(f"{min(strange)!r} is no part of the prompt; expected some of {', '.join(PARTS)}")
    words = problem.vocabulary
    units = ", ".join(quote_line(goal.unit or goal.word) for goal in problem.expressions[: problem.goals])
    parts = {
        "task": fill_template("task", decision=words.decision, means=means),
        "setting": problem.setting(),
        "dialogue": fill_template(
            "dialogue", decision=words.decision, item=words.item, units=units, objectives=_name_objectives(problem)
        ),
        "tools": tools_part,
    }
    return "\n\n".join(text for name, text in parts.items() if name not in without)
