"""The prompts of every role on one small case: their sections, what each role may see, and their size."""

import asyncio
import re
import tempfile
from pathlib import Path

import pytest

from oragent._base.budget import Budget
from oragent.formulate.formulation import formulate_case
from oragent.formulate.methods import METHODS
from oragent.formulate.options import EXTRAS, choose_options
from oragent.formulate.problem import ProblemText
from oragent.formulate.running import FormulationRunner
from oragent.ledger import Study
from oragent.llm.callable import Scripted
from oragent.llm.model import Request
from oragent_benchmarks.formulate.baselines import BASELINES
from tests.formulate import pharmacy

# Headings by their letters below.
HEADINGS = {
    "P": "Problem", "C": "What others said so far", "D": "Data (what `data` holds when a program is called)", "R": "Rules",
    "I": "The program must have exactly this interface", "T": "Your task", "F": "What is said of it", "H": "How to read this",
    "M": "Your program", "V": "The values of a solution", "N": "Parameters by name in `data`",
}  # fmt: skip
STANDARD = "PDRIT"
# Sections of the prompt of each role, and its characters.
ROLES: dict[str, tuple[str, int]] = {
    "program": (STANDARD, 3923), "standard": (STANDARD, 2442), "cot": (STANDARD, 2614), "spp": (STANDARD, 2754),
    "react": (STANDARD, 2944), "reflexion": (STANDARD, 2442), "progressive_hint": (STANDARD, 2442),
    "got": (STANDARD + "*", 2518), "tot": (STANDARD + "*", 2546), "coe_reducer": (STANDARD + "*", 2606),
    "optimus_assemble": (STANDARD + "*", 2634), "compiler": ("PCDIT", 2522), "supervisor_forward": ("PCDRIT", 3719),
    "supervisor_backward": ("PDMFHRIT", 4046), "optimus_debug": ("PDMFHRIT", 4064), "counterfactual": ("PDVNT", 3215),
    "semantic_encoder": ("PCDT", 1709), "formalization": ("PCDT", 1915), "reviewer": ("PCT", 1797),
    "terminology": ("P*T", 776), "conductor": ("P***T", 1020), "syntax_analysis": ("**T", 1084),
    "propose": ("PD*T", 908), "score": ("P*T", 757), "unite": ("P*T", 735), "reflection": ("P**T", 1727),
    "coe_backward": ("P**T", 1159), "coe_conductor": ("P**T", 1183), "coe_expert": ("PCDT", 814),
    "optimus_clause": ("P**T", 675), "optimus_code": ("**T", 205), "optimus_extract": ("PDT", 887),
}  # fmt: skip
# Roles that judge a program or a row by itself.
WITHOUT_PROBLEM = {"syntax_analysis", "optimus_code"}
# Largest relative change of a size.
MAX_CHANGE = 0.15
BROKEN = pharmacy.WRONG.replace("problem.solve()", "problem.solve(missing)")
SAID = {
    "propose": '["one", "two", "three"]', "score": "5", "unite": "all", "reflection": "Read it again.",
    "optimus_extract": '{"variables": ["p"], "constraints": ["at least 50 painkillers"], "objective": "least medicine"}',
    "optimus_clause": "p \\ge 50", "optimus_code": "```python\nproblem += p >= 50\n```",
    "coe_conductor": "modelling", "coe_expert": "It is linear.", "coe_backward": '{"caused_by_me": true, "refined": "x"}',
    "terminology": '[{"terminology": "pill", "interpretation": "one piece"}]', "conductor": "compiler", "reviewer": "Good.",
}  # fmt: skip


def prompts(runner: FormulationRunner) -> dict[str, str]:
    """The first prompt of every role that any method asks."""
    found: dict[str, str] = {}

    def reply(request: Request, number: int) -> str:
        first = request.role not in found
        found.setdefault(request.role, request.messages[0].content)
        if request.role in SAID:
            return SAID[request.role]
        if request.role in ("supervisor_forward", "optimus_assemble", "coe_reducer", "reflexion", "react") and first:
            return f"```python\n{BROKEN}\n```"
        if request.role == "supervisor_backward" and "Error" in request.messages[0].content:
            return f"```python\n{pharmacy.WRONG}\n```"
        return (
            pharmacy.reply(request, number) if request.role in pharmacy.ROLES else f"```python\n{pharmacy.RIGHT}\n```"
        )

    problem = ProblemText("pharmacy", pharmacy.TEXT, background="A pharmacy.")
    for method in [*METHODS, *BASELINES]:
        for extra in ((), EXTRAS) if method == "ormind" else ((),):
            options = choose_options("default", method=method, extra=extra)

            async def work(case, options=options):
                return (await formulate_case(case, problem, options, runner)).to_plain()

            with Study(Path(tempfile.mkdtemp()), {"": Scripted(reply)}, Budget(evaluations=None)) as study:
                asyncio.run(study.run_cases(["case"], work))
    return found


@pytest.fixture(scope="module")
def texts(runner: FormulationRunner) -> dict[str, str]:
    return prompts(runner)


def read_sections(text: str) -> str:
    """Letters of the sections of a prompt; a star for one that a single role has."""
    letters = {heading: letter for letter, heading in HEADINGS.items()}
    return "".join(letters.get(heading, "*") for heading in re.findall(r"(?m)^# (.+)$", text))


@pytest.mark.slow
def test_the_sections_and_the_size_of_each_prompt(texts: dict[str, str]) -> None:
    assert texts.keys() == ROLES.keys()
    assert {role: read_sections(text) for role, text in texts.items()} == {role: ROLES[role][0] for role in ROLES}
    sizes = {role: len(text) / ROLES[role][1] for role, text in texts.items()}
    assert {role: size for role, size in sizes.items() if abs(size - 1) > MAX_CHANGE} == {}
    assert not [role for role, text in texts.items() if re.search(r"\$[a-z]", text)]


@pytest.mark.slow
def test_each_role_sees_what_it_may_see(texts: dict[str, str]) -> None:
    for role, text in texts.items():
        assert text.count(pharmacy.TEXT.strip()) == (role not in WITHOUT_PROBLEM), role
        assert text.count("Background: A pharmacy.") == (role not in WITHOUT_PROBLEM), role
        if "I" in ROLES[role][0]:
            assert ProblemText("pharmacy", pharmacy.TEXT).interface.source in text, role
    # The author of the checker knows neither the program nor the figures that others read.
    checker = texts["counterfactual"]
    assert "LpVariable" not in checker
    assert pharmacy.ENCODED not in checker
    assert all(f"values[{name!r}]" in checker for name in ("painkillers", "sleeping_pills"))
    # A revision shows the program and what is said of it.
    assert "0.7" in texts["supervisor_backward"].split(f"# {HEADINGS['M']}")[1].split(f"# {HEADINGS['F']}")[0]
    assert "missing" in texts["syntax_analysis"]
    assert pharmacy.MODEL in texts["compiler"]
