"""The pages on formulation name what there is."""

import re
from pathlib import Path

from oragent.formulate.methods import METHODS
from oragent.formulate.options import ALL, PRESETS, STAND_INS
from oragent_benchmarks.formulate.baselines import BASELINES
from oragent_benchmarks.formulate.sets import FORMS

DOCS = Path(__file__).parents[2] / "docs"
PAGES = "".join(page.read_text() for page in DOCS.glob("formulate*.md"))


def test_every_method_preset_set_and_stand_in_is_named() -> None:
    named = set(re.findall(r"`([\w:-]+)(?:=FILE|=FOLDER)?`", PAGES))
    assert {*METHODS, *BASELINES, *PRESETS, *FORMS, *STAND_INS, ALL, "families", "hard"} - {"ormind"} <= named
