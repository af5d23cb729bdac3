import shutil
from pathlib import Path

import numpy as np
import pytest

from oragent._base.errors import ProblemError
from oragent.domains import pdn

PUBLIC = Path(__file__).parents[3] / "shared" / "data" / "pdn"
public = pytest.mark.skipif(not PUBLIC.is_dir(), reason="the public files of DevFormer are not here")


@pytest.fixture(scope="module")
def network() -> pdn.Network:
    return pdn.generate()


def place_sites(folder: Path, probes: np.ndarray | None = None, counts: np.ndarray | None = None) -> None:
    """Files of the official form: floats, rows of keep-outs filled up with zeros."""
    rows = np.zeros((100, 15))
    rows[:, :2] = [[7, 8]]
    arrays = (np.full(100, 3.0) if probes is None else probes, rows, np.full(100, 2.0) if counts is None else counts)
    for name, array in zip(pdn.SITE_FILES, arrays, strict=True):
        np.save(folder / name, array)


def test_without_files_there_is_nothing_to_read(tmp_path: Path, network: pdn.Network) -> None:
    assert pdn.read_network(tmp_path / "nowhere") is None
    assert pdn.read_sites(tmp_path, network) is None


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
def test_a_file_of_impedances_is_read_as_it_is(tmp_path: Path, network: pdn.Network, dtype: type) -> None:
    np.save(tmp_path / pdn.NETWORK_FILE, np.moveaxis(network.impedance, 2, 0).astype(dtype))
    read = pdn.read_network(tmp_path)
    assert read is not None
    assert read.origin == "official"
    assert np.abs(read.impedance / network.impedance - 1).max() < (1e-15 if dtype is np.complex128 else 1e-6)


def test_a_file_of_magnitudes_is_read_too(tmp_path: Path, network: pdn.Network) -> None:
    np.save(tmp_path / pdn.NETWORK_FILE, np.abs(np.moveaxis(network.impedance, 2, 0)))
    read = pdn.read_network(tmp_path)
    assert read is not None
    assert np.array_equal(read.impedance, np.abs(network.impedance))


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (
            np.ones((201, 100)),
            r"found shape \(201, 100\) and dtype float64, expected numbers of shape \(201, 100, 100\)",
        ),
        (np.ones((20, 100, 100)), r"found shape \(20, 100, 100\)"),
        (np.ones((201, 100, 100), bool), "dtype bool"),
        (np.full((201, 100, 100), np.nan), "found numbers that are not finite"),
        (np.broadcast_to(np.arange(100.0), (201, 100, 100)), "differs by up to 99 ohms between its two directions"),
    ],
)
def test_a_broken_file_of_impedances_gets_one_line_that_names_it(
    tmp_path: Path, array: np.ndarray, message: str
) -> None:
    np.save(tmp_path / pdn.NETWORK_FILE, array)
    with pytest.raises(ProblemError, match=message) as caught:
        pdn.read_network(tmp_path)
    assert str(tmp_path / pdn.NETWORK_FILE) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"<html>not found</html>", b"\x93NUMPY\x01\x00"])
def test_a_file_that_is_no_array_gets_one_line_that_names_it(tmp_path: Path, content: bytes) -> None:
    (tmp_path / pdn.NETWORK_FILE).write_bytes(content)
    with pytest.raises(ProblemError) as caught:
        pdn.read_network(tmp_path)
    assert str(tmp_path / pdn.NETWORK_FILE) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_of_a_row_of_keepouts_only_the_first_ones_count(tmp_path: Path, network: pdn.Network) -> None:
    place_sites(tmp_path, counts=np.arange(100) % 3.0)
    sites = pdn.read_sites(tmp_path, network)
    assert sites is not None
    assert [(probe, keepouts.tolist()) for probe, keepouts in sites[:3]] == [(3, []), (3, [7]), (3, [7, 8])]


def test_a_set_that_is_not_complete_names_the_missing_file(tmp_path: Path, network: pdn.Network) -> None:
    place_sites(tmp_path)
    (tmp_path / pdn.SITE_FILES[2]).unlink()
    with pytest.raises(ProblemError, match="keepout"):
        pdn.read_sites(tmp_path, network)


@pytest.mark.parametrize(
    ("probe", "count", "message"),
    [(8.0, 2.0, "row 6: .* different ports"), (100.0, 2.0, "row 6: .*0 to 99"), (3.0, 3.0, None), (3.0, 4.0, "row 6")],
)
def test_sites_that_cannot_be_are_refused_with_their_row(
    tmp_path: Path, network: pdn.Network, probe: float, count: float, message: str | None
) -> None:
    probes, counts = np.full(100, 3.0), np.full(100, 2.0)
    probes[6], counts[6] = probe, count
    place_sites(tmp_path, probes, counts)
    if message is None:  # the third keep-out is port 0, the fourth would be port 0 again
        assert pdn.read_sites(tmp_path, network) is not None
        return
    with pytest.raises(ProblemError, match=message):
        pdn.read_sites(tmp_path, network)


@public
def test_the_public_probes_and_keepouts_can_be_read(tmp_path: Path, network: pdn.Network) -> None:
    for name in pdn.SITE_FILES:
        shutil.copyfile(PUBLIC / name, tmp_path / name)
    sites = pdn.read_sites(tmp_path, network)
    assert sites is not None
    assert len(pdn.part("test", sites, network)) == 64
    assert {len(keepouts) for _, keepouts in sites} == set(range(16))
