"""Settings that are proposed for a folder, and the runs by which they are chosen; models in files need no program."""

import io
from pathlib import Path

import pytest
import yaml
from rich.console import Console

from oragent._base.errors import WorkspaceError
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_records import Objective, Row, Variable
from oragent.modelling.data.model_values import Relation, Sense
from oragent.modelling.files.model_files import write
from oragent.modelling.operations.results import Figure
from oragent.workspace import adopting, model_commands
from oragent.workspace.adopting import (
    MANY,
    MAX_TRIALS,
    TRIAL_S,
    Adoption,
    ProgramTrial,
    adopt_folder,
    propose_settings,
    try_proposals,
)
from oragent.workspace.sources import FolderState
from tests.workspace.release import put

SOLVES = "import pulp\np.solve()\n"


def write_model(path: Path, limit: float = 4.0, least: float = 0.0) -> None:
    """The optimum is the limit; a larger least amount makes it infeasible."""
    row = Row("most", {"x": 1.0}, Relation.AT_MOST, limit)
    path.parent.mkdir(parents=True, exist_ok=True)
    write(IndexedModel.from_records((Variable("x", least),), (row,), Objective({"x": 1.0}), Sense.MAXIMIZE), path)


@pytest.mark.parametrize(
    ("count", "folder", "kind", "documents"),
    [
        (MANY - 1, "docs", "md", ["docs/0.md", "docs/1.md", "docs/2.md"]), (MANY, "docs", "md", ["docs/*.md"]),
        (MANY - 1, "", "txt", ["0.txt", "1.txt", "2.txt"]), (MANY, "", "txt", ["*.txt"]),
        # A single table in a folder of data stands for those that a revision adds.
        (1, "data", "csv", ["data/*.csv"]), (MANY - 1, "", "csv", ["0.csv", "1.csv", "2.csv"]), (MANY, "", "csv", ["*.csv"]),
    ],
)  # fmt: skip
def test_files_of_one_kind_become_a_pattern(
    tmp_path: Path, count: int, folder: str, kind: str, documents: list[str]
) -> None:
    put(tmp_path, {"plan.py": SOLVES} | {f"{folder}/{at}.{kind}".lstrip("/"): "x" for at in range(count)})
    (proposal,) = propose_settings(tmp_path)
    assert proposal == {"program": "plan.py", ("data" if kind == "csv" else "documents"): documents}


def test_programs_come_by_likelihood_with_their_commands_and_models_after_them(tmp_path: Path) -> None:
    put(tmp_path, {
        "plan.py": SOLVES, "z/other.py": SOLVES, "run.sh": "python plan.py --week 2\npython none.py\n",
        "requirements.txt": "pulp\n", "package.json": "{}", "outputs/old.csv": "x", "logs/run.txt": "x", "LICENSE.md": "x",
        "Notes.MD": "x", "in/T.CSV": "x", "outputs/model.lp": "x", ".hidden/plan.py": SOLVES, ".hidden/a.md": "x",
    })  # fmt: skip
    write_model(tmp_path / "models/a.mps")
    # Files that describe how a project is built, and those of earlier runs, are no documents or data.
    parts = {"documents": ["Notes.MD"], "data": ["in/*.CSV"]}
    assert propose_settings(tmp_path) == [
        {"command": "python plan.py --week 2"} | parts, {"program": "z/other.py"} | parts, {"program": "models/a.mps"} | parts
    ]  # fmt: skip
    put(tmp_path / "written", {"logs/model.lp": "x"})
    # Without a program, models that one of another language wrote count too.
    assert propose_settings(tmp_path / "written") == [{"program": "logs/model.lp"}]
    # What a program wrote is no model of its own.
    put(tmp_path / "both", {"plan.py": SOLVES, "outputs/model.lp": "x"})
    assert propose_settings(tmp_path / "both") == [{"program": "plan.py"}]
    put(tmp_path / "none", {"notes.md": "x"})
    for missing in ("none", "gone"):
        with pytest.raises(WorkspaceError) as caught:
            propose_settings(tmp_path / missing)
        assert "\n" not in str(caught.value)


def test_proposals_are_tried_until_one_solves_a_model(tmp_path: Path) -> None:
    write_model(tmp_path / "a.mps", least=9.0)
    write_model(tmp_path / "b.mps", limit=7.5)
    write_model(tmp_path / "c.mps")
    (tmp_path / "0.mps").write_text("broken")
    (tmp_path / "Käse.md").write_text("Cheese.\n")
    adoption = adopt_folder(tmp_path)
    assert [(trial.entry, trial.status, trial.objective.value, trial.is_solved) for trial in adoption.trials] == [
        ("0.mps", "", None, False), ("a.mps", "infeasible", None, False), ("b.mps", "optimal", 7.5, True)
    ]  # fmt: skip
    assert [bool(trial.reason) for trial in adoption.trials] == [True, False, False]
    assert (adoption.is_solved, adoption.proposal, adoption.untried) == (
        True, {"program": "b.mps", "documents": ["Käse.md"]}, ("c.mps",)
    )  # fmt: skip
    assert yaml.safe_load(adoption.text) == adoption.proposal
    assert "Käse.md" in adoption.text
    assert not (tmp_path / "workspace.yaml").exists()
    assert adopt_folder(tmp_path, write=True).text == (tmp_path / "workspace.yaml").read_text()
    with pytest.raises(WorkspaceError):
        adopt_folder(tmp_path, write=True)


def test_without_a_solved_model_the_likeliest_program_is_proposed(tmp_path: Path) -> None:
    paths = [f"{at}.mps" for at in range(MAX_TRIALS + 2)]
    for path in paths:
        write_model(tmp_path / path, least=9.0)
    adoption = adopt_folder(tmp_path)
    assert (adoption.is_solved, adoption.proposal) == (False, {"program": paths[0]})
    assert [trial.entry for trial in adoption.trials] == paths[:MAX_TRIALS]
    assert adoption.untried == tuple(paths[MAX_TRIALS:])


def test_a_proposal_is_tried_with_a_limit_and_its_problem_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    states = []

    def open_model(state: FolderState) -> None:
        states.append(state)
        raise WorkspaceError("x\n" * 200)

    write_model(tmp_path / "a.mps")
    monkeypatch.setattr(adopting, "open_state_model", open_model)
    adoption = try_proposals(tmp_path, [{"program": "a.mps"}])
    (state,) = states
    assert (state.settings.time, state.settings.program, state.folder) == (TRIAL_S, "a.mps", tmp_path)
    (trial,) = adoption.trials
    assert (len(trial.reason), trial.reason.isprintable(), trial.is_solved, trial.status) == (300, True, False, "")
    # A file that is there, also as a broken link, is never overwritten.
    (tmp_path / "workspace.yaml").symlink_to(tmp_path / "gone")
    with pytest.raises(WorkspaceError):
        adopt_folder(tmp_path, write=True)
    assert not (tmp_path / "gone").exists()
    (tmp_path / "workspace.yaml").unlink()
    monkeypatch.setattr(adopting, "FILE", "no/folder.yaml")
    with pytest.raises(WorkspaceError):
        adopt_folder(tmp_path, write=True)


def test_variables_without_a_default_are_named_unless_they_are_set(tmp_path: Path) -> None:
    text = 'import os\nos.environ["WEEK"]\nos.getenv("AREA")\nos.environ.get("KIND")\nos.getenv("SHOP", "a")\nos.environ.get("DAY", 2)\n'
    put(tmp_path, {"plan.py": text})
    write_model(tmp_path / "a.mps")
    proposals = [{"program": "plan.py"}, {"program": "a.mps"}]
    adoption = try_proposals(tmp_path, proposals[:1])
    assert adoption.variables == ("AREA", "KIND", "WEEK")
    # They are comments, which the user completes.
    assert yaml.safe_load(adoption.text) == proposals[0]
    assert [line for line in adoption.text.splitlines() if line.endswith(": VALUE")] == [
        f"#   {name}: VALUE" for name in adoption.variables
    ]
    named = try_proposals(tmp_path, [proposals[0] | {"environment": {"WEEK": 3, "AREA": "x"}}])
    assert named.variables == ("KIND",)
    assert "VALUE" not in named.text
    assert try_proposals(tmp_path, proposals).variables == ()


@pytest.mark.parametrize("is_solved", [True, False])
@pytest.mark.parametrize("variables", [(), ("AREA",)])
@pytest.mark.parametrize("write", [True, False])
def test_the_command_says_what_was_tried_and_what_is_missing(
    is_solved: bool, variables: tuple[str, ...], write: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    trials = (
        ProgramTrial("src/a.py", reason="no model"),
        *([ProgramTrial("src/b.py", "optimal", Figure.exact(7.0))] if is_solved else []),
    )
    adoption = Adoption({"program": "src/b.py"}, trials, ("src/c.py",), variables)
    monkeypatch.setattr(model_commands, "adopt_folder", lambda folder, write: adoption)
    out = io.StringIO()
    code = model_commands.adopt_command(tmp_path, write, Console(file=out))
    notes = capsys.readouterr().err
    assert (code == 0, adoption.is_solved, out.getvalue()) == (is_solved, is_solved, adoption.text)
    assert "no model" in notes
    assert ("objective 7" in notes) is is_solved
    assert ("variables" in notes, "AREA" in notes) == ((True, True) if variables and not is_solved else (False, False))
    assert str(tmp_path / "workspace.yaml") in notes or not write
    assert "src/c.py" in notes


def test_proposed_settings_keep_their_order() -> None:
    proposal = {"program": "src/b.py", "documents": ["z.md", "a.md"], "data": ["d.csv"]}
    adoption = Adoption(proposal, (), (), ("AREA",))
    settings = [line for line in adoption.text.splitlines() if not line.startswith("#")]
    assert [line.partition(":")[0] for line in settings if line[0].isalpha()] == list(proposal)
    assert "AREA: VALUE" in adoption.text
    assert "AREA: VALUE" not in Adoption(proposal | {"environment": {"AREA": "north"}}, (), (), ("AREA",)).text
