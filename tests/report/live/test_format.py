"""Figures on the live page, by its own code."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

import oragent.report.live

FORMAT = Path(oragent.report.live.__file__).parent / "static" / "format.js"


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_a_gain_says_in_which_direction_the_score_moved() -> None:
    cases = [
        ("minimize", 6.79195, 9.91277),
        ("minimize", 9.91277, 6.79195),
        ("maximize", 12.0, 10.0),
        ("maximize", 10.0, 10.0),
        ("minimize", 1.0, 0.0),
    ]
    script = f"import {{ gainText }} from {json.dumps(FORMAT.as_uri())};\n"
    script += f"console.log(JSON.stringify({json.dumps(cases)}.map((one) => gainText(...one))));"
    command = ["node", "--input-type=module", "-e", script]
    told = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert [text.split(" (")[0] for text in told] == [
        "3.12082 lower",
        "3.12082 higher",
        "2 higher",
        "equal",
        "1 higher, worse",
    ]
    assert ["worse" in text for text in told] == [False, True, False, False, True]
