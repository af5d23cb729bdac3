"""Answers to "which is the cheapest depot?": from the tables where they have the figures, else from the model."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping

from oragent.milp.plain import plain
from oragent.milp.questions import split_words
from oragent.milp.ranking import (
    RankingQuestion,
    RankingReading,
    agree_on_best,
    ask_for_reading,
    choose_readings,
    describe_ranking,
    list_model_readings,
)
from oragent.workspace.question import UnclearQuestionError, WorkspaceQuestion
from oragent.workspace.vocabulary import DataCell, NamedGroup, NamedKind, table_labels

COST = re.compile(
    r"cost|price|wage|salar|rate\b|fee\b|tariff|rent\b|expense|charge|kosten|preis|lohn|€|\beur|\busd|\$", re.I
)
SIZE = re.compile(
    r"capacit|demand|size|volume|weight|area|quantit|amount|stock|order|load|need|bedarf|menge|kapazit", re.I
)

Cells = Mapping[str, DataCell]


def rank_parts(asked: WorkspaceQuestion, ranking: RankingQuestion) -> Iterator[str]:
    """Answer which thing is the cheapest, dearest, largest or smallest.

    Raises:
        UnclearQuestionError: Several readings have different answers, or there is no figure to rank by.
    """
    columns, things = _list_columns(asked.groups, ranking)
    cells = {reading.measure: entries for reading, entries in columns}
    readings = [reading for reading, _ in columns]
    if not readings or "plan" in ranking.words:
        labels = table_labels(asked.groups)
        readings += list_model_readings(asked.milp, ranking, asked.plan_values, labels, things)
    readings = choose_readings(ranking, readings)
    if not readings:
        what = "costs" if ranking.is_cost else "sizes"
        raise UnclearQuestionError(
            f"It cannot be known which {plain(ranking.noun, 40)} is {ranking.adjective}: no table and no name in the "
            f"model gives {what} by {plain(ranking.noun, 40)}."
        )
    if not agree_on_best(ranking, readings):
        question = ask_for_reading(ranking, readings)
        raise UnclearQuestionError(f"{question[0].upper()}{question[1:]}")
    for reading in readings:
        entries = cells.get(reading.measure, {})

        def cite(thing: str, entries: Cells = entries) -> str:
            return f" {entries[thing].citation}" if thing in entries else ""

        yield f"- {describe_ranking(ranking, reading, cite)}."
        missing = [plain(thing) for thing, cell in entries.items() if cell.value is None]
        if missing:
            yield f"- Without a figure, and not ranked: {', '.join(missing[:12])}."


def _list_columns(
    groups: list[NamedGroup], ranking: RankingQuestion
) -> tuple[list[tuple[RankingReading, Cells]], set[str]]:
    """List the columns that give figures of the things, with their cells, and the names of the things."""
    named: list[tuple[NamedGroup, Cells]] = []
    things: set[str] = set()
    for group in groups:
        cells: Cells = {index[0]: cell for index, cell in group.entries.items() if index and isinstance(cell, DataCell)}
        if group.kind is not NamedKind.DATA or len(cells) < max(2, len(group.entries)):
            continue  # no table with one row for each thing
        is_thing = ranking.noun in split_words(group.hints)
        if is_thing or ranking.noun in split_words(group.name):
            things |= set(cells) if is_thing else set()
            named.append((group, cells))
    wanted = [(group, cells) for group, cells in named if _is_wanted(group, cells, ranking)]
    preferred = [entry for entry in wanted if SIZE.search(entry[0].name)]
    wanted = preferred if preferred and not ranking.is_cost else wanted
    counts = Counter(group.name for group, _ in wanted)
    columns: list[tuple[RankingReading, Cells]] = []
    for group, cells in wanted:
        figures = {thing: cell.value for thing, cell in cells.items() if cell.value is not None}
        location = f" in {next(iter(cells.values())).table}" if counts[group.name] > 1 else ""
        columns.append((RankingReading(f"{plain(group.name)}{location}", figures), cells))
    return columns, things


def _is_wanted(group: NamedGroup, cells: Cells, ranking: RankingQuestion) -> bool:
    """Return True if a column has costs or sizes, whichever is asked for; a column that the noun names always has."""
    figures = {cell.value for cell in cells.values()} - {None}
    if len(figures) < 2 or figures <= {0.0, 1.0}:
        return False
    has_costs = COST.search(next(iter(cells.values())).header) is not None
    return ranking.noun in split_words(group.name) or has_costs is ranking.is_cost
