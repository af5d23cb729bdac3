"""Questions in ordinary words, read as commands over the names of a person's own model."""

import re
from collections.abc import Sequence
from math import isclose, isfinite

from oragent._base.errors import ConfigError
from oragent.converse.decision import DecisionProblem, Editable, format_figure
from oragent.milp.questions import (
    AT_LEAST,
    AT_MOST,
    EXACTLY,
    INDEX,
    INSTEAD,
    LEAST,
    MOST,
    NUMBERS,
    PERIODS,
    SEVERAL,
    STOPWORDS,
    TO,
    WHY,
    WITHOUT,
    WORDS,
    AmountKind,
    find_calendar_labels,
    find_named,
    is_abbreviation,
    matches_index,
    parse_figure,
    read_amount,
    remove_name,
    spell_counts,
    split_words,
    use_base_forms,
)

LIMITS = re.compile(
    r"(?i)\s*what(?:'s| is)? (?:limit|constrain|restrict|hold|cap)(?:s|ing)?(?: back)?\b\s*(?P<what>.*)"
)
THING = re.compile(r"(?i)\s*(?:which|who|whose|where)\b")
WORTH = re.compile(r"(?i)\bworth\b")
PLAN_WORDS = {
    "best",
    "current",
    "final",
    "get",
    "is",
    "it",
    "model",
    "now",
    "of",
    "optimal",
    "optimum",
    "plan",
    "possible",
    "present",
    "s",
    "solution",
    "today",
    "total",
    "we",
}
BINDING = re.compile(r"(?i)\b(?:binding|bottlenecks?|tight|at (?:its|their) limits?)\b")
ASKS_VALUE = re.compile(r"(?i)\s*(?:is|are|which|how (?:much|many)|what(?:'s| is| are)?)\b")
REQUEST = re.compile(
    r"(?i)\b(?:if|happens|suppose|would|cheapest|dearest|best|worst|doubl\w+|twice|halv\w+|half|tripl\w+)\b"
)
WHY_NOT = re.compile(r"(?i)\s*why\s+(?:not|don't we|do we not|isn't|aren't|(?:is|are)(?=.*\bnot\b))\s*")
COSTS = re.compile(r"(?i)\s*what (?:does|would|did) (?:that|this|it) cost\b(?!.* to )")
COST_TO = re.compile(r"(?i)\s*what (?:does|would) it (?:cost|bring|gain)\b.*? to\b")
EARNINGS = re.compile(
    r"(?i)(?:and )?how much (?:money )?(?:do|does|would|will) (?:we|it|this|that) (?:make|earn|spend|pay|lose|cost)"
    r"(?: now| in total| altogether| overall)?"
)
PLAN = re.compile(
    r"(?i)(?:what is |what's |show(?: me)? )?the (?:best|cheapest|optimal|current) (?:plan|solution|decision)"
)
CHANGED = re.compile(r"(?i)what(?: has|'s| have we)? changed(?: so far| until now)?")
IN_FORCE = re.compile(r"(?i)what(?: is|'s) in force(?: now)?")
CLOSE = re.compile(
    r"(?i)\b(?:turn|switch)\w*\b.*\boff\b|\b(?:is|are|was|were)\b.*\boff\b|"
    r"\b(?:close[ds]?|closing|shut|stop using|(?:do not|don't|without) (?:use|using))\b"
)
OPEN = re.compile(r"(?i)\b(?:open(?:ed|ing|s)?|keep using|(?:turn|switch)(?:ed)? on)\b")
ASKS_STATE = re.compile(r"(?i)\s*(?:is|are|was|were|which|why)\b")
USE, POWER = re.compile(r"(?i)\b(?:use|using)\b"), re.compile(r"(?i)\b(?:turn|switch|off$)")
# between the words of openGraz
CAMEL = re.compile(r"(?<=[^\W\d_A-Z])(?=[A-Z])")
MOST_SWITCHED = 5
SWITCH_WORDS = {"open", "opened", "use", "used", "build", "built", "active", "on", "close", "closed"}
INDEX_FORM = re.compile(r"(?<![^\s])([^\W\d_]+|_)(\d+)(?![^\s,])")
RATE = re.compile(r"(?i)\b(?:costs?|price|coefficient|profit|revenue)\b")


class AmbiguousQuestionError(ConfigError):
    """A question is understood and has two readings."""


def read_question(problem: DecisionProblem, text: str) -> str:
    """Return the command that a question means; empty where it is not understood.

    Raises:
        AmbiguousQuestionError: It has two readings; names both.
    """
    if not isinstance(problem, Editable):
        return ""
    sentence = join_indices(problem, " ".join(text.split()).rstrip("?.! "))
    is_counterfactual = WHY_NOT.match(sentence) is not None or COST_TO.match(sentence) is not None
    sentence = COST_TO.sub("", WHY_NOT.sub("", sentence))
    if WHY.match(sentence):
        reverse = _read_switch(problem, sentence, True, reverse=True)
        if reverse:
            return f"try {reverse}"
        return "why"
    if COSTS.match(sentence):
        return "why"
    if PLAN.fullmatch(sentence):
        return "show"
    if CHANGED.fullmatch(sentence) or IN_FORCE.fullmatch(sentence):
        if CHANGED.fullmatch(sentence):
            return "status changes"
        return "status"
    if EARNINGS.fullmatch(sentence):
        return "status objective"
    if BINDING.search(sentence) and ASKS_VALUE.match(sentence):
        return "binding"
    if limited := LIMITS.match(sentence):
        return _read_limits(problem, limited["what"])
    if switched := _read_switch(problem, sentence, is_counterfactual):
        if is_counterfactual:
            return f"try {switched}"
        return switched
    command = _read_named(problem, sentence)
    is_change = command.partition(" ")[0] in ("set", "scale", "drop", "fix")
    if is_change and (is_counterfactual or WORTH.search(sentence)):
        return f"try {command}"
    return command


def _read_named(problem: Editable, sentence: str) -> str:
    """Read a question about one row, variable or objective; empty where it names none or asks for nothing."""
    rest = INSTEAD.sub(" ", spell_counts(sentence))
    if ASKS_VALUE.match(sentence) and not any(
        pattern.search(rest) for pattern in (NUMBERS, WITHOUT, LEAST, MOST, REQUEST)
    ):
        return _read_value_question(problem, sentence)
    name = find_part_name(problem, sentence)
    if not name:
        return ""
    rest = remove_name(rest, name)
    numbers = [f"{parse_figure(number):.12g}" for number in NUMBERS.findall(rest)]
    if sentence.casefold().startswith("compare") and numbers:
        return f"compare {name} {' '.join(numbers)}"
    is_row = name in [row.name for row in problem.original.rows]
    if numbers and not is_row and WORTH.search(sentence):
        _ask_for_row(problem, sentence, name, numbers[0])
    if not numbers:
        if THING.match(sentence):
            raise AmbiguousQuestionError(
                f"this asks which thing, and no thing is found by these words; 'highest {name}' and 'lowest {name}' "
                f"give what {name} can be, 'values {' '.join(split_words(name))}' what it is in the plan"
            )
        return _without_number(sentence, name, is_row)
    target = TO.search(rest)
    if target is None and len(set(numbers)) > 1:
        raise AmbiguousQuestionError(f"which number do you mean for {name}: {' or '.join(dict.fromkeys(numbers))}?")
    if target:
        number = f"{parse_figure(target[1]):.12g}"
    else:
        number = numbers[0]
    for pattern, relation in ((AT_LEAST, ">="), (AT_MOST, "<=")):
        if pattern.search(rest):
            return f"{name} {relation} {number}"
    if EXACTLY.search(rest) and not is_row:
        return f"fix {name} {number}"
    if name in [goal.name for goal in problem.expressions[: problem.goals]]:  # type: ignore[attr-defined]
        return ""
    return _with_number(problem, rest, name, number, _read_earlier_values(sentence))


def _ask_for_row(problem: Editable, sentence: str, name: str, number: str) -> None:
    """Ask which row is meant where more of a variable is to be worth something; a variable has no limit to relax."""
    stated = set(split_words(sentence)) & set(split_words(name))
    shared = {row.name: len(stated & set(split_words(row.name))) for row in problem.original.rows if name in row.terms}
    rows = [row for row, count in shared.items() if count and count == max(shared.values())]
    if rows:
        some = " or ".join(f"'try relax {row} {number}'" for row in rows[:5])
        raise AmbiguousQuestionError(f"which limit do you mean? {some}")


def _read_value_question(problem: Editable, sentence: str) -> str:
    """Read "how much milk goes to Lyon" as the values of what its words name; empty where they name nothing."""
    stated = set(split_words(sentence)) - STOPWORDS
    texts = [f"{row.name} {row.meaning}" for row in problem.original.rows]
    texts += [f"{variable.name} {variable.meaning}" for variable in problem.original.variables]
    known = {word for text in texts for word in split_words(text)}
    goals = problem.expressions[: problem.goals]  # type: ignore[attr-defined]
    objectives = {word for goal in goals for word in split_words(goal.word)}
    if stated & objectives and stated <= objectives | PLAN_WORDS:
        return "status objective"
    words = [word for word in split_words(sentence) if word in stated & known]
    if words:
        return f"values {' '.join(words)}"
    return ""


def _read_limits(problem: Editable, text: str) -> str:
    """Read "what limits the margin" as the rows that bind."""
    goals = problem.expressions[: problem.goals]  # type: ignore[attr-defined]
    name = find_part_name(problem, text)
    if not name or name in [goal.name for goal in goals]:
        return "binding"
    raise AmbiguousQuestionError(
        f"which do you mean? 'binding' lists the rows that limit the plan, 'highest {name}' and 'lowest {name}' give "
        f"what {name} can be"
    )


def join_indices(problem: Editable, text: str) -> str:
    """Return a text with "week 2" in each way in which names of the model have it: ``w2``, ``week2``, ``_2``."""
    names = [row.name for row in problem.original.rows] + [variable.name for variable in problem.original.variables]
    known = {word for name in names for word in split_words(name)}

    def spread(match: re.Match[str]) -> str:
        if match[1].casefold().removesuffix("s") not in PERIODS or "to" in match["more"]:
            return match[0]
        return " ".join(f"{match[1]} {number}" for number in re.findall(r"\d+", match[0]))

    def join(match: re.Match[str]) -> str:
        word, index = match[1].casefold().removesuffix("s"), match[2]
        if word not in PERIODS:
            if f"{word}{index}" in known:
                return f"{word}{index}"
            return match[0]
        forms = sorted(token for token in known if not token.isdecimal() and matches_index(token, word, int(index)))
        if index in known:
            forms += [f"{word} _{index}"]
        else:
            forms += []
        return " ".join(forms) or match[0]

    def shorten(match: re.Match[str]) -> str:
        word = match[0].casefold()
        if word in known:
            return match[0]
        return " ".join(find_calendar_labels(word, sorted(known))) or match[0]

    return WORDS.sub(shorten, INDEX.sub(join, SEVERAL.sub(spread, text)))


def _read_switch(problem: Editable, sentence: str, is_counterfactual: bool, reverse: bool = False) -> str:
    """Read "close Lyon" as the binary of Lyon fixed at 0, "open Lyon" as fixed at 1; empty where no binary is named."""
    if CLOSE.search(sentence):
        value = 0
    elif OPEN.search(sentence):
        value = 1
    else:
        value = None
    if value is None or (ASKS_STATE.match(sentence) and not is_counterfactual):
        return ""
    if reverse:
        value = 1 - value
    else:
        value = value
    stated = set(_split_name(sentence)) - SWITCH_WORDS
    named: dict[tuple[int, bool], dict[frozenset[str], list[tuple[int, str]]]] = {}
    for variable in problem.original.variables:
        words = set(_split_name(variable.name))
        shared = frozenset(stated & (words - SWITCH_WORDS))
        if variable.is_binary and shared:
            groups = named.setdefault((-len(shared), not words & SWITCH_WORDS), {})
            groups.setdefault(shared, []).append((len(words - stated - SWITCH_WORDS), variable.name))
    meant = []
    for entries in named[min(named)].values() if named else ():
        nearest = [name for count, name in entries if count == min(entries)[0]]
        exact = _choose_switches(sentence, nearest)
        if len(exact) > 1:
            some = " or ".join(f"'fix {name} {value}'" for name in exact[:MOST_SWITCHED])
            every = f", or all: '{'; '.join(f'fix {name} {value}' for name in exact)}'"
            if len(exact) <= MOST_SWITCHED:
                more = every
            else:
                more = " and others"
            raise AmbiguousQuestionError(f"which do you mean? {some}{more}")
        meant += exact
    return "; ".join(f"fix {name} {value}" for name in meant)


def _choose_switches(sentence: str, names: Sequence[str]) -> list[str]:
    """Return those of some binaries that a sentence writes in full, or whose names have the word that it has."""
    stated = set(_split_name(sentence))
    written = [name for name in names if set(_split_name(name)) <= stated]
    if len(names) < 2 or written:
        return written or list(names)
    verbs = {"open", "opened", "close", "closed"}
    if USE.search(sentence):
        verbs = {"use", "used"}
    elif POWER.search(sentence):
        verbs = {"on", "active"}
    else:
        verbs = verbs
    return [name for name in names if verbs & set(_split_name(name))] or list(names)


def _split_name(text: str) -> list[str]:
    """The words of a name, also of one such as ``openGraz``."""
    return split_words(CAMEL.sub("_", text))


def _read_earlier_values(sentence: str) -> list[float]:
    """Return the values that a question takes for the present ones, such as 40 in "50 instead of 40"."""
    return [parse_figure(number) for match in INSTEAD.finditer(sentence) for number in NUMBERS.findall(match[0])]


def _check_earlier(name: str, earlier: Sequence[float], values: Sequence[float], number: str) -> None:
    """See that a part has the value that a question takes for its present one."""
    present = [value for value in values if isfinite(value)]
    wrong = [value for value in earlier if not any(isclose(value, limit, rel_tol=1e-9) for limit in present)]
    if wrong and present:
        truth = " to ".join(format_figure(value) for value in dict.fromkeys(present))
        raise AmbiguousQuestionError(
            f"{name} is {truth}, not {format_figure(wrong[0])}; write 'set {name} {number}' to change {truth} to "
            f"{number}"
        )


def _with_number(problem: Editable, rest: str, name: str, number: str, earlier: Sequence[float]) -> str:
    """A value, or a change of it, of a row's limit; of a variable two readings are possible."""
    if name not in [row.name for row in problem.original.rows]:
        goals = problem.expressions[: problem.goals]  # type: ignore[attr-defined]
        if RATE.search(remove_name(rest, name)) and (TO.search(rest) or earlier) and len(goals) == 1:
            _check_earlier(f"{goals[0].name} {name}", earlier, (goals[0].terms.get(name, 0.0),), number)
            return f"set {goals[0].name} {name} {number}"
        raise AmbiguousQuestionError(
            f"which do you mean? 'fix {name} {number}' (exactly {number}), '{name} >= {number}' (at least) or "
            f"'set {name} <= {number}' (its largest value); type one of them"
        )
    amount = read_amount(rest, name)
    if amount is None or amount.kind is AmountKind.VALUE:
        _check_earlier(name, earlier, problem.limits(name) or (), number)
        return f"set {name} {number}"
    if amount.kind is AmountKind.PERCENT:
        return f"scale {name} {amount.value:+g} %"
    if amount.kind is AmountKind.FACTOR:
        return f"scale {name} {amount.value:g}"
    low, high = problem.limits(name) or (0.0, 0.0)
    return f"set {name} {amount.apply(high if high < float('inf') else low):.12g}"


def _without_number(sentence: str, name: str, is_row: bool) -> str:
    if WITHOUT.search(sentence) and is_row:
        return f"drop {name}"
    amount = read_amount(sentence, name)
    if is_row and amount is not None and amount.kind is AmountKind.FACTOR:
        return f"scale {name} {amount.value:g}"
    if LEAST.search(sentence):
        return f"lowest {name}"
    if MOST.search(sentence):
        return f"highest {name}"
    is_bare = set(split_words(_split_indices(sentence)[0])) <= {
        *split_words(name),
        *STOPWORDS,
        *PERIODS,
        "at",
        "in",
        "of",
    }
    if is_bare:
        return f"values {' '.join(split_words(name))}"
    return ""


def find_part_name(problem: Editable, text: str) -> str:
    """The row or variable that a text names by all its words, the longest; else an objective, or one by some words."""
    goals = problem.expressions[: problem.goals]  # type: ignore[attr-defined]
    rows = {row.name: row.meaning for row in problem.original.rows}
    variables = {variable.name: variable.meaning for variable in problem.original.variables}
    text = use_base_forms(text)
    parts, stated = {**rows, **variables}, set(split_words(text))
    names, named_words = find_named(text, parts), stated
    if not any(set(split_words(name)) <= stated for name in names):
        bare, numbers = _split_indices(text)
        if at_index := {name: meaning for name, meaning in parts.items() if _has_index(name, numbers)}:
            names, named_words = find_named(bare, at_index) or names, set(split_words(bare))
        words = {goal.name: (goal.name, goal.word) for goal in goals}
        named_goals = [name for name in words if any(set(split_words(word)) <= stated for word in words[name])]
        names = named_goals or names
    if len(names) > 1 and (rate := RATE.search(text)):
        names = _list_priced(problem, names, rate[0].casefold()) or names
    named_rows = [name for name in names if name in rows and len(named_words & set(split_words(name))) > 1]
    if len(named_rows) == 1:
        names = named_rows
    else:
        names = names
    if len(names) > 1 and (earlier := _read_earlier_values(text)):
        valued = [name for name in names if name in rows and set(earlier) <= set(problem.limits(name) or ())]
        if len(valued) == 1:
            names = valued
        else:
            names = names
    if len(names) > 1:
        some = ", ".join(repr(name[:60]) for name in names[:5])
        if len(names) > 5:
            more = " and others"
        else:
            more = ""
        raise AmbiguousQuestionError(f"which do you mean? this can be about {some}{more}; write which of them")
    if names:
        return names[0]
    return ""


def _split_indices(text: str) -> tuple[str, set[int]]:
    """A text without the forms that ``join_indices`` writes, and their numbers."""
    numbers: set[int] = set()

    def note(match: re.Match[str]) -> str:
        if match[1] != "_" and not any(is_abbreviation(match[1].casefold(), period) for period in PERIODS):
            return match[0]
        numbers.add(int(match[2]))
        return " "

    return INDEX_FORM.sub(note, text), numbers


def _has_index(name: str, numbers: set[int]) -> bool:
    tokens = split_words(name)
    return any(matches_index(token, period, number) for token in tokens for period in PERIODS for number in numbers)


def _list_priced(problem: Editable, names: Sequence[str], word: str) -> list[str]:
    """Those of some variables that have a cost in the objective, or, for a word such as "price", a gain."""
    goals = problem.expressions[: problem.goals]  # type: ignore[attr-defined]
    sign = {"cost": 1, "costs": 1, "price": -1, "profit": -1, "revenue": -1}.get(word, 0)
    costs = {name: goal.sense.sign * goal.terms.get(name, 0.0) for goal in goals for name in names}
    return [name for name, cost in costs.items() if cost and cost * sign >= 0]
