"""Parameters that a program declares in comments: reading them, and writing the program with other values.

A declaration is one comment, on a line of its own or after the value::

    WINDOW = 23  # param: WINDOW = 23, 5..60
    # param: decay = 0.1, 0.001..1, log
    # param: ROUNDS work

It gives a name, its value (optional), a range and optionally ``int``, ``float`` or ``log``. ``work`` marks the number
that controls the program's amount of work, such as its iterations; it needs no range. The name must be a constant at
the top level, a default of a top-level function, or assigned on the comment's own line. If the comment and the code
give different values, the code counts. Programs are read as text, never run.
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

from oragent._base.errors import CandidateError
from oragent.programs import inspection

MAX_PARAMETERS = 20
# Maximum absolute value of a range.
MAX_BOUND = 1e9
# Maximum characters of a declaration.
MAX_SPEC = 200
# Significant digits of written values.
DIGITS = 6

_NUMBER = r"[-+]?(?:\d[\d_]*(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?"
_COMMENT = re.compile(r"#[ \t]*param:[ \t]*")
_SPEC = re.compile(
    rf"(?P<name>[A-Za-z_]\w*)\s*(?:=\s*(?P<value>{_NUMBER})\s*)?,"
    rf"\s*(?P<low>{_NUMBER})\s*\.\.\s*(?P<high>{_NUMBER})(?P<flags>(?:\s*,\s*(?:int|float|log|work))*)\s*"
)
_WORK = re.compile(rf"(?P<name>[A-Za-z_]\w*)\s*(?:=\s*(?P<value>{_NUMBER})\s*)?,?\s*\bwork\s*")
# Default range of a work parameter: its value divided and multiplied by this factor.
_WORK_RANGE = 1000.0
_EXAMPLE = "write `# param: window = 23, 5..60`"


@dataclass(frozen=True)
class ProgramParameter:
    """Number of a program, with the range in which it may change."""

    # Name of the constant or of the default.
    name: str
    # Value in the program.
    value: float
    # Lower end of the range.
    low: float
    # Upper end of the range, above ``low``.
    high: float
    # True if it must stay an integer.
    is_integer: bool = False
    # True if it is searched by orders of magnitude; ``low`` is then positive.
    is_logarithmic: bool = False
    # True if it is the program's amount of work: a larger value takes longer.
    is_work: bool = False
    # True if the program declares no range, so that values above ``high`` are allowed where the time is measured.
    is_open: bool = False


@dataclass(frozen=True)
class ParameterReading:
    """Declarations of a program: the valid ones in the order of the text, and a line for each of the others."""

    parameters: tuple[ProgramParameter, ...] = ()
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Binding:
    """Number in the text: its characters, its value, and the line of its statement."""

    start: int
    end: int
    value: float
    is_integer: bool
    line: int


@dataclass(frozen=True)
class _Declaration:
    """Comment with a declaration: its line, its text, and the start of the text."""

    line: int
    spec: str
    start: int


def read_parameters(source: str) -> ParameterReading:
    """Read the parameters that a Python program declares; an invalid program declares none."""
    if "param:" not in source:
        return ParameterReading()
    try:
        text = _ProgramText(source)
    except CandidateError:
        return ParameterReading()
    parameters: dict[str, ProgramParameter] = {}
    problems = []
    for declaration in text.declarations:
        try:
            parameter = _read_declaration(text, declaration)
            if parameter.name in parameters:
                raise CandidateError(f"{parameter.name} is declared twice", "rejected")
            if len(parameters) == MAX_PARAMETERS:
                raise CandidateError(f"at most {MAX_PARAMETERS} parameters are read", "rejected")
            parameters[parameter.name] = parameter
        except CandidateError as problem:
            problems.append(f"line {declaration.line}: {problem}")
    return ParameterReading(tuple(parameters.values()), tuple(problems))


def read_value(source: str, name: str) -> float:
    """Return the value of a constant or default of a program, declared or not; ``rejected`` without a value."""
    return _declared_binding(_ProgramText(source), name).value


def write_values(source: str, values: Mapping[str, float]) -> str:
    """Write a program with other values of constants or defaults, by name; comments and layout stay.

    Values have six significant digits; an ``int`` stays one if its value is whole.

    Raises:
        CandidateError: ``rejected``: the program is invalid, or binds no number to a name.
    """
    text = _ProgramText(source)
    changes: list[tuple[int, int, str]] = []
    for name, value in values.items():
        binding = _declared_binding(text, name)
        number = _format_value(value, binding.is_integer)
        changes.append((binding.start, binding.end, number))
        for declaration in text.declarations:
            match = _match_spec(declaration.spec)
            if match and match["name"] == name and match["value"]:
                start, end = (declaration.start + offset for offset in match.span("value"))
                changes.append((start, end, number))
    for start, end, number in sorted(changes, reverse=True):
        source = f"{source[:start]}{number}{source[end:]}"
    # Only numbers differ from an accepted text.
    inspection.mark_safe(source)
    return source


def _match_spec(spec: str) -> re.Match[str] | None:
    return _SPEC.fullmatch(spec) or _WORK.fullmatch(spec)


def _read_work(text: "_ProgramText", name: str, line: int) -> ProgramParameter:
    """Read a work parameter without a range."""
    binding = text.find_binding(name, line)
    if not 0 < binding.value <= MAX_BOUND:
        raise CandidateError(f"{name} = {binding.value:g} must be positive to be an amount of work", "rejected")
    low, high = binding.value / _WORK_RANGE, min(binding.value * _WORK_RANGE, MAX_BOUND)
    if binding.is_integer:
        low, high = max(1.0, low), max(high, 2.0)
    return ProgramParameter(
        name, binding.value, low, high, binding.is_integer, is_logarithmic=True, is_work=True, is_open=True
    )


def _read_declaration(text: "_ProgramText", declaration: _Declaration) -> ProgramParameter:
    if work := _WORK.fullmatch(declaration.spec):
        return _read_work(text, work["name"], declaration.line)
    match = _SPEC.fullmatch(declaration.spec)
    if match is None:
        raise CandidateError(f"{declaration.spec[:60]!r} declares no parameter; {_EXAMPLE}", "rejected")
    name, flags = match["name"], set(re.findall(r"\w+", match["flags"]))
    low, high = float(match["low"]), float(match["high"])
    binding = text.find_binding(name, declaration.line)
    if not -MAX_BOUND <= low < high <= MAX_BOUND:
        raise CandidateError(f"the range of {name} must rise, within {-MAX_BOUND:g}..{MAX_BOUND:g}", "rejected")
    if "work" in flags and low < 0:
        raise CandidateError(f"the range of {name} must not be negative for an amount of work", "rejected")
    if "log" in flags and low <= 0:
        raise CandidateError(f"the range of {name} must be positive for log", "rejected")
    if not low <= binding.value <= high:
        raise CandidateError(f"{name} = {binding.value:g} is outside its range {low:g}..{high:g}", "rejected")
    written_whole = binding.is_integer and all(re.fullmatch(r"[-+]?[\d_]+", match[end]) for end in ("low", "high"))
    is_integer = "int" in flags or (written_whole and "float" not in flags)
    return ProgramParameter(name, binding.value, low, high, is_integer, "log" in flags, "work" in flags)


def _declared_binding(text: "_ProgramText", name: str) -> _Binding:
    """Return the number that a name is bound to at its declaration, or at the top level."""
    for declaration in text.declarations:
        match = _match_spec(declaration.spec)
        if match and match["name"] == name:
            return text.find_binding(name, declaration.line)
    return text.find_binding(name)


def _format_value(value: float, was_integer: bool) -> str:
    if was_integer and value == round(value):
        return str(int(value))
    return repr(float(f"{value:.{DIGITS}g}"))


class _ProgramText:
    """Parsed program with the positions of its numbers and comments; ``rejected`` if it is not valid Python."""

    def __init__(self, source: str) -> None:
        self._tree = inspection.parse_tree(source)
        self._source = source
        self._lines = source.split("\n")
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line) + 1)
        self._top: dict[str, list[_Binding]] = {}
        self._by_line: dict[tuple[str, int], list[_Binding]] = {}
        for name, node, is_top in self._named_values():
            if binding := self._read_number(node):
                self._by_line.setdefault((name, binding.line), []).append(binding)
                if is_top:
                    self._top.setdefault(name, []).append(binding)

    def find_binding(self, name: str, line: int | None = None) -> _Binding:
        """Return the number that a name is bound to on a line, or at the top; ``rejected`` unless it is unique."""
        bindings = self._by_line.get((name, line), []) if line is not None else []
        bindings = bindings or self._top.get(name, [])
        if not bindings:
            offered = ", ".join(self._top) or "none"
            raise CandidateError(
                f"{name} is no constant at the top of the program and no default with a number (there are: {offered})",
                "rejected",
            )
        if len(bindings) > 1:
            lines = ", ".join(str(binding.line) for binding in bindings)
            raise CandidateError(f"{name} gets a number in more than one place (lines {lines})", "rejected")
        return bindings[0]

    @cached_property
    def declarations(self) -> list[_Declaration]:
        """Comments that declare parameters, without texts inside strings."""
        declarations = []
        # The parser of Python accepts some texts that this module does not.
        with suppress(tokenize.TokenError, SyntaxError):
            for token in tokenize.generate_tokens(io.StringIO(self._source).readline):
                if token.type == tokenize.COMMENT and (match := _COMMENT.search(token.string)):
                    line, column = token.start
                    spec = token.string[match.end() :].rstrip()[:MAX_SPEC]
                    declarations.append(_Declaration(line, spec, self._starts[line - 1] + column + match.end()))
        return declarations

    def _named_values(self) -> Iterator[tuple[str, ast.expr, bool]]:
        """Yield assignments and defaults: name, value, and True for those at the top level."""
        top = set(map(id, self._tree.body))
        for node in ast.walk(self._tree):
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    yield name, value, id(node) in top
                case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                    yield name, value, id(node) in top
                case ast.FunctionDef(args=arguments):
                    positional = [*arguments.posonlyargs, *arguments.args]
                    pairs = zip(reversed(positional), reversed(arguments.defaults), strict=False)
                    keywords = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
                    for argument, default in (*pairs, *keywords):
                        if default is not None:
                            yield argument.arg, default, id(node) in top

    def _read_number(self, node: ast.expr) -> _Binding | None:
        is_negative = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)
        match node.operand if isinstance(node, ast.UnaryOp) and is_negative else node:
            case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
                pass
            case _:
                return None
        if node.end_lineno != node.lineno or node.lineno > len(self._lines) or abs(value) > MAX_BOUND:
            return None
        start, end = self._offset(node.lineno, node.col_offset), self._offset(node.lineno, node.end_col_offset or 0)
        if not re.fullmatch(r"-?\s*[\w.+-]+", self._source[start:end]):
            return None
        return _Binding(start, end, -float(value) if is_negative else float(value), isinstance(value, int), node.lineno)

    def _offset(self, line: int, column: int) -> int:
        """Return the index of the character at a line and a column, which the syntax tree counts in bytes."""
        prefix = self._lines[line - 1].encode()[:column]
        return self._starts[line - 1] + len(prefix.decode(errors="replace"))
