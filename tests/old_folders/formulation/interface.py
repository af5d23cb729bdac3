import pulp
from pulp import LpMaximize, LpMinimize, LpProblem, LpVariable, lpSum


def solve(data):
    """Build the model with PuLP, solve it, return its variables.

    Args:
        data: dict of the parameters by name.

    Returns:
        dict: status, objective_value, and optimized_vars: the PuLP variables themselves by name.
    """
    problem = LpProblem("model", LpMinimize)  # or LpMaximize
    # TO DO: the variables, the objective, and every constraint with a short name
    problem.solve()
    return {
        "status": pulp.LpStatus[problem.status],
        "objective_value": pulp.value(problem.objective),
        "optimized_vars": {variable.name: variable for variable in problem.variables()},
    }
