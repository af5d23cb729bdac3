"""The role *idea*: one call proposes several complementary ideas, and each is implemented separately."""

import json
import re
from functools import partial
from typing import Any

from oragent._base.errors import ReplyError
from oragent.programs.blocks import drop_thoughts
from oragent.programs.replies import extract_json
from oragent.search.prompting.programs import describe_lineage
from oragent.search.prompting.prompt_templates import bin_meanings, blocks_hint, task_messages
from oragent.search.prompting.search_summary import describe_champion, summarise_search
from oragent.search.round_context import RoundContext
from oragent.search.strategies.asking import ask_and_read
from oragent.search.strategies.or_agent import prompt_sections
from oragent.search.strategies.or_agent.tree import Idea, IdeaNode, IdeaTree

# Words and operator signs; punctuation is ignored.
WORD = re.compile(r"\w+|[^\w\s.,;:!?`'\"]")
PAIR = re.compile(r'"title"\s*:\s*"([^"\n]{1,100})"\s*,\s*"idea"\s*:\s*"((?:\\.|[^"\\\n])*)["\n]')
OBJECT = re.compile(r"\{[^{}]*\}")
SCHEMA = {
    "type": "object",
    "properties": {
        "ideas": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"title": {"type": "string"}, "idea": {"type": "string"}},
                "required": ["title", "idea"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["ideas"],
    "additionalProperties": False,
}
STRUCTURAL = {
    "small": "At least one of them must change the structure: another rule or step, and not a number. ",
    "strong": (
        "At least one of them must be structural: another algorithm or another view of the instance, look-ahead, "
        "precomputation, local search within the function; not a term or a number. "
    ),
}
# Number of ideas beyond the requested ones that are recorded. The study drops them.
SURPLUS = 5
TITLES, TEXTS = ("title", "name"), ("idea", "description", "text", "hypothesis", "plan")


async def propose_ideas(run: RoundContext, tree: IdeaTree, leaf: IdeaNode, memory: str, count: int) -> list[Idea]:
    """Ask for ideas, by one call or by one call each. Empty if neither a reply nor its repair contains any.

    A reply may contain more ideas than requested. The additional ones count as less promising.
    """
    asking = partial(_ask_for_ideas, tree=tree, leaf=leaf, memory=memory)
    if run.own.ideas == "coordinated":
        return await asking(run, count=count)
    return [idea for ideas in await run.fork([partial(asking, count=1)] * count) for idea in ideas[:1]]


async def _ask_for_ideas(run: RoundContext, tree: IdeaTree, leaf: IdeaNode, memory: str, count: int) -> list[Idea]:
    messages = task_messages(run, write_prompt(run, tree, leaf, memory, count))
    read = partial(read_ideas, count=count + (SURPLUS if run.own.idea_count == "budget" else 0))

    def complain(problem: str) -> str:
        return run.fill_template("or_agent_idea_repair", problem=problem, count=count)

    answer = await ask_and_read(run, "idea", messages, read, complain, run.temperature("idea"), SCHEMA)
    return answer.value or []


def write_prompt(run: RoundContext, tree: IdeaTree, leaf: IdeaNode, memory: str, count: int) -> str:
    """Write the prompt: the problem, the starting programs, the whole tree, and the long-term memory."""
    style = {"brief": "small", "detailed": "strong"}.get(run.own.plans, run.style)
    start = tree.programs(leaf)
    return run.fill_template(
        "or_agent_idea",
        style,
        memory=memory or "(nothing yet)",
        programs=prompt_sections.programs_section(run, start, "improve") + describe_champion(run, start),
        tree=prompt_sections.tree_section(tree),
        crossover="At least one idea must join what is good in the programs above." if len(start) > 1 else "",
        features=bin_meanings(run),
        history=prompt_sections.with_blank_line(describe_lineage(run, start[-1])),
        standing=summarise_search(run, start[-1]),
        structural=STRUCTURAL[style] if count > 1 else "",
        blocks=blocks_hint(run, start[-1]),
        count=count,
        noun="idea" if count == 1 else "ideas",
    )


def read_ideas(text: str, count: int) -> list[Idea]:
    """Read at most ``count`` ideas from a reply.

    The reply may be a list of objects or texts, or an object that contains one list. From a truncated or malformed
    list, the complete objects are read, or else pairs of title and idea. Repeated ideas are dropped.

    Raises:
        ReplyError: The reply has no idea.
    """
    answer = drop_thoughts(text)
    whole = [idea for match in OBJECT.findall(answer) if (idea := _read_idea(_decode_json(match)))]
    pairs = [Idea(title, words) for title, words in PAIR.findall(answer) if words.strip()]
    try:
        ideas = [idea for item in _idea_items(extract_json(text)) if (idea := _read_idea(item))]
    except ReplyError:
        if not whole and not pairs:
            raise
        ideas = []
    ideas = _drop_repetitions(max(ideas, whole, pairs, key=len))
    if not ideas:
        raise ReplyError('the JSON holds no ideas; answer with a list of objects {"title": "...", "idea": "..."}')
    return ideas[:count]


def _idea_items(value: Any) -> list[Any]:
    if isinstance(value, list):
        return value
    lists = [inner for inner in value.values() if isinstance(inner, list)] if isinstance(value, dict) else []
    if len(lists) == 1:
        return lists[0]
    return [value]


def _decode_json(text: str) -> Any:
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None


def _drop_repetitions(ideas: list[Idea]) -> list[Idea]:
    """Drop repeated ideas, which are frequent with small models."""
    firsts: dict[str, Idea] = {}
    for idea in ideas:
        firsts.setdefault(" ".join(WORD.findall(idea.text.lower())), idea)
    return list(firsts.values())


def _read_idea(item: Any) -> Idea | None:
    if isinstance(item, str):
        item = {"idea": item}
    if not isinstance(item, dict):
        return None
    fields = {str(name).lower(): " ".join(value.split()) for name, value in item.items() if isinstance(value, str)}
    text = next((fields[name] for name in TEXTS if fields.get(name)), "")
    title = next((fields[name] for name in TITLES if fields.get(name)), "")
    if title or text:
        return Idea((title or text)[:100], text or title)
    return None
