def solve(data):
    """Build the model with PuLP, solve it, return its variables.

    Args:
        data: dict of the parameters by name.

    Returns:
        dict: "status" (PuLP's), "objective_value", "optimized_vars" (dict of the PuLP variables themselves).
    """
