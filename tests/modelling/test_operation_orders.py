"""What operations list first."""

from pathlib import Path

import pytest

from oragent.modelling.data.names import with_families
from oragent.modelling.files.lp_reader import read_lp
from oragent.modelling.operations import ModelSession
from oragent.modelling.operations.rendering import number_text

SHOP = """max
 obj: 3 a(1) + 2 a(2) + 5 b(1) + 4 b(2)
st
 first: a(1) + b(1) <= 4
 second: a(2) + b(2) <= 5
 together: a(1) + a(2) + 2 b(1) + 2 b(2) <= 12
end
"""
MOVES = """max
 obj: 9 small + 2 large + huge
st
 one: small <= 2
 two: large <= 7
 three: huge <= 90
end
"""


def test_the_families_that_move_most_come_first() -> None:
    session = ModelSession(with_families(read_lp(MOVES)))
    session.ask("solve")
    moved = session.ask("whatif one += 1; two += 5; three -= 50").moved
    assert [(entry.family, entry.total_after.value - entry.total_before.value) for entry in moved] == [
        ("huge", -50),
        ("large", 5),
        ("small", 1),
    ]


@pytest.mark.parametrize("value", [0.0, -1.0, 999_999_999_999_999.0, 1e15, -1e15, 2e15, 1e16, 0.1, -2.5, 1e300])
def test_numbers_read_back_equal_and_whole_ones_below_1e15_have_no_point(value: float) -> None:
    text = number_text(value)
    assert float(text) == value
    assert text.lstrip("-").isdigit() == (value == int(value) and abs(value) < 1e15)


def test_the_coefficients_that_differ_most_come_first(tmp_path: Path) -> None:
    changed = SHOP.replace("first: a(1) + b(1)", "first: 2 a(1) - 6 b(1)").replace("+ 2 b(2) <= 12", "+ 5 b(2) <= 12")
    (tmp_path / "other.lp").write_text(changed)
    session = ModelSession(with_families(read_lp(SHOP)), folder=tmp_path)
    entries = [entry for entry in session.ask('diff "other.lp"').entries if entry.of == "coefficients"]
    sizes = [abs(new - old) for entry in entries for _, old, new in entry.largest]
    assert sorted(sizes) == [1, 3, 7]
    for entry in entries:
        own = [abs(new - old) for _, old, new in entry.largest]
        assert own == sorted(own, reverse=True)
