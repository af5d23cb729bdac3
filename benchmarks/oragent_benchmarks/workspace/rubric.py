"""Rubrics of explain: required names and statements of an answer, and their points."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Self, TypeVar

from pydantic import ConfigDict, Field, StrictInt, TypeAdapter, ValidationError, model_validator
from pydantic.dataclasses import dataclass as checked

from oragent._base.errors import WorkspaceError
from oragent._base.settings import explain_validation_error
from oragent.workspace.citations import SearchableAnswer
from oragent.workspace.reading import parse_json, read_text, shorten, shorten_path

Entry = TypeVar("Entry")
# Points for full coverage.
COVERAGE = 35.0


class CriterionKind(StrEnum):
    """Way in which a criterion is decided."""

    EXACT = "exact_match"
    SEMANTIC = "llm_boolean_judgment"


# Keys of files have other names than fields; other keys are ignored.
ROW = ConfigDict(extra="ignore", populate_by_name=True)
Named = Annotated[str, Field(pattern=r"\S")]


@checked(frozen=True, config=ROW)
class Criterion:
    """Criterion of a checklist."""

    # Id of the criterion: ``c1``, ``c2`` and so on.
    id: Annotated[str, Field(validation_alias="criterion_id", pattern=r"^c[0-9]+$")]
    # Exact criteria are decided by matching, semantic ones by a judge.
    kind: Annotated[CriterionKind, Field(validation_alias="checklist_type")]
    text: Annotated[str, Field(validation_alias="criterion")]
    # Entities that an exact criterion requires; at least one.
    entities: Annotated[tuple[Named, ...], Field(validation_alias="target_entities")] = ()
    # Instruction for judges: when to count a hit.
    instruction: Annotated[str, Field(validation_alias="instruction_for_judge")] = ""

    @model_validator(mode="after")
    def _require_entities(self) -> Self:
        if (self.kind is CriterionKind.EXACT) != bool(self.entities):
            raise ValueError(
                f"{self.id} is {self.kind} with {len(self.entities)} entities; only exact criteria have some"
            )
        return self


@checked(frozen=True, config=ROW)
class Rubric:
    """Label of one explain instance."""

    # Id of the instance: ``OR_explain_007`` in the public release.
    instance_id: str
    number: Annotated[StrictInt, Field(validation_alias="instance_number")]
    # Tested dimension of explanation.
    dimension: str
    question: str
    criteria: Annotated[tuple[Criterion, ...], Field(validation_alias="checklist", min_length=1)]
    # Reference answer for readers; it need not meet every criterion.
    short_answer: Annotated[str, Field(validation_alias="expected_short_answer")] = ""
    # Documents, code, data and records that the answer has to connect.
    path: Annotated[str, Field(validation_alias="multi_hop_path")] = ""

    @model_validator(mode="after")
    def _require_different_ids(self) -> Self:
        ids = [criterion.id for criterion in self.criteria]
        twice = [name for name in ids if ids.count(name) > 1]
        if twice:
            raise ValueError(f"criterion {twice[0]} twice; expected each id once")
        return self

    @property
    def exact(self) -> tuple[Criterion, ...]:
        """Criteria that matching decides."""
        return tuple(criterion for criterion in self.criteria if criterion.kind is CriterionKind.EXACT)

    @property
    def semantic(self) -> tuple[Criterion, ...]:
        """Criteria that a judge decides."""
        return tuple(criterion for criterion in self.criteria if criterion.kind is CriterionKind.SEMANTIC)

    @property
    def decision_count(self) -> int:
        """Number of decisions: one for each entity and each semantic criterion, with equal weights."""
        return sum(len(criterion.entities) for criterion in self.exact) + len(self.semantic)


@checked(frozen=True, config=ROW)
class Answer:
    """An answer that was made elsewhere."""

    instance_id: str
    answer: str


def build_row(schema: type[Entry], row: object, location: str) -> Entry:
    """Check a row of a file by its schema."""
    try:
        return TypeAdapter(schema).validate_python(row)
    except ValidationError as problem:
        text = shorten(explain_validation_error(problem, schema), 300)
        raise WorkspaceError(f"{shorten_path(location)}: {text}") from None


def read_jsonl(path: Path) -> list[tuple[str, dict[str, Any]]]:
    """Read a file with one JSON object per line; blank lines are skipped.

    Each object comes with its position ``FILE:LINE`` for messages.
    """
    rows = []
    for number, text in enumerate(read_text(path).split("\n"), 1):
        if text.strip():
            location = f"{path}:{number}"
            value = parse_json(text, location)
            if not isinstance(value, dict):
                raise WorkspaceError(
                    f"{shorten_path(location)} contains a {type(value).__name__}; expected a JSON object per line"
                )
            rows.append((location, value))
    return rows


def read_rows(path: Path, schema: type[Entry], key: str) -> dict[str, Entry]:
    """Read a file with one JSON object per line by a schema; ``key`` names the field with the id."""
    rows = [(location, build_row(schema, row, location)) for location, row in read_jsonl(path)]
    return collect_once((location, str(getattr(row, key)), row) for location, row in rows)


def collect_once(entries: Iterable[tuple[str, str, Entry]]) -> dict[str, Entry]:
    """Collect the values of a file by id; each entry has its location, id and value."""
    by_id: dict[str, Entry] = {}
    for location, name, value in entries:
        if name in by_id:
            raise WorkspaceError(f"{shorten_path(location)} has {shorten(name)} a second time; expected each once")
        by_id[name] = value
    return by_id


def read_rubrics(path: Path) -> dict[str, Rubric]:
    """Read rubrics in the format of the public release, by instance id."""
    return read_rows(path, Rubric, "instance_id")


def read_answers(path: Path) -> dict[str, str]:
    """Read answers, one JSON object per line: ``{"instance_id", "answer"}``; by instance id."""
    return {name: row.answer for name, row in read_rows(path, Answer, "instance_id").items()}


def exact_decisions(rubric: Rubric, answer: str) -> dict[str, bool]:
    """Decide which entities an answer names, by ``c<criterion>.e<entity>``, counted from 1."""
    prepared = SearchableAnswer(answer)
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
