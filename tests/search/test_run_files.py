"""Files of a run: what is written into its folder, what is read from it, and what a resumed run refuses."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from oragent._base.errors import ConfigError, ProblemError, StoreError
from oragent._base.racing import BY_INSTANCE
from oragent.evaluation.problem import load_problem
from oragent.search import folder as folders
from oragent.search import starting
from oragent.search.candidate import Elite
from oragent.search.folder import best_file, problem_of_program, reopen, repeat_command
from oragent.search.starting import LEFT_OUT, MAX_BYTES, MAX_LESSON_CHARACTERS, MAX_PROGRAMS, gather_start, rebuild_run
from oragent.search.store import Store
from oragent.search.strategies.or_agent.tree import MEMORY, MemoryNote

PROGRAM = "def guess(x):\n    return {}\n"


def elite(name: str, score: float = 12.3456789, **changes: Any) -> Elite:
    given = {"source": PROGRAM.format(name), "features": (3.0,), "metrics": {"value": 88.0}} | changes
    return Elite(id=name, score=score, **given)


# --- elites ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("language", "sign", "name"), [("python", "#", "best.py"), ("cpp", "//", "best.cpp")])
def test_the_best_program_has_a_head_that_names_its_problem(begun, language: str, sign: str, name: str) -> None:
    folder = begun()
    about = replace(folder.problem.about, candidate=replace(folder.problem.about.candidate, language=language))
    folder = replace(folder, problem=replace(folder.problem, about=about))
    folder.write_best(elite("4.2", source="program\n\n"), lambda mark: f"{mark}| more\n")
    assert folder.best == folder.path / name == best_file(folder.path)
    assert folder.best.read_text() == (
        f"{sign} toy: 12.3457 by candidate 4.2 of {folder.path.name}\n{sign}| more\nprogram\n"
    )
    folder.write_best(elite("4.3", source="other"))
    assert folder.best.read_text().split("\n", 1)[1] == "other\n"
    folder.write_elite(elite("4.2"))
    suffix = Path(name).suffix
    assert folder.found_elites() == [folder.path / "candidates" / "4.2" / f"heuristic{suffix}", folder.best]


def test_an_elite_has_its_program_and_figures(begun) -> None:
    folder = begun()
    folder.write_elite(elite("4.2", metrics={"value": 88.0, BY_INSTANCE: {"20": [1.0]}}))
    place = folder.path / "candidates" / "4.2"
    assert (place / "heuristic.py").read_text() == PROGRAM.format("4.2")
    text = (place / "evaluation.yaml").read_text()
    figures = yaml.safe_load(text)
    assert [*figures] == ["score", "features", "metrics"]
    assert (figures["score"], figures["features"]) == (12.3456789, [3.0])
    assert figures["metrics"]["value"] == 88.0
    assert BY_INSTANCE not in figures["metrics"]
    folder.write_elite(elite("4.2", features=None, source="again"))
    assert (place / "heuristic.py").read_text() == "again\n"
    assert yaml.safe_load((place / "evaluation.yaml").read_text())["features"] is None
    folder.write_elite(elite("4.3"))
    folder.write_elite(elite("round 7"))
    folder.keep_only([elite("4.3")])
    assert [path.name for path in (folder.path / "candidates").iterdir()] == ["4.3"]


def test_a_run_without_files_has_a_python_program(tmp_path: Path) -> None:
    assert best_file(tmp_path) == tmp_path / "best.py"
    (tmp_path / "best.txt").touch()
    assert best_file(tmp_path) == tmp_path / "best.py"
    (tmp_path / "best.cpp").touch()
    assert best_file(tmp_path) == tmp_path / "best.cpp"


# --- commands and names ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "command"),
    [
        ({}, "toy --seed 1"),
        ({"seed": 4, "strategy": {"name": "auto"}, "model": None}, "toy --seed 5"),
        (
            {"seed": 4, "strategy": {"name": "gp"}, "model": {"name": "a model"}},
            "toy --strategy gp --model 'a model' --seed 5",
        ),
        ({"seed": None, "strategy": None, "model": {"name": ""}}, "toy --seed 1"),
    ],
)
def test_a_run_is_repeated_with_another_seed(settings: dict[str, Any], command: str) -> None:
    assert repeat_command("toy", settings) == command


def test_a_run_names_its_problem_or_the_folder_of_it(begun, tmp_path: Path) -> None:
    folder = begun("seed=7")
    assert folder.again.split()[0] == "toy"
    assert folder.again.endswith("--seed 8")
    moved = replace(folder, root=tmp_path / "other")
    assert str(folder.problem.folder) in moved.again


def test_the_problem_of_a_program_is_in_its_folder_or_its_first_line(toy: Path, tmp_path: Path) -> None:
    (toy / "more").mkdir()
    (toy / "more" / "mine.py").write_text("x = 1\n")
    assert problem_of_program(toy / "heuristic.py") == str(toy.resolve())
    assert problem_of_program(toy / "more" / "mine.py") == str(toy.resolve())
    for head in ("# tsp_aco: 5 by candidate 1.0 of run\n", "// tsp_aco: 5\n"):
        (tmp_path / "best.py").write_text(f"{head}x = 1\n")
        assert problem_of_program(tmp_path / "best.py") == "tsp_aco"
    (tmp_path / "best.py").write_text("x = 1\n# tsp_aco: 5\n")
    with pytest.raises(ConfigError):
        problem_of_program(tmp_path / "best.py")


# --- reopening -------------------------------------------------------------------------------------------------------


def test_a_reopened_run_has_its_problem_root_and_settings(begun) -> None:
    folder = begun("seed=7", "budget.evaluations=30")
    assert folder.is_new
    again = reopen(folder.path)
    assert not again.is_new
    assert (again.path, again.root, again.config) == (folder.path, folder.root, folder.config)
    assert again.problem.folder == folder.problem.folder
    tree = yaml.safe_load((folder.path / "config.yaml").read_text())
    assert [*tree][:3] == ["format", "oragent", "root"]
    about = tree["problem"]
    assert {name: about[name] for name in ("name", "title", "direction", "function")} == {
        "name": "toy", "title": "Guess a number", "direction": "minimize", "function": "guess",
    }  # fmt: skip
    assert about["features"][0]["name"] == "remainder"
    assert about["files"]["sha256"] == folder.problem.companions.digest
    assert (about["files"]["count"], about["files"]["bytes"]) == (
        folder.problem.companions.files, folder.problem.companions.bytes,
    )  # fmt: skip


@pytest.mark.parametrize("name", folders.CHANGEABLE)
def test_settings_that_leave_the_search_alone_may_change(begun, name: str) -> None:
    values = {
        "budget": "budget.evaluations=31", "workers": "workers=1", "cluster": "cluster=null", "zygote": "zygote=false",
        "cache": "cache=false", "model": "model.name=other", "models": "models={}", "ensemble": "ensemble=[]",
    }  # fmt: skip
    folder = begun()
    changed = reopen(folder.path, [values[name]])
    assert reopen(folder.path).config == changed.config


def test_settings_of_the_search_stay(begun) -> None:
    folder = begun("seed=7")
    before = (folder.path / "config.yaml").read_text()
    for override in ("seed=8", "strategy.window=3", "device=cuda", "budgets=1"):
        with pytest.raises(ConfigError):
            reopen(folder.path, [override])
    assert reopen(folder.path, ["device=cpu"]).config.seed == 7
    assert yaml.safe_load((folder.path / "config.yaml").read_text()) == yaml.safe_load(before)


@pytest.mark.parametrize("name", ["eval.py", "heuristic.py", "helper.py"])
def test_a_run_of_a_changed_problem_is_only_read(begun, toy: Path, name: str) -> None:
    folder = begun()
    file = toy / name
    file.write_text((file.read_text() if file.is_file() else "") + "\n# changed\n")
    with pytest.raises(ProblemError):
        reopen(folder.path)
    assert reopen(folder.path, changed=True).problem.folder == folder.problem.folder


def test_a_run_with_other_versions_of_packages_is_only_read(begun, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = begun()
    monkeypatch.setattr(folders, "describe_mixture", lambda recorded, installed: "numpy 1.0, and 2.0 is")
    with pytest.raises(ProblemError):
        reopen(folder.path)
    assert reopen(folder.path, changed=True)


@pytest.mark.parametrize(
    "change",
    [
        lambda tree: tree.pop("root"),
        lambda tree: tree["problem"].pop("fingerprint"),
        lambda tree: tree["problem"].update(folder=3),
        lambda tree: tree.update(root="a\nb"),
        lambda tree: tree.update(format=10**6),
        lambda tree: tree["problem"].update(packages=[1]),
    ],
)
def test_a_damaged_configuration_is_one_line(begun, change: Any) -> None:
    folder = begun()
    tree = yaml.safe_load((folder.path / "config.yaml").read_text())
    change(tree)
    (folder.path / "config.yaml").write_text(yaml.safe_dump(tree))
    with pytest.raises(StoreError) as caught:
        reopen(folder.path)
    assert "\n" not in str(caught.value)


def test_a_folder_without_a_run_is_refused(begun, tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(StoreError):
            reopen(place)


def test_a_run_whose_project_moved_has_the_root_of_its_problem(begun, tmp_path: Path) -> None:
    folder = begun()
    tree = yaml.safe_load((folder.path / "config.yaml").read_text())
    tree["root"] = str(tmp_path / "gone")
    (folder.path / "config.yaml").write_text(yaml.safe_dump(tree))
    assert reopen(folder.path).root == folder.root.resolve()


def test_a_wider_run_has_rounds_for_its_workers_and_half_as_many_more(begun) -> None:
    for places, window in ((1, 1), (2, 3), (5, 7), (10, 15)):
        folder = begun()
        bare = replace(folder, config=replace(folder.config, strategy=replace(folder.config.strategy, window=None)))
        assert bare.widened(places).config.strategy.window == window
        assert reopen(folder.path).config.strategy.window == window
    set_before = replace(bare, config=replace(folder.config, strategy=replace(folder.config.strategy, window=9)))
    assert set_before.widened(2).config.strategy.window == 9


def test_runs_at_the_same_second_have_folders_of_their_own(tmp_path: Path) -> None:
    parent = tmp_path / "a" / "b"
    names = [folders._make_unique_folder(parent, "run").name for _ in range(3)]
    assert names == ["run", "run-2", "run-3"]


def test_own_prompts_and_strategies_are_those_of_the_run(begun, tmp_path: Path) -> None:
    config = begun().config
    own = replace(config, prompts="mine", strategy=replace(config.strategy, file="mine.py"))
    with pytest.raises(StoreError):
        folders._with_own_copy(own, tmp_path)
    (tmp_path / folders.STRATEGY_FILE).touch()
    with pytest.raises(StoreError):
        folders._with_own_copy(own, tmp_path)
    (tmp_path / folders.PROMPTS_FOLDER).mkdir()
    copied = folders._with_own_copy(own, tmp_path)
    assert copied.prompts == str(tmp_path / folders.PROMPTS_FOLDER)
    assert copied.strategy.file == str(tmp_path / folders.STRATEGY_FILE)
    assert folders._with_own_copy(config, tmp_path) == config


# --- the start of a run ----------------------------------------------------------------------------------------------


def make_run(place: Path, elites: dict[str, float | None], function: str = "guess") -> Path:
    """Write the folder of a run with elites of these scores; one without a score has no figures."""
    place.mkdir(parents=True)
    (place / "config.yaml").write_text(f"problem: {{function: {function}}}\n")
    for name, score in elites.items():
        folder = place / "candidates" / name
        folder.mkdir(parents=True)
        (folder / "heuristic.py").write_text(PROGRAM.format(name))
        if score is not None:
            (folder / "evaluation.yaml").write_text(f"score: {score}\n")
    return place


def start(problem: Any, tmp_path: Path, *places: Path) -> starting.InitialPrograms:
    return gather_start([str(place) for place in places], problem, tmp_path / "outputs")


def test_a_run_gives_its_best_programs_best_first_each_once(toy: Path, tmp_path: Path) -> None:
    scores = {"1.0": 5.0, "2.0": 1.0, "3.0": None, "4.0": 3.0}
    run = make_run(tmp_path / "run", scores)
    (run / "candidates" / "4.0" / "evaluation.yaml").write_text("score: many\n")
    with Store(run / "run.db"):
        pass
    (run / "best.py").write_text(f"# toy: 1 by candidate 2.0 of run\n#| limits: 5 s\n{PROGRAM.format('2.0')}")
    found = start(load_problem(toy), tmp_path, run)
    assert found.sources[:2] == (PROGRAM.format("2.0"), PROGRAM.format("1.0"))
    assert set(found.sources[2:]) == {PROGRAM.format("3.0"), PROGRAM.format("4.0")}
    many = make_run(tmp_path / "many", {f"{number}.0": float(number) for number in range(1, MAX_PROGRAMS + 5)})
    with Store(many / "run.db") as store:
        store.rounds()
    texts = start(load_problem(toy), tmp_path, many).sources
    assert texts == tuple(PROGRAM.format(f"{number}.0") for number in range(1, MAX_PROGRAMS + 1))
    (tmp_path / "mine.py").write_text(PROGRAM.format("1.0"))
    assert start(load_problem(toy), tmp_path, tmp_path / "mine.py", many, tmp_path / "mine.py").sources == texts


def test_lessons_of_runs_and_texts_are_joined_and_the_run_is_only_read(toy: Path, tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", {})
    with Store(run / "run.db") as store:
        text = MemoryNote("Fifty is low.", 1).dump()
        store._db.write_row("INSERT INTO", "notes", {"round": 1, "number": 0, "kind": MEMORY, "text": text})
    (tmp_path / "more.md").write_bytes(b"\r\nSixty is better.\r\n \r\n")
    (tmp_path / "empty.md").write_text(" \n")
    lessons = start(load_problem(toy), tmp_path, run, tmp_path / "empty.md", tmp_path / "more.md").lessons
    assert lessons == "Fifty is low.\n\nSixty is better."
    (run / "run.db").unlink()
    with pytest.raises(StoreError):
        start(load_problem(toy), tmp_path, run)
    assert not (run / "run.db").exists()


@pytest.mark.parametrize(
    "text", ["problem: {function: other}\n", "problem: {function: [1]}\n", "problem: 3\n", "{", ""]
)
def test_a_run_of_another_function_is_no_start(toy: Path, tmp_path: Path, text: str) -> None:
    run = make_run(tmp_path / "run", {})
    (run / "config.yaml").write_text(text)
    with pytest.raises(ConfigError):
        start(load_problem(toy), tmp_path, run)


def test_lessons_that_are_too_long_lose_the_oldest_lines() -> None:
    assert starting._latest_lessons("x" * MAX_LESSON_CHARACTERS) == "x" * MAX_LESSON_CHARACTERS
    one_line = starting._latest_lessons("x" * (MAX_LESSON_CHARACTERS + 1))
    assert one_line.startswith(f"{LEFT_OUT}\n\nx")
    assert len(one_line) == MAX_LESSON_CHARACTERS
    lines = "\n".join(f"lesson {number:5}" for number in range(2000))
    cut = starting._latest_lessons(lines).split("\n")
    assert cut[2:] == lines.split("\n")[-len(cut) + 2 :]
    assert MAX_LESSON_CHARACTERS - 13 <= len("\n".join(cut)) <= MAX_LESSON_CHARACTERS


def test_a_start_is_bounded_in_bytes_without_its_arrays(toy: Path, tmp_path: Path) -> None:
    problem, file = load_problem(toy), tmp_path / "mine.py"
    file.write_text("#" * MAX_BYTES)
    assert len(start(problem, tmp_path, file).sources[0]) == MAX_BYTES
    file.write_text("#" * (MAX_BYTES + 1))
    with pytest.raises(ConfigError):
        start(problem, tmp_path, file)
    file.write_bytes(b"x = 1\r\n\xff\n")
    assert start(problem, tmp_path, file).sources == ("x = 1\n\N{REPLACEMENT CHARACTER}\n",)


def test_a_run_is_rebuilt_from_its_programs(begun) -> None:
    folder = begun()
    with pytest.raises(StoreError):
        rebuild_run(folder)
    folder.write_elite(elite("1.0"))
    folder.write_elite(elite("2.0"))
    folder.write_elite(elite("3.0", source=PROGRAM.format("1.0")))
    huge = folder.path / "candidates" / "4.0"
    huge.mkdir()
    (huge / "heuristic.py").write_text("#" * (starting.MAX_WITH_ARRAYS + 1))
    folder.database.write_bytes(b"rubbish" * 999)
    folder.database.with_name("run.db-wal").write_bytes(b"rest")
    assert rebuild_run(folder) == 2
    assert folder.database.with_name("run.db.broken").read_bytes() == b"rubbish" * 999
    assert folder.database.with_name("run.db.broken-wal").read_bytes() == b"rest"
    with Store(folder.database) as store:
        assert store.initial_sources() == [PROGRAM.format("1.0"), PROGRAM.format("2.0")]
    # Without rounds it can be rebuilt again.
    assert rebuild_run(folder) == 2
