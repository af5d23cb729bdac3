"""Rubrics of explain: what an answer must name and say, and the points that this is worth."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from oragent._base.errors import WorkspaceError
from oragent.evals.workspace.predicates import Predicate
from oragent.workspace.matching import SearchableAnswer
from oragent.workspace.reading import read_jsonl, shorten, shorten_path

COVERAGE = 35.0  # points for naming and saying everything
IDENTIFIER = re.compile(r"c[0-9]+")


class CriterionKind(StrEnum):
    """How a criterion is decided."""

    EXACT = "exact_match"
    SEMANTIC = "llm_boolean_judgment"


@dataclass(frozen=True)
class Criterion:
    """One line of a checklist.

    Attributes:
        id: Id of the criterion: ``c1``, ``c2`` and so on.
        kind: Kind of criterion: exact, decided by matching, or semantic, decided by a judge or a predicate.
        text: Text of the criterion: what is asked of the answer.
        entities: Entities that an exact criterion wants named; at least one.
        instruction: Instruction for judges: when to give a hit.
        predicate: Predicate that decides a semantic criterion without a judge; None where there is none.
    """

    id: str
    kind: CriterionKind
    text: str
    entities: tuple[str, ...] = ()
    instruction: str = ""
    predicate: Predicate | None = None


@dataclass(frozen=True)
class Rubric:
    """The label of one explain instance.

    Attributes:
        instance_id: Id of the instance: ``OR_explain_007`` in the public release.
        number: Number of the instance.
        dimension: Dimension of explanation that is tested.
        question: Question as it was asked.
        criteria: Criteria of the checklist.
        short_answer: Reference answer, for people; it need not hit every criterion.
        path: Documents, code, data and records that the answer has to connect.
    """

    instance_id: str
    number: int
    dimension: str
    question: str
    criteria: tuple[Criterion, ...]
    short_answer: str = ""
    path: str = ""

    @property
    def exact(self) -> tuple[Criterion, ...]:
        """The criteria that matching decides."""
        return tuple(one for one in self.criteria if one.kind is CriterionKind.EXACT)

    @property
    def semantic(self) -> tuple[Criterion, ...]:
        """The criteria that a judge or a predicate decides."""
        return tuple(one for one in self.criteria if one.kind is CriterionKind.SEMANTIC)

    @property
    def atoms(self) -> int:
        """How many decisions there are: one an entity, one a semantic criterion; all weigh the same."""
        return sum(len(one.entities) for one in self.exact) + len(self.semantic)


def exact_decisions(rubric: Rubric, answer: str, bounded: bool = False) -> dict[str, bool]:
    """Whether an answer names each entity, by ``c<criterion>.e<entity>``, counted from one."""
    prepared = SearchableAnswer(answer, bounded)
    return {
        f"{criterion.id}.e{place}": prepared.names_entity(entity)
        for criterion in rubric.exact
        for place, entity in enumerate(criterion.entities, 1)
    }


def coverage(rubric: Rubric, exact: Mapping[str, bool], semantic: Mapping[str, bool]) -> float:
    """Points for what was named and said, from 0 to ``COVERAGE``.

    Args:
        rubric: Label of the instance.
        exact: Decisions on all entities.
        semantic: Decisions on all semantic criteria, by their ids.

    Raises:
        WorkspaceError: if a semantic decision is missing or belongs to no criterion: neither counts as a zero.
    """
    wanted = {criterion.id for criterion in rubric.semantic}
    for wrong, what in ((wanted - set(semantic), "has no decision"), (set(semantic) - wanted, "is no criterion")):
        if wrong:
            raise WorkspaceError(f"{shorten(rubric.instance_id)}: {shorten(min(wrong))} {what}; expected one "
        f"decision for "
                                 f"each of {', '.join(sorted(wanted))}")  # fmt: skip
    return COVERAGE * (sum(exact.values()) + sum(semantic.values())) / rubric.atoms


def read_rubrics(path: Path) -> dict[str, Rubric]:
    """Read rubrics in the format of the public release, one JSON object a line.

    Returns:
        Rubrics by instance id.

    Raises:
        WorkspaceError: if a line is no rubric, or an id comes twice.
    """
    found: dict[str, Rubric] = {}
    for place, row in read_jsonl(path):
        rubric = _rubric(row, shorten_path(place))
        if rubric.instance_id in found:
            raise WorkspaceError(
                f"{shorten_path(place)} gives {shorten(rubric.instance_id)} a second time; expected it once"
            )
        found[rubric.instance_id] = rubric
    return found


def read_answers(path: Path) -> dict[str, str]:
    """Read answers, one JSON object a line: ``{"instance_id", "answer"}``.

    Returns:
        Answers by instance id.

    Raises:
        WorkspaceError: if a line is none, or an id comes twice.
    """
    found: dict[str, str] = {}
    for place, row in read_jsonl(path):
        name, answer = (_text(row, key, shorten_path(place)) for key in ("instance_id", "answer"))
        if name in found:
            raise WorkspaceError(
                f"{shorten_path(place)} answers {shorten(name)} a second time; expected one answer an instance"
            )
        found[name] = answer
    return found


def _text(row: Mapping[str, Any], key: str, place: str) -> str:
    if not isinstance(row.get(key), str):
        raise WorkspaceError(f"{place} has no {key}; expected a text")
    return str(row[key])


def _rubric(row: Mapping[str, Any], place: str) -> Rubric:
    number, checklist = row.get("instance_number"), row.get("checklist")
    if not isinstance(number, int) or isinstance(number, bool):
        raise WorkspaceError(f"{place} has no instance_number; expected a whole number")
    if not isinstance(checklist, list) or not checklist:
        raise WorkspaceError(f"{place} has no checklist; expected a list of criteria")
    criteria = tuple(_criterion(item, place) for item in checklist)
    ids = [criterion.id for criterion in criteria]
    twice = [name for name in ids if ids.count(name) > 1]
    if twice:
        raise WorkspaceError(f"{place} has criterion {twice[0]} twice; expected each id once")
    texts = (_text(row, key, place) for key in ("instance_id", "dimension", "question"))
    name, dimension, question = texts
    others = (str(row.get(key) or "") for key in ("expected_short_answer", "multi_hop_path"))
    return Rubric(name, number, dimension, question, criteria, *others)


def _criterion(item: object, place: str) -> Criterion:
    if not isinstance(item, dict) or not IDENTIFIER.fullmatch(str(item.get("criterion_id"))):
        raise WorkspaceError(f"{place} has a criterion without an id; expected criterion_id c1, c2 and so on")
    name, kind = str(item["criterion_id"]), item.get("checklist_type")
    if kind not in set(CriterionKind):
        raise WorkspaceError(f"{place}: {name} is of type {shorten(kind)}; expected {' or '.join(CriterionKind)}")
    entities = item.get("target_entities") or []
    if not isinstance(entities, list) or not all(isinstance(one, str) and one.strip() for one in entities):
        raise WorkspaceError(f"{place}: target_entities of {name} are no texts; expected a list of them, none empty")
    if (kind == CriterionKind.EXACT) != bool(entities):
        raise WorkspaceError(f"{place}: {name} is {kind} with {len(entities)} entities; only exact criteria have some")
    predicate = Predicate.read(item["predicate"], f"{place}: {name}") if "predicate" in item else None
    instruction = str(item.get("instruction_for_judge") or "")
    return Criterion(
        name, CriterionKind(kind), _text(item, "criterion", place), tuple(entities), instruction, predicate
    )
