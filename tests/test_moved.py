"""Former names of modules, which evaluators of users and of earlier runs import."""

from importlib import import_module

import pytest

from oragent._base.moved import MOVED


@pytest.mark.parametrize("former", MOVED)
def test_a_former_name_imports_the_current_module(former: str) -> None:
    pytest.importorskip("torch") if "solvers" in MOVED[former] else None
    assert import_module(former) is import_module(MOVED[former])
