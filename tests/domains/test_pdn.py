import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent._base.errors import CandidateError
from oragent.domains import pdn
from oragent.domains.pdn.network import bumps, chip_admittance, package_admittance

PUBLIC = Path(__file__).parents[3] / "shared" / "data" / "pdn"
public = pytest.mark.skipif(not PUBLIC.is_dir(), reason="the public files of DevFormer are not here")
FEW = pdn.FREQUENCIES[[0, 1, 5, 20, 60, 200]]


@pytest.fixture(scope="module")
def network() -> pdn.Network:
    return pdn.generate()


def tiny(ports: int = 5, keepouts: tuple[int, ...] = (4,), decaps: int = 2, seed: int = 0) -> pdn.PlacementInstance:
    """A ladder of branches and shunts with random values, computed here, probed at port 0."""
    rng = np.random.default_rng(seed)
    omega = 2j * np.pi * FEW[:, None]
    admittance = np.zeros((len(FEW), ports, ports), complex)
    for one, branch in zip(range(ports - 1), 1 / (0.2 + omega * rng.uniform(5e-11, 5e-10, ports - 1)).T, strict=True):
        for a, b in itertools.product((one, one + 1), repeat=2):
            admittance[:, a, b] += branch if a == b else -branch
    admittance += np.eye(ports) / (1 + 1 / (omega * rng.uniform(1e-12, 2e-11, ports)))[:, None, :]
    ladder = pdn.Network.reciprocal(np.linalg.inv(admittance), FEW, "ladder")
    return pdn.PlacementInstance(ladder, 0, np.array(keepouts, dtype=int), decaps)


def test_the_generated_network_is_that_of_the_whole_circuit_solved_at_once() -> None:
    given, omega = pdn.Parameters(), 2j * np.pi * FEW
    chip, package = chip_admittance(given, FEW), package_admittance(given, FEW)
    ports, cells = chip.shape[1], package.shape[1]
    whole = np.zeros((len(FEW), ports + cells, ports + cells), complex)
    whole[:, :ports, :ports], whole[:, ports:, ports:] = chip, package
    bump = 1 / (given.bump_ohms + omega * given.bump_henries)
    for below, above in zip(*bumps(given), strict=True):
        for a, b in itertools.product((above, ports + below), repeat=2):
            whole[:, a, b] += bump if a == b else -bump
    expected = np.moveaxis(np.linalg.inv(whole)[:, :ports, :ports], 0, 2)
    assert np.abs(pdn.generate(frequencies=FEW).impedance / expected - 1).max() < 1e-9


def test_a_branch_of_a_plane_joins_two_cells_and_nothing_leaks_at_the_joint() -> None:
    sums = chip_admittance(pdn.Parameters(), FEW).sum(axis=2)  # branches cancel, shunts remain
    shunt = 1 / (50.0 + 1 / (2j * np.pi * FEW * 1.5e-12))
    assert np.allclose(sums, shunt[:, None], rtol=1e-9)


def test_the_generated_network_is_passive_and_reciprocal(network: pdn.Network) -> None:
    matrices = np.moveaxis(network.impedance, 2, 0)
    assert np.array_equal(matrices, matrices.swapaxes(1, 2))
    assert np.linalg.eigvalsh(matrices.real).min() > 0  # absorbs power whatever flows into its ports


def test_rows_and_columns_of_the_generated_network_are_alike(network: pdn.Network) -> None:
    square = network.impedance.reshape(10, 10, 10, 10, -1)
    assert np.allclose(square, square.transpose(1, 0, 3, 2, 4), rtol=1e-9)


@pytest.mark.parametrize("probe", [0, 44, 5, 72])
def test_the_impedance_is_inductive_then_capacitive_behind_a_resonance_then_inductive(
    network: pdn.Network, probe: int
) -> None:
    seen = network.impedance[probe, probe]
    degrees = np.angle(seen, deg=True)
    peak = int(np.abs(seen[:10]).argmax())
    assert 0.15e9 < pdn.FREQUENCIES[peak] < 0.5e9  # board inductance against the capacitance of chip and package
    assert degrees[0] > 30
    assert degrees[peak + 1 : peak + 3].max() < 0
    assert degrees[40:].min() > 0
    assert (np.abs(degrees) <= 90).all()
    assert 0.1 < np.abs(seen).min() < np.abs(seen).max() < 20
    assert np.abs(seen[-1]) > np.abs(seen[20])


def test_a_port_over_a_bump_sees_less_than_its_neighbours_and_a_corner_sees_most(network: pdn.Network) -> None:
    seen = np.abs(network.impedance.diagonal()[9]).reshape(10, 10)  # at 1 GHz
    for row, column in (divmod(port, 10) for port in bumps(pdn.Parameters())[1]):
        around = seen[row - 1 : row + 2, column - 1 : column + 2]
        assert around.min() == seen[row, column]
    assert seen.max() == pytest.approx(max(seen[0, 9], seen[9, 0], seen[0, 0], seen[9, 9]))


def test_a_generated_network_is_the_same_each_time(network: pdn.Network) -> None:
    assert np.array_equal(pdn.generate().impedance, network.impedance)


def test_a_decap_is_a_tenth_of_a_nanofarad_at_low_and_a_resistance_at_high_frequencies() -> None:
    assert pdn.decap_magnitude(np.array([1e3]))[0] == pytest.approx(1 / (2 * np.pi * 1e3 * 1e-10))
    assert pdn.decap_magnitude(np.array([1e15]))[0] == pytest.approx(0.1436)


@public
def test_frequencies_and_decap_are_those_of_the_public_files() -> None:
    assert np.array_equal(pdn.FREQUENCIES, np.load(PUBLIC / "freq_201.npy"))
    published = np.abs(np.load(PUBLIC / "01nF_decap.npy").reshape(-1))
    assert np.abs(pdn.decap_magnitude(pdn.FREQUENCIES) / published - 1).max() < 2e-6  # the file is rounded


def test_the_objective_is_the_reward_of_the_circuit_with_the_capacitors_built_in() -> None:
    instance = tiny()
    admittance = np.linalg.inv(np.moveaxis(instance.network.impedance, 2, 0))
    admittance[:, [1, 3], [1, 3]] += 1 / pdn.decap_magnitude(FEW)[:, None]
    after = np.abs(np.linalg.inv(admittance)[:, 0, 0])
    before = np.abs(instance.network.impedance[0, 0])
    expected = sum((b - a) / (f / 1e9) for b, a, f in zip(before, after, FEW, strict=True)) / 10
    assert pdn.objective(instance, pdn.check(instance, [3, 1])) == pytest.approx(expected, rel=1e-12)


def test_the_order_of_the_capacitors_does_not_matter(network: pdn.Network) -> None:
    instance = pdn.PlacementInstance(network, 12, np.array([13, 14]))
    placement = instance.free[:20]
    assert pdn.objective(instance, placement[::-1]) == pytest.approx(pdn.objective(instance, placement), rel=1e-12)


def test_capacitors_around_the_probe_do_more_than_capacitors_far_from_it(network: pdn.Network) -> None:
    instance = pdn.PlacementInstance(network, 0, np.array([], dtype=int), decaps=8)
    near, far = np.array([1, 2, 10, 11, 12, 20, 21, 22]), np.array([99, 98, 97, 89, 88, 87, 79, 78])
    assert pdn.objective(instance, near) > pdn.objective(instance, far) + 1


@given(st.integers(0, 2**32 - 1))
def test_drawn_sites_leave_room_for_the_capacitors(seed: int) -> None:
    sites = pdn.draw_sites(np.random.default_rng(seed))
    assert len(sites) == 100
    for probe, keepouts in sites:
        ports = [probe, *keepouts.tolist()]
        assert len(set(ports)) == len(ports) <= 16
        assert set(ports) <= set(range(100))


def test_modes_share_no_instance_and_have_reevos_sizes(network: pdn.Network) -> None:
    sites = pdn.draw_sites(np.random.default_rng(0))
    parts = {mode: pdn.part(mode, sites, network) for mode in ("train", "val", "test")}
    assert {mode: len(part) for mode, part in parts.items()} == {"train": 3, "val": 5, "test": 64}
    kept = [id(one.keepouts) for part in parts.values() for one in part]
    assert len(set(kept)) == len(kept)
    assert parts["val"][0].probe == sites[5][0]
    with pytest.raises(ValueError, match="exam"):
        pdn.part("exam", sites, network)


def test_every_port_but_probe_and_keepouts_is_free() -> None:
    assert tiny(ports=6, keepouts=(4, 2)).free.tolist() == [1, 3, 5]


@pytest.mark.parametrize(
    ("claim", "message"),
    [
        ([1, 0], "on port 0, which is the probe"),
        ([1, 4], "on port 4, which must be kept free"),
        ([1, 1], "two capacitors on port 1"),
        ([1], "has 1 capacitors; expected 2"),
        ([1, 2, 3], "has 3 capacitors; expected 2"),
        ([1, 5], "names port 5; expected 0 to 4"),
        ([1, -1], "names port -1"),
        ([1.0, 2.0], "flat list of whole numbers"),
        ([[1, 2]], "flat list of whole numbers"),
        (None, "not a NoneType"),
    ],
)
def test_what_is_no_placement_is_invalid_and_the_message_says_why(claim: object, message: str) -> None:
    with pytest.raises(CandidateError, match=message) as caught:
        pdn.check(tiny(), claim)
    assert caught.value.status == "invalid"


@pytest.mark.parametrize(
    ("probe", "keepouts", "decaps", "message"),
    [
        (5, [1], 2, "whole numbers, 0 to 4"),
        (0, [-1], 2, "whole numbers, 0 to 4"),
        (0, [1.5], 2, "whole numbers, 0 to 4"),
        (0, [0], 2, "different ports"),
        (0, [1, 1], 2, "different ports"),
        (0, [1], 4, "decaps must be 1 to 3, the number of free ports, not 4"),
        (0, [1], 0, "not 0"),
    ],
)
def test_an_instance_validates_its_ports(probe: int, keepouts: list, decaps: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pdn.PlacementInstance(tiny().network, probe, np.array(keepouts), decaps)


@pytest.mark.parametrize(
    ("impedance", "frequencies", "message"),
    [
        (np.ones((2, 3, 2), complex), FEW[:2], r"shape \(p, p, 2\)"),
        (np.ones((2, 2, 3), complex), FEW[:2], r"shape \(p, p, 2\)"),
        (np.full((2, 2, 1), np.nan, complex), FEW[:1], "finite"),
        (np.ones((2, 2, 1), complex), np.zeros(1), "positive"),
        (np.arange(4.0).reshape(2, 2, 1) + 0j, FEW[:1], "symmetric"),
    ],
)
def test_a_network_validates_its_numbers(impedance: np.ndarray, frequencies: np.ndarray, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pdn.Network(impedance, frequencies, "made up")
