"""Where public sets of problems lie on machines that have them."""

from pathlib import Path

import pytest

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "formulation"
with_data = pytest.mark.skipif(not DATA.exists(), reason="the data sets are not on this machine")
