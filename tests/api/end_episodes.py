"""Runs an agent of each kind past its limit, and prints as JSON how long it took to end and what was left.

A program of its own, so that it can also be run as another user or without namespaces; run by test_episode_end.py.

    python tests/api/end_episodes.py CONFINED
"""

import asyncio
import json
import os
import sys
import tempfile
import time
from pathlib import Path

from oragent.api.mcp import agent_process
from oragent.search.strategies.agent import CodingAgentSettings
from tests.processes import bearing

LIMIT_S = 1.0
# Shell scripts; MARK is a program that outlives the test and can be found by its arguments.
AGENTS = {
    "sleeps": "MARK",
    "ignores SIGTERM": "trap '' TERM HUP INT; while :; do MARK; done",
    "leaves its session": "setsid MARK & setsid setsid MARK & setsid sh -c \"trap '' TERM; MARK & MARK\" & MARK",
    "leaves a child with its pipes": "trap '' TERM; setsid sh -c 'echo child; MARK' & MARK",
    "ends before its child": "setsid sh -c \"trap '' TERM; MARK & MARK\" & exit 3",
    "forks on and on": "trap '' TERM; while :; do setsid MARK & sleep 0.01; done",
    "writes on and on": "trap '' TERM; (while :; do echo more; echo more >&2; done)",
    "stops itself": "kill -STOP $$; MARK",
    "starts on a request": "trap 'setsid MARK & MARK' TERM; while :; do sleep 0.05; done",
}


async def end_one(name: str, folder: Path, *, confined: bool) -> dict[str, object]:
    """Run one agent to its end, and return what became of it."""
    mark = f"sleep 83.{os.getpid()}{list(AGENTS).index(name)}"
    agent = folder / f"{name.replace(' ', '-')}.sh"
    agent.write_text(f"#!/bin/sh\n{AGENTS[name].replace('MARK', mark)}\n")
    agent.chmod(0o755)
    settings = CodingAgentSettings(command=str(agent), confined=confined, episode_s=LIMIT_S, ports=None)
    program = agent_process.find_program(settings, "")
    address = agent_process.ServerAddress("http://127.0.0.1:1/mcp", "token")
    begun = time.monotonic()
    output = await agent_process.run_agent(settings, program, address, "task", "")
    late_s = time.monotonic() - begun - LIMIT_S
    return {"ended": output.ended, "late_s": late_s, "left": bearing(mark.replace(" ", "\0"))}


async def main(*, confined: bool) -> None:
    """Run all agents, one after the other: each has the machine to itself."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        ends = {agent: await end_one(agent, Path(name), confined=confined) for agent in AGENTS}
    print(json.dumps(ends))


if __name__ == "__main__":
    asyncio.run(main(confined=sys.argv[1] == "confined"))
