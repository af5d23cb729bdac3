"""One sandbox for all tests of generated programs: its interpreter is warm after the first."""

from collections.abc import Iterator

import pytest

from oragent.formulate.running import Bounds, FormulationRunner
from oragent.sandbox.sandbox import Sandbox


@pytest.fixture(scope="session")
def runner() -> Iterator[FormulationRunner]:
    with Sandbox(2) as box:
        yield FormulationRunner(box, Bounds(program_s=60.0))
