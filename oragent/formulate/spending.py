"""Expected model calls of a formulation, by method and role.

Half of the formulations are assumed to need a revision.
"""

from collections.abc import Mapping, Sequence

from oragent.llm.estimates import RoleProfile, SpendingEstimate, price_calls
from oragent.llm.model import estimate_tokens
from oragent.llm.model_settings import RuntimeSettings
from oragent.llm.prices import Prices

# Tokens of a reply with a program.
PROGRAM = 900
PROFILES: Mapping[str, Sequence[RoleProfile]] = {
    "two_calls": (RoleProfile("program", 1.5, 1200, PROGRAM), RoleProfile("counterfactual", 1.0, 700, 500)),
    "ormind": (
        RoleProfile("semantic_encoder", 1.0, 300, 300),
        RoleProfile("formalization", 1.0, 600, 400),
        RoleProfile("compiler", 1.0, 900, PROGRAM),
        RoleProfile("counterfactual", 1.0, 700, 500),
        RoleProfile("supervisor_forward", 0.5, 1200, PROGRAM),
        RoleProfile("supervisor_backward", 0.5, 1200, PROGRAM),
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


def list_profiles(method: str) -> Sequence[RoleProfile]:
    """Return the expected calls of a method."""
    return PROFILES.get(method) or (RoleProfile("program", BASELINE_CALLS[method], REQUEST, PROGRAM),)


def estimate_formulation(method: str, text: str, runtime: RuntimeSettings, prices: Prices) -> SpendingEstimate:
    """Return the expected cost of one formulation.

    Args:
        method: Name of the method.
        text: Text of the problem with its data.
        runtime: Settings of models.
        prices: Prices of models.
    """
    if runtime.model is None:
        return SpendingEstimate()
    size = estimate_tokens(text)
    by_role = {str(role): settings for role, settings in runtime.models.items()}
    planned = [profile.plan(by_role.get(profile.role, runtime.model), 1.0, size) for profile in list_profiles(method)]
    return price_calls(planned, prices, runtime.budget)
