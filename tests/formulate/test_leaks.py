"""Labels are in no prompt, no command, no file and no environment that a generated program can see."""

import json
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from oragent.evals.bench.plan import BenchPlan
from oragent.evals.bench.result import execute_plan
from oragent.ledger import Study
from oragent.llm.callable import Scripted
from oragent.sandbox.messages import Command
from oragent.sandbox.sandbox import Sandbox
from oragent_benchmarks.cases import UNBOUNDED
from oragent_benchmarks.formulate.benchmark import TERMS, FormulateBenchmark, list_contestants
from tests.formulate import pharmacy

LABEL = "48613.75"
SPY = '''
import os, sys, pulp

def looked():
    """Everything that can be read from here: arguments, environment, open memory of modules, files."""
    found = [" ".join(sys.argv), repr(dict(os.environ))]
    for start in (".", "..", os.path.dirname({folder!r}), {folder!r}, "/proc/self", "/proc/" + str(os.getppid())):
        try:
            names = os.listdir(start)
        except OSError:
            names = ["cmdline", "environ", "mem", "t.csv", "run.db"]
        for name in names:
            try:
                with open(os.path.join(start, name), "rb") as file:
                    found.append(file.read(1 << 20).decode("latin-1"))
            except OSError:
                pass
    frame = sys._getframe()
    while frame is not None:
        found.append(repr(frame.f_locals)[:100000])
        frame = frame.f_back
    return "|".join(found)

def solve(data):
    text = looked()
    problem = pulp.LpProblem("p", pulp.LpMaximize)
    x = pulp.LpVariable("x", 0, 1 + ({label!r}.replace("#", "") in text))
    problem += x
    problem.solve()
    return {{"optimized_vars": {{"x": x}}, "seen": len(text)}}
'''


@pytest.mark.slow
@pytest.mark.parametrize("method", ["ormind", "standard"])
def test_nothing_that_a_method_or_its_programs_see_holds_a_label(tmp_path: Path, monkeypatch, method: str) -> None:
    table = tmp_path / "t.csv"
    table.write_text(f"question,answer\nWhat is the largest x?,{LABEL}\n")
    program = SPY.format(folder=str(tmp_path), label="#".join(LABEL))  # the needle is not in the haystack by itself

    def reply(request, number):
        if request.role == "counterfactual":
            return "```python\ndef checks(values, data):\n    yield ('x', values['x'], '<=', 2, '')\n```"
        return f"```python\n{program}\n```" if "supervisor" in request.role or request.role == "standard" else (
            pharmacy.reply(request, number)
        )  # fmt: skip

    @asynccontextmanager
    async def models(settings):
        model = Scripted(reply)
        model.checks = ()
        yield model

    commands: list[Command] = []
    run = Sandbox.__call__

    def kept(self, command, **places):
        commands.append(command)
        return run(self, command, **places)

    monkeypatch.setattr("oragent_benchmarks.cases.open_models", models)
    monkeypatch.setattr(Sandbox, "__call__", kept)
    plan = BenchPlan(TERMS, {"t": str(table)}, list_contestants([method], ["m"]), (0,), {})
    bench = FormulateBenchmark(plan)
    (done,) = execute_plan(plan, bench, tmp_path / "bench")
    assert not done.end.reason
    (finished,) = bench.finished_cases(done.cell, tmp_path / "bench")
    assert finished.result["verdict"] == "wrong_answer"
    assert finished.result["objective"] == 1.0  # 2 where the program had found the label
    assert commands
    assert all(LABEL not in json.dumps(command.to_plain()) for command in commands)
    with Study(bench.cell_folder(done.cell, tmp_path / "bench"), {}, UNBOUNDED) as study:
        assert study.all_replies()
        assert all(LABEL not in reply.prompt for reply in study.all_replies())
