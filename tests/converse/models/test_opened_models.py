"""Conversations begin with every kind of model that ``oragent model`` opens."""

import gzip
from pathlib import Path

import pytest

from oragent._base.errors import OragentError
from oragent.converse.models.model_files import read_conversation_model
from oragent.modelling.operations import ModelSession

LP = "maximize\n profit: 3 x + 2 y\nsubject to\n cap: x + y <= 4\n c2: x + 3 y <= 6\nbounds\n x <= 3\nend\n"
PROGRAM = """
import highspy
m = highspy.Highs()
m.silent()
x, y = m.addVariable(ub=3, name="x"), m.addVariable(name="y")
m.addConstr(x + y <= 4, name="cap")
m.addConstr(x + 3 * y <= 6, name="c2")
m.maximize(3 * x + 2 * y)
"""


def write_packed(path: Path) -> None:
    path.write_bytes(gzip.compress(LP.encode()))


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("shop.lp", lambda path: path.write_text(LP)),
        ("shop.lp.gz", write_packed),
        ("shop.py", lambda path: path.write_text(PROGRAM)),
    ],
)
def test_a_file_or_a_program_is_opened_with_its_optimum(
    name: str, write, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / name)
    model = read_conversation_model(str(tmp_path / name))
    # By hand: x = 3, y = 1.
    assert ModelSession(model).ask("solve").objective.value == pytest.approx(11)
    assert model.name
    # What is known of the model of a program is said.
    assert ("captured" in capsys.readouterr().err) == name.endswith(".py")


def test_a_job_shop_is_opened_and_a_folder_without_a_model_is_not(tmp_path: Path) -> None:
    pytest.importorskip("ortools")
    (tmp_path / "small.jsp").write_text("2 2\n0 3 1 2\n1 4 0 1\n")
    model = read_conversation_model(str(tmp_path / "small.jsp"))
    # By hand: the second machine works 4 and 2, the first one 3 and 1; 6 units are needed and enough.
    assert ModelSession(model).ask("solve").objective.value == pytest.approx(6)
    with pytest.raises(OragentError):
        read_conversation_model(str(tmp_path))
