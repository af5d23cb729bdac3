"""Expected model calls of a search, by strategy and role.

The strategies determine the numbers of calls. The sizes of requests were measured with the stand-in model on
``tsp_constructive``. A real model writes longer programs, so its replies are assumed to be longer. For a model without
reasoning, an estimate is right within a factor of two or three.
"""

from collections.abc import Mapping, Sequence

from oragent.evaluation.problem import Problem
from oragent.llm.estimates import RoleProfile, SpendingEstimate, price_calls
from oragent.llm.model import estimate_tokens
from oragent.llm.model_settings import ModelSettings
from oragent.llm.prices import Prices
from oragent.search.config import Config
from oragent.search.strategies import choose_strategy
from oragent.search.strategies.one_shot import OneShotSettings

# Profiles are those of one evaluation; a request is without the system message.
# Tokens of a reply with one program, with several programs, and with prose.
PROGRAM, SEVERAL, WORDS = 700, 2000, 150
# Tokens of the seed of the problem on which requests were measured.
MEASURED_SEED = 190
# Tokens of the result of a scored program in a conversation.
RESULT = 80
# Assumed number of evaluations of a search without a limit on evaluations, calls and tokens.
UNBOUNDED = 200


REPAIRS = RoleProfile("repair", 0.1, 1100, PROGRAM)
DEFAULT = (RoleProfile("code", 1.0, 900, PROGRAM), REPAIRS)
PROFILES: Mapping[str, Sequence[RoleProfile]] = {
    "random": (RoleProfile("i1", 1.0, 410, PROGRAM), REPAIRS),
    "hill_climb": (RoleProfile("code", 1.0, 660, PROGRAM), REPAIRS),
    "funsearch": (RoleProfile("code", 1.0, 930, PROGRAM), REPAIRS),
    "eoh": (RoleProfile("code", 1.0, 700, PROGRAM), REPAIRS),
    "ael": (RoleProfile("code", 1.2, 640, PROGRAM), REPAIRS),
    "reevo": (RoleProfile("code", 1.0, 900, PROGRAM), RoleProfile("reflect", 0.6, 500, WORDS), REPAIRS),
    "mcts_ahd": (RoleProfile("code", 1.0, 750, PROGRAM), RoleProfile("describe", 1.0, 210, WORDS), REPAIRS),
    "tide": (RoleProfile("code", 0.8, 740, PROGRAM), RoleProfile("reflect", 0.3, 480, WORDS), REPAIRS),
    "levi": (RoleProfile("idea", 0.3, 400, PROGRAM), RoleProfile("code", 0.7, 650, PROGRAM), REPAIRS),
    "or_agent": (RoleProfile("idea", 0.4, 1160, SEVERAL), RoleProfile("code", 0.05, 1170, PROGRAM), REPAIRS),
    "portfolio": (RoleProfile("code", 1.0, 950, PROGRAM), RoleProfile("reflect", 0.15, 320, WORDS), REPAIRS),
}
# Rounds of the kind ``tree`` of or_agent, and the other roles of these rounds.
TREE = (
    RoleProfile("idea", 0.2, 1000, WORDS * 3),
    RoleProfile("code", 0.3, 1200, PROGRAM),
    RoleProfile("experiment", 0.7, 1200, SEVERAL / 4),
    RoleProfile("reflect", 0.5, 600, WORDS),
    REPAIRS,
)


def estimate_search(config: Config, problem: Problem, prices: Prices) -> SpendingEstimate:
    """Return the expected model calls and costs of a run; without calls if the strategy uses no model."""
    strategy = choose_strategy(config)
    if not strategy.asks_model or config.model is None:
        return SpendingEstimate()
    system = estimate_tokens(f"{problem.brief}{problem.documentation}") + 150
    knowledge = estimate_tokens(problem.knowledge)
    growth = max(1.0, estimate_tokens(problem.seed) / MEASURED_SEED)
    evaluations = config.budget.evaluations or UNBOUNDED
    planned = []
    for profile in _list_profiles(config):
        model = _model_of(config, profile.role)
        if model is not None:
            planned.append(profile.plan(model, evaluations, system + knowledge, growth))
    return price_calls(planned, prices, config.budget)


def _list_profiles(config: Config) -> Sequence[RoleProfile]:
    name = config.strategy_name
    if name == "one_shot":
        options = choose_strategy(config).own(config)
        assert isinstance(options, OneShotSettings)
        # Each call sends the conversation so far, which has half of all calls on average.
        history = min(options.calls, config.budget.evaluations or UNBOUNDED) / 2 * (PROGRAM + RESULT)
        return (RoleProfile("code", 1.0, 660 + history, PROGRAM), REPAIRS)
    if name == "or_agent" and getattr(getattr(config, "or_agent", None), "rounds", "") == "tree":
        return TREE
    return PROFILES.get(name, DEFAULT)


def _model_of(config: Config, role: str) -> ModelSettings | None:
    by_role = {str(name): settings for name, settings in config.models.items()}
    return by_role.get("code" if role == "repair" and "code" in by_role else role, config.model)
