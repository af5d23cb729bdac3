"""Items are revealed in step, and the candidate's process holds none that its function may not know yet."""

import secrets
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from oragent.harness import Guest
from oragent._base.errors import CandidateError
from oragent._base.protocol import Result, parse
from oragent.domains import bpp
from oragent.solvers.constructive import OnlinePacking, TourConstruction, construct_tour, pack_online

PROJECT = Path(__file__).parents[2]
BEST_FIT = "def f(item, room): return -room"
# Items of these tests end in 44 bits that only they have, so no other number of the process is taken for one.
SEARCHES = """
import gc, struct, sys
seen = []
def f(item, room):
    seen.append(item)
    last = number_of(item)
    for found in gc.get_objects():
        if found is seen or found is sys._getframe(0).f_locals:
            continue
        values = found.values() if type(found) is dict else found if type(found) in (list, tuple) else ()
        for value in list(values):
            if type(value) is float and number_of(value) > last:
                raise RuntimeError(f"knows item {number_of(value)} at item {last}")
    return -room
def number_of(value):
    bits = struct.unpack("<Q", struct.pack("<d", value))[0]
    return bits >> 44 & 0xFF if bits & (1 << 44) - 1 == MARK else -1
"""


def mark_item(number: int, mark: int) -> float:
    """Return a float in [1, 2) that contains a number and a mark of 44 bits."""
    return float(np.uint64(0x3FF << 52 | number << 44 | mark).view(np.float64))


class Items:
    """Shows each item and nothing else."""

    def arguments(self, item: float) -> tuple[float, np.ndarray]:
        return (item, np.ones(1))

    def choose(self, answer: object) -> float:
        return float(np.asarray(answer)[0])

    def apply(self, decision: float) -> None:
        pass


@pytest.fixture
def guest_of(tmp_path: Path) -> Iterator[Callable[..., Guest]]:
    guests = []

    def make(body: str, state: type, **options: bool) -> Guest:
        path = tmp_path / f"heuristic{len(guests)}.py"
        path.write_text(f"import numpy as np\n{body}\n")
        guests.append(Guest(path, "f", state=state, **options))
        return guests[-1]

    yield make
    for guest in guests:
        guest.__exit__()


def test_decisions_are_those_of_a_loop_in_one_process(guest_of: Callable[..., Guest]) -> None:
    rng = np.random.default_rng(3)
    instances = [bpp.generate_weibull(rng, size) for size in (40, 25, 1)]
    guest = guest_of(BEST_FIT, OnlinePacking)
    starts = [(len(instance), instance.capacity) for instance in instances]
    packings = guest.reveal(starts, [instance.items for instance in instances])
    assert packings == [pack_online(lambda _, room: -room, one.items, one.capacity) for one in instances]
    assert guest.call_count == 66


def test_tours_are_those_of_a_loop_in_one_process(guest_of: Callable[..., Guest]) -> None:
    def nearest(
        current_node: int, destination_node: int, unvisited_nodes: set[int], distance_matrix: np.ndarray
    ) -> int:
        return min(unvisited_nodes, key=lambda city: distance_matrix[current_node, city])

    points = np.random.default_rng(5).random((2, 12, 2))
    distances = np.linalg.norm(points[:, :, None] - points[:, None], axis=-1)
    guest = guest_of(
        "def f(current_node, destination_node, unvisited_nodes, distance_matrix):\n"
        "    return min(unvisited_nodes, key=lambda city: distance_matrix[current_node, city])",
        TourConstruction,
    )
    tours = guest.reveal([(matrix,) for matrix in distances], [[None] * 11] * 2)
    assert [[0, *tour] for tour in tours] == [construct_tour(nearest, matrix) for matrix in distances]


def test_no_later_item_is_in_the_process(guest_of: Callable[..., Guest]) -> None:
    mark = secrets.randbits(44)
    guest = guest_of(f"MARK = {mark}\n{SEARCHES}", Items)
    # after the fork, as in an evaluation
    items = [mark_item(number, mark) for number in range(6)]
    assert guest.reveal([()], [items]) == [[-1.0] * 6]


def test_the_search_finds_what_is_there(guest_of: Callable[..., Guest]) -> None:
    mark = secrets.randbits(44)
    later = mark_item(29, mark)
    guest = guest_of(f"MARK = {mark}\nfuture = [{later!r}]\n{SEARCHES}", Items)
    with pytest.raises(CandidateError, match="29"):
        guest.reveal([()], [[mark_item(0, mark)]])


def test_a_failure_names_the_step(guest_of: Callable[..., Guest]) -> None:
    guest = guest_of(
        "def f(item, room): return room / 0 if item > 2 else room[:1] if item > 1 else room", OnlinePacking
    )
    guest.where = "size 3, instances 0 to 1"
    with pytest.raises(CandidateError, match=r"step 1\)") as caught:
        guest.reveal([(3, 10), (3, 10)], [[1, 2, 3], [1, 1, 1]])
    assert caught.value.status == "invalid"


@pytest.mark.parametrize(
    "body",
    [
        "import oragent.domains.bpp\ndef f(item, room): return -room",
        "import sys\nassert any(name.startswith('oragent.domains') for name in sys.modules)\ndef f(item, room): return -room",
    ],
)
def test_the_project_cannot_be_imported(guest_of: Callable[..., Guest], body: str) -> None:
    guest = guest_of(body, OnlinePacking, forgets_project=True)
    with pytest.raises(CandidateError):
        guest.reveal([(3, 10)], [[1, 2, 3]])


# all ways to the generators of instances: imports, files, and functions that are still in memory
GENERATES = """
import gc, glob, sys, types
import numpy as np
found = []
try:
    import oragent.domains.bpp as generators
    found.append("import")
except ImportError:
    pass
for folder in sys.path:
    found += glob.glob(f"{folder}/oragent/domains/*.py")
for item in gc.get_objects():
    if isinstance(item, types.FunctionType) and item.__name__ == "weibull_stream":
        try:
            found.append(item("val", 5000)[0].items[0])
        except Exception:
            pass
words = [str(word) for word in sys.argv + getattr(sys, "orig_argv", [])]
found += [word for word in words if "4711" in word]
def priority(item, bins_remain_cap):
    if found:
        raise RuntimeError(f"got through: {found}")
    return -bins_remain_cap
"""


@pytest.mark.slow
@pytest.mark.parametrize("options", [["--mode=train"], ["--mode=fresh", "--fresh_seed=4711", "--problem_size=5000"]])
def test_a_candidate_of_bpp_online_finds_neither_generators_nor_the_seed(options: list[str], tmp_path: Path) -> None:
    (tmp_path / "heuristic.py").write_text(GENERATES)
    evaluator = PROJECT / "problems" / "bpp_online" / "eval.py"
    words = [sys.executable, evaluator, f"--root_dir={PROJECT}", f"--candidate={tmp_path / 'heuristic.py'}", *options]
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    assert isinstance(parse(ended.stdout), Result), ended.stdout[-600:]
