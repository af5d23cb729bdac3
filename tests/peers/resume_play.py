"""Begin or resume a run of a framework: ``python resume_play.py NAME URL FOLDER begin|resume [OPTION]``.

Run by ``resume.py`` with the interpreter of the framework. ``URL`` is an OpenAI-compatible server. Each evaluation
appends the number of its program to the file of ``PEERS_EVALUATED``. A resumed run writes the numbers of the programs
that it knows to ``kept.json``. Settings are the defaults, except for one evaluation at once, a small population and
no restriction that would end the run early.
"""

import json
import os
import re
import sys
import urllib.request
from pathlib import Path

# What evaluators of the other frameworks share: score one program, and write down its number.
SCORE = """
import os, re
import numpy as np

def score(select, source):
    found = re.search(r"number = (\\d+)", source)
    if found:
        with open(os.environ["PEERS_EVALUATED"], "a") as file:
            file.write(found[1] + "\\n")
    points = np.random.default_rng(1).random((50, 2))
    distances = np.linalg.norm(points[:, None] - points[None], axis=-1)
    tour, left = [0], set(range(1, 50))
    while left:
        tour.append(int(select(tour[-1], 0, np.array(sorted(left)), distances)))
        left.discard(tour[-1])
    return float(sum(distances[a, b] for a, b in zip(tour, tour[1:] + tour[:1])))
"""
SEED = """import numpy as np


def select_next_node(current_node: int, destination_node: int, unvisited_nodes: np.ndarray, distance_matrix: np.ndarray) -> int:
    \"\"\"Return the next node of a tour.\"\"\"
    return int(min(unvisited_nodes, key=lambda node: distance_matrix[current_node][node]))
"""
TASK = "Write the rule that chooses the next city of a tour."


def ask(url: str) -> str:
    """Ask the server for the next program."""
    body = json.dumps({"model": "stand-in", "messages": [{"role": "user", "content": "next"}]}).encode()
    request = urllib.request.Request(f"{url}/chat/completions", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)["choices"][0]["message"]["content"]


def write_kept(folder: Path, texts: list[str]) -> None:
    """Write the numbers of the programs that a resumed run knows."""
    numbers = {int(found[1]) for text in texts if (found := re.search(r"number = (\d+)", text))}
    (folder / "kept.json").write_text(json.dumps(sorted(numbers)))


def play_oragent(url: str, folder: Path, is_resumed: bool) -> None:
    """``oragent.run`` and ``oragent.resume``."""
    import oragent
    from oragent.evaluation.pool import EvaluationPool
    from oragent.report.run import load_run

    evaluate = EvaluationPool.evaluate

    async def evaluate_and_write(pool, job, *rest, **named):
        found = re.search(r"number = (\d+)", job.source or "")
        if found:
            with open(os.environ["PEERS_EVALUATED"], "a") as file:
                file.write(found[1] + "\n")
        return await evaluate(pool, job, *rest, **named)

    EvaluationPool.evaluate = evaluate_and_write
    model = lambda messages: ask(url)  # noqa: E731
    if is_resumed:
        run = next(path.parent for path in folder.rglob("run.db"))
        write_kept(folder, [record.candidate.source for record in load_run(run).records if record.score is not None])
        oragent.resume(run, model=model)
        return
    oragent.run(
        "tsp_constructive", model=model, strategy={"name": "random", "window": 1}, outputs=folder, evaluations=30,
        problem_size=50, workers=1,
    )  # fmt: skip


def play_openevolve(url: str, folder: Path, is_resumed: bool, interval: str = "") -> None:
    """``openevolve-run``, and ``--checkpoint`` with the newest checkpoint."""
    import asyncio

    from openevolve import OpenEvolve
    from openevolve.config import Config, LLMModelConfig

    (folder / "seed.py").write_text(SEED)
    (folder / "evaluator.py").write_text(
        SCORE
        + """
import importlib.util, pathlib

def evaluate(program_path):
    spec = importlib.util.spec_from_file_location("program", program_path)
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    return {"combined_score": -score(program.select_next_node, pathlib.Path(program_path).read_text())}
"""
    )
    config = Config(max_iterations=30, diff_based_evolution=False)
    config.llm.models = [LLMModelConfig(name="stand-in", api_base=url, api_key="none", timeout=600, retries=0)]
    config.llm.evaluator_models = config.llm.models
    config.evaluator.parallel_evaluations = 1
    config.evaluator.cascade_evaluation = False
    if interval:
        config.checkpoint_interval = int(interval)
    runner = OpenEvolve(str(folder / "seed.py"), str(folder / "evaluator.py"), config, output_dir=str(folder / "out"))
    checkpoints = sorted(
        (folder / "out").glob("checkpoints/checkpoint_*"), key=lambda path: int(path.name.split("_")[1])
    )
    newest = str(checkpoints[-1]) if checkpoints else None
    if is_resumed:
        if newest:
            runner.database.load(newest)
        write_kept(folder, [program.code for program in runner.database.programs.values()])
    asyncio.run(runner.run(checkpoint_path=newest))


def play_shinka(url: str, folder: Path, is_resumed: bool) -> None:
    """``ShinkaEvolveRunner`` with the same folder of results."""
    import sqlite3
    from contextlib import closing

    from shinka.core import EvolutionConfig, ShinkaEvolveRunner
    from shinka.database import DatabaseConfig
    from shinka.launch import LocalJobConfig

    (folder / "seed.py").write_text(f"# EVOLVE-BLOCK-START\n{SEED}# EVOLVE-BLOCK-END\n")
    (folder / "evaluate.py").write_text(
        SCORE
        + """
import argparse, importlib.util, json, pathlib

parser = argparse.ArgumentParser()
parser.add_argument("--program_path")
parser.add_argument("--results_dir")
words = parser.parse_args()
spec = importlib.util.spec_from_file_location("program", words.program_path)
program = importlib.util.module_from_spec(spec)
spec.loader.exec_module(program)
value = -score(program.select_next_node, pathlib.Path(words.program_path).read_text())
results = pathlib.Path(words.results_dir)
results.mkdir(parents=True, exist_ok=True)
(results / "metrics.json").write_text(json.dumps({"combined_score": value, "public": {}, "private": {}}))
(results / "correct.json").write_text(json.dumps({"correct": True, "error": None}))
"""
    )
    results = folder / "results"
    if is_resumed:
        databases = list(results.rglob("*.sqlite")) + list(results.rglob("*.db"))
        texts: list[str] = []
        for path in databases:
            with closing(sqlite3.connect(path)) as database, database:
                texts += [row[0] for row in database.execute("SELECT code FROM programs WHERE correct")]
        write_kept(folder, texts)
    runner = ShinkaEvolveRunner(
        evo_config=EvolutionConfig(
            task_sys_msg=TASK, patch_types=["full"], patch_type_probs=[1.0], num_generations=30,
            llm_models=[f"local/stand-in@{url}"], llm_dynamic_selection=None, embedding_model=None, meta_rec_interval=None,
            init_program_path=str(folder / "seed.py"), results_dir=str(results),
        ),
        job_config=LocalJobConfig(eval_program_path=str(folder / "evaluate.py")),
        db_config=DatabaseConfig(num_islands=1),
        max_evaluation_jobs=1,
        max_proposal_jobs=1,
    )  # fmt: skip
    runner.run()


def play_eoh(url: str, folder: Path, is_resumed: bool) -> None:
    """``EoH(...).run()``, and ``use_continue`` with the newest population."""
    from eoh import EoH, LLMConfig
    from eoh.llm.api_general import InterfaceAPI
    from eoh_task import Task

    # its client only speaks HTTPS, and asks a question at its start
    InterfaceAPI.get_response = lambda self, prompt, **named: "2" if prompt == "1+1=?" else ask(url)
    pops = sorted((folder / "results" / "pops").glob("*.json"), key=lambda path: int(path.stem.rpartition("_")[2]))
    more = {}
    if is_resumed:
        texts = [program["code"] for program in json.loads(pops[-1].read_text())] if pops else []
        write_kept(folder, texts)
        if pops:
            more = {
                "use_continue": True,
                "continue_path": str(pops[-1]),
                "continue_id": int(pops[-1].stem.rpartition("_")[2]),
            }
    llm = LLMConfig(api_endpoint="none", api_key="none", model="stand-in")
    EoH(llm=llm, problem=Task(timeout=60, n_processes=1), pop_size=3, n_pop=10, output_dir=str(folder), **more).run()


def play_llm4ad(url: str, folder: Path, is_resumed: bool) -> None:
    """``EoH(...).run()``, and ``resume_eoh``."""
    from llm4ad.base import LLM, Evaluation
    from llm4ad.method.eoh import EoH, EoHProfiler
    from llm4ad.method.eoh.resume import resume_eoh

    names: dict[str, object] = {}
    exec(SCORE, names)

    class Task(Evaluation):
        def __init__(self):
            super().__init__(template_program=SEED, task_description=TASK, timeout_seconds=60)

        def evaluate_program(self, program_str, callable_func, **named):
            return -names["score"](callable_func, program_str)

    class Model(LLM):
        def draw_sample(self, prompt, *words, **named):
            return ask(url)

    log = folder / "log"
    profiler = EoHProfiler(log_dir=str(log), log_style="simple", create_random_path=False)
    method = EoH(Model(), Task(), profiler, max_generations=10, max_sample_nums=30, pop_size=3, fork_proc=True)
    if is_resumed:
        resume_eoh(method, str(log))
        samples = [json.loads(path.read_text()) for path in (log / "samples").glob("samples_*~*.json")]
        write_kept(folder, [sample["function"] for file in samples for sample in file])
    method.run()


def main() -> None:
    name, url, folder, part, *options = sys.argv[1:]
    Path(folder).mkdir(exist_ok=True)
    globals()[f"play_{name}"](url, Path(folder), part == "resume", *options)


if __name__ == "__main__":
    main()
