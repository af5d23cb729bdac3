"""A model as text in a prompt: all terms, units and meanings of a small one, a summary of a large one, and a search."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from oragent.converse.prompting import quote_line
from oragent.milp.changes import limits_in_words
from oragent.milp.decisions import NOISE
from oragent.milp.model import Milp, Relation, Row, Variable
from oragent.milp.plain import number

# of a description, about 4,000 tokens
MOST_CHARACTERS = 12_000
MOST_TERMS, MOST_FAMILIES, MOST_MEMBERS, MOST_HITS = 40, 40, 3, 25
# decimals of a figure, as everywhere in a conversation
FIGURE_DIGITS = 6
# values of 0 that are listed one by one
MOST_ZEROS = 3
WORDS = re.compile(r"[^\W_]+")
# a name with a number or an index
INDEXED = re.compile(r"^(.*?)[\[(_ ]*\d.*$|^(.*?)[\[(].*$")


def describe_model(milp: Milp, limit: int = MOST_CHARACTERS) -> str:
    """Describe the rows and variables of a model, all of them or, where that is too long, its families of names."""
    length, lines = 0, []
    for model_line in _every_line(milp):
        length += len(model_line) + 1
        if length > limit:
            return _summarize_families(milp, limit)
        lines.append(model_line)
    return "\n".join(lines)


def search_model(milp: Milp, text: str) -> str:
    """Return the rows and variables whose name or meaning has all words of a text, with their terms."""
    words = text.casefold().split()
    rows = [row_line(row) for row in milp.rows if _has_words(words, row.name, row.meaning)]
    variables = [
        variable_line(variable)
        for variable in milp.variables
        if _has_words(words, variable.name, variable.meaning, variable.unit)
    ]
    rows += [
        row_line(row)
        for row in milp.rows
        if not _has_words(words, row.name, row.meaning) and any(_has_words(words, name) for name in row.terms)
    ]
    hits = [*variables[:MOST_HITS], *rows[: max(MOST_HITS, 2 * MOST_HITS - len(variables))]]
    hidden = len(rows) + len(variables) - len(hits)
    if not hits:
        return f"no row or variable has {quote_line(text)!r} in its name or meaning"
    return "\n".join([*hits, *([f"and {hidden} more: search with more words"] if hidden else [])])


def describe_named(milp: Milp, values: Mapping[str, float], words: Sequence[str]) -> str:
    """Return the rows and variables whose names share most of some words, with their values; zeros come last."""
    stated = _list_words(" ".join(words))
    lines: dict[int, list[tuple[float, str]]] = {}
    for row in milp.rows:
        count = len(stated & _list_words(f"{row.name} {row.meaning}"))
        lines.setdefault(count, []).append((_activity(row, values), _row_value(row, values)))
    for variable in milp.variables:
        value = values.get(variable.name, 0.0)
        if variable.unit:
            unit = f" {quote_line(variable.unit)}"
        else:
            unit = ""
        text = f"{quote_line(variable.name)} = {number(value)}{unit}"
        count = len(stated & _list_words(f"{variable.name} {variable.meaning}"))
        lines.setdefault(count, []).append((value, text))
    best = max(lines)
    if not best:
        return f"no row or variable has {quote_line(' or '.join(words))!r} in its name or meaning"
    used = [text for value, text in lines[best] if abs(value) > NOISE]
    zeros = [text for value, text in lines[best] if abs(value) <= NOISE]
    if not used and len(zeros) > MOST_ZEROS:
        return f"{len(zeros)} rows and variables have {quote_line(' '.join(words))!r} in their names; all are 0"
    shown = used[:MOST_HITS] + (zeros if len(zeros) <= MOST_ZEROS else [])
    if len(used) > MOST_HITS:
        hidden = [f"and {len(used) - MOST_HITS} more"]
    else:
        hidden = []
    if len(zeros) > MOST_ZEROS:
        hidden += [f"and {len(zeros)} others at 0"]
    else:
        hidden += []
    return "\n".join([*shown, *hidden])


def _list_words(text: str) -> set[str]:
    """Return the words of names and meanings, without capitals."""
    return set(WORDS.findall(text.casefold()))


def describe_binding(milp: Milp, values: Mapping[str, float]) -> str:
    """Return the inequalities that a point meets exactly; those at 0 are counted."""
    binding = [
        row
        for row in milp.rows
        if row.relation is not Relation.EQUAL and abs(_activity(row, values) - row.rhs) <= 1e-6 * max(1.0, abs(row.rhs))
    ]
    named = [_row_value(row, values) for row in binding if row.rhs]
    equations = sum(row.relation is Relation.EQUAL for row in milp.rows)
    summary = (
        f"{len(named)} inequalit{'y binds' if len(named) == 1 else 'ies bind'}; {len(binding) - len(named)} more are 0 "
        f"on both sides; {equations} rows are equations"
    )
    if len(named) > MOST_HITS:
        more = [f"and {len(named) - MOST_HITS} more"]
    else:
        more = []
    return "\n".join([summary, *named[:MOST_HITS], *more])


def _row_value(row: Row, values: Mapping[str, float]) -> str:
    return f"{quote_line(row.name)} = {number(_activity(row, values))} (must be {limits_in_words(*row.limits)})"


def _activity(row: Row, values: Mapping[str, float]) -> float:
    """The left side of a row, without what rounding leaves of a value."""
    return round(sum(value * values.get(name, 0.0) for name, value in row.terms.items()), FIGURE_DIGITS) + 0.0


def row_line(row: Row) -> str:
    """A row with its terms, limit and meaning."""
    limits = limits_in_words(*row.limits)
    return f"- {quote_line(row.name)}: {linear_words(row.terms)} {limits}{_meaning_note(row.meaning)}"


def variable_line(variable: Variable) -> str:
    """A variable with its kind, bounds, unit and meaning."""
    if variable.is_binary:
        kind = "0 or 1"
    else:
        kind = f"{'whole number ' if variable.is_integer else ''}{limits_in_words(variable.low, variable.high)}"
    if variable.unit:
        unit = f", {quote_line(variable.unit)}"
    else:
        unit = ""
    return f"- {quote_line(variable.name)}: {kind}{unit}{_meaning_note(variable.meaning)}"


def linear_words(terms: Mapping[str, float]) -> str:
    """A linear expression such as ``4 tables + 6 chairs``; of a long one its first terms and how many follow."""
    parts = [
        f"{'-' if value < 0 else '+'} {'' if abs(value) == 1 else f'{number(abs(value))} '}{quote_line(name)}"
        for name, value in list(terms.items())[:MOST_TERMS]
    ]
    if len(terms) > MOST_TERMS:
        more = f" + {len(terms) - MOST_TERMS} more terms"
    else:
        more = ""
    return f"{' '.join(parts).removeprefix('+ ') or '0'}{more}"


def _every_line(milp: Milp) -> Iterator[str]:
    yield f"Rows ({len(milp.rows)}):"
    yield from map(row_line, milp.rows)
    yield f"Variables ({len(milp.variables)}):"
    yield from map(variable_line, milp.variables)


def _summarize_families(milp: Milp, limit: int) -> str:
    """Families of names, each with its number of members and the first ones as examples."""
    lines = [
        f"The model is large: {len(milp.rows)} rows, {len(milp.variables)} variables. Names that differ in an index "
        "are listed once; search_model finds the others, with their terms."
    ]
    parts: Sequence[Row | Variable]
    for title, parts in (("Rows", milp.rows), ("Variables", milp.variables)):
        lines += [f"{title} by family:", *_family_lines({part.name: part for part in parts})]
    text = "\n".join(lines)
    if len(text) <= limit:
        return text
    return f"{text[:limit].rpartition(chr(10))[0]}\n... (search_model finds the rest)"


def _family_lines(examples: Mapping[str, Row | Variable]) -> Iterator[str]:
    members: dict[str, list[str]] = {}
    for name in examples:
        members.setdefault(_family_name(name), []).append(name)
    counted = Counter({family: len(every) for family, every in members.items()})
    for family, count in counted.most_common(MOST_FAMILIES):
        first = examples[members[family][0]]
        if isinstance(first, Row):
            text = row_line(first)
        else:
            text = variable_line(first)
        others = ", ".join(quote_line(name) for name in members[family][1:MOST_MEMBERS])
        yield text if count == 1 else f"{text} [{count} such names: {others}{', ...' if count > MOST_MEMBERS else ''}]"
    if len(counted) > MOST_FAMILIES:
        yield f"- and {len(counted) - MOST_FAMILIES} more families"


def _family_name(name: str) -> str:
    indexed = INDEXED.match(name)
    if indexed:
        return indexed[1] or indexed[2] or name
    return name


def _has_words(words: list[str], *texts: str) -> bool:
    every = " ".join(texts).casefold()
    return all(word in every for word in words)


def _meaning_note(text: str) -> str:
    if text:
        return f" ({quote_line(text)})"
    return ""
