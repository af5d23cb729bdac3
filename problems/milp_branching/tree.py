"""SCIP's search tree with branching that a candidate decides, and the work that it takes."""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from instances import Instance
from numpy.typing import NDArray
from pyscipopt import SCIP_BRANCHDIR, SCIP_RESULT, Branchrule, Model, quicksum

# A node takes as long as that many simplex iterations besides its own.
NODE_ITERATIONS = 8
MAX_WORK = 200_000
# Maximum number of variables that are probed at a node, and of simplex iterations of a probe.
MAX_PROBES, PROBE_ITERATIONS = 20, 100


@dataclass(frozen=True)
class Node:
    """What the candidate may know at a node, about its ``k`` variables with fractional values."""

    # ``(k,)`` values between 0 and 1.
    fraction: NDArray[np.float64]
    # ``(k,)`` expected increase of the bound at 0 and at 1, in parts of the root's bound.
    gain_down: NDArray[np.float64]
    gain_up: NDArray[np.float64]
    # ``(k,)`` number of branchings on the variable and of its probes.
    seen: NDArray[np.float64]
    # ``(k,)`` costs in parts of the root's bound, and numbers of rows that would be hurt by rounding it.
    cost: NDArray[np.float64]
    rows: NDArray[np.float64]
    depth: int
    # Best objective so far minus the node's bound, in parts of the root's bound; infinite without a solution.
    gap: float


@dataclass(frozen=True)
class Outcome:
    """What a search took."""

    objective: float
    solved: bool
    nodes: int
    # Simplex iterations of nodes, and of probes.
    iterations: int
    probe_iterations: int
    # Depth of each node at which the candidate was asked, in their order.
    depths: tuple[int, ...]

    @property
    def work(self) -> float:
        """Simplex iterations and nodes in one figure, which follows CPU time; twice the limit where it was reached."""
        spent = self.iterations + self.probe_iterations + NODE_ITERATIONS * self.nodes
        return spent if self.solved else 2.0 * MAX_WORK


Probe = Callable[[Node], NDArray[np.float64]]
Score = Callable[[Node], NDArray[np.float64] | None]


def search(instance: Instance, seed: int, probe: Probe, score: Score) -> Outcome:
    """Solve an instance to optimality, unless the limit on work ends the search.

    Args:
        instance: Instance to solve.
        seed: Seed of SCIP's random decisions.
        probe: Says which variables of a node are probed: those with positive entries, the highest first.
        score: Scores the variables of a node, after the probes. The search branches on the highest. None: SCIP's own
            rule decides, with its own probes.

    Raises:
        Exception: What ``probe`` or ``score`` raised; the search ends at once.
    """
    model = _as_scip(instance, seed)
    rule = _Rule(probe, score)
    model.includeBranchrule(rule, "candidate", "", 1_000_000, -1, 1.0)
    model.optimize()
    if rule.problem is not None:
        raise rule.problem
    solved = model.getStatus() == "optimal"
    objective = model.getObjVal() if model.getNSols() else float("inf")
    probes = model.getNStrongbranchLPIterations()
    depths = tuple(rule.depths)
    return Outcome(objective, solved, model.getNTotalNodes(), model.getNLPIterations(), probes, depths)


def _as_scip(instance: Instance, seed: int) -> Any:
    model = Model()
    model.hideOutput()
    variables = [model.addVar(str(index), "B", obj=cost) for index, cost in enumerate(instance.costs.tolist())]
    for row, side in zip(instance.matrix, instance.sides.tolist(), strict=True):
        terms = [int(row[index]) * variables[index] for index in np.flatnonzero(row)]
        model.addCons(quicksum(terms) >= side)
    model.setParams(
        {
            "randomization/randomseedshift": seed,
            "randomization/permutationseed": seed,
            # What changes the tree beside the branching is left out, as is common in studies of branching.
            "presolving/maxrestarts": 0,
            "separating/maxrounds": 0,
        }
    )
    return model


class _Rule(Branchrule):
    """SCIP's hook at a node whose relaxation has fractional values."""

    def __init__(self, probe: Probe, score: Score) -> None:
        self._probe, self._score = probe, score
        self._probes: dict[int, int] = defaultdict(int)
        self._unit = 0.0
        self.depths: list[int] = []
        # The first exception of the candidate. SCIP would only print it.
        self.problem: BaseException | None = None

    def branchexeclp(self, allowaddcons: bool) -> dict[str, Any]:
        try:
            return {"result": self._branch()}
        except BaseException as problem:
            self.problem = problem
            self.model.interruptSolve()
            return {"result": SCIP_RESULT.DIDNOTRUN}

    def _branch(self) -> Any:
        model = self.model
        spent = model.getNLPIterations() + model.getNStrongbranchLPIterations()
        if spent + NODE_ITERATIONS * model.getNTotalNodes() > MAX_WORK:
            model.interruptSolve()
            return SCIP_RESULT.DIDNOTRUN
        variables, values, *_ = model.getLPBranchCands()
        self._unit = self._unit or max(abs(model.getLPObjVal()), 1e-9)
        node = self._describe(variables, values)
        self.depths.append(node.depth)
        wanted = self._probe(node)
        order = np.argsort(-wanted, kind="stable")[:MAX_PROBES]
        chosen = order[wanted[order] > 0].tolist()
        for index in chosen:
            result = self._try(variables[index], values[index])
            if result is not None:
                return result
        scores = self._score(self._describe(variables, values) if chosen else node)
        if scores is None:
            return SCIP_RESULT.DIDNOTRUN
        best = int(np.argmax(scores))
        model.branchVarVal(variables[best], values[best])
        return SCIP_RESULT.BRANCHED

    def _describe(self, variables: list[Any], values: list[float]) -> Node:
        model, unit = self.model, self._unit
        down, up = SCIP_BRANCHDIR.DOWNWARDS, SCIP_BRANCHDIR.UPWARDS
        fraction = np.array(values) - np.floor(values)
        probes = [self._probes[variable.getIndex()] for variable in variables]
        bound = model.getLPObjVal()
        return Node(
            fraction=fraction,
            gain_down=fraction * [model.getVarPseudocost(variable, down) / unit for variable in variables],
            gain_up=(1 - fraction) * [model.getVarPseudocost(variable, up) / unit for variable in variables],
            seen=np.array(probes, dtype=float) + [variable.getNBranchings(up) for variable in variables],
            cost=np.array([variable.getObj() / unit for variable in variables]),
            rows=np.array([float(variable.getNLocksDown() + variable.getNLocksUp()) for variable in variables]),
            depth=model.getCurrentNode().getDepth(),
            gap=(model.getCutoffbound() - bound) / unit if model.getNSols() else float("inf"),
        )

    def _try(self, variable: Any, value: float) -> Any:
        """Probe a variable, and remember what it showed. Where one side is infeasible, that side is cut off at once."""
        model = self.model
        bound = model.getLPObjVal()
        model.startStrongbranch()
        down, up, _, _, down_infeasible, up_infeasible, _, _, failed = model.getVarStrongbranch(
            variable, PROBE_ITERATIONS, integral=False
        )
        model.endStrongbranch()
        self._probes[variable.getIndex()] += 1
        if failed:
            return None
        if down_infeasible and up_infeasible:
            return SCIP_RESULT.CUTOFF
        if down_infeasible or up_infeasible:
            (model.chgVarLb if down_infeasible else model.chgVarUb)(variable, float(down_infeasible))
            return SCIP_RESULT.REDUCEDDOM
        fraction = value - np.floor(value)
        model.updateVarPseudocost(variable, -fraction, max(down - bound, 0.0), 1.0)
        model.updateVarPseudocost(variable, 1 - fraction, max(up - bound, 0.0), 1.0)
        return None
