"""The page on formulation names what there is."""

import re
from pathlib import Path

from oragent.formulate.methods import METHODS
from oragent.formulate.options import ALL, PRESETS, STAND_INS
from oragent_benchmarks.formulate.baselines import BASELINES
from oragent_benchmarks.formulate.sets import FORMS

PAGE = (Path(__file__).parents[2] / "docs" / "formulate.md").read_text()


def test_every_method_preset_set_and_stand_in_is_named() -> None:
    named = set(re.findall(r"`([\w:-]+)(?:=FILE|=FOLDER)?`", PAGE))
    assert {*METHODS, *BASELINES, *PRESETS, *FORMS, *STAND_INS, ALL, "families", "hard"} - {"ormind"} <= named
