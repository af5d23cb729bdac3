"""Investment over periods: shares of projects, and cash put by at interest, for the most money at the end."""

from oragent.milp.families.instance import FamilyInstance, listed, names, proven, stream
from oragent.milp.model import Milp, Objective, Relation, Row, Sense, Variable

PROJECTS = "solar wind ferry hotel dairy harbour cinema nursery quarry project"


def generate(seed: int, size: int = 3) -> FamilyInstance:
    """``size`` years and one project more."""
    rng = stream(seed, size)
    years = range(size + 1)
    projects = names(PROJECTS, size + 1)
    cash, interest = int(rng.integers(80, 150)), int(rng.integers(2, 7))
    flows: dict[str, list[int]] = {}
    for project in projects:
        start = int(rng.integers(size))
        spent = int(rng.integers(30, 90))
        returns = rng.dirichlet([1.0] * (size - start)) * spent * rng.uniform(1.05, 1.5)
        flows[project] = [0] * start + [-spent] + [int(amount) for amount in returns]
    text = f"""
        An investor has {cash} thousand EUR in year 0 and wants as much money as possible in year {size}. The projects
        {listed(projects)} can each be taken up once, wholly or for any share of it; of a share, all payments are that
        share. The table `flows` gives the payments of a project in the years 0 to {size}, in thousand EUR; what is paid
        in is negative. Money that is not invested earns {interest} % interest a year. Nothing can be borrowed. How much
        money is there in year {size}, in thousand EUR?"""
    variables = [Variable(f"share of {p}", 0, 1) for p in projects]
    variables += [Variable(f"cash in year {year}", unit="thousand EUR") for year in years]
    rows = []
    for year in years:
        terms = {f"share of {p}": -float(flows[p][year]) for p in projects} | {f"cash in year {year}": 1.0}
        if year:
            terms[f"cash in year {year - 1}"] = -(1 + interest / 100)
        rows.append(Row(f"money in year {year}", terms, Relation.EQUAL, 0 if year else cash))
    goal = Objective({f"cash in year {size}": 1}, unit="thousand EUR")
    milp = Milp(tuple(variables), tuple(rows), goal, Sense.MAXIMIZE, "investment")
    data = {"years": size, "cash": cash, "interest": interest, "flows": flows}
    return proven("investment", seed, size, text, data, milp)
