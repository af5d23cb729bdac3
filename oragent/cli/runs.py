"""Commands on runs: ``show``, ``report``, ``rescore``, ``watch``, ``steer``, and ``memory`` for lessons."""

import os
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import typer
from rich.markup import escape

from oragent import report as reports
from oragent._base import files
from oragent._base.errors import ConfigError
from oragent._base.files import FolderKind, kind_of_folder
from oragent._base.publishing import publish_result
from oragent._base.terminal import text_table
from oragent._base.text_format import escape_text, one_line
from oragent.api.run_documents import describe_run
from oragent.cli.folders import report_folder, show_folder
from oragent.cli.options import DEVICE_HELP, Root, RunPath, console, print_caution, print_text, problem_names
from oragent.evaluation.capabilities import DRAW, FINAL, FRESH_SEED, describe_missing, require_all
from oragent.evaluation.devices import AUTO, pin_device
from oragent.evaluation.hardening import CASE_S
from oragent.evaluation.problem import CAN_FORGE, evaluation_root, find_problem, find_project_root
from oragent.programs.inspection import read_program
from oragent.report import terminal
from oragent.report.final_round import hold_final_round
from oragent.report.fresh import score_fresh
from oragent.report.hardened import harden_best
from oragent.report.held_out import (
    RESCORED_FILE,
    HeldOutScorer,
    check_best,
    read_check,
    score_held_out,
)
from oragent.report.held_out import rescore_run as rescored
from oragent.report.live.offline import write_offline
from oragent.report.live.server import end_with_parent, serve
from oragent.report.pages.text import format_score
from oragent.report.run import RunData, load_run
from oragent.report.solution_pictures import draw_pictures
from oragent.sandbox.isolation.probe import describe_isolation
from oragent.search.experiment_runner import ExperimentRunner
from oragent.search.folder import problem_of_program, reopen
from oragent.search.program_header import drop_head
from oragent.search.starting import family_of, lessons_of, memory_file
from oragent.search.user_commands import ACTS, FOLDER, answer_prompt, list_open_prompts, post_act

OTHER_DEVICE = "Where networks compute for --test, --sets, --final, --pictures (default: the run's device)."


def show_run(run: RunPath) -> None:
    """Show a run: best program, its difference from the seed, archive, failures."""
    if not show_folder(run):
        data = load_run(run)
        publish_result(describe_run(data))
        terminal.show_run(data, console)


def report(
    run: RunPath,
    test: Annotated[
        bool, typer.Option("--test", help="Score seed and best on the held-out and on a fresh test set.")
    ] = False,
    sets: Annotated[bool, typer.Option("--sets", help="Score seed and best on the problem's named sets.")] = False,
    final: Annotated[
        bool, typer.Option("--final", help="Score the ten best elites on instances that nothing else reads.")
    ] = False,
    pictures: Annotated[
        bool, typer.Option("--pictures", help="Draw solutions of the best program and the seed.")
    ] = False,
    device: Annotated[str | None, typer.Option(help=OTHER_DEVICE)] = None,
    check: Annotated[bool, typer.Option(help="Repeat calls of the best program in a fresh process.")] = True,
) -> None:
    """Write the report of a run, one HTML file; exit code 1 if the check fails or a protected set is lost."""
    if report_folder(run):
        return
    data = load_run(run)
    for sentence in data.remarks:
        if sentence.endswith(CAN_FORGE):
            print_caution(sentence)
    scores = test or sets or final or pictures
    if check or scores:
        # Evaluations may take minutes. Until then, the page without their scores can be read.
        print_text(f"written: {reports.write(run)}; scores and checks that follow are added to it")
    if scores:
        scorer = _make_scorer(run, device)
    if final and hold_final_round(run, scorer, data.all_elites) is None:
        console.print(escape(describe_missing(FINAL)), soft_wrap=True)
    if pictures and not draw_pictures(run, scorer):
        console.print(escape(describe_missing(DRAW)), soft_wrap=True)
    if test:
        _score_sets(run, scorer)
    if sets:
        _score_named_sets(run, scorer)
    _print_figures(load_run(run) if scores else data)
    passed = _check_best(run) if check else None
    data = load_run(run)
    for sentence in terminal.describe_trust(data):
        print_text(escape_text(sentence))
    page = reports.write(run)
    publish_result({**describe_run(data), "report": page})
    console.print(f"report: {page}", highlight=False, soft_wrap=True)
    if passed is False or (sets and data.sets is not None and data.sets.losses):
        raise typer.Exit(1)


def _score_named_sets(run: Path, scorer: HeldOutScorer) -> None:
    problem = scorer.folder.problem
    names = problem.about.named_sets
    if not names:
        raise ConfigError(
            f"{problem.name} has no named sets: write them under sets of {problem.folder / 'problem.yaml'}"
        )
    console.print(f"scoring seed and best program on {', '.join(names)}", highlight=False)
    for name in names:
        _print_pair(name, score_held_out(run, scorer, name))


def _score_sets(run: Path, scorer: HeldOutScorer) -> None:
    """Score seed and best on both sets. Each result is printed at once, because slow programs take minutes."""
    console.print("scoring seed and best program on the test set, then on a fresh set", highlight=False)
    _print_pair("test", score_held_out(run, scorer))
    if (figures := score_fresh(run, scorer)) is None:
        console.print(escape(describe_missing(FRESH_SEED)), soft_wrap=True)
    else:
        _print_pair("fresh", figures)


def _print_pair(name: str, figures: Mapping[str, Any]) -> None:
    seed, best = (format_score(figures[program]["score"]) for program in ("seed", "best"))
    console.print(f"scored on {name}: seed {seed}, best {best}", highlight=False)


def _print_figures(data: RunData) -> None:
    if data.sets:
        for name, figures in data.sets.figures.items():
            _print_table(f"{name} set", figures)
        console.print(terminal.tabulate_sets(data.sets))
    if data.final:
        print_text(data.final.sentence)


def _check_best(run: Path) -> bool | None:
    """Check that the best program of a run is a function of its arguments."""
    result = check_best(run)
    # Without a stored result, the page cannot give the reason.
    if result.passed is None and read_check(run) is None:
        print_text(result.sentence)
    return result.passed


def harden(
    program: Annotated[Path, typer.Argument(metavar="PROGRAM|RUN", help="A program, or the folder of a run.")],
    problem: Annotated[
        str | None, typer.Option(help="Problem of the program (default: by its folder).", autocompletion=problem_names)
    ] = None,
    limit: Annotated[float, typer.Option(min=0.1, help="CPU seconds of one case.")] = CASE_S,
    device: Annotated[str, typer.Option(help=DEVICE_HELP)] = AUTO,
    root: Root = None,
) -> None:
    """Test a program with sizes 0, 1, 2, half and twice, ties, zeros and infeasible data; exit code 1 if it fails."""
    is_run = program.is_dir()
    if is_run:
        folder = reopen(program, changed=True, only_read=True)
        resolved, base = folder.problem, folder.root
    else:
        resolved = find_problem(problem or problem_of_program(program), find_project_root(root))
        base = evaluation_root(resolved, root)
    require_all(resolved)
    with ExperimentRunner(resolved, base, device=device) as runner:
        if is_run:
            hardened = harden_best(program, lambda source: runner.harden(drop_head(source), limit))
        else:
            hardened = runner.harden(read_program(program, resolved.signature), limit)
    publish_result({**asdict(hardened), "sentence": hardened.sentence})
    rows = (
        (case.name, str(case.outcome), "" if case.seconds is None else f"{case.seconds:.3g}", case.reason)
        for case in hardened.cases
    )
    console.print(text_table(("arguments", "outcome", "CPU s", ""), rows, "llrl"))
    print_text(escape_text(hardened.sentence))
    if hardened.failures:
        raise typer.Exit(1)


def rescore(
    run: RunPath,
    most: Annotated[int, typer.Option(min=0, help="Number of best programs to score besides the seed.")] = 20,
) -> None:
    """Score a run's seed and best programs on the present problem; the run does not change."""
    programs = rescored(run, most)
    publish_result({"programs": programs, "file": run / RESCORED_FILE})
    rows = []
    for program in programs:
        now = f"{program.now:.6g}" if program.now is not None else f"{program.status}: {program.message}"
        name = "seed" if program.id == "0.0" else program.id
        rows.append((name, f"{program.before:.6g}", one_line(now, 200)))
    console.print(text_table(("candidate", "score then", "score now"), rows, "lr"))
    console.print(f"kept in {run / RESCORED_FILE}", soft_wrap=True)


def _make_scorer(run: Path, device: str | None) -> HeldOutScorer:
    """Make the scorer of a report on a device, by default the device of the run."""
    folder = reopen(run, only_read=True)
    chosen = pin_device(device or folder.config.device, folder.problem)
    if chosen.remark:
        print_text(chosen.remark)
    return HeldOutScorer(folder, device=chosen.device)


def _print_table(title: str, figures: Sequence[tuple[str, float, float]]) -> None:
    rows = ((one_line(name, 60), format_score(seed), format_score(best)) for name, seed, best in figures)
    console.print(text_table((title, "seed", "best"), rows, "lrr"))


def watch(
    folder: Annotated[
        Path, typer.Argument(metavar="[FOLDER|RUN]", help="A folder of runs, or the folder of one run.")
    ] = Path("outputs"),
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on 127.0.0.1; 0 for any free one.")] = 0,
    out: Annotated[Path | None, typer.Option(help="Write the page of one run as a file, and start no server.")] = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="Show runs without commands to steer them.")] = False,
) -> None:
    """Show searches on a live page."""
    if out is not None:
        print_text(f"page: {write_offline(folder, out)}")
        return
    # This must be done before a second thread exists.
    isolation = describe_isolation()
    end_with_parent()
    kind = kind_of_folder(folder)
    root, view = folder, ""
    if kind is not None:
        root = folder.resolve().parent
        view = f"{'run' if kind is FolderKind.SEARCH else 'page'}/{quote(folder.resolve().name, safe='')}"
    serve(
        root, tell=print_text, port=port, steer=None if read_only else _steer_from_page, view=view, isolation=isolation
    )


def steer(
    run: RunPath,
    act: Annotated[str, typer.Argument(metavar="ACT", help=f"{', '.join(ACTS)}, answer.")],
    value: Annotated[
        str, typer.Argument(help="Bounds (evaluations=500), a hint, a file (program, reply), or a candidate's id.")
    ] = "",
) -> None:
    """Act on a running search."""
    if act == "answer" and not value:
        _print_prompts(run)
        return
    if act in ("add", "answer"):
        what = "a program" if act == "add" else "a reply"
        value = files.read_argument(Path(value), what)
    message = _steer(run, act, value)
    publish_result({"act": act, "message": message})
    print_text(message)


def _print_prompts(run: Path) -> None:
    prompts = list_open_prompts(run / FOLDER)
    publish_result({"prompts": prompts})
    for prompt in prompts:
        print_text(f"call {prompt.key}, role {prompt.role}")
        for role, text in prompt.messages:
            print_text(f"--- {escape_text(role)}\n{escape_text(text)}")
    if not prompts:
        print_text("no prompt waits for a person; 'oragent steer RUN person' has you asked from the next round on")


def _steer(folder: Path, act: str, value: str, call: str = "") -> str:
    if act == "answer":
        return f"call {answer_prompt(folder / FOLDER, value, call)} is answered"
    return post_act(folder, act, value)


def _steer_from_page(folder: Path, act: dict[str, Any]) -> str:
    return _steer(folder, *(str(act.get(name, "")) for name in ("act", "value", "call")))


def memory(
    name: Annotated[
        str | None, typer.Argument(metavar="FAMILY", help="Common beginning of the names of problems, such as tsp.")
    ] = None,
    add: Annotated[Path | None, typer.Option(metavar="RUN", help="Add the lessons of this run.")] = None,
    edit: Annotated[bool, typer.Option("--edit", help="Open the lessons in $EDITOR.")] = False,
    forget: Annotated[bool, typer.Option("--forget", help="Drop all lessons of the family.")] = False,
    root: Root = None,
    outputs: Annotated[Path | None, typer.Option(help="Folder for runs (default: outputs/ in the root).")] = None,
) -> None:
    """Store, show and edit lessons by families of problems; --start memory begins a run with them."""
    folder = outputs or find_project_root(root) / "outputs"
    if add is not None:
        name = _add_lessons(folder, add, name)
    if name is None:
        _list_families(folder)
        return
    path = memory_file(folder, name)
    if not name.isidentifier():
        raise ConfigError(f"{name!r} is not a family of problems; expected a word such as tsp")
    if forget:
        path.unlink(missing_ok=True)
        publish_result({"family": name, "file": path, "lessons": ""})
        return
    if edit:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        _open_editor(path)
    if not path.is_file():
        raise ConfigError(f"no lessons for {name}: 'oragent memory {name} --add RUN' adds those of a run")
    lessons = path.read_text(encoding="utf-8", errors="replace")
    publish_result({"family": name, "file": path, "lessons": lessons})
    console.print(escape_text(lessons), markup=False, highlight=False)


def _add_lessons(outputs: Path, run: Path, name: str | None) -> str:
    """Append the lessons of a run to those of its family, and return the family."""
    data = load_run(run)
    learned = lessons_of(run)
    if not learned:
        raise ConfigError(f"{run} has no long-term memory: only or_agent writes one, after some reports")
    name = name or family_of(data.about.problem)
    path = memory_file(outputs, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    earlier = path.read_text(encoding="utf-8") if path.is_file() else ""
    head = f"## {data.about.problem}, {date.today():%Y-%m-%d}: from {data.seed.score:.6g} to {data.best.score:.6g}"
    if learned not in earlier:
        files.replace_file(path, f"{earlier.rstrip()}\n\n{head}\n\n{learned}\n".lstrip())
    return name


def _list_families(outputs: Path) -> None:
    paths = sorted((outputs / "memory").glob("*.md"))
    publish_result({"families": [{"family": path.stem, "file": path} for path in paths]})
    if not paths:
        console.print("no lessons are kept yet: oragent memory --add RUN")
    for path in paths:
        words = len(path.read_text(encoding="utf-8", errors="replace").split())
        console.print(
            f"{escape_text(path.stem)}: {words} words in {escape_text(str(path))}", markup=False, highlight=False
        )


def _open_editor(path: Path) -> None:
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not editor:
        raise ConfigError(f"neither VISUAL nor EDITOR is set: edit {path} in another way")
    try:
        subprocess.run([*shlex.split(editor), str(path)], check=True)
    except (OSError, ValueError, subprocess.CalledProcessError) as problem:
        raise ConfigError(f"{editor!r} cannot edit {path}: {problem}") from None
