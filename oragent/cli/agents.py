"""Coding agents: ``mcp`` and ``skills``."""

from pathlib import Path
from typing import Annotated

import typer

from oragent._base.publishing import publish_result
from oragent.api.skills import find_skill, install_skills, list_skills
from oragent.cli.options import print_text

skills = typer.Typer(no_args_is_help=True, help="Instructions for coding agents.")


def mcp(
    root: Annotated[
        Path, typer.Option(help="Folder that clients may use: its problems, runs and models (default: here).")
    ] = Path(),
    http: Annotated[
        int | None, typer.Option(metavar="PORT", min=1, max=65535, help="Serve HTTP on this port of 127.0.0.1.")
    ] = None,
    token: Annotated[
        str, typer.Option(envvar="ORAGENT_MCP_TOKEN", help="Token of HTTP clients (default: a new one is printed).")
    ] = "",
) -> None:
    """Serve coding agents by the Model Context Protocol: over stdio, or HTTP on this machine."""
    from oragent.api.mcp import server

    server.require_mcp()
    if http is None:
        server.serve_stdio(root)
        return
    if not token:
        token = server.make_token()
        print_text(f"token: {token}")
    print_text(f"http://{server.HOST}:{http}/mcp")
    server.serve_http(root, http, token)


@skills.command(name="list")
def list_all() -> None:
    """List the skills with their descriptions."""
    bundled = list_skills()
    publish_result([{"name": skill.name, "description": skill.description} for skill in bundled])
    for skill in bundled:
        print_text(f"{skill.name}: {skill.description}")


@skills.command()
def show(name: Annotated[str, typer.Argument(help="Name of a skill.")]) -> None:
    """Print a skill."""
    skill = find_skill(name)
    publish_result(skill)
    print_text(skill.text)


@skills.command()
def install(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of skills of your agent: .claude/skills.")],
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="Names (default: all).")] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Write over files that were changed.")] = False,
) -> None:
    """Write skills into a folder, where a coding agent reads them."""
    paths = install_skills(folder, tuple(names or ()), replace=replace)
    publish_result({"files": paths})
    for path in paths:
        print_text(f"wrote {path}")
