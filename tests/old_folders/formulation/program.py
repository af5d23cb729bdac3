import pulp

def solve(data):
    problem = pulp.LpProblem("pharmacy", pulp.LpMinimize)
    p = pulp.LpVariable("painkillers", lowBound=0, cat="Integer")
    s = pulp.LpVariable("sleeping_pills", lowBound=0, cat="Integer")
    problem += 3 * p + 5 * s
    problem += 10 * p + 6 * s <= 3000, "morphine"
    problem += p >= 50, "painkillers_least"
    problem += s >= 0.7 * (p + s), "share"
    problem.solve()
    return {"status": pulp.LpStatus[problem.status], "objective_value": pulp.value(problem.objective),
            "optimized_vars": {"painkillers": p, "sleeping_pills": s}}
