"""CPU seconds of one simulation of 600 s: libsumo beside TraCI, and the share of the candidate."""

import resource
import runpy
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from oragent._base.distribution import extra_install_command
from oragent.domains.driving import network
from oragent.domains.driving.control import Controller
from oragent.domains.driving.scenario import Scenario
from oragent.domains.driving.simulation import Connected, Hosted
from oragent.domains.driving.trials import Backend, drive

SEED = Path(__file__).parents[2] / "problems" / "driving" / "heuristic.py"
SEEDS, REPEATS = (42, 43, 44), 5


def cpu_seconds(work: Callable[[], object]) -> float:
    """User and system seconds of this process and of those that it waited for."""
    spent = [-_used(), work(), _used()]
    return spent[0] + spent[2]


def _used() -> float:
    usages = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


class Replay:
    """A controller's answers, noted at the first drive and given again at the next ones: it then takes no time."""

    def __init__(self, controller: Controller) -> None:
        self._controller, self._answers, self._next = controller, [], None

    def __call__(self, edge_info: dict, vehicles_info: list) -> object:
        """Answer."""
        if self._next is not None:
            return next(self._next)
        self._answers.append(self._controller(edge_info, vehicles_info))
        return self._answers[-1]

    def rewind(self) -> "Replay":
        """From now on, give what was noted."""
        self._next = iter(self._answers)
        return self


def main() -> None:
    """Print the table."""
    if find_spec("libsumo") is None or find_spec("sumo") is None:
        print(f"driving: SUMO is not installed, nothing to measure ({extra_install_command('driving')})")
        return
    controller = runpy.run_path(str(SEED))["driving_actions"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        road = network.build(folder)
        print("CPU seconds of 600 simulated seconds under the seed's actions, without the time it takes to choose them")
        total = [0.0, 0.0]
        for scenario in (Scenario(trials, seed) for trials in (2, 3) for seed in SEEDS):
            replay = Replay(controller)
            drive(scenario, road, replay, folder)
            libsumo, traci = (_least(scenario, road, replay, folder, backend) for backend in (Hosted, Connected))
            total = [total[0] + libsumo, total[1] + traci]
            print(row(scenario.name, libsumo, traci))
        print(row("all together", *total))


def row(name: str, libsumo: float, traci: float) -> str:
    """One line of the table."""
    return f"{name:22s} libsumo {libsumo:.2f}, TraCI {traci:.2f}: {traci / libsumo:.1f} times as many"


def _least(scenario: Scenario, road: network.Road, replay: Replay, folder: Path, backend: Backend) -> float:
    return min(  # other work on the machine can only add
        cpu_seconds(lambda: drive(scenario, road, replay.rewind(), folder, backend=backend)) for _ in range(REPEATS)
    )


if __name__ == "__main__":
    main()
