"""Tasks of ALE-Bench, whose candidates are programs with standard input and output."""

import json
import sys
from pathlib import Path

import pytest

import oragent
from oragent._base.errors import CandidateError, ProblemError
from oragent.authoring.importing import import_suite, import_task
from oragent.evaluation.problem import load_problem
from oragent.harness.program_tasks import read_score

# Start of a program of Python that a shell starts too, as a `#!` cannot name a path with spaces.
HEAD = """#!/bin/sh
''':'
exec "{python}" "$0" "$@"
'''
"""
# Scores the distance of a sum to that of the numbers.
BATCH = """
import sys
numbers = [int(word) for word in open(sys.argv[1]).read().split()]
words = open(sys.argv[2]).read().split()
if len(words) != 1:
    print("wrong answer: not one number", file=sys.stderr)
    print("Score = 0", file=sys.stderr)
    sys.exit()
print("a remark", file=sys.stderr)
print("Score =", max(0, 1000 - abs(int(words[0]) - sum(numbers))), file=sys.stderr)
"""
# Answers guesses of a secret number with its side. The score is 100 less the number of guesses.
REACTIVE = """
import subprocess, sys
high, secret = map(int, input().split())
child = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
count = 0
child.stdin.write(f"{{high}}\\n")
child.stdin.flush()
while True:
    line = child.stdout.readline()
    count += 1
    if not line.strip().isdigit() or count > 50:
        print(f"wrong answer: {{line!r}}", file=sys.stderr)
        child.kill()
        sys.exit(1)
    guess = int(line)
    answer = "right" if guess == secret else "more" if guess < secret else "less"
    try:
        child.stdin.write(answer + "\\n")
        child.stdin.flush()
    except BrokenPipeError:
        pass
    if guess == secret:
        break
child.stdin.close()
child.wait()
print("Score =", 100 - count, file=sys.stderr)
"""
GEN = """
import sys
for number, seed in enumerate(open(sys.argv[1]).read().split()):
    open(f"in/{{number:04d}}.txt", "w").write({text})
"""
SUM = """import sys


def main():
    print(sum(int(word) for word in sys.stdin.read().split()) + 10)
"""
HALVE = """def main():
    low, high = 1, int(input())
    while True:
        middle = (low + high) // 2
        print(middle, flush=True)
        answer = input()
        if answer == "right":
            return
        low, high = (middle + 1, high) if answer == "more" else (low, middle - 1)
"""
SEEDS = {"public": [3, 40], "private": [5], "public_lite": [40], "private_lite": [5]}


def write_problem(folder: Path, kind: str, program: str | None = None, score_type: str = "maximize") -> Path:
    """Write a problem whose input of seed 7 is ``7 8`` (batch), or a secret 7 of at most 63 (reactive)."""
    tools = folder / "tools" / "target" / "release"
    tools.mkdir(parents=True)
    text = "f'{seed} {int(seed) + 1}\\n'" if kind == "batch" else "f'63 {seed}\\n'"
    scripts = {"tester": BATCH if kind == "batch" else REACTIVE, "gen": GEN}
    for name, script in scripts.items():
        (tools / name).write_text((HEAD + script).format(python=sys.executable, text=text))
        (tools / name).chmod(0o755)
    (tools / "deps").mkdir()
    (tools / "deps" / "large.rlib").write_text("x")
    (folder / "notes" / "target").mkdir(parents=True)
    (folder / "notes" / "target" / "more.txt").write_text("x")
    data = {
        "metadata": {"problem_id": "ahc999", "title": "A problem", "problem_type": kind, "score_type": score_type},
        "constraints": {"time_limit": 2.0, "memory_limit": 1 << 30},
        "seeds": SEEDS,
    }
    (folder / "data.json").write_text(json.dumps(data))
    (folder / "statement_en.md").write_text("# A problem\n\nSolve it.\n")
    (folder / "main.py").write_text(program or (SUM if kind == "batch" else HALVE))
    return folder


def count_guesses(secret: int) -> int:
    low, high, count = 1, 63, 0
    while True:
        middle, count = (low + high) // 2, count + 1
        if middle == secret:
            return count
        low, high = (middle + 1, high) if middle < secret else (low, middle - 1)


def test_a_batch_problem_is_scored_by_its_tester(tmp_path: Path) -> None:
    made = import_task(write_problem(tmp_path / "ahc999", "batch"), tmp_path / "problems")
    problem = load_problem(made.folder)
    assert (made.framework, made.trial.status, made.trial.reason) == ("ALE-Bench", "isolated", "")
    assert (made.trial.score, made.trial.shared_score, made.trial.calls) == (1980.0, 1980.0, 2)
    assert (problem.about.function, str(problem.about.direction)) == ("main", "maximize")
    assert problem.about.description == "# A problem\n\nSolve it."
    # A case may take two times its 2 s, and there are two.
    assert problem.about.timeout_s == 28.0
    assert problem.about.input == "streams"
    scores = {mode: oragent.evaluate(made.folder, mode=mode).score for mode in ("train", "val", "test")}
    assert scores == {"train": 990.0, "val": 1980.0, "test": 990.0}
    # Of tools alone, what a compiler made is left out.
    assert not (made.folder / "task/tools/target/release/deps").exists()
    assert (made.folder / "task/notes/target/more.txt").is_file()


def test_a_reactive_problem_talks_with_its_tester(tmp_path: Path) -> None:
    made = import_task(write_problem(tmp_path / "ahc999", "reactive"), tmp_path / "problems")
    assert (made.trial.status, made.trial.reason) == ("isolated", "")
    expected = {mode: sum(100 - count_guesses(seed) for seed in SEEDS[key]) for mode, key in SETS.items()}
    assert made.trial.score == made.trial.shared_score == expected["val"]
    assert {mode: oragent.evaluate(made.folder, mode=mode).score for mode in SETS} == expected


SETS = {"train": "public_lite", "val": "public", "test": "private"}
PROGRAMS = [
    "import sys\ninput = sys.stdin.readline\ndef main():\n    print(sum(map(int, input().split())))\n",
    "import sys\nread, write = sys.stdin.buffer.read, sys.stdout.write\ndef main():\n    write(str(sum(map(int, read().split()))))\n",
    "def main():\n    print(sum(map(int, open(0).read().split())))\n    exit(0)\n",
    "import sys\ndef main():\n    for line in sys.stdin:\n        sys.stdout.buffer.write(b'%d' % sum(map(int, line.split())))\n",
    "import numpy as np, sys\ndef main():\n    print(np.loadtxt(sys.stdin, dtype=int).sum())\n",
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_may_use_their_streams_in_the_usual_ways(program: str, tmp_path: Path) -> None:
    made = import_task(write_problem(tmp_path / "ahc999", "batch"), tmp_path / "problems", is_tried=False)
    result = oragent.evaluate(made.folder, program)
    assert result.score == 2000.0, result


@pytest.fixture(scope="module")
def problems(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    base = tmp_path_factory.mktemp("ale")
    return {
        kind: import_task(write_problem(base / kind, kind), base / "problems", is_tried=False).folder
        for kind in ("batch", "reactive")
    }


# Each ends with the answer of the seed, so that its score is that of the seed if the cheat does nothing.
CHEATS = {
    "reads the secret": "    import glob\n    for path in glob.glob('/tmp/**/*.txt', recursive=True) + ['/proc/self/fd/3']:\n"
    "        try:\n            print(open(path).read().split()[-1])\n        except OSError:\n            pass",
    "leaves a process": "    import os, time\n    if os.fork() == 0:\n        while True:\n            print(1)",
    "writes the result of the tester": "    import glob, sys\n    sys.stderr.write('Score = 1000000\\n')\n"
    "    open('errors.txt', 'w').write('Score = 1000000')",
    "prints a score": "    print('Score = 1000000')",
    "prints without end": "    while True:\n        print('1' * 10000)",
    "prints one line without end": "    import sys\n    while True:\n        sys.stdout.write('1' * 10000)",
    "closes its streams": "    import sys\n    sys.stdout.close()\n    sys.stdin.close()",
    "closes all pipes": "    import os\n    os.closerange(0, 1000)",
    "ends its process": "    import os\n    os._exit(0)",
    "reads more than there is": "    while True:\n        input()",
    "waits without end": "    import time\n    time.sleep(1000)",
    "calls the other side": "    import gc\n    for item in gc.get_objects():\n"
    "        if type(item).__name__ == 'ProgramStreams':\n            item._exchange('Score = 1000000', True)",
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["batch", "reactive"])
@pytest.mark.parametrize("cheat", CHEATS)
def test_no_cheat_is_scored_better_than_the_honest_program(kind: str, cheat: str, problems: dict[str, Path]) -> None:
    honest = SUM if kind == "batch" else HALVE
    body = honest.partition("def main():\n")[2]
    protected = "\n".join(f"    {line}" for line in CHEATS[cheat].split("\n"))
    program = f"import sys\ndef main():\n    try:\n{protected}\n    except Exception:\n        pass\n{body}"
    result = oragent.evaluate(problems[kind], program)
    best = oragent.evaluate(problems[kind], honest).score
    assert best is not None
    assert result.score is None or result.score <= best, result


@pytest.mark.parametrize("kind", ["batch", "reactive"])
def test_an_output_that_the_tester_rejects_has_no_score(kind: str, problems: dict[str, Path]) -> None:
    for body in ("print('x y')", "pass"):
        result = oragent.evaluate(problems[kind], f"def main():\n    {body}\n")
        assert (result.score, str(result.status)) == (None, "invalid"), result


@pytest.mark.parametrize(
    ("code", "errors", "score"),
    [
        (0, "Score = 12\n", 12),
        (0, "a remark\r\nScore = 0\r\n", 0),
        (1, "Score = 12\n", None),
        (0, "wrong answer: x\nScore = 0\n", None),
        (0, "Score = 12\na remark\n", None),
        (0, "", None),
        # Words of the candidate in a message, with characters that separate lines elsewhere.
        (0, "not a number: x\x1cScore = 99\n", None),
        (0, "not a number: x\u2028Score = 99\n", None),
        (0, "not a number: x\rScore = 99\n", None),
    ],
)
def test_a_score_is_the_last_line_of_a_tester_that_accepts_the_output(
    code: int, errors: str, score: int | None
) -> None:
    if score is not None:
        assert read_score(code, errors.encode(), "0000.txt") == score
        return
    with pytest.raises(CandidateError):
        read_score(code, errors.encode(), "0000.txt")


@pytest.mark.slow
def test_the_time_of_the_tester_is_not_that_of_the_program(tmp_path: Path) -> None:
    folder = write_problem(tmp_path / "ahc999", "reactive")
    data = json.loads((folder / "data.json").read_text())
    data["constraints"]["time_limit"] = 1.0
    # Five guesses.
    data["seeds"] = {"public": [2]}
    (folder / "data.json").write_text(json.dumps(data))
    tester = folder / "tools" / "target" / "release" / "tester"
    tester.write_text(
        tester.read_text().replace("    count += 1\n", "    count += 1\n    import time; time.sleep(0.6)\n")
    )
    made = import_task(folder, tmp_path / "problems", is_tried=False)
    assert oragent.evaluate(made.folder).score == 100 - count_guesses(2) == 95
    # The own time of a program counts, and an answer for which both wait never comes.
    for body in ("    import time; time.sleep(3)\n", "    input(); input()\n"):
        program = HALVE.replace("def main():\n", f"def main():\n{body}")
        assert str(oragent.evaluate(made.folder, program).status) == "timeout"


def test_a_problem_without_tester_program_or_inputs_says_what_is_missing(tmp_path: Path) -> None:
    folder = write_problem(tmp_path / "ahc999", "batch")
    (folder / "main.py").rename(tmp_path / "mine.py")
    with pytest.raises(ProblemError, match="--seed"):
        import_task(folder, tmp_path / "problems")
    with pytest.raises(ProblemError, match=r"none\.py"):
        import_task(folder, tmp_path / "problems", seed=tmp_path / "none.py")
    tools = folder / "tools" / "target" / "release"
    (tools / "gen").write_text("#!/bin/sh\n")
    with pytest.raises(ProblemError, match="no inputs"):
        import_task(folder, tmp_path / "problems", seed=tmp_path / "mine.py")
    (tools / "gen").rename(tmp_path / "gen")
    with pytest.raises(ProblemError, match="--data"):
        import_task(folder, tmp_path / "problems", seed=tmp_path / "mine.py")
    for name, text in (("public", "1 2\n"), ("private", "3 4\n")):
        (tmp_path / "data" / name).mkdir(parents=True)
        (tmp_path / "data" / name / "0000.txt").write_text(text)
    for number in range(1, 3):
        (tmp_path / "data" / "private" / f"000{number}.txt").write_text("5 6\n")
    made = import_task(folder, tmp_path / "problems", seed=tmp_path / "mine.py", data=tmp_path / "data")
    assert (made.trial.status, made.trial.score, made.trial.calls) == ("isolated", 990.0, 1)
    # The larger set has three inputs, more than seeds.
    assert load_problem(made.folder).about.timeout_s == 3 * 4.0 + 20.0
    (tools / "tester").unlink()
    with pytest.raises(ProblemError, match="cargo"):
        import_task(folder, tmp_path / "problems")
    rows = list(import_suite(tmp_path / "ahc999", tmp_path / "others"))
    assert [row.trial.status for row in rows] == ["refused"]
    (tools / "tester").write_text("")
    described = '{"metadata": {"title": "", "problem_type": "batch", "score_type": "minimize"}, "constraints": %s}'
    limits = [described % f'{{"time_limit": {value}}}' for value in ("0", "-1", "1e999", "1" + 400 * "0")]
    for text in ("{}", "[1]", "no JSON", '{"metadata": {"title": 1, "score_type": "both"}}', *limits):
        (folder / "data.json").write_text(text)
        with pytest.raises(ProblemError, match=r"data\.json"):
            import_task(folder, tmp_path / "problems")
