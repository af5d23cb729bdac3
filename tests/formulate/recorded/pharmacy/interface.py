def solve(data):
    """Build the model with PuLP, solve it, return its variables.

    Args:
        data: dict of the parameters by name.

    Returns:
        dict: {"status": pulp.LpStatus[problem.status], "objective_value": pulp.value(problem.objective),
        "optimized_vars": dict of the PuLP variables themselves by name}.
    """
