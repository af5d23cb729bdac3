"""What isolation and the engine cost: candidates a second, CPU milliseconds a candidate, memory, time to begin.

CPU is that of the whole process tree, from a control group of its own where one can be made, otherwise of the
evaluations and the engine alone. ``bench_border.py --long`` goes on to 5,000 candidates.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from oragent.evaluation import EvaluationRunner, Job  # noqa: E402
from oragent.sandbox.messages import Limits  # noqa: E402
from tests.llm.chat_server import ChatServer, ok  # noqa: E402
from tests.processes import bearing  # noqa: E402

GROUP = Path("/sys/fs/cgroup/cpuacct")
PLAIN = """
import time
import heuristic
begun = time.perf_counter()
value = heuristic.guess(3.0)
while time.perf_counter() < begun + 0.001:
    pass
print(f'''__SANDBOX_RESULT__
__METRICS_START__
{{}}
__METRICS_END__
__FEATURES_START__
({int(value) % 20},)
__FEATURES_END__
__SCORE_START__
{abs(100 - value)}
__SCORE_END__
__SANDBOX_SUCCESS__''')
"""
GUARDED = """
from oragent.harness import Result, run
import time
def evaluate(arguments, guest):
    begun = time.perf_counter()
    value = float(guest(3.0))
    while time.perf_counter() < begun + 0.001:
        pass
    return Result({}, (int(value) % 20,), abs(100 - value))
run(evaluate, function="guess", sizes={"val": [1]})
"""
PARTS = """
from oragent.harness import Result, run
import time
def evaluate(arguments, guest):
    guest(3.0)
    guest.end()
    return Result({"scorer": 1000 * time.thread_time(), "guest": 1000 * guest.cpu_s}, (0,), 0.0)
run(evaluate, function="guess", sizes={"val": [1]})
"""
DESCRIPTION = """
title: Guess a number
description: Return 100.
function: guess
direction: minimize
features: [{name: remainder, bins: 20, meaning: of the guess}]
primitives: [x * x, x + 1]
"""
# A run whose model answers at once, so that what is measured is the engine and the border.
ENGINE = """
import asyncio, itertools, resource, sys, time
from pathlib import Path
from oragent.llm.model import Reply
from oragent.evaluation import EvaluationRunner
from oragent.evaluation.pool import JobPool
from oragent.evaluation.problem import load_problem
from oragent.search.config import build_config
from oragent.search.engine import Engine
from oragent.search.folder import make_folder
from oragent.search.store import Store
from oragent.search.strategies import STRATEGIES
root, evaluations = Path(sys.argv[1]), int(sys.argv[2])
settings = [f"budget.evaluations={evaluations}", "strategy.name=random", "model.name=instant"]
folder = make_folder(root, root / "outputs", load_problem(root / "problems" / "toy"), build_config({}, settings, "bench"))
numbers = itertools.count()
async def instant(request):
    code = f"{{A product.}}\\n```python\\ndef guess(x):\\n    return x * {next(numbers)}\\n```"
    return Reply(code, model="instant", tokens_in=100, tokens_out=30, money=0.0, seconds=0.0)
begun = []
with EvaluationRunner(2) as sandbox, Store(folder.database) as store:
    pool = JobPool(2, sandbox)
    observer = lambda progress: begun or begun.append(time.monotonic())
    engine = Engine(folder, store, pool, STRATEGIES["random"], instant, observer)
    asyncio.run(engine.run())
    wall = time.monotonic() - begun[0]
    pool.close()
used = resource.getrusage(resource.RUSAGE_SELF)
print(wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
"""


def toy(root: Path, evaluator: str) -> Path:
    """A problem of a millisecond."""
    folder = root / "problems" / "toy"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "problem.yaml").write_text(DESCRIPTION)
    (folder / "eval.py").write_text(evaluator)
    (folder / "heuristic.py").write_text("def guess(x):\n    return x * 2.0\n")
    return folder


def in_group(command: list[str]) -> tuple[str, float]:
    """Run a command; what it printed, and the CPU seconds of all its processes (nan where nobody counts them)."""
    group = GROUP / f"oragent-bench-{os.getpid()}"
    try:
        group.mkdir(exist_ok=True)
        enter = [sys.executable, "-c", textwrap.dedent(f"""
            import os, sys
            open({str(group / "cgroup.procs")!r}, "w").write("0")
            os.execv(sys.argv[1], sys.argv[1:])
        """)]  # fmt: skip
        before = int((group / "cpuacct.usage").read_text())
    except OSError:
        return subprocess.run(command, check=True, capture_output=True, text=True, env=environment()).stdout, float(
            "nan"
        )
    done = subprocess.run([*enter, *command], check=True, capture_output=True, text=True, env=environment())
    spent = (int((group / "cpuacct.usage").read_text()) - before) / 1e9
    time.sleep(0.2)
    group.rmdir()
    return done.stdout, spent


def environment() -> dict[str, str]:
    """Ours, with the project to import, and bytecode kept, as it is where nobody forbids it."""
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**inherited, "PYTHONPATH": str(ROOT)}


def engine(evaluator: str, evaluations: int) -> None:
    """One run, less what a run of two candidates takes: the median of three, as a start is as long as a hundred."""
    with tempfile.TemporaryDirectory() as name:
        toy(Path(name), evaluator)
        short = [in_group([sys.executable, "-c", ENGINE, name, "2"]) for _ in range(3)]
        out, spent = in_group([sys.executable, "-c", ENGINE, name, str(evaluations)])
    wall, own, memory = map(float, out.split())
    own -= statistics.median(float(printed.split()[1]) for printed, _ in short)
    spent -= statistics.median(base for _, base in short)
    each = 1000 / (evaluations - 2)
    print(
        f"  {evaluations:5d} candidates: {(evaluations - 1) / wall:5.1f} a second, {spent * each:5.2f} CPU ms each in "
        f"all processes, {own * each:5.2f} in the engine, {memory:.0f} MB in the engine"
    )


def parts(evaluations: int = 150) -> None:
    """CPU milliseconds of a guarded evaluation that does nothing, by process."""
    with tempfile.TemporaryDirectory() as name, EvaluationRunner() as sandbox:
        job = Job(toy(Path(name), PARTS) / "eval.py", "def guess(x):\n    return x\n", Path(name), Limits(cpu_s=60))
        sandbox(job)
        worker = Path(f"/proc/{bearing(f'--root-dir={name}')[-1]}/schedstat")  # the last of the server's processes
        before, begun = int(worker.read_text().split()[0]), time.process_time()
        ended = [sandbox(job) for _ in range(evaluations)]
        client = 1000 * (time.process_time() - begun) / evaluations
        forking = (int(worker.read_text().split()[0]) - before) / 1e6 / evaluations
    scorer, guest = (statistics.median(one.metrics[key] for one in ended) for key in ("scorer", "guest"))
    all_of_it = 1000 * statistics.median(one.cpu_s for one in ended)
    print(
        f"  of {client + forking + all_of_it:.1f} CPU ms: {client:.1f} client, {forking:.1f} worker, {scorer:.1f} scorer, "
        f"{guest:.1f} guest, {all_of_it - scorer - guest:.1f} before and after the scorer's program"
    )


def timed(action: Callable[[], object], repeats: int) -> float:
    """Median wall milliseconds."""
    seconds = []
    for _ in range(repeats):
        begun = time.perf_counter()
        action()
        seconds.append(time.perf_counter() - begun)
    return 1000 * statistics.median(seconds)


def forked_or_fresh(name: str) -> None:
    """What an evaluation costs beside its work, forked from a warm interpreter and in a fresh one."""
    folder = ROOT / "problems" / name
    job = Job(folder / "eval.py", "def nothing(): pass\n", ROOT, Limits(cpu_s=120, memory_mb=8192), mode="train")
    figures = []
    for warm in (True, False):
        with EvaluationRunner(warm=warm) as sandbox:
            sandbox(job)
            ended = [sandbox(job) for _ in range(5 if warm else 3)]
        figures += [statistics.median(1000 * getattr(one, key) for one in ended) for key in ("wall_s", "cpu_s")]
    print(
        f"  {name:16s} forked {figures[0]:6.0f} ms ({figures[1]:.0f} CPU), fresh {figures[2]:6.0f} ms ({figures[3]:.0f} CPU)"
    )


def first_call() -> tuple[float, float]:
    """Seconds from the command to the check and to the first prompt at a model's server."""
    with tempfile.TemporaryDirectory() as name, ChatServer(*[ok("nothing")] * 50) as server:
        toy(Path(name), PLAIN)
        begun = time.monotonic()
        command = [
            sys.executable,
            "-m",
            "oragent",
            "run",
            "toy",
            "--root",
            name,
            "--model",
            "m",
            "--strategy",
            "random",
        ]
        settings = [f"model.base_url={server.url}", "strategy.patience=2"]
        subprocess.run([*command, *settings], check=False, capture_output=True, env=environment())
        return server.times[0] - begun, server.times[1] - begun


def main() -> None:
    """Print the table."""
    print("Engine, an instant model, 2 workers, an evaluation of 1 ms")
    print(" an evaluator without the harness (scorer and candidate in one isolated process):")
    for count in (100, 1000, 5000) if "--long" in sys.argv else (100, 500):
        engine(PLAIN, count)
    print(" one with the harness (the candidate in a guest of its own):")
    for count in (100, 1000, 5000) if "--long" in sys.argv else (100, 500):
        engine(GUARDED, count)
    parts()
    with tempfile.TemporaryDirectory() as name, EvaluationRunner() as sandbox:
        folder = toy(Path(name), "import os; os._exit(0)")
        job = Job(folder / "eval.py", "", Path(name), Limits(cpu_s=60))
        sandbox(job)
        print(f"A child that dies at once is noticed after {timed(lambda: sandbox(job), 9):.0f} ms")
    print("An evaluation of a candidate that has not even the function")
    for name in ("tsp_constructive", "tsp_aco", "tsp_pomo"):
        if (ROOT / "problems" / name).is_dir():
            forked_or_fresh(name)
    print("From the command on")
    checks, prompts = zip(*(first_call() for _ in range(5)), strict=True)
    check, prompt = statistics.median(checks), statistics.median(prompts)
    print(f"  the endpoint is checked after {check:.2f} s, the first prompt comes after {prompt:.2f} s")


if __name__ == "__main__":
    main()
