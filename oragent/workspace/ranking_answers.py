"""Answers to "which is the cheapest depot?" and "which house has the largest demand?".

The figures come from the tables where they have them, else from the model.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from oragent.milp.plain import plain
from oragent.milp.questions import WORDS, split_words
from oragent.milp.ranking import (
    RankingQuestion,
    RankingReading,
    agree_on_best,
    ask_for_reading,
    choose_readings,
    describe_ranking,
    list_model_readings,
    read_ranking,
)
from oragent.workspace.question import UnclearQuestionError, WorkspaceQuestion
from oragent.workspace.tables import parse_number
from oragent.workspace.vocabulary import DataCell, NamedGroup, NamedKind, table_labels

COST = re.compile(
    r"(?i)cost|price|wage|salar|rate\b|fee\b|tariff|rent\b|expense|charge|kosten|preis|lohn|€|\beur|\busd|\$"
)
SIZE = re.compile(
    r"(?i)capacit|demand|size|volume|weight|area|quantit|amount|stock|order|load|need|bedarf|menge|kapazit"
)
HAS = re.compile(
    r"(?:and )?(?:which|what|welche[rs]?) (?P<noun>\w[\w -]*?) (?:has|have|needs?|uses?|takes?|gets?|orders?|hat|haben|"
    r"braucht) (?:the |den |die |das )?(?P<adjective>largest|biggest|highest|greatest|most|smallest|lowest|least|"
    r"fewest|größte[nrs]?|höchste[nrs]?|meiste[nrs]?|kleinste[nrs]?|niedrigste[nrs]?|geringste[nrs]?)\s+(?P<measure>.+)",
    re.IGNORECASE,
)
LOW = re.compile(r"smallest|lowest|least|fewest|kleinst|niedrigst|geringst", re.IGNORECASE)
# readings of a thing with several rows
TOTAL, SINGLE = "in total", "in a single row"

Cells = Mapping[str, Sequence[DataCell]]
# with the cells of each thing
Columns = list[tuple[NamedGroup, dict[str, list[DataCell]]]]


@dataclass(frozen=True)
class _Measure:
    """Figures of things that stand in tables."""

    reading: RankingReading
    # of each thing that the figures come from
    cells: Cells
    # things without a figure
    missing: tuple[str, ...] = ()


def read_workspace_ranking(text: str) -> tuple[RankingQuestion, bool] | None:
    """Read a question for the first of some things, and whether it names what is compared; None for another one."""
    if (ranking := read_ranking(text)) is not None:
        return ranking, False
    match = HAS.fullmatch(" ".join(text.split()).rstrip("?.! "))
    if match:
        noun = split_words(match["noun"])
    else:
        noun = []
    if match is None or not noun:
        return None
    measure = match["measure"]
    if COST.search(measure):
        names = ("cheapest", "dearest")
    else:
        names = ("smallest", "largest")
    words = frozenset(word for word in split_words(measure) if len(word) > 2)
    return RankingQuestion(names[0 if LOW.match(match["adjective"]) else 1], noun[-1], words), True


def rank_parts(asked: WorkspaceQuestion, ranking: RankingQuestion, is_named: bool = False) -> Iterator[str]:
    """Answer which thing is the cheapest, dearest, largest or smallest.

    ``is_named`` tells whether the question names what is compared, such as a column.
    """
    measures, things = _list_measures(asked, ranking, is_named)
    by_name = {measure.reading.measure: measure for measure in measures}
    readings = [measure.reading for measure in measures]
    if not readings or "plan" in ranking.words:
        labels = table_labels(asked.groups)
        readings += list_model_readings(asked.milp, ranking, asked.plan_values, labels, things)
    readings = choose_readings(ranking, readings)
    if is_named and not any(ranking.words & set(split_words(reading.measure)) for reading in readings):
        readings = [reading for reading in readings if reading.measure in by_name]
    ranking = replace(ranking, noun=_spell_noun(asked.groups, ranking.noun))
    if not readings:
        if is_named:
            what = " ".join(sorted(ranking.words))
        elif ranking.is_cost:
            what = "costs"
        else:
            what = "sizes"
        raise UnclearQuestionError(
            f"It cannot be known which {plain(ranking.noun, 40)} is {ranking.adjective}: no table and no name in the "
            f"model gives {plain(what, 60)} by {plain(ranking.noun, 40)}."
        )
    if not agree_on_best(ranking, readings):
        question = ask_for_reading(ranking, readings)
        raise UnclearQuestionError(f"{question[0].upper()}{question[1:]}")
    for reading in readings:
        measure = by_name.get(reading.measure)

        def cite(thing: str, measure: _Measure | None = measure) -> str:
            if measure:
                cells = measure.cells[thing]
            else:
                cells = ()
            if len(cells) == 1:
                return f" {cells[0].citation}"
            if cells:
                return f" ({len(cells)} cells)"
            return ""

        yield f"- {describe_ranking(ranking, reading, cite)}."
        if measure and measure.missing:
            yield f"- Without a figure, and not ranked: {', '.join(map(plain, measure.missing[:12]))}."


def _spell_noun(groups: Iterable[NamedGroup], noun: str) -> str:
    """Return a noun as the header of a table has it: words of questions are compared without an ending ``s``."""
    words = (word for group in groups for name in group.index_names for word in WORDS.findall(name))
    return next((word for word in words if split_words(word) == [noun]), noun)


def _list_measures(
    asked: WorkspaceQuestion, ranking: RankingQuestion, is_named: bool
) -> tuple[list[_Measure], set[str]]:
    """List the columns that give figures of the things, with their cells, and the names of the things."""
    named: Columns = []
    things: set[str] = set()
    for group in asked.groups:
        position = _find_position(group, ranking.noun)
        if position is None:
            continue
        members: dict[str, list[DataCell]] = {}
        labels = _find_labels(group, position, asked.question)
        for index, cell in group.entries.items():
            if isinstance(cell, DataCell) and all(index[at] in stated for at, stated in labels.items()):
                members.setdefault(index[position], []).append(cell)
        is_thing = ranking.noun in split_words(group.hints)
        if len(members) > 1 and (is_thing or all(len(cells) == 1 for cells in members.values())):
            if is_thing:
                things |= set(members)
            else:
                things |= set()
            named.append((group, members))
    wanted = [entry for entry in named if _is_wanted(*entry, ranking, is_named)]
    preferred = [entry for entry in wanted if SIZE.search(entry[0].name)]
    if preferred and not (ranking.is_cost or is_named):
        wanted = preferred
    else:
        wanted = wanted
    _require_clear(members for _, members in wanted)
    if is_named and not wanted:
        wanted = _join_columns(named, ranking)
    counts = Counter(group.name for group, _ in wanted)
    measures: list[_Measure] = []
    for group, members in wanted:
        if counts[group.name] > 1:
            location = f" in {next(iter(members.values()))[0].table}"
        else:
            location = ""
        measures += _list_readings(f"{plain(group.name)}{location}", members, ranking)
    return measures, things


def _find_position(group: NamedGroup, noun: str) -> int | None:
    """Return the index of a column by which its things are told apart: that which the noun names, else the first."""
    if group.kind is not NamedKind.DATA or not all(group.entries):
        return None
    for position, name in enumerate(group.index_names):
        if noun in split_words(name):
            return position
    if noun in split_words(f"{group.name} {group.hints}"):
        return 0
    return None


def _find_labels(group: NamedGroup, position: int, question: str) -> dict[int, set[str]]:
    """Return the labels of other indices that a question states, by index; a number behind a word, as in week 3."""
    text = f" {' '.join(WORDS.findall(question.casefold()))} "
    found: dict[int, set[str]] = {}
    for at in range(len(group.index_names)):
        for label in {index[at] for index in group.entries} if at != position else ():
            words = " ".join(WORDS.findall(label.casefold()))
            if words and re.search(rf"[^\W\d] {words} " if words.isdecimal() else rf" {re.escape(words)} ", text):
                found.setdefault(at, set()).add(label)
    return found


def _join_columns(named: Columns, ranking: RankingQuestion) -> Columns:
    """Join the columns of each table whose file or sheet has the name of what is compared, as one column a weekday."""
    joined: dict[str, tuple[NamedGroup, dict[str, list[DataCell]]]] = {}
    for group, members in named:
        table = next(iter(members.values()))[0].table
        title = group.sheet or table.rpartition("/")[2].partition(".")[0]
        if ranking.words & set(split_words(title)):
            _, cells = joined.setdefault(table, (NamedGroup(NamedKind.DATA, title, {}), {}))
            for thing, more in members.items():
                cells.setdefault(thing, []).extend(more)
    _require_clear(members for _, members in joined.values())
    return list(joined.values())


def _list_readings(name: str, members: Mapping[str, list[DataCell]], ranking: RankingQuestion) -> Iterator[_Measure]:
    """Yield the figures of things; of things with several rows their totals, but for prices, and the single rows."""
    cells = {thing: [cell for cell in each if cell.value is not None] for thing, each in members.items()}
    missing = tuple(thing for thing, each in cells.items() if not each)
    cells = {thing: each for thing, each in cells.items() if each}
    totals = {thing: sum(cell.value or 0.0 for cell in each) for thing, each in cells.items()}
    if all(len(each) == 1 for each in members.values()):
        yield _Measure(RankingReading(name, totals), cells, missing)
        return
    if not COST.search(next(iter(members.values()))[0].header):
        yield _Measure(RankingReading(f"{name} {TOTAL}", totals), cells, missing)
    if ranking.is_lowest:
        choose = min
    else:
        choose = max
    firsts = {thing: choose(each, key=lambda cell: cell.value or 0.0) for thing, each in cells.items()}
    reading = RankingReading(f"{name} {SINGLE}", {thing: cell.value or 0.0 for thing, cell in firsts.items()})
    yield _Measure(reading, {thing: [cell] for thing, cell in firsts.items()}, missing)


def _require_clear(columns: Iterable[Cells]) -> None:
    for members in columns:
        cell = next((cell for cells in members.values() for cell in cells if cell.is_unclear), None)
        if cell is not None:
            raise UnclearQuestionError(
                f"The figures of {cell.table}, column {plain(cell.header)} can be read in two ways, such as 2.300: "
                "'oragent workspace check' names the line."
            )


def _is_wanted(group: NamedGroup, members: Cells, ranking: RankingQuestion, is_named: bool) -> bool:
    """Return True if a column has what is compared.

    Where the question does not name it, these are costs or sizes, whichever is asked for, and columns that the noun
    names.
    """
    if is_named:
        return bool(ranking.words & set(split_words(group.name)))
    cells = [cell for each in members.values() for cell in each]
    figures = {parse_number(cell.text) for cell in cells} - {None}
    if len(figures) < 2 or figures <= {0.0, 1.0}:
        return False
    has_costs = COST.search(cells[0].header) is not None
    return ranking.noun in split_words(group.name) or has_costs is ranking.is_cost
