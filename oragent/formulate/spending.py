"""Expected model calls of a formulation, by method and role.

Half of the formulations are assumed to need a revision.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from oragent.llm.estimates import PlannedCalls, SpendingEstimate, price_calls
from oragent.llm.model import estimate_tokens
from oragent.llm.model_settings import RuntimeSettings
from oragent.llm.prices import Prices


@dataclass(frozen=True)
class ModuleProfile:
    """Calls of a module of a method."""

    role: str
    calls: float
    # Tokens of its instructions and of earlier outputs, without the problem.
    request: float
    reply: float


PROGRAM = 900
PROFILES: Mapping[str, Sequence[ModuleProfile]] = {
    "two_calls": (ModuleProfile("program", 1.5, 1200, PROGRAM), ModuleProfile("counterfactual", 1.0, 700, 500)),
    "ormind": (
        ModuleProfile("semantic_encoder", 1.0, 300, 300),
        ModuleProfile("formalization", 1.0, 600, 400),
        ModuleProfile("compiler", 1.0, 900, PROGRAM),
        ModuleProfile("counterfactual", 1.0, 700, 500),
        ModuleProfile("supervisor_forward", 0.5, 1200, PROGRAM),
        ModuleProfile("supervisor_backward", 0.5, 1200, PROGRAM),
    ),
}
# Number of calls of the baselines of the benchmarks, each with a program or a thought.
BASELINE_CALLS = {
    "standard": 1,
    "cot": 1,
    "progressive_hint": 3,
    "tot": 7,
    "got": 7,
    "react": 4,
    "reflexion": 3,
    "spp": 1,
    "coe": 6,
    "optimus": 4,
}
REQUEST = 800


def list_profiles(method: str) -> Sequence[ModuleProfile]:
    """Return the expected calls of a method."""
    return PROFILES.get(method) or (ModuleProfile("program", BASELINE_CALLS[method], REQUEST, PROGRAM),)


def plan_calls(method: str, text: str, runtime: RuntimeSettings, count: int = 1) -> list[PlannedCalls]:
    """Return the expected calls for formulations of a method.

    Args:
        method: Name of the method.
        text: Text of a problem with its data, or one of typical length.
        runtime: Settings of models.
        count: Number of formulations.
    """
    if runtime.model is None:
        return []
    size, profiles = estimate_tokens(text), list_profiles(method)
    by_role = {str(role): settings for role, settings in runtime.models.items()}
    return [
        PlannedCalls(
            profile.role,
            by_role.get(profile.role, runtime.model),
            count * profile.calls,
            size + profile.request,
            profile.reply,
        )
        for profile in profiles
    ]


def estimate_formulation(method: str, text: str, runtime: RuntimeSettings, prices: Prices) -> SpendingEstimate:
    """Return the expected cost of one formulation."""
    return price_calls(plan_calls(method, text, runtime), prices, runtime.budget)
