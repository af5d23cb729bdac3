"""Imports go one way; the table below is the architecture."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

VALUES = {
    "errors",
    "literals",
    "protocol",
    "output",
    "plain",
    "terminal",
    "direction",
    "settings",
    "files",
    "budget",
    "distribution",
    "shipped",
}  # of these, none imports a system
SYSTEM = VALUES | {"programs", "llm", "sandbox", "evaluation", "ledger", "pages", "bench", "milp"}  # beside the search
ALLOWED = {
    "errors": set(),
    "literals": set(),
    "protocol": {"literals"},
    "output": set(),
    "plain": set(),
    "terminal": {"plain"},
    "direction": set(),
    "files": set(),
    "distribution": set(),
    "shipped": set(),
    "settings": {"errors", "shipped"},
    "budget": {"settings"},
    "programs": {"errors", "isolation"},
    "llm": VALUES | {"programs"},
    "isolation": {"errors"},
    "sandbox": VALUES | {"isolation"},
    "evaluation": VALUES | {"programs", "sandbox", "isolation"},
    "ledger": VALUES | {"llm"},
    "pages": VALUES | {"programs"},
    "milp": VALUES,
    "bench": VALUES | {"pages"},
    "harness": {
        "errors",
        "protocol",
        "output",
        "plain",
        "direction",
        "isolation",
        "distribution",
        "shipped",
        "programs",
    },
    "domains": {"errors", "distribution", "shipped"},
    "solvers": {"errors", "shipped"},
    "attention_bias": {"errors", "protocol", "isolation", "harness", "domains", "solvers"},
    "traffic": {"errors", "harness", "domains"},
    "training": {"errors", "files", "domains", "solvers", "distribution"},
    "search": VALUES | {"programs", "llm", "sandbox", "evaluation", "ledger"},
    "report": VALUES | {"programs", "sandbox", "evaluation", "ledger", "pages", "bench", "search"},
    "compare": VALUES | {"evaluation", "ledger", "pages", "bench", "search", "report"},
    "authoring": VALUES | {"programs", "sandbox", "evaluation"},
    "formulate": SYSTEM | {"harness"},  # its evaluator is a script in the sandbox, with a guest of its own
    "converse": SYSTEM,
    "workspace": SYSTEM | {"isolation"},  # a program gives up more, in its own process
}
COMPOSERS = {"cli", "api", "__main__", "__init__"}
EVALUATION_TOWER = {"harness", "domains", "solvers", "attention_bias", "traffic"}
SEARCHING = {"report", "compare", "cli", "api", "__init__"}  # who may import the search
HEAVY = {
    "genai_prices",
    "openai",
    "pandas",
    "optuna",
    "torch",
    "libsumo",
    "traci",
    "sumolib",
    "dask",
    "starlette",
    "uvicorn",
}  # may be imported inside a function

SOURCES = sorted((ROOT / "oragent").rglob("*.py"))
EVALUATORS = sorted((ROOT / "problems").glob("*/eval.py"))


def part(module: str) -> str | None:
    """The part of oragent that a module belongs to; None for the top package and for others' modules."""
    names = module.split(".")
    return names[1] if names[0] == "oragent" and len(names) > 1 else None


def imported(path: Path) -> set[str]:
    """Full names of the modules that a file imports."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def imported_by_name(path: Path) -> set[str]:
    """Modules of ours that a file imports by a call with their name, as packages do that wait until they are asked."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] == "import_module":
            found |= {arg.value for arg in node.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)}
    return {name for name in found if part(name)}


def parts_imported(path: Path) -> set[str]:
    modules = imported(path) | imported_by_name(path)
    return {name for module in modules if (name := part(module)) and not name.startswith("__")}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_imports_only_what_its_part_may(path: Path) -> None:
    own = path.relative_to(ROOT / "oragent").with_suffix("").parts[0]
    if own in COMPOSERS:
        return
    assert parts_imported(path) - {own} <= ALLOWED[own]


def test_only_what_reads_runs_knows_the_search() -> None:
    knowing = {
        path.relative_to(ROOT / "oragent").with_suffix("").parts[0]
        for path in SOURCES
        if "search" in parts_imported(path)
    }
    assert knowing - {"search"} <= SEARCHING


@pytest.mark.parametrize("path", EVALUATORS, ids=lambda path: path.parent.name)
def test_an_evaluator_knows_only_the_evaluation_tower(path: Path) -> None:
    assert parts_imported(path) <= EVALUATION_TOWER


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_only_heavy_packages_are_imported_inside_functions(path: Path) -> None:
    for function in ast.walk(ast.parse(path.read_text())):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            for node in ast.walk(function):
                names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
                assert all(name.split(".")[0] in HEAVY for name in names), f"{path}:{node.lineno}"


def test_there_is_no_import_cycle_between_modules() -> None:
    modules = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path for path in SOURCES
    }
    edges = {
        name: {
            target
            for one in imported(path)
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
