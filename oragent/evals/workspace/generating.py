"""Make workspaces of our own: a domain's tables and documents, a revision that moves the optimum, questions, labels."""

import json
import math
import shutil
import tempfile
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pulp

from oragent._base import files
from oragent._base.errors import WorkspaceError
from oragent.evals.workspace.domains.blending import BLENDING
from oragent.evals.workspace.domains.distribution import DISTRIBUTION
from oragent.evals.workspace.domains.domain import REQUIREMENT, Artifacts, Domain, DomainRevision, NewFigure, Plan
from oragent.evals.workspace.domains.production import PRODUCTION
from oragent.evals.workspace.domains.rostering import ROSTERING
from oragent.evals.workspace.instances import GeneratedInstance, instance_json
from oragent.evals.workspace.label_sets import VAULT, vault_file
from oragent.evals.workspace.leaks import labels_of
from oragent.evals.workspace.noise import NoiseStep, plant_noise
from oragent.evals.workspace.questions import draft_rubric
from oragent.evals.workspace.references import HEADER, TOLERANCE, Reference
from oragent.evals.workspace.revisions import Diff, RevisionOperation
from oragent.evals.workspace.rubric import read_rubrics
from oragent.evals.workspace.views import RevisionView, copy_view, write_manifest
from oragent.milp.as_pulp import to_pulp
from oragent.milp.mathematics import to_latex
from oragent.milp.model import Milp
from oragent.sandbox.sandbox import Sandbox
from oragent.workspace import parameters, tables
from oragent.workspace.comparing import changed_rules, rule_of
from oragent.workspace.layout import Mode, open_workspace
from oragent.workspace.reading import shorten_path
from oragent.workspace.recording import write_records
from oragent.workspace.runner import ProgramRun, ProgramRunner
from oragent.workspace.tables import CsvTable

DOMAINS = {one.name: one for one in (PRODUCTION, DISTRIBUTION, ROSTERING, BLENDING)}
PROGRAM = "src/optimization_model.py"
MOVED, SAME = 0.01, 1e-6  # least relative change of the optimum by a revision; agreement of two solves
ATTEMPTS = 8  # instances that are drawn until one revision of it is accepted


@dataclass(frozen=True)
class GenerateRequest:
    """Settings of a set.

    Attributes:
        domains: Names of domains; taken in turn.
        count: Number of instances of each mode.
        seed: Seed; who knows it can make the labels, so that a private one measures better.
        noise: Most kinds of noise of an instance.
    """

    domains: tuple[str, ...]
    count: int
    seed: int
    noise: int = 3


@dataclass(frozen=True)
class _Draft:
    """An instance with its artifacts: without noise, with noise, and after the revision; and both runs."""

    known: GeneratedInstance
    clean: Artifacts
    noisy: Artifacts
    revised: Artifacts
    runs: tuple[ProgramRun, ProgramRun]


def generate_set(
    request: GenerateRequest, out: Path, report: Callable[[str], None] = lambda text: None
) -> tuple[GeneratedInstance, ...]:
    """Make a set in a new folder.

    Raises:
        WorkspaceError: The folder exists, a domain is unknown, or an instance cannot be made.
    """
    unknown = [name for name in request.domains if name not in DOMAINS]
    if unknown or not request.domains or request.count < 1 or request.seed < 0:
        what = f"domain {unknown[0]!r}" if unknown else f"{request.count} instances with seed {request.seed}"
        raise WorkspaceError(f"{what}: expected a count from 1 on, a seed from 0 on, and some of {', '.join(DOMAINS)}")
    if out.exists():
        raise WorkspaceError(f"{shorten_path(out)} is there already; expected a new folder")
    with Sandbox(1) as box, tempfile.TemporaryDirectory(prefix="oragent-generating-") as scratch:
        runner, drafts = ProgramRunner(box), []
        for number in range(1, request.count + 1):
            drafts.append(_draw_instance(request, number, runner, Path(scratch) / str(number)))
            report(f"instance {number}: {drafts[-1].known.domain}, {drafts[-1].known.revision}")
    try:
        out.mkdir(parents=True)
        _write_set(drafts, request, out)
    except OSError as error:
        raise WorkspaceError(f"cannot make {shorten_path(out)}: {error.strerror}; expected a new folder") from None
    except BaseException:
        shutil.rmtree(out, ignore_errors=True)
        raise
    return tuple(draft.known for draft in drafts)


def _draw_instance(request: GenerateRequest, number: int, runner: ProgramRunner, scratch: Path) -> _Draft:
    """Draw instances until a revision of one is accepted; revisions are tried in another order for each number."""
    domain = DOMAINS[request.domains[(number - 1) % len(request.domains)]]
    first = (number - 1) // len(request.domains)
    for attempt in range(ATTEMPTS):
        rng = np.random.default_rng([request.seed, number, attempt])
        clean = domain.draw(rng)
        noisy, steps = plant_noise(clean, rng, request.noise)
        write_artifacts(scratch / f"{attempt}-original", clean)
        before = runner.run(scratch / f"{attempt}-original", PROGRAM, {PROGRAM: domain.program()})
        if not is_proven(before):
            continue
        assert before.last_model is not None
        assert before.last_model.solution is not None
        plan = Plan(before.last_model.solution.values, clean)
        for place in range(len(domain.revisions)):
            revision = domain.revisions[(first + place) % len(domain.revisions)]
            figures = revision.figures(plan)
            revised = _revise_artifacts(clean, revision, figures)
            after = _run_accepted(domain, revision, figures, before, runner, scratch / f"{attempt}-{place}", clean)
            if after is not None:
                known = _describe_instance(number, domain, revision, figures, (before, after), clean, steps)
                return _Draft(known, clean, noisy, revised, (before, after))
    raise WorkspaceError(f"instance {number}: {domain.name} gave none in {ATTEMPTS} attempts; take another seed")


def _run_accepted(
    domain: Domain, revision: DomainRevision, figures: Sequence[NewFigure], before: ProgramRun, runner: ProgramRunner,
    folder: Path, clean: Artifacts,
) -> ProgramRun | None:  # fmt: skip
    """Run a revised program; None unless its optimum moves, is proven, and comes back at the neutral values."""
    old, source = before.printed_objective.value, {PROGRAM: domain.program(revision)}
    assert old is not None
    write_artifacts(folder, _revise_artifacts(clean, revision, figures))
    after = runner.run(folder, PROGRAM, source)
    new = after.printed_objective.value
    if new is None or not is_proven(after) or not has_moved(new, old) or new * old < 0:
        return None
    neutral = [NewFigure(one.name, one.neutral, one.neutral, one.unit, one.meaning) for one in figures]
    write_artifacts(folder, _revise_artifacts(clean, revision, neutral))
    back = runner.run(folder, PROGRAM, source).printed_objective.value
    return after if back is not None and math.isclose(back, old, rel_tol=SAME) else None


def has_moved(value: float, before: float) -> bool:
    """Return whether an optimum is another one, by more than an attempt may be wrong."""
    return abs(value - before) > MOVED * max(1.0, abs(before))


def is_proven(ran: ProgramRun) -> bool:
    """Return whether a run has an optimum on which HiGHS and, where it is installed, CBC agree."""
    last, value = ran.last_model, ran.printed_objective.value
    if last is None or last.milp is None or value is None or ran.attempt.status != "optimal":
        return False
    problem = to_pulp(last.milp).problem
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # PuLP 4 has it under another name
        solver = (getattr(pulp, "PULP_CBC_CMD", None) or pulp.COIN_CMD)(msg=0, timeLimit=60, gapRel=0)
        try:
            if not solver.available():
                return True
            problem.solve(solver)
        except (pulp.PulpSolverError, OSError):
            return True
    second = pulp.value(problem.objective) if problem.status == pulp.LpStatusOptimal else math.nan
    return math.isclose(second, value, rel_tol=SAME, abs_tol=1e-3)


def _revise_artifacts(artifacts: Artifacts, revision: DomainRevision, figures: Sequence[NewFigure]) -> Artifacts:
    """Return the artifacts with the brief of a revision and its figures."""
    table = artifacts.tables[parameters.FILE]
    rows = tuple((one.name, f"{one.value:.10g}", one.unit, one.meaning) for one in figures)
    names = ", ".join(f"`{one.name}`" for one in figures)
    brief = (
        f"\n## What changes\n\n{revision.brief}\n\nThe values of {names} are in `{parameters.FILE}`; all else stays.\n"
    )
    revised = artifacts.with_table(parameters.FILE, CsvTable(table.header, (*table.rows, *rows)))
    return revised.with_document(REQUIREMENT, artifacts.documents[REQUIREMENT] + brief)


def _describe_instance(
    number: int, domain: Domain, revision: DomainRevision, figures: tuple[NewFigure, ...],
    runs: tuple[ProgramRun, ProgramRun], clean: Artifacts, steps: tuple[NoiseStep, ...],
) -> GeneratedInstance:  # fmt: skip
    old, new = (_solved_milp(ran) for ran in runs)
    optimum, moved = (float(ran.printed_objective.value or 0.0) for ran in runs)
    rules = changed_rules(old, new)
    operations = tuple(f"{'+' if kind == 'new' else 'modify_'}constraint {rule}" for rule, kind in rules.items())
    operations += ("modify_objective",) if dict(old.objective.terms) != dict(new.objective.terms) else ()
    kinds = {rule_of(one.name) for one in new.variables} - {rule_of(one.name) for one in old.variables}
    depth = Diff({
        RevisionOperation.ADD_VARIABLE: len(kinds), RevisionOperation.MODIFY_DATA: len(figures),
        RevisionOperation.ADD_CONSTRAINT: sum(one.startswith("+") for one in operations),
        RevisionOperation.MODIFY_CONSTRAINT: sum(one.startswith("modify_c") for one in operations),
        RevisionOperation.MODIFY_OBJECTIVE: int("modify_objective" in operations),
    }).depth.name  # fmt: skip
    programs = domain.program(), domain.program(revision)
    return GeneratedInstance(number, domain.name, revision.name, depth, f"{domain.title}, {number}", programs, old, new,
                             optimum, moved, figures, operations, clean.tables, steps)  # fmt: skip


def _solved_milp(ran: ProgramRun) -> Milp:
    assert ran.last_model is not None
    assert ran.last_model.milp is not None
    return ran.last_model.milp


def write_artifacts(folder: Path, artifacts: Artifacts) -> None:
    """Write tables and documents into ``data`` and ``docs``."""
    for name, table in artifacts.tables.items():
        _put(folder / "data" / name, tables.write_table(table))
    for name, text in artifacts.documents.items():
        _put(folder / "docs" / name, text)


def _put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _write_set(drafts: Sequence[_Draft], request: GenerateRequest, out: Path) -> None:
    vault = out / VAULT
    (vault / "instances").mkdir(parents=True, mode=0o700)
    rubrics = [_write_views(draft, out) for draft in drafts]
    for draft in drafts:
        files.replace(vault / "instances" / f"{draft.known.number:03}.json", instance_json(draft.known))
    for mode in (Mode.BUILD, Mode.REVISE):
        rows = [HEADER, *((one.workspace_id, mode, one.number, one.instance_id, repr(one.objective), TOLERANCE)
                          for one in (_reference(draft.known, mode) for draft in drafts))]  # fmt: skip
        files.replace(vault / vault_file(mode), "".join(",".join(map(str, row)) + "\n" for row in rows))
    files.replace(vault / vault_file(Mode.EXPLAIN), "".join(json.dumps(one) + "\n" for one in rubrics))
    settings = {"domains": list(request.domains), "count": request.count, "noise": request.noise}
    files.replace(out / "set.json", json.dumps(settings, indent=1) + "\n")
    lines = [f"{one.known.number},{one.known.domain},{one.known.revision},{one.known.depth}\n" for one in drafts]
    files.replace(out / "index.csv", "number,domain,revision,depth\n" + "".join(lines))


def _write_views(draft: _Draft, out: Path) -> dict[str, Any]:
    """Write the three views of an instance, searched for labels; return the rubric of its question."""
    known = draft.known
    with tempfile.TemporaryDirectory(prefix="oragent-views-") as scratch:
        folder = Path(scratch)
        write_artifacts(folder / "build", draft.noisy)
        for version, place in (("original", 0), ("revised", 1)):
            artifacts = draft.revised if place else draft.clean
            for mode in (Mode.REVISE, Mode.EXPLAIN):
                write_artifacts(folder / mode / version, artifacts)
            for path, text in write_records(draft.runs[place], timed=False).items():
                _put(folder / Mode.EXPLAIN / version / path, text)
            _put(folder / Mode.EXPLAIN / version / PROGRAM, known.programs[place])
        for mode in (Mode.REVISE, Mode.EXPLAIN):
            _put(folder / mode / "original/src/formulation.tex", to_latex(known.milp))
        _put(folder / Mode.REVISE / "original" / PROGRAM, known.programs[0])
        _put(folder / Mode.EXPLAIN / "revised/src/formulation.tex", to_latex(known.revised))
        rubric = draft_rubric(known, draft.runs[1])
        task = {key: rubric[key] for key in ("dimension", "question")} | {"domain": known.domain}
        told = {"instance_id": rubric["instance_id"], "instance_number": known.number, "explain_task": task}
        _put(folder / Mode.EXPLAIN / "metadata.json", json.dumps(told, indent=1) + "\n")
        _put(folder / "rubrics.jsonl", json.dumps(rubric) + "\n")
        read = next(iter(read_rubrics(folder / "rubrics.jsonl").values()))
        for mode in Mode:
            name, labels = f"made_{known.number:03d}_{mode}", labels_of({}, read)
            if mode is not Mode.EXPLAIN:
                labels = labels_of({name: _reference(known, mode)}, read)
            variant = RevisionView.ALL if mode is Mode.REVISE else None
            view = copy_view(
                open_workspace(folder / mode, mode), out / "views" / name, labels, variant, vault=out / VAULT
            )
            write_manifest(view, out / "manifests" / f"{name}.json")
    return rubric


def _reference(known: GeneratedInstance, mode: Mode) -> Reference:
    value = known.optimum if mode is Mode.BUILD else known.revised_optimum
    return Reference(f"made_{known.number:03d}_{mode}", mode, known.number, f"{known.domain}-{known.number}", value)
