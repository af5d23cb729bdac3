"""What takes chance or the clock in is found by the text, whatever it was imported as, and nothing else is."""

import pytest

from oragent.programs.inspection import find_unseeded

IMPORTS = "import numpy as np, numpy, random, os, time, secrets, uuid, datetime as dt\nfrom random import SystemRandom as S; from secrets import token_hex\n"


@pytest.mark.parametrize(
    ("expression", "told"),
    [
        ("np.random.default_rng()", "np.random.default_rng() in line 5 has no seed: write np.random.default_rng(0)"),
        ("numpy.random.default_rng(seed=None)", "numpy.random.default_rng() in line 5 has no seed"),
        ("np.random.RandomState()", "write np.random.RandomState(0)"),
        ("np.random.Generator(np.random.PCG64())", "write np.random.PCG64(0)"),
        ("random.Random()", "write random.Random(0)"),
        ("random.seed()", "write random.seed(0)"),
        ("random.SystemRandom().random()", "is random in each process: draw from np.random.default_rng(0)"),
        ("S().random()", "S in line 5 is random in each process"),
        ("secrets.token_bytes(2)", "secrets in line 5 is random in each process"),
        ("os.urandom(2)", "os.urandom in line 5"),
        ("uuid.uuid4()", "uuid.uuid4 in line 5"),
        ("token_hex(2)", "token_hex in line 5 is random in each process"),
        ("time.time()", "time.time in line 5 reads the clock: let the answer depend on the arguments alone"),
        ("dt.datetime.now()", "dt.datetime.now in line 5 reads the clock"),
    ],
)
def test_it_is_named_with_its_line_and_what_to_do(expression: str, told: str) -> None:
    assert told in find_unseeded(f"{IMPORTS}\ndef guess(x):\n    return {expression}\n")


@pytest.mark.parametrize(
    "text",
    [
        "np.random.default_rng(0)", "np.random.default_rng(seed=3)", "random.Random(1)", "random.random()",
        "np.random.rand()", "np.random.seed(1)", "time.sleep", "x.urandom(3)", "default_rng()",
    ],
)  # fmt: skip
def test_what_is_seeded_or_nobodys_is_not(text: str) -> None:
    # The harness seeds the global generators before every call.
    assert find_unseeded(f"{IMPORTS}\ndef guess(x):\n    return {text}\n") == ""


def test_the_first_line_is_named() -> None:
    lines = ["y = np.random.default_rng()", "y = time.time()", "y = os.urandom(2)"]
    for order in (lines, lines[::-1]):
        text = "\n".join(f"    {line}" for line in order)
        assert order[0][4:-2].partition("(")[0] in find_unseeded(f"{IMPORTS}\ndef guess(x):\n{text}\n")


def test_a_name_of_ones_own_is_no_module() -> None:
    assert find_unseeded("def time():\n    return 1\n\ndef guess(x):\n    return time()\n") == ""
    assert find_unseeded("from time import time\n\ndef guess(x):\n    return time()\n").startswith(
        "time in line 4 reads"
    )


@pytest.mark.parametrize("text", ["def (", "\x00", "x = " + "(" * 500, ""])
def test_what_is_no_program_takes_nothing_in(text: str) -> None:
    assert find_unseeded(text) == ""
