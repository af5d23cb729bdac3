"""Who takes part in a benchmark: methods, their ablations, models, temperatures."""

from collections.abc import Mapping, Sequence
from typing import Any

from oragent.formulate.methods import METHODS
from oragent.formulate.options import EXTRAS, PARTS, Options, chosen, known

# The rows of the published table of ablations, in its order.
ABLATIONS: tuple[Mapping[str, Any], ...] = (
    {"method": "ormind"},
    *({"method": "ormind", "with": [name]} for name in EXTRAS),
    *({"method": "ormind", "without": [name]} for name in PARTS),
    {"method": "standard"},
)


def contestants(
    methods: Sequence[str], models: Sequence[str], temperatures: Sequence[float] = (0.0,), ablations: bool = False
) -> dict[str, dict[str, Any]]:
    """Name and settings of everyone who takes part.

    Raises:
        ConfigError: A method is unknown.
    """
    rows: list[Mapping[str, Any]] = [{"method": known(name, METHODS, "method")} for name in methods]
    if ablations:
        rows = [*ABLATIONS, *(row for row in rows if row not in ABLATIONS)]
    found = {}
    for model in models:
        for temperature in temperatures:
            for row in rows:
                own = {**row, "model": model, "temperature": temperature}
                label = options_of(own, {}).label
                label += f", {model}" if len(models) > 1 else ""
                label += f", temperature {temperature:g}" if len(temperatures) > 1 else ""
                found[label] = own
    return found


def options_of(own: Mapping[str, Any], settings: Mapping[str, Any]) -> Options:
    """The options of a contestant, with what all have in common."""
    return chosen(
        settings.get("preset", "default"),
        method=own["method"],
        without=frozenset(own.get("without", ())) or None,
        extra=tuple(own.get("with", ())) or None,
        temperature=own.get("temperature"),
        accept_infeasible=settings.get("accept_infeasible"),
        witness=settings.get("witness"),
        battery=settings.get("battery"),
    )
