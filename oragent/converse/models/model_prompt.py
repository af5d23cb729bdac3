"""Prompt of a model's agent: sets, families, objectives and the syntax, at most 4,000 tokens for any model."""

from collections.abc import Iterable, Iterator, Sequence

from oragent.converse.prompting import fill_template, quote_line
from oragent.modelling.data.display import plain
from oragent.modelling.data.indexed import IndexedModel, IndexSet
from oragent.modelling.operations.registry import CHANGES, QUERIES
from oragent.modelling.operations.requests import DescribeRequest
from oragent.modelling.operations.results import DescribeResult, FamilyInfo
from oragent.modelling.operations.session import ModelSession
from oragent.modelling.operations.slices import fold
from oragent.modelling.references.reference_text import label_text, name_text

# Maximum number of characters of a model's description, at three characters per token.
ROOM = 5000
# Maximum number of characters for the families of one kind.
FAMILY_ROOM = 1400
SET_ROOM = 1300
# Number of labels shown from the start of a set.
SHOWN_LABELS = 12
MAX_MEANING_LENGTH = 80
# Operations that need files.
WITHOUT = {"verify", "inverse", "diff"}
# Maximum number of hits of a search.
MAX_HITS = 40


def model_prompt(model: IndexedModel, rounds: int, lines: int) -> str:
    """Return the system prompt of an agent."""
    queries = [f"- {entry.syntax}: {entry.summary}" for name, entry in QUERIES.items() if name not in WITHOUT]
    queries += ["- keep [NAME]; undo; scenario NAME: Keep the last trial, take back a message, go to a scenario."]
    return fill_template(
        "model_agent",
        model=describe_model(model),
        queries="\n".join(queries),
        changes="\n".join(f"- {entry.syntax}" for entry in CHANGES.values()),
        rounds=rounds,
        lines=lines,
    )


def describe_model(model: IndexedModel) -> str:
    """Describe the structure of a model in at most ``ROOM`` characters."""
    described = ModelSession(model).ask(DescribeRequest())
    assert isinstance(described, DescribeResult)
    rows, columns = model.shape
    lines = [f"{quote_line(model.name) or 'model'}: {columns} variables, {rows} rows."]
    if model.meaning:
        lines.append(quote_line(model.meaning))
    for info, goal in zip(described.objectives[:8], model.objectives, strict=False):
        is_active = "" if info.stage else " (not active)"
        lines.append(
            f"Objective: {goal.sense} {name_text(goal.name)}{_unit(goal.unit)}{_meaning(goal.meaning)}{is_active}"
        )
    lines += _cut("Sets:", map(_set_line, model.sets), SET_ROOM)
    for kind, title in (("parameters", "Data"), ("variables", "Variables"), ("rows", "Rows")):
        infos = [info for info in described.families if info.kind == kind]
        lines += _cut(f"{title}:", map(_family_line, infos), FAMILY_ROOM)
    return "\n".join(lines)[:ROOM]


def find_names(model: IndexedModel, text: str) -> str:
    """List the families and labels whose name or meaning contains a text."""
    folded = fold(text)
    hits = [
        f"{name_text(family.name)}[{', '.join(map(name_text, family.sets))}]" if family.sets else name_text(family.name)
        for family in model.families()
        if folded in fold(family.name) or folded in fold(family.meaning)
    ]
    for index_set in model.sets:
        hits += [f"{label_text(label)} of {index_set.name}" for label in index_set.labels if folded in fold(label)]
    if not hits:
        return f"no name or label has {plain(text, 60)!r} in it"
    more = [f"and {len(hits) - MAX_HITS} more: use a longer text"] if len(hits) > MAX_HITS else []
    return "\n".join([*hits[:MAX_HITS], *more])


def _cut(title: str, entries: Iterable[str], room: int) -> Iterator[str]:
    """Return a title and the entries that fit; the last line gives the number of the others."""
    every = list(entries)
    if not every:
        return
    yield title
    length = 0
    for position, entry in enumerate(every):
        length += len(entry) + 3
        if length > room and position:
            yield f"- and {len(every) - position} more: the tool describe finds them by a part of their names"
            return
        yield f"- {entry}"


def _set_line(index_set: IndexSet) -> str:
    labels = _labels(index_set.labels)
    order = ", in order" if index_set.is_ordered or index_set.is_time else ""
    return f"{name_text(index_set.name)} ({len(index_set.labels)}{order}): {labels}{_meaning(index_set.meaning)}"


def _labels(labels: Sequence[str]) -> str:
    shown: list[str] = []
    for label in labels[:SHOWN_LABELS]:
        shown.append(label_text(plain(label, 40)))
        if sum(map(len, shown)) > 160:
            break
    rest = len(labels) - len(shown)
    return f"{', '.join(shown)}{f', ... {label_text(plain(labels[-1], 40))}' if rest else ''}"


def _family_line(info: FamilyInfo) -> str:
    indices = f"[{', '.join(map(name_text, info.sets))}]" if info.sets else ""
    size = f"{info.members} " if info.sets else ""
    form = "" if info.form == "data" else info.form
    kind = f"{size}{form}".rstrip()
    return f"{name_text(info.name)}{indices}: {kind}{_unit(info.unit)}{_meaning(info.meaning)}".rstrip(": ")


def _unit(unit: str) -> str:
    return f", {quote_line(unit)[:30]}" if unit else ""


def _meaning(meaning: str) -> str:
    return f" ({quote_line(meaning)[:MAX_MEANING_LENGTH]})" if meaning else ""


def describe_family(model: IndexedModel, name: str) -> str:
    """Describe one family with its sets and first members, or find names that have a text in them."""
    folded = fold(name.strip('" '))
    families = [family for family in model.families() if fold(family.name) == folded]
    if not families:
        return find_names(model, name.strip()[:MAX_MEANING_LENGTH])
    described = ModelSession(model).ask(DescribeRequest())
    assert isinstance(described, DescribeResult)
    lines = [_family_line(info) for info in described.families if fold(info.name) == folded]
    for family in families:
        members = [model.member_name(family, position) for position in range(min(5, len(family)))]
        lines.append(f"members: {', '.join(members)}{', ...' if len(family) > len(members) else ''}")
    names = {name for family in families for name in family.sets}
    lines += [_set_line(index_set) for index_set in model.sets if index_set.name in names]
    return "\n".join(lines)[:3000]
