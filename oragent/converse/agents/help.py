"""The commands of the ``rules`` agent, with examples out of the problem that is talked about."""

from math import ceil, floor, log10

from oragent.converse.agents.change_commands import CHANGE_HELP
from oragent.converse.decision import DecisionProblem
from oragent.converse.optional_protocols import Editable
from oragent.report.pages.text import one_line

HELP = """Commands, several with ';' between:
  fix ITEM OPTION          such as: fix {fixed}
  forbid ITEM OPTION       such as: forbid {forbidden}
  OBJECTIVE <= NUMBER      also <, >=, >, such as: {bound}
  weight OBJECTIVE NUMBER  such as: weight {word} 2
  lowest OBJECTIVE         the least that it can be under what is in force; also: highest, best
  options OBJECTIVE N N..  what each bound would give, nothing is changed
  why                      what clashes, or what each request costs
  remove NAME, undo, reset, show, help"""
LONGEST = 60  # characters of a name in an example


def help_about(problem: DecisionProblem) -> str:
    """All commands; examples are of two items and of the first objective."""
    items, word = list(problem.chosen(problem.default)), problem.expressions[0].word
    early, middle = items[min(1, len(items) - 1)], items[max(len(items) // 2 - 1, 0)]
    text = HELP.format(
        fixed=_format_example(problem, early, 0),
        forbidden=_format_example(problem, middle, -1),
        bound=_suggest_bound(problem),
        word=one_line(word, LONGEST),
    )
    return f"{text}\n{CHANGE_HELP}" if isinstance(problem, Editable) else text


def _format_example(problem: DecisionProblem, item: str, index: int) -> str:
    options = problem.options(item) or (problem.chosen(problem.default)[item],)
    return f"{one_line(problem.short(item), LONGEST)} {problem.vocabulary.brief(options[index])}"


def _suggest_bound(problem: DecisionProblem) -> str:
    """A round bound that is a little better than what a conversation opens with."""
    goal, value = problem.expressions[0], problem.features(problem.default)[0]
    unit = 10.0 ** (floor(log10(abs(value))) - 1) if value else 1.0
    small = goal.sense.sign > 0
    bound = unit * (floor(value / unit) if small else ceil(value / unit))
    return f"{one_line(goal.word, LONGEST)} {'<=' if small else '>='} {bound:.6g}"
