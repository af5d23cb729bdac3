"""Modules that guests must not keep."""

import sys
import types

import pytest

from oragent.sandbox.isolation import modules


@pytest.mark.parametrize("is_remembered", [False, True])
def test_modules_are_found_before_and_after_they_are_remembered(
    monkeypatch: pytest.MonkeyPatch, is_remembered: bool
) -> None:
    names = ["a", "oragent.domains", "oragent.domains.bpp", "oragent._base", "z"]
    monkeypatch.setattr(sys, "modules", {name: types.ModuleType(name) for name in names})
    monkeypatch.setattr(modules, "_names", ())
    if is_remembered:
        modules.remember_modules()
    sys.modules["oragent.solvers.aco"] = sys.modules["y"] = types.ModuleType("y")
    # imported anew
    sys.modules["oragent.domains.bpp"] = sys.modules.pop("oragent.domains.bpp")
    found = modules.find_hidden_modules()
    assert set(found) == {name for name in sys.modules if name.startswith(modules.HIDDEN)}


def test_all_modules_are_looked_at_without_the_mark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "modules", {"oragent.domains.tsp": sys})
    monkeypatch.setattr(modules, "_names", ())
    assert modules.find_hidden_modules() == ["oragent.domains.tsp"]
