"""Inspect a program in this process: used by ``parser_worker``, and by ``inspection`` for programs marked as safe."""

import ast
import hashlib
from dataclasses import dataclass

from oragent._base.errors import CandidateError
from oragent.programs import native, syntax
from oragent.programs.normalise import drop_docstrings
from oragent.programs.parts import join_files, split_files
from oragent.programs.syntax import Signature


@dataclass(frozen=True)
class Inspected:
    """Result of the inspection of a program."""

    problem: str  # reason why the program cannot be used, one line; empty where it can
    canonical: str  # form in which equal programs read the same; the text as it is where it cannot be used
    fingerprint: str  # SHA-256 of the canonical form, hex digits: the key under which equal programs are scored once
    length: int  # number of nodes of its syntax tree, without docstrings; 0 where it cannot be used


def inspect_local(source: str, signature: Signature) -> Inspected:
    """Inspect a program that must be callable as ``signature``; errors are returned as data."""
    try:
        if signature.language == "cpp":
            native.check_functions(source, signature.functions)
            canonical, length = native.canonical_text(source), native.count_words(source)
        elif signature.files:
            canonical, length = _inspect_files(source, signature)
        else:
            canonical, length = _inspect_single(source, signature)
    except CandidateError as complaint:
        return Inspected(str(complaint), source, hash_text(source), 0)
    return Inspected("", canonical, hash_text(canonical), length)


def _inspect_single(source: str, signature: Signature) -> tuple[str, int]:
    """Canonical form and length of a Python program, which is parsed once.

    Raises:
        CandidateError: ``rejected``.
    """
    tree = syntax.compile_program(source)
    syntax.check_tree(tree, signature)
    nodes = drop_docstrings(tree)
    return syntax.reduce_tree(tree, source, signature.functions, nodes), len(nodes)


def _inspect_files(source: str, signature: Signature) -> tuple[str, int]:
    """Canonical form and length of a program of several Python files.

    Raises:
        CandidateError: ``rejected``, naming the file.
    """
    files = split_files(source, signature.files)
    canonical, length = list[str](), 0
    for name in signature.files:
        if name not in files:
            problem = f"the program has no file {name}: it begins below a line '# ---- file: {name} ----'"
            raise CandidateError(problem, "rejected")
        try:
            tree = syntax.compile_program(files[name])
            defined = [node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
            canonical.append(syntax.canonical_form(files[name], *defined))
            length += syntax.count_nodes(files[name])
        except CandidateError as complaint:
            raise CandidateError(f"{name}: {complaint}", "rejected") from None
    syntax.check_program(source, signature)
    return join_files(dict(zip(signature.files, canonical, strict=True))), length


def vet_program(source: str) -> tuple[str, int]:
    """Do all that is ever done with a program's text, whatever it defines.

    Returns:
        What is wrong with it, empty if nothing is; and its length.
    """
    try:
        syntax.compile_program(source)
        syntax.canonical_form(source, "")
        return "", syntax.count_nodes(source)
    except CandidateError as complaint:
        return str(complaint), 0


def lay_out(source: str) -> str:
    """Return a program formatted from its syntax tree; unchanged if it cannot be parsed."""
    try:
        return ast.unparse(syntax.parse_program(source))
    except (CandidateError, ValueError, RecursionError):
        return source


def expression_problem(text: str) -> str:
    """Return why a text cannot be used as an expression in a program; empty if it can."""
    try:
        syntax.compile_program(f"({text.strip()}\n)")
        ast.parse(text.strip(), mode="eval")
    except CandidateError as complaint:
        return str(complaint)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as complaint:
        return getattr(complaint, "msg", "") or str(complaint) or type(complaint).__name__
    return ""


def hash_text(text: str) -> str:
    """SHA-256 of a text, hex digits."""
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()
