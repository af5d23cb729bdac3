"""Questions for the values of a plan: the sum or the ranking of the variables that words and indices name."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from oragent.milp.decisions import Family, group_families
from oragent.milp.model import Milp
from oragent.milp.plain import amount, plain
from oragent.milp.questions import (
    COUNTED,
    NUMBERS,
    PERIODS,
    STOPWORDS,
    find_calendar_labels,
    find_indices,
    is_abbreviation,
    is_calendar_label,
    matches_index,
    split_words,
    use_base_forms,
)
from oragent.milp.ranking import RankingQuestion, RankingReading, has_noun

SUM = re.compile(
    r"(?:and )?(?:how (?:many|much)|(?:what is |what's )?the (?:total|sum)(?: of)?|(?:where|when) (?:do|does)|"
    r"what (?:do|does) (?=we\b))\b(?P<rest>.*)",
    re.IGNORECASE,
)
RANK = re.compile(
    r"(?:and )?(?:(?:in|at|on|to|from|by) )?(?P<asked>which|what|who|where|when)\b(?P<before>.*?)"
    r"(?<!\bat )\b(?P<size>most|least|fewest|sells? (?:best|worst))\b(?! (?:expensive|costly|possible))(?P<after>.*)",
    re.IGNORECASE,
)
OF_EXTREME = re.compile(r"\s*(?:is|are|was|would be|'s)(?: the)?\s*", re.IGNORECASE)
REQUEST = re.compile(
    r"\b(?:if|suppose|would|worth|can|could|need|without|instead|at (?:most|least)|most|least)\b", re.I
)
LOWEST = ("least", "fewest", "worst")
FILLERS = STOPWORDS | {
    "altogether",
    "at",
    "best",
    "by",
    "did",
    "do",
    "each",
    "fewest",
    "has",
    "in",
    "is",
    "it",
    "least",
    "most",
    "now",
    "of",
    "on",
    "one",
    "overall",
    "plan",
    "sum",
    "they",
    "to",
    "total",
    "we",
    "when",
    "where",
    "who",
    "worst",
}
MOST_LISTED = 6


@dataclass(frozen=True)
class ValueQuestion:
    """A question for values of a plan."""

    # what is ranked, in the singular; empty where the question has no word for it, or asks for a sum
    noun: str
    # whether the first of some things is asked for, and not a sum
    is_ranking: bool
    is_lowest: bool
    # that may name variables and their indices, in order
    words: tuple[str, ...]
    # pairs of a word and a number, such as ``("week", 3)``
    indices: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class ValueReading:
    """Variables of one family whose values a question can mean."""

    family: Family
    # labels that the question names, by position of the index
    chosen: Mapping[int, tuple[str, ...]]
    # number of words that name the family, and how many of them do so in full
    matched: tuple[int, int]

    @property
    def entries(self) -> dict[tuple[str, ...], str]:
        """The variables meant, by indices."""
        entries, chosen = self.family.entries.items(), self.chosen.items()
        return {index: name for index, name in entries if all(index[at] in labels for at, labels in chosen)}

    def sum_by(self, position: int) -> dict[str, float]:
        """Return the sum of the values of each label at a position, in the order of the family."""
        sums: dict[str, float] = {}
        for index, name in self.entries.items():
            sums[index[position]] = sums.get(index[position], 0.0) + self.family.values[name]
        return sums


def read_value_question(text: str) -> ValueQuestion | None:
    """Read "which product sells most in week 3?" or "how many shifts in week 2?"; None where it is another question."""
    rest, indices = find_indices(use_base_forms(" ".join(text.split()).rstrip("?.! ")))
    if (match := RANK.fullmatch(rest)) and not OF_EXTREME.fullmatch(match["before"]):
        asked, noun_words = match["asked"].casefold(), split_words(match["before"])
        noun = noun_words[0] if noun_words and noun_words[0] not in FILLERS else ""
        noun = "week" if asked == "when" else noun if asked in ("which", "what", "who") else ""
        size = match["size"].casefold()
        tail = f" {size.split()[0]}" if " " in size else ""
        words = [word for word in split_words(f"{match['before']}{tail} {match['after']}") if word != noun]
        is_lowest = size.endswith(LOWEST)
    elif (match := SUM.fullmatch(rest)) and not REQUEST.search(rest):
        noun, words, is_lowest = "", split_words(match["rest"]), False
    else:
        return None
    if NUMBERS.search(rest) or COUNTED.search(rest):
        return None
    return ValueQuestion(noun, match.re is RANK, is_lowest, tuple(words), indices)


def list_value_readings(milp: Milp, values: Mapping[str, float], question: ValueQuestion) -> list[ValueReading]:
    """List the families of variables that the words of a question name best, each with the labels that it names."""
    point = {variable.name: values.get(variable.name, 0.0) for variable in milp.variables}
    families = [family for family in group_families(milp.variables, point) if family.index_count]
    labels = {label for family in families for index in family.entries for label in index}
    all_labels = {word for label in labels for word in split_words(label) if not word.isdecimal()}
    readings: list[ValueReading] = []
    for family in families:
        if question.is_ranking and all(milp.variable(name).is_binary for name in family.entries.values()):
            continue
        readings += _read_family(milp, family, question, all_labels)
    best = max((reading.matched for reading in readings), default=(0, 0))
    return [reading for reading in readings if reading.matched == best]


def _read_family(milp: Milp, family: Family, question: ValueQuestion, all_labels: set[str]) -> Iterator[ValueReading]:
    """Yield the readings of a question by a family; none where its name or a label that the question has is missing."""
    family_labels = {word for index in family.entries for label in index for word in split_words(label)}
    dates = {word: find_calendar_labels(word, family_labels) for word in question.words}
    stated = {*question.words, *(label for labels in dates.values() for label in labels)}
    chosen: dict[int, list[str]] = {}
    for position in range(family.index_count):
        for label in dict.fromkeys(index[position] for index in family.entries):
            words = split_words(label)
            if words and set(words) <= stated and not label.isdecimal():
                chosen.setdefault(position, []).append(label)
    label_words = {word for labels in chosen.values() for label in labels for word in split_words(label)}
    names, meanings = _name_words(milp, family)
    matched = {word: any(_names_word(word, name) for name in names) or word in meanings for word in question.words}
    for first, second in zip(question.words, question.words[1:], strict=False):
        if any(_is_contraction(name, first + second) for name in names):
            matched |= {first: True, second: True}
    named = [word for word, is_named in matched.items() if is_named and word not in FILLERS and word not in label_words]
    lost = {word for word in stated & all_labels if word not in label_words and not matched[word]}
    if not named or lost:
        return
    choices = [_find_positions(family, word, number) for word, number in question.indices]
    for choice in product(*choices):
        merged = {position: tuple(labels) for position, labels in chosen.items()}
        for position, label in choice:
            merged[position] = (*merged.get(position, ()), label)
        reading = ValueReading(family, merged, (len(named), sum(word in names for word in named)))
        if reading.entries:
            yield reading


def _name_words(milp: Milp, family: Family) -> tuple[set[str], set[str]]:
    """Return the words of a family's name, and those that the meanings of all its members share."""
    meanings = [set(split_words(milp.variable(name).meaning)) for name in family.entries.values()]
    return set(split_words(family.name)), set.intersection(*meanings) - FILLERS


def _names_word(word: str, name: str) -> bool:
    """Return True if a word of a question is a word of a name: in full, in another form, within it, or shortened."""
    if word == name or word in FILLERS:
        return word == name
    if len(word) >= 4 and (word in name or (len(name) >= 3 and word.startswith(name))):
        return True
    return len(name) >= 3 and is_abbreviation(name, word)


def _is_contraction(name: str, words: str) -> bool:
    """Return True if a name such as ``xtrashift`` is two words without some of their letters."""
    letters = iter(words)
    return len(name) >= 0.7 * len(words) and all(letter in letters for letter in name)


def _find_positions(family: Family, word: str, number: int) -> list[tuple[int, str]]:
    """Return each position at which an index such as "week 3" has a label; those that write the word go first."""
    places = []
    for position in range(family.index_count):
        labels = dict.fromkeys(index[position] for index in family.entries)
        places += [(position, label) for label in labels if matches_index(label, word, number)]
    written = [(position, label) for position, label in places if not label.isdecimal()]
    return written or places


def list_ranked_positions(question: ValueQuestion, reading: ValueReading) -> list[int]:
    """Return the positions of the index at which the things can be that a question ranks."""
    family = reading.family
    several = [position for position, labels in reading.chosen.items() if len(labels) > 1]
    if several:
        return several
    free = [position for position in range(family.index_count) if position not in reading.chosen]
    periods = [position for position in free if _is_period(family, position, question.noun)]
    if question.noun in PERIODS:
        return periods
    with_noun = [position for position in free if _has_noun(family, position, question.noun)]
    return with_noun or [position for position in free if position not in periods] or periods


def _is_period(family: Family, position: int, noun: str) -> bool:
    words = (noun,) if noun in PERIODS else PERIODS
    return all(
        any(matches_index(index[position], word, None) or is_calendar_label(index[position], word) for word in words)
        for index in family.entries
    )


def _has_noun(family: Family, position: int, noun: str) -> bool:
    labels = {index[position] for index in family.entries}
    return bool(noun) and all(has_noun(label, noun) for label in labels)


def describe_part(question: ValueQuestion, reading: ValueReading) -> str:
    """Write which values are meant, so that it can be asked for again: ``brew of Pils in week 2 and week 3``."""
    labels = [label for _, labels in sorted(reading.chosen.items()) for label in labels]
    indexed = [label for label in labels if any(matches_index(label, *index) for index in question.indices)]
    named = " and ".join(label for label in labels if label not in indexed)
    indices = " and ".join(f"{word} {number}" for word, number in question.indices)
    return plain(f"{reading.family.name}{f' of {named}' if named else ''}{f' in {indices}' if indices else ''}")


def rank_values(question: ValueQuestion, reading: ValueReading, at: int) -> tuple[RankingQuestion, RankingReading]:
    """Return a ranking of the labels at a position, and the figures to rank them by."""
    adjective = "smallest" if question.is_lowest else "largest"
    ranking = RankingQuestion(adjective, question.noun or "of them", frozenset())
    return ranking, RankingReading(f"{describe_part(question, reading)} in the plan", reading.sum_by(at))


def describe_sum(question: ValueQuestion, reading: ValueReading) -> str:
    """Write the sum of the values that a reading means, and the values that are not 0."""
    family, entries = reading.family, reading.entries
    unit = f" {plain(family.unit, 20)}" if family.unit else ""
    used = {index: family.values[name] for index, name in entries.items() if abs(family.values[name]) > 1e-9}
    if len(entries) == 1:
        (name,) = entries.values()
        return f"{plain(name)} = {amount(family.values[name])}{unit}"
    free = [position for position in range(family.index_count) if len(reading.chosen.get(position, ())) != 1]
    labelled = [(" ".join(index[position] for position in free), value) for index, value in used.items()]
    parts = [f"{plain(label)}: {amount(value)}" for label, value in labelled]
    more = [f"{len(parts) - MOST_LISTED} more"] if len(parts) > MOST_LISTED else []
    zero_count = len(entries) - len(used)
    zeros = [f"{zero_count} other{'s' if zero_count > 1 else ''} at 0" if used else "all at 0"] if zero_count else []
    listed = ", ".join([*parts[:MOST_LISTED], *more, *zeros])
    return f"{describe_part(question, reading)}: {amount(sum(used.values()))}{unit} in the plan ({listed})"


def repeat_question(question: ValueQuestion, reading: ValueReading, things: Sequence[str] = ()) -> str:
    """Write a question that has one reading only."""
    part = describe_part(question, reading)
    if not question.is_ranking:
        return f"how many {part}"
    thing = f"of {', '.join(things[:-1])} and {things[-1]}" if things else question.noun or "one"
    return f"which {thing} has the {'least' if question.is_lowest else 'most'} {part}"
