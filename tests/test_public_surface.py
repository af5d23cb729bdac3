"""What other people's evaluators import stays what it is, and importing stays cheap."""

import subprocess
import sys

from oragent import harness
from oragent._base import errors, protocol


def test_the_harness_offers_what_evaluators_rely_on() -> None:
    offered = "Arguments CandidateError Guest Result State averages blocks each figures fresh gaps hook matrix number run seconds watching work"
    assert " ".join(harness.__all__) == offered
    assert all(hasattr(harness, name) for name in harness.__all__)


def test_the_statuses_are_the_seven_of_the_contract_and_that_of_a_cascade() -> None:
    assert [str(status) for status in protocol.Status] == [
        "ok", "invalid", "error", "timeout", "memory", "crashed", "rejected", "screened",
    ]  # fmt: skip


def test_every_error_is_one_of_ours() -> None:
    assert all(
        issubclass(getattr(errors, name), errors.OragentError)
        for name, value in vars(errors).items()
        if isinstance(value, type) and value.__module__ == errors.__name__
    )


def test_importing_oragent_loads_nothing_heavy() -> None:
    code = "import sys, oragent; print(sorted({'numpy', 'numba', 'openai', 'matplotlib', 'torch'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"


def test_an_evaluator_pays_for_no_part_of_the_search() -> None:
    code = "import sys, oragent.harness; print(*(name for name in sys.modules if name.startswith('oragent.s')))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    outside = {name for name in loaded if not f"{name}.".startswith("oragent.sandbox.isolation.")}
    # With what starts a compiler.
    starting = {f"oragent.sandbox.{name}" for name in ("children", "compiler", "confined_command")}
    assert outside == {"oragent.sandbox"} | starting


def test_a_search_without_a_model_never_loads_its_client() -> None:
    code = "import sys, oragent.cli.app; print('openai' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "False"


def test_a_formulation_imports_few_modules_of_models() -> None:
    code = (
        "import sys, oragent.formulate.command, oragent.formulate.pages\n"
        "print(sum(name.startswith('oragent.modelling') for name in sys.modules))"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 0 < int(ended.stdout) <= 45
