"""Our own families as a set: seeded, with exact models and proven optima, of nobody's data."""

from oragent._base.errors import ConfigError
from oragent.evals.formulate.sets.labelled import Label, Labelled, ProblemSet, slug
from oragent.formulate.problem import ProblemText
from oragent.milp.families import FAMILIES

SIZE = 3


def family_set(size: str = "", seeds: int = 2) -> ProblemSet:
    """All families, some seeds each.

    Args:
        size: Of each instance; empty for a small one.
        seeds: How many, from 1 on.

    Raises:
        ConfigError: The size is no number.
    """
    if size and not (size.isdecimal() and 2 <= int(size) <= 50):
        raise ConfigError(f"families={size}: expected a size from 2 to 50")
    cases = []
    for name, generate in FAMILIES.items():
        for seed in range(1, seeds + 1):
            one = generate(seed, int(size or SIZE))
            problem = ProblemText(slug(f"{name}-{seed}"), one.text, one.data)
            cases.append(Labelled(problem, Label(one.optimum), one.milp))
    return ProblemSet("families", f"{len(FAMILIES)} families of our own, proven optima", tuple(cases))
