"""A sparse matrix does what the dense one does."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from oragent.modelling.data.arrays import Sparse

dense = arrays(float, st.tuples(st.integers(0, 5), st.integers(1, 5)), elements=st.sampled_from([0.0, 1.0, -2.5, 3.0]))


@given(dense, st.randoms(use_true_random=False))
def test_every_operation_agrees_with_the_dense_matrix(array: np.ndarray, random) -> None:
    matrix, (rows, columns) = Sparse.from_dense(array), array.shape
    point, prices = np.arange(1.0, columns + 1), np.arange(1.0, rows + 1)
    chosen = [random.randrange(rows) for _ in range(3)] if rows else []
    assert matrix.shape == array.shape
    assert matrix.is_zero == (not array.any())
    assert np.array_equal(matrix @ point, array @ point)
    assert np.array_equal(prices @ matrix, prices @ array)
    for found, expected in (
        (matrix, array),
        (abs(matrix), abs(array)),
        (-matrix, -array),
        (matrix.transpose(), array.T),
        (matrix.select_rows(chosen), array[chosen]),
        (matrix.stack_rows(matrix), np.vstack([array, array])),
        (matrix.stack_columns(-matrix, matrix), np.hstack([array, -array, array])),
    ):
        assert np.array_equal(found.to_dense(), expected)


def test_entries_come_in_any_order_of_rows() -> None:
    matrix = Sparse.from_entries([1, 0, 1], [2, 1, 0], [5.0, 6.0, 7.0], (2, 3))
    assert matrix.to_dense().tolist() == [[0, 6, 0], [7, 0, 5]]
    assert matrix.columns.tolist() == [1, 2, 0]
