"""Rubrics of explain: names and statements that an answer must contain, their predicates, and points."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

from oragent._base.errors import WorkspaceError
from oragent.workspace.citations import SearchableAnswer, normalise_text
from oragent.workspace.reading import read_jsonl, shorten, shorten_path

Entry = TypeVar("Entry")
ENDS = re.compile(
    # A full stop that does not belong to an abbreviation.
    r"(?<!\be\.g)(?<!\bi\.e)(?<!\bcf)(?<!\bvs)[.!]+(?=\s|$)"
    r"|(?<=\?)(?=\s|$)|\n\s*\n|\n\s*(?=[-*#]|\d+[.)]\s)"
)
DENIALS = re.compile(
    r"\b(?:not|no|never|none|neither|nor|nothing|without|cannot|false|wrong(?:ly)?|incorrect(?:ly)?)\b"
    r"|\b(?:unlikely|hardly|fails? to)\b|n't\b"
)


# Points for full coverage.
COVERAGE = 35.0
IDENTIFIER = re.compile(r"c[0-9]+")


@dataclass(frozen=True)
class Predicate:
    """Condition that one sentence must fulfil."""

    # Names and numbers that the sentence must contain together.
    together: tuple[str, ...]
    # Whether the fact is negative, as in "row 3 does not bind". The sentence must then contain a negation.
    denied: bool = False

    @staticmethod
    def read(value: object, location: str) -> "Predicate":
        """Read a predicate of a rubric: ``{"together": [TEXT, ...], "denied": false}``."""
        if isinstance(value, Mapping):
            together = value.get("together")
        else:
            together = None
        if isinstance(value, Mapping):
            denied = value.get("denied", False)
        else:
            denied = None
        if not isinstance(together, list) or not together or not isinstance(denied, bool):
            raise WorkspaceError(
                f"{location} has a predicate without names; expected together: a list, denied: true or false"
            )
        if not all(isinstance(name, str) and name.strip() for name in together):
            raise WorkspaceError(f"{location} has a predicate with an empty name; expected texts")
        return Predicate(tuple(together), denied)

    def holds(self, answer: str) -> bool:
        """Return True if a sentence of the answer fulfils the predicate and none denies it. Questions are ignored."""
        statements = [sentence for sentence in split_sentences(answer) if not sentence.endswith("?")]
        matching = [sentence for sentence in statements if self._names_all(sentence)]
        denials = [bool(DENIALS.search(normalise_text(sentence))) for sentence in matching]
        return bool(denials) and all(denial == self.denied for denial in denials)

    def _names_all(self, sentence: str) -> bool:
        prepared = SearchableAnswer(sentence, bounded=True)
        return all(prepared.names_entity(name) for name in self.together)


def split_sentences(text: str) -> list[str]:
    """Split a text into sentences, also at empty lines and list items, but not at the point in ``2.5``."""
    return [part.strip() for part in ENDS.split(text) if part and part.strip()]


class CriterionKind(StrEnum):
    """Way in which a criterion is decided."""

    EXACT = "exact_match"
    SEMANTIC = "llm_boolean_judgment"


@dataclass(frozen=True)
class Criterion:
    """Criterion of a checklist."""

    # Id of the criterion: ``c1``, ``c2`` and so on.
    id: str
    # Exact criteria are decided by matching, semantic ones by a judge or a predicate.
    kind: CriterionKind
    text: str
    # Entities that an exact criterion requires; at least one.
    entities: tuple[str, ...] = ()
    # Instruction for judges: when to count a hit.
    instruction: str = ""
    # Predicate that decides a semantic criterion without a judge. None without a predicate.
    predicate: Predicate | None = None


@dataclass(frozen=True)
class Rubric:
    """Label of one explain instance."""

    # Id of the instance: ``OR_explain_007`` in the public release.
    instance_id: str
    number: int
    # Tested dimension of explanation.
    dimension: str
    question: str
    criteria: tuple[Criterion, ...]
    # Reference answer for readers. It need not fulfil every criterion.
    short_answer: str = ""
    # Documents, code, data and records that the answer has to connect.
    path: str = ""

    @property
    def exact(self) -> tuple[Criterion, ...]:
        """Criteria that matching decides."""
        return tuple(criterion for criterion in self.criteria if criterion.kind is CriterionKind.EXACT)

    @property
    def semantic(self) -> tuple[Criterion, ...]:
        """Criteria that a judge or a predicate decides."""
        return tuple(criterion for criterion in self.criteria if criterion.kind is CriterionKind.SEMANTIC)

    @property
    def decision_count(self) -> int:
        """Number of decisions: one for each entity and each semantic criterion, with equal weights."""
        return sum(len(criterion.entities) for criterion in self.exact) + len(self.semantic)


def exact_decisions(rubric: Rubric, answer: str, bounded: bool = False) -> dict[str, bool]:
    """Decide which entities an answer names. The keys are ``c<criterion>.e<entity>``, counted from 1."""
    prepared = SearchableAnswer(answer, bounded)
    return {
        f"{criterion.id}.e{number}": prepared.names_entity(entity)
        for criterion in rubric.exact
        for number, entity in enumerate(criterion.entities, 1)
    }


def coverage_points(rubric: Rubric, exact: Mapping[str, bool], semantic: Mapping[str, bool]) -> float:
    """Return the points for met criteria, from 0 to ``COVERAGE``.

    Raises:
        WorkspaceError: A semantic decision is missing or belongs to no criterion; it does not count as zero.
    """
    criteria = {criterion.id for criterion in rubric.semantic}
    for wrong, what in ((criteria - set(semantic), "has no decision"), (set(semantic) - criteria, "is no criterion")):
        if wrong:
            where = f"{shorten(rubric.instance_id)}: {shorten(min(wrong))} {what}"
            raise WorkspaceError(f"{where}; expected one decision for each of {', '.join(sorted(criteria))}")
    return COVERAGE * (sum(exact.values()) + sum(semantic.values())) / rubric.decision_count


def collect_once(entries: Iterable[tuple[str, str, Entry]], verb: str, expected: str) -> dict[str, Entry]:
    """Collect the values of a file by id.

    Args:
        entries: Location, id and value of each entry.
        verb: Relation of a line to its id, such as ``answers``, for the message.
        expected: Expected content in place of a repeated id, for the message.

    Raises:
        WorkspaceError: An id is repeated.
    """
    by_id: dict[str, Entry] = {}
    for location, name, value in entries:
        if name in by_id:
            where = f"{shorten_path(location)} {verb} {shorten(name)} a second time"
            raise WorkspaceError(f"{where}; expected {expected}")
        by_id[name] = value
    return by_id


def read_rubrics(path: Path) -> dict[str, Rubric]:
    """Read rubrics in the format of the public release, one JSON object per line; by instance id."""
    rubrics = ((at, _read_rubric(row, shorten_path(at))) for at, row in read_jsonl(path))
    return collect_once(((at, rubric.instance_id, rubric) for at, rubric in rubrics), "gives", "it once")


def read_answers(path: Path) -> dict[str, str]:
    """Read answers, one JSON object per line: ``{"instance_id", "answer"}``; by instance id."""
    keys = ("instance_id", "answer")
    rows = ((at, [_require_text(row, key, shorten_path(at)) for key in keys]) for at, row in read_jsonl(path))
    return collect_once(((at, name, answer) for at, (name, answer) in rows), "answers", "one answer an instance")


def _require_text(row: Mapping[str, Any], key: str, location: str) -> str:
    if not isinstance(row.get(key), str):
        raise WorkspaceError(f"{location} has no {key}; expected a text")
    return str(row[key])


def _read_rubric(row: Mapping[str, Any], location: str) -> Rubric:
    number, checklist = row.get("instance_number"), row.get("checklist")
    if not isinstance(number, int) or isinstance(number, bool):
        raise WorkspaceError(f"{location} has no instance_number; expected a whole number")
    if not isinstance(checklist, list) or not checklist:
        raise WorkspaceError(f"{location} has no checklist; expected a list of criteria")
    criteria = tuple(_read_criterion(item, location) for item in checklist)
    ids = [criterion.id for criterion in criteria]
    twice = [name for name in ids if ids.count(name) > 1]
    if twice:
        raise WorkspaceError(f"{location} has criterion {twice[0]} twice; expected each id once")
    texts = (_require_text(row, key, location) for key in ("instance_id", "dimension", "question"))
    name, dimension, question = texts
    others = (str(row.get(key) or "") for key in ("expected_short_answer", "multi_hop_path"))
    return Rubric(name, number, dimension, question, criteria, *others)


def _read_criterion(item: object, location: str) -> Criterion:
    if not isinstance(item, dict) or not IDENTIFIER.fullmatch(str(item.get("criterion_id"))):
        raise WorkspaceError(f"{location} has a criterion without an id; expected criterion_id c1, c2 and so on")
    name, kind = str(item["criterion_id"]), item.get("checklist_type")
    if kind not in set(CriterionKind):
        raise WorkspaceError(f"{location}: {name} is of type {shorten(kind)}; expected {' or '.join(CriterionKind)}")
    entities = item.get("target_entities") or []
    if not isinstance(entities, list) or not all(isinstance(entity, str) and entity.strip() for entity in entities):
        raise WorkspaceError(f"{location}: target_entities of {name} are not texts; expected a list of non-empty texts")
    if (kind == CriterionKind.EXACT) != bool(entities):
        raise WorkspaceError(
            f"{location}: {name} is {kind} with {len(entities)} entities; only exact criteria have some"
        )
    if "predicate" in item:
        predicate = Predicate.read(item["predicate"], f"{location}: {name}")
    else:
        predicate = None
    instruction = str(item.get("instruction_for_judge") or "")
    return Criterion(
        name, CriterionKind(kind), _require_text(item, "criterion", location), tuple(entities), instruction, predicate
    )
