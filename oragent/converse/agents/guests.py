"""Programs of agents across the border: what they print, or the model that they build."""

import json
import re
from dataclasses import dataclass
from pathlib import Path

from oragent._base.distribution import require_supported_version
from oragent._base.errors import MilpError
from oragent._base.plain import escape_text
from oragent.converse.problems.programs import ProgramForm
from oragent.milp.as_pulp import from_pulp_dict
from oragent.milp.model import Milp
from oragent.sandbox.messages import PYTHON, Command, Limits
from oragent.sandbox.sandbox import Sandbox

FORMULATING, WARM = (Path(__file__).with_name(name) for name in ("formulating.py", "warm.py"))
ADDRESS = re.compile(r"0x[0-9a-fA-F]{6,}")
MOST_TOLD = 6000  # characters of output or of a traceback
MOST_SOURCE = 100_000
SECONDS = 20.0
LIMITS = Limits(cpu_s=SECONDS, memory_mb=1024, file_mb=16, processes=16, output_kb=32, idle_s=10.0)


@dataclass(frozen=True)
class ProgramOutput:
    """What a program printed.

    Attributes:
        text: Text of standard output, or the error.
    """

    text: str
    failed: bool


@dataclass(frozen=True)
class BuiltModel:
    """The model that a formulation built.

    Attributes:
        milp: Model, under the program's names; None where it failed.
        problem: Reason for that, for whoever wrote it.
    """

    milp: Milp | None
    problem: str = ""


@dataclass(frozen=True)
class Guests:
    """Runs programs in a sandbox that others share; may be called from several threads.

    Attributes:
        seconds: CPU seconds of one program.
    """

    sandbox: Sandbox
    seconds: float = SECONDS

    def __post_init__(self) -> None:
        require_supported_version("pulp")  # of another, every program would fail, each for a reason of its own

    def printed(self, source: str) -> ProgramOutput:
        """Run a whole program."""
        ended = self.sandbox(Command((PYTHON, "program.py"), {"program.py": source[:MOST_SOURCE]}, limits=LIMITS),
                             warm_up=WARM)  # fmt: skip
        if ended.end == "exited" and ended.code == 0:
            return ProgramOutput(_normalize_output(ended.stdout) or "(it printed nothing)", False)
        reason = ended.reason or f"exit code {ended.code}"
        return ProgramOutput(_normalize_output(f"{ended.stdout}\n{ended.stderr}\n(the program failed: {reason})"), True)

    def built(self, source: str, form: ProgramForm) -> BuiltModel:
        """Build the model of a formulation."""
        files = {
            "formulating.py": FORMULATING.read_text(encoding="utf-8"), "program.py": source[:MOST_SOURCE],
            "data.json": json.dumps(form.data),
        }  # fmt: skip
        command = Command((PYTHON, "formulating.py"), files, limits=LIMITS, bring=("result.json",))
        ended = self.sandbox(command, warm_up=FORMULATING)
        if ended.end != "exited" or ended.code != 0 or "result.json" not in ended.files:
            return BuiltModel(
                None, _normalize_output(f"{ended.stderr}\n(the program failed: {ended.reason or ended.code})")
            )
        try:
            result = json.loads(ended.files["result.json"])
            return BuiltModel(from_pulp_dict(result["model"], float(result["constant"])))
        except MilpError as problem:
            return BuiltModel(None, f"the model cannot be used: {problem}")
        except (KeyError, TypeError, ValueError, RecursionError) as problem:
            return BuiltModel(None, f"the model cannot be used: {type(problem).__name__}")


def _normalize_output(text: str) -> str:
    """The same text in every run, without addresses in memory, of bounded length."""
    shown = escape_text(ADDRESS.sub("0x...", text)).strip()
    half = MOST_TOLD // 2
    return shown if len(shown) <= MOST_TOLD else f"{shown[:half]}\n[...]\n{shown[-half:]}"
