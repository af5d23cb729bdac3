"""Programs as text: parse them, hold them to a signature, and know equal ones by their canonical form."""

import ast
import copy
import hashlib
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from oragent._base.ast_utils import tree_of
from oragent._base.errors import CandidateError, ProblemError
from oragent.programs import size_limits
from oragent.programs.normalise import drop_docstrings, normalise


@dataclass(frozen=True)
class Signature:
    """Signature of the function that the evaluator calls."""

    # name of the function that evolves
    function: str
    # names of the parameters in their order; they are passed by position or by keyword
    parameters: tuple[str, ...]
    # text of the ``def ...:`` line as a model is shown it
    text: str
    # further functions that the program must define
    others: tuple["Signature", ...] = ()
    # language of the program, ``python`` or ``cpp``
    language: str = "python"
    # names of its files, the main one first, where it has several
    files: tuple[str, ...] = ()
    # fixed text and blocks of the seed, alternating, from ``regions.split_frame``; empty if all may change
    frame: tuple[str, ...] = ()

    @property
    def functions(self) -> tuple[str, ...]:
        """Names of all functions that the program must define."""
        return (self.function, *(further.function for further in self.others))

    @property
    def shown(self) -> str:
        """Text of all required definitions, for a prompt that puts it within backticks."""
        return "`\n`".join((self.text, *(further.text for further in self.others)))


def signature_to_json(signature: Signature) -> dict[str, object]:
    """Convert a signature to JSON data, without its frame."""
    return {
        "function": signature.function,
        "parameters": [*signature.parameters],
        "text": signature.text,
        "others": [signature_to_json(further) for further in signature.others],
        "language": signature.language,
        "files": [*signature.files],
    }


def read_signature(source: str, function: str) -> Signature:
    """Read the signature of ``function`` off a problem's seed heuristic; a `ProblemError` says why there is none."""
    try:
        node = _find_definition(parse_program(source), function)
        header = copy.copy(node)
        header.body, header.decorator_list = [ast.Pass()], []
        return Signature(function, _parameter_names(node), ast.unparse(header).splitlines()[0])
    except CandidateError as problem:
        raise ProblemError(f"the seed heuristic is no valid program: {problem}") from None


# of the seed, in every prompt that shows no program
@lru_cache(maxsize=16)
def outline_function(source: str, function: str, *, documented: bool = True) -> str:
    """Return the definition of ``function`` with ``...`` as its body, documented or not; ``rejected`` without one."""
    node = copy.copy(_find_definition(parse_program(source), function))
    if documented and ast.get_docstring(node):
        docstring = [node.body[0]]
    else:
        docstring = []
    node.body, node.decorator_list = [*docstring, ast.Expr(ast.Constant(...))], []
    return ast.unparse(node)


# asked when a reply is read, and again before an evaluation is spent
@lru_cache(maxsize=64)
def check_program(source: str, signature: Signature) -> None:
    """Reject a Python program that cannot be called as ``signature``, before an evaluation is spent on it.

    Parameters that follow the wanted ones are fine if they have defaults, and so is any code around the function.

    Raises:
        CandidateError: ``rejected``: too long, not Python, or another function or signature.
    """
    check_tree(compile_program(source), signature)


def check_tree(tree: ast.Module, signature: Signature) -> None:
    """Do what `check_program` does, with a program that has been parsed and compiled."""
    for expected in (signature, *signature.others):
        node = _find_definition(tree, expected.function)
        count, names = len(expected.parameters), _parameter_names(node)
        required = len(names) - len(node.args.defaults)
        extra = [
            arg.arg for arg, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True) if not default
        ]
        if names[:count] != expected.parameters or required > count or extra:
            shown = f"{expected.function}({', '.join((*names, *extra))})"
            raise _rejection(
                f"{shown} has other parameters than wanted; define `{expected.text}`, others need a default"
            )


def compile_program(source: str) -> ast.Module:
    """Parse a program that Python can compile; the code itself is of no use here. ``rejected`` if it cannot."""
    tree = parse_program(source)
    try:
        with warnings.catch_warnings():
            # a candidate's doubtful style is no business of ours
            warnings.simplefilter("ignore")
            compile(tree, "candidate.py", "exec", dont_inherit=True)
    except SyntaxError as problem:
        raise _syntax_error(problem, source) from None
    except (ValueError, RecursionError, MemoryError) as problem:
        raise _rejection(f"the program cannot be compiled: {problem or type(problem).__name__}") from None
    return tree


def canonical_form(source: str, function: str, *others: str) -> str:
    """Rewrite a program so that equal ones read the same.

    Formatting, comments, docstrings, annotations, unused imports and definitions go, and local variables are called
    ``v0``, ``v1``, ... in order of appearance: wherever that cannot change what the program does. A program that may
    look at its own names or text (``eval``, ``locals``, ``inspect``, dunder attributes, ...) is returned as it is.

    Raises:
        CandidateError: ``rejected``: the source does not parse.
    """
    return _cached_canonical_form(source, (function, *others))


# breeding, the cache of scores and the archive ask for the same ones
@lru_cache(maxsize=512)
def _cached_canonical_form(source: str, functions: tuple[str, ...]) -> str:
    return reduce_tree(parse_program(source), source, functions)


def reduce_tree(tree: ast.Module, source: str, functions: Sequence[str], nodes: Sequence[ast.AST] = ()) -> str:
    """Do what `canonical_form` does, with a program that has been parsed; its tree is spent by that.

    The nodes are those without docstrings, where these have been dropped.
    """
    normalised = normalise(tree, functions, nodes)
    if normalised is None:
        return source
    try:
        return ast.unparse(normalised)
    except (ValueError, RecursionError):
        # an f-string or a number that has no text on this Python
        return source


def fingerprint(source: str, function: str) -> str:
    """Return the SHA-256 of the canonical form as hex digits: the key under which equal programs are scored once."""
    return hashlib.sha256(canonical_form(source, function).encode()).hexdigest()


# a good program is bred from, or shown to a model, again and again
@lru_cache(maxsize=512)
def count_nodes(source: str) -> int:
    """Count the nodes of the syntax tree, without docstrings and load or store marks: the size of a program."""
    return len(drop_docstrings(parse_program(source)))


def parse_program(source: str) -> ast.Module:
    """Parse a program of bounded size and depth; ``rejected``, with the line of a syntax error."""
    if problem_text := size_limits.text_problem(source):
        raise _rejection(problem_text)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = tree_of(source)
    except SyntaxError as problem:
        raise _syntax_error(problem, source) from None
    except UnicodeEncodeError:
        raise _rejection("the program holds characters that are no valid text; send plain UTF-8") from None
    except (RecursionError, MemoryError):
        message = f"the program is nested deeper than {size_limits.MAX_DEPTH} levels; use intermediate variables"
        raise _rejection(message) from None
    if problem_text := size_limits.tree_problem(tree, source):
        raise _rejection(problem_text)
    return tree


def _find_definition(tree: ast.Module, function: str) -> ast.FunctionDef:
    defined = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    node = defined.get(function)
    if node is None:
        if defined:
            defined_text = f"it defines {', '.join(defined)}"
        else:
            defined_text = "it defines no function"
        raise _rejection(
            f"the program has no function {function} at top level ({defined_text}); define `def {function}(...)`"
        )
    if isinstance(node, ast.AsyncFunctionDef):
        raise _rejection(f"{function} is an async function; define it with a plain `def`")
    return node


def _parameter_names(node: ast.FunctionDef) -> tuple[str, ...]:
    if node.args.posonlyargs:
        raise _rejection(f"{node.name} has positional-only parameters, but is called by keyword; remove the `/`")
    return tuple(arg.arg for arg in node.args.args)


def _syntax_error(problem: SyntaxError, source: str) -> CandidateError:
    lines, number = source.splitlines(), problem.lineno or 0
    if 0 < number <= len(lines):
        text = lines[number - 1].strip()[:120]
    else:
        text = ""
    return _rejection(f"syntax error on line {number}: {problem.msg}" + (f": {text}" if text else ""))


def _rejection(message: str) -> CandidateError:
    return CandidateError(message, status="rejected")
