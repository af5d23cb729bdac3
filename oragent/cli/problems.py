"""Problems and single heuristics: ``problems``, ``new``, ``check``, ``eval``."""

import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from oragent._base import package_data
from oragent._base.errors import ConfigError
from oragent._base.protocol import Status
from oragent._base.publishing import publish_result
from oragent._base.racing import displayed_metrics
from oragent._base.terminal import text_table
from oragent._base.text_format import one_line
from oragent.api.experiments import plan_evaluation
from oragent.api.run_documents import describe_findings, describe_listed_problem
from oragent.authoring import contract, exporting, importing, scaffold
from oragent.cli.options import DEVICE_HELP, ProblemName, Root, console, print_caution, print_text, problem_names
from oragent.evaluation import Evaluation, EvaluationRunner
from oragent.evaluation.capabilities import CHECK, CHECKED, FRESH_SEED, WORK_UNITS, describe_check, require_all
from oragent.evaluation.devices import AUTO, pin_device, uses_networks
from oragent.evaluation.discovered import Evidence, find_discovered, list_discovered
from oragent.evaluation.job import DISCOVERED
from oragent.evaluation.noise import write_noise
from oragent.evaluation.problem import (
    Problem,
    evaluation_root,
    find_problem,
    find_project_root,
    list_problems,
)
from oragent.programs.inspection import read_program
from oragent.sandbox.isolation.environment import environment_by_hand, problem_variables
from oragent.search.genetics.variation import child_of_seed

# Width of the console in columns.
UNBOUNDED = 10_000


def problems(
    copy: Annotated[
        str | None, typer.Option(metavar="PROBLEM", help="Copy this problem.", autocompletion=problem_names)
    ] = None,
    to: Annotated[Path | None, typer.Option(help="Folder for the copy (default: problems/ in the root).")] = None,
    root: Root = None,
) -> None:
    """List the problems of the project and of the package, or copy one."""
    if copy:
        folder = scaffold.copy(find_problem(copy, find_project_root(root)), to or find_project_root(root) / "problems")
        publish_result({"folder": folder})
        console.print(
            f"copied to {folder}: change it, try 'oragent check {folder}', then 'oragent run {folder}'", soft_wrap=True
        )
        return
    listing = list(list_problems(find_project_root(root)))
    publish_result([{**describe_listed_problem(problem), "sizes": problem.about.sizes} for problem in listing])
    table = _problem_table(listing)
    unbounded = console.options.update(max_width=UNBOUNDED)
    fits = Measurement.get(console, unbounded, table).maximum <= console.width
    console.print(table if fits else _problem_entries(listing))


def _problem_table(listing: Sequence[Problem]) -> Table:
    """Return a table of problems, one row each, for terminals wide enough for all titles."""
    rows = (
        (
            Text(problem.name, style="bold"),
            problem.about.function,
            problem.about.direction.comparative,
            _format_sizes(problem),
            problem.about.title,
        )
        for problem in listing
    )
    return text_table(("problem", "what evolves", "better", "sizes (val)", "title"), rows)


def _problem_entries(listing: Sequence[Problem]) -> Table:
    """Return a list of problems for narrow terminals: name, title, and the evolved functions."""
    entries = Table.grid(padding=(0, 2, 0, 0))
    entries.add_column(no_wrap=True)
    entries.add_column()
    for problem in listing:
        sizes = f"; sizes {_format_sizes(problem)}" if _format_sizes(problem) else ""
        facts = f"[dim]evolves {escape(problem.about.function)}; {problem.about.direction.words}{sizes}[/]"
        entries.add_row(f"[bold]{escape(problem.name)}[/]", f"{escape(problem.about.title)}\n{facts}")
    return entries


def _format_sizes(problem: Problem) -> str:
    return ", ".join(map(str, problem.about.sizes.get("val", [])))


def evaluate_candidate(
    context: typer.Context,
    problem: ProblemName,
    candidate: Annotated[Path | None, typer.Option(help="Heuristic to score (default: the problem's seed).")] = None,
    mode: Annotated[str | None, typer.Option(help="train, val, test or fresh (default: val).")] = None,
    named_set: Annotated[str | None, typer.Option("--set", help="A named set of problem.yaml, as the mode.")] = None,
    problem_size: Annotated[int | None, typer.Option("--problem_size", help="This size only.")] = None,
    fresh_seed: Annotated[
        int | None, typer.Option("--fresh_seed", help="Draw the fresh set of this seed again.")
    ] = None,
    work: Annotated[
        str, typer.Option(metavar="X,...", help="Factors on the work of each solve, such as 1,5,25.")
    ] = "1",
    device: Annotated[str, typer.Option(help=DEVICE_HELP)] = AUTO,
    check: Annotated[bool, typer.Option("--check", help="Then repeat calls in a fresh process.")] = False,
    root: Root = None,
) -> None:
    """Score one heuristic in the sandbox, as a search does; options of the evaluator are allowed."""
    resolved = find_problem(problem, find_project_root(root))
    base = evaluation_root(resolved, root)
    require_all(resolved)
    if named_set is not None:
        if mode is not None:
            raise ConfigError(f"--mode={mode} and --set={named_set} name two sets of instances; give one of them")
        resolved.find_set(named_set)
        mode = named_set
    if candidate and candidate.parent.name == DISCOVERED and not candidate.is_file():
        candidate = find_discovered(resolved, candidate.stem)
    source = read_program(candidate, resolved.signature) if candidate else resolved.seed
    factors = _read_factors(work)
    chosen = pin_device(device, resolved)
    if chosen.remark:
        careful = "[bold yellow]careful:[/] " if chosen.careful else ""
        console.print(f"{careful}{escape(chosen.remark)}", highlight=False, soft_wrap=True)
    if context.args:
        options: dict[str, Path | str | int | None] = {"root_dir": base, "candidate": candidate, "mode": mode}
        if len(factors) > 1:
            raise ConfigError("options of the evaluator go with one factor of --work")
        options |= {"work": work if factors != [1.0] else None}
        options |= {"problem_size": problem_size, "fresh_seed": fresh_seed, "data": resolved.find_data(mode, base)}
        if uses_networks(resolved):
            options |= {"device": chosen.device}
        arguments = [*context.args, CHECK] if check else context.args
        raise typer.Exit(_run_directly(resolved, options, arguments))
    if warning := resolved.unguarded_warning:
        print_caution(warning)
    with EvaluationRunner() as run:
        words = [] if fresh_seed is None else [f"{FRESH_SEED}={fresh_seed}"]
        words += [CHECK] if check else []
        named: dict[str, Any] = {"mode": mode, "problem_size": problem_size, "words": words}
        jobs = [plan_evaluation(run, resolved, source, base, chosen.device, work=factor, **named) for factor in factors]
        results = [run(job) for job in jobs]
    publish_result(results[0] if len(results) == 1 else dict(zip(factors, results, strict=True)))
    if len(results) > 1:
        console.print(_work_table(factors, results, resolved.about.work.unit))
    else:
        _show_result(results[0], check)
    if any(result.status is not Status.OK for result in results):
        raise typer.Exit(1)


def _read_factors(text: str) -> list[float]:
    try:
        factors = [float(word) for word in text.split(",")]
    except ValueError:
        factors = []
    if not factors or not all(0 < factor < float("inf") for factor in factors):
        raise ConfigError(f"--work needs positive factors such as 5 or 1,5,25, not {text!r}")
    return list(dict.fromkeys(factors))


def _work_table(factors: Sequence[float], results: Sequence[Evaluation], unit: str) -> Table:
    table = Table("work", "score", escape(unit), "CPU s", "", box=None, header_style="bold")
    for factor, result in zip(factors, results, strict=True):
        score = "-" if result.score is None else f"{result.score:.6g}"
        units = result.metrics.get(WORK_UNITS)
        message = "" if result.score is not None else f"{result.status}: {one_line(result.message, 200)}"
        shown = f"{units:,}" if type(units) in (int, float) else "-"
        table.add_row(f"{factor:g}x", score, shown, f"{result.cpu_s:.2f}", escape(message))
    return table


def _show_result(result: Evaluation, check: bool) -> None:
    if result.status is not Status.OK:
        if result.detail:
            print_text(result.detail)
        console.print(f"[bold red]{result.status}[/]: {escape(result.message)}", highlight=False, soft_wrap=True)
        return
    figures = [*displayed_metrics(result.metrics).items(), ("features", result.features), ("score", result.score)]
    console.print(text_table(("", ""), ((name, one_line(repr(value), 400)) for name, value in figures)))
    if check:
        console.print(f"checked: {describe_check(result.metrics.get(CHECKED))}", highlight=False)
    console.print(f"{result.wall_s:.2f} s, {result.cpu_s:.2f} CPU s, {result.peak_mb:.0f} MiB", highlight=False)


def discovered(
    problem: Annotated[
        str | None, typer.Argument(help="A problem's name (default: all).", autocompletion=problem_names)
    ] = None,
    root: Root = None,
) -> None:
    """List the discovered programs of the package, with the evidence for each."""
    base = find_project_root(root)
    problems = [find_problem(problem, base)] if problem else list(list_problems(base))
    programs_of = {each.name: programs for each in problems if (programs := list_discovered(each))}
    publish_result(
        {
            name: {title: asdict(evidence) for title, evidence in programs.items()}
            for name, programs in programs_of.items()
        }
    )
    if not programs_of:
        console.print("no discovered programs ship with " + (escape(problem) if problem else "these problems"))
        return
    for name, programs in programs_of.items():
        for title, evidence in programs.items():
            console.print(f"[bold]{escape(name)}[/] discovered/{escape(title)}", highlight=False)
            console.print(Padding(_discovered_table(evidence), (0, 0, 0, 2)))
            console.print(Padding(escape(evidence.why.strip()), (0, 0, 0, 2)), highlight=False)
    console.print("score one: oragent eval PROBLEM --candidate discovered/TITLE", highlight=False)


def _discovered_table(evidence: Evidence) -> Table:
    rows = []
    sets = {"val": evidence.val, "test": evidence.test, "fresh": evidence.fresh, **evidence.sets}
    for name, scores in sets.items():
        if scores is not None:
            interval = "-" if scores.interval is None else f"{scores.interval[0]:.4g} to {scores.interval[1]:.4g}"
            rows.append((name, f"{scores.seed:.6g}", f"{scores.best:.6g}", interval))
    origin = f"{evidence.origin}, {evidence.strategy}, {evidence.evaluations} evaluations, {evidence.calls} calls"
    versions = "".join(f"; {name} {version}" for name, version in evidence.packages.items())
    heads = ("set", "seed", "best", "95 % interval of the gain")
    notes = "; ".join(filter(None, (origin, evidence.harden + versions, evidence.duel)))
    return text_table(heads, rows, "lrr", caption=notes)


def new(
    name: Annotated[str, typer.Argument(help="Name of the problem and its folder.")],
    parent: Annotated[
        Path | None, typer.Option(help="Where to make the folder (default: problems/ of the project).")
    ] = None,
    plain: Annotated[bool, typer.Option("--plain", help="An eval.py without any import of oragent.")] = False,
    minimal: Annotated[bool, typer.Option("--minimal", help="One size, no features, no drawing.")] = False,
) -> None:
    """Create the folder of a new problem, which works at once."""
    if plain and minimal:
        raise ConfigError("--plain and --minimal are different templates; give one of them")
    template = "full"
    if plain:
        template = "plain"
    elif minimal:
        template = "minimal"
    home = find_project_root() / "problems"
    if home.is_relative_to(Path.cwd()):
        home = home.relative_to(Path.cwd())
    folder = scaffold.new(name, parent or home, template)
    publish_result({"folder": folder})
    words = folder if parent else folder.name
    console.print(f"made {folder}: try 'oragent check {words}', then 'oragent run {words}'", soft_wrap=True)


def import_task(
    task: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="A task's folder of any supported framework."),
    ],
    parent: Annotated[Path, typer.Option(help="Where to make the problem's folder.")] = Path(),
    name: Annotated[str | None, typer.Option(help="Name of the problem (default: that of the folder).")] = None,
    data: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Data of a task of CO-Bench, HeuriGym or ALE-Bench.")
    ] = None,
    seed: Annotated[Path | None, typer.Option(metavar="FILE", help="Program to begin with.")] = None,
) -> None:
    """Convert a task of another framework, score its seed, and list what could not be converted."""
    imported = importing.import_task(task, parent, name, data=data, seed=seed)
    publish_result(imported)
    trial = imported.trial
    if trial.status == "forgeable":
        print_caution(
            f"forgeable: candidates run in the evaluator's process and can forge their scores; {trial.reason}"
        )
    else:
        print_text(
            f"{trial.status}: candidates run in a process of their own{'; ' if trial.reason else ''}{trial.reason}"
        )
    print_text(f"seed:  score {trial.score}, {trial.shared_score} in the evaluator's process; {trial.calls:,} calls")
    for text in imported.taken:
        print_text(f"taken: {text}")
    for text in imported.omitted:
        print_text(f"left:  {text}")
    print_text(f"made {imported.folder}: try 'oragent check {imported.folder}', then 'oragent run {imported.folder}'")


def import_suite(
    suite: Annotated[Path, typer.Argument(metavar="DIR", help="Folder with tasks, such as a framework's repository.")],
    parent: Annotated[Path, typer.Option(help="Where to make the problems' folders.")] = Path(),
    data: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Data of the tasks, in folders of their names.")
    ] = None,
) -> None:
    """Convert all tasks of a folder, and print which candidates cannot forge their scores."""
    rows = []
    for row in importing.import_suite(suite, parent, data):
        rows.append(row)
        score = "" if row.trial.score is None else f", seed {row.trial.score:.10g}"
        print_text(f"{row.trial.status:9} {row.name}{score}{'; ' if row.trial.reason else ''}{row.trial.reason}")
    counts = Counter(row.trial.status for row in rows)
    publish_result(rows)
    imported = [f"{counts[status]} {status}" for status in ("isolated", "noisy", "forgeable")]
    print_text(f"imported {len(rows) - counts['refused']} of {len(rows)}: {', '.join(imported)}")


def export_task(
    problem: ProblemName,
    to: Annotated[str, typer.Option("--to", help="openevolve, shinka, llm4ad, cobench, heurigym or harbor.")],
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="New folder (default: NAME-FRAMEWORK here).")] = None,
    root: Root = None,
) -> None:
    """Make a task for another framework from a problem; its evaluator calls oragent."""
    source_problem = find_problem(problem, find_project_root(root))
    exported = exporting.export_task(source_problem, to, out or Path(f"{source_problem.name}-{to}"))
    publish_result(exported)
    for name in exported.files:
        print_text(f"wrote {exported.folder / name}")
    print_text(f"use it with: {exported.command}")


def check(
    folder: Annotated[Path, typer.Argument(metavar="PROBLEM", help="A problem's folder, or its name.")],
    root: Root = None,
    quick: Annotated[bool, typer.Option("--quick", help="Mostly in train mode.")] = False,
) -> None:
    """Check that the folder of a problem meets the contract."""
    marks = {"OK": "[green]ok  [/]", "WARNING": "[yellow]warn[/]", "FAILURE": "[bold red]FAIL[/]"}
    counts = dict.fromkeys(marks, 0)
    findings: list[tuple[str, str, str]] = []
    base = find_project_root(root)
    named = package_data.find_path(base, Path("problems") / folder)
    # A folder without a problem does not hide a problem of its name.
    if not folder.is_dir() or (not (folder / "problem.yaml").is_file() and (named / "problem.yaml").is_file()):
        folder = named
    for finding in contract.check_problem(folder, root, child_of_seed, quick=quick):
        counts[finding.level.name] += 1
        findings.append((finding.level.name, finding.title, finding.detail))
        if finding.noise is not None:
            # The folders of an installation may be read-only.
            with suppress(OSError):
                write_noise(folder, finding.noise)
        console.print(f"{marks[finding.level.name]} {escape(finding.title)}", highlight=False)
        if finding.detail:
            console.print(Padding(f"[dim]{escape(finding.detail)}[/]", (0, 0, 0, 5)), highlight=False)
    console.print(f"{counts['OK']} ok, {counts['WARNING']} warnings, {counts['FAILURE']} failures")
    publish_result(describe_findings(findings))
    raise typer.Exit(1 if counts["FAILURE"] else 0)


def _run_directly(problem: Problem, options: dict[str, Path | str | int | None], extra_arguments: list[str]) -> int:
    """Run an evaluator without a sandbox, so that it may write files and open windows; return its exit code."""
    script = problem.evaluator
    program = [sys.executable, str(script)] if script.suffix == ".py" else [str(script)]
    arguments = [f"--{name}={value}" for name, value in options.items() if value is not None]
    variables = environment_by_hand() | problem_variables(problem.about.environment)
    return subprocess.run([*program, *arguments, *extra_arguments], env=variables, check=False).returncode
