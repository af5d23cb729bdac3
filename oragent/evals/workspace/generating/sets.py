"""Write a set: views for agents, labels and exact models in a vault; and read what a vault knows."""

import asyncio
import csv
import io
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from oragent._base import files
from oragent._base.errors import MilpError, WorkspaceError
from oragent.evals.workspace.generating.making import Made, make
from oragent.evals.workspace.generating.operators import OPERATORS
from oragent.evals.workspace.generating.plain_forms import VaultRecord, from_plain, to_plain
from oragent.evals.workspace.generating.programs import program
from oragent.evals.workspace.generating.questions import question
from oragent.evals.workspace.generating.rewriting import lay_out, put
from oragent.evals.workspace.generating.wording import CONSTRUCTION, Writing, beside, reworded
from oragent.evals.workspace.label_sets import VAULT, vault_file
from oragent.evals.workspace.leaks import HiddenLabels, labels_of
from oragent.evals.workspace.references import HEADER, TOLERANCE, Reference
from oragent.evals.workspace.rubric import Rubric, read_rubrics
from oragent.evals.workspace.views import RevisionView, copy_view, write_manifest
from oragent.milp.families import FAMILIES
from oragent.milp.mathematics import to_latex
from oragent.sandbox.border import Sandbox
from oragent.workspace.layout import Mode, open_workspace
from oragent.workspace.reading import named, read_json
from oragent.workspace.recording import records_of
from oragent.workspace.runner import ProgramRunner

SIZES = (3, 4, 5)
SMALL = {"setups": (3, 4), "cutting_stock": (3, 4), "facility_location": (3, 4)}
ATTEMPTS = 8  # seeds that are tried for an instance
SET = "set.json"


@dataclass(frozen=True)
class GenerateRequest:
    """What is wanted.

    Attributes:
        families: Names of families; taken in turn.
        count: Number of instances of each mode.
        seed: Seed of the set; who knows it can make the labels, so that a private one measures better.
        noise: Most kinds of noise of an instance.
    """

    families: tuple[str, ...]
    count: int
    seed: int
    noise: int = 3


def generate(
    request: GenerateRequest, out: Path, note: Callable[[str], None] = lambda text: None, writing: Writing | None = None
) -> tuple[Made, ...]:
    """Make a set in a new folder.

    Args:
        request: What is wanted.
        out: Folder to make; it must not exist yet.
        note: Told of each instance.
        writing: Who rewrites the texts; None: they stay as they are made.

    Raises:
        WorkspaceError: if the folder exists, a family is unknown, an instance cannot be made, or the rewriting was cut
            off: what was paid for lies beside the folder then, and the same command goes on.
    """
    unknown = [name for name in request.families if name not in FAMILIES]
    if unknown or not request.families or request.count < 1 or request.seed < 0:
        what = f"family {unknown[0]!r}" if unknown else f"{request.count} instances with seed {request.seed}"
        raise WorkspaceError(f"{what}: expected a count from 1 on, a seed from 0 on, and some of {', '.join(FAMILIES)}")
    if out.exists():
        raise WorkspaceError(f"{named(out)} is there already; expected a new folder")
    made = tuple(_instances(request, note))
    with Sandbox(1) as box:
        runner = ProgramRunner(box)
        if writing is not None:
            made = asyncio.run(reworded(made, out, runner, note, writing))
        try:
            out.mkdir(parents=True)
        except OSError as error:
            raise WorkspaceError(f"cannot make {named(out)}: {error.strerror}; expected a new folder") from None
        try:
            _write(made, request, out, runner, note)
        except BaseException:
            shutil.rmtree(out, ignore_errors=True)
            raise
    if writing is not None:
        shutil.move(beside(out), out / VAULT / CONSTRUCTION)
    return made


def read_known(root: Path) -> dict[int, VaultRecord]:
    """The exact models of a made set, by number; empty where the set has none, as the public release.

    Raises:
        WorkspaceError: if a record is broken.
    """
    folder = root / VAULT / "instances"
    found = {}
    for path in sorted(folder.glob("*.json")) if folder.is_dir() else []:
        known = from_plain(read_json(path), path)
        found[known.number] = known
    return found


def _instances(request: GenerateRequest, note: Callable[[str], None]) -> Iterator[Made]:
    rng = np.random.default_rng(request.seed)
    families = [str(name) for name in rng.permutation(list(request.families))]
    names = [str(name) for name in rng.permutation(list(OPERATORS))]
    for number in range(1, request.count + 1):
        family = families[(number - 1) % len(families)]
        turn = (number - 1) % len(names)
        order = [*names[turn:], *names[:turn]]
        yield _one(request, number, family, order, rng)
        note(f"instance {number}: {family}")


def _one(request: GenerateRequest, number: int, family: str, order: Sequence[str], rng: np.random.Generator) -> Made:
    for _ in range(ATTEMPTS):
        seed = int(rng.integers(2**31))
        size = int(rng.choice(SMALL.get(family, SIZES)))
        try:
            return make(number, family, size, seed, request.noise, order)
        except (WorkspaceError, MilpError):
            continue
    raise WorkspaceError(f"instance {number}: {family} gave none in {ATTEMPTS} attempts; take another seed of the set")


def _write(
    made: Sequence[Made], request: GenerateRequest, out: Path, runner: ProgramRunner, note: Callable[[str], None]
) -> None:
    vault = out / VAULT
    (vault / "instances").mkdir(parents=True, mode=0o700)
    rubrics, rows = [], []
    for one in made:
        with _drafted(one) as draft:
            rubrics.append(_views(one, draft, out, runner))
        plain = json.dumps(to_plain(one), indent=1, ensure_ascii=False)
        files.replace(vault / "instances" / f"{one.number:03}.json", plain + "\n")
        rows.append((one.number, one.family, one.size, rubrics[-1]["dimension"]))
        note(f"views of instance {one.number}")
    for mode in (Mode.BUILD, Mode.REVISE):
        files.replace(vault / vault_file(mode), _references(made, mode))
    lines = "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in rubrics)
    files.replace(vault / vault_file(Mode.EXPLAIN), lines)
    told = {"families": list(request.families), "count": request.count, "noise": request.noise}
    files.replace(out / SET, json.dumps(told, indent=1) + "\n")
    table = io.StringIO()
    csv.writer(table, lineterminator="\n").writerows([("number", "family", "size", "dimension"), *rows])
    files.replace(out / "index.csv", table.getvalue())


def _views(one: Made, draft: Path, out: Path, runner: ProgramRunner) -> dict[str, Any]:
    """Write the three views of an instance; returns the rubric of its question."""
    original, revised = program(one.milp, one.title), program(one.milp, one.title, one.revised.patch)
    runs = {}
    for version, source in (("original", original), ("revised", revised)):
        runs[version] = runner.run(draft / "explain" / version, "src/optimization_model.py",
                                   {"src/optimization_model.py": source})  # fmt: skip
        for path, text in records_of(runs[version], timed=False).items():
            put(draft / "explain" / version / path, text)
        put(draft / "explain" / version / "src/optimization_model.py", source)
    rubric = question(one, runs["original"], runs["revised"])
    task = {"dimension": rubric["dimension"], "domain": one.family, "question": rubric["question"]}
    told = {"instance_id": rubric["instance_id"], "instance_number": one.number, "explain_task": task}
    put(draft / "explain" / "metadata.json", json.dumps(told, indent=1) + "\n")
    put(draft / "revise" / "original/src/current_heuristic.py", original)
    put(draft / "rubrics.jsonl", json.dumps(rubric) + "\n")
    read = next(iter(read_rubrics(draft / "rubrics.jsonl").values()))
    for mode in Mode:
        name = f"made_{one.number:03d}_{mode}"
        variant = RevisionView.ALL if mode is Mode.REVISE else None
        view = copy_view(open_workspace(draft / mode, mode), out / "views" / name, _labels(one, mode, read), variant,
                         vault=out / VAULT)  # fmt: skip
        write_manifest(view, out / "manifests" / f"{name}.json")
    return rubric


def _labels(one: Made, mode: Mode, rubric: Rubric) -> HiddenLabels:
    if mode is Mode.EXPLAIN:
        return labels_of({}, rubric)
    reference = _reference(one, mode)
    return labels_of({reference.workspace_id: reference}, rubric)


@contextmanager
def _drafted(one: Made) -> Iterator[Path]:
    """All files of an instance but for programs and records, in a folder of its own."""
    folder = Path(tempfile.mkdtemp(prefix="oragent-making-"))
    try:
        lay_out(folder / "build", one.noisy)
        for mode in ("revise", "explain"):
            lay_out(folder / mode / "original", one.noisy)
            lay_out(folder / mode / "revised", one.revised_noisy)
            put(folder / mode / "original/src/formulation.tex", to_latex(one.milp))
        put(folder / "explain/revised/src/formulation.tex", to_latex(one.revised.milp))
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _reference(one: Made, mode: Mode) -> Reference:
    value = one.optimum if mode is Mode.BUILD else one.revised.optimum
    return Reference(f"made_{one.number:03d}_{mode}", mode, one.number, f"{one.family}-{one.number}", value)


def _references(made: Sequence[Made], mode: Mode) -> str:
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(HEADER)
    for one in made:
        label: Mapping[str, Any] = vars(_reference(one, mode))
        writer.writerow(
            [label["workspace_id"], mode, one.number, label["instance_id"], repr(label["objective"]), TOLERANCE]
        )
    return table.getvalue()
