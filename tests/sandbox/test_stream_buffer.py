"""A tape keeps what a capped output keeps, and nothing of it in objects of Python's."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent._base.text_format import CappedOutput
from oragent.sandbox.limits import StreamBuffer, join_stream


@given(st.lists(st.binary(min_size=1, max_size=40), max_size=12), st.integers(1, 40).map(lambda half: 2 * half))
def test_head_and_tail_are_those_of_a_capped_output(chunks: list[bytes], limit: int) -> None:
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    tape, oracle = StreamBuffer(limit), CappedOutput(limit)
    try:
        for chunk in chunks:
            oracle.add(chunk)
            os.write(writer, chunk)
            with pytest.raises(BlockingIOError):
                while tape.read_from(reader):
                    pass
        os.close(writer)
        assert not tape.read_from(reader)
        head, dropped, tail = tape.lengths
        parts = [bytes(part) for part in tape.parts()]
        assert (len(parts[0]), len(parts[1]) + len(parts[2])) == (head, tail)
        assert join_stream(parts[0], dropped, parts[1] + parts[2]) == oracle.text()
    finally:
        tape.close()
        os.close(reader)
