"""Commands that change a person's own model: ``set``, ``scale``, ``relax`` and ``drop``."""

import re
from difflib import get_close_matches
from math import ceil, floor, log10

from oragent._base.errors import ConfigError
from oragent._base.text_format import one_line
from oragent.converse.decision import DecisionProblem, Editable
from oragent.converse.model_changes import ChangeRequest, Verb, match_name, objective_names

VERBS = tuple(str(verb) for verb in Verb)
CHANGE_HELP = """Commands that change the model itself (a row, the bounds of a variable, a coefficient):
  set ROW NUMBER            another right-hand side; also: set ROW >= NUMBER
  set VARIABLE <= NUMBER    another largest value; >= the least value
  set ROW VARIABLE NUMBER   another coefficient; 'objective' is a row here
  scale ROW 1.1             also: scale ROW VARIABLE +10 %
  relax ROW 5               let the limit give way by 5, or by 5 %
  compare ROW 40 50 60      what each right-hand side would give, nothing is changed
  drop ROW                  no limit any more; 'undo' takes any change back
  values WORDS              rows and variables with these words in their names, with their values
  binding                   rows whose limit is reached"""
AMOUNT = re.compile(
    r"(?i)(?P<what>.+?)(?:\s*(?P<relation><=|>=|=|≤|≥)\s*|\s+(?:to\s+|by\s+)?)"
    r"(?P<number>[-+]?(?:\d[\d,]*\.?\d*|\.\d+)(?:e[-+]?\d+)?)\s*(?P<percent>%|percent)?"
)
# as people write them
RELATIONS = {"≤": "<=", "≥": ">="}
EXAMPLES = {
    Verb.SET: "set ROW 50",
    Verb.SCALE: "scale ROW 1.1",
    Verb.RELAX: "relax ROW 5",
    Verb.DROP: "drop ROW",
}
BOUND_FORM = "OBJECTIVE <= NUMBER"
FORMS = {
    "fix": "fix ITEM OPTION",
    "forbid": "forbid ITEM OPTION",
    "weight": "weight OBJECTIVE NUMBER",
    "lowest": "lowest OBJECTIVE",
    "highest": "highest OBJECTIVE",
    "best": "best OBJECTIVE",
    "options": "options OBJECTIVE NUMBER NUMBER",
    "try": "try COMMAND",
    "why": "why",
    "status": "status",
    "remove": "remove NAME",
    "undo": "undo",
    "reset": "reset",
    "show": "show",
    "help": "help",
}
CHANGE_FORMS = {
    **{str(verb): form for verb, form in EXAMPLES.items()},
    "compare": "compare ROW NUMBER NUMBER",
    "values": "values WORDS",
    "binding": "binding",
}
# a number as it is typed; commas separate thousands, or a single one is a decimal comma
FIGURE = re.compile(r"[-+]?(?:\d{1,3}(?:,\d{3})+(?:\.\d*)?|\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?", re.IGNORECASE)
DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+")
HELP = """Commands, several with ';' between:
  fix ITEM OPTION          such as: fix {fixed}
  forbid ITEM OPTION       such as: forbid {forbidden}
  OBJECTIVE <= NUMBER      also <, >=, >, such as: {bound}
  weight OBJECTIVE NUMBER  such as: weight {word} 2
  lowest OBJECTIVE         the least that it can be under what is in force; also: highest, best
  options OBJECTIVE N N..  what each bound would give, nothing is changed
  try COMMAND              what a command would change, nothing is changed
  why                      what clashes, or what each request costs
  status                   the objectives and what is in force; also: status changes
  remove NAME, undo, reset, show, help"""
# characters of a name in an example
LONGEST = 60


def parse_figure(text: str) -> float:
    """Read a number: commas separate thousands, and a single one elsewhere is a decimal comma.

    Raises:
        ValueError: It is no number.
    """
    text = text.strip()
    if FIGURE.fullmatch(text):
        return float(text.replace(",", ""))
    if DECIMAL_COMMA.fullmatch(text):
        return float(text.replace(",", "."))
    raise ValueError(f"{text[:LONGEST]!r} is no number")


def no_command_error(problem: DecisionProblem, line: str) -> ConfigError:
    """Return the error for a line that is no command; it names the nearest command."""
    forms = {**FORMS, **(CHANGE_FORMS if isinstance(problem, Editable) else {})}
    words = line.casefold().split()
    named = [word for word in words if word in forms]
    if named:
        nearest = forms[named[0]]
    elif any(sign in line for sign in ("<", ">", "≤", "≥")):
        nearest = BOUND_FORM
    else:
        nearest = forms[get_close_matches(words[0], forms, n=1, cutoff=0.0)[0]]
    return ConfigError(f"{one_line(line, 80)!r} is no command; the nearest is '{nearest}', and 'help' lists all")


def read_change_command(problem: DecisionProblem, verb: str, rest: str) -> ChangeRequest:
    """Read a command such as ``set carpentry 50``; names may have spaces.

    Raises:
        ConfigError: A number is missing or a name is unknown.
    """
    requested_verb = Verb(verb)
    if requested_verb is Verb.DROP:
        part, variable = _resolve_parts(problem, rest)
        return ChangeRequest(requested_verb, part, variable)
    amount_match = AMOUNT.fullmatch(rest.strip())
    if amount_match is None:
        raise ConfigError(f"{verb} needs a name and a number; expected such as: {EXAMPLES[requested_verb]}")
    percent = bool(amount_match["percent"])
    try:
        value = parse_figure(amount_match["number"])
    except ValueError as problem_text:
        raise ConfigError(f"{problem_text}; expected such as: {EXAMPLES[requested_verb]}") from None
    if percent and requested_verb is Verb.SET:
        raise ConfigError(f"set needs a value, not a share; expected such as: scale ROW {amount_match['number']} %")
    if percent and requested_verb is Verb.SCALE:
        value = value / 100 + (1.0 if amount_match["number"][0] in "+-" else 0.0)
    relation = amount_match["relation"] or ""
    if relation and requested_verb is not Verb.SET:
        raise ConfigError(f"{verb} takes no {relation}; expected such as: {EXAMPLES[requested_verb]}")
    part, variable = _resolve_parts(problem, amount_match["what"])
    return ChangeRequest(
        requested_verb,
        part,
        variable,
        RELATIONS.get(relation, relation),
        value,
        percent and requested_verb is Verb.RELAX,
    )


def _resolve_parts(problem: DecisionProblem, text: str) -> tuple[str, str]:
    """The row, objective or variable that a text names, and the variable of a coefficient in it."""
    if not isinstance(problem, Editable):
        return text, ""
    variables = [variable.name for variable in problem.original.variables]
    holders = [*objective_names(problem), *(row.name for row in problem.original.rows)]
    wrong: ConfigError | None = None
    try:
        return match_name(text, [*holders, *variables], "row, variable or objective"), ""
    except ConfigError as unknown:
        wrong = unknown
    words = text.split()
    splits = [(words[:split], words[split:]) for split in range(1, len(words))]
    swapped = [
        (words[split + 1 :], words[:split])
        for split in range(1, len(words) - 1)
        if words[split].casefold() in ("in", "of")
    ]
    for holder, variable in [*swapped, *splits]:
        try:
            return match_name(" ".join(holder), holders, "row"), match_name(" ".join(variable), variables, "variable")
        except ConfigError:
            continue
    raise wrong


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
    if isinstance(problem, Editable):
        return f"{text}\n{CHANGE_HELP}"
    return text


def _format_example(problem: DecisionProblem, item: str, index: int) -> str:
    options = problem.options(item) or (problem.chosen(problem.default)[item],)
    return f"{one_line(problem.short(item), LONGEST)} {problem.vocabulary.brief(options[index])}"


def _suggest_bound(problem: DecisionProblem) -> str:
    """A round bound that is a little better than what a conversation opens with."""
    goal, value = problem.expressions[0], problem.features(problem.default)[0]
    if value:
        unit = 10.0 ** (floor(log10(abs(value))) - 1)
    else:
        unit = 1.0
    small = goal.sense.sign > 0
    bound = unit * (floor(value / unit) if small else ceil(value / unit))
    return f"{one_line(goal.word, LONGEST)} {'<=' if small else '>='} {bound:.6g}"
