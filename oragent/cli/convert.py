"""Models in other forms: ``convert``."""

from pathlib import Path
from typing import Annotated

import typer

from oragent._base.errors import ModellingError
from oragent._base.publishing import publish_result
from oragent._base.terminal import print_line
from oragent.cli.options import console


def convert(
    model: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL",
            help="A .json, .lp or .mps file, a job shop (.jsp), a program (.py), or a run's folder.",
        ),
    ],
    to: Annotated[
        str,
        typer.Option(
            help="json, lp, mps, or source: pulp, pyomo, gurobipy, mathopt; cpsat for schedules (default: by --out)."
        ),
    ] = "",
    out: Annotated[Path | None, typer.Option(help="File to write (default: source is printed).")] = None,
    data: Annotated[Path | None, typer.Option(help="Folder that a program may read (default: its own).")] = None,
) -> None:
    """Write a model in another form: a file, or the source of a program for a modelling library."""
    from oragent.modelling.convert import SOURCES, convert_model, form_of, write_source
    from oragent.modelling.files.model_files import is_schedule
    from oragent.modelling.opening import open_model

    if is_schedule(model) and _convert_schedule(model, to, out):
        return
    form = form_of(out or Path(), to)
    if out is None and form not in SOURCES:
        raise ModellingError(f"--to {form} needs --out FILE; only source can be printed")
    opened = open_model(model, data_folder=data, tell=lambda line: typer.echo(line, err=True))
    if out is None:
        source = write_source(opened, form)
        publish_result({"form": form, "source": source})
        console.file.write(source)
        return
    convert_model(opened, out, form)
    publish_result({"form": form, "file": out})
    print_line(console, f"wrote {out} ({form})")


def _convert_schedule(path: Path, to: str, out: Path | None) -> bool:
    """Write a schedule as JSON or as a program for CP-SAT; return False for forms of its mixed-integer model."""
    from oragent._base.files import replace_file
    from oragent.modelling.scheduling import read_schedule, write_schedule
    from oragent.modelling.scheduling.source import schedule_source

    if to == "cpsat":
        source = schedule_source(read_schedule(path))
        publish_result({"form": to, "source": source})
        if out is None:
            console.file.write(source)
        else:
            replace_file(out, source)
            print_line(console, f"wrote {out} ({to})")
        return True
    if out is None or (to or out.suffix.lower().lstrip(".")) != "json":
        return False
    write_schedule(read_schedule(path), out)
    publish_result({"form": "json", "file": out})
    print_line(console, f"wrote {out} (a schedule)")
    return True
