"""Verbs on existing git repositories of teams; every optimum is computed again by brute force or by SciPy."""

import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from oragent._base.errors import ConfigError, OragentError, WorkspaceError
from oragent._base.terminal import Terminal
from oragent.cli.app import app
from oragent.workspace.adopting import adopt_folder
from oragent.workspace.model_commands import VerbCommands
from oragent.workspace.settings import NO_OPTIONS
from tests.workspace import teams

pytest.importorskip("pyomo")
pytest.importorskip("ortools")
pytest.importorskip("gurobipy")
pytest.importorskip("openpyxl")


def ask(folder: Path, perform: Callable[[VerbCommands], int]) -> tuple[int, dict[str, Any]]:
    """Exit code and JSON result of a verb."""
    out = io.StringIO()
    code = perform(VerbCommands(folder, Terminal(file=out), NO_OPTIONS, as_json=True))
    return code, json.loads(out.getvalue())


def shipments_case() -> tuple[Any, ...]:
    before = teams.shipments_optimum([40, 30, 20], [70, 60])
    after = teams.shipments_optimum([40, 30, 20], [70, 45])
    return teams.make_shipments, "inputs/plants.csv[Metz, capacity] = 45", before, after


def shop_case() -> tuple[Any, ...]:
    changed = [("tent", 60, 10), ("stove", 100, 20), ("rope", 170, 30), ("lamp", 40, 7)]
    return (
        teams.make_shop,
        "shop.db#items[rope, value]=170",
        teams.shop_optimum(teams.ITEMS, 50),
        teams.shop_optimum(changed, 50),
    )


def mix_case() -> tuple[Any, ...]:
    before, after = (teams.mix_optimum(teams.PRODUCTS, hours) for hours in (60, 47))
    return teams.make_mix, "mix.xlsx#Limits[hours, value] = 47", before, after


@pytest.mark.slow
@pytest.mark.parametrize("case", [shipments_case, shop_case, mix_case])
def test_a_team_adopts_its_folder_runs_it_and_changes_a_cell(case, tmp_path):
    make, change, before, after = case()
    folder = make(tmp_path / "team")
    adopt_folder(folder, write=True)
    teams.commit(folder, "Adopt")
    state = teams.state_of(folder)
    code, run = ask(folder, lambda verbs: verbs.run())
    assert (code, run["status"], run["verdict"]) == (0, "optimal", "optimal")
    assert run["objective"]["value"] == pytest.approx(before)
    code, effect = ask(folder, lambda verbs: verbs.try_changes([change]))
    assert code == 0
    assert effect["objective"]["before"]["value"] == pytest.approx(before)
    assert effect["objective"]["after"]["value"] == pytest.approx(after)
    assert effect["entries"]
    assert teams.state_of(folder) == state


@pytest.fixture(scope="module")
def shipments(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository in which the branch ``share`` adds a rule with a parameter, and changes a demand."""
    folder = teams.make_shipments(tmp_path_factory.mktemp("shipments"))
    adopt_folder(folder, write=True)
    settings = (folder / "workspace.yaml").read_text()
    (folder / "workspace.yaml").write_text(settings.replace("- inputs/demand.csv", "- inputs/*.csv"))
    teams.commit(folder, "Adopt")
    teams.git(folder, "checkout", "--quiet", "-b", "share")
    (folder / "plan.py").write_text(teams.PYOMO.replace("# rules\n", teams.SHARE))
    (folder / "inputs/rules.csv").write_text("rule,value\nshare,0.6\n")
    (folder / "inputs/demand.csv").write_text(teams.CSV["inputs/demand.csv"].replace("Paris,40", "Paris,44"))
    teams.commit(folder, "Ship a share from Brest")
    return folder


@pytest.mark.slow
def test_verify_tests_preservation_and_gives_the_effect_of_each_change(shipments):
    before, new = teams.shipments_optimum([40, 30, 20], [70, 60]), teams.shipments_optimum([44, 30, 20], [70, 60], 0.6)
    code, result = ask(shipments, lambda verbs: verbs.verify("main", "share", ["inputs/rules.csv[share, value] = 0"]))
    assert code == 0
    assert result["preservation"]["objective"]["value"] == pytest.approx(before)
    assert result["objective"]["difference"]["value"] == pytest.approx(new - before)
    effects = {(entry["of"], entry["name"]): entry["effect"]["value"] for entry in result["entries"]}
    demand_alone = teams.shipments_optimum([44, 30, 20], [70, 60]) - before
    assert effects["data", "demand"] == pytest.approx(demand_alone)
    assert effects["rows", "share"] == pytest.approx(new - before - demand_alone)
    assert {(edit["row"], edit["before"], edit["after"]) for edit in result["edits"]} == {
        ("Paris", "40", "44"), ("share", None, "0.6")
    }  # fmt: skip
    code, result = ask(shipments, lambda verbs: verbs.verify("main", "share", []))
    assert (code, result["preservation"]["holds"]) == (1, False)


def test_an_audit_names_planned_unplanned_and_missing_edits(shipments, tmp_path):
    plan = tmp_path / "plan.txt"
    plan.write_text('# agreed\ninputs/demand.csv[Paris, "tons [t]"] = 44\ninputs/plants.csv[Metz, capacity] = 80\n')
    code, result = ask(shipments, lambda verbs: verbs.audit("main", "share", plan))
    assert code == 1
    assert {edit["path"]: edit["planned"] for edit in result["edits"]} == {
        "inputs/demand.csv": True, "inputs/rules.csv": False
    }  # fmt: skip
    assert result["missing"] == ["inputs/plants.csv[Metz, capacity] = 80"]
    plan.write_text('inputs/demand.csv[Paris, "tons [t]"] = 44\ninputs/rules.csv[share, value] = 0.6\n')
    assert ask(shipments, lambda verbs: verbs.audit("main", "share", plan))[0] == 0
    plan.write_text('inputs/demand.csv[Paris, "tons [t]"] = 45\ninputs/rules.csv[share, value] = 0.6\n')
    assert ask(shipments, lambda verbs: verbs.audit("main", "share", plan))[0] == 1
    assert ask(shipments, lambda verbs: verbs.audit("main", "share", None))[0] == 0


@pytest.mark.slow
def test_prices_conflicts_and_repairs_of_a_revision(shipments, tmp_path):
    base = teams.shipments_optimum([40, 30, 20], [70, 60])
    code, result = ask(shipments, lambda verbs: verbs.ask("price", ["price room[Metz]"], "main"))
    (member,) = result["results"][0]["members"]
    assert member["price_up"]["value"] == pytest.approx(teams.shipments_optimum([40, 30, 20], [70, 61]) - base)
    assert member["price_down"]["value"] == pytest.approx(teams.shipments_optimum([40, 30, 20], [70, 59]) - base)
    (shipments / "inputs/plants.csv").write_text("plant,capacity\nBrest,50\nMetz,30\n")
    try:
        code, result = ask(shipments, lambda verbs: verbs.run())
        assert (code, result["status"]) == (3, "infeasible")
        code, result = ask(shipments, lambda verbs: verbs.ask("repair", ["repair room"]))
        # demand of 94 t, room for 80 t
        assert result["results"][0]["total"]["value"] == pytest.approx(14)
    finally:
        teams.git(shipments, "checkout", "--", "inputs/plants.csv")


def test_the_command_line_takes_two_revisions_and_prints_one_document(shipments):
    words = ["workspace", "audit-edits", str(shipments), "main", "share", "--json"]
    ended = CliRunner().invoke(app, words)
    document = json.loads(ended.stdout)
    assert (ended.exit_code, document["exit_code"]) == (0, 0)
    assert {edit["row"] for edit in document["result"]["edits"]} == {"Paris", "share"}


CI = """set -e
base=$1
head=$2
oragent() { "$PYTHON" -m oragent "$@"; }
for part in data rules; do
  mkdir -p "$RESULTS/$part"
done
oragent workspace audit-edits . "$base" "$head" --plan plan.txt --json > "$RESULTS/data/audit.json"
oragent workspace verify . "$base" "$head" \\
  --neutral "inputs/rules.csv[share, value]=0" --json > "$RESULTS/rules/verify.json"
"$PYTHON" - "$RESULTS/rules/verify.json" <<'END'
import json, sys
result = json.load(open(sys.argv[1]))["result"]
print(result["objective"]["difference"]["value"])
END
"""


@pytest.mark.slow
def test_fifteen_lines_of_a_teams_ci_judge_a_pull_request(shipments, tmp_path):
    assert len(CI.splitlines()) <= 15
    plan = shipments / "plan.txt"
    plan.write_text('inputs/demand.csv[Paris, "tons [t]"] = 44\ninputs/rules.csv[share, value] = 0.6\n')
    environment = {"PYTHON": sys.executable, "RESULTS": str(tmp_path), "PATH": "/usr/bin:/bin", "PYTHONPATH": str(
        Path(__file__).parents[2]), "HOME": str(tmp_path)}  # fmt: skip
    words = ["bash", "-c", CI, "ci", "main", "share"]
    try:
        passed = subprocess.run(words, cwd=shipments, env=environment, capture_output=True, text=True)
        assert passed.returncode == 0, passed.stderr
        step = teams.shipments_optimum([44, 30, 20], [70, 60], 0.6) - teams.shipments_optimum([40, 30, 20], [70, 60])
        assert float(passed.stdout) == pytest.approx(step)
        plan.write_text("inputs/rules.csv[share, value] = 0.6\n")
        assert subprocess.run(words, cwd=shipments, env=environment, capture_output=True).returncode == 1
    finally:
        plan.unlink()


def test_bad_input_is_one_line(shipments):
    verbs = VerbCommands(shipments, Terminal(file=io.StringIO()), NO_OPTIONS, as_json=True)
    cell = "inputs/plants.csv[Metz, capacity] = 80"
    for perform in (
        lambda: verbs.run("no-such-branch"),
        lambda: verbs.run("--all"),
        lambda: verbs.run("main:../plan.py"),
        lambda: verbs.try_changes(["inputs/plants.csv[Mets, capacity] = 80"]),
        lambda: verbs.try_changes(["inputs/plants.csv[Metz, capacities] = 80"]),
        lambda: verbs.try_changes(["inputs/plants.csv[Metz, capacity] = lots"]),
        lambda: verbs.try_changes(["other.csv[Metz, capacity] = 80"]),
        lambda: verbs.try_changes([cell, "room[Metz] = 4"]),
        lambda: verbs.verify("main", "share", ["capacity = 4"]),
    ):
        with pytest.raises((WorkspaceError, ConfigError, OragentError)) as caught:
            perform()
        assert "\n" not in str(caught.value)
