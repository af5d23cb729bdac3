"""Generated sets: reproducible, readable by the benchmark, and true.

An independent reader finds every figure by the notes and e-mails alone, and an independent model of each business
reproduces both optima.
"""

import contextlib
import csv
import email
import io
import json
import re
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from oragent._base.errors import WorkspaceError
from oragent._base.terminal import Terminal
from oragent.llm.callable import Scripted
from oragent.llm.model import Message, Request, ToolCall
from oragent.workspace.layout import Mode
from oragent_benchmarks.workspace.benchmark import WorkspaceBenchmark
from oragent_benchmarks.workspace.command import MANIFEST, WorkspaceBenchRequest, run_bench
from oragent_benchmarks.workspace.generating.domain import Change, Domain
from oragent_benchmarks.workspace.generating.instances import (
    DOMAINS,
    RevisedInstance,
    draw_instance,
    list_answers,
    version_files,
    write_set,
)
from oragent_benchmarks.workspace.importing import read_labels
from oragent_benchmarks.workspace.tables import MeasuredAgent

pulp = pytest.importorskip("pulp")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
SCALE = {"kg": 1000, "ct": 100, "ct/t": 100, "min": 60, "kWh": 1000, "ct/MWh": 100}


@pytest.mark.parametrize(("count", "difficulty"), [(0, 1), (1000, 1), (1, 0), (1, 6)])
def test_numbers_out_of_range_are_refused(tmp_path: Path, count: int, difficulty: int) -> None:
    with pytest.raises(WorkspaceError, match="expected 1 to"):
        list(write_set(tmp_path / "set", 0, count, difficulty))


def test_a_folder_with_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("x")
    with pytest.raises(WorkspaceError):
        list(write_set(tmp_path, 0, 1, 1))


@pytest.mark.parametrize("domain", DOMAINS, ids=lambda domain: domain.name)
def test_every_change_can_be_read(domain: Domain) -> None:
    """All templates are filled in, and name the labels of their operations."""
    rng = np.random.default_rng(3)
    data = domain.draw(rng, domain.sizes[0])
    changes: list[Change] = domain.list_changes(rng, data)
    assert len(changes) >= 8
    for change in changes:
        assert "{" not in change.text
        assert bool(change.lines) == bool(change.program) != bool(change.cells)
        for label in re.findall(r'"([^"]+)"', " ".join(change.lines)):
            assert label.removesuffix("Sun") in change.text or label in (
                "early",
                "late",
                "Wed",
                "Thu",
                "Fri",
                "Sat",
                "Sun",
            )


class Folder:
    """The files of one version, read as a person would who has only the notes and the e-mail."""

    def __init__(self, folder: Path) -> None:
        self.data, self.notes = folder / "data", (folder / "docs/data_notes.md").read_text()
        codes = self.data / "codes.csv"
        self.names = (
            {row["code"]: row["name"] for row in csv.DictReader(codes.read_text().splitlines())}
            if codes.exists()
            else {}
        )
        mail = folder / "docs/figures.eml"
        body = email.message_from_bytes(mail.read_bytes()).get_payload().split("\n> ")[0] if mail.exists() else ""  # type: ignore[union-attr]
        found = re.findall(r"^- (.*) \(([\w, ]+)\): .*Please use ([\d.]+) ", body, re.MULTILINE)
        self.mails = {(meaning, tuple(place.split(", ")[1:])): float(value) for meaning, place, value in found}

    def rows(self, name: str) -> list[dict[str, str]]:
        path = self.data / name
        if path.suffix == ".json":
            rows = json.loads(path.read_text())["records"]
        elif path.suffix == ".db":
            with contextlib.closing(sqlite3.connect(path)) as database:
                cursor = database.execute(f"SELECT * FROM {path.stem}")
                rows = [dict(zip([head[0] for head in cursor.description], row, strict=True)) for row in cursor]
        elif path.suffix == ".xlsx":
            table = pytest.importorskip("openpyxl").load_workbook(path)["Export"].values
            head = next(row for row in table if row[1] is not None)
            rows = [dict(zip(head, row, strict=True)) for row in table]
        else:
            first = path.read_text().splitlines()[0]
            rows = list(csv.DictReader(path.read_text().splitlines(), delimiter=";" if ";" in first else ","))
        rows = [{key: "" if cell is None else str(cell).replace(",", ".") for key, cell in row.items()} for row in rows]
        return [row for row in rows if row.get("status") != "superseded"]

    def find(self, meaning: str) -> dict[tuple[str, ...], float]:
        """Return a parameter by labels, in the units of the business; ``meaning`` is its description in the notes."""
        figures = {}
        setting = next(
            (row for row in self.rows("general_parameters.csv") if row["Context_Description"] == meaning), None
        )
        if setting:
            figures[()] = float(setting["Value"]) / SCALE.get(setting["Unit"], 1)
        else:
            line = next(
                line for line in self.notes.splitlines() if f"is {meaning}, in" in line or f"are {meaning} in" in line
            )
            file, keys = (
                re.findall(r"`([^`]+)`", line)[0],
                re.findall(r"`([^`]+)`", line.split("one line for each")[1].split(".")[0].split(", and")[0]),
            )
            unit = re.search(rf"{re.escape(meaning)},? in ([\w/]+)", line)[1]  # type: ignore[index]
            for row in self.rows(file):
                labels = [self.names.get(row[key], row[key]) for key in keys]
                if f"are {meaning} in" in line:
                    cells = {(*labels, column): cell for column, cell in row.items() if column not in keys}
                else:
                    column = re.search(rf"`([^`]+)` is {re.escape(meaning)},", line)[1]  # type: ignore[index]
                    cells = {tuple(labels): row[column]}
                figures |= {key: float(cell) / SCALE.get(unit, 1) for key, cell in cells.items() if cell}
        return figures | {key: value for (text, key), value in self.mails.items() if text == meaning}


def write_model(
    domain: str, get: dict[str, dict[tuple[str, ...], float]]
) -> tuple[pulp.LpProblem, dict[str, dict], list]:
    """Write each business a second time, with other rows than the generator's: expanded sums in place of states."""
    problem, total = pulp.LpProblem(), pulp.lpSum
    if domain == "distribution":
        depots, customers = [d for (d,) in get["capacity"]], [c for (c,) in get["demand"]]
        rented = {(d,): pulp.LpVariable(f"r{i}", cat="Binary") for i, d in enumerate(depots)}
        share = {
            (d, c): pulp.LpVariable(f"s{i}_{j}", 0, 1) for i, d in enumerate(depots) for j, c in enumerate(customers)
        }
        ship = {(d, c): get["demand"][c,] * share[d, c] for d, c in share}
        for c in customers:
            problem += total(share[d, c] for d in depots) == 1
        for d in depots:
            out = total(ship[d, c] for c in customers)
            problem += out <= get["capacity"][d,] * rented[d,]
            problem += out >= get["least_load"][()] * rented[d,]
        cost = [get["rent"][k] * rented[k] for k in rented] + [get["rate"][k] * ship[k] for k in ship]
        return problem, {"rented": rented, "ship": ship}, cost
    if domain == "production":
        items = [i for (i,) in get["hours"]]
        weeks = sorted((w for (w,) in get["line"]), key=lambda w: int(w[2:]))
        make = {(i, w): pulp.LpVariable(f"m{a}_{w}", 0) for a, i in enumerate(items) for w in weeks}
        setup = {(i, w): pulp.LpVariable(f"y{a}_{w}", cat="Binary") for a, i in enumerate(items) for w in weeks}
        stock = {
            (i, w): get["first_stock"][i,] + total(make[i, v] - get["demand"][i, v] for v in weeks[: n + 1])
            for i in items for n, w in enumerate(weeks)
        }  # fmt: skip
        for i, w in make:
            problem += stock[i, w] >= 0
            problem += get["hours"][i,] * make[i, w] <= get["line"][w,] * setup[i, w]
        for w in weeks:
            problem += (
                total(get["hours"][i,] * make[i, w] + get["setup_hours"][i,] * setup[i, w] for i in items)
                <= get["line"][w,]
            )
            problem += total(stock[i, w] for i in items) <= get["shelf"][()]
        cost = [get["setup_cost"][i,] * setup[i, w] + get["holding"][i,] * stock[i, w] for i, w in make]
        return problem, {"make": make, "setup": setup, "stock": stock}, cost
    if domain == "rostering":
        days = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
        staff = {k: pulp.LpVariable(f"b{n}", 0, cat="Integer") for n, k in enumerate(get["need"])}
        temp = {k: pulp.LpVariable(f"t{n}", 0, cat="Integer") for n, k in enumerate(get["need"])}
        for (h, d, s), need in get["need"].items():
            # Off on the two days before the first one of a block.
            off = [days[(days.index(d) + 1) % 7], days[(days.index(d) + 2) % 7]]
            problem += total(staff[h, first, s] for first in days if first not in off) + temp[h, d, s] >= need
        for (h,) in get["crew"]:
            problem += total(v for k, v in staff.items() if k[0] == h) <= get["crew"][h,]
        problem += total(temp.values()) <= get["pool"][()]
        cost = [get["wage"][h, s] * v for (h, _, s), v in staff.items()] + [
            get["fee"][k[2],] * v for k, v in temp.items()
        ]
        return problem, {"staff": staff, "temp": temp}, cost
    plants, hours = [p for (p,) in get["top"]], sorted((h for (h,) in get["load"]), key=lambda h: int(h[1:]))
    heat = {(p, h): pulp.LpVariable(f"q{a}_{h}", 0) for a, p in enumerate(plants) for h in hours}
    on = {k: pulp.LpVariable(f"on{n}", cat="Binary") for n, k in enumerate(heat)}
    start = {k: pulp.LpVariable(f"st{n}", cat="Binary") for n, k in enumerate(heat)}
    level, held = {}, get["first"][()]
    for n, h in enumerate(hours):
        flow = total(heat[p, h] for p in plants) - get["load"][h,]
        problem += flow <= get["pump"][()]
        problem += flow >= -get["pump"][()]
        held = level[h,] = held + flow
        problem += held >= 0
        problem += held <= get["tank"][()]
        for p in plants:
            problem += heat[p, h] <= get["top"][p,] * on[p, h]
            problem += heat[p, h] >= get["bottom"][p,] * on[p, h]
            problem += start[p, h] >= on[p, h] - (on[p, hours[n - 1]] if n else 0)
    problem += held >= get["first"][()]
    cost = [get["fuel"][p,] * heat[p, h] + get["firing"][p,] * start[p, h] for p, h in heat]
    return problem, {"heat": heat, "on": on, "start": start, "level": level}, cost


def optimum(instance: RevisedInstance, folder: Path, revised: bool, *extra: str, changed: bool = True) -> float:
    """Solve the independent model with the figures of the files, the changes of the request and further lines."""
    for path, content in version_files(instance, revised=revised).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    files, domain = Folder(folder), instance.domain
    get = {parameter.name: files.find(parameter.meaning) for parameter in domain.parameters}
    if revised:
        request = (folder / "docs/change_request.md").read_text()
        assert all(change.text in request for change in instance.changes)
        for cell in instance.cells:
            assert f"{cell.value:g}" in request
            assert (get[cell.parameter][cell.key] == pytest.approx(cell.value)) == instance.is_in_files
            get[cell.parameter][cell.key] = cell.value
    problem, variables, cost = write_model(domain.name, get)
    if revised:
        scope = {**variables, "problem": problem, "cost": cost, "pulp": pulp, "pick": pick, "sets": instance.data.sets}
        for change in instance.changes if changed else ():
            exec(change.program, scope)
        cost = scope["cost"]
    for line in extra:
        exec(line, {**variables, "problem": problem, "pulp": pulp, "pick": pick})
    problem += pulp.lpSum(cost)
    assert problem.solve(pulp.HiGHS(msg=False)) == 1
    return float(pulp.value(problem.objective))


def pick(family: dict, *labels: object) -> list:
    return [
        member
        for key, member in family.items()
        if all(
            want in ("*", have) or (isinstance(want, tuple) and have in want)
            for have, want in zip(key, labels, strict=True)
        )
    ]


@pytest.mark.slow
@pytest.mark.parametrize("domain", DOMAINS, ids=lambda domain: domain.name)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_an_independent_reader_finds_both_optima(tmp_path: Path, domain: Domain, seed: int) -> None:
    difficulty = (1, 3, 4)[seed - 1]
    instance = draw_instance(np.random.default_rng([seed, difficulty, 7]), domain, difficulty)
    assert optimum(instance, tmp_path / "original", False) == pytest.approx(instance.before, rel=1e-6)
    assert optimum(instance, tmp_path / "revised", True) == pytest.approx(instance.after, rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("domain", DOMAINS, ids=lambda domain: domain.name)
def test_refused_alternatives_cost_what_the_answers_say(tmp_path: Path, domain: Domain) -> None:
    rng = np.random.default_rng([domain.name.encode()[0], 3])
    found = 0
    for number in range(1, 5):
        instance = draw_instance(rng, domain, 1 + number % 2)
        is_revised = number % 2 == 0
        answers = [one for one in list_answers(instance, rng, number) if one.kind == "whynot"]
        for answer in answers:
            family, labels, value = re.fullmatch(r"whynot (\w+)\[(.*)\] = (\d)", answer.line).groups()  # type: ignore[union-attr]
            rows = (
                f"for one in pick({family}, {labels.replace('*', chr(34) + '*' + chr(34))}): problem += one == {value}"
            )
            folder = tmp_path / str(number)
            costs = [optimum(instance, folder, is_revised, *extra) for extra in ((), (rows,))]
            assert costs[1] - costs[0] == pytest.approx(answer.value, rel=1e-4, abs=0.01)
            found += 1
    assert found


@pytest.mark.slow
@pytest.mark.parametrize("domain", DOMAINS, ids=lambda domain: domain.name)
def test_an_unchanged_program_misses_the_optimum_of_new_files(tmp_path: Path, domain: Domain) -> None:
    rng, found = np.random.default_rng(11), 0
    for number in range(40):
        instance = draw_instance(rng, domain, 3)
        if instance.is_in_files and instance.cells and found < 2:
            found += 1
            unchanged = optimum(instance, tmp_path / str(number), True, changed=False)
            assert unchanged != pytest.approx(instance.after, rel=0.015)
    assert found


@pytest.mark.slow
def test_a_set_is_reproducible_and_its_programs_reach_the_references(tmp_path: Path) -> None:
    command = "import sys; from pathlib import Path; from oragent_benchmarks.workspace.generating.instances import write_set; "
    command += "list(write_set(Path(sys.argv[1]), 5, 4, 2))"
    for name in ("first", "second"):
        subprocess.run([sys.executable, "-c", command, str(tmp_path / name)], check=True)
    contents = [
        {
            path.relative_to(tmp_path / name): path.read_bytes()
            for path in (tmp_path / name).rglob("*")
            if path.is_file()
        }
        for name in ("first", "second")
    ]
    assert contents[0] == contents[1]
    root = tmp_path / "first"
    labels = read_labels(root)
    for number in range(1, 5):
        view = root / f"views/or_space_{number:03d}_explain"
        for version, mode in (("original", Mode.BUILD), ("revised", Mode.REVISE)):
            ran = subprocess.run([sys.executable, str(view / version / "src/main.py")], capture_output=True, text=True)
            printed = float(re.findall("OBJECTIVE_VALUE: (.*)", ran.stdout)[-1])
            reference = labels.references[mode][f"or_space_{number:03d}_{mode}"]
            assert printed == pytest.approx(reference.objective, rel=1e-6)
            assert (view / version / "data").is_dir()
    measure_a_model(root, tmp_path / "bench")


def measure_a_model(root: Path, folder: Path) -> None:
    """Run the benchmark with a model that submits the programs of the explain view and the reference answer."""
    sources = root / "views/or_space_002_explain"
    (rubric,) = [one for one in read_labels(root).rubrics.values() if one.number == 2]
    for other in (1, 3, 4):
        for mode in Mode:
            shutil.rmtree(root / f"views/or_space_{other:03d}_{mode}")

    def reply(request: Request, _: int) -> Message:
        step = sum(message.role == "assistant" for message in request.messages)
        if request.role == "explainer":
            return Message("assistant", "", (ToolCall("c", "submit", {"answer": rubric.short_answer}),))
        version, place = ("original", "src") if request.role == "builder" else ("revised", "revised/src")
        names = ("utils.py", "main.py")
        if step == len(names):
            return Message("assistant", "", (ToolCall("c", "submit", {"path": f"{place}/main.py"}),))
        text = (sources / version / "src" / names[step]).read_text()
        return Message(
            "assistant", "", (ToolCall("c", "write_file", {"path": f"{place}/{names[step]}", "text": text}),)
        )

    request = WorkspaceBenchRequest(
        folder, root, agents=("scripted", "copy"), workers=1, settings={"labels_readable": True}
    )
    assert run_bench(request, Terminal(file=io.StringIO()), {"scripted": Scripted(reply)}) == 0
    bench = WorkspaceBenchmark(MANIFEST.read_plan(folder))
    measured = {
        (subject, row.contestant): [case.result for case in row.cases]
        for subject, rows in bench.measure(folder, MeasuredAgent).items()
        for row in rows
    }
    bench.close()
    for subject in ("build", "revise-code"):
        assert [one["outcome"] for one in measured[subject, "scripted"]] == ["passed"]
        assert measured[subject, "scripted"][0]["strict"]
        assert not measured[subject, "copy"][0]["passed"]
    assert measured["explain", "scripted"][0]["coverage"] == pytest.approx(35)
    assert measured["explain", "copy"][0]["coverage"] == 0
