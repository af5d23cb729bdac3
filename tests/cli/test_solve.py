"""``oragent solve``: any model file, solved and explained."""

import json
from pathlib import Path

import pytest

from tests.cli.test_cli import complaint, oragent

STEEL = """\\ Tons of steel a week (AMPL's steel3)
Maximize
 profit: 25 bands + 30 coils + 29 plate
Subject To
 hours: 0.005 bands + 0.0071428571428571 coils + 0.00625 plate <= 40
Bounds
 1000 <= bands <= 6000
 500 <= coils <= 4000
 750 <= plate <= 3500
End
"""
CLASH = "Minimize\n cost: x\nSubject To\n floor: x >= 3\n roof: x <= 2\nEnd\n"


def test_a_model_is_solved_and_explained(tmp_path: Path) -> None:
    (tmp_path / "steel.lp").write_text(STEEL)
    done = oragent("solve", "steel.lp", "--explain", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for words in ("optimal", "194828.571", "hours", "4640"):
        assert words in done.stdout
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_a_model_without_a_solution_says_why_and_ends_otherwise(tmp_path: Path) -> None:
    (tmp_path / "clash.lp").write_text(CLASH)
    done = oragent("solve", "clash.lp", "--explain", cwd=tmp_path)
    assert done.returncode == 3
    for words in ("infeasible", "floor", "roof"):
        assert words in done.stdout


@pytest.mark.slow
def test_an_infeasible_model_leads_to_the_explanation(tmp_path: Path) -> None:
    (tmp_path / "clash.lp").write_text(CLASH)
    (tmp_path / "steel.lp").write_text(STEEL)
    assert "--explain" in oragent("solve", "clash.lp", cwd=tmp_path).stdout
    assert "--explain" not in oragent("solve", "steel.lp", cwd=tmp_path).stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("gone.json", None),
        ("empty.json", b""),
        ("binary.mps", bytes(range(256))),
        ("other.json", json.dumps({"rows": 3}).encode()),
        ("model.xlsx", b"PK"),
    ],
)
def test_what_is_no_model_is_one_line(tmp_path: Path, name: str, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    assert name in complaint(oragent("solve", name, cwd=tmp_path))
