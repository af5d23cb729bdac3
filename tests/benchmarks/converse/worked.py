"""The worked conversation of Drossman et al. 2026 (arXiv:2604.02666) with scripted replies of parent and agent."""

from oragent.ledger.replies import RecordedReply
from oragent.llm.callable import Scripted, ScriptedReply
from oragent.llm.dialogue import Asker
from oragent.llm.model import Message, Request, ToolCall
from oragent_benchmarks.converse.people.utilities import TimePreference, Utility
from oragent_benchmarks.converse.problems.schools import Schools

UTILITY = Utility(1, TimePreference.EARLY, 2500, 11.5, (0.252, 0.332, 0.416))
ORTEGA = "Ortega (Jose) PK"


class Straight:
    """Asks a model without a ledger."""

    def __init__(self, model: Scripted) -> None:
        self._model, self.requests = model, []

    async def ask(self, role, messages, temperature=None, tools=()) -> RecordedReply:
        request = Request(role, tuple(messages), temperature, tuple(tools), key=f"case.{len(self.requests)}")
        self.requests.append(request)
        return RecordedReply.from_reply(request, await self._model(request))


def asker(agent: list[ScriptedReply], decider: list[ScriptedReply]) -> Straight:
    lists = {"agent": iter(agent), "decider": iter(decider)}
    return Straight(Scripted(lambda request, number: next(lists[request.role])))


def called(*calls: tuple[str, dict[str, object]]) -> Message:
    return Message(
        "assistant", "", tuple(ToolCall(f"{name}{place}", name, given) for place, (name, given) in enumerate(calls))
    )


def fix(time: str, kind: str = "fix") -> tuple[str, dict[str, object]]:
    return "fix_start_time", {"school": ORTEGA, "time": time, "type": kind}


def bound(name: str, value: float) -> tuple[str, dict[str, object]]:
    return "add_objective_upper_bound", {"objective": name, "value": value}


SOLVE = ("call_solver", {})
LOAD, DEVIATION = "student_load_balancing", "schedule_deviation"


def check(problem: Schools, schedule: str) -> Message:
    return called(("check_utility", {"start_times": dict(problem.chosen(schedule))}))


def shown(problem: Schools, schedule: str, words: str) -> str:
    return f"{words}\n\n{problem.render(schedule)}"


def script(problem: Schools) -> Straight:
    """Replies of both sides, in order of the calls."""
    agent: list[ScriptedReply] = [
        "There are three start times: 7:50 AM, 8:40 AM and 9:30 AM. Would you like 7:50 AM or 8:40 AM?",
        called(fix("7:50 AM")), called(SOLVE),
        shown(problem, "CACAABABBC", "Ortega now starts at 7:50 AM. The load is 2,453 students, the mean deviation 19.5 minutes."),
        called(bound(DEVIATION, 12)), called(SOLVE),
        called(("remove_constraint", {"name": f"{DEVIATION}_upper_bound"}), ("least_possible", {"objective": DEVIATION})),
        "With Ortega at 7:50 AM the lowest deviation that can be reached is 16.5 minutes. Would 8:40 AM do?",
        called(fix("8:40 AM")), called(SOLVE),
        shown(problem, "CBCABAABBC", "Ortega now starts at 8:40 AM. The load is 2,565 students, the mean deviation 11.5 minutes."),
        called(bound(DEVIATION, 11.5), bound(LOAD, 25.64)), called(SOLVE), called(("explain_infeasibility", {})),
        "With Ortega at 8:40 AM, a load below 2,565 students and a deviation of at most 11.5 minutes is not possible. "
        "I can loosen either.",
        called(bound(DEVIATION, 16)), called(SOLVE), called(bound(DEVIATION, 20)), called(SOLVE),
        shown(problem, "CBCBBAABBC", "Up to 16 minutes, and up to 20 minutes, give the same schedule: 2,560 students, mean deviation 14.5 minutes. "
              "Allowing up to 20 minutes does not lower the load further."),
        called(("remove_constraint", {"name": f"fix[{ORTEGA}]"}), ("remove_constraint", {"name": f"{DEVIATION}_upper_bound"})), called(SOLVE),
        shown(problem, "CCCAABABBC", "The load is 2,453 students, the mean deviation 11.5 minutes."),
    ]  # fmt: skip
    decider: list[ScriptedReply] = [
        "9:30 is too late for us. Could Ortega start earlier, nearer to now?",
        "The earliest of them, please.",
        check(problem, "CACAABABBC"),
        "That is early, but the change for everybody is large. Can it come down with Ortega early?",
        "Then the middle one.",
        check(problem, "CBCABAABBC"), "Better. Could the buses be a little less full?",
        "A little more change is all right. Show me a couple of options.",
        check(problem, "CBCBBAABBC"), "I care for both, softly, even if it is not 7:50 any more.",
        check(problem, "CCCAABABBC"), "Thank you, that works for us. __END__",
    ]  # fmt: skip
    return asker(agent, decider)


_: type[Asker] = Straight
