import ast
import builtins
import keyword
import math
import warnings

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from oragent._base.errors import CandidateError, ProblemError
from oragent.programs.syntax import Signature, canonical_form, check_program, count_nodes, fingerprint, read_signature

WANTED = Signature("heuristics", ("distances", "k"), "def heuristics(distances, k):")
GOOD = "def heuristics(distances, k):\n    return distances * k\n"


def outcome(source: str, *arguments: object) -> object:
    """Run ``f`` of a program: what it returns, or the type of what it raises."""
    space: dict[str, object] = {"__name__": "candidate"}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(compile(source, "candidate.py", "exec"), space)
        return repr(space["f"](*arguments))
    except Exception as error:
        return type(error)


# --- signature -------------------------------------------------------------------------------------------------------


def test_a_signature_is_read_off_the_seed_with_the_line_that_a_model_sees():
    source = "import numpy as np\n@np.errstate()\ndef f(a: np.ndarray, b: int = 3) -> np.ndarray:\n    'Doc.'\n    return a\n"
    assert read_signature(source, "f") == Signature("f", ("a", "b"), "def f(a: np.ndarray, b: int=3) -> np.ndarray:")


@pytest.mark.parametrize("source", ["def g(): pass", "def f(:", "async def f(): pass", "f = abs", "def f(a, /): pass"])
def test_a_seed_without_a_plain_function_of_that_name_is_a_problem_error(source):
    with pytest.raises(ProblemError):
        read_signature(source, "f")


# --- check -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "source",
    [
        GOOD,
        "import numpy as np\nA = {1: 2}\nprint(A)\nclass C:\n    pass\n" + GOOD,
        "def heuristics(distances, k=3, extra=1, *rest, word=2, **more):\n    return k\n",
        "def heuristics():\n    pass\n" + GOOD,  # the later definition is the one in force
        "def heuristics(distances, k):\n    return '\\d'\n",  # a doubtful escape is only a warning
        "# " + "x" * 99_000 + "\n" + GOOD,
    ],
)
def test_programs_of_the_wanted_form_pass(source):
    check_program(source, WANTED)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("x = 1\ndef heuristics(distances, k)\n    return 1\n", r"line 2: .*: def heuristics\(distances, k\)"),
        ("return 5", "line 1: 'return' outside function"),
        ("def heuristics(distances, k):\n    nonlocal z\n", "line 2"),
        ("def other(a): pass\ndef helper(): pass", r"no function heuristics .*other, helper"),
        ("heuristics = lambda distances, k: 1", "defines no function"),
        ("class A:\n    def heuristics(self): pass", "defines no function"),
        ("async def heuristics(distances, k): pass", "async"),
        ("def heuristics(k, distances): pass", "other parameters"),
        ("def heuristics(d, k): pass", "other parameters"),
        ("def heuristics(distances): pass", "other parameters"),
        ("def heuristics(distances, k, more): pass", r"heuristics\(distances, k, more\).*default"),
        ("def heuristics(distances, k, *, more): pass", "default"),
        ("def heuristics(distances, *, k): pass", "other parameters"),
        ("def heuristics(distances, /, k): pass", "positional-only"),
        (GOOD + "# " + "x" * 100_000, "bytes"),
        (GOOD + "\0", "null byte"),
        (GOOD + "x = '\ud800'", "characters"),
        ("x = " + "-" * 50_000 + "1", "nested"),
        ("x = a" + ".b" * 40_000, "dots"),
        ("x = a" + " .b" * 30_000, "dots"),
        ("x = a" + "[0].b" * 10_000, "nested"),
        ("x = " + "+".join(["1"] * 30_000), "nested"),
        ("(" * 1000, "nested"),
    ],
)
def test_other_programs_are_rejected_with_a_line_that_says_why(source, message):
    with pytest.raises(CandidateError, match=message) as caught:
        check_program(source, WANTED)
    assert caught.value.status == "rejected"
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


def test_the_line_of_a_syntax_error_is_counted_as_python_does():
    for text in ("x = '\u2028'\n", "x = '\x0b\x0c\x1c'\r", "x = 1\r\n"):
        with pytest.raises(CandidateError, match=r"line 2: .*: def f\(:"):
            check_program(f"{text}def f(:\n", WANTED)


@given(st.text(max_size=60))
def test_any_text_that_is_no_program_of_the_wanted_form_is_rejected(text):
    with pytest.raises(CandidateError) as caught:
        check_program(text, WANTED)
    assert caught.value.status == "rejected"


# --- canonical form: what does not matter ----------------------------------------------------------------------------

TEMPLATE = """
import numpy as np
import math
from typing import List, Optional

SCALE: float = 2.0
UNUSED = 7

def unused(x):
    return x + UNUSED

def helper(values: List[float], power=2):
    {a} = 0.0
    for {b}, {c} in enumerate(values):
        {a} += {c} ** power / ({b} + 1)
    return {a}

def f(data: np.ndarray, k: Optional[int] = None) -> "np.ndarray":
    {d}: list = [{e} * SCALE for {e} in data if {e} > 0]
    def inner(x):
        nonlocal_free = x + len({d})
        return nonlocal_free * 2
    {b} = sorted(data, key=lambda {c}: -{c})
    with np.errstate(all="ignore"):
        {a} = [({e} := {c}) + inner({c}) for {c} in {b}]
    return helper({d}, power=3) + sum({a}) + {e} + max({b}, key=lambda {f}: abs({f} - 1))
"""
NAMES = dict(zip("abcdef", ["total", "place", "value", "scaled", "item", "x"], strict=True))
PLAIN = TEMPLATE.format(**NAMES)
RESERVED = {*keyword.kwlist, *dir(builtins), "np", "math", "helper", "inner", "data", "k", "values", "power", "f"}
RESERVED |= {
    "SCALE",
    "x",
    "nonlocal_free",
    "List",
    "Optional",
    "unused",
    "UNUSED",
    "len",
    "sum",
    "abs",
    "max",
    "sorted",
}
identifiers = st.one_of(
    st.from_regex(r"[a-z][a-z0-9_]{0,5}", fullmatch=True), st.sampled_from(["v0", "v1", "v2", "v7"])
)


@given(st.lists(identifiers, min_size=6, max_size=6, unique=True))
def test_renaming_local_variables_keeps_the_fingerprint(names):
    assume(not RESERVED & set(names) and not any("__" in name for name in names))
    renamed = TEMPLATE.format(**dict(zip("abcdef", names, strict=True)))
    assert fingerprint(renamed, "f") == fingerprint(PLAIN, "f")
    data = [3.0, -1.0, 2.5]
    assert outcome(canonical_form(renamed, "f"), data) == outcome(renamed, data) == outcome(PLAIN, data)


@pytest.mark.slow
@given(st.data())
def test_comments_blank_lines_docstrings_and_indentation_keep_the_fingerprint(data):
    lines = []
    for line in PLAIN.splitlines():
        indent = line[: len(line) - len(line.lstrip())] * 2
        lines.append(indent + line.lstrip() + data.draw(st.sampled_from(["", "  # why", " " * 3])))
        lines += [data.draw(st.sampled_from(["", "# a comment", "    "]))] * data.draw(st.integers(0, 1))
        if line.startswith("def"):
            lines.append("        '''A docstring.'''")
    assert fingerprint("\n".join(lines), "f") == fingerprint(PLAIN, "f")


def test_the_canonical_form_reads_as_expected():
    source = '"""Doc."""\nimport math\n\ndef f(data):\n    """Doc."""\n    best: int = (data [0])  # first\n    return  best\n'
    assert canonical_form(source, "f") == "def f(data):\n    v0 = data[0]\n    return v0"


def test_the_canonical_form_is_its_own_canonical_form():
    assert canonical_form(canonical_form(PLAIN, "f"), "f") == canonical_form(PLAIN, "f")


# --- canonical form: what does matter --------------------------------------------------------------------------------


def changes(source: str) -> list[str]:
    """Return all versions of a program with one constant or one operator changed."""
    found = []
    count = sum(isinstance(node, ast.Constant | ast.BinOp | ast.Compare) for node in ast.walk(ast.parse(source)))
    for place in range(count):
        tree = ast.parse(source)
        node = [node for node in ast.walk(tree) if isinstance(node, ast.Constant | ast.BinOp | ast.Compare)][place]
        if isinstance(node, ast.Constant):
            if not isinstance(node.value, int | float):
                continue
            node.value += 1
        elif isinstance(node, ast.BinOp):
            node.op = ast.Mult() if isinstance(node.op, ast.Add) else ast.Add()
        else:
            node.ops[0] = ast.Lt() if isinstance(node.ops[0], ast.Gt) else ast.Gt()
        found.append(ast.unparse(tree))
    return found


def test_changing_any_one_constant_or_operator_changes_the_fingerprint():
    source = PLAIN.replace("UNUSED = 7\n\ndef unused(x):\n    return x + UNUSED\n", "")
    versions = changes(source)
    assert len(versions) > 12
    assert len({fingerprint(version, "f") for version in [source, *versions]}) == len(versions) + 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a - b", "b - a"),
        ("[a for b in x]", "[b for b in x]"),
        ("np.max(x)", "np.min(x)"),
        ("a.T", "a.R"),
        ("g(a=1)", "g(b=1)"),
        ("'a'", "'b'"),
        ("1", "1.0"),
        ("1", "True"),
    ],
)
def test_programs_that_do_different_things_have_different_fingerprints(one, other):
    text = "def f(x):\n    a, b = x\n    return {}\n"
    assert fingerprint(text.format(one), "f") != fingerprint(text.format(other), "f")


def test_parameters_keep_their_names_as_callers_pass_them_by_keyword():
    assert fingerprint("def f(a):\n    return a", "f") != fingerprint("def f(b):\n    return b", "f")


@pytest.mark.parametrize(
    "source",
    [
        "def f(x):\n    y = 1\n    return locals()",
        "def f(x):\n    y = 1\n    return eval('y')",
        "def f(x):\n    'Doc.'\n    return f.__doc__",
        "import inspect\ndef f(x):\n    return inspect.getsource(f)",
        "import sys\ndef f(x):\n    y = 1\n    return sys._getframe().f_locals",
        "import operator as o\ndef f(x):\n    y = 1\n    return o.attrgetter('gi_frame')(x)",
        "def f(x):\n    y = (a for a in x)\n    return y.gi_frame",
        "def f(x):\n    y = 1\n    return '{0.__globals__}'.format(f)",
        "def f(x):\n    y = 1\n    return x.pick(query=y)",
        "from os import path as p\ndef f(x):\n    y = 1\n    return p.sep",
        "import numpy.ctypes as n\ndef f(x):\n    y = 1\n    return n",
        "def f(x):\n    y = 1\n    return __spec__",
    ],
)
def test_a_program_that_may_look_at_itself_is_left_as_it_is(source):
    assert canonical_form(source, "f") == source


@pytest.mark.parametrize(
    ("annotation", "dropped"),
    [
        ("int", True),
        ("list[float]", True),
        ("np.ndarray | None", True),
        ("'anything'", True),
        ("None", True),
        ("tuple[int, ...]", True),
        ("dict[str, list[int]]", True),
        ("List[int] | None", True),
        ("Dict[str, Sequence[np.float64]]", True),
        ("Maybe[int]", True),
        ("Any", True),
        ("np.float_", False),  # raises under numpy 2, when the program is loaded
        ("undefined", False),
        ("print('loaded')", False),
        ("torch.Tensor", False),  # not imported
        ("list[undefined]", False),
        ("dict[undefined, int]", False),
        ("undefined | None", False),
        ("'int' | None", False),
        ("Dict[int]", False),
        ("List[int, int]", False),
        ("Dict[int, 'int +']", False),
        ("Optional[int]", False),  # imported under another name
    ],
)
def test_an_annotation_goes_only_if_evaluating_it_cannot_raise(annotation, dropped):
    head = "import numpy as np\nfrom typing import Any, Dict, List, Optional as Maybe, Sequence\n"
    plain = f"{head}def f(x):\n    return np.sum(x)\n"
    for source in (plain.replace("x)", f"x: {annotation})", 1), plain.replace("x):", f"x) -> {annotation}:", 1)):
        assert (fingerprint(source, "f") == fingerprint(plain, "f")) is dropped
        if dropped:
            assert outcome(source, [1, 2]) == outcome(plain, [1, 2])


def test_annotations_of_names_that_the_program_binds_stay():
    for head in ("int = 3\n", "from typing import List\nList = 3\n"):
        source = head + "def f(x: int, y: List = 1):\n    return x\n"
        assert canonical_form(source, "f").count(":") == 3 - ("int =" not in head)


@pytest.mark.parametrize(("line", "dropped"), [("import math", True), ("from math import sqrt", True)])
def test_unused_imports_that_cannot_fail_go(line, dropped):
    assert canonical_form(f"{line}\ndef f(x):\n    return x", "f") == "def f(x):\n    return x"


@pytest.mark.parametrize(
    "line",
    [
        "import sklearn",
        "from math import sqrt, nothing",
        "from numpy import *",
        "import scipy.misc",
        "UNUSED = print()",
        "UNUSED = OTHER = 3",
        "def unused(a=1, b=print()):\n    pass",
        "def unused(a=1, *, b=print(), c=2):\n    pass",
        "def unused(*a: undefined):\n    pass",
        "def unused() -> undefined:\n    pass",
        "@print\ndef unused():\n    pass",
        "class Unused:\n    pass",
    ],
)
def test_what_is_unused_and_may_fail_or_do_something_stays(line):
    assert canonical_form(f"{line}\ndef f(x):\n    return x", "f").startswith(line)


@pytest.mark.parametrize(
    ("source", "form"),
    [
        ("UNUSED = 3\ndef f(x):\n    return x", "def f(x):\n    return x"),
        ("def unused(a=1, *, b=2):\n    pass\ndef f(x):\n    return x", "def f(x):\n    return x"),
        ("from math import pi, sqrt as r\ndef f(x):\n    return r(x)", "from math import sqrt as r\n\ndef f(x):\n    return r(x)"),
        ("import math, numpy as np\ndef f(x):\n    return math.pi", "import math\n\ndef f(x):\n    return math.pi"),
        ("import random as math\ndef f(x):\n    return random", "def f(x):\n    return random"),
        ("N = 3\ndef g(x):\n    return N\ndef f(x):\n    return g(x)", "N = 3\n\ndef g(x):\n    return N\n\ndef f(x):\n    return g(x)"),
        ("N = 3\nM = 4\ndef f(x):\n    global M\n    M = x", "M = 4\n\ndef f(x):\n    global M\n    M = x"),
        ("'Doc.'\n1\ndef f(x):\n    'Doc.'\n    if x:\n        ...\n    else:\n        None\n    return x",
         "def f(x):\n    if x:\n        pass\n    return x"),
    ],
)  # fmt: skip
def test_only_what_is_used_is_part_of_the_form(source, form):
    assert canonical_form(source, "f") == form


def test_each_wanted_function_is_part_of_the_form():
    source = "def g(x):\n    return x\n\ndef f(x):\n    return x\n\ndef h(x):\n    return x"
    assert canonical_form(source, "f", "g") == source.rpartition("\n\n")[0]
    assert canonical_form(source, "h") == source.rpartition("\n\n")[2]
    assert canonical_form("def g(x):\n    return x", "f") == canonical_form("", "f") == ""


# --- canonical form: it behaves like the original --------------------------------------------------------------------

TRICKY = [
    "def f(x):\n    y = [y for y in range(x)]\n    return y",
    "def f(x):\n    total = 0\n    def add(n):\n        nonlocal total\n        total += n\n    add(x); add(2)\n    return total",
    "count = 0\ndef f(x):\n    global count\n    count += x\n    v0 = count\n    return v0 + count",
    "v0 = 10\ndef f(x):\n    y = x\n    return y + v0",
    "def f(x):\n    v1 = x\n    v0 = v1 + 1\n    return v0 - v1 * 3",
    "def f(v0):\n    a = v0 + 1\n    return a * v0",
    "def f(x):\n    y = 2\n    class C:\n        y = y + x if False else 5\n        def g(self):\n            return y\n    return C.y + C().g()",
    "def f(x):\n    y = 2\n    class C:\n        z = [y for _ in range(3)]\n    return C.z",
    "def f(x):\n    funcs = [lambda n, i=i: n + i for i in range(3)]\n    return [g(x) for g in funcs]",
    "def f(x):\n    g = lambda node: node + 1\n    return g(node=x)",
    "def f(x):\n    def g(node, scale=2):\n        return node * scale\n    return g(node=x, scale=3)",
    "def f(x):\n    try:\n        return x / 0\n    except ZeroDivisionError as error:\n        return str(error)",
    "def f(x):\n    try:\n        if x > 100:\n            late = 1\n        return late\n    except NameError as error:\n        return str(error)",
    "def f(x):\n    try:\n        return undefined_name\n    except NameError as error:\n        y = 1\n        return str(error)",
    "def f(x):\n    if x > 100:\n        late = 1\n    return late",
    "def f(x):\n    match [x, 2]:\n        case [first, second]:\n            y = first + second\n    return y",
    "def f(x):\n    y = x\n    del y\n    return y",
    "def f(x):\n    first, *rest = range(x + 2)\n    return first, rest",
    "def f(x):\n    return [y := x, y ** 2, [z := y + w for w in range(3)], z]",
    "def f(x):\n    import math as m\n    from math import pi as p\n    return m.floor(p * x)",
    "def f(x):\n    width = 4\n    return f'{x=} {width=:3d} {x:{width}}'",
    "def decorate(g):\n    return lambda y: g(y) + 1\n@decorate\ndef f(x):\n    return x",
    "def min(values, key):\n    return key(node=3)\ndef f(x):\n    return min([1], key=lambda node: node + x)",
    "def f(x):\n    return min(range(x + 1), key=lambda node: (node - 2) ** 2)",
    "def f(x):\n    def g(n):\n        return 1 if n <= 0 else n * g(n - 1)\n    return g(x)",
    "def f(x):\n    def gen():\n        i = 0\n        while i < x:\n            i += 1\n            yield i\n    return list(gen())",
    "def f(x):\n    pairs = {k: v for k, v in enumerate(range(x))}\n    return dict(k=1, **{str(k): v for k, v in pairs.items()})",
    "import math\nmath = 3\ndef f(x):\n    return x + math",
    "def f(x):\n    x: float\n    y: int\n    y = 2\n    return x * y",
    "y = 5\ndef f(x):\n    y: int\n    return y",
    "def helper():\n    raise ValueError\ndef f(x):\n    return x\ntry:\n    helper()\nexcept ValueError:\n    f = lambda x: -x\n",
    "class Node:\n    size: int = 3\n    def grow(self, by):\n        size = self.size + by\n        return size\ndef f(x):\n    return Node().grow(by=x)",
    "def f(x):\n    for i in range(x):\n        pass\n    else:\n        i = -1\n    return i",
    "def f(x):\n    'doc'\n",
    "def f(x):\n    try:\n        y = x\n    finally:\n        'only a string'\n    return y",
    "def f(x):\n    _, __, d = 1, 2, x\n    return d",
]


@pytest.mark.parametrize("source", TRICKY)
def test_the_canonical_form_of_a_tricky_program_does_what_the_program_does(source):
    form = canonical_form(source, "f")
    for x in (0, 1, 3):
        assert outcome(form, x) == outcome(source, x)


names = st.sampled_from(["a", "b", "c", "v0"])


@st.composite
def expressions(draw, depth=2):
    kind = draw(st.integers(0, 6 if depth else 1))
    name = draw(names)
    if kind == 0:
        return str(draw(st.integers(0, 3)))
    if kind == 1:
        return name
    inner, other = draw(expressions(depth=depth - 1)), draw(expressions(depth=depth - 1))
    return [
        f"({inner} + {other})",
        f"sum([{inner} for {name} in range({other} % 3)])",
        f"(lambda {name}: {inner})({other})",
        f"(({name} := {inner}) + {other})",
        f"max([{inner}, 1], key=lambda {name}: {other})",
    ][kind - 2]


@st.composite
def blocks(draw, depth=2, indent="    "):
    lines = []
    for _ in range(draw(st.integers(1, 3))):
        kind, name, value = draw(st.integers(0, 6 if depth else 1)), draw(names), draw(expressions())
        inner = draw(blocks(depth=depth - 1, indent=indent + "    ")) if kind > 1 else ""
        lines += [
            f"{indent}{name} = {value}",
            f"{indent}{name} += {value}",
            f"{indent}for {name} in range({value} % 3):\n{inner}",
            f"{indent}if {value} % 2:\n{inner}",
            f"{indent}def g({name}):\n{inner}\n{indent}    return {value}\n{indent}{draw(names)} = g({draw(names)})",
            f"{indent}class C:\n{inner}\n{indent}{name} = shown(C, {value})",
            f"{indent}def g():\n{indent}    {draw(st.sampled_from(['global', 'nonlocal']))} {name}\n{inner}\n{indent}g()",
        ][kind : kind + 1]
    return "\n".join(lines)


class Uninlined(ast.NodeTransformer):
    """List comprehensions as generators: Python 3.12 and 3.13 inline the former, and confuse names in rare cases."""

    def visit_ListComp(self, node: ast.ListComp) -> ast.AST:
        self.generic_visit(node)
        return ast.Call(ast.Name("list", ast.Load()), [ast.GeneratorExp(node.elt, node.generators)], [])


def uninlined(source: str) -> str:
    return ast.unparse(ast.fix_missing_locations(Uninlined().visit(ast.parse(source))))


def test_names_of_list_comprehensions_mean_the_same_on_every_python():
    source = "def f(a):\n    def g(b):\n        b = sum([0 for a in range(0)])\n        return sum([a for b in range(2)])\n    return g(a)"
    assert outcome(uninlined(source), 5) == outcome(canonical_form(source, "f"), 5) == "10"


@pytest.mark.slow
@given(st.sampled_from(["pass", "b, v0 = 4, 7"]), blocks(), names)
def test_the_canonical_form_of_a_random_program_does_what_the_program_does(start, body, result):
    source = (
        f"c = 2\ndef shown(kind, value):\n    return value\ndef f(a):\n    {start}\n{body}\n    return {result}, c\n"
    )
    try:
        compile(source, "candidate.py", "exec")
    except SyntaxError:
        return
    assert outcome(uninlined(canonical_form(source, "f")), 1) == outcome(uninlined(source), 1)


def test_numeric_programs_return_the_same_arrays():
    source = "import numpy as np\ndef f(d):\n    scaled = np.log1p(d)\n    z = (scaled - scaled.mean(0)) / scaled.std(0)\n    return np.exp(-8 * z)"
    space, other = {}, {}
    exec(source, space)
    exec(canonical_form(source, "f"), other)
    matrix = np.random.default_rng(3).random((5, 5))
    assert np.array_equal(space["f"](matrix), other["f"](matrix))
    assert math.isclose(float(space["f"](matrix)[0, 0]), float(other["f"](matrix)[0, 0]))


# --- length ----------------------------------------------------------------------------------------------------------


def test_length_counts_nodes_without_docstrings_or_comments():
    # Module, FunctionDef, arguments, arg, Return, BinOp, Name, Add, Constant
    assert count_nodes("def f(x):\n    return x + 1") == 9
    assert count_nodes('"""Module."""\ndef f(x):\n    """Doc."""\n    return x + 1  # more') == 9
