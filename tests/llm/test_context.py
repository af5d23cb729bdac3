"""Prompts that fit into a context, and say what they lack."""

from hypothesis import given
from hypothesis import strategies as st

from oragent.llm.dialogue import LETTERS_A_TOKEN, PromptPart, fit_messages, fit_prompt, prompt_token_limit
from oragent.llm.model import Message, ToolCall
from oragent.llm.model_settings import ModelSettings


def render(left) -> str:
    return "\n".join(["Start.", *left["extras"], *left["programs"], "End."])


PARTS = [PromptPart("extras", ["e" * 300]), PromptPart("programs", ["a" * 300, "b" * 300, "c" * 300], keep=1)]


def test_without_a_known_context_nothing_is_left_out() -> None:
    assert fit_prompt(render, PARTS, None) == render({part.name: part.pieces for part in PARTS})


def test_parts_go_in_their_order_the_first_pieces_first_and_the_prompt_says_so() -> None:
    whole, no_extras, two, one = (fit_prompt(render, PARTS, tokens) for tokens in (500, 400, 300, 200))
    assert "Left out" not in whole
    assert "e" * 300 not in no_extras
    assert no_extras.endswith("(Left out, as your context has no room for it: extras.)")
    assert "a" * 300 not in two
    assert "b" * 300 in two
    assert "b" * 300 not in one
    assert one.endswith("extras, 2 of 3 programs.)")
    assert "c" * 300 in fit_prompt(render, PARTS, 10)  # what must stay stays


def test_an_empty_part_is_not_said_to_be_left_out() -> None:
    prompt = fit_prompt(render, [PromptPart("extras", [""]), PARTS[1]], 200)
    assert "extras" not in prompt


def test_room_is_what_the_reply_leaves_in_the_smallest_context() -> None:
    def model(**settings) -> ModelSettings:
        return ModelSettings("m", **settings)

    assert prompt_token_limit([]) is None
    assert prompt_token_limit([model()]) is None
    assert prompt_token_limit([model(), model(context_tokens=4096)]) == 3072
    assert prompt_token_limit([model(context_tokens=8000), model(context_tokens=4000, max_tokens=200)]) == 3800
    assert (
        prompt_token_limit([model(context_tokens=1000, max_tokens=5000)]) == 750
    )  # a limit beyond the context says nothing


def test_a_conversation_that_fits_is_sent_as_it_is() -> None:
    messages = [Message("system", "s"), Message("user", "u" * 100)]
    assert fit_messages(messages, 100) == messages
    assert fit_messages(messages, None) == messages


def test_the_middle_of_the_longest_message_goes_first() -> None:
    messages = [Message("user", "task"), Message("assistant", "B" + "x" * 900 + "E"), Message("user", "y" * 200)]
    first, second, third = fit_messages(messages, 200)
    assert (first, third) == (messages[0], messages[2])
    assert second.content[0] == "B"
    assert second.content[-1] == "E"
    assert "characters left out" in second.content


def test_calls_of_tools_take_room_and_are_kept() -> None:
    call = ToolCall("c1", "solve", {"program": "z" * 300})
    messages = [Message("user", "y" * 600), Message("assistant", "", (call,)), Message("tool", "3", tool_call_id="c1")]
    whole = fit_messages(messages, 400)
    fitted = fit_messages(messages, 300)
    assert whole == messages
    assert "characters left out" in fitted[0].content
    assert fitted[1:] == messages[1:]


@given(st.lists(st.integers(0, 3000), min_size=1, max_size=5), st.integers(150, 1500))
def test_a_fitted_conversation_has_room(lengths: list[int], tokens: int) -> None:
    fitted = fit_messages([Message("user", "x" * length) for length in lengths], tokens)
    assert len(fitted) == len(lengths)
    used = sum(-(-len(message.content) // LETTERS_A_TOKEN) for message in fitted)
    assert used <= tokens + 30 * len(lengths)  # where a message is shorter than the note on what it lacks
