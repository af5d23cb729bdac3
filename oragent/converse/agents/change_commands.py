"""Commands that change a person's own model: ``set``, ``scale``, ``relax`` and ``drop``."""

import re

from oragent._base.errors import ConfigError
from oragent.converse.decision import DecisionProblem
from oragent.converse.model_changes import ChangeRequest, Verb, named
from oragent.converse.optional_protocols import Editable

VERBS = tuple(str(verb) for verb in Verb)
CHANGE_HELP = """Commands that change the model itself (a row, the bounds of a variable, a coefficient):
  set ROW NUMBER            another right-hand side; also: set ROW >= NUMBER
  set VARIABLE <= NUMBER    another largest value; >= the least value
  set ROW VARIABLE NUMBER   another coefficient; 'objective' is a row here
  scale ROW 1.1             also: scale ROW VARIABLE +10 %
  relax ROW 5               let the limit give way by 5, or by 5 %
  compare ROW 40 50 60      what each right-hand side would give, nothing is changed
  drop ROW                  no limit any more; 'undo' takes any change back"""
AMOUNT = re.compile(
    r"(?P<what>.+?)(?:\s*(?P<relation><=|>=|=|≤|≥)\s*|\s+(?:to\s+|by\s+)?)"
    r"(?P<number>[-+]?(?:\d[\d,]*\.?\d*|\.\d+)(?:e[-+]?\d+)?)\s*(?P<percent>%|percent)?",
    re.IGNORECASE,
)
RELATIONS = {"≤": "<=", "≥": ">="}
EXAMPLES = {
    Verb.SET: "set ROW 50", Verb.SCALE: "scale ROW 1.1", Verb.RELAX: "relax ROW 5", Verb.DROP: "drop ROW",
}  # fmt: skip


def read_change_command(problem: DecisionProblem, verb: str, rest: str) -> ChangeRequest:
    """Read a command such as ``set carpentry 50``; names may have spaces.

    Raises:
        ConfigError: A number is missing or a name is unknown.
    """
    wanted = Verb(verb)
    if wanted is Verb.DROP:
        part, variable = _parts(problem, rest)
        return ChangeRequest(wanted, part, variable)
    found = AMOUNT.fullmatch(rest.strip())
    if found is None:
        raise ConfigError(f"{verb} needs a name and a number; expected such as: {EXAMPLES[wanted]}")
    value, percent = float(found["number"].replace(",", "")), bool(found["percent"])
    if percent and wanted is Verb.SET:
        raise ConfigError(f"set needs a value, not a share; expected such as: scale ROW {found['number']} %")
    if percent and wanted is Verb.SCALE:
        value = value / 100 + (1.0 if found["number"][0] in "+-" else 0.0)
    relation = found["relation"] or ""
    if relation and wanted is not Verb.SET:
        raise ConfigError(f"{verb} takes no {relation}; expected such as: {EXAMPLES[wanted]}")
    part, variable = _parts(problem, found["what"])
    return ChangeRequest(
        wanted, part, variable, RELATIONS.get(relation, relation), value, percent and wanted is Verb.RELAX
    )


def _parts(problem: DecisionProblem, text: str) -> tuple[str, str]:
    """The row, objective or variable that a text names, and the variable of a coefficient in it."""
    if not isinstance(problem, Editable):
        return text, ""
    variables = [variable.name for variable in problem.original.variables]
    holders = [
        *(goal.name for goal in problem.expressions[: problem.goals]),
        *(row.name for row in problem.original.rows),
    ]
    wrong: ConfigError | None = None
    try:
        return named(text, [*holders, *variables], "row, variable or objective"), ""
    except ConfigError as unknown:
        wrong = unknown
    words = text.split()
    splits = [(words[:place], words[place:]) for place in range(1, len(words))]
    swapped = [(words[place + 1 :], words[:place]) for place in range(1, len(words) - 1)
               if words[place].casefold() in ("in", "of")]  # fmt: skip
    for holder, variable in [*swapped, *splits]:
        try:
            return named(" ".join(holder), holders, "row"), named(" ".join(variable), variables, "variable")
        except ConfigError:
            continue
    raise wrong
