"""Members that a reference means. Names and labels are matched without case and accents; ambiguous ones are refused."""

import difflib
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from oragent._base.errors import ModellingError
from oragent.modelling.data.display import quoted
from oragent.modelling.data.indexed import (
    Family,
    IndexedModel,
    IndexSet,
    ParameterFamily,
    RowFamily,
    VariableFamily,
)
from oragent.modelling.data.links import Positions
from oragent.modelling.data.objectives import IndexedObjective
from oragent.modelling.operations.requests import Index, MemberReference
from oragent.modelling.references.reference_text import name_text

KINDS: dict[str, type[Family]] = {"parameters": ParameterFamily, "variables": VariableFamily, "rows": RowFamily}
ALL_KINDS = ("parameters", "variables", "rows")
# Maximum number of members in a message, and of members of a family that are searched for one.
SHOWN, MAX_SEARCHED = 5, 20_000
NOT_WORD = re.compile(r"\W+")


@dataclass(frozen=True, eq=False)
class Slice:
    """Members of one family."""

    model: IndexedModel
    family: Family
    # ``(k,)`` increasing positions in the family.
    members: Positions

    def __len__(self) -> int:
        return len(self.members)

    @property
    def positions(self) -> Positions:
        """Return the ``(k,)`` positions in the arrays of the model."""
        return self.family.positions[self.members]

    @property
    def names(self) -> list[str]:
        """Return the names of the members."""
        return [self.model.member_name(self.family, member) for member in self.members.tolist()]

    @property
    def kind(self) -> str:
        """Return ``parameters``, ``variables`` or ``rows``."""
        return kind_of(self.family)


def kind_of(family: Family) -> str:
    """Return the kind of a family."""
    return next(kind for kind, of_kind in KINDS.items() if isinstance(family, of_kind))


def kind_prefix(model: IndexedModel, family: Family) -> str:
    """Return ``variables.`` and the like for a family that shares its name with another one, else an empty text."""
    is_shared = sum(other.name == family.name for other in model.families()) > 1
    return f"{kind_of(family)}." if is_shared else ""


@lru_cache(maxsize=100_000)
def fold(text: str) -> str:
    """Return a text without case and accents."""
    decomposed = unicodedata.normalize("NFKD", text.strip())
    return "".join(letter for letter in decomposed if not unicodedata.combining(letter)).casefold()


def nearest_names(name: str, candidates: Iterable[str]) -> str:
    """Return the names that are most similar to one, for a message."""
    by_fold = {fold(candidate): candidate for candidate in candidates}
    near = difflib.get_close_matches(fold(name), by_fold, 3, 0.5)
    if near:
        return f"did you mean {' or '.join(quoted(by_fold[near_name]) for near_name in near)}?"
    shown = [quoted(candidate) for candidate in list(by_fold.values())[:SHOWN]]
    more = f" and {len(by_fold) - SHOWN} more" if len(by_fold) > SHOWN else ""
    return f"there are {', '.join(shown)}{more}" if shown else "there is none"


def find_family(model: IndexedModel, reference: MemberReference, kinds: Sequence[str]) -> Family:
    """Return the family of one of these kinds that a reference names.

    Raises:
        ModellingError: No family has the name, or several have it.
    """
    allowed = [reference.kind] if reference.kind else list(kinds)
    every: list[Family] = list(model.families())
    families = [family for kind in allowed for family in every if kind_of(family) == kind]
    exact = [family for family in families if family.name == reference.name]
    matching = exact or [family for family in families if fold(family.name) == fold(reference.name)]
    if len(matching) == 1:
        return _check_kind(matching[0], kinds)
    if matching:
        if same_figures(model, matching):
            return matching[0]
        options = " or ".join(f"'{kind_of(family)}.{name_text(family.name)}'" for family in matching)
        raise ModellingError(f"{quoted(reference.name)} names {len(matching)} families: write {options}")
    others = [family for family in model.families() if fold(family.name) == fold(reference.name)]
    if others:
        _check_kind(others[0], kinds)
    if "*" in reference.name:
        return _members_like(model, reference, allowed)
    member = _find_member(model, families, reference.name)
    nearest = (
        f"it is {quoted(member)}" if member else nearest_names(reference.name, [family.name for family in families])
    )
    raise ModellingError(f"no {_or_words(kinds)} {quoted(reference.name)}: {nearest}")


def _find_member(model: IndexedModel, families: Sequence[Family], name: str) -> str:
    """Return the member that has this name in a file without indices: ``ship[Paris, wk1]`` for ship_Paris_wk1."""
    flat = NOT_WORD.sub("_", fold(name)).strip("_")
    for family in families:
        if flat.startswith(NOT_WORD.sub("_", fold(family.name))):
            for number in range(min(len(family.positions), MAX_SEARCHED)):
                member = model.member_name(family, number)
                if NOT_WORD.sub("_", fold(member)).strip("_") == flat:
                    return member
    return ""


def _members_like(model: IndexedModel, reference: MemberReference, kinds: Sequence[str]) -> Family:
    """Return the members of all families of one kind whose names match a pattern such as ``open *``, as one family."""
    first, *others, last = map(re.escape, fold(reference.name).split("*"))
    # Atomic groups, as a name with many repeats would take very long otherwise.
    pattern = re.compile("".join([first, *(f"(?>.*?{text})" for text in others), ".*", last]), re.DOTALL)
    matching = []
    for kind in kinds:
        names = model.names_of(KINDS[kind])
        positions = [at for at, name in enumerate(names) if pattern.fullmatch(fold(name.replace('"', "")))]
        if positions:
            units = {family.unit for family in model.families() if kind_of(family) == kind}
            unit = units.pop() if len(units) == 1 else ""
            keys = np.zeros((len(positions), 0), np.int32)
            matching.append(KINDS[kind](reference.name, (), keys, np.array(positions), unit, is_union=True))
    if len(matching) == 1:
        return matching[0]
    options = " or ".join(f"'{kind_of(family)}.{name_text(reference.name)}'" for family in matching)
    if options:
        raise ModellingError(f"{quoted(reference.name)} matches members of several kinds: write {options}")
    raise ModellingError(f"no name of {_or_words(kinds)} is like {quoted(reference.name)}: 'describe' lists the names")


def _or_words(kinds: Sequence[str]) -> str:
    return " or ".join({"parameters": "data", "variables": "variables", "rows": "rows"}[kind] for kind in kinds)


def _check_kind(family: Family, kinds: Sequence[str]) -> Family:
    if kind_of(family) not in kinds:
        raise ModellingError(
            f"{quoted(family.name)} is a family of {kind_of(family)}: expected {_or_words(kinds)} here"
        )
    return family


def same_figures(model: IndexedModel, families: Sequence[Family]) -> bool:
    """Return True if data and rows of one name are the same: the data are the rows' right-hand sides, each once."""
    if len(families) != 2 or not isinstance(families[0], ParameterFamily) or not isinstance(families[1], RowFamily):
        return False
    data, rows = families
    links = model.rhs.links
    to_data = np.isin(links.cells, data.positions)
    cells, places, factors = links.cells[to_data], links.places[to_data], links.factors[to_data]
    if data.sets != rows.sets or len(data) != len(rows) or not np.array_equal(data.keys, rows.keys):
        return False
    elsewhere = [model.low, model.high, model.entries, *(goal.cost for goal in model.objectives)]
    if any(np.isin(vector.links.cells, data.positions).any() for vector in elsewhere):
        return False
    order = np.argsort(places)
    is_direct = bool((factors == 1.0).all() and (model.rhs.base[places] == 0.0).all())
    expected = np.argsort(rows.positions)
    return (
        is_direct
        and np.array_equal(places[order], rows.positions[expected])
        and np.array_equal(cells[order], data.positions[expected])
    )


def find_slice(model: IndexedModel, reference: MemberReference, kinds: Sequence[str] = ALL_KINDS) -> Slice:
    """Return the members that a reference means.

    Raises:
        ModellingError: A name or label is unknown or ambiguous, a range is of an unordered set, the number of indices
            is wrong, or the slice is empty.
    """
    family = find_family(model, reference, kinds)
    if reference.indices is None:
        return Slice(model, family, np.arange(len(family)))
    indices = _split_exceptions(reference.indices, len(family.sets))
    if len(indices) != len(family.sets):
        raise ModellingError(
            f"{quoted(family.name)} has {len(family.sets)} indices ({', '.join(family.sets) or 'none'}), "
            f"not {len(indices)}"
        )
    chosen = np.ones(len(family), dtype=bool)
    for position, (index, name) in enumerate(zip(indices, family.sets, strict=True)):
        if index.kind == "all":
            continue
        index_set = model.index_set(name)
        allowed = np.zeros(len(index_set.labels), dtype=bool)
        allowed[_label_places(index_set, index)] = True
        chosen &= allowed[family.keys[:, position]]
    members = np.flatnonzero(chosen)
    if not len(members):
        raise ModellingError(f"no member of {quoted(family.name)} has these indices: the slice is empty")
    return Slice(model, family, members)


def find_one(model: IndexedModel, reference: MemberReference, kinds: Sequence[str] = ALL_KINDS) -> Slice:
    """Return the only member that a reference means. Several members raise ``ModellingError``."""
    chosen = find_slice(model, reference, kinds)
    if len(chosen) != 1:
        first, last = chosen.names[0], chosen.names[-1]
        raise ModellingError(
            f"{len(chosen)} members, {quoted(first)} to {quoted(last)}: expected one; name all its indices"
        )
    return chosen


def find_objective(model: IndexedModel, name: str) -> IndexedObjective:
    """Return the objective of a name. An unknown name raises ``ModellingError``."""
    for goal in model.objectives:
        if goal.name == name:
            return goal
    objectives = [goal for goal in model.objectives if fold(goal.name) == fold(name)]
    if len(objectives) == 1:
        return objectives[0]
    raise ModellingError(
        f"unknown objective {quoted(name)}: {nearest_names(name, (goal.name for goal in model.objectives))}"
    )


def find_set_place(model: IndexedModel, family: Family, name: str) -> int:
    """Return the position of an index set in a family. A whole number from 1 names the position itself."""
    places = [position for position, of_family in enumerate(family.sets) if fold(of_family) == fold(name)]
    if len(places) == 1:
        return places[0]
    if name.isdigit() and 1 <= int(name) <= len(family.sets):
        return int(name) - 1
    if places:
        raise ModellingError(
            f'{quoted(family.name)} has {len(places)} indices of the set {quoted(name)}: name one, as in by "1"'
        )
    raise ModellingError(f"{quoted(family.name)} has no index set {quoted(name)}: {nearest_names(name, family.sets)}")


def _split_exceptions(indices: tuple[Index, ...], count: int) -> tuple[Index, ...]:
    """Return indices in which labels after an exception are separate indices, if the family needs more indices."""
    exceptions = [position for position, index in enumerate(indices) if index.kind == "except"]
    missing = count - len(indices)
    if len(exceptions) != 1:
        return indices
    position = exceptions[0]
    labels = indices[position].labels
    if len(labels) <= missing:
        return indices
    excepted = Index(kind="except", labels=labels[: len(labels) - missing])
    separate = tuple(Index(kind="labels", labels=(label,)) for label in labels[len(labels) - missing :])
    return (*indices[:position], excepted, *separate, *indices[position + 1 :])


def _label_places(index_set: IndexSet, index: Index) -> list[int]:
    places = [find_label(index_set, label) for label in index.labels]
    if index.kind == "labels":
        return places
    if index.kind == "except":
        return list(set(range(len(index_set.labels))) - set(places))
    first, last = places
    if not index_set.is_ordered:
        raise ModellingError(
            f"set {quoted(index_set.name)} has no order, so '{index.labels[0]}..{index.labels[1]}' is not defined: "
            "list the labels in braces"
        )
    if first > last:
        raise ModellingError(f"the range '{index.labels[0]}..{index.labels[1]}' is empty: swap its ends")
    return list(range(first, last + 1))


class LabelError(ModellingError):
    """A label is unknown or ambiguous.

    Attributes:
        label: The label as it was written.
    """

    def __init__(self, message: str, label: str) -> None:
        super().__init__(message)
        self.label = label


def find_label(index_set: IndexSet, label: str) -> int:
    """Return the position of a label. An unknown or ambiguous label raises ``LabelError``."""
    exact = index_set.position_of.get(label)
    if exact is not None:
        return exact
    places = [position for position, candidate in enumerate(index_set.labels) if fold(candidate) == fold(label)]
    if len(places) == 1:
        return places[0]
    if places:
        options = " or ".join(f'"{index_set.labels[position]}"' for position in places)
        raise LabelError(f"{quoted(label)} can mean {options}: write one of them exactly", label)
    expected = nearest_names(label, index_set.labels)
    raise LabelError(f"{quoted(label)} is not a label of the set {quoted(index_set.name)}: {expected}", label)
