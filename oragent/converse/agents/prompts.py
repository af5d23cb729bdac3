"""The prompt of an optimisation agent in four parts, of which a design takes what it may have."""

import json

from oragent._base.errors import ConfigError
from oragent.converse.decision import DecisionProblem, Editable
from oragent.converse.prompting import fill_template, quote_line

PARTS = ("task", "setting", "dialogue", "tools")
MOST_DATA = 4000  # characters of data that a prompt shows


def tools_prompt(problem: DecisionProblem, extended: bool, without: frozenset[str] = frozenset()) -> str:
    """The prompt of T-P-P."""
    tips = fill_template("tools_tpp", decision=problem.vocabulary.decision)
    more = "\n" + fill_template("tools_extended") if extended else ""
    more += "\n" + fill_template("tools_changes") if extended and isinstance(problem, Editable) else ""
    return _join_parts(problem, " through tools", tips + more, without)


def program_prompt(problem: DecisionProblem, readable: bool, without: frozenset[str] = frozenset()) -> str:
    """The prompt of C-P-P and C-P-R."""
    form, word = problem.program, problem.vocabulary.decision
    data = json.dumps(form.data, ensure_ascii=False)
    shown = data if len(data) <= MOST_DATA else f"{data[:MOST_DATA]} ..."
    comes = (
        f"the {word} as a table, with {_name_objectives(problem)}"
        if readable
        else "raw values of variables, x[3,2] = 1"
    )
    part = fill_template("tools_cp", mathematics=form.mathematics, program=form.source, data=f"{form.about}\n{shown}",
                comes=comes)  # fmt: skip
    return _join_parts(problem, " by writing its formulation anew", part, without)


def blank_prompt(seconds: float) -> str:
    """The prompt of C-N-R: how to run Python, and nothing of the problem."""
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
