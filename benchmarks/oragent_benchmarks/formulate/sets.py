"""Sets of problems with known answers: generated families with seeds, CSV files, and three public forms.

NL4Opt (Ramamonjison et al. 2022) has gold formulations, in which names and numbers are texts with many spellings.
OptiBench is from Yang et al. 2024 (arXiv:2407.09887). ComplexOR has two editions, 37 problems (Wang et al. 2025) and 18
(Xiao et al. 2024), which are never mixed. Its published scaffolds also declare the variables. Here they declare only
the parameters, because the data contain no variables, so results are not comparable with the published ones.
"""

import csv
import io
import json
import keyword
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from oragent._base.errors import ConfigError, ModellingError, ProblemError
from oragent._base.figures_in_text import NUMBER_WORDS
from oragent._base.text_format import one_line
from oragent.formulate.data import read_text, show_path
from oragent.formulate.options import check_known
from oragent.formulate.problem import Form, ProblemText, ProgramInterface, place_data
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_records import Objective, Row, Variable
from oragent.modelling.data.model_values import Relation, Sense, VariableKind
from oragent.sandbox.table_reader import ENDINGS
from oragent_benchmarks.families import FAMILIES
from oragent_benchmarks.formulate.folder_sets import read_folders
from oragent_benchmarks.formulate.hard_set import hard_set
from oragent_benchmarks.formulate.labelled import (
    Label,
    Labelled,
    ProblemSet,
    check_records,
    label_of,
    read_figure,
    read_label,
    slug,
)

# Forms of published files.
FORMS = ("nl4opt", "complexor", "optibench", "miplib-nl")
# File with the spellings of names, in the same folder as the verified set.
SPELLINGS = "nl4opt_test_gold.json"
STATUSES = {"infeasible": "infeasible", "4": "unbounded"}
RELATIONS = {"LESS_OR_EQUAL": Relation.AT_MOST, "GREATER_OR_EQUAL": Relation.AT_LEAST}
LARGER = {"maximize", "maximum"}
WORDS = {word: NUMBER_WORDS[word] for word in NUMBER_WORDS.keys() - {"dozen", "thousand", "million"}}
WORDS |= {"a": 1.0, "an": 1.0}


SIZE = 3
MARK = "# TO DO: variables (into `variables`), the objective, and every constraint with a short name"
BODY = """import pulp


def solve(data):
{unpacked}
    problem = pulp.LpProblem("model", {sense}
    variables = {{}}  # by the name of a decision the PuLP variable itself, or a dict or list of them

    {mark}

    problem.solve()
    return {{
        "status": pulp.LpStatus[problem.status],
        "objective_value": pulp.value(problem.objective),
        "optimized_vars": variables,
    }}
"""
SENSES = {"min": "pulp.LpMinimize)", "max": "pulp.LpMaximize)"}
# Names that the scaffold itself uses.
TAKEN = {"data", "problem", "pulp", "solve", "variables"}
SENSE = re.compile(r"\b(min|max)imi[sz]")
UNKNOWN = "pulp.LpMinimize)  # or pulp.LpMaximize"
PARAMETER = re.compile(r"\\param\{([^}]*)\}")


def read_nl4opt(path: Path) -> ProblemSet:
    """Read the verified set or the full test set. Cases with unreadable names have no gold formulation."""
    records_read, beside = _load_records(path), path.with_name(SPELLINGS)
    spelled = {
        str(spelling.get("id")): spelling.get("var_map", {})
        for spelling in (_load_records(beside) if beside.is_file() else records_read)
    }
    cases, left_out = [], []
    for index, record in enumerate(records_read):
        name, question = slug(str(record.get("id", index))), str(record.get("question") or "")
        label = _read_published_label(record)
        if not question.strip() or label is None:
            left_out.append(f"record {index}: no {'answer' if question.strip() else 'question'}")
            continue
        try:
            gold = gold_milp(record, record.get("var_map") or spelled.get(str(record.get("id")), {}))
        except (KeyError, ValueError, TypeError, AttributeError, ModellingError):
            gold = None
        cases.append(Labelled(ProblemText(name, question), label, gold))
    whole = " (the published table is of all 289)" if len(cases) < 280 else ""
    return ProblemSet(
        slug(path.stem), f"{len(cases)} problems of {path.name}{whole}", tuple(cases), tuple(left_out), path
    )


def parse_number(text: str) -> float:
    """Parse a figure in common notations: ``$1,000``, ``20%``, ``fifteen percent``, ``one third``, ``1.5 times``.

    Raises:
        KeyError: A word is not part of a number.
    """
    plain = text.lower().replace(",", "").replace("$", "").replace("-", " ").strip()
    share = 0.01 if re.search(r"%|percent|per cent", plain) else 1.0
    plain = re.sub(r"%|percent|per cent|times|as much|as many|of\b|the\b", " ", plain)
    if match := re.search(r"\d+(?:\.\d+)?|\.\d+", plain):
        value = float(match.group())
        divided = re.search(r"/\s*(\d+)", plain)
        return share * (value / float(divided.group(1)) if divided else value)
    total = 0.0
    for word in plain.split():
        factor = WORDS[word.removesuffix("s") if word.removesuffix("s") in ("third", "quarter") else word]
        total = total * factor if total and (factor == 100.0 or factor < 1.0) else total + factor
    return share * total


def gold_milp(record: Mapping[str, Any], spellings: Mapping[str, str]) -> IndexedModel:
    """Return the gold formulation. Every variable is a non-negative integer.

    Args:
        record: Record of the file.
        spellings: Variable by each name that the text uses for it.

    Raises:
        KeyError: A name or number cannot be read.
        ModellingError: The record does not describe a valid model.
    """
    names = [str(name) for name in record["vars"]]
    find_name = _name_finder(names, spellings)

    def read_terms(texts: Mapping[str, str]) -> dict[str, float]:
        return {find_name(name): parse_number(value) for name, value in texts.items()}

    rows = tuple(
        _gold_row(index, entry, names, find_name, read_terms) for index, entry in enumerate(record["constraints"])
    )
    goal = record["objective"]
    if goal["type"] == "objective":
        costs = read_terms(goal["terms"])
    else:
        costs = dict.fromkeys(map(find_name, goal["vars"]), 1.0)
    return IndexedModel.from_records(
        tuple(Variable(name, kind=VariableKind.INTEGER) for name in names),
        rows,
        Objective(costs),
        Sense.MAXIMIZE if goal["direction"] in LARGER else Sense.MINIMIZE,
        str(record["id"]),
    )


def _gold_row(
    index: int,
    entry: Mapping[str, Any],
    names: list[str],
    find_name: Callable[[str], str],
    terms: Callable[[Mapping[str, str]], dict[str, float]],
) -> Row:
    relation, kind = RELATIONS[entry["operator"]], entry["type"]
    limit = parse_number(entry["limit"]) if "limit" in entry else 0.0
    if kind == "linear":
        coefficients = terms(entry["terms"])
    elif kind in ("lowerbound", "upperbound"):
        coefficients = {find_name(entry["var"]): 1.0}
    elif kind == "sum":
        coefficients = dict.fromkeys(names, 1.0)
    elif kind == "ratio":
        share, limit = limit / 100 if limit > 1 else limit, 0.0
        coefficients = {name: (1.0 if name == find_name(entry["var"]) else 0.0) - share for name in names}
    else:
        factor = parse_number(entry["param"]) if kind == "xby" else 1.0
        coefficients = {find_name(entry["x_var"]): 1.0, find_name(entry["y_var"]): -factor}
    return Row(f"c{index}", coefficients, relation, limit)


def _name_finder(names: list[str], spellings: Mapping[str, str]) -> Callable[[str], str]:
    target_of = {spelling.lower(): target for spelling, target in spellings.items()} | {
        variable.lower(): variable for variable in names
    }

    def find_name(name: str) -> str:
        for key in (name.lower(), f"{name.lower()}s", name.lower().removesuffix("s")):
            if key in target_of and target_of[key] in names:
                return target_of[key]
        raise KeyError(name)

    return find_name


def _read_published_label(record: Mapping[str, Any]) -> Label | None:
    """Return the label: the answer of three sources in the verified set, otherwise that of the published grader."""
    for key in ("answer", "lpwp_answer"):
        if isinstance(record.get(key), int | float):
            return Label(float(record[key]))
    if record.get("lpwp_answer", "") is None:
        return None
    status = STATUSES.get(str(record.get("gold_ip_status")))
    if status:
        return Label(status=status)
    return None


def _load_records(path: Path, what: str = "NL4Opt's problems") -> list[dict[str, Any]]:
    try:
        return check_records(path, json.loads(read_text(path, what)))
    except json.JSONDecodeError as problem:
        raise ProblemError(f"{show_path(path)}, line {problem.lineno}: not JSON ({problem.msg})") from None


def family_set(size: str = "", seeds: int = 2) -> ProblemSet:
    """Return all families with ``seeds`` instances each."""
    if size and not (size.isdecimal() and 2 <= int(size) <= 50):
        raise ConfigError(f"families={size}: expected a size from 2 to 50")
    cases = []
    for name, generate in FAMILIES.items():
        for seed in range(1, seeds + 1):
            instance = generate(seed, int(size or SIZE))
            problem = ProblemText(slug(f"{name}-{seed}"), instance.text, instance.data)
            cases.append(Labelled(problem, Label(instance.optimum), instance.milp))
    return ProblemSet("families", f"{len(FAMILIES)} families of our own, proven optima", tuple(cases))


def read_table(path: Path) -> ProblemSet:
    """Read problems of one's own from CSV or JSON lines.

    A record has ``question``, and ``answer`` or ``verdict`` (``read_label``). It may have ``background``, ``id``, and
    ``data``: in JSON the parameters, or a data file or a folder of them, relative to the table. Records that cannot be
    used are left out and reported with their lines.
    """
    read = _read_json_lines if path.suffix.lower() == ".jsonl" else _read_csv_records
    cases, left_out = [], []
    for number, (line, record) in enumerate(read(path), 1):
        label = read_label(record)
        if not str(record.get("question") or "").strip() or label is None:
            has_question = str(record.get("question") or "").strip()
            what = "answer that is a number or a verdict" if has_question else "question"
            left_out.append(f"line {line}: record {number} has no {what}")
            continue
        name = slug(str(record.get("id") or f"{number:04d}"))
        background = str(record.get("background") or "")
        problem = ProblemText(name, str(record["question"]), background=background)
        try:
            cases.append(Labelled(_add_data(problem, record.get("data"), path.parent), label))
        except ProblemError as error:
            left_out.append(f"line {line}: {error}")
    names = [case.problem.name for case in cases]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ProblemError(f"{show_path(path)}: two records have the id {twice!r}: give each its own")
    return ProblemSet(slug(path.stem), f"{len(cases)} problems of {path.name}", tuple(cases), tuple(left_out), path)


def _read_csv_records(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield the records of a table with their first lines."""
    reader = csv.DictReader(io.StringIO(read_text(path, "a table")), strict=True)
    columns, line = set(reader.fieldnames or ()), 1
    if "question" not in columns or not columns & {"answer", "verdict"}:
        raise ProblemError(f"{show_path(path)}, line 1: expected the columns question and answer")
    try:
        for row in reader:
            begin, line = line + 1, reader.line_num
            yield begin, row
    except csv.Error as problem:
        raise ProblemError(f"{show_path(path)}, line {reader.line_num}: not CSV ({problem})") from None


def _read_json_lines(path: Path, what: str = "problems") -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield the records of a file with one JSON object per line, with their lines."""
    for line, text in enumerate(read_text(path, what).splitlines(), 1):
        if not text.strip():
            continue
        try:
            record = json.loads(text)
        except (json.JSONDecodeError, RecursionError) as problem:
            raise ProblemError(f"{show_path(path)}, line {line}: not JSON ({type(problem).__name__})") from None
        if not isinstance(record, dict):
            raise ProblemError(f"{show_path(path)}, line {line}: expected an object with question and answer")
        yield line, record


def _add_data(problem: ProblemText, data: Any, folder: Path) -> ProblemText:
    """Return a problem with its data: parameters, or the files below a path relative to the folder of the set."""
    if isinstance(data, Mapping):
        return replace(problem, data=dict(data))
    if not data:
        return problem
    place = folder / str(data)
    if not place.resolve().is_relative_to(folder.resolve()) or not place.exists():
        raise ProblemError(f"no data at {show_path(place)}: expected a file or folder beside the table")
    endings = (".json", *ENDINGS)
    files = sorted(file for file in place.iterdir() if file.suffix.lower() in endings) if place.is_dir() else [place]
    return place_data(problem, files)


def read_optibench(path: Path) -> ProblemSet:
    """Read the file. An answer is correct if the label's figure is the objective or one of the values."""
    cases, left_out = [], []
    for index, record in enumerate(_load_records(path, "OptiBench's problems")):
        results = _read_results(record.get("results"))
        question = str(record.get("question") or "")
        if not question.strip() or not results:
            left_out.append(f"record {index}: no {'results' if question.strip() else 'question'} that can be used")
            continue
        kind = str(record.get("type") or "")
        unsupported = "nonlinear" if kind.startswith("nonlinear") else ""
        cases.append(Labelled(ProblemText(f"{index:04d}", question), Label(values=results), unsupported=unsupported))
    scope = sum(not case.unsupported for case in cases)
    title = f"{scope} linear problems of {len(cases)} in {path.name}; the others are unsupported"
    return ProblemSet(slug(path.stem), title, tuple(cases), tuple(left_out), path)


def _read_results(results: Any) -> dict[str, float]:
    if not isinstance(results, dict):
        return {}
    figures = {str(name): read_figure(value) for name, value in results.items()}
    return {name: value for name, value in figures.items() if isinstance(value, float)}


def build_scaffold(data: Mapping[str, Any], parameters: Any, texts: Sequence[str]) -> ProgramInterface:
    """Return the program interface of a record.

    Args:
        data: Arguments of the program.
        parameters: The record's list of ``symbol``, ``definition`` and ``shape``; other values count as an empty list.
        texts: Descriptions of the objective. The first one that names either maximise or minimise, but not both,
            counts.
    """
    listed = parameters if isinstance(parameters, list) else []
    shapes = {
        str(parameter.get("symbol")): parameter.get("shape") for parameter in listed if isinstance(parameter, dict)
    }
    unpacked = "\n".join(
        f"    {name} = data[{name!r}]{shape_of(shapes.get(name)).replace(',', '  #', 1)}"
        for name in data
        if name.isidentifier() and name.isascii() and not keyword.iskeyword(name) and name not in TAKEN
    )
    named = [set(SENSE.findall(text.lower())) for text in texts]
    sense = next((SENSES[words.pop()] for words in named if len(words) == 1), UNKNOWN)
    unpacked = unpacked or "    # the data have no names that can be unpacked"
    source = BODY.format(unpacked=unpacked, sense=sense, mark=MARK).strip()
    return ProgramInterface("solve", ("data",), source, Form.SCAFFOLD)


def shape_of(shape: Any, prefix: str = ", ") -> str:
    """Describe a shape on one line; empty for a single number."""
    if not isinstance(shape, list) or not shape:
        return ""
    return f"{prefix}shape ({', '.join(one_line(str(part), 40) for part in shape[:6])})"


def read_complexor(path: Path) -> ProblemSet:
    """Read a file with one record per line. The program is called with the record's ``input``."""
    cases, left_out = [], []
    for line_number, record in _read_json_lines(path, "ComplexOR's problems"):
        answer, words = read_figure(record.get("output")), _problem_text(record)
        if not words.strip() or answer is None or not isinstance(record.get("input"), dict):
            left_out.append(f"line {line_number}: no description, input or output that can be used")
            continue
        background = str(record.get("background") or "")
        form = build_scaffold(record["input"], record.get("parameters"), [str(record.get("objective")), words])
        name = slug(str(record.get("id", line_number)))
        cases.append(Labelled(ProblemText(name, words, record["input"], form, background), label_of(answer)))
    title = (
        f"{len(cases)} problems of {path.name}; the published scaffolds declare the variables too, ours cannot: not to "
        "be held against the published figures"
    )
    return ProblemSet(slug(path.stem), title, tuple(cases), tuple(left_out), path)


def _problem_text(record: Mapping[str, Any]) -> str:
    parts = [PARAMETER.sub(r"\1", str(record.get("description") or ""))]
    parameters = record.get("parameters")
    usable = [
        parameter for parameter in (parameters if isinstance(parameters, list) else ()) if isinstance(parameter, dict)
    ]
    told_of = [
        f"- {parameter.get('symbol')}: {parameter.get('definition')}{shape_of(parameter.get('shape'))}"
        for parameter in usable
    ]
    if usable:
        parts += ["\nParameters:", *told_of]
    for name in ("constraints", "objective"):
        content = record.get(name)
        if isinstance(content, list):
            lines = content
        elif content:
            lines = [content]
        else:
            lines = []
        head = [f"\n{name.capitalize()}:"] if lines else []
        parts += head + [f"- {PARAMETER.sub(chr(92) + '1', str(item))}" for item in lines]
    return "\n".join(parts)


def _read_form(form: str, path: Path) -> ProblemSet:
    match form:
        case "nl4opt":
            return read_nl4opt(path)
        case "complexor":
            return read_complexor(path)
        case "optibench":
            return read_optibench(path)
        case _:
            return read_folders(path)


def read_set(spec: str) -> ProblemSet:
    """Read a set by its name on the command line.

    Args:
        spec: ``families``, ``families=SIZE``, ``hard``, ``FORM=FILE`` with a form of ``FORMS`` (``miplib-nl`` with a
            folder), or ``FILE.csv`` or ``FILE.jsonl`` with question and answer.
    """
    name, equals, rest = spec.partition("=")
    if name == "families":
        return family_set(rest)
    if spec == "hard":
        return hard_set()
    if equals:
        return _read_form(check_known(name, FORMS, "set of problems"), Path(rest))
    if spec.endswith((".csv", ".jsonl")):
        return read_table(Path(spec))
    raise ConfigError(
        f"{spec!r} is not a set of problems; expected families, hard, {', '.join(f'{n}=FILE' for n in FORMS[:-1])}, "
        f"{FORMS[-1]}=FOLDER, or FILE.csv or FILE.jsonl with question and answer"
    )
