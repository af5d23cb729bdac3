"""Candidates of several functions, of several files, in C++: checked, scored in a guest, and held by the same border."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from oragent._base.errors import CandidateError, ProblemError
from oragent._base.protocol import Status
from oragent.evaluation import Evaluation, EvaluationRunner
from oragent.evaluation.problem import LimitSettings, evaluation_root, load_problem
from oragent.programs.inspection import fit_to_frame, inspect_program
from oragent.programs.multi_file import join_files, split_files
from oragent.sandbox.isolation.mechanisms import Mechanism
from oragent.sandbox.isolation.probe import probe_mechanisms

WORKING = {report.mechanism for report in probe_mechanisms() if report.works}
hidden = pytest.mark.skipif(
    not {Mechanism.NAMESPACES, Mechanism.LANDLOCK} & WORKING,
    reason="nothing here keeps a process from files of its user",
)
compiled = pytest.mark.skipif(shutil.which("g++") is None, reason="there is no compiler for C++ here")

ABOUT = """
title: Two halves
description: Make {1, 2, 3, 4} as large as can be.
function: scale
direction: maximize
timeout_s: 60
"""
EVALUATOR = """
from oragent import harness
import numpy as np

def evaluate(arguments, guest):
    values = np.arange(1.0, 5.0)
    whole = [guest.of("shift")(guest(value)) for value in values]
    return harness.Result({"values": whole}, None, float(sum(whole)))

if __name__ == "__main__":
    harness.run(evaluate, function="scale", functions=("shift",), sizes={"train": (4,), "val": (4,)}FILES)
"""
SCALE = "def scale(x):\n    return 2.0 * x\n"
SHIFT = "def shift(x):\n    return x + 1.0\n"
MATRIX = """
from oragent import harness
import numpy as np

def evaluate(arguments, guest):
    value, weight = np.array([3.0, 1.0, 2.0]), np.array([1, 1, 2])
    answer = harness.matrix(guest(value, weight, 4.0, np.eye(3)), (3,))
    return harness.Result({"answer": answer.tolist()}, None, float(answer.sum()))

if __name__ == "__main__":
    harness.run(evaluate, function="priority", sizes={"train": (3,), "val": (3,)})
"""
CPP = """#include <cstdint>
#include <vector>

// Say how early each item is tried.
// value: what it is worth.
std::vector<double> priority(const std::vector<double>& value, const std::vector<std::int64_t>& weight,
                             double capacity, const std::vector<std::vector<double>>& more) {
    std::vector<double> found(value.size());
    for (std::size_t i = 0; i < value.size(); ++i) found[i] = value[i] / weight[i] + capacity * more[i][i];
    return found;
}
"""
Score = Callable[..., Evaluation]


@pytest.fixture
def score(tmp_path: Path) -> Iterator[Score]:
    with EvaluationRunner() as run:

        def scored(source: str | None = None, *options: str) -> Evaluation:
            problem = load_problem(tmp_path)
            job = problem.make_job(
                source or problem.seed,
                evaluation_root(problem),
                problem.make_limits(LimitSettings()),
                arguments=options,
            )
            return run(job)

        yield scored


@pytest.fixture(scope="module")
def in_cpp_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Score]]:
    """A problem in C++ and what scores for it, for tests that change neither."""
    folder = tmp_path_factory.mktemp("cpp")
    in_cpp(folder)
    (folder / "answers.csv").write_text("int secret_answer = 4711;\n")
    problem = load_problem(folder)
    with EvaluationRunner() as run:
        yield (
            folder,
            lambda source: run(
                problem.make_job(source, evaluation_root(problem), problem.make_limits(LimitSettings()))
            ),
        )


def two_functions(folder: Path) -> None:
    (folder / "problem.yaml").write_text(f"{ABOUT}functions: [shift]\n")
    (folder / "eval.py").write_text(EVALUATOR.replace("FILES", ""))
    (folder / "heuristic.py").write_text(f"{SCALE}\n\n{SHIFT}")


def two_files(folder: Path) -> None:
    (folder / "problem.yaml").write_text(f"{ABOUT}functions: [shift]\ncandidate: {{files: [heuristic.py, rules.py]}}\n")
    (folder / "eval.py").write_text(EVALUATOR.replace("FILES", ', files=("rules.py",)'))
    (folder / "heuristic.py").write_text(f"from rules import FACTOR\n\n\n{SCALE.replace('2.0', 'FACTOR')}")
    (folder / "rules.py").write_text(f"FACTOR = 2.0\n\n\n{SHIFT}")


def in_cpp(folder: Path) -> None:
    (folder / "problem.yaml").write_text(
        f"{ABOUT.replace('scale', 'priority')}candidate: {{language: cpp}}\n".replace("timeout_s: 60", "timeout_s: 90")
    )
    (folder / "eval.py").write_text(MATRIX)
    (folder / "heuristic.cpp").write_text(CPP)


@pytest.mark.slow
def test_several_functions_are_called_and_checked(tmp_path: Path, score: Score) -> None:
    two_functions(tmp_path)
    assert score().score == 24.0
    assert score(load_problem(tmp_path).seed.replace("1.0", "2.0")).score == 28.0
    forgetful = load_problem(tmp_path).seed.replace(
        "x + 1.0", "x + len(SEEN) + SEEN.append(x) if 0 else x + (SEEN.append(x), len(SEEN))[1]"
    )
    assert score(None, "--check").metrics["checked"] == 8
    assert score(f"SEEN = []\n{forgetful}", "--check").status is Status.REJECTED


def test_every_one_of_several_functions_must_be_there_with_its_parameters(tmp_path: Path) -> None:
    two_functions(tmp_path)
    wanted = load_problem(tmp_path).signature
    assert inspect_program(f"{SCALE}\n{SHIFT}", wanted).problem == ""
    assert "no function shift" in inspect_program(SCALE, wanted).problem
    assert "other parameters" in inspect_program(f"{SCALE}\n{SHIFT.replace('(x)', '(x, y)')}", wanted).problem
    one, other = (
        inspect_program(f"{SCALE}\n{text}", wanted).fingerprint for text in (SHIFT, SHIFT.replace("1.0", "2.0"))
    )
    assert one != other


def test_a_candidate_of_two_files_is_one_text_and_two_modules(tmp_path: Path, score: Score) -> None:
    two_files(tmp_path)
    problem = load_problem(tmp_path)
    assert split_files(problem.seed, ("heuristic.py", "rules.py"))["rules.py"] == f"FACTOR = 2.0\n\n\n{SHIFT}"
    assert score().score == 24.0
    assert score(problem.seed.replace("FACTOR = 2.0", "FACTOR = 3.0")).score == 34.0
    assert "no file rules.py" in inspect_program("from rules import FACTOR\n" + SCALE, problem.signature).problem
    broken = inspect_program(problem.seed.replace("return x + 1.0", "return ("), problem.signature).problem
    assert broken.startswith("rules.py: syntax error on line 5")


def test_a_text_of_several_files_is_cut_at_the_lines_that_name_wanted_ones() -> None:
    files = {"heuristic.py": "a = 1\n", "rules.py": "b = 2\n", "more.py": "c = 3\n"}
    assert split_files(join_files(files), tuple(files)) == files
    assert split_files(join_files(files), ("heuristic.py", "more.py"))["heuristic.py"].endswith("b = 2\n")
    assert split_files("x = 1\n", ("heuristic.py",)) == {"heuristic.py": "x = 1\n"}


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ("{files: [rules.py]}", "the first file of a candidate in python is heuristic.py, not rules.py"),
        ("{files: [heuristic.py, ../rules.py]}", "is not a valid file name of a candidate"),
        ("{files: [heuristic.py, eval.py]}", "is not a valid file name of a candidate"),
        ("{files: [heuristic.py, rules.cpp]}", "is not a valid file name of a candidate"),
        ("{language: rust}", "input should be 'python' or 'cpp', not 'rust'"),
    ],
)
def test_wrong_settings_of_candidates_are_one_line(tmp_path: Path, settings: str, words: str) -> None:
    two_functions(tmp_path)
    (tmp_path / "problem.yaml").write_text(f"{ABOUT}candidate: {settings}\n")
    with pytest.raises(ProblemError) as caught:
        load_problem(tmp_path)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


BLOCKS = """import math
# EVOLVE-BLOCK-START
LIMIT = 3


def scale(x):
    return x * LIMIT
# EVOLVE-BLOCK-END


def fixed(x):
    return scale(x) + math.pi


# EVOLVE-BLOCK-START
def shift(x):
    return x + 1
# EVOLVE-BLOCK-END
"""


def blocks(folder: Path) -> None:
    two_functions(folder)
    (folder / "heuristic.py").write_text(BLOCKS)


@pytest.mark.parametrize(
    "candidate",
    [
        BLOCKS.replace("LIMIT = 3", "LIMIT = 4").replace("math.pi", "0").replace("import math", "import os"),
        "LIMIT = 4\n\n\ndef fixed(x):\n    return 0\n\n\ndef scale(x):\n    return x * LIMIT\n\n\ndef shift(x):\n    return x + 1\n",
    ],
)
def test_what_lies_outside_of_the_markers_is_fixed(tmp_path: Path, candidate: str) -> None:
    blocks(tmp_path)
    wanted = load_problem(tmp_path).signature
    made = fit_to_frame(candidate, wanted)
    assert (
        inspect_program(made, wanted).fingerprint
        == inspect_program(BLOCKS.replace("LIMIT = 3", "LIMIT = 4"), wanted).fingerprint
    )
    assert fit_to_frame(made, wanted) == made
    assert "math.pi" in made


@pytest.mark.parametrize(
    ("candidate", "words"),
    [
        (BLOCKS.replace("# EVOLVE-BLOCK-END\n", "", 1), "must have 2 blocks to change: keep the comment lines"),
        (BLOCKS.replace("# EVOLVE-BLOCK-START\n", "", 1), "keep the comment lines"),
        ("def scale(x:\n", "syntax error"),
    ],
)
def test_other_markers_than_the_seeds_are_refused(tmp_path: Path, candidate: str, words: str) -> None:
    blocks(tmp_path)
    with pytest.raises(CandidateError, match=words):
        fit_to_frame(candidate, load_problem(tmp_path).signature)


def test_a_seed_with_a_lonely_marker_is_one_line(tmp_path: Path) -> None:
    blocks(tmp_path)
    (tmp_path / "heuristic.py").write_text(BLOCKS.replace("# EVOLVE-BLOCK-END\n", "", 1))
    with pytest.raises(ProblemError):
        load_problem(tmp_path)


@pytest.mark.slow
@compiled
def test_a_program_in_cpp_is_built_called_and_scored(tmp_path: Path, score: Score) -> None:
    in_cpp(tmp_path)
    problem = load_problem(tmp_path)
    assert problem.signature.text.startswith("std::vector<double> priority(const std::vector<double>& value, const")
    assert problem.documentation == "Say how early each item is tried.\nvalue: what it is worth."
    ended = score()
    assert ended.score == 3 + 1 + 1 + 12, (ended.message, ended.traceback, ended.log)
    assert inspect_program(problem.seed, problem.signature).problem == ""
    spaced = problem.seed.replace("// value: what it is worth.\n", "/* else */").replace(" / ", "/")
    assert (
        inspect_program(spaced, problem.signature).fingerprint
        == inspect_program(problem.seed, problem.signature).fingerprint
    )


FAULTS = {
    "a wrong name": (CPP.replace("value[i]", "valu[i]"), Status.REJECTED, "heuristic.cpp, line 9: 'valu' was not declared"),
    "an exception": (CPP.replace("return found", "found.at(7) = 1; return found"), Status.ERROR, "range_check"),
    "a crash": (CPP.replace("return found", "*(volatile int*)0 = 1; return found"), Status.CRASHED, "SIGSEGV"),
    "memory": (CPP.replace("found(value.size())", "found(1ull << 40)"), Status.MEMORY, "memory"),
    "another result": (CPP.replace("return found", "found.push_back(1); return found"), Status.INVALID, "shape"),
    "another type": (CPP.replace("double capacity", "const std::vector<double>& capacity").replace("capacity *", "1 *"),
                     Status.ERROR, "gets an argument of 0 dimensions where it takes one of 1"),
    "fewer arguments": (CPP.replace("double capacity, const std::vector<std::vector<double>>& more", "double capacity")
                        .replace("* more[i][i]", ""), Status.ERROR, "takes 3 arguments, and is called with 4"),
    "no such function": (CPP.replace("priority(", "other("), Status.REJECTED, "priority"),
    "an undefined one": (CPP.replace("std::vector<double> priority", "double absent();\nstd::vector<double> priority")
                         .replace("return found", "found[0] = absent(); return found"), Status.REJECTED, "absent"),
}  # fmt: skip


@pytest.mark.slow
@compiled
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_cpp_is_a_status_with_a_reason(in_cpp_once: tuple[Path, Score], fault: str) -> None:
    _, score = in_cpp_once
    source, status, words = FAULTS[fault]
    ended = score(source)
    assert (ended.status, words in f"{ended.message} {ended.traceback}") == (status, True), (ended.message, ended.log)


@pytest.mark.slow
@compiled
@hidden
@pytest.mark.parametrize(
    "line",
    [
        '#include "/etc/passwd"',
        '#include "{folder}/answers.csv"',
        '#include "../eval.py"',
        '#define THERE "{folder}/answers.csv"\n#include THERE',
        '%:include "{folder}/answers.csv"',
        'asm(".incbin \\"{folder}/answers.csv\\"");',
        'asm(".incbin \\"/proc/self/environ\\"");',
        'asm(".incbin \\"/usr/lib/os-release\\"");',
        'asm(".incbin \\"/usr/bin/env\\"");',
        'asm(".incbin \\"/dev/urandom\\", 0, 16");',
        '#include "/usr/lib/os-release"\n#error 4711',
        '#if __has_include("{folder}/answers.csv")\n#error it is there\n#endif',
        '#if __has_include("/usr/bin/env")\n#error it is there\n#endif',
        '#if __has_include("/usr/lib/python3/dist-packages") || __has_include("/usr/share")\n#error it is there\n#endif',
    ],
)
def test_what_a_compiler_could_read_reaches_nobody(in_cpp_once: tuple[Path, Score], line: str) -> None:
    folder, score = in_cpp_once
    ended = score(f"{line.format(folder=folder)}\n{CPP}")
    assert ended.status in (Status.REJECTED, Status.OK)
    told = f"{ended.message} {ended.traceback} {ended.log} {ended.output}"
    assert "root:" not in told
    assert "secret_answer" not in told
    assert "it is there" not in told
    if line.startswith("asm"):
        assert ended.status is Status.REJECTED, "the assembler found the file"
        assert line.format(folder=folder).split('"')[2].rstrip("\\") in ended.message


@pytest.mark.slow
@compiled
def test_what_runs_when_a_library_is_loaded_runs_in_the_guest(tmp_path: Path, score: Score) -> None:
    in_cpp(tmp_path)
    begins = """#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>
struct Begin { Begin() {
    write(1, "\\n__SANDBOX_RESULT__\\n__SCORE_START__\\n99\\n__SCORE_END__\\n__SANDBOX_SUCCESS__\\n", 70);
    FOUND = fork() >= 0 || socket(AF_INET, SOCK_STREAM, 0) >= 0 || open("/etc/passwd", O_RDONLY) >= 0
        || open("FOLDER/eval.py", O_RDONLY) >= 0 || execl("/bin/true", "true", nullptr) == 0;
} bool FOUND; } begin;
""".replace("FOLDER", str(tmp_path))
    ended = score(begins + CPP.replace("found[i] =", "found[i] = 1000.0 * begin.FOUND +"))
    assert (ended.status, ended.score) == (Status.OK, 17.0), (ended.message, ended.log)


@pytest.mark.slow
@compiled
@pytest.mark.parametrize(
    ("bomb", "status"),
    [
        (
            "template<int N> struct F { static const int v = F<N - 1>::v + F<N - 2>::v; };\nint big = F<5000>::v;",
            Status.REJECTED,
        ),
        ('#include "heuristic.cpp"', Status.REJECTED),
        ("char large[1ull << 33] = {1};", Status.REJECTED),
    ],
)
def test_a_bomb_for_the_compiler_ends_by_its_limits(tmp_path: Path, score: Score, bomb: str, status: Status) -> None:
    in_cpp(tmp_path)
    ended = score(f"{bomb}\n{CPP}")
    assert ended.score is None
    assert ended.status in (status, Status.MEMORY, Status.TIMEOUT), ended.message
