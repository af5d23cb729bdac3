"""Make workspaces of our own: a domain's tables and documents, a revision that moves the optimum, questions, labels."""

import json
import math
import shutil
import tempfile
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pulp

from oragent._base import files
from oragent._base.errors import WorkspaceError
from oragent.evals.workspace.domains.businesses import DOMAINS
from oragent.evals.workspace.domains.domain import (
    REQUIREMENT,
    Artifacts,
    Diff,
    Domain,
    DomainRevision,
    NewFigure,
    Plan,
    RevisionOperation,
)
from oragent.evals.workspace.grading import HEADER, TOLERANCE, Reference
from oragent.evals.workspace.importing import vault_file
from oragent.evals.workspace.instances import GeneratedInstance, NoiseStep, instance_json, plant_noise
from oragent.evals.workspace.rubric import read_rubrics
from oragent.evals.workspace.views import VAULT, RevisionView, copy_view, labels_of, write_manifest
from oragent.milp.as_pulp import to_pulp
from oragent.milp.mathematics import to_latex
from oragent.milp.model import Milp
from oragent.sandbox.sandbox import Sandbox
from oragent.workspace import tables
from oragent.workspace.comparing import changed_rules, rule_of
from oragent.workspace.layout import Mode, open_workspace
from oragent.workspace.reading import shorten_path
from oragent.workspace.records import write_records
from oragent.workspace.runner import ProgramRun, ProgramRunner
from oragent.workspace.tables import CsvTable

DIMENSIONS = ("Logical-Physical Alignment", "Comparative Dynamics", "Dual-Theory Soundness & State Interpretation")
TRACE = (
    "Trace the revision from the business document to the model and to the data: which rules of the revised model are "
    "new or changed, which figures of the data are new, in which file do they stand, and what are their values?"
)
COMPARE = (
    "Compare both versions: by how much does the optimal objective move and from where to where, which rules, kinds of "
    "decisions and figures of the data are new or changed?"
)
RELAX = (
    "What does the linear relaxation of the revised model come to beside the plan itself, and may the duals in its "
    "record be read as prices of the plan that is carried out?"
)
MARGIN = (
    "In the revised plan, which limit is worth the most at the margin, by how much would the objective change for one "
    "unit more of it, and which limits leave room?"
)
Entities = list[tuple[str, list[str]]]
Sentences = list[tuple[str, list[str], bool]]


PROGRAM = "src/optimization_model.py"
# least relative change of the optimum by a revision; agreement of two solves
MOVED, SAME = 0.01, 1e-6
# instances that are drawn until one revision of it is accepted
ATTEMPTS = 8


def draft_rubric(instance: GeneratedInstance, after: ProgramRun) -> dict[str, Any]:
    """Return the question of an instance with its checklist, as the release writes rubrics."""
    kind = (instance.number - 1) % 3
    text, entities, sentences, answer = (_ask_trace, _ask_comparison, _ask_interpretation)[kind](instance, after)
    checklist: list[dict[str, Any]] = []
    for what, names in entities:
        checklist.append(
            {
                "criterion_id": f"c{len(checklist) + 1}",
                "checklist_type": "exact_match",
                "criterion": what,
                "target_entities": list(dict.fromkeys(names)),
            }
        )
    for what, together, denied in sentences:
        checklist.append(
            {
                "criterion_id": f"c{len(checklist) + 1}",
                "checklist_type": "llm_boolean_judgment",
                "criterion": what,
                "instruction_for_judge": "A hit where one sentence says it, and none the contrary.",
                "predicate": {"together": together, "denied": denied},
            }
        )
    return {
        "instance_id": f"made_explain_{instance.number:03d}",
        "workspace_id": f"made_{instance.number:03d}_explain",
        "instance_number": instance.number,
        "dimension": DIMENSIONS[kind],
        "question": text,
        "expected_short_answer": answer,
        "multi_hop_path": f"{REQUIREMENT} -> program -> data -> records",
        "checklist": checklist,
    }


def format_number(value: float) -> str:
    """Return a number as checklists have it."""
    return f"{value:.10g}"


def _ask_trace(instance: GeneratedInstance, after: ProgramRun) -> tuple[str, Entities, Sentences, str]:
    names = [figure.name for figure in instance.figures]
    rules = list(changed_rules(instance.milp, instance.revised))
    entities: Entities = [("Names the new figures", names), ("Names their file", [tables.PARAMETERS_FILE])]
    if rules:
        entities += [("Names the rules", rules[:4])]
    else:
        entities += []
    values = [(figure.name, format_number(figure.value)) for figure in instance.figures]
    sentences: Sentences = [(f"Gives the value of {name}", [name, value], False) for name, value in values]
    return TRACE, entities, sentences, "; ".join(f"{name} = {value}" for name, value in values)


def _ask_comparison(instance: GeneratedInstance, after: ProgramRun) -> tuple[str, Entities, Sentences, str]:
    old, new, change = map(
        format_number, (instance.optimum, instance.revised_optimum, instance.revised_optimum - instance.optimum)
    )
    kinds = {rule_of(named.name) for named in instance.revised.variables} - {
        rule_of(named.name) for named in instance.milp.variables
    }
    rules = list(changed_rules(instance.milp, instance.revised))
    entities: Entities = [
        ("Gives both optima", [old, new]),
        ("Names the figures", [named.name for named in instance.figures]),
    ]
    if rules:
        entities += [("Names the rules that are new or changed", rules[:4])]
    else:
        entities += []
    if kinds:
        entities += [("Names the new decisions", sorted(kinds)[:3])]
    else:
        entities += []
    return COMPARE, entities, [("Says by how much", [old, new, change], False)], f"It moves from {old} to {new}."


def _ask_interpretation(instance: GeneratedInstance, after: ProgramRun) -> tuple[str, Entities, Sentences, str]:
    last = after.last_model
    assert last is not None
    assert last.milp is not None
    assert last.solution is not None
    if last.relaxed is not None and last.relaxed.objective is not None:
        value, whole = format_number(last.relaxed.objective), format_number(instance.revised_optimum)
        sentences: Sentences = [
            ("Holds both values against each other", [value, whole], False),
            ("Denies that duals of the relaxation are prices of the plan", ["relaxation", "duals"], True),
        ]
        answer = f"The relaxation comes to {value}, the plan to {whole}; its duals are not the plan's prices."
        return RELAX, [("Gives both values", [value, whole])], sentences, answer
    duals = last.solution.duals
    row = max((item.name for item in last.milp.rows), key=lambda name: (abs(round(duals[name], 9)), name))
    slack = [item.name for item in last.milp.rows if last.solution.slacks[item.name] > 1e-6][:1]
    entities: Entities = [("Names the dearest limit and its dual", [row, format_number(duals[row])])]
    if slack:
        entities += [("Names one that leaves room", slack)]
    else:
        entities += []
    worth: Sentences = [("Says what one unit is worth", [row, format_number(duals[row])], False)]
    return MARGIN, entities, worth, f"{row} binds; one unit more changes the objective by {format_number(duals[row])}."


@dataclass(frozen=True)
class GenerateRequest:
    """Settings of a set."""

    # names of domains; taken in turn
    domains: tuple[str, ...]
    # number of instances of each mode
    count: int
    # seed; who knows it can make the labels, so that a private one measures better
    seed: int
    # most kinds of noise of an instance
    noise: int = 3


@dataclass(frozen=True)
class _Draft:
    """An instance with its artifacts: without noise, with noise, and after the revision; and both runs."""

    instance: GeneratedInstance
    clean: Artifacts
    noisy: Artifacts
    revised: Artifacts
    runs: tuple[ProgramRun, ProgramRun]


def generate_set(
    request: GenerateRequest, out: Path, report: Callable[[str], None] = lambda text: None
) -> tuple[GeneratedInstance, ...]:
    """Make a set in a new folder."""
    unknown = [name for name in request.domains if name not in DOMAINS]
    if unknown or not request.domains or request.count < 1 or request.seed < 0:
        if unknown:
            what = f"domain {unknown[0]!r}"
        else:
            what = f"{request.count} instances with seed {request.seed}"
        raise WorkspaceError(f"{what}: expected a count from 1 on, a seed from 0 on, and some of {', '.join(DOMAINS)}")
    if out.exists():
        raise WorkspaceError(f"{shorten_path(out)} is there already; expected a new folder")
    with Sandbox(1) as box, tempfile.TemporaryDirectory(prefix="oragent-generating-") as scratch:
        runner, drafts = ProgramRunner(box), []
        for number in range(1, request.count + 1):
            drafts.append(_draw_instance(request, number, runner, Path(scratch) / str(number)))
            report(f"instance {number}: {drafts[-1].instance.domain}, {drafts[-1].instance.revision}")
    try:
        out.mkdir(parents=True)
        _write_set(drafts, request, out)
    except OSError as error:
        raise WorkspaceError(f"cannot make {shorten_path(out)}: {error.strerror}; expected a new folder") from None
    except BaseException:
        shutil.rmtree(out, ignore_errors=True)
        raise
    return tuple(draft.instance for draft in drafts)


def _draw_instance(request: GenerateRequest, number: int, runner: ProgramRunner, scratch: Path) -> _Draft:
    """Draw instances until a revision of one is accepted; revisions are tried in another order for each number."""
    domain = DOMAINS[request.domains[(number - 1) % len(request.domains)]]
    first = (number - 1) // len(request.domains)
    for attempt in range(ATTEMPTS):
        rng = np.random.default_rng([request.seed, number, attempt])
        clean = domain.draw(rng)
        noisy, steps = plant_noise(clean, rng, request.noise)
        write_artifacts(scratch / f"{attempt}-original", clean)
        before_run = runner.run(scratch / f"{attempt}-original", PROGRAM, {PROGRAM: domain.program()})
        if not is_proven(before_run):
            continue
        assert before_run.last_model is not None
        assert before_run.last_model.solution is not None
        plan = Plan(before_run.last_model.solution.values, clean)
        for offset in range(len(domain.revisions)):
            revision = domain.revisions[(first + offset) % len(domain.revisions)]
            figures = revision.figures(plan)
            revised = _revise_artifacts(clean, revision, figures)
            after = _run_accepted(domain, revision, figures, before_run, runner, scratch / f"{attempt}-{offset}", clean)
            if after is not None:
                instance = _describe_instance(number, domain, revision, figures, (before_run, after), clean, steps)
                return _Draft(instance, clean, noisy, revised, (before_run, after))
    raise WorkspaceError(f"instance {number}: {domain.name} gave none in {ATTEMPTS} attempts; take another seed")


def _run_accepted(
    domain: Domain,
    revision: DomainRevision,
    figures: Sequence[NewFigure],
    before_run: ProgramRun,
    runner: ProgramRunner,
    folder: Path,
    clean: Artifacts,
) -> ProgramRun | None:
    """Run a revised program; None unless its optimum moves, is proven, and comes back at the neutral values."""
    old, source = before_run.printed_objective.value, {PROGRAM: domain.program(revision)}
    assert old is not None
    write_artifacts(folder, _revise_artifacts(clean, revision, figures))
    after = runner.run(folder, PROGRAM, source)
    new = after.printed_objective.value
    if new is None or not is_proven(after) or not has_moved(new, old) or new * old < 0:
        return None
    neutral = [replace(figure, value=figure.neutral) for figure in figures]
    write_artifacts(folder, _revise_artifacts(clean, revision, neutral))
    back = runner.run(folder, PROGRAM, source).printed_objective.value
    if back is not None and math.isclose(back, old, rel_tol=SAME):
        return after
    return None


def has_moved(value: float, former: float) -> bool:
    """Return whether an optimum is another one, by more than an attempt may be wrong."""
    return abs(value - former) > MOVED * max(1.0, abs(former))


def is_proven(ran: ProgramRun) -> bool:
    """Return whether a run has an optimum on which HiGHS and, where it is installed, CBC agree."""
    last, value = ran.last_model, ran.printed_objective.value
    if last is None or last.milp is None or value is None or ran.attempt.status != "optimal":
        return False
    problem = to_pulp(last.milp).problem
    with warnings.catch_warnings():
        # PuLP 4 has it under another name
        warnings.simplefilter("ignore", DeprecationWarning)
        solver = (getattr(pulp, "PULP_CBC_CMD", None) or pulp.COIN_CMD)(msg=0, timeLimit=60, gapRel=0)
        try:
            if not solver.available():
                return True
            problem.solve(solver)
        except (pulp.PulpSolverError, OSError):
            return True
    if problem.status == pulp.LpStatusOptimal:
        second = pulp.value(problem.objective)
    else:
        second = math.nan
    return math.isclose(second, value, rel_tol=SAME, abs_tol=1e-3)


def _revise_artifacts(artifacts: Artifacts, revision: DomainRevision, figures: Sequence[NewFigure]) -> Artifacts:
    """Return the artifacts with the brief of a revision and its figures."""
    table = artifacts.tables[tables.PARAMETERS_FILE]
    rows = tuple(figure.row for figure in figures)
    names, file = ", ".join(f"`{figure.name}`" for figure in figures), tables.PARAMETERS_FILE
    brief = f"\n## What changes\n\n{revision.brief}\n\nThe values of {names} are in `{file}`; all else stays.\n"
    revised = artifacts.with_table(tables.PARAMETERS_FILE, CsvTable(table.header, (*table.rows, *rows)))
    return revised.with_document(REQUIREMENT, artifacts.documents[REQUIREMENT] + brief)


def _describe_instance(
    number: int,
    domain: Domain,
    revision: DomainRevision,
    figures: tuple[NewFigure, ...],
    runs: tuple[ProgramRun, ProgramRun],
    clean: Artifacts,
    steps: tuple[NoiseStep, ...],
) -> GeneratedInstance:
    old, new = (_solved_milp(ran) for ran in runs)
    optimum, moved = (float(ran.printed_objective.value or 0.0) for ran in runs)
    rules = changed_rules(old, new)
    operations = tuple(f"{'+' if kind == 'new' else 'modify_'}constraint {rule}" for rule, kind in rules.items())
    if dict(old.objective.terms) != dict(new.objective.terms):
        operations += ("modify_objective",)
    else:
        operations += ()
    kinds = {rule_of(entry.name) for entry in new.variables} - {rule_of(entry.name) for entry in old.variables}
    depth = Diff(
        {
            RevisionOperation.ADD_VARIABLE: len(kinds),
            RevisionOperation.MODIFY_DATA: len(figures),
            RevisionOperation.ADD_CONSTRAINT: sum(entry.startswith("+") for entry in operations),
            RevisionOperation.MODIFY_CONSTRAINT: sum(entry.startswith("modify_c") for entry in operations),
            RevisionOperation.MODIFY_OBJECTIVE: int("modify_objective" in operations),
        }
    ).depth.name
    return GeneratedInstance(
        number=number,
        domain=domain.name,
        revision=revision.name,
        depth=depth,
        title=f"{domain.title}, {number}",
        programs=(domain.program(), domain.program(revision)),
        milp=old,
        revised=new,
        optimum=optimum,
        revised_optimum=moved,
        figures=figures,
        operations=operations,
        tables=clean.tables,
        noise=steps,
    )


def _solved_milp(ran: ProgramRun) -> Milp:
    assert ran.last_model is not None
    assert ran.last_model.milp is not None
    return ran.last_model.milp


def write_artifacts(folder: Path, artifacts: Artifacts) -> None:
    """Write tables and documents into ``data`` and ``docs``."""
    for name, table in artifacts.tables.items():
        _write_text(folder / "data" / name, tables.write_table(table))
    for name, text in artifacts.documents.items():
        _write_text(folder / "docs" / name, text)


def _write_text(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _write_set(drafts: Sequence[_Draft], request: GenerateRequest, out: Path) -> None:
    vault = out / VAULT
    (vault / "instances").mkdir(parents=True, mode=0o700)
    rubrics = [_write_views(draft, out) for draft in drafts]
    for draft in drafts:
        files.replace_file(vault / "instances" / f"{draft.instance.number:03}.json", instance_json(draft.instance))
    for mode in (Mode.BUILD, Mode.REVISE):
        rows: list[tuple[object, ...]] = [HEADER]
        for label in (_make_reference(draft.instance, mode) for draft in drafts):
            objective = repr(label.objective)
            rows.append((label.workspace_id, mode, label.number, label.instance_id, objective, TOLERANCE))
        files.replace_file(vault / vault_file(mode), "".join(",".join(map(str, row)) + "\n" for row in rows))
    files.replace_file(vault / vault_file(Mode.EXPLAIN), "".join(json.dumps(reference) + "\n" for reference in rubrics))
    settings = {"domains": list(request.domains), "count": request.count, "noise": request.noise}
    files.replace_file(out / "set.json", json.dumps(settings, indent=1) + "\n")
    instances = [draft.instance for draft in drafts]
    lines = [f"{one.number},{one.domain},{one.revision},{one.depth}\n" for one in instances]
    files.replace_file(out / "index.csv", "number,domain,revision,depth\n" + "".join(lines))


def _write_views(draft: _Draft, out: Path) -> dict[str, Any]:
    """Write the three views of an instance, searched for labels; return the rubric of its question."""
    instance = draft.instance
    with tempfile.TemporaryDirectory(prefix="oragent-views-") as scratch:
        folder = Path(scratch)
        write_artifacts(folder / "build", draft.noisy)
        for version, is_revised in (("original", 0), ("revised", 1)):
            if is_revised:
                artifacts = draft.revised
            else:
                artifacts = draft.clean
            for mode in (Mode.REVISE, Mode.EXPLAIN):
                write_artifacts(folder / mode / version, artifacts)
            for path, text in write_records(draft.runs[is_revised], timed=False).items():
                _write_text(folder / Mode.EXPLAIN / version / path, text)
            _write_text(folder / Mode.EXPLAIN / version / PROGRAM, instance.programs[is_revised])
        for mode in (Mode.REVISE, Mode.EXPLAIN):
            _write_text(folder / mode / "original/src/formulation.tex", to_latex(instance.milp))
        _write_text(folder / Mode.REVISE / "original" / PROGRAM, instance.programs[0])
        _write_text(folder / Mode.EXPLAIN / "revised/src/formulation.tex", to_latex(instance.revised))
        rubric = draft_rubric(instance, draft.runs[1])
        task = {key: rubric[key] for key in ("dimension", "question")} | {"domain": instance.domain}
        metadata = {"instance_id": rubric["instance_id"], "instance_number": instance.number, "explain_task": task}
        _write_text(folder / Mode.EXPLAIN / "metadata.json", json.dumps(metadata, indent=1) + "\n")
        _write_text(folder / "rubrics.jsonl", json.dumps(rubric) + "\n")
        read = next(iter(read_rubrics(folder / "rubrics.jsonl").values()))
        for mode in Mode:
            name, labels = f"made_{instance.number:03d}_{mode}", labels_of({}, read)
            if mode is not Mode.EXPLAIN:
                labels = labels_of({name: _make_reference(instance, mode)}, read)
            if mode is Mode.REVISE:
                variant = RevisionView.ALL
            else:
                variant = None
            view = copy_view(
                open_workspace(folder / mode, mode), out / "views" / name, labels, variant, vault=out / VAULT
            )
            write_manifest(view, out / "manifests" / f"{name}.json")
    return rubric


def _make_reference(instance: GeneratedInstance, mode: Mode) -> Reference:
    if mode is Mode.BUILD:
        value = instance.optimum
    else:
        value = instance.revised_optimum
    return Reference(
        f"made_{instance.number:03d}_{mode}", mode, instance.number, f"{instance.domain}-{instance.number}", value
    )
