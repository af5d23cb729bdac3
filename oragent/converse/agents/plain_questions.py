"""Questions in ordinary words, read as commands over the names of a person's own model."""

import re
from collections.abc import Iterable

from oragent._base.errors import ConfigError
from oragent.converse.decision import DecisionProblem
from oragent.converse.optional_protocols import Editable

NUMBER = r"[-+]?\d[\d,]*\.?\d*"
NUMBERS = re.compile(NUMBER)
INSTEAD = re.compile(rf"(?:instead of|rather than|not)\s+(?:the\s+)?{NUMBER}|from\s+{NUMBER}(?=\s+to\b)", re.IGNORECASE)
MORE = re.compile(r"\b(?:more|extra|additional|another|increase\w*|raise\w*|up by)\b", re.IGNORECASE)
FEWER = re.compile(r"\b(?:fewer|less|decrease\w*|reduce\w*|cut|lose|lost|down by)\b", re.IGNORECASE)
TO = re.compile(rf"\bto\s+{NUMBER}", re.IGNORECASE)
AT_LEAST = re.compile(r"\b(?:at least|no (?:less|fewer) than|minimum of|not (?:less|fewer) than)\b", re.IGNORECASE)
AT_MOST = re.compile(r"\b(?:at most|no more than|maximum of|not more than|up to)\b", re.IGNORECASE)
EXACTLY = re.compile(r"\b(?:exactly|precisely)\b", re.IGNORECASE)
WITHOUT = re.compile(r"\b(?:without|no limit on|drop|ignor\w+|get rid of)\b", re.IGNORECASE)
LEAST = re.compile(r"\b(?:least|lowest|smallest|minimum|fewest)\b", re.IGNORECASE)
MOST = re.compile(r"\b(?:most|highest|largest|maximum|greatest)\b", re.IGNORECASE)
WHY = re.compile(r"\s*why\b(?!\s+(?:not|no|isn't|aren't|don't))", re.IGNORECASE)
COSTS = re.compile(r"\s*what (?:does|would|did) (?:that|this|it) cost\b", re.IGNORECASE)
PLAN = re.compile(
    r"(?:what is |what's |show(?: me)? )?the (?:best|cheapest|optimal|current) (?:plan|solution|decision)",
    re.IGNORECASE,
)
RATE = re.compile(r"\b(?:costs?|price|coefficient|profit|revenue)\b", re.IGNORECASE)
PERCENT = re.compile(rf"({NUMBER})\s*(?:%|percent)", re.IGNORECASE)


class AmbiguousQuestionError(ConfigError):
    """A question is understood and has two readings."""


def read_question(problem: DecisionProblem, text: str) -> str:
    """Return the command that a question means; empty where it is not understood.

    Raises:
        AmbiguousQuestionError: It has two readings; names both.
    """
    if not isinstance(problem, Editable):
        return ""
    sentence = " ".join(text.split()).rstrip("?.! ")
    if WHY.match(sentence) or COSTS.match(sentence):
        return "why"
    if PLAN.fullmatch(sentence):
        return "show"
    rest = INSTEAD.sub(" ", sentence)
    name = _find_name(problem, sentence)
    if not name:
        return ""
    numbers = NUMBERS.findall(_remove_name(rest, name))
    if sentence.casefold().startswith("compare") and numbers:
        return f"compare {name} {' '.join(number.rstrip(',').replace(',', '') for number in numbers)}"
    is_row = name in [row.name for row in problem.original.rows]
    if not numbers:
        return _without_number(sentence, name, is_row)
    number = numbers[0].rstrip(",")
    for pattern, relation in ((AT_LEAST, ">="), (AT_MOST, "<=")):
        if pattern.search(rest):
            return f"{name} {relation} {number}"
    if EXACTLY.search(rest) and not is_row:
        return f"fix {name} {number}"
    if name in [goal.name for goal in problem.expressions[: problem.goals]]:
        return ""
    return _with_number(problem, rest, name, number)


def _with_number(problem: Editable, rest: str, name: str, number: str) -> str:
    """A value, or a change of it, of a row's limit; of a variable two readings are possible."""
    if name not in [row.name for row in problem.original.rows]:
        goals = problem.expressions[: problem.goals]  # type: ignore[attr-defined]
        if RATE.search(_remove_name(rest, name)) and TO.search(rest) and len(goals) == 1:
            return f"set {goals[0].name} {name} {number}"
        raise AmbiguousQuestionError(
            f"which do you mean? 'fix {name} {number}' (exactly {number}), '{name} >= {number}' (at least) or "
            f"'set {name} <= {number}' (its largest value); type one of them"
        )
    sign = "-" if FEWER.search(rest) else "+" if MORE.search(rest) else ""
    if not sign or TO.search(rest):
        return f"set {name} {number}"
    if share := PERCENT.search(rest):
        return f"scale {name} {sign}{share[1].lstrip('+-')} %"
    low, high = problem.limits(name) or (0.0, 0.0)
    limit = high if high < float("inf") else low
    amount = float(number.replace(",", ""))
    return f"set {name} {limit + (amount if sign == '+' else -amount):.12g}"


def _without_number(sentence: str, name: str, is_row: bool) -> str:
    if WITHOUT.search(sentence) and is_row:
        return f"drop {name}"
    if LEAST.search(sentence):
        return f"lowest {name}"
    return f"highest {name}" if MOST.search(sentence) else ""


def _find_name(problem: Editable, text: str) -> str:
    """The row, variable or objective that a text names by all its words, the longest; else by one of its words."""
    stated = set(_split_words(text))
    goals = problem.expressions[: problem.goals]  # type: ignore[attr-defined]
    parts = [(goal.name, "") for goal in goals]
    parts += [(row.name, row.meaning) for row in problem.original.rows]
    parts += [(variable.name, variable.meaning) for variable in problem.original.variables]
    whole = [name for name, _ in parts if (words := set(_split_words(name))) and words <= stated]
    if whole:
        longest = max(len(_split_words(name)) for name in whole)
        return _find_only(name for name in whole if len(_split_words(name)) == longest)
    shared = {
        name: len(stated & {word for word in _split_words(f"{name} {meaning}") if len(word) > 3})
        for name, meaning in parts
    }
    best_count = max(shared.values(), default=0)
    named = [name for name, count in shared.items() if count == best_count] if best_count else []
    begun = [name for name in named if any(_begins_word(word, stated) for word in _split_words(name))]
    return _find_only(begun if len(begun) == 1 else named) if named else ""


def _begins_word(word: str, stated: Iterable[str]) -> bool:
    """Whether a word of a name is short for a stated one, such as ``dem`` for ``demand``."""
    return len(word) >= 3 and any(text.startswith(word) and text != word for text in stated)


def _find_only(names: Iterable[str]) -> str:
    every = list(dict.fromkeys(names))
    if len(every) > 1:
        some = ", ".join(repr(name[:60]) for name in every[:5])
        more = " and others" if len(every) > 5 else ""
        raise AmbiguousQuestionError(f"which do you mean? this can be about {some}{more}; write which of them")
    return every[0]


def _split_words(text: str) -> list[str]:
    """Words without capitals, and without the ending of a plural."""
    return [word.removesuffix("s") if len(word) > 3 else word for word in re.findall(r"[^\W_]+", text.casefold())]


def _remove_name(text: str, name: str) -> str:
    """A text without a name, whose digits are no figure of the question."""
    words = [re.escape(word) for word in re.findall(r"[^\W_]+", name)]
    return re.sub(r"[\W_]+".join(words), " ", text, flags=re.IGNORECASE)
