"""The notebooks of the documentation run from their first cells to their last."""

import os
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")
pytest.importorskip("pandas")

ROOT = Path(__file__).parents[1]
TUTORIALS = ROOT / "docs" / "tutorials"
NEEDS = {"neural": "torch", "driving": "libsumo"}


def executed(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run a notebook, and return what its cells printed."""
    for variable in ("IPYTHONDIR", "JUPYTER_DATA_DIR", "JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(variable, str(tmp_path / variable.lower()))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    notebook = nbformat.read(TUTORIALS / f"{name}.ipynb", as_version=4)
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    return "".join(output.get("text", "") for cell in notebook.cells for output in cell.get("outputs", []))


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # of the clients of notebooks, which are not ours
def test_every_cell_of_the_notebook_on_python_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = executed("python_api", tmp_path, monkeypatch)
    assert "the budget of 60 evaluations is used up" in said
    assert "candidates" in said
    assert "oragent.resume(RUN, strategy=climb)" in said
    assert "report.html" in said


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("name", ["first_search", "own_problem", "with_a_model", "compare", "neural", "driving"])
def test_every_cell_of_a_tutorial_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip(NEEDS.get(name, "oragent"))
    executed(name, tmp_path, monkeypatch)


@pytest.mark.parametrize("path", sorted(TUTORIALS.glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_what_it_printed(path: Path) -> None:
    cells = [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    assert cells
    assert all(cell.outputs == [] and cell.execution_count is None for cell in cells)
