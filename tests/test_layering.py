"""Imports go one way; the table below is the architecture."""

import ast
from pathlib import Path

import pytest

from tests.sources import BENCHMARK_SOURCES, BENCHMARKS, ROOT, SOURCES, source

SUBPACKAGES = ("sandbox.isolation", "report.pages", "evals.bench")  # layers of their own inside a package
SYSTEM = {"_base", "programs", "llm", "sandbox", "ledger", "report.pages", "modelling"}  # what products stand on
ALLOWED = {
    "_base": set(),
    "sandbox.isolation": {"_base"},
    "sandbox": {"_base", "sandbox.isolation"},
    "programs": {"_base", "sandbox.isolation"},
    "llm": {"_base", "programs", "sandbox"},  # a command that answers prompts has its own processes
    "ledger": {"_base", "llm"},
    "report.pages": {"_base", "programs", "modelling"},  # tables of values of models
    "modelling": {"_base", "sandbox", "sandbox.isolation"},  # captured programs and solvers of users run in it
    "harness": {"_base", "sandbox", "sandbox.isolation", "programs"},  # it starts compilers
    "domains": {"_base", "sandbox", "sandbox.isolation", "harness"},  # SUMO is a program
    "solvers": {"_base", "sandbox.isolation", "harness", "domains"},
    # It starts the scorer of networks and the guest's interpreter by their names.
    "evaluation": {"_base", "programs", "sandbox", "sandbox.isolation", "solvers", "harness"},
    "search": {"_base", "programs", "llm", "sandbox", "evaluation", "ledger"},
    "authoring": {"_base", "programs", "sandbox", "evaluation"},
    "formulate": SYSTEM | {"harness"},  # its evaluator is a script in the sandbox, with a guest of its own
    "converse": SYSTEM,
    "workspace": SYSTEM,
    "report": {"_base", "programs", "sandbox", "evaluation", "ledger", "report.pages", "search"},
    "evals.bench": {"_base", "llm", "ledger", "report.pages"},
    "evals": SYSTEM | {"evaluation", "search", "report", "evals.bench"},
}
PRODUCTS = {"formulate", "converse", "workspace"}
COMPOSERS = {"cli", "api", "discovered", "__main__", "__init__"}
EVALUATION = {"harness", "domains", "solvers"}  # what an eval.py may import
SEARCHING = {"report", "evals", "cli", "api", "__init__"}  # who may import the search
HEAVY = {
    "cmaes",
    "numba",
    "scipy",
    "genai_prices",
    "mcp",
    "mcp_types",
    "matplotlib",
    "openai",
    "pandas",
    "openpyxl",
    "pyarrow",
    "ortools",
    "packaging",
    "gurobipy",
    "pulp",
    "torch",
    "libsumo",
    "traci",
    "sumolib",
    "cryptography",
    "dask",
    "dask_jobqueue",
    "distributed",
    "starlette",
    "uvicorn",
    "pyomo",
    "pydantic",
    "pypdf",
    "tensorboardX",
    "mlflow",
    "wandb",
    "yaml",
    "opentelemetry",
}  # may be imported inside a function

EVALUATORS = sorted((ROOT / "problems").glob("*/eval.py"))


def part(module: str) -> str | None:
    """The part of oragent that a module belongs to; None for the top package and for others' modules."""
    names = module.split(".")
    if names[0] != "oragent" or len(names) < 2:
        return None
    return inner if (inner := ".".join(names[1:3])) in SUBPACKAGES else names[1]


def part_of(path: Path) -> str:
    """The part that a file of oragent belongs to."""
    return part(".".join(("oragent", *path.relative_to(ROOT / "oragent").with_suffix("").parts))) or ""


def imported(path: Path) -> set[str]:
    """Full names of the modules that a file imports."""
    read = source(path)
    assert not [module for module, _ in read.taken if module.startswith(".")], f"{path}: relative import"
    return read.modules | {f"{module}.{name}" for module, names in read.taken for name in names}


def imported_by_name(path: Path) -> set[str]:
    """Modules of ours that a file imports by a call with their name, as packages do that wait until they are asked."""
    return {name for name in source(path).named if part(name)}


def parts_imported(path: Path) -> set[str]:
    modules = imported(path) | imported_by_name(path)
    return {name for module in modules if (name := part(module)) and not name.startswith("__")}


def too_much(path: Path) -> set[str]:
    """Parts that a module imports although its own part may not."""
    own = part_of(path)
    return set() if own in COMPOSERS else parts_imported(path) - {own} - ALLOWED[own]


def test_a_module_imports_only_what_its_part_may() -> None:
    assert {path: found for path in SOURCES if (found := too_much(path))} == {}


def test_only_what_reads_runs_knows_the_search() -> None:
    knowing = {part_of(path) for path in SOURCES if "search" in parts_imported(path)}
    assert knowing - {"search"} <= SEARCHING


@pytest.mark.parametrize("path", EVALUATORS, ids=lambda path: path.parent.name)
def test_an_evaluator_imports_the_harness_domains_and_solvers_alone(path: Path) -> None:
    assert parts_imported(path) <= EVALUATION


def test_no_product_imports_an_evaluation_or_another_product() -> None:
    wrong = {
        path: names
        for path in SOURCES
        if (own := part_of(path)) in PRODUCTS
        and (names := {name for name in parts_imported(path) if name.split(".")[0] in {"evals"} | PRODUCTS - {own}})
    }
    assert wrong == {}


def test_the_product_knows_the_benchmarks_by_name_alone() -> None:
    assert [path for path in SOURCES if any(name.startswith("oragent_benchmarks") for name in imported(path))] == []
    own = {name.split(".")[0] for path in BENCHMARK_SOURCES for name in imported(path)}
    assert "tests" not in own
    searching = {path for path in BENCHMARK_SOURCES if parts_imported(path) & {"search", "report", "api"}}
    assert {path.relative_to(BENCHMARKS).parts[0] for path in searching} <= {"skills", "search", "cli"}


def test_there_are_at_most_nineteen_packages() -> None:
    assert len(list((ROOT / "oragent").glob("*/__init__.py"))) <= 19


def test_only_heavy_packages_and_those_of_commands_are_imported_inside_functions() -> None:
    inside = [(path, *one) for path in SOURCES if part_of(path) != "cli" for one in source(path).inside]
    assert [one for one in inside if one[-1].split(".")[0] not in HEAVY] == []


def defined(module: str) -> set[str] | None:
    """Names at the top of a module of this repository and its submodules; None if there is no such module."""
    folder = (BENCHMARKS.parent if module.startswith(BENCHMARKS.name) else ROOT) / module.replace(".", "/")
    path = folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")
    if not path.is_file():
        return None
    tree = ast.parse(path.read_text())
    names = {alias.asname or alias.name for node in ast.walk(tree) for alias in getattr(node, "names", ())}
    names |= {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    names |= {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return names | {child.stem for child in folder.glob("*")}


@pytest.mark.parametrize("path", sorted((ROOT / "docs").rglob("*.py")), ids=lambda path: path.name)
def test_programs_of_the_docs_import_what_there_is(path: Path) -> None:
    for module, names in source(path).taken:
        if module.split(".")[0] in ("oragent", BENCHMARKS.name):
            assert set(names) <= (defined(module) or set()), module


def test_there_is_no_import_cycle_between_modules() -> None:
    modules = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path for path in SOURCES
    }
    edges = {
        name: {
            target
            for one in imported(path) | imported_by_name(path)
            for target in (one, one.rpartition(".")[0])
            if target in modules and target != name
        }
        for name, path in modules.items()
    }
    done: set[str] = set()

    def visit(name: str, trail: tuple[str, ...]) -> None:
        assert name not in trail, " -> ".join((*trail[trail.index(name) :], name))
        if name not in done:
            for target in sorted(edges[name]):
                # A package's own modules may be imported from it and by it: Python handles that in order.
                if not (name.startswith(f"{target}.") or target.startswith(f"{name}.")):
                    visit(target, (*trail, name))
            done.add(name)

    for name in sorted(modules):
        visit(name, ())
