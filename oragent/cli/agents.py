"""Coding agents: ``mcp``."""

from pathlib import Path
from typing import Annotated

import typer

from oragent.cli.options import print_text


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
