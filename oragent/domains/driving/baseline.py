"""How many vehicles SUMO's own drivers bring through: what the score compares with.

The figures of the shipped scenarios are kept in a file, each with a digest of all that decides it: road, demand,
options, and SUMO's version. Where the digest is another one, as with another SUMO, the figure is simulated on the spot.
"""

import json
from collections.abc import Callable, Iterable
from pathlib import Path

from oragent._base.errors import ProblemError
from oragent.domains.driving import network
from oragent.domains.driving.drive import throughput
from oragent.domains.driving.network import Road
from oragent.domains.driving.rules import SumoRules
from oragent.domains.driving.scenario import Scenario


class DrivingBaseline:
    """Throughputs of SUMO's own drivers.

    Args:
        file: what `write` wrote; it may be missing.
        roads: gives the road of some rules.
        folder: writable, for simulations.
    """

    def __init__(self, file: Path, roads: Callable[[SumoRules], Road], folder: Path) -> None:
        self._kept = _read_figures(file) if file.is_file() else {}
        self._roads, self._folder = roads, folder

    def throughput(self, scenario: Scenario) -> int:
        """Return the figure of a scenario, positive.

        Raises:
            ProblemError: if it must be simulated and SUMO fails, or if nobody gets through.
        """
        count = self._kept.get(scenario.digest)
        if count is None:
            count = self._kept[scenario.digest] = throughput(scenario, self._roads(scenario.rules), self._folder)
        if count <= 0:
            raise ProblemError(f"SUMO's own drivers bring nobody through ({scenario.name}): no throughput to compare")
        return count


def write(file: Path, scenarios: Iterable[Scenario], roads: Callable[[SumoRules], Road], folder: Path) -> None:
    """Simulate scenarios and keep their figures."""
    figures = [
        {
            "name": scenario.name,
            "trials": scenario.trials,
            "seed": scenario.seed,
            "horizon": scenario.horizon,
            "digest": scenario.digest,
            "throughput": throughput(scenario, roads(scenario.rules), folder),
        }
        for scenario in scenarios
    ]
    content = {
        "what": "vehicles that SUMO's own drivers bring to their destinations",
        "made with": f"eclipse-sumo and libsumo {network.versions()}",
        "figures": figures,
    }
    file.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def _read_figures(file: Path) -> dict[str, int]:
    try:
        figures = json.loads(file.read_text(encoding="utf-8"))["figures"]
        return {str(row["digest"]): int(row["throughput"]) for row in figures}
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise ProblemError(f"{file} is broken ({problem!r}); 'python problems/driving/references.py --write'") from None
