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
from oragent.modelling.operations import ModelSession, SolveLimits
from oragent.modelling.operations.results import CompareResult, ExtremeResult, OperationResult, PriceResult, SolveResult
from oragent.workspace.layout import Mode
from oragent.workspace.reading import shorten_path
from oragent_benchmarks.workspace.generating import distribution, energy, production, rostering
from oragent_benchmarks.workspace.generating.artifacts import (
    FileLayout,
    describe_sources,
    draw_layout,
    write_data,
    write_mail,
    write_notes,
)
from oragent_benchmarks.workspace.generating.domain import Change, CleanData, DataCell, Domain, Query
from oragent_benchmarks.workspace.importing import LABELS, import_release, read_release
from oragent_benchmarks.workspace.views import VAULT

DOMAINS = (
    Domain(
        "distribution",
        "Hexa Frais, wholesale of chilled goods",
        ((4, 12), (5, 18), (7, 34), (8, 64), (10, 100)),
        distribution.PARAMETERS,
        distribution.draw,
        distribution.add_rules,
        distribution.draw_words,
    ),
    Domain(
        "production",
        "Birk & Sons, garden and home furniture",
        ((4, 5), (5, 7), (6, 9), (7, 11), (9, 13)),
        production.PARAMETERS,
        production.draw,
        production.add_rules,
        production.draw_words,
    ),
    Domain(
        "rostering",
        "Lindenhof Care Group",
        ((2,), (4,), (8,), (16,), (36,)),
        rostering.PARAMETERS,
        rostering.draw,
        rostering.add_rules,
        rostering.draw_words,
    ),
    Domain(
        "energy",
        "Stadtwerk Auen, district heating",
        ((3, 8), (3, 12), (4, 18), (4, 36), (6, 48)),
        energy.PARAMETERS,
        energy.draw,
        energy.add_rules,
        energy.draw_words,
    ),
)
DIFFICULTIES = range(1, 6)
# Number of changes of a revision by difficulty.
CHANGES = (1, 1, 2, 2, 3)
# A revision moves the optimum by at least this share, twice the tolerance of grading.
MOVES = 0.02
# Limits without seconds, so that every machine gives the same set.
LIMITS = SolveLimits(nodes=5000)
ATTEMPTS = 50
ASIDES = (
    "I write this between two meetings, so bear with me.",
    "Some of it will sound odd to you; ask anyone in planning, it has always been like this.",
    "Tom wanted a nicer text, but Tom is on leave.",
    "The auditors want this on paper, so here it is.",
)
# Questions by the operation that answers them.
QUESTIONS = {
    "solve": "What is the lowest cost of the original plan and of the revised one",
    "price": "By how much would the lowest cost of the {version} plan rise {text}, if you solve it again",
    "total": "In the best {version} plan, {text}",
    "whynot": "Why does the best {version} plan not {text}, and by how much would the lowest cost rise if it did",
    "whatif": 'What would be the lowest cost of the original plan under this rule alone: "{text}"',
}
# Dimensions of the release by the operation.
DIMENSIONS = {"price": "Dual-Theory Soundness & State Interpretation", "total": "Logical-Physical Alignment"}
MAIN = '''"""Plan of $title."""

from itertools import product

import pulp

from utils import SOURCES, load, pick

$rules

data = {name: load(name) for name in SOURCES}
sets = $sets
$cells
problem = pulp.LpProblem("plan", pulp.LpMinimize)
variables, cost = add_rules(problem, sets, data)
$names = variables.values()
$changes
problem += pulp.lpSum(cost)
problem.solve()
print("OBJECTIVE_VALUE:", pulp.value(problem.objective))
'''


@dataclass(frozen=True)
class RevisedInstance:
    """A model, a revision with proven optima, and the files of both."""

    domain: Domain
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


def optimum(session: ModelSession) -> float | None:
    """Return the optimum, or None if there is none, or no proof within the limits."""
    result = session.ask("solve")
    if isinstance(result, SolveResult) and result.status == "optimal" and result.objective.is_exact:
        return result.objective.value
    return None


def draw_instance(rng: np.random.Generator, domain: Domain, difficulty: int) -> RevisedInstance:
    """Draw data and a revision until both optima are proven and differ."""
    for _ in range(ATTEMPTS):
        data = domain.draw(rng, domain.sizes[difficulty - 1])
        original = ModelSession(domain.build(data), LIMITS)
        before = optimum(original)
        if before is None:
            continue
        chosen, optima = list[Change](), list[float]()
        for change in domain.list_changes(rng, data):
            # With new files alone, a program that nobody changed would pass.
            needs_rule = len(chosen) == CHANGES[difficulty - 1] - 1 and not any(one.lines for one in chosen)
            taken = frozenset().union(*(one.targets for one in chosen))
            if (needs_rule and not change.lines and difficulty > 1) or change.targets & taken:
                continue
            trial = _revise(domain, data, [*chosen, change])
            steps = [before, *optima]
            if trial is None or any(_is_close(trial, step, before) for step in steps):
                continue
            chosen.append(change)
            optima.append(trial[1])
            if len(chosen) == CHANGES[difficulty - 1]:
                cells = [cell for one in chosen for cell in one.cells]
                has_rules = any(one.lines for one in chosen)
                if cells and has_rules:
                    # An unchanged program must not pass on the new files.
                    unchanged = _revise(domain, data, [one for one in chosen if one.cells])
                    if _is_close(unchanged, trial[1], before):
                        break
                layout = draw_layout(rng, domain, data, difficulty, {(cell.parameter, cell.key) for cell in cells})
                is_in_files = has_rules and bool(rng.random() < 0.5)
                return RevisedInstance(
                    domain, data, layout, tuple(chosen), is_in_files, original, trial[0], (before, *optima)
                )
    raise WorkspaceError(f"no instance of {domain.name} in {ATTEMPTS} draws; choose another seed or difficulty")


def _revise(domain: Domain, data: CleanData, changes: list[Change]) -> tuple[ModelSession, float] | None:
    """Return the revised model with its optimum; None if it has none."""
    session = ModelSession(domain.build(data.with_cells(cell for change in changes for cell in change.cells)), LIMITS)
    session.run(line for change in changes for line in change.lines)
    try:
        after = optimum(session)
    except ModellingError:
        return None
    return None if after is None else (session, after)


def _is_close(revision: tuple[ModelSession, float] | None, after: float, before: float) -> bool:
    """Whether a revision has an optimum that grading may take for that of another revision."""
    return revision is not None and abs(revision[1] - after) <= MOVES * max(abs(before), abs(after))


def version_files(instance: RevisedInstance, *, revised: bool) -> dict[str, bytes]:
    """Return the documents, data and formulation of one version."""
    domain, data = instance.domain, instance.data
    if revised and instance.is_in_files:
        data = data.with_cells(instance.cells)
    aside = ASIDES[instance.layout.seed % len(ASIDES)]
    requirement = f"# {domain.company}: what the plan has to do\n\n{aside}\n\n{domain.sections['requirement']}"
    texts = {
        "docs/requirement.md": requirement,
        "docs/data_notes.md": write_notes(instance.layout),
        "docs/figures.eml": write_mail(domain, instance.layout, instance.data.values),
        "src/formulation.tex": domain.sections["formulation"],
    }
    if revised:
        texts["docs/change_request.md"] = _write_request(instance)
        texts["src/formulation.tex"] += "".join(f"% {line}\n" for one in instance.changes for line in one.lines)
    files = {path: text.encode() for path, text in texts.items() if text}
    return files | {f"data/{name}": content for name, content in write_data(instance.layout, data).items()}


def _write_request(instance: RevisedInstance) -> str:
    lines = [f"# {instance.domain.company}: changes from next month on", ""]
    lines.append("The requirement stands. On top of it, the following is agreed with the management:")
    lines += ["", *(f"- {change.text}" for change in instance.changes), ""]
    if instance.cells and instance.is_in_files:
        lines.append("New figures are in the files already. They replace what e-mails said about the same figure.")
    elif instance.cells:
        lines.append(
            "The files still show the old figures, and nobody will update them before the month ends. Use those above."
        )
    lines.append("All else stays as it is.")
    return "\n".join(lines) + "\n"


def program_files(instance: RevisedInstance, *, revised: bool) -> dict[str, bytes]:
    """Return the program of a version and its module ``utils``."""
    sources, changes, cells = describe_sources(instance.layout, instance.data), "", ""
    if revised:
        changes = "".join(f"# {one.text}\n{one.program}\n" for one in instance.changes if one.program)
        cells = "".join(f"{cell.program}\n" for cell in instance.cells if not instance.is_in_files)
    first = instance.original.model.variables
    main = Template(MAIN).substitute(
        title=instance.domain.company,
        rules=instance.domain.program.replace(": Any, sets: Sets, data: Figures) -> Any", ", sets, data)"),
        sets=pformat({name: list(labels) for name, labels in instance.data.sets.items()}, width=110, compact=True),
        names=", ".join(family.name for family in first),
        cells=cells,
        changes=changes,
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
    queries = instance.domain.list_queries(rng, instance.data)
    start = number % len(queries)
    turned = queries[start:] + queries[:start]
    for group in ({"price", "total"}, {"whynot"}):
        for query in turned:
            value = _ask(session, query) if query.kind in group else None
            if value is not None:
                question = QUESTIONS[query.kind].format(version=version, text=query.text)
                yield ExactAnswer(query.kind, question, query.text, value, f"{query.kind} {query.subject}")
                break
    used = frozenset().union(*(one.targets for one in instance.changes))
    for change in instance.domain.list_changes(rng, instance.data):
        if not change.lines or change.targets & used:
            continue
        trial = instance.original.ask("whatif " + "; ".join(change.lines))
        if abs(_effect(trial) or 0.0) > 0.01:
            assert isinstance(trial, CompareResult)
            question = QUESTIONS["whatif"].format(text=change.text)
            yield ExactAnswer(
                "whatif", question, "cost of the trial in EUR", trial.objective.after.value or 0.0, trial.line
            )
            break


def write_question(instance: RevisedInstance, rng: np.random.Generator, number: int) -> dict[str, Any]:
    """Return the rubric of a question about both versions. All answers are results of operations."""
    answers = [
        ExactAnswer("solve", QUESTIONS["solve"], "original cost in EUR", instance.before, "solve"),
        ExactAnswer("solve", "", "revised cost in EUR", instance.after, ""),
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
        "domain": instance.domain.name,
        "rows": rows,
        "variables": columns,
        "formats": sorted({table.form for table in instance.layout.tables}),
        "corrected_figures": len(instance.layout.corrections),
        "changes": [
            {
                "kind": change.kind,
                "text": change.text,
                "operations": list(change.lines),
                "cells": [[cell.parameter, list(cell.key), cell.value] for cell in change.cells],
            }
            for change in instance.changes
        ],
        "figures_in_files": instance.is_in_files,
        # Of the original, and after each change. All are proven.
        "optima": list(instance.optima),
    }


def instance_files(instance: RevisedInstance, rng: np.random.Generator, number: int) -> dict[str, dict[str, bytes]]:
    """Return the files of the workspaces of all modes."""
    first, second = (version_files(instance, revised=revised) for revised in (False, True))
    programs = [program_files(instance, revised=revised) for revised in (False, True)]
    records = [write_records(instance.original, instance.before), write_records(instance.revised, instance.after)]
    name = {"instance_id": f"{instance.domain.name}_{number:03d}", "domain": instance.domain.name}
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
        instance = draw_instance(rng, DOMAINS[(number - 1) % len(DOMAINS)], difficulty)
        files = instance_files(instance, rng, number)
        rubrics += files.pop("rubric")[""]
        for mode, of_mode in files.items():
            release |= _below(f"Workspace_OR/{mode}_workspaces/instance_{number}", of_mode)
        for mode, value in ((Mode.BUILD, instance.before), (Mode.REVISE, instance.after)):
            name = f"or_space_{number:03d}_{mode}"
            labels[mode].append(f"{name},{mode},{number},{instance.domain.name}_{number:03d},{value!r},0.01")
        notes += _as_json(describe_instance(instance, number))
        columns = instance.original.model.shape[1]
        kinds = ", ".join(change.kind for change in instance.changes)
        moved = f"{instance.before:.2f} to {instance.after:.2f}"
        yield f"{number}: {instance.domain.name}, {columns} variables, {moved} ({kinds})"
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
