"""Options of a formulation: method, modules, number of revisions, tolerances of checks."""

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from oragent._base.errors import ConfigError
from oragent.formulate.problem import Form
from oragent.llm.estimates import SpendingEstimate
from oragent.llm.model_settings import RuntimeWords

# Modules that an ablation can omit.
PARTS = ("semantic_encoder", "formalization", "counterfactual", "syntax_analysis", "compiler", "supervisor")
# Additional modules; they were found harmful.
EXTRAS = ("conductor", "terminology", "reviewer")

# Mock models of benchmarks, which know the reference answers.
STAND_INS = ("oracle", "planted", "misread", "scripted")
ROLES = (
    "program",
    "review",
    "semantic_encoder",
    "terminology",
    "formalization",
    "compiler",
    "reviewer",
    "conductor",
    "supervisor_forward",
    "supervisor_backward",
    "syntax_analysis",
    "counterfactual",
    "standard",
    "cot",
    "spp",
    "tot",
    "got",
    "propose",
    "score",
    "unite",
    "react",
    "reflexion",
    "reflection",
    "progressive_hint",
    "coe_expert",
    "coe_conductor",
    "coe_reducer",
    "coe_backward",
    "optimus_extract",
    "optimus_clause",
    "optimus_code",
    "optimus_assemble",
    "optimus_debug",
    "reading",
)  # in which models are asked
# Word for a stand-in with each single error in a separate case.
ALL = "planted:all"
# Relative gap up to which a solution is an answer, if the user does not set one.
ACCEPTED_GAP = 0.05


@dataclass(frozen=True)
class Options:
    """Options of a method.

    Attributes:
        repairs: Largest number of revisions after errors.
        checks: Largest number of revisions after checks.
        keep_best: Whether a revision replaces a program only if it is better.
        solve_checks: Whether the model of the checker's rows is solved and compared.
        relative: Tolerance of checks over the larger of 1 and the size of the figures.
        absolute: Absolute tolerance of checks.
        published: Whether a checker has its published form: whole numbers by ``isclose``, also for the objective in
            NL4Opt's form, and without a tolerance in ComplexOR's.
        metamorphic: Whether the metamorphic tests are run.
        check_answer: Whether the answer of a method without a checker is checked.
        review: Whether a further call reads the plan and reports impractical parts.
        accept_infeasible: Whether a proven and confirmed infeasible or unbounded model is an answer.
        time_s: Seconds of a program, and of the search for the optimum of its model.
        gap: Relative gap at which a search stops, and within which its solution is an answer. With 0, a search
            continues until its optimum is proven or its time is over, and a gap of at most 5 % is accepted.
        solver: Name of a back end; empty for a choice by the class of the model.
        threads: Threads of the solver.
        attention: Additional rules for the supervisor; may be empty.
        edits: Text of a user by the module whose output it replaces.
    """

    method: str = "two_calls"
    without: frozenset[str] = frozenset()
    extra: tuple[str, ...] = ()
    repairs: int = 2
    checks: int = 2
    keep_best: bool = True
    solve_checks: bool = True
    relative: float = 1e-6
    absolute: float = 0.0
    published: bool = False
    metamorphic: bool = False
    check_answer: bool = False
    review: bool = False
    accept_infeasible: bool = True
    time_s: float = 20.0
    gap: float = 0.0
    solver: str = ""
    threads: int = 1
    temperature: float = 0.0
    attention: str = ""
    edits: Mapping[str, str] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        for name in self.without:
            check_known(name, PARTS, "module that can be left out")
        if {"compiler", "supervisor"} <= self.without:
            raise ConfigError("without compiler and supervisor no module writes a program: leave out one of them")
        for name in self.extra:
            check_known(name, EXTRAS, "module that can be added")
        if self.repairs < 0 or self.checks < 0:
            raise ConfigError(f"{self.repairs} repairs and {self.checks} checks: expected none below 0")
        if not 0.1 <= self.time_s <= 86_400 or not 0 <= self.gap < 1:
            raise ConfigError(
                f"a time of {self.time_s:g} s and a gap of {self.gap:g}: expected 0.1 to 86400 seconds, and a gap from "
                "0 to below 1, such as 0.01 for one percent"
            )
        if not 0 <= self.temperature <= 2:
            raise ConfigError(f"a temperature of {self.temperature}: expected 0 to 2")

    def for_form(self, form: Form) -> "Options":
        """Return the options of checks for problems of a form. The published checker has two forms."""
        if not self.published or form is Form.HEAD:
            return self
        return replace(self, published=False, relative=0.0, absolute=0.0)

    @property
    def label(self) -> str:
        """Return the method with its changes, such as ``ormind without formalization``."""
        parts = [f"without {name}" for name in sorted(self.without)] + [f"with {name}" for name in self.extra]
        return " ".join((self.method, *parts))


PRESETS = {
    "default": Options(),
    # Published settings (Wang et al. 2025); the prompts are not the published ones.
    "paper": Options(
        method="ormind",
        repairs=1,
        checks=1,
        keep_best=False,
        solve_checks=False,
        relative=0.0,
        absolute=1e-2,
        published=True,
        accept_infeasible=False,
    ),
}


def choose_options(preset: str, **changes: Any) -> Options:
    """Return a preset with changes; a change of None is ignored.

    Raises:
        ConfigError: A name is unknown.
    """
    changed = {name: value for name, value in changes.items() if value is not None}
    return replace(PRESETS[check_known(preset, PRESETS, "preset")], **changed)


def check_known(name: str, names: Iterable[str], what: str) -> str:
    """Return the name if it is one of ``names``; otherwise raise ``ConfigError`` with the nearest one."""
    names = list(names)
    if name in names:
        return name
    near = difflib.get_close_matches(name, names, 1)
    meant = f"did you mean {near[0]!r}?" if near else f"expected one of {', '.join(names)}"
    raise ConfigError(f"no {what} {name!r}: {meant}")


@dataclass(frozen=True)
class VerifyCommand:
    """Command line of ``oragent verify``.

    Attributes:
        problem: File with the problem, or its text.
        given: Model file or program.
        checker: File with a checker, or its text; None if a language model writes it.
    """

    problem: Path | str
    given: Path
    outputs: Path
    data: tuple[Path, ...] = ()
    solution: Path | None = None
    checker: Path | str | None = None
    replay: Path | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    runtime: RuntimeWords = field(default_factory=RuntimeWords)


@dataclass(frozen=True)
class FormulateCommand:
    """Command line of ``oragent formulate``.

    Attributes:
        problem: File with the problem; None for a replay.
        data, interface: Further files.
        preset: Preset of options; empty for the default one, or for the one of the replayed run.
        tolerance: Preset of the tolerance of checks; empty for the preset's own.
        replay: Folder whose replies are reused.
        edit: Module, and file with the output that replaces it.
        interactive: Whether the user is asked before the first program is solved.
        confirm: Called with the expected cost and the limit above which to ask, before the first call.
    """

    problem: Path | None
    outputs: Path
    data: tuple[Path, ...] = ()
    interface: Path | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    preset: str = ""
    tolerance: str = ""
    replay: Path | None = None
    edit: tuple[str, Path] | None = None
    interactive: bool = False
    runtime: RuntimeWords = field(default_factory=RuntimeWords)
    confirm: Callable[[SpendingEstimate, float], None] = lambda estimate, limit: None
