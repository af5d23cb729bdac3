"""Generated sets: instances of business domains with revisions and questions, in the layout of the public release."""

import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from pprint import pformat
from string import Template
from typing import Any, NamedTuple

import numpy as np

from oragent._base.errors import ModellingError, WorkspaceError
from oragent.modelling.data.indexed import RELATIONS
from oragent.modelling.operations import ModelSession
from oragent.modelling.operations.results import CompareResult, ExtremeResult, OperationResult, PriceResult
from oragent.workspace.layout import Mode
from oragent.workspace.reading import shorten_path
from oragent_benchmarks.workspace.generating.artifacts import (
    FileLayout,
    correct_figures,
    describe_sources,
    draw_layout,
    note_traps,
    write_data,
)
from oragent_benchmarks.workspace.generating.domain import (
    CLASSES,
    STRUCTURAL,
    Business,
    Change,
    CleanData,
    DataCell,
    Query,
    list_businesses,
)
from oragent_benchmarks.workspace.generating.texts import general, write_document
from oragent_benchmarks.workspace.importing import LABELS, import_release, read_release
from oragent_benchmarks.workspace.views import VAULT

DIFFICULTIES = range(1, 6)
# Number of changes of a revision by difficulty.
CHANGES = (1, 1, 2, 2, 3)
# A revision moves the optimum by at least this share, twice the tolerance of grading.
MOVES = 0.02
ATTEMPTS = 50
# Questions by the operation that answers them.
QUESTIONS = {
    "solve": "What is the best objective of the original plan and of the revised one",
    "price": "By how much would the best objective of the {version} plan rise {text}, if you solve it again",
    "total": "In the best {version} plan, {text}",
    "whynot": "Why does the best {version} plan not {text}, and how much would be added to its objective if it did",
    "whatif": 'What would be the best objective of the original plan under this rule alone: "{text}"',
}
# Dimensions of the release by the operation.
DIMENSIONS = {"price": "Dual-Theory Soundness & State Interpretation", "total": "Logical-Physical Alignment"}
MAIN = '''"""Plan of $title."""

from itertools import product

import pulp

from utils import SOURCES, load

data = {name: load(name) for name in SOURCES}
sets = $sets
$cells
problem = pulp.LpProblem("plan", pulp.$sense)
goals = []
$rules
for goal in goals:
    problem.setObjective(goal)
    problem.solve()
+goal|    problem += goal $relation pulp.value(goal) $slack
print("OBJECTIVE_VALUE:", pulp.value(problem.objective))
'''


@dataclass(frozen=True)
class RevisedInstance:
    """A model, a revision with proven optima, and the files of both."""

    business: Business
    data: CleanData
    layout: FileLayout
    changes: tuple[Change, ...]
    # Whether the revised files hold the changed figures. If not, only the document has them.
    is_in_files: bool
    original: ModelSession
    revised: ModelSession
    # Optimum of the original, and after each change.
    optima: tuple[float, ...]

    @property
    def before(self) -> float:
        """Optimum of the original."""
        return self.optima[0]

    @property
    def after(self) -> float:
        """Optimum of the revision."""
        return self.optima[-1]

    @property
    def cells(self) -> list[DataCell]:
        """Changed cells of the data."""
        return [cell for change in self.changes for cell in change.cells]


class ExactAnswer(NamedTuple):
    """A question with its exact answer."""

    # Key of ``QUESTIONS``.
    kind: str
    question: str
    meaning: str
    value: float
    # Line of the operation.
    line: str


def draw_instance(
    rng: np.random.Generator, business: Business, difficulty: int, *, is_structural: bool
) -> RevisedInstance:
    """Draw data and a revision until both optima are proven and differ."""
    for _ in range(ATTEMPTS):
        data = business.draw(rng, difficulty)
        original = business.optimise(data, [])
        if original is None:
            continue
        before = original[1]
        chosen, optima = list[Change](), list[float]()
        # A revision has at most one change of structure, and that one comes first.
        changes = business.list_changes(rng, data)
        changes.sort(key=lambda change: (change.kind in STRUCTURAL) != is_structural)
        for change in changes:
            is_other_kind = (change.kind in STRUCTURAL) != (is_structural and not chosen)
            # With new files alone, a program that nobody changed would pass.
            lacks_rule = len(chosen) == CHANGES[difficulty - 1] - 1 and all(one.cells for one in chosen)
            if is_other_kind or (lacks_rule and change.cells and difficulty > 1):
                continue
            trial = business.optimise(data, [*chosen, change])
            if trial is None or any(_is_close(trial, step, before) for step in (before, *optima)):
                continue
            chosen.append(change)
            optima.append(trial[1])
            if len(chosen) == CHANGES[difficulty - 1]:
                with_cells = [one for one in chosen if one.cells]
                has_rules = len(with_cells) < len(chosen)
                # An unchanged program must not pass on the new files.
                if with_cells and has_rules and _is_close(business.optimise(data, with_cells), trial[1], before):
                    break
                cells = {(cell.parameter, cell.key) for one in with_cells for cell in one.cells}
                layout = draw_layout(rng, business, data, difficulty, cells)
                is_in_files = has_rules and bool(rng.random() < 0.5)
                return RevisedInstance(
                    business, data, layout, tuple(chosen), is_in_files, original[0], trial[0], (before, *optima)
                )
    raise WorkspaceError(f"no instance of {business.name} in {ATTEMPTS} draws; choose another seed or difficulty")


def _is_close(revision: tuple[ModelSession, float] | None, after: float, before: float) -> bool:
    """Whether a revision has an optimum that grading may take for that of another revision."""
    return revision is not None and abs(revision[1] - after) <= MOVES * max(abs(before), abs(after))


def version_files(instance: RevisedInstance, *, revised: bool) -> dict[str, bytes]:
    """Return the documents, data and formulation of one version."""
    business, data, rng = instance.business, instance.data, np.random.default_rng(instance.layout.seed)
    # The goal, which is the last sentence of the requirement, and the introduction keep their places.
    rules = [*business.sentences("requirement"), *business.sentences("own")]
    aim = rules.pop(-2)
    order = rng.permutation(len(rules)).tolist()
    sentences = [*business.sentences("intro"), *(rules[place] for place in order), aim]
    topics = {
        "requirement": sentences,
        "data": note_traps(instance.layout),
        "figures": correct_figures(business, instance.layout, data),
    }
    if revised:
        if instance.is_in_files:
            data = data.with_cells(instance.cells)
        topics["change"] = [change.texts for change in instance.changes]
        if instance.cells:
            topics["change"].append(general("in_files" if instance.is_in_files else "not_in_files"))
        topics["change"].append(general("same"))
    documents = [write_document(rng, business.own["company"], topic, lines) for topic, lines in topics.items() if lines]
    files = {f"docs/{name}": text.encode() for name, text in documents}
    formulation = business.select(business.spec["formulation"], instance.data, ()) + "\n"
    if revised:
        formulation += "".join(f"% {change.texts[0]}\n" for change in instance.changes)
    files["src/formulation.tex"] = formulation.encode()
    return files | {f"data/{name}": content for name, content in write_data(instance.layout, data).items()}


def program_files(instance: RevisedInstance, *, revised: bool) -> dict[str, bytes]:
    """Return the program of a version and its module ``utils``."""
    business, kinds = instance.business, [change.kind for change in instance.changes] if revised else []
    sources, maximises = describe_sources(instance.layout, instance.data), business.spec["sense"] == "max"
    is_in_program = revised and not instance.is_in_files
    main = Template(business.select(MAIN, instance.data, kinds)).substitute(
        title=business.own["company"],
        sets=pformat({name: list(labels) for name, labels in instance.data.sets.items()}, width=110, compact=True),
        cells="".join(f"{cell.program}\n" for cell in instance.cells if is_in_program),
        sense="LpMaximize" if maximises else "LpMinimize",
        rules=business.select(business.spec["rules"], instance.data, kinds),
        relation=">=" if maximises else "<=",
        slack="- 1e-6" if maximises else "+ 1e-6",
    )
    utils = (Path(__file__).parent / "utils.txt").read_text(encoding="utf-8")
    text = Template(utils).safe_substitute(sources=pformat(sources, width=110, sort_dicts=False))
    return {"main.py": main.encode(), "utils.py": text.encode()}


def write_records(session: ModelSession, value: float) -> dict[str, bytes]:
    """Return the log and the record of a solve."""
    study = session.study
    model, point = session.model, study.last_point(study.present)
    assert point is not None
    activity = model.matrix @ point
    record = {
        "solver": "highs",
        "status": "Optimal",
        "objective_value": value,
        "variables": {name: {"value": round(float(at), 6)} for name, at in zip(model.column_names, point, strict=True)},
        "constraints": {
            name: {"sense": str(RELATIONS[int(code)]), "slack": round(float(rhs - at), 6)}
            for name, code, rhs, at in zip(model.row_names, model.relations, model.rhs_values, activity, strict=True)
        },
    }
    log = {"returncode": 0, "objective_value": value, "stdout": f"OBJECTIVE_VALUE: {value}\n", "stderr": ""}
    return {
        "solver_records/plan.solution.json": (json.dumps(record, indent=0) + "\n").encode(),
        "logs/execution_record.json": (json.dumps(log) + "\n").encode(),
    }


def _ask(session: ModelSession, query: Query) -> float | None:
    """Return the answer of an operation, or None if it is 0, not proven, or not the same in all optimal plans."""
    value: float | None = None
    try:
        if query.kind == "price":
            price = session.ask(f"price {query.subject}")
            figure = price.members[0].price_up if isinstance(price, PriceResult) else None
            value = figure.value if figure is not None and figure.is_exact else None
        elif query.kind == "whynot":
            value = _effect(session.ask(f"whynot {query.subject}"))
        else:
            ends = [session.ask(f"{word} {query.subject}") for word in ("most", "least")]
            values = [end.figure.value or 0.0 for end in ends if isinstance(end, ExtremeResult)]
            value = values[0] if abs(values[0] - values[1]) < 1e-6 else None
    except ModellingError:
        return None
    return None if value is None or f"{abs(value):.2f}" == "0.00" else value


def _effect(result: OperationResult) -> float | None:
    """Return the proven difference of two optima, or None."""
    if not isinstance(result, CompareResult) or result.status_after != "optimal":
        return None
    return result.objective.difference.value if result.objective.difference.is_exact else None


def list_answers(instance: RevisedInstance, rng: np.random.Generator, number: int) -> Iterator[ExactAnswer]:
    """Yield a question for each kind that has an answer: a price or total, a refused alternative, a rule alone."""
    version, session = ("original", instance.original) if number % 2 else ("revised", instance.revised)
    business, data = instance.business, instance.data
    queries = business.list_queries(data)
    start = number % len(queries)
    turned = queries[start:] + queries[:start]
    for group in ({"price", "total"}, {"whynot"}):
        for query in turned:
            value = _ask(session, query) if query.kind in group else None
            if value is not None:
                question = QUESTIONS[query.kind].format(version=version, text=query.text)
                yield ExactAnswer(query.kind, question, query.text, value, f"{query.kind} {query.subject}")
                break
    for change in business.list_changes(rng, data):
        trial = None if change.cells or change in instance.changes else business.optimise(data, [change])
        if trial is not None and abs(trial[1] - instance.before) > 0.01:
            question = QUESTIONS["whatif"].format(text=change.texts[0])
            yield ExactAnswer("whatif", question, "objective of the trial", trial[1], f"whatif {change.kind}")
            break


def write_question(instance: RevisedInstance, rng: np.random.Generator, number: int) -> dict[str, Any]:
    """Return the rubric of a question about both versions. All answers are results of operations."""
    answers = [
        ExactAnswer("solve", QUESTIONS["solve"], "original objective", instance.before, "solve"),
        ExactAnswer("solve", "", "revised objective", instance.after, ""),
        *list_answers(instance, rng, number),
    ]
    question = "? ".join(one.question for one in answers if one.question) + "? Give all figures with two decimals."
    checklist = [
        {
            "criterion_id": f"c{place}",
            "checklist_type": "exact_match",
            "criterion": f"States the figure: {one.meaning}",
            "target_entities": [f"{one.value:.2f}"],
        }
        for place, one in enumerate(answers, 1)
    ]
    return {
        "instance_id": f"OR_explain_{number:03d}",
        "instance_number": number,
        "dimension": next((DIMENSIONS[one.kind] for one in answers if one.kind in DIMENSIONS), "Comparative Dynamics"),
        "question": question,
        "checklist": checklist,
        "expected_short_answer": "; ".join(f"{one.meaning}: {one.value:.2f}" for one in answers),
        "multi_hop_path": "docs -> src/main.py -> " + " -> ".join(one.line for one in answers if one.line),
    }


def describe_instance(instance: RevisedInstance, number: int) -> dict[str, Any]:
    """Return the changes of a revision and their exact effects, for the vault."""
    rows, columns = instance.original.model.shape
    return {
        "instance_number": number,
        "domain": instance.business.class_name,
        "business": instance.business.name,
        "rows": rows,
        "variables": columns,
        "formats": sorted({table.form for table in instance.layout.tables}),
        "corrected_figures": len(instance.layout.corrections),
        "changes": [
            {
                "kind": change.kind,
                "is_structural": change.kind in STRUCTURAL,
                "text": change.texts[0],
                "cells": [[cell.parameter, list(cell.key), cell.value] for cell in change.cells],
            }
            for change in instance.changes
        ],
        # Names and figures of the changes.
        "words": instance.data.words,
        "figures_in_files": instance.is_in_files,
        # Of the original, and after each change. All are proven.
        "optima": list(instance.optima),
    }


def instance_files(instance: RevisedInstance, rng: np.random.Generator, number: int) -> dict[str, dict[str, bytes]]:
    """Return the files of the workspaces of all modes."""
    first, second = (version_files(instance, revised=revised) for revised in (False, True))
    programs = [program_files(instance, revised=revised) for revised in (False, True)]
    records = [write_records(instance.original, instance.before), write_records(instance.revised, instance.after)]
    name = {"instance_id": f"{instance.business.name}_{number:03d}", "domain": instance.business.name}
    given = {path: content for path, content in first.items() if not path.startswith("src/")}
    original = _below("original", first) | _below("original/src", programs[0])
    revised = {path: content for path, content in second.items() if not path.startswith("src/")}
    rubric = write_question(instance, rng, number)
    task = {
        "explain_task": {"dimension": rubric["dimension"], "domain": name["domain"], "question": rubric["question"]}
    }
    return {
        Mode.BUILD: given | {"metadata.json": _as_json(name)},
        Mode.REVISE: original | _below("revised", revised) | {"metadata.json": _as_json(name)},
        Mode.EXPLAIN: original
        | _below("original", records[0])
        | _below("revised", second | records[1])
        | _below("revised/src", programs[1])
        | {"metadata.json": _as_json(name | task)},
        "rubric": {"": _as_json(rubric)},
    }


def _below(folder: str, files: Mapping[str, bytes]) -> dict[str, bytes]:
    return {f"{folder}/{path}": content for path, content in files.items()}


def _as_json(content: object) -> bytes:
    return (json.dumps(content) + "\n").encode()


def write_set(folder: Path, seed: int, count: int, difficulty: int) -> Iterator[str]:
    """Write a set into a new or empty folder, and yield a line for each instance.

    The set is the same for the same arguments.

    Raises:
        WorkspaceError: The folder is not empty, or the count or the difficulty is out of range.
    """
    if difficulty not in DIFFICULTIES:
        raise WorkspaceError(f"no difficulty {difficulty}; expected 1 to {len(DIFFICULTIES)}")
    if not 1 <= count <= 999:
        raise WorkspaceError(f"cannot generate {count} instances; expected 1 to 999")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise WorkspaceError(f"{shorten_path(folder)} is not an empty folder; name a new one")
    release, rubrics, notes = dict[str, bytes](), b"", b""
    labels: dict[Mode, list[str]] = {Mode.BUILD: [], Mode.REVISE: []}
    for number in range(1, count + 1):
        rng = np.random.default_rng([seed, difficulty, number])
        # Every second instance of a class has a change of structure.
        turn, place = divmod(number - 1, len(CLASSES))
        business = list_businesses()[(number - 1) % len(list_businesses())]
        instance = draw_instance(rng, business, difficulty, is_structural=(turn + place) % 2 == 0)
        files = instance_files(instance, rng, number)
        rubrics += files.pop("rubric")[""]
        for mode, of_mode in files.items():
            release |= _below(f"Workspace_OR/{mode}_workspaces/instance_{number}", of_mode)
        for mode, value in ((Mode.BUILD, instance.before), (Mode.REVISE, instance.after)):
            name = f"or_space_{number:03d}_{mode}"
            labels[mode].append(f"{name},{mode},{number},{instance.business.name}_{number:03d},{value!r},0.01")
        notes += _as_json(describe_instance(instance, number))
        columns = instance.original.model.shape[1]
        kinds = ", ".join(change.kind for change in instance.changes)
        moved = f"{instance.before:.2f} to {instance.after:.2f}"
        yield f"{number}: {instance.business.name}, {columns} variables, {moved} ({kinds})"
    head = "workspace_id,task_type,instance_number,instance_id,reference_objective,relative_tolerance"
    for mode, lines in labels.items():
        release[f"evaluation/{LABELS[mode]}"] = "\n".join([head, *lines, ""]).encode()
    release[f"evaluation/{LABELS[Mode.EXPLAIN]}"] = rubrics
    scratch = Path(tempfile.mkdtemp(prefix="oragent-generate-"))
    try:
        for path, content in release.items():
            (scratch / path).parent.mkdir(parents=True, exist_ok=True)
            (scratch / path).write_bytes(content)
        if folder.exists():
            folder.rmdir()
        import_release(read_release(scratch), folder)
        (folder / VAULT / "changes.jsonl").write_bytes(notes)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
