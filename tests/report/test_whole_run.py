"""A run in which everything is recorded: what each reader shows of it is what was written."""

import json
from dataclasses import asdict, replace
from io import StringIO
from pathlib import Path

import pytest
import yaml
from rich.console import Console

from oragent._base.budget import Spent
from oragent._base.direction import Direction
from oragent._base.protocol import Status
from oragent.evaluation import Evaluation
from oragent.evaluation.hardening import CASES, CaseOutcome, HardenedCase, HardenedProgram
from oragent.report import terminal
from oragent.report.held_out import hash_best
from oragent.report.live.evidence import read_elites, read_ideas, read_trust
from oragent.report.live.offline import write_report
from oragent.report.live.snapshot import RunReader
from oragent.report.run import RunData, load_run
from oragent.report.significance import compare_pairs
from oragent.report.terminal import list_costs, list_evidence, show_run
from oragent.search.candidate import PROBE
from oragent.search.evaluation_key import EvaluationKey, EvaluationKind
from oragent.search.prompting.search_summary import TITLE, program_mark
from oragent.search.store import ISOLATION, RoundNote, Store
from oragent.search.strategies.or_agent.allocation import ActionKind, ActionRecord

from . import runs
from .runs import SEED, Made
from .test_research import STEPS, node, tree

SVG = '<svg xmlns="http://www.w3.org/2000/svg"><rect width="3"/></svg>'
SIZES = {"20": [10.0, 11.0, 12.0], "50": [20.0, 21.0, 22.0, 23.0]}
FINALISTS = {"a": ("2.0", 8.0, 8.5), "b": ("1.0", 9.0, 8.0)}


def figures(shift: float, score: float) -> dict[str, object]:
    values = {size: [value + shift for value in row] for size, row in SIZES.items()}
    return {
        "score": score,
        "by_instance": values,
        "ci95": [score - 1, score + 1],
        "gap_percent_20": 5 + shift,
        "run_s": 2.5,
    }


def make_rounds(sign: float) -> list[list[Made]]:
    """Seed, two better ones, a probe, and failures; ``sign`` is -1 where higher is better."""

    def program(number: int) -> str:
        return SEED.replace("1.0 /", f"{number}.0 /")

    seed, best = figures(0.0, 10.0 * sign), figures(-2.0 * sign, 8.0 * sign)
    return [
        [Made(SEED, 10.0 * sign, (0, 0), (), "seed", metrics=seed, wall_s=4.0)],
        [Made(program(2), 9.0 * sign, (1, 0), origin="edit", call=0), Made(program(3), 1.0 * sign, origin=PROBE)],
        [Made(program(4), 8.0 * sign, (3, 2), ("1.0", "0.0"), "graft", 1, metrics=best, wall_s=6.0, call=1, branch="0.1/")],
        [Made(program(5), None, status=Status.SCREENED), Made(program(6), None, message="late", status=Status.TIMEOUT)],
        [Made(program(7), None, origin=PROBE), Made(program(8), None, status=Status.REJECTED, wall_s=0.0)],
        [Made(program(9), 9.5 * sign, (1, 1), island=1)],
    ]  # fmt: skip


NOTES = [
    RoundNote(6, "tree", tree(node(1, 0, "open", 6.5, candidate="2.0", report="Good.", steps=STEPS), node(2, 0, "untried", None))),
    RoundNote(6, "memory", json.dumps({"text": "Short edges.", "horizon": 2})),
    RoundNote(6, "lesson", "Wide windows are slow."),
    RoundNote(6, "lesson", "Wide windows are slow."),
    RoundNote(6, "advice", "Try less."),
    RoundNote(6, TITLE, f"{program_mark(SEED.replace('1.0 /', '4.0 /'))} inverse square"),
    RoundNote(6, "action", ActionRecord(ActionKind.EDIT, 3, 400, 1.0).dump()),
]  # fmt: skip


@pytest.fixture(scope="module", params=["minimize", "maximize"])
def whole(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole") / "a run"
    sign = 1.0 if request.param == "minimize" else -1.0
    runs.describe(folder, request.param)
    tree = yaml.safe_load((folder / "config.yaml").read_text())
    tree["config"]["limits"] = {"cpu_s": 7}
    (folder / "config.yaml").write_text(yaml.safe_dump(tree))
    rounds = make_rounds(sign)
    runs.write(folder, rounds, direction=request.param, end="the budget of 200 evaluations is used up")
    best = rounds[2][0].candidate.fingerprint
    with Store(folder / "run.db") as store:
        store.commit(6, [], Spent(evaluations=194, model_calls=3, tokens=3600, money=0.75), 90.0, NOTES)
        runs.reply(store, 1, money=0.25, tokens_cached=600)
        runs.reply(store, 2, "0.1/1", role="graft", model="local", money=None, retries=2, seconds=5.0)
        runs.reply(store, 3, role="graft", model="local", money=0.5)
        for remark in ("first remark", "second remark"):
            store.remark(remark)
        store.note(ISOLATION, json.dumps({"held": ["net"], "missing": ["files"]}))
        checked = Evaluation(Status.REJECTED, message="differs", wall_s=1.0, cpu_s=3.0)
        store.keep_evaluation(EvaluationKey(best, EvaluationKind.CHECK), checked, 95.0)
        swept = Evaluation(Status.OK, 1.0, wall_s=1.0, cpu_s=60.0)
        store.keep_evaluation(EvaluationKey.of_experiment(best, 20, "", ""), swept, 96.0)
    head = "# tsp_aco: 8 by 2.0\n#| limits: 20 CPU seconds\n#|   an evaluation\n#| parents: 1.0\n#| idea: inverse\n"
    (folder / "best.py").write_text(head + rounds[2][0].source)
    write_evidence(folder, sign)
    return folder


def write_evidence(folder: Path, sign: float) -> None:
    """Write the files of checks and of scores on other sets."""
    about = {"program": hash_best(folder)}
    better = "minimize" if sign > 0 else "maximize"
    pair = figures(0.0, 16.0 * sign), figures(-1.0 * sign, 15.0 * sign)
    paired = asdict(compare_pairs(Direction(better), *pair))
    sets = {"seed": pair[0], "best": pair[1], "paired": paired}
    cases = [HardenedCase(name, CaseOutcome.PASSED, "", 0.5) for name in CASES[2:]]
    failed = (
        HardenedCase(CASES[0], CaseOutcome.FAILED, "raises", None),
        HardenedCase(CASES[1], CaseOutcome.UNJUDGED, "seed"),
    )
    hardened = asdict(HardenedProgram((*failed, *cases), 20, 4.0, 10.0))
    hardened["cases"] = [{**case, "outcome": str(case["outcome"])} for case in hardened["cases"]]
    final = {
        key: {"id": name, "val": val * sign, "status": "ok", "score": score * sign, "ci95": [score * sign - 1, score * sign + 1]}
        for key, (name, val, score) in FINALISTS.items()
    }  # fmt: skip
    pictures = {"pictures": ["20_0.best.svg", "tours.svg"], "values": {"20_0.best.svg": 3.5}, "about": "x"}
    trees = {
        "check.yaml": about | {"passed": True, "reason": "", "cpu_s": 1.5, "calls": 40},
        "test.yaml": about | {"about": "x"} | sets,
        "fresh.yaml": about | {"fresh_seed": 17} | sets,
        "harden.yaml": about | hardened,
        "final.yaml": {"about": "x", "elites": final},
        "pictures/pictures.yaml": about | pictures,
    }
    (folder / "pictures").mkdir()
    for name in pictures["pictures"]:
        (folder / "pictures" / name).write_text(SVG)
    for name, content in trees.items():
        (folder / name).write_text(yaml.safe_dump(content))


@pytest.fixture(scope="module")
def data(whole: Path) -> RunData:
    return load_run(whole)


def sign_of(data: RunData) -> float:
    return -data.about.direction.sign


def test_a_report_has_all_that_a_run_recorded(data: RunData) -> None:
    assert (data.seed.id, data.best.id, data.end) == ("0.0", "2.0", "the budget of 200 evaluations is used up")
    assert [record.id for record in data.records] == ["0.0", "1.0", "1.1", "2.0", "3.0", "3.1", "4.0", "4.1", "5.0"]
    assert [[elite.id for elite in island] for island in data.islands] == [["1.0", "0.0"], ["2.0", "5.0", "0.0"]]
    assert [elite.id for elite in data.all_elites] == ["2.0", "1.0", "5.0", "0.0"]
    assert [record.id for record in data.descent] == ["2.0", "1.0", "0.0"]
    assert [(str(status), [record.id for record in group]) for status, group in data.failures.items()] == [
        ("rejected", ["4.1"]), ("timeout", ["3.1"]),
    ]  # fmt: skip
    assert data.experiments == (1, 60.0)
    assert (data.checks.number, data.checks.failed, data.checks.cpu_s) == (1, 1, 3.0)
    # Each evaluation took half its wall-clock seconds; a rejected program was not run.
    assert data.checks.all_cpu_s == (4 + 6 + 6 * 2) / 2 + 3.0 + 60.0
    assert data.check is not None
    assert (data.check.passed, data.check.calls, data.check.cpu_s, data.check.reason) == (True, 40, 1.5, "")
    assert data.hardened is not None
    assert [case.name for case in data.hardened.failures] == [CASES[0]]
    assert (data.hardened.size, data.hardened.cpu_s, data.hardened.limit_s) == (20, 4.0, 10.0)
    assert data.remarks == ("first remark", "second remark")
    assert data.spent == Spent(evaluations=194 + 9, model_calls=3, tokens=3600, money=0.75, seconds=90.0)
    assert [(picture.name, picture.value) for picture in data.pictures] == [("20_0.best.svg", 3.5), ("tours.svg", None)]
    assert data.final is not None
    assert [(rank.id, rank.val, rank.measured.score) for rank in data.final.ranked] == [
        ("1.0", 9.0 * sign_of(data), 8.0 * sign_of(data)), ("2.0", 8.0 * sign_of(data), 8.5 * sign_of(data)),
    ]  # fmt: skip
    assert data.final.val_winner.id == "2.0"
    assert data.research is not None
    assert (data.research.ideas, data.research.better, data.research.untried) == (1, 1, 1)
    assert data.name == "a run"
    assert data.gain.amount == 2.0
    assert data.gain.share == 0.2


def test_the_sets_of_a_report_are_val_test_and_fresh(data: RunData) -> None:
    sets, sign = data.sets, sign_of(data)
    assert sets is not None
    scores = {name: (seed.score, best.score) for name, (seed, best) in sets.scores.items()}
    assert scores == {
        "val": (10.0 * sign, 8.0 * sign), "test": (16.0 * sign, 15.0 * sign), "fresh": (16.0 * sign, 15.0 * sign),
    }  # fmt: skip
    assert sets.seed == 17
    for name in ("test", "fresh"):
        pair = sets.pairs[name]
        assert (pair.instances, pair.better, pair.worse, pair.gain) == (7, 7, 0, 1.0)
        # All signs alike: two of 128.
        assert pair.p == 2 / 2**7
        assert {size: (of.instances, of.gain) for size, of in sets.by_size[name].items()} == {
            "20": (3, 1.0),
            "50": (4, 1.0),
        }
        assert sets.figures[name] == [("gap_percent_20", 5.0, 5.0 - sign), ("run_s", 2.5, 2.5)]
    assert sets.sizes == dict.fromkeys(("val", "test", "fresh"), ("20", "50"))
    assert set(sets.figures) == set(sets.by_size) == {"test", "fresh"}


def test_the_cost_of_a_report_is_what_was_spent(data: RunData) -> None:
    spend = data.spend
    assert (spend.candidates, spend.probes, spend.screened, spend.evaluations) == (7, 2, 1, 6)
    assert (spend.seconds, spend.cpu_s, spend.wall_median_s) == (90.0, 11.0, 2.0)
    assert spend.per_hour == 6 / 90 * 3600
    calls = spend.calls
    assert (calls.number, calls.tokens_in, calls.tokens_out, calls.cost, calls.unpriced) == (3, 3000, 600, 0.75, 1)
    assert (calls.seconds, calls.retries, calls.tokens) == (11.0, 2, 3600)
    assert [(name, of.cost) for name, of in spend.by_role.items()] == [("graft", 0.5), ("mutate", 0.25)]
    values = [value for _, value in list_costs(data)]
    assert values == [
        "7", "1", "2", "6", "1 min 30 s", "11.0 s", str(data.checks), "1 runs, 1 min 00 s of CPU time", "2.00 s", "240",
        "3", "3,000, 600", "$0.7500 + 1 call of unknown price",
    ]  # fmt: skip
    bare = replace(data, experiments=(0, 0.0), checks=replace(data.checks, number=0))
    free = replace(spend, probes=0, screened=0, wall_median_s=None, seconds=0.0, calls=replace(calls, number=0))
    assert [value for _, value in list_costs(replace(bare, spend=free))] == [
        "7",
        "6",
        "0.00 s",
        "11.0 s",
        "–",
        "–",
        "0",
    ]


def print_run(data: RunData, width: int = 100) -> list[str]:
    out = StringIO()
    show_run(data, Console(file=out, width=width, color_system=None))
    return out.getvalue().splitlines()


def read_table(lines: list[str], first: str) -> list[list[str]]:
    """Cells of the rows below the head that begins with a word, up to an empty line."""
    at = next(index for index, line in enumerate(lines) if line.split()[:1] == [first])
    end = next((index for index in range(at + 2, len(lines)) if not lines[index].strip()), len(lines))
    return [line.split() for line in lines[at + 2 : end]]


def test_the_terminal_shows_islands_failures_actions_and_sets(data: RunData) -> None:
    lines, sign = print_run(data), sign_of(data)
    text = "\n".join(lines)
    # Island, elites, coverage of 12 cells, best score and its candidate.
    assert read_table(lines, "island") == [
        ["0", "2", "16.7", "%", f"{9 * sign:g}", "1.0"], ["1", "3", "25", "%", f"{8 * sign:g}", "2.0"],
    ]  # fmt: skip
    elites = read_table(lines, "elite")
    assert [row[0] for row in elites] == ["2.0", "1.0", "5.0", "0.0"]
    assert [row[2] for row in elites] == ["+20.00", "+10.00", "+5.00", "+0.00"]
    assert [row[4] for row in elites] == ["1", "0", "1", "all"]
    assert read_table(lines, "set") == [
        [name, f"{seed * sign:g}", *interval(seed * sign), f"{best * sign:g}", *interval(best * sign)]
        for name, seed, best in (("val", 10, 8), ("test", 16, 15), ("fresh", 16, 15))
    ]
    edit = next(row for row in read_table(lines, "action") if row[0] == "edit")
    assert edit[1:6] == ["1", "3", "400", "1", "2.5"]
    failures = read_table(lines, "status")
    assert all(row[1:4] == ["1", "14.3", "%"] for row in failures)
    assert sorted(row[0] for row in failures) == sorted(str(status) for status in data.failures)
    for sentence in list_evidence(data.check, data.hardened, data.sets, data.remarks, data.about.packages):
        assert " ".join(sentence.split())[:90] in " ".join(text.split())
    assert f"oragent resume '{data.folder}' budget.evaluations=400" in text
    roles = [line.split() for line in lines if line.split()[:1] == ["as"]]
    assert [(row[1], row[2]) for row in roles] == [("graft", "2"), ("mutate", "1")]


def interval(score: float) -> list[str]:
    return [f"({score - 1:g}", "to", f"{score + 1:g})"]


def test_figures_of_a_table_stand_right_and_words_left(data: RunData) -> None:
    lines = print_run(data)
    head = next(line for line in lines if line.split()[:1] == ["elite"])
    rows = lines[lines.index(head) + 2 :][:4]
    for name in ("score", "vs seed", "size"):
        end = head.index(name) + len(name)
        assert all(row[:end].rstrip() == row[:end] and row[end : end + 1] in ("", " ") for row in rows), name
    assert head.startswith("elite")
    for name in ("elite", "islands", "made by"):
        begin = head.index(name)
        assert all((row[begin] != " " and row[:begin].endswith(" ")) or begin == 0 for row in rows), name


def test_long_texts_are_cut_with_the_number_of_lines_left_out(data: RunData) -> None:
    def with_source(source: str) -> RunData:
        best = replace(data.best, candidate=replace(data.best.candidate, source=source))
        return replace(data, best=best, research=replace(data.research, memory="\n".join(map(str, range(25)))))

    body = "\n".join(f"    x{number} = {number}" for number in range(200))
    lines = print_run(with_source(f"{SEED.rstrip()}\n{body}\n"))
    left_out = [line.split()[0] for line in lines if line.endswith("left out")]
    shown = len(SEED.rstrip().splitlines()) + 200
    # The program, its difference from the seed (mark of place, three lines of context), and the memory.
    assert left_out[0] == str(shown - terminal.MAX_LINES)
    assert left_out[-1] == str(25 - terminal.MAX_MEMORY)
    rewritten = print_run(with_source("\n".join(f"y{number} = {number}" for number in range(40))))
    assert not any(line.startswith("-import") for line in rewritten)


def test_colours_and_weights_say_what_a_line_is(data: RunData, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal, "MAX_ELITES", 1)
    source = f"{SEED}# new\n" + "".join(f"# {number}\n" for number in range(9))
    seed, best = (
        replace(record, candidate=replace(record.candidate, source=text))
        for record, text in ((data.seed, source.replace("new", "old")), (data.best, source))
    )
    console = Console(file=StringIO(), width=100, record=True, force_terminal=True, color_system="standard")
    show_run(replace(data, seed=seed, best=best, research=replace(data.research, memory="1\n" * 30)), console)
    assert "3 more elites" in console.export_text(clear=False)
    text = console.export_text(styles=True)
    assert f" → \x1b[1m{8 * sign_of(data):g}\x1b[0m" in text
    styled: dict[str, str] = {}
    for line in text.splitlines():
        codes, _, text = line.removeprefix("\x1b[").partition("m")
        styled[text.partition("\x1b")[0].strip()] = codes if line.startswith("\x1b[") else ""
    green, red, cyan, bold, dim, heading = "32", "31", "36", "1", "2", "1;36"
    for text, codes in {
        "+# new": green, "-# old": red, data.about.title: bold, f"ended: {data.end}": dim, "Archive": heading,
        "Against the seed": heading, "Failures": heading, "1": dim, "10 more lines left out": dim,
    }.items():  # fmt: skip
        assert styled[text] == codes, text
    assert any(text.startswith("@@") and codes == cyan for text, codes in styled.items())
    assert any(text.startswith("to go on") and codes == dim for text, codes in styled.items())
    # A command is never wrapped.
    assert f"to go on: {data.resume_command}" in print_run(data, 30)


@pytest.mark.parametrize(("new", "old", "expected"), [(8, 2, True), (7, 3, False), (4, 1, True), (3, 1, False)])
def test_a_rewrite_has_four_of_five_new_lines(data: RunData, new: int, old: int, expected: bool) -> None:
    kept = [f"a{number} = {number}" for number in range(old)]
    added = [f"b{number} = {number}" for number in range(new)]

    def with_source(lines: list[str], record):
        return replace(record, candidate=replace(record.candidate, source="\n\n".join(lines) + "\n"))

    changed = replace(data, seed=with_source([*kept, "c = 1"], data.seed), best=with_source(kept + added, data.best))
    assert terminal.is_rewrite(changed) is expected


def test_the_summary_of_the_page_is_the_report_of_the_run(whole: Path, data: RunData) -> None:
    summary, sign = RunReader(whole).read_summary(), sign_of(data)
    assert (summary.name, summary.problem, summary.title) == ("a run", "tsp_aco", data.about.title)
    assert (summary.direction, summary.function, summary.strategy) == (str(data.about.direction), "heuristics", "gp")
    assert (summary.model, summary.version, summary.search_seed) == ("", "0.1.0", 0)
    assert summary.folder == f"'{whole}'"
    assert (summary.seed, summary.best) == ("0.0", "2.0")
    assert (summary.seed_score, summary.best_score) == (10.0 * sign, 8.0 * sign)
    assert summary.axes == [{"name": axis.name, "bins": axis.bins, "meaning": axis.meaning} for axis in data.about.axes]
    assert (summary.islands, summary.published, summary.budget) == (2, {"best": 5.981}, {"evaluations": 200})
    assert summary.spent == vars(data.spent) | {"seconds": 96.0}
    assert summary.rounds == 7
    # Nine programs, a check and an experiment.
    assert summary.evaluations == 11
    assert summary.cpu_s == data.checks.all_cpu_s
    assert (summary.state, summary.end, summary.remarks) == ("ended", data.end, list(data.remarks))
    assert (summary.revision, summary.grid) == ("", None)
    assert next((group.role, group.model, group.calls) for group in summary.calls) == ("graft", "local", 2)
    for group in summary.calls:
        of = data.spend.by_role[group.role]
        assert (group.tokens_in, group.tokens_out, group.money) == (of.tokens_in, of.tokens_out, of.cost)
        assert (group.retries, group.unpriced, group.seconds) == (of.retries, of.unpriced, of.seconds)
        assert group.tokens_cached == (600 if group.role == "mutate" else 0)
    assert summary.notes == {note.kind: note.text for note in NOTES}
    assert summary.titles == {"2.0": "inverse square"}
    assert summary.command == data.resume_command
    assert summary.config == data.about.text


def test_the_rows_of_the_page_are_the_records_of_the_run(whole: Path, data: RunData) -> None:
    reader = RunReader(whole)
    columns = reader.read_candidates()
    marks = {"NEW": "N", "IMPROVED": "I", "NOT_ADDED": "-", "": ""}
    plain = ("round", "number", "score", "placed", "island", "parents", "size", "features", "at", "wall", "cpu")
    coded = {"status": "statuses", "origin": "origins", "message": "messages"}
    for at, record in enumerate(data.records):
        candidate, evaluation = record.candidate, record.candidate.evaluation
        texts = {name: getattr(columns, list_)[getattr(columns, name)[at]] for name, list_ in coded.items()}
        assert {name: getattr(columns, name)[at] for name in plain} | texts == {
            "round": record.round, "number": int(record.id.partition(".")[2]), "score": record.score,
            "status": str(evaluation.status), "origin": candidate.origin, "placed": marks[record.placed],
            "island": candidate.island, "parents": list(candidate.parents), "size": len(candidate.source),
            "features": None if evaluation.features is None else list(map(float, evaluation.features)),
            "at": record.elapsed_s, "wall": evaluation.wall_s, "cpu": evaluation.cpu_s, "message": evaluation.message,
        }  # fmt: skip
    keys = {"1.0": ("1.0", "gpt-4.1-mini"), "2.0": ("2.0.1/1", "local")}
    assert [(key, columns.models[at]) for key, at in zip(columns.key, columns.model, strict=True)] == [
        keys.get(record.id, ("", "")) for record in data.records
    ]
    assert columns.after == len(data.records)
    assert set(columns.money) == {0.0}
    detail = reader.read_candidate("2.0")
    assert [call["key"] for call in detail["calls"]] == ["2.0.1/1"]
    assert detail["check"] == {"status": "rejected", "message": "differs"}
    assert detail["metrics"] == data.best.candidate.evaluation.metrics
    assert reader.read_candidate("1.0")["calls"][0]["tokens_cached"] == 600
    assert reader.read_candidate("0.0")["calls"] == []


def test_the_evidence_of_the_page_is_that_of_the_report(whole: Path, data: RunData) -> None:
    trust, sign = read_trust(RunReader(whole)), sign_of(data)
    assert (trust["problem"], trust["seed"], trust["best"]) == ("", "0.0", "2.0")
    assert trust["sentences"] == list(terminal.describe_trust(data))
    assert trust["checks"] == str(data.checks)
    assert [(case["name"], case["outcome"], case["reason"], case["seconds"]) for case in trust["hardened"]] == [
        (CASES[0], "failed", "raises", None), (CASES[1], "not judged", "seed", None),
        *((name, "passed", "", 0.5) for name in CASES[2:]),
    ]  # fmt: skip
    assert trust["final"]["sentence"] == data.final.sentence
    assert trust["final"]["ranked"] == [[rank.id, str(rank.measured), rank.val] for rank in data.final.ranked]
    assert trust["times"] == {"run_s": 2.5}
    assert trust["limits"] == {"cpu_s": 7}
    assert trust["head"] == ["limits: 20 CPU seconds an evaluation", "idea: inverse"]
    assert trust["isolation"] == {"held": ["net"], "missing": ["files"], "where": "the machine of this run"}
    assert [picture.get("value") for picture in trust["pictures"]] == [3.5, None]
    assert [picture.get("program") for picture in trust["pictures"]] == ["best", None]
    assert trust["figures"] == {name: [list(row) for row in rows] for name, rows in data.sets.figures.items()}
    val, test, fresh = trust["sets"]
    assert (val["name"], test["name"], fresh["name"]) == ("val", "test", "fresh")
    assert val["seed"] == {"score": 10.0 * sign, "interval": [10.0 * sign - 1, 10.0 * sign + 1]}
    assert val["best"]["score"] == 8.0 * sign
    # The mean gain of the two sizes; the search chose the best by this set.
    assert (val["pair"]["gain"], val["pair"]["instances"]) == (2.0, 7)
    assert val["pair"]["verdict"] != test["pair"]["verdict"] == data.sets.pairs["test"].verdict
    assert test["pair"]["counts"] == data.sets.pairs["test"].counts
    assert (test["pair"]["p"], fresh["pair"]["low"]) == (2 / 2**7, data.sets.pairs["fresh"].low)


def test_ideas_and_elites_of_the_page_are_those_of_the_report(whole: Path, data: RunData) -> None:
    ideas = read_ideas(RunReader(whole))
    # The latest first, each text once, and without data for the strategy.
    assert ideas["memory"] == [
        [6, "memory", "Short edges."], [6, "lesson", "Wide windows are slow."], [6, "advice", "Try less."],
    ]  # fmt: skip
    assert ideas["research"] == json.loads(json.dumps(asdict(data.research)))
    elites = read_elites(RunReader(whole))
    assert elites["islands"] == [{"elites": 2, "best": "1.0"}, {"elites": 3, "best": "2.0"}]
    assert (elites["cells"], elites["left_out"]) == (12, 0)
    rows, _ = terminal.list_elites(data, 10)
    assert elites["rows"] == [asdict(row) for row in rows]
    assert [(row.cell, row.origin) for row in rows] == [
        ("3, 2", "graft"), ("1, 0", "edit"), ("1, 1", "jitter"), ("0, 0", "seed"),
    ]  # fmt: skip


def test_the_page_of_a_run_holds_what_its_readers_read(whole: Path) -> None:
    page, reader = runs.data_of(write_report(whole).read_text()), RunReader(whole)
    assert page["trust"] == json.loads(json.dumps(read_trust(reader)))
    assert page["ideas"] == json.loads(json.dumps(read_ideas(reader)))
    assert page["elites"] == json.loads(json.dumps(read_elites(reader)))
    assert page["summary"] == json.loads(json.dumps(asdict(reader.read_summary())))
    # The best, the seed, the ancestors of the best, then what is in the archive, the latest first.
    assert list(page["details"]) == ["2.0", "0.0", "1.0", "5.0"]
    assert page["details"]["2.0"] == json.loads(json.dumps(reader.read_candidate("2.0")))
