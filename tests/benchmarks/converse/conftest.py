"""The ten schools, and the set of utilities that all tests of one run share."""

from pathlib import Path

import numpy as np
import pytest

from oragent_benchmarks.converse.evaluable_problems import write_utility_file
from oragent_benchmarks.converse.people.person import Person
from oragent_benchmarks.converse.people.utilities import Target, TimePreference, Utility, solution_centric
from oragent_benchmarks.converse.problems.district import SFUSD
from oragent_benchmarks.converse.problems.exact import Exact, enumerate_schedules
from oragent_benchmarks.converse.problems.schools import sfusd
from tests.benchmarks.converse.worked import UTILITY

SHARED = Path(__file__).resolve().parents[3].parent / "shared" / "data"
SEED = 0


@pytest.fixture(scope="session")
def exact() -> Exact:
    return Exact(enumerate_schedules(SFUSD))


@pytest.fixture(scope="session")
def generated(exact: Exact) -> list[Target]:
    return solution_centric(exact, np.random.default_rng(SEED))


@pytest.fixture
def published() -> Path:
    path = SHARED / "interactive" / "sfusd" / "utilities_regenerated_161.json"
    if not path.is_file():
        pytest.skip("the shared set of utilities is not here")
    return path


@pytest.fixture
def few(tmp_path: Path) -> str:
    """A file with two utilities, the worked one among them."""
    second = Utility(4, TimePreference.LATE, 2600, 11.5, (0.3, 0.3, 0.4))
    problem = sfusd()
    write_utility_file(
        tmp_path / "few.json", problem, [Person(one, problem.exact) for one in (UTILITY, second)], "by hand"
    )
    return str(tmp_path / "few.json")
