"""Look up the names that ``docs/how-to/coming-from.md`` mentions: ``python -m tests.peers.names NAME=PYTHON[:PATH]...``.

Not a test: each framework has an interpreter of its own. A name that is gone ends the script with an error.
"""

import os
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "coming-from.md"
# Names of the page by framework, and the expressions that look them up there.
LOOKUPS = {
    "openevolve": {
        "`max_iterations`": "config.Config().max_iterations",
        "`prompt.system_message`": "config.Config().prompt.system_message",
        "`database.feature_dimensions`": "config.Config().database.feature_dimensions",
        "`database.num_islands`": "config.Config().database.num_islands",
        "`llm.models`": "config.Config().llm.models",
        "`evaluator.timeout`": "config.Config().evaluator.timeout",
        "`cascade_evaluation`": "config.Config().evaluator.cascade_evaluation",
        "`combined_score`": "require('combined_score', evaluator)",
        "`evaluate_stage1`": "require('evaluate_stage1', evaluator)",
        "`openevolve-run initial_program.py": "command('openevolve-run', '--config', '--iterations', '--checkpoint')",
    },
    "shinka": {
        "`EvolutionConfig(llm_models=[...])`": "core.EvolutionConfig(llm_models=['a'])",
        "`shinka_run --task-dir DIR": "command('shinka_run', '--task-dir', '--results_dir', '--num_generations')",
        "`shinka_visualize`": "command('shinka_visualize')",
    },
    "llm4ad": {
        "`template_program`": "base.Evaluation.__init__.__code__.co_varnames.index('template_program')",
        "`task_description`": "base.Evaluation.__init__.__code__.co_varnames.index('task_description')",
        "`timeout_seconds`": "base.Evaluation.__init__.__code__.co_varnames.index('timeout_seconds')",
        "`evaluate_program` of an `Evaluation`": "base.Evaluation.evaluate_program",
    },
    "eoh": {
        "`EoH(llm=LLMConfig(...), problem=MyProblem(), pop_size=5, n_pop=20).run()`": (
            "[EoH.__init__.__code__.co_varnames.index(name) for name in ('llm', 'problem', 'pop_size', 'n_pop')], EoH.run"
        ),
        "`LLMConfig(api_endpoint=..., api_key=..., model=...)`": "LLMConfig(api_endpoint='a', api_key='b', model='c')",
        "`operators=[": "EoH.__init__.__code__.co_varnames.index('operators')",
        "`MyProblem(timeout=40, n_processes=4)`": (
            "[BaseProblem.__init__.__code__.co_varnames.index(name) for name in ('timeout', 'n_processes')]"
        ),
        "`evaluate_program(program_str, callable_func)`": "BaseProblem.evaluate_program",
    },
}
IMPORTS = {
    "openevolve": "from openevolve import config, evaluator",
    "shinka": "from shinka import core",
    "llm4ad": "from llm4ad import base",
    "eoh": "from eoh import BaseProblem, EoH, LLMConfig",
}
HEAD = """
import inspect, pathlib, subprocess, sys

def require(text, module):
    assert text in inspect.getsource(module), text

def command(name, *options):
    path = pathlib.Path(sys.executable).parent / name
    text = subprocess.run([path, "--help"], capture_output=True, text=True, check=True).stdout
    assert all(option in text for option in options), text
"""


def main() -> None:
    """Look up the names of each framework of the command line."""
    page = PAGE.read_text()
    for word in sys.argv[1:]:
        name, _, rest = word.partition("=")
        python, _, path = rest.partition(":")
        missing = [text for text in LOOKUPS[name] if text not in page]
        assert not missing, f"the page does not hold {missing}"
        script = "\n".join([IMPORTS[name], HEAD, *LOOKUPS[name].values()])
        subprocess.run([python, "-c", script], check=True, env={**os.environ, "PYTHONPATH": path})
        print(f"{name}: {len(LOOKUPS[name])} names are there")


if __name__ == "__main__":
    main()
