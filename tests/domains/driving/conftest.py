"""A road and a quick scenario, where SUMO is installed."""

from pathlib import Path

import pytest

from oragent.domains.driving import network
from oragent.domains.driving.network import Road
from tests.extras import need


@pytest.fixture(scope="session")
def road(tmp_path_factory: pytest.TempPathFactory) -> Road:
    need("libsumo", "sumo")
    return network.build(tmp_path_factory.mktemp("road"))


@pytest.fixture
def left_nothing(tmp_path: Path):
    """Give a folder for simulations, and see to it that they leave nothing there."""
    yield tmp_path
    assert list(tmp_path.iterdir()) == []
