"""``oragent report``: the page exists before slow evaluations."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

import oragent
from oragent.authoring import new
from oragent.cli import runs
from oragent.cli.app import app


@pytest.mark.slow
def test_the_page_is_written_before_the_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = new("sack", tmp_path, "minimal")
    run = oragent.run(folder, strategy="gp", seed=0, evaluations=3, outputs=tmp_path / "outputs").folder
    page = run / "report.html"
    assert not page.exists()
    states = []
    monkeypatch.setattr(runs, "_check_best", lambda path: states.append(page.is_file()))
    result = CliRunner().invoke(app, ["report", str(run)])
    assert result.exit_code == 0, result.output
    assert states == [True]
