"""Questions for the cheapest, dearest, largest or smallest of some things: their readings, and the answer."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from oragent._base.plain import join_some
from oragent.milp.decisions import Family, group_families
from oragent.milp.model import INFINITY, Milp, Variable
from oragent.milp.plain import number, plain
from oragent.milp.questions import STOPWORDS, split_words

SUPERLATIVES = {
    "cheaper": "cheapest",
    "dearer": "dearest",
    "pricier": "priciest",
    "costlier": "costliest",
    "more expensive": "most expensive",
    "less expensive": "least expensive",
    "larger": "largest",
    "bigger": "biggest",
    "smaller": "smallest",
}
ADJECTIVE = (
    r"(?P<adjective>cheapest|dearest|priciest|costliest|(?:most|least) (?:expensive|costly)|largest|biggest|smallest|"
    rf"{'|'.join(SUPERLATIVES)})"
)
FORMS = (
    re.compile(
        r"(?:and )?(?:(?:which|what|who|where)(?: one)?(?:'s| is| are| was)? )?(?:the |our )?"
        rf"{ADJECTIVE}[,:]? (?P<rest>.+)",
        re.IGNORECASE,
    ),
    re.compile(rf"(?:and )?which (?P<noun>.+?) (?:is|are) (?:the |our )?{ADJECTIVE}\b(?P<rest>.*)", re.IGNORECASE),
    re.compile(rf"(?:is|are) (?P<noun>.+? or .+?) (?:the )?{ADJECTIVE}\b(?P<rest>.*)", re.IGNORECASE),
)
LOWEST = {"cheapest", "smallest", "least expensive", "least costly"}
SIZES = {"largest", "biggest", "smallest"}
OF_ALL = re.compile(r"(?:one )?(?:of|among) (?:the |all |our )*", re.IGNORECASE)
BETWEEN = re.compile(r"(?:one )?(?:of|among|between|out of) ", re.IGNORECASE)
# "to brew in, Graz or Linz"
PURPOSE = re.compile(r"to [^,:]+[,:]\s*", re.IGNORECASE)
ARTICLE = re.compile(r"(?:the|our) ", re.IGNORECASE)
SEPARATOR = re.compile(r"\s*,(?:\s*(?:and|or)\b)?\s*|\s+(?:and|or)\s+", re.IGNORECASE)
MEASURE = re.compile(r"\s+(?=(?:by|per)\b|in the plan\b)", re.IGNORECASE)
AFTER_NOUN = re.compile(r"\b(?:by|per|in|to|for|of|with|on|at|from|among|we|is|are|that|now)\b", re.IGNORECASE)
# no things of a model
PLANS = {"plan", "solution", "decision", "one", "way", "option", "possible", "value"}
MOST_RANKED = 4


@dataclass(frozen=True)
class RankingQuestion:
    """A question for the first of some things by cost or size."""

    # in lower case
    adjective: str
    # what is ranked, in the singular; ``of A, B and C`` where the question lists it
    noun: str
    # all that may tell the readings of the question apart
    words: frozenset[str]
    # what the question lists; empty where all things of a kind are ranked
    names: tuple[str, ...] = ()

    @property
    def is_cost(self) -> bool:
        """Return True if costs are compared, and not sizes."""
        return self.adjective not in SIZES

    @property
    def is_lowest(self) -> bool:
        """Return True if the lowest figure is asked for."""
        return self.adjective in LOWEST


@dataclass(frozen=True)
class RankingReading:
    """Figures that a ranking can be made by."""

    measure: str
    figures: Mapping[str, float]

    def list_best(self, ranking: RankingQuestion) -> list[str]:
        """Return the things with the best figure; several where they are equal."""
        best = (min if ranking.is_lowest else max)(self.figures.values())
        return [name for name, value in self.figures.items() if abs(value - best) <= 1e-9 * max(1.0, abs(best))]


def read_ranking(text: str) -> RankingQuestion | None:
    """Read a question such as "which is the cheapest depot?" or "which of A and B is larger?"; None for another one."""
    sentence = " ".join(text.split()).rstrip("?.! ")
    for form in FORMS:
        if match := form.fullmatch(sentence):
            parts = match.groupdict()
            adjective = SUPERLATIVES.get(parts["adjective"].casefold(), parts["adjective"].casefold())
            if names := _read_names(parts.get("noun") or parts["rest"]):
                noun = f"of {', '.join(names[:-1])} and {names[-1]}"
                tail = [*MEASURE.split(f" {parts['rest']}", maxsplit=1)[1:], *PURPOSE.findall(parts["rest"])]
                return RankingQuestion(adjective, noun, frozenset(split_words(" ".join(tail))) - STOPWORDS, names)
            named = OF_ALL.sub("", parts.get("noun") or parts["rest"])
            noun_words = split_words(AFTER_NOUN.split(named)[0])
            if not noun_words or noun_words[-1] in PLANS:
                return None
            words = frozenset(split_words(f"{parts.get('noun') or ''} {parts['rest']}")) - STOPWORDS - {noun_words[-1]}
            words = frozenset(word for word in words if len(word) > 2)
            return RankingQuestion(adjective, noun_words[-1], words)
    return None


def _read_names(text: str) -> tuple[str, ...]:
    """Return the names that a text such as "of Graz and Linz by cost" lists; empty where it lists fewer than two."""
    listed = MEASURE.split(BETWEEN.sub("", PURPOSE.sub("", text.strip()), count=1), maxsplit=1)[0]
    names = tuple(dict.fromkeys(ARTICLE.sub("", name, count=1).strip() for name in SEPARATOR.split(listed)))
    if len(names) > 1 and all(names):
        return names
    return ()


def list_model_readings(
    milp: Milp,
    ranking: RankingQuestion,
    values: Mapping[str, float],
    labels: Iterable[str] = (),
    things: Iterable[str] = (),
) -> list[RankingReading]:
    """List the figures of a model and its plan by which a ranking can be made; none where no name has the noun.

    Labels are names of anything in the data, things those of what is ranked, where the data say them.
    """
    labels = list(labels)
    point = {variable.name: values.get(variable.name, 0.0) for variable in milp.variables}
    meanings = {variable.name: variable.meaning for variable in milp.variables}
    meanings |= {row.name: row.meaning for row in milp.rows}
    of_variables = group_families(milp.variables, point, labels)
    families = [*of_variables, *group_families([Variable(row.name) for row in milp.rows], {}, labels)]
    places = [_find_things(family, ranking.noun, meanings) for family in families]
    named = dict.fromkeys([*things, *(thing for place in places for thing in place)])
    readings: list[RankingReading] = []
    for position, family in enumerate(families):
        members = places[position] or _match_things(family, named)
        if ranking.names:
            members = _match_listed(family, ranking.names)
            named_members = {name for names in members.values() for name in names}
            entries = {index: name for index, name in family.entries.items() if name in named_members}
            family = replace(family, entries=entries)
        if len(members) < 2:
            continue
        if ranking.is_cost:
            if position < len(of_variables):
                readings += _list_costs(milp, family, members)
            else:
                readings += ()
        elif position < len(of_variables):
            readings += _list_sizes(milp, family, members, keep_unused=bool(ranking.names))
        else:
            readings += _list_limits(milp, family, members)
    unequal = [reading for reading in readings if len(set(reading.figures.values())) > 1]
    if ranking.names and unequal:
        return unequal
    return readings


def _find_things(family: Family, noun: str, meanings: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the members of a family by thing, where its name, labels or meaning say what the things are."""
    for position in range(family.index_count):
        labels = {index[position] for index in family.entries}
        if all(has_noun(label, noun) and len(split_words(label)) <= 2 for label in labels):
            return _group_members((index[position], name) for index, name in family.entries.items())
    texts = [family.name, *(meanings[name] for name in list(family.entries.values())[:1])]
    if family.index_count == 1 and any(has_noun(text, noun) for text in texts):
        labelled = ((index[0], name) for index, name in family.entries.items())
        return _group_members((f"{noun} {label}" if label.isdigit() else label, name) for label, name in labelled)
    return {}


def has_noun(text: str, noun: str) -> bool:
    """Return True if a word of a text is a noun, but for a number at its end."""
    return noun in (word.rstrip("0123456789") for word in split_words(text))


def _match_things(family: Family, things: Iterable[str]) -> dict[str, list[str]]:
    """Return the members of a family by the one thing that the name of each has; empty where one has none or two."""
    stated = _find_stated(family, things)
    if [name for _, name in stated] == list(family.entries.values()):
        return _group_members(stated)
    return {}


def _match_listed(family: Family, names: Sequence[str]) -> dict[str, list[str]]:
    """Return the members of a family whose names have one of some listed names; empty unless each name has a member."""
    stated = _find_stated(family, names)
    members = _group_members(stated)
    unique = len({member for _, member in stated}) == len(stated)
    if unique and len(members) == len(names):
        return {name: members[name] for name in names}
    return {}


def _find_stated(family: Family, things: Iterable[str]) -> list[tuple[str, str]]:
    """Return the pairs of a thing and a member of a family in whose name it stands, in the order of the members."""
    phrases = {thing: f" {' '.join(split_words(thing))} " for thing in things}
    texts = {name: f" {' '.join(split_words(name))} " for name in family.entries.values()}
    return [(thing, name) for name, text in texts.items() for thing, phrase in phrases.items() if phrase in text]


def _group_members(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    members: dict[str, list[str]] = {}
    for thing, name in pairs:
        members.setdefault(thing, []).append(name)
    return members


def _list_costs(milp: Milp, family: Family, members: Mapping[str, list[str]]) -> Iterator[RankingReading]:
    sign, terms = milp.sense.sign, milp.objective.terms
    costs = {name: sign * terms.get(name, 0.0) for name in family.entries.values()}
    if not any(costs.values()) or min(costs.values()) < 0:
        # a gain is no cost
        return
    title = plain(family.name)
    if all(len({costs[name] for name in names}) == 1 for names in members.values()):
        is_fixed = all(milp.variable(name).is_binary for name in costs)
        figures = {thing: costs[names[0]] for thing, names in members.items()}
        yield RankingReading(f"{'fixed cost' if is_fixed else 'cost per unit'} of {title}", figures)
    else:
        yield from _list_plan_figures(f"cost of {title}", family, members, costs)


def _list_sizes(
    milp: Milp, family: Family, members: Mapping[str, list[str]], keep_unused: bool
) -> Iterator[RankingReading]:
    variables = [milp.variable(name) for name in family.entries.values()]
    if all(variable.is_binary for variable in variables):
        return
    title = plain(family.name)
    if len(members) == len(variables) and all(variable.high < INFINITY for variable in variables):
        highs = {thing: milp.variable(names[0]).high for thing, names in members.items()}
        yield RankingReading(f"upper bound of {title}", highs)
    weights = dict.fromkeys(family.entries.values(), 1.0)
    yield from _list_plan_figures(title, family, members, weights, keep_unused)


def _list_plan_figures(
    title: str,
    family: Family,
    members: Mapping[str, list[str]],
    weights: Mapping[str, float],
    keep_unused: bool = False,
) -> Iterator[RankingReading]:
    """Yield the weighted sum of the values of each thing, or of those that the plan uses; none for fewer than two."""
    values = {thing: [family.values[name] for name in names] for thing, names in members.items()}
    used = {thing: names for thing, names in members.items() if keep_unused or any(values[thing])}
    if len(used) > 1:
        if len(used) == len(members):
            note = ""
        else:
            note = f" ({len(members) - len(used)} unused left out)"
        figures = {thing: sum(weights[name] * family.values[name] for name in names) for thing, names in used.items()}
        yield RankingReading(f"{title} in the plan{note}", figures)


def _list_limits(milp: Milp, family: Family, members: Mapping[str, list[str]]) -> Iterator[RankingReading]:
    limits = {thing: milp.row(names[0]).rhs for thing, names in members.items()}
    if len(members) == len(family.entries) and any(limits.values()):
        yield RankingReading(f"limit of {plain(family.name)}", limits)


def choose_readings(ranking: RankingQuestion, readings: Sequence[RankingReading]) -> list[RankingReading]:
    """Return the readings that the words of a question name best; all where they name none."""
    shared = [len(ranking.words & set(split_words(reading.measure))) for reading in readings]
    return [reading for reading, count in zip(readings, shared, strict=True) if count == max(shared)]


def agree_on_best(ranking: RankingQuestion, readings: Sequence[RankingReading]) -> bool:
    """Return True if all readings have the same best things."""
    return len({tuple(sorted(reading.list_best(ranking))) for reading in readings}) == 1


def describe_ranking(
    ranking: RankingQuestion, reading: RankingReading, cite: Callable[[str], str] = lambda thing: ""
) -> str:
    """Write the best things by one reading, with the next ones."""
    order = sorted(reading.figures, key=lambda name: reading.figures[name] * (1 if ranking.is_lowest else -1))
    best = reading.list_best(ranking)
    rest = [name for name in order if name not in best]
    named = join_some([f"{plain(name)}{cite(name)}" for name in best], MOST_RANKED, " and ", "others")
    text = f"{ranking.adjective} {ranking.noun} by {reading.measure}: {named} with {number(reading.figures[best[0]])}"
    others = join_some([f"{plain(name)} {number(reading.figures[name])}" for name in rest], MOST_RANKED, noun="others")
    return f"{text}{f'; then {others}' if others else ''}"


def ask_for_reading(ranking: RankingQuestion, readings: Sequence[RankingReading]) -> str:
    """Write the question back that lists the readings."""
    listed = " or ".join(f"'{ranking.adjective} {ranking.noun} by {reading.measure}'" for reading in readings[:6])
    return f"which do you mean? {listed}"


def describe_unknown(ranking: RankingQuestion) -> str:
    """Write that a model has no figures to rank by."""
    if ranking.is_cost:
        figure = "cost in the objective"
    else:
        figure = "limit or a value in the plan"
    if ranking.names:
        noun = plain(ranking.noun)
    else:
        noun = plain(ranking.noun, 40)
    unknown = f"it cannot be known which {noun} is {ranking.adjective}"
    if ranking.names:
        return f"{unknown}: no variables of one kind have these names and a {figure}"
    return (
        f"{unknown}: fewer than two things with a {figure} have a name or meaning that says they are a {noun}; list "
        f"them, as in 'which of A, B and C is {ranking.adjective}?'"
    )
