"""Models in AMPL's form ``.nl``, read by SCIP in a process of its own."""

import json
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

from oragent._base.errors import ModellingError
from oragent.modelling.data.display import plain

# Endings of a model and of the names of its variables and rows, which may be missing.
ENDINGS = (".nl", ".col", ".row")


def nl_as_lp(content: bytes, form: str) -> str:
    """Return the LP file that SCIP writes for a model.

    Args:
        content: JSON object with the texts of the files by their endings.
        form: Not used.
    """
    try:
        pyscipopt = import_module("pyscipopt")
    except ImportError:
        raise ModellingError("a file in AMPL's form .nl needs pyscipopt: install it, or write an LP file") from None
    with TemporaryDirectory() as folder:
        for ending, text in json.loads(content).items():
            (Path(folder) / f"model{ending}").write_text(text, encoding="latin-1")
        scip = pyscipopt.Model()
        try:
            scip.readProblem(f"{folder}/model.nl")
            scip.writeProblem(f"{folder}/model.lp", verbose=False)
        except Exception as problem:
            raise ModellingError(f"not a model in AMPL's form .nl: {plain(str(problem), 100)}") from None
        return (Path(folder) / "model.lp").read_text(encoding="latin-1")
