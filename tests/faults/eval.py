"""Scores a choice of one entry a row by the sum of those entries; lower is better."""

from oragent.harness import Arguments, Guest, Result, matrix, run

# isort: split
# The harness pins numerical libraries to one thread, so it comes before them.

import numpy as np

INSTANCES, SIZE, CALLS = 3, 12, 1200


class Choices:
    """The first row's choice in each of many small matrices, which are revealed one by one."""

    def arguments(self, item: np.ndarray) -> tuple[np.ndarray]:
        return (item,)

    def choose(self, answer: object) -> int:
        return int(matrix(answer, (4, 4))[0].argmax())

    def apply(self, decision: int) -> None:
        pass


def evaluate(arguments: Arguments, guest: Guest) -> Result:
    secret = (arguments.root_dir / "data" / "val.txt").read_text()
    rng = np.random.default_rng(7)
    cost = 0.0
    for number in range(INSTANCES):
        guest.where = f"instance {number}"
        costs = rng.random((SIZE, SIZE))
        chosen = matrix(guest(costs), (SIZE, SIZE)).argmax(axis=1)
        cost += float(costs[np.arange(SIZE), chosen].sum())
    many = rng.random((CALLS, 4, 4))
    (decisions,) = guest.reveal([()], [list(many)])
    choices = np.array(decisions, dtype=int)
    cost += float(many[np.arange(CALLS), 0, choices].sum())
    return Result({"characters of data": len(secret)}, (0, 0), cost)


run(evaluate, function="heuristics", sizes={"train": [SIZE], "val": [SIZE]}, state=Choices)
