"""Damaged models are refused; entries and sets of files have their order."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from oragent._base.errors import ModellingError
from oragent.modelling.data.arrays import Sparse
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.opening import open_model
from tests.modelling.shops import fixed_shop


def with_rows(model: IndexedModel, **parts: object) -> IndexedModel:
    """The model with a changed first family of rows."""
    return replace(model, rows=(replace(model.rows[0], **parts), *model.rows[1:]))


def test_a_model_whose_families_do_not_fit_it_is_refused() -> None:
    model = fixed_shop(1).model()
    room = model.rows[0]
    assert model.check() is model
    for parts in (
        {"positions": np.array([0, 0])},
        {"positions": np.array([0, 4])},
        {"positions": np.array([0]), "keys": room.keys[:1]},
        {"keys": np.array([[0], [2]], dtype=np.int32)},
        {"keys": np.array([[-1], [0]], dtype=np.int32)},
        {"keys": room.keys[:1]},
        {"keys": np.hstack([room.keys, room.keys])},
        {"name": "need"},
    ):
        with pytest.raises(ModellingError):
            with_rows(model, **parts).check()


def test_entries_of_a_row_keep_their_order_in_large_matrices() -> None:
    random = np.random.default_rng(3)
    lines, columns = random.integers(0, 5, 200), random.permutation(200)
    matrix = Sparse.from_entries(lines, columns, columns + 0.5, (5, 200))
    for row in range(5):
        entries = slice(matrix.starts[row], matrix.starts[row + 1])
        assert matrix.columns[entries].tolist() == columns[lines == row].tolist()
        assert matrix.values[entries].tolist() == (columns[lines == row] + 0.5).tolist()


FAMILIES = """maximize
 worth: 2 s_b + s_a + s_c
subject to
 need_b: s_b <= 1
 need_a: s_a <= 2
 need_c: s_c <= 3
end
"""


def test_sets_of_a_file_are_guessed_and_time_is_an_order(tmp_path: Path) -> None:
    (tmp_path / "model.lp").write_text(FAMILIES)
    model = open_model(tmp_path / "model.lp")
    (family,) = model.variables
    assert (family.is_guessed, len(family)) == (True, 3)
    (index_set,) = model.sets
    assert (index_set.is_ordered, index_set.is_guessed) == (False, True)
    (tmp_path / "model.families.yaml").write_text(f"sets:\n  {index_set.name}: {{name: when, time: true}}\n")
    (when,) = open_model(tmp_path / "model.lp").sets
    assert (when.name, when.is_ordered, when.is_time, when.is_guessed) == ("when", True, True, False)
