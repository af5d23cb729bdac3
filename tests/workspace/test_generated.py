"""Generated sets: reproducible, readable by the benchmark, and true.

An independent reader finds every figure by the notes and e-mails alone, and an independent model of each business
reproduces both optima.
"""

import contextlib
import csv
import io
import json
import re
import shutil
import sqlite3
import subprocess
import sys
from difflib import SequenceMatcher
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oragent._base.errors import WorkspaceError
from oragent._base.terminal import Terminal
from oragent.llm.callable import Scripted
from oragent.llm.model import Message, Request, ToolCall
from oragent.workspace.layout import Mode
from oragent_benchmarks.workspace.benchmark import WorkspaceBenchmark
from oragent_benchmarks.workspace.command import MANIFEST, WorkspaceBenchRequest, run_bench
from oragent_benchmarks.workspace.generating.domain import STRUCTURAL, Business, Parameter, list_businesses
from oragent_benchmarks.workspace.generating.instances import (
    RevisedInstance,
    draw_instance,
    version_files,
    write_set,
)
from oragent_benchmarks.workspace.importing import read_labels
from oragent_benchmarks.workspace.tables import MeasuredAgent

pulp = pytest.importorskip("pulp")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
SCALE = {"kg": 1000, "ct": 100, "ct/t": 100, "min": 60, "kWh": 1000, "ct/MWh": 100, "l": 1000, "EUR": 1000}
# How figures are corrected, in all wordings.
CORRECTIONS = re.compile(
    r"the file says [^;]*; use ([\d.]+)|again\. Right is ([\d.]+)|richtig ist ([\d.]+)|"
    r"the cell is empty; use ([\d.]+)|no figure\. It is ([\d.]+)|fehlt in der Datei: ([\d.]+)"
)
Figures = dict[str, dict[tuple[str, ...], float]]


@pytest.mark.parametrize(("count", "difficulty"), [(0, 1), (1000, 1), (1, 0), (1, 6)])
def test_numbers_out_of_range_are_refused(tmp_path: Path, count: int, difficulty: int) -> None:
    with pytest.raises(WorkspaceError, match="expected 1 to"):
        list(write_set(tmp_path / "set", 0, count, difficulty))


def test_a_folder_with_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("x")
    with pytest.raises(WorkspaceError):
        list(write_set(tmp_path, 0, 1, 1))


@pytest.mark.parametrize("business", list_businesses(), ids=lambda business: business.name)
def test_every_wording_of_a_change_has_the_names_and_figures_of_its_program(business: Business) -> None:
    data = business.draw(np.random.default_rng(3), 1)
    changes = business.list_changes(np.random.default_rng(3), data)
    assert {change.kind for change in changes} >= STRUCTURAL
    used = {kind: " ".join(cell) for kind, cell in business.spec["cells"].items()}
    for line in business.spec["rules"].splitlines():
        for kind in re.findall(r"\+(\w+)\|", line):
            used[kind] = used.get(kind, "") + line
    for change in changes:
        words = set(re.findall(r"\$(\w+)", used[change.kind]))
        for text in change.texts:
            assert "$" not in text
            assert all({**business.own, **data.words}[word].lower() in text.lower() for word in words)


class Folder:
    """The files of one version, read by headings and by what the documents say about traps."""

    def __init__(self, folder: Path) -> None:
        self.data = folder / "data"
        self.lines = [line for path in (folder / "docs").iterdir() for line in path.read_text().splitlines()]
        codes = self.data / "codes.csv"
        self.names = (
            {row["code"]: row["name"] for row in csv.DictReader(codes.read_text().splitlines())}
            if codes.exists()
            else {}
        )
        paths = [path for path in self.data.iterdir() if "do_not_use" not in path.name and path != codes]
        self.tables = {path.name: self.rows(path) for path in paths}

    def rows(self, path: Path) -> list[dict[str, str]]:
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

    def find(self, parameter: Parameter, sets: dict[str, tuple[str, ...]]) -> dict[tuple[str, ...], float]:
        """Return a parameter by labels, in the unit of the business."""
        figures: dict[tuple[str, ...], float] = {}
        if not parameter.sets:
            rows = self.tables["general_parameters.csv"]
            (row,) = [row for row in rows if row["Parameter_Name"] in parameter.headings]
            factor = SCALE[row["Unit"]] if row["Unit"] != parameter.unit else 1
            figures[()] = float(row["Value"]) / factor
        else:
            rows = next(rows for name, rows in self.tables.items() if Path(name).stem == parameter.table)
            keys = [key for key in rows[0] if key.lower().removesuffix("_name") in parameter.sets]
            found = [name for name in rows[0] if name.split(" [")[0] in parameter.headings]
            heading = found[0] if found else ""
            unit = heading.partition(" [")[2].rstrip("]")
            factor = SCALE[unit] if unit not in ("", parameter.unit) else 1
            for row in rows:
                labels = tuple(self.names.get(row[key], row[key]) for key in keys)
                wide = sets[parameter.sets[-1]]
                cells = {labels: row[heading]} if found else {(*labels, name): row[name] for name in wide}
                figures |= {key: float(cell) / factor for key, cell in cells.items() if cell}
        for line in self.lines:
            for match in CORRECTIONS.finditer(line):
                for key in product(*(sets[name] for name in parameter.sets)):
                    for title in parameter.headings:
                        place = re.escape(", ".join([title, *key]))
                        if re.search(rf"(^|[^\w,]){place}(:| again| the export| fehlt)", line):
                            figures[key] = float(next(group for group in match.groups() if group))
        return figures


def solve(rows: list[Any], goals: list[Any], sense: int = pulp.LpMinimize) -> float:
    """Optimise the goals one after the other; return the last optimum."""
    problem = pulp.LpProblem("independent", sense)
    for row in rows:
        problem += row
    for goal in goals:
        problem.setObjective(goal)
        assert problem.solve(pulp.HiGHS(msg=False, gapRel=0)) == 1
        value = float(pulp.value(goal))
        problem += goal <= value + 1e-6 if sense == pulp.LpMinimize else goal >= value - 1e-6
    return value


def variables(name: str, keys: list[Any], high: float | None = None, cat: str = "Continuous") -> dict[Any, Any]:
    return {key: pulp.LpVariable(f"{name}{place}", 0, high, cat) for place, key in enumerate(keys)}


def binaries(name: str, keys: list[Any]) -> dict[Any, Any]:
    return variables(name, keys, 1, "Integer")


total = pulp.lpSum


# Each class once more, with other variables than the programs of the generator. ``get`` has the figures of the files,
# ``word`` the names and figures of the changes, ``kinds`` the changes that hold.
def solve_location(get: Figures, word: dict[str, str], kinds: set[str]) -> float:
    depots, customers = [key[0] for key in get["capacity"]], [key[0] for key in get["demand"]]
    pairs = list(product(depots, customers))
    rented, share = binaries("r", depots), variables("s", pairs, 1)
    second = variables("q", pairs, 1 if "index" in kinds else 0)
    load = {(d, c): get["demand"][c,] * share[d, c] for d, c in pairs}
    out = {d: total(load[d, c] for c in customers) for d in depots}
    rows = [total(share[d, c] for d in depots) == 1 for c in customers]
    rows += [out[d] <= get["capacity"][d,] * rented[d] for d in depots]
    rows += [second[pair] <= share[pair] for pair in pairs]
    if "least_load" in get:
        rows += [out[d] >= get["least_load"][()] * rented[d] for d in depots]
    if "most_open" in get:
        rows.append(total(rented.values()) <= get["most_open"][()])
    freight = total(get["rate"][pair] * load[pair] for pair in pairs)
    if "index" in kinds:
        by_second = total(get["demand"][c,] * second[d, c] for d, c in pairs)
        rows.append(by_second <= float(word["cap"]))
        freight -= float(word["saving"]) * by_second
    cost = freight + total(get["rent"][d,] * rented[d] for d in depots)
    if "condition" in kinds:
        shift = binaries("f", depots)
        rows += [out[d] - float(word["bound"]) <= 1e4 * shift[d] for d in depots]
        cost += float(word["fee"]) * total(shift.values())
    if "choice" in kinds:
        rows.append(rented[word["first"]] + rented[word["next"]] <= 1)
    if "surcharge" in kinds:
        cost += float(word["toll"]) * total(out[d] for d in depots if d != word["third"])
    return solve(rows, [freight, cost] if "goal" in kinds else [cost])


def solve_lots(get: Figures, word: dict[str, str], kinds: set[str]) -> float:
    items, weeks = [key[0] for key in get["hours"]], [key[0] for key in get["line"]]
    weeks.sort(key=lambda week: int(re.sub(r"\D", "", week)))
    keys = list(product(items, weeks))
    make, setup = variables("m", keys), binaries("y", keys)
    bought = variables("b", keys, None if "index" in kinds else 0)
    stock = {
        (i, w): get["first_stock"][i,]
        + total(make[i, v] + bought[i, v] - get["demand"][i, v] for v in weeks[: place + 1])
        for i in items
        for place, w in enumerate(weeks)
    }
    rows = [stock[key] >= 0 for key in keys]
    rows += [get["hours"][i,] * make[i, w] <= get["line"][w,] * setup[i, w] for i, w in keys]
    cost = total(get["setup_cost"][i,] * setup[i, w] + get["holding"][i,] * stock[i, w] for i, w in keys)
    for w in weeks:
        spent = [get["hours"][i,] * make[i, w] + get["setup_hours"][i,] * setup[i, w] for i in items]
        rows += [total(spent) <= get["line"][w,], total(stock[i, w] for i in items) <= get["shelf"][()]]
        if "most_setups" in get:
            rows.append(total(setup[i, w] for i in items) <= get["most_setups"][()])
        if "index" in kinds:
            rows.append(total(bought[i, w] for i in items) <= float(word["cap"]))
        if "condition" in kinds:
            hall = pulp.LpVariable(f"hall{w}", cat="Binary")
            rows.append(total(stock[i, w] for i in items) - float(word["bound"]) <= 1e4 * hall)
            cost += float(word["fee"]) * hall
        if "choice" in kinds:
            rows.append(setup[word["first"], w] + setup[word["second"], w] <= 1)
        if "limit" in kinds:
            rows.append(stock[word["second"], w] >= float(word["close"]))
    if "last_stock" in get:
        rows.append(total(stock[i, weeks[-1]] for i in items) >= get["last_stock"][()])
    if "index" in kinds:
        cost += float(word["price"]) * total(bought.values())
    return solve(rows, [total(setup.values()), cost] if "goal" in kinds else [cost])


def solve_roster(get: Figures, word: dict[str, str], kinds: set[str]) -> float:
    days = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
    staff, temp = variables("s", list(get["need"]), cat="Integer"), variables("t", list(get["need"]), cat="Integer")
    new = variables("n", list(get["need"]), None if "index" in kinds else 0, "Integer")
    rows = [new[key] <= temp[key] for key in new]
    for (site, day, shift), need in get["need"].items():
        # Off on the two days before the first one of a block.
        off = [days[(days.index(day) + ahead) % 7] for ahead in (1, 2)]
        present = total(staff[site, first, shift] for first in days if first not in off)
        rows.append(present + temp[site, day, shift] >= need)
    for (site,), crew in get["crew"].items():
        rows.append(total(one for key, one in staff.items() if key[0] == site) <= crew)
    if "pool" in get:
        rows.append(total(temp.values()) <= get["pool"][()])
    if "day_pool" in get:
        rows += [total(one for key, one in temp.items() if key[1] == day) <= get["day_pool"][()] for day in days]
    cost = total(get["wage"][site, shift] * one for (site, _, shift), one in staff.items())
    cost += total(get["fee"][key[2],] * one for key, one in temp.items())
    if "index" in kinds:
        rows.append(total(new.values()) <= float(word["cap"]))
        cost -= float(word["saving"]) * total(new.values())
    for (site,) in get["crew"]:
        duties = total(one for key, one in temp.items() if key[0] == site)
        if "condition" in kinds:
            used = pulp.LpVariable(f"used{len(rows)}", cat="Binary")
            rows.append(duties <= 1e3 * used)
            cost += float(word["flat"]) * used
        if "limit" in kinds:
            rows.append(duties <= float(word["most"]))
    if "surcharge" in kinds:
        cost += float(word["extra"]) * total(one for key, one in staff.items() if key[1] not in ("Mon", "Tue"))
    return solve(rows, [total(temp.values()), cost] if "goal" in kinds else [cost])


def solve_dispatch(get: Figures, word: dict[str, str], kinds: set[str]) -> float:
    plants, hours = [key[0] for key in get["top"]], [key[0] for key in get["load"]]
    hours.sort(key=lambda hour: int(re.sub(r"\D", "", hour)))
    keys = list(product(plants, hours))
    heat, on, start = variables("q", keys), binaries("on", keys), binaries("st", keys)
    second = variables("g", keys, None if "index" in kinds else 0)
    rows, held = [second[key] <= heat[key] for key in keys], get["first"][()]
    for place, h in enumerate(hours):
        made = total(heat[p, h] for p in plants)
        flow = made - get["load"][h,]
        held = held + flow
        rows += [flow <= get["pump"][()], flow >= -get["pump"][()], held >= 0, held <= get["tank"][()]]
        if "reserve" in get:
            rows.append(total(get["top"][p,] * on[p, h] for p in plants) - made >= get["reserve"][()])
        for p in plants:
            rows += [heat[p, h] <= get["top"][p,] * on[p, h], heat[p, h] >= get["bottom"][p,] * on[p, h]]
            rows.append(start[p, h] >= on[p, h] - (on[p, hours[place - 1]] if place else 0))
        if "condition" in kinds:
            both = [word["first"], word["next"]]
            free = 1e3 * (2 - total(on[p, h] for p in both))
            rows.append(total(heat[p, h] for p in both) <= float(word["bound"]) + free)
        if "limit" in kinds:
            rows.append(total(on[p, h] for p in plants) <= int(word["count"]))
    if "reserve" not in get:
        rows.append(held >= get["first"][()])
    cost = total(get["fuel"][p,] * heat[p, h] + get["firing"][p,] * start[p, h] for p, h in heat)
    if "index" in kinds:
        rows.append(total(second.values()) <= float(word["cap"]))
        cost -= float(word["saving"]) * total(second.values())
    if "surcharge" in kinds:
        cost += float(word["tax"]) * total(heat[word["next"], h] for h in hours)
    return solve(rows, [total(start.values()), cost] if "goal" in kinds else [cost])


def solve_assign(get: Figures, word: dict[str, str], kinds: set[str]) -> float:
    pairs, crews = list(get["hours"]), [key[0] for key in get["free"]]
    do, late = binaries("d", pairs), binaries("w", pairs)
    rows = [late[pair] <= (do[pair] if "index" in kinds else 0) for pair in pairs]
    rows += [total(do[job, crew] for crew in crews) == 1 for job in {job for job, _ in pairs}]
    cost = total(get["price"][pair] * do[pair] for pair in pairs)
    count = {crew: total(do[pair] for pair in pairs if pair[1] == crew) for crew in crews}
    for crew in crews:
        own = [pair for pair in pairs if pair[1] == crew]
        rows.append(total(get["hours"][pair] * (do[pair] - late[pair]) for pair in own) <= get["free"][crew,])
        if "index" in kinds:
            rows.append(total(get["hours"][pair] * late[pair] for pair in own) <= float(word["cap"]))
        if "most_jobs" in get:
            rows.append(count[crew] <= get["most_jobs"][()])
        if "van" in get:
            used = pulp.LpVariable(f"used{len(rows)}", cat="Binary")
            rows.append(count[crew] <= len(own) * used)
            cost += get["van"][crew,] * used
        if "condition" in kinds:
            over = pulp.LpVariable(f"over{len(rows)}", cat="Binary")
            rows.append(count[crew] - int(word["bound"]) <= len(own) * over)
            cost += float(word["lead"]) * over
    if "index" in kinds:
        cost += float(word["fee"]) * total(late.values())
    if "limit" in kinds:
        rows.append(count[word["first"]] <= int(word["most"]))
    if "surcharge" in kinds:
        cost += float(word["toll"]) * count[word["next"]]
    return solve(rows, [count[word["next"]], cost] if "goal" in kinds else [cost])


def solve_blend(get: Figures, word: dict[str, str], kinds: set[str]) -> float:
    raws, products = [key[0] for key in get["cost"]], [key[0] for key in get["price"]]
    pairs = list(product(raws, products))
    use, spot = variables("u", pairs), variables("s", pairs, None if "index" in kinds else 0)
    rows = [spot[pair] <= use[pair] for pair in pairs]
    margin = total((get["price"][p,] - get["cost"][r,]) * use[r, p] for r, p in pairs)
    for r in raws:
        rows.append(total(use[r, p] - spot[r, p] for p in products) <= get["supply"][r,])
        if "index" in kinds:
            rows.append(total(spot[r, p] for p in products) <= float(word["cap"]))
    for p in products:
        made = total(use[r, p] for r in raws)
        rows += [made <= get["most"][p,]]
        rows.append(total((get["share"][r,] - get["least_share"][p,]) * use[r, p] for r in raws) >= 0)
        if "contract" in get:
            rows.append(made >= get["contract"][p,])
        if "condition" in kinds:
            run = pulp.LpVariable(f"run{len(rows)}", cat="Binary")
            rows.append(made <= 1e4 * run)
            margin -= float(word["flat"]) * run
        if "limit" in kinds:
            rows.append(100 * use[word["first"], p] <= float(word["part"]) * made)
    if "mixer" in get:
        rows.append(total(use.values()) <= get["mixer"][()])
    if "index" in kinds:
        margin -= float(word["fee"]) * total(spot.values())
    if "surcharge" in kinds:
        margin -= float(word["duty"]) * total(use[word["next"], p] for p in products)
    first = total(use[r, p] for r, p in pairs if p == word["third"])
    return solve(rows, [first, margin] if "goal" in kinds else [margin], pulp.LpMaximize)


def solve_invest(get: Figures, word: dict[str, str], kinds: set[str]) -> float:
    projects, years = [key[0] for key in get["value"]], sorted(key[0] for key in get["budget"])
    take, later = binaries("x", projects), binaries("z", projects)
    rows = [later[p] <= (take[p] if "index" in kinds else 0) for p in projects]
    left = 0
    for place, year in enumerate(years):
        spent = total(get["spend"][p, year] * (take[p] - later[p]) for p in projects)
        if place:
            spent += total(get["spend"][p, years[place - 1]] * later[p] for p in projects)
        left = get["budget"][year,] - spent + (get["keep"][()] / 100 * left if "keep" in get else 0)
        rows.append(left >= 0)
    count = total(take.values())
    if "most" in get:
        rows.append(count <= get["most"][()])
    worth = total(get["value"][p,] * take[p] for p in projects)
    if "index" in kinds:
        worth -= total(get["value"][p,] * float(word["loss"]) / 100 * later[p] for p in projects)
    if "condition" in kinds:
        office = pulp.LpVariable("office", cat="Binary")
        rows.append(count - int(word["bound"]) <= len(projects) * office)
        worth -= float(word["fee"]) * office
    if "choice" in kinds:
        rows.append(take[word["first"]] + take[word["next"]] <= 1)
    if "surcharge" in kinds:
        worth -= float(word["cut"]) * count
    return solve(rows, [count, worth] if "goal" in kinds else [worth], pulp.LpMaximize)


def solve_sequence(get: Figures, word: dict[str, str], kinds: set[str]) -> float:
    """Variables say in which slot an order ends, and where it runs."""
    orders, count = [key[0] for key in get["length"]], int(word["slots"])
    lengths = {(o, False): int(get["length"][o,]) for o in orders}
    if "index" in kinds:
        lengths |= {(o, True): max(1, int(get["length"][o,]) - 1) for o in orders}
    ready = {o: int(get["release"][o,]) if "release" in get else 0 for o in orders}
    places = [
        (o, end, new) for (o, new), length in lengths.items() for end in range(1, count + 1) if end - length >= ready[o]
    ]
    ends = binaries("e", places)
    rows = [total(ends[place] for place in places if place[0] == o) == 1 for o in orders]
    cost = total(get["weight"][o,] * end * ends[o, end, new] for o, end, new in places)
    tariff = sorted(get.get("tariff", {}).items(), key=lambda item: int(item[0][0][1:]))
    for slot in range(1, count + 1):
        for new in (False, True):
            busy = [ends[p] for p in places if p[2] == new and p[1] - lengths[p[0], new] < slot <= p[1]]
            if not busy:
                continue
            rows.append(total(busy) <= (1 if new else get["machines"][()]))
            cost += (tariff[slot - 1][1] if tariff else 0) * total(busy)
            if "closure" in kinds and int(word["slot"][1:]) == slot:
                rows.append(total(busy) == 0)
    late = total(ends[place] for place in places if place[1] > int(word["bound"]))
    if "index" in kinds:
        cost += float(word["fee"]) * total(ends[place] for place in places if place[2])
    if "condition" in kinds:
        cost += float(word["fine"]) * late
    if "choice" in kinds:
        begin = total((end - lengths[o, new]) * ends[o, end, new] for o, end, new in places if o == word["next"])
        rows.append(begin >= total(end * ends[o, end, new] for o, end, new in places if o == word["first"]))
    return solve(rows, [late, cost] if "goal" in kinds else [cost])


def find_optimum(instance: RevisedInstance, folder: Path, *, revised: bool, changed: bool = True) -> float:
    """Solve the independent model with the figures of the files and the changes of the request."""
    for path, content in version_files(instance, revised=revised).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    files, business, sets = Folder(folder), instance.business, instance.data.sets
    get = {parameter.name: files.find(parameter, sets) for parameter in business.parameters}
    kinds = {change.kind for change in instance.changes} if revised and changed else set[str]()
    if revised:
        request = " ".join(files.lines)
        assert all(any(text in request for text in change.texts) for change in instance.changes)
        for cell in instance.cells:
            assert (get[cell.parameter][cell.key] == pytest.approx(cell.value)) == instance.is_in_files
            get[cell.parameter][cell.key] = cell.value
    word = {**instance.data.words, "slots": str(len(sets.get("slot", ())))}
    if "drop" in kinds:
        get = {
            name: {key: value for key, value in figures.items() if word["gone"] not in key}
            for name, figures in get.items()
        }
    return float(globals()[f"solve_{business.class_name}"](get, word, kinds))


def check_instance(instance: RevisedInstance, folder: Path) -> None:
    assert find_optimum(instance, folder / "original", revised=False) == pytest.approx(instance.before, rel=1e-6)
    assert find_optimum(instance, folder / "revised", revised=True) == pytest.approx(instance.after, rel=1e-6)
    unchanged = find_optimum(instance, folder / "unchanged", revised=True, changed=False)
    if any(not change.cells for change in instance.changes):
        assert unchanged != pytest.approx(instance.after, rel=0.015)


@pytest.mark.parametrize("business", list_businesses(), ids=lambda business: business.name)
def test_an_independent_reader_finds_the_optima_and_an_unchanged_program_misses_them(
    tmp_path: Path, business: Business
) -> None:
    instance = draw_instance(np.random.default_rng([5, 3]), business, 1, is_structural=True)
    check_instance(instance, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(1, 41))
def test_the_instances_of_a_set_have_the_optima_of_an_independent_model(tmp_path: Path, number: int) -> None:
    difficulty = 1 + number % 4
    rng, business = np.random.default_rng([number, difficulty]), list_businesses()[(number - 1) % 16]
    check_instance(draw_instance(rng, business, difficulty, is_structural=number % 3 != 0), tmp_path)


def test_a_set_has_texts_that_differ_and_changes_of_the_structure(tmp_path: Path) -> None:
    """The share of words that two documents have in common, in order, is below 0.6 on average within a class."""
    list(write_set(tmp_path / "set", 4, 24, 1))
    notes = [json.loads(line) for line in (tmp_path / "set/vault/changes.jsonl").read_text().splitlines()]
    kinds = [any(change["is_structural"] for change in note["changes"]) for note in notes]
    assert len({note["business"] for note in notes}) == 16
    assert sum(kinds) * 3 >= len(kinds)
    texts: dict[str, list[list[str]]] = {}
    for note in notes:
        docs = tmp_path / f"set/views/or_space_{note['instance_number']:03d}_explain/revised/docs"
        words = [word for path in sorted(docs.iterdir()) for word in path.read_text().split()]
        texts.setdefault(note["domain"], []).append(words)
    assert len(texts) == 8
    shares = [
        SequenceMatcher(None, first, second, autojunk=False).ratio()
        for of_class in texts.values()
        for first, second in combinations(of_class, 2)
    ]
    assert sum(shares) / len(shares) < 0.6


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
