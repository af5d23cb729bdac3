"""Script of a scripted model for both sides of a conversation about schools.

The decision agent requests the outcomes of its table from best to worst. The optimisation agent acts according to its
design, and presents the returned decision. Like a model, the script sees only prompts and messages.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from oragent.llm.callable import ScriptedReply
from oragent.llm.model import Message, Request, ToolCall
from oragent_benchmarks.converse.problems.district import format_clock
from oragent_benchmarks.converse.problems.exact import STUDENTS_A_UNIT, ScheduleObjective
from oragent_benchmarks.converse.problems.programs import SCHOOLS_PROGRAM
from oragent_benchmarks.converse.problems.reply_formats import read_tables
from oragent_benchmarks.converse.problems.schools import Schools
from oragent_benchmarks.converse.stakeholders import DECIDER

WISH = re.compile(r"let (.+?) start (at [\d:]+ [AP]M|as early as possible|in the middle|as late as possible)")
LOAD = re.compile(r"at most ([\d,.]+) students")
CHANGE = re.compile(r"at most ([\d.]+) minutes")
SCHOOL = re.compile(r"You want (.+?) to start (?:early|late)\.")
VALUE = re.compile(r"x\[(\d+),(\d+)\] = 1$", re.MULTILINE)
# A bound is this much below the shown value.
LITTLE = 0.001


@dataclass(frozen=True)
class _Wanted:
    """Request of a message in natural units; None for each part that it does not restrict."""

    school: str | None
    time: int | None
    load: float | None
    deviation: float | None


@dataclass(frozen=True)
class Script:
    """The script of both sides."""

    problem: Schools

    def __call__(self, request: Request) -> ScriptedReply:
        """Return the next reply for the role of the request."""
        if request.role == DECIDER:
            return self._decider_reply(request)
        return self._agent_reply(request)

    # The decision agent.

    def _decider_reply(self, request: Request) -> ScriptedReply:
        shown, last = self._shown_schedule(request.messages), request.messages[-1]
        if request.tools and shown and last.role != "tool":
            chosen = dict(self.problem.chosen(shown))
            number = sum(len(message.tool_calls) for message in request.messages)
            return Message("assistant", "", (ToolCall(f"c{number}", "check_utility", {"start_times": chosen}),))
        if (last.role == "tool" and last.content.endswith("is reached")) or "had is reached\n" in last.content:
            return "Thank you, this is what we hoped for. __END__"
        messages_sent = sum(message.role == "assistant" and not message.tool_calls for message in request.messages)
        return self._next_request(request.messages[0].content, messages_sent)

    def _shown_schedule(self, messages: Sequence[Message]) -> str:
        """Return the schedule in the latest answer; empty if it shows none."""
        newest = next((message for message in reversed(messages) if message.role == "user"), None)
        decisions = self.problem.read(newest.content).decisions if newest else ()
        if decisions:
            return decisions[-1]
        return ""

    def _next_request(self, prompt: str, number: int) -> str:
        school = SCHOOL.search(prompt)
        rows = [row for table in read_tables(prompt) if table.header[-1] == "Worth" for row in table.rows]
        heads = next((table.header for table in read_tables(prompt) if table.header[-1] == "Worth"), ())
        if not school or not rows:
            if number > 2:
                return "I would like something better. __END__"
            return "Could this be better for us?"
        if number >= len(rows):
            return "Then we leave it at that. __END__"
        time, load, change, _ = rows[number]
        if "You speak in targets" in prompt:
            parts = [f"Please let {school[1]} start at {time}"]
            parts += [heads[1].replace("At most", "with at most").replace(" at the busiest time", "")] * (load == "yes")
            parts += [f"with {heads[2].removeprefix('Mean change ')}"] * (change == "yes")
            return ", ".join(parts) + "."
        when = ("as early as possible", "in the middle", "as late as possible")
        time_index = self.problem.vocabulary.options.index(time)
        parts = [f"Could you let {school[1]} start {when[min(time_index, 2)]}"]
        parts += ["with fewer riders"] * (load == "yes") + ["with less change"] * (change == "yes")
        return ", ".join(parts) + "?"

    # The optimisation agent.

    def _agent_reply(self, request: Request) -> ScriptedReply:
        newest = max(number for number, message in enumerate(request.messages) if _is_user_message(message))
        since = request.messages[newest + 1 :]
        wishes = self._parse_wishes(request.messages[newest].content, request.messages[:newest])
        names = {tool.name for tool in request.tools}
        number = sum(len(message.tool_calls) for message in request.messages)
        results = [message.content for message in since if message.role == "tool"]
        if not names or (results and results[-1].startswith(("status:", "infeasible", "error"))):
            return self._write_answer(results[-1] if results else "")
        if "submit_formulation" in names or "run_python" in names:
            if results:
                return self._write_answer(results[-1])
            source = self._write_program(wishes, whole="run_python" in names)
            tool = "run_python" if "run_python" in names else "submit_formulation"
            return Message("assistant", "", (ToolCall(f"c{number}", tool, {"program": source}),))
        if results:
            return Message("assistant", "", (ToolCall(f"c{number}", "call_solver", {}),))
        calls = list(self._change_calls(wishes, request.messages))
        tool_calls = tuple(
            ToolCall(f"c{number + index}", name, arguments) for index, (name, arguments) in enumerate(calls)
        )
        return Message("assistant", "", tool_calls or (ToolCall(f"c{number}", "call_solver", {}),))

    def _parse_wishes(self, text: str, earlier: Sequence[Message]) -> _Wanted:
        wish, load, change = WISH.search(text), LOAD.search(text), CHANGE.search(text)
        times = self.problem.vocabulary.options
        words = {"as early as possible": 0, "in the middle": len(times) // 2, "as late as possible": len(times) - 1}
        if wish is None:
            time = None
        elif wish[2] in words:
            time = words[wish[2]]
        else:
            time = times.index(wish[2].removeprefix("at "))
        shown = [
            decision
            for message in earlier
            if message.role == "assistant" and not message.tool_calls
            for decision in self.problem.read(message.content).decisions
        ]
        now = self.problem.features(shown[-1] if shown else self.problem.default)
        bounds: list[float | None] = []
        for bound, value, word in ((load, now[0], "fewer riders"), (change, now[1], "less change")):
            less = value - LITTLE if word in text else None
            bounds.append(float(bound[1].replace(",", "").rstrip(".")) if bound else less)
        return _Wanted(wish[1] if wish else None, time, *bounds)

    def _change_calls(self, wishes: _Wanted, messages: Sequence[Message]) -> Iterator[tuple[str, Mapping[str, object]]]:
        """Yield the calls that apply the current request and remove earlier ones."""
        bounds = (
            (ScheduleObjective.LOAD, wishes.load, STUDENTS_A_UNIT),
            (ScheduleObjective.DEVIATION, wishes.deviation, 1),
        )
        wished = {f"fix[{wishes.school}]"} | {f"{name}_upper_bound" for name, value, _ in bounds if value is not None}
        for name in sorted(_in_force(messages) - wished):
            yield "remove_constraint", {"name": name}
        if wishes.school is not None and wishes.time is not None:
            time = self.problem.vocabulary.options[wishes.time]
            yield "fix_start_time", {"school": wishes.school, "time": time, "type": "fix"}
        for name, value, scale in bounds:
            if value is not None:
                yield "add_objective_upper_bound", {"objective": str(name), "value": value / scale}

    def _write_program(self, wishes: _Wanted, whole: bool) -> str:
        lines = []
        if wishes.school is not None and wishes.time is not None:
            names = [school.name for school in self.problem.district.schools]
            lines.append(f"    m += x[{names.index(wishes.school) + 1}, {wishes.time + 1}] == 1")
        if wishes.load is not None:
            lines.append(f"    m += L <= {wishes.load / STUDENTS_A_UNIT}")
        if wishes.deviation is not None:
            lines.append(f"    m += pulp.lpSum(c[q] for q in Q) <= {wishes.deviation} * len(Q)")
        source = SCHOOLS_PROGRAM + "\n".join(lines) + "\n"
        if not whole:
            return source
        return (
            f"{source}\n\ndata = {dict(self.problem.program.data)!r}\nm = pulp.LpProblem('m', pulp.LpMinimize)\n"
            "formulate(m, data)\nm.solve(pulp.HiGHS(msg=False))\n"
            "if pulp.LpStatus[m.status] != 'Optimal':\n    print('infeasible')\nelse:\n    print('status: optimal')\n"
            "    for v in m.variables():\n"
            "        if v.name.startswith('x_') and v.value() > 0.5:\n"
            "            _, q, t = v.name.split('_')\n            print(f'x[{q},{t}] = 1')\n"
        )

    def _write_answer(self, result: str) -> str:
        shown = self.problem.read(result).decisions
        values = {f"x[{value_match[1]},{value_match[2]}]": 1.0 for value_match in VALUE.finditer(result)}
        if shown:
            decision = shown[-1]
        elif values:
            decision = self.problem.decision(values)
        else:
            decision = ""
        if not decision:
            return "No schedule meets all of these constraints. Which wish would you give up first?"
        load, deviation = self.problem.features(decision)
        times = {format_clock(minutes) for minutes in self.problem.district.times}
        return (
            f"This is the new schedule, with start times of {', '.join(sorted(times))}.\n\n"
            f"{self.problem.render(decision)}\n\nThe load is {load:,.0f} students, the mean deviation is "
            f"{deviation:g} minutes."
        )


def _is_user_message(message: Message) -> bool:
    return message.role == "user" and not message.content.startswith(("Result of", "No more calls"))


def _in_force(messages: Sequence[Message]) -> set[str]:
    names: set[str] = set()
    for message in messages:
        for call in message.tool_calls:
            if call.name == "fix_start_time":
                names.add(f"fix[{call.arguments['school']}]")
            elif call.name == "add_objective_upper_bound":
                names.add(f"{call.arguments['objective']}_upper_bound")
            elif call.name == "remove_constraint":
                names.discard(str(call.arguments["name"]))
    return names
