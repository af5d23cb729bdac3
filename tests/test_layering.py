"""Imports go one way; the table below is the architecture."""

from pathlib import Path

import pytest

from tests.sources import ROOT, SOURCES, source

VALUES = {
    "errors",
    "literals",
    "trees",
    "protocol",
    "output",
    "plain",
    "terminal",
    "direction",
    "racing",
    "settings",
    "files",
    "mounts",
    "budget",
    "distribution",
    "shipped",
}  # of these, none imports a system
SYSTEM = VALUES | {"programs", "llm", "sandbox", "evaluation", "ledger", "pages", "bench", "milp"}  # beside the search
ALLOWED = {
    "errors": set(),
    "trees": set(),
    "literals": {"trees"},
    "protocol": {"literals"},
    "output": set(),
    "plain": set(),
    "terminal": {"plain"},
    "direction": set(),
    "racing": {"direction"},
    "files": set(),
    "mounts": set(),
    "distribution": {"errors"},
    "shipped": set(),
    "settings": {"errors", "shipped"},
    "budget": {"settings"},
    "programs": {"errors", "isolation", "trees"},
    "llm": VALUES | {"programs"},
    "isolation": {"errors"},
    "sandbox": VALUES | {"isolation"},
    "evaluation": VALUES | {"programs", "sandbox", "isolation"},
    "cluster": VALUES | {"sandbox", "evaluation", "isolation"},
    "ledger": VALUES | {"llm"},
    "pages": VALUES | {"programs"},
    "milp": VALUES,
    "bench": VALUES | {"ledger", "pages"},
    "harness": {
        "errors",
        "protocol",
        "output",
        "plain",
        "direction",
        "racing",
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
    "search": VALUES | {"programs", "llm", "sandbox", "evaluation", "cluster", "ledger"},
    "report": VALUES | {"programs", "sandbox", "evaluation", "ledger", "pages", "bench", "search"},
    "compare": VALUES | {"evaluation", "ledger", "pages", "bench", "search", "report"},
    "study": VALUES | {"evaluation", "pages", "bench", "search", "compare"},
    "authoring": VALUES | {"programs", "sandbox", "evaluation"},
    "formulate": SYSTEM | {"harness"},  # its evaluator is a script in the sandbox, with a guest of its own
    "converse": SYSTEM,
    "workspace": SYSTEM | {"isolation"},  # a program gives up more, in its own process
}
COMPOSERS = {"cli", "api", "__main__", "__init__"}
EVALUATION_TOWER = {"harness", "domains", "solvers", "attention_bias", "traffic"}
SEARCHING = {"report", "compare", "study", "cli", "api", "__init__"}  # who may import the search
HEAVY = {
    "scipy",
    "cmaes",
    "genai_prices",
    "openai",
    "pandas",
    "optuna",
    "packaging",
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
}  # may be imported inside a function

EVALUATORS = sorted((ROOT / "problems").glob("*/eval.py"))


def part(module: str) -> str | None:
    """The part of oragent that a module belongs to; None for the top package and for others' modules."""
    names = module.split(".")
    return names[1] if names[0] == "oragent" and len(names) > 1 else None


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
    own = path.relative_to(ROOT / "oragent").with_suffix("").parts[0]
    return set() if own in COMPOSERS else parts_imported(path) - {own} - ALLOWED[own]


def test_a_module_imports_only_what_its_part_may() -> None:
    assert {path: found for path in SOURCES if (found := too_much(path))} == {}


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


def test_only_heavy_packages_are_imported_inside_functions() -> None:
    inside = [(path, *one) for path in SOURCES for one in source(path).inside]
    assert [one for one in inside if one[-1].split(".")[0] not in HEAVY] == []


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
