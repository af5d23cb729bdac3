"""What words name a program, and of which problem."""

import shutil
from pathlib import Path

import pytest

import oragent
from oragent._base.errors import OragentError
from oragent.evals.duel.contestants import find_contestants
from oragent.evals.duel.runner import DuelPlan
from oragent.evaluation.problem import load_problem
from oragent.search.config import build_config
from oragent.search.folder import RunFolder, make_folder, reopen
from tests.conftest import TREE
from tests.report import runs
from tests.sources import ROOT

SEED, BETTER, WORSE = (f"def guess(x):\n    return x * {factor}\n" for factor in (2.0, 30.0, 1.0))


@pytest.fixture
def run(begun) -> Path:
    folder = begun().path
    folder = folder.rename(folder.with_name("a#run"))
    made = [[runs.Made(SEED, 94.0, (6,), (), "seed")], [runs.Made(WORSE, 97.0, (3,))], [runs.Made(BETTER, 10.0, (6,))]]
    runs.write(folder, made)
    (folder / "best.py").write_text(BETTER)
    return folder


def texts(*words: str, problem: str | None = None) -> list[str]:
    return [contestant.source for contestant in find_contestants(words, problem, ROOT)[1]]


def test_a_run_is_its_best_and_ids_are_its_candidates(run: Path) -> None:
    assert texts(str(run), f"{run}#1.0") == [BETTER, WORSE]
    assert texts(f"{run}#seed", f"{run}#best") == [SEED, BETTER]
    problem, contestants = find_contestants([str(run), f"{run}#1.0"], None, ROOT)
    assert problem.name == "toy"
    assert [contestant.name for contestant in contestants] == ["toy/a#run", "toy/a#run#1.0"]


@pytest.mark.parametrize("named", [None, "toy"])
def test_each_run_folder_is_opened_once(
    run: Path, toy: Path, named: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = []

    def note(path: Path, **options: bool) -> RunFolder:
        opened.append(path)
        return reopen(path, **options)

    monkeypatch.setattr("oragent.evals.duel.contestants.reopen", note)
    assert texts(str(run), f"{run}#1.0", problem=named and str(toy)) == [BETTER, WORSE]
    assert opened == [run]


def test_files_discovered_programs_and_the_seed_are_found(tmp_path: Path) -> None:
    file = tmp_path / "own.py"
    file.write_text("def priority(item, bins_remain_cap):\n    return -bins_remain_cap\n")
    discovered = (ROOT / "problems" / "bpp_online" / "discovered" / "nine_numbers.py").read_text()
    seed = (ROOT / "problems" / "bpp_online" / "heuristic.py").read_text()
    assert texts(str(file), "seed", problem="bpp_online") == [file.read_text(), seed]
    (found, _) = texts("discovered/nine_numbers", "seed", problem="bpp_online")
    assert found.strip() == discovered.strip()


def test_a_reference_of_the_problem_is_found(toy: Path) -> None:
    (toy / "other.py").write_text(WORSE)
    (toy / "problem.yaml").write_text(f"{(toy / 'problem.yaml').read_text()}\nreferences: {{usual: other.py}}\n")
    assert texts("reference/usual", "seed", problem=str(toy)) == [WORSE, SEED]
    with pytest.raises(OragentError):
        texts("reference/none", "seed", problem=str(toy))


def test_the_problem_of_a_file_is_that_of_its_folder() -> None:
    problem, _ = find_contestants([str(ROOT / "problems" / "bpp_online" / "heuristic.py"), "seed"], None, ROOT)
    assert problem.name == "bpp_online"


def test_runs_of_two_problems_are_refused_also_if_their_functions_have_one_name(run: Path, toy: Path) -> None:
    second = shutil.copytree(toy, toy.with_name("second"))
    (second / "problem.yaml").write_text((toy / "problem.yaml").read_text().replace("name: toy", "name: second"))
    config = build_config({}, TREE, "test")
    other = make_folder(toy.parent, toy.parent / "outputs", load_problem(second), config).path
    runs.write(other, [[runs.Made(SEED, 94.0, (6,), (), "seed")]])
    (other / "best.py").write_text(SEED)
    with pytest.raises(OragentError):
        texts(str(run), str(other))
    # The user says that they belong together.
    assert texts(str(run), str(other), problem=str(toy)) == [BETTER, SEED]


@pytest.mark.parametrize("word", ["nothing", "discovered/none", "no/run#1.0"])
def test_other_words_are_refused(word: str) -> None:
    with pytest.raises(OragentError):
        texts(word, "seed", problem="bpp_online")


def test_an_unknown_candidate_and_a_missing_problem_are_refused(run: Path) -> None:
    with pytest.raises(OragentError):
        texts(f"{run}#9.9", "seed")
    with pytest.raises(OragentError):
        texts("seed", "seed")
    with pytest.raises(OragentError):
        texts(str(run), "seed", problem="bpp_online")


def test_from_python_too_words_name_programs_beside_texts_and_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    plans = []

    def stop(plan: DuelPlan) -> None:
        plans.append(plan)
        raise InterruptedError

    monkeypatch.setattr("oragent.api.duels.run_duel", stop)
    problem = load_problem(ROOT / "problems" / "bpp_online")
    written = problem.seed.replace("return ", "return 1.0 * ", 1)
    for pair in (("discovered/nine_numbers", None), (written, "seed")):
        with pytest.raises(InterruptedError):
            oragent.duel(*pair, problem=problem, root=ROOT)
    (found, seed), (text, word) = (plan.contestants for plan in plans)
    assert found == find_contestants(["discovered/nine_numbers", "seed"], "bpp_online", ROOT)[1][0]
    assert seed.source == word.source == problem.seed
    assert text.source == written
    with pytest.raises(OragentError):
        oragent.duel("discovered/none", problem=problem, root=ROOT)


def test_from_python_too_a_folder_may_be_a_path_and_is_a_run_of_the_problem(
    run: Path, toy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plans: list[DuelPlan] = []

    def stop(plan: DuelPlan) -> None:
        plans.append(plan)
        raise InterruptedError

    monkeypatch.setattr("oragent.api.duels.run_duel", stop)
    with pytest.raises(InterruptedError):
        oragent.duel(run, problem=toy, root=toy.parent)
    assert [contestant.source for contestant in plans[0].contestants] == [BETTER, SEED]
    for word in (run, str(run), f"{run}#1.0"):
        with pytest.raises(OragentError):
            oragent.duel(word, problem="bpp_online", root=ROOT)
