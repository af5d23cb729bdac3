"""Source of a model for PuLP, Pyomo, gurobipy and OR-Tools' MathOpt."""

from oragent.modelling.convert.structure import LoopRows, LoopVariables, WrittenFigure
from oragent.modelling.convert.writer import SourceWriter, key_text, number

# Attributes of a Pyomo model that components must not replace.
PYOMO_NAMES = """
    activate active block_data_objects clear clone cname collect_ctypes component component_map compute_statistics
    config construct contains_component create_instance ctype deactivate del_component description dim display doc
    find_component fix_all_vars get_suffix_value getname id_index_map index index_set is_constructed is_indexed keys
    items values list_vars load local_name model name parent_block parent_component pprint preprocess private_data
    reclassify_component_type reconstruct root_block set_value solutions statistics to_dense_data
    transfer_attributes_from type unfix_all_vars valid_model_component valid_problem_types write dual
"""


class PulpWriter(SourceWriter):
    """Source for PuLP 3."""

    total = "pulp.lpSum"
    infinity = "None"

    def head(self) -> str:
        """Write the imports."""
        return "import pulp"

    def begin(self) -> str:
        """Write the empty problem."""
        sense = "pulp.LpMaximize" if self.structure.is_maximized else "pulp.LpMinimize"
        return f"m = pulp.LpProblem({self.structure.name or 'model'!r}, {sense})"

    def variables_text(self, family: LoopVariables) -> str:
        """Write variables with ``LpVariable.dicts``. Bounds that differ are set one by one."""
        name = self.variable(family.name)
        category = "pulp.LpInteger" if family.is_integer else "pulp.LpContinuous"
        sides = (("lowBound", family.low), ("upBound", family.high))
        bounds = ", ".join(f"{side}={self.figure(figure)}" for side, figure in sides if not figure.table)
        options = f"{bounds}{', ' if bounds else ''}cat={category}"
        if not family.dims:
            bounds = ", ".join(f"{side}={self.figure(figure)}" for side, figure in sides)
            call = f"{name} = pulp.LpVariable({family.name!r}, {bounds}, cat={category})"
            if family.has_unused:
                return f"{call}\nm.addVariable({name})"
            return call
        if family.keys is not None:
            keys = self.keys_name(family)
        elif len(family.dims) == 1:
            keys = self.set_reference(family.dims[0].index_set)
        else:
            keys = f"[({self.member(family)}) {self.comprehension(family)}]"
        lines = [f"{name} = pulp.LpVariable.dicts({family.name!r}, {keys}, {options})"]
        for side, figure in sides:
            if figure.table:
                lines.append(self.nested(family, f"{name}[{self.member(family)}].{side} = {self.figure(figure)}"))
        lines += self.integer_lines(family, name, "cat = pulp.LpInteger")
        if family.has_unused:
            lines.append(f"m.addVariables({name}.values())")
        return "\n".join(lines)

    def objective_text(self, expression: str) -> str:
        """Write the objective."""
        return f"m += {expression}, {self.structure.objective!r}"

    def rows_text(self, rows: LoopRows) -> str:
        """Write rows in loops, with names."""
        labels = "".join(f"_{{{self.name('loop', dim.variable)}}}" for dim in rows.dims)
        title = repr(rows.name) if not labels else "f" + repr(rows.name.replace("{", "{{").replace("}", "}}") + labels)
        return self.nested(rows, f"m += {self.relation(rows)}, {title}")

    def end(self) -> str:
        """Write the solve and the output."""
        return "m.solve()\nprint(pulp.LpStatus[m.status], pulp.value(m.objective))"


class PyomoWriter(SourceWriter):
    """Source for Pyomo, with mutable parameters."""

    reserved = PYOMO_NAMES
    # Attributes of the model cannot hide functions of Python.
    hidden_by_none = ("variables", "rows")
    total = "pe.quicksum"
    infinity = "None"

    def head(self) -> str:
        """Write the imports."""
        return "import pyomo.environ as pe\n\nm = pe.ConcreteModel()"

    def begin(self) -> str:
        """Write the model."""
        if self.structure.name:
            return f"m.name = {self.structure.name!r}"
        return ""

    def set_text(self, name: str, labels: tuple[str, ...] | list[str]) -> str:  # type: ignore[override]  # one of them
        """Write the labels of a set as a list, and as a set of the model."""
        text = super().set_text(name, labels)
        identifier = self.name("set", name)
        return f"{text}\nm.{identifier} = pe.Set(initialize={identifier})"

    def parameter_text(self, name: str, values: dict[tuple[str, ...], float]) -> str:  # type: ignore[override]  # a dict
        """Write data as a mutable parameter."""
        identifier = self.name("data", name)
        sets = "".join(f"m.{self.name('set', part)}, " for part in self.structure.parameter_sets[name])
        initial = self.dict_text(values) if sets else number(values[()])
        return f"m.{identifier} = pe.Param({sets}initialize={initial}, mutable=True)"

    def variable(self, name: str) -> str:
        """Return the expression for a family of variables."""
        return f"m.{super().variable(name)}"

    def data(self, name: str) -> str:
        """Return the expression for data. Parameters belong to the model."""
        identifier = super().data(name)
        if name in self.structure.parameters:
            return f"m.{identifier}"
        return identifier

    def variables_text(self, family: LoopVariables) -> str:
        """Write a component of variables."""
        domain = "pe.Integers" if family.is_integer else "pe.Reals"
        low, high = self.figure(family.low), self.figure(family.high)
        bounds = f"({low}, {high})"
        if family.low.table or family.high.table:
            bounds = f"lambda m{self._arguments(family)}: ({low}, {high})"
        lines = [f"{self.variable(family.name)} = pe.Var({self._sets(family)}domain={domain}, bounds={bounds})"]
        return "\n".join([*lines, *self.integer_lines(family, self.variable(family.name), "domain = pe.Integers")])

    def objective_text(self, expression: str) -> str:
        """Write the objective."""
        sense = "pe.maximize" if self.structure.is_maximized else "pe.minimize"
        return f"m.{self.name('objective', self.structure.objective)} = pe.Objective(expr={expression}, sense={sense})"

    def rows_text(self, rows: LoopRows) -> str:
        """Write a component of constraints."""
        name = f"m.{self.name('rows', rows.name)}"
        if not rows.dims:
            return f"{name} = pe.Constraint(expr={self.relation(rows)})"
        return f"{name} = pe.Constraint({self._sets(rows)}rule=lambda m{self._arguments(rows)}: {self.relation(rows)})"

    def end(self) -> str:
        """Write the solve and the output."""
        objective = self.name("objective", self.structure.objective)
        # Pyomo's interface to HiGHS supports neither quadratic terms nor sets.
        solver = "gurobi_direct" if self.has_features else "appsi_highs"
        return (
            f'result = pe.SolverFactory("{solver}").solve(m)\n'
            f"print(result.solver.termination_condition, pe.value(m.{objective}))"
        )

    def _sets(self, family: LoopVariables | LoopRows) -> str:
        if family.keys is not None and family.dims:
            return f"pe.Set(initialize={self.keys_name(family)}, dimen={len(family.dims)}), "
        return "".join(f"m.{self.name('set', dim.index_set)}, " for dim in family.dims)

    def _arguments(self, family: LoopVariables | LoopRows) -> str:
        return "".join(f", {self.name('loop', dim.variable)}" for dim in family.dims)


class GurobiWriter(SourceWriter):
    """Source for gurobipy."""

    total = "gp.quicksum"

    def head(self) -> str:
        """Write the imports."""
        return "import math\n\nimport gurobipy as gp"

    def begin(self) -> str:
        """Write the empty model."""
        return f"m = gp.Model({self.structure.name!r})"

    def variables_text(self, family: LoopVariables) -> str:
        """Write variables with ``addVars``."""
        kind = "gp.GRB.INTEGER" if family.is_integer else "gp.GRB.CONTINUOUS"
        options = f"lb={self._bound(family, family.low)}, ub={self._bound(family, family.high)}, vtype={kind}"
        name = self.variable(family.name)
        if not family.dims:
            return f"{name} = m.addVar({options}, name={family.name!r})"
        if family.keys is not None:
            keys = self.keys_name(family)
        else:
            keys = ", ".join(self.set_reference(dim.index_set) for dim in family.dims)
        lines = [f"{name} = m.addVars({keys}, {options}, name={family.name!r})"]
        return "\n".join([*lines, *self.integer_lines(family, name, "VType = gp.GRB.INTEGER")])

    def _bound(self, family: LoopVariables, figure: WrittenFigure) -> str:
        if not figure.table or not family.dims:
            return self.figure(figure)
        key = self.member(family)
        return f"{{{f'({key})' if len(family.dims) > 1 else key}: {self.figure(figure)} {self.comprehension(family)}}}"

    def objective_text(self, expression: str) -> str:
        """Write the objective."""
        sense = "gp.GRB.MAXIMIZE" if self.structure.is_maximized else "gp.GRB.MINIMIZE"
        return f"m.setObjective({expression}, {sense})"

    def rows_text(self, rows: LoopRows) -> str:
        """Write rows with ``addConstrs``."""
        if not rows.dims:
            return f"m.addConstr({self.relation(rows)}, name={rows.name!r})"
        return f"m.addConstrs(({self.relation(rows)} {self.comprehension(rows)}), name={rows.name!r})"

    def end(self) -> str:
        """Write the solve and the output."""
        return 'm.optimize()\nprint("status", m.Status, "objective", m.ObjVal if m.SolCount else math.nan)'


class MathOptWriter(SourceWriter):
    """Source for OR-Tools' MathOpt."""

    total = "mathopt.fast_sum"

    def head(self) -> str:
        """Write the imports."""
        return "import math\n\nfrom ortools.math_opt.python import mathopt"

    def begin(self) -> str:
        """Write the empty model."""
        structure = self.structure
        return f"m = mathopt.Model(name={structure.name!r}, primary_objective_name={structure.objective!r})"

    def variables_text(self, family: LoopVariables) -> str:
        """Write a dict of variables."""
        name = self.variable(family.name)
        kind = f"is_integer={family.is_integer}"
        if family.integer_keys is not None:
            key = f"({self.member(family)})" if len(family.dims) > 1 else self.member(family)
            kind = f"is_integer={key} in {{{', '.join(map(key_text, family.integer_keys))}}}"
        bounds = f"lb={self.figure(family.low)}, ub={self.figure(family.high)}"
        title = self._title(family.name, family)
        call = f"m.add_variable({bounds}, {kind}, name={title})"
        if not family.dims:
            return f"{name} = {call}"
        key = self.member(family)
        return f"{name} = {{{f'({key})' if len(family.dims) > 1 else key}: {call} {self.comprehension(family)}}}"

    def _title(self, name: str, family: LoopVariables | LoopRows) -> str:
        if not family.dims:
            return repr(name)
        labels = ",".join(f"{{{self.name('loop', dim.variable)}}}" for dim in family.dims)
        return "f" + repr(f"{name.replace('{', '{{').replace('}', '}}')}[{labels}]")

    def objective_text(self, expression: str) -> str:
        """Write the objective."""
        return f"m.{'maximize' if self.structure.is_maximized else 'minimize'}({expression})"

    def rows_text(self, rows: LoopRows) -> str:
        """Write rows in loops."""
        title = self._title(rows.name, rows)
        return self.nested(rows, f"m.add_linear_constraint({self.relation(rows)}, name={title})")

    def end(self) -> str:
        """Write the solve and the output."""
        # OR-Tools' HiGHS crashes in processes that load other copies of SCIP or HiGHS.
        families = self.structure.variables
        is_mixed = any(family.is_integer or family.integer_keys for family in families)
        solver = "GSCIP" if is_mixed or self.has_features else "GLOP"
        return (
            f"result = mathopt.solve(m, mathopt.SolverType.{solver})\n"
            "has_point = result.has_primal_feasible_solution()\n"
            'print(result.termination.reason.name, "objective", result.objective_value() if has_point else math.nan)'
        )
