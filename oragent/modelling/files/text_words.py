"""Words of a text by their positions in its bytes, to read many lines together without a text for each word."""

import re
from collections.abc import Sequence
from random import Random
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from oragent.modelling.data.arrays import Vector

Positions = NDArray[np.int64]
# Separators of words or lines beyond ASCII.
OTHER_BLANKS = re.compile(r"[^\S\x00-\x7f]")
# Maximum number of bytes of words that are compared together.
MAX_WORD_BYTES = 256
# Figures with more digits may need more than one rounding.
MAX_DIGITS = 15
# Masks of the first bytes of 8, by number of bytes.
FIRST_BYTES = np.array([(1 << 8 * count) - 1 for count in range(9)], dtype=np.uint64)
# Odd factors with which the parts of a word are added to a hash value.
# NumPy's generators, which few models need, are slow to import.
_random_bits = Random(0).getrandbits
FACTORS = np.array([2 * _random_bits(63) + 1 for _ in range(MAX_WORD_BYTES // 8 + 1)], dtype=np.uint64)


class TextWords:
    """The words of the lines of a text."""

    def __init__(self, raw: bytes) -> None:
        self._raw = raw
        characters = np.frombuffer(raw, dtype=np.uint8)
        # Parts of words are read 8 bytes at a time, also at the end of the text.
        self._characters = np.concatenate((characters, np.zeros(MAX_WORD_BYTES + 8, dtype=np.uint8)))
        is_blank = np.ones(len(raw) + 2, dtype=bool)
        np.less_equal(characters, ord(" "), out=is_blank[1:-1])
        edges = np.flatnonzero(is_blank[1:] != is_blank[:-1])
        # Positions of the first byte of each word, and of the byte after it.
        self.starts, self.ends = edges[::2], edges[1::2]
        line_ends = np.flatnonzero(characters == ord("\n"))
        line_starts = np.concatenate((np.zeros(1, dtype=np.int64), line_ends + 1))
        self._line_starts = line_starts[line_starts < len(raw)]
        before = np.searchsorted(self.starts, self._line_starts)
        # First word of each line, and number of words.
        self.first, self.counts = before, np.diff(before, append=len(self.starts))
        first_characters = self._characters[self._line_starts]
        self._is_skipped = (self.counts == 0) | (first_characters == ord("*"))
        self._is_head = ~self._is_skipped & (first_characters > ord(" "))

    def __len__(self) -> int:
        """Return the number of lines."""
        return len(self._line_starts)

    def stops(self, word: str) -> list[int]:
        """Return the lines that begin with a word, and those with a given word in them."""
        places = [match.start() for match in re.finditer(re.escape(word.encode()), self._raw)]
        is_stop = self._is_head.copy()
        is_stop[np.searchsorted(self._line_starts, np.array(places, dtype=np.int64), side="right") - 1] = True
        return np.flatnonzero(is_stop).tolist()

    def entry_lines(self, start: int, end: int) -> Positions:
        """Return the lines from ``start`` to before ``end`` that have words and are no comments (``*``)."""
        return start + np.flatnonzero(~self._is_skipped[start:end])

    def texts(self, words: Positions) -> list[str]:
        """Return the texts of some words."""
        starts, ends = self.starts[words].tolist(), self.ends[words].tolist()
        return [self._raw[start:end].decode() for start, end in zip(starts, ends, strict=True)]

    def letters(self, words: Positions) -> list[str]:
        """Return the first character of words of one byte, and an empty text for longer ones."""
        letters, is_single = self._characters[self.starts[words]].tolist(), (self.lengths(words) == 1).tolist()
        return [chr(letter) if single else "" for letter, single in zip(letters, is_single, strict=True)]

    def lengths(self, words: Positions) -> Positions:
        """Return the number of bytes of some words."""
        return self.ends[words] - self.starts[words]

    def parts(self, words: Positions, count: int) -> NDArray[np.uint64]:
        """Return the first ``8 * count`` bytes of some words, ``(count, k)`` numbers of 8 bytes."""
        starts, lengths = self.starts[words], self.lengths(words)
        every = np.ndarray((len(self._characters) - 7,), "<u8", self._characters.data, 0, (1,))
        parts = np.empty((count, len(words)), dtype=np.uint64)
        for place in range(count):
            mask = FIRST_BYTES[np.clip(lengths - 8 * place, 0, 8)]
            np.bitwise_and(every[starts + 8 * place], mask, out=parts[place])
        return parts

    def runs(self, words: Positions) -> Positions:
        """Return the places among some words, at most ``MAX_WORD_BYTES`` long, that differ from the word before."""
        lengths = self.lengths(words)
        parts = self.parts(words, -(-int(lengths.max(initial=0)) // 8))
        differs = (lengths[1:] != lengths[:-1]) | (parts[:, 1:] != parts[:, :-1]).any(axis=0)
        return np.flatnonzero(np.concatenate((np.ones(min(1, len(words)), dtype=bool), differs)))

    def figures(self, words: Positions) -> tuple[Vector, NDArray[np.bool_]]:
        """Return the numbers of words in decimal form, and a mask of the words whose number is given.

        Other words, such as those with an exponent, may be numbers too.
        """
        starts, lengths = self.starts[words], self.lengths(words)
        width = min(int(lengths.max(initial=0)), MAX_DIGITS + 2)
        digits = np.zeros(len(words), dtype=np.int64)
        # Number of digits, of those after the point, and of points.
        counts, decimals, points = (np.zeros(len(words), dtype=np.int64) for _ in range(3))
        first = self._characters[starts]
        has_sign = (first == ord("-")) | (first == ord("+"))
        for place in range(width):
            letters = self._characters[starts + place]
            is_inside = place < lengths
            is_digit = is_inside & (letters >= ord("0")) & (letters <= ord("9"))
            digits = np.where(is_digit, digits * 10 + letters - ord("0"), digits)
            counts += is_digit
            decimals += is_digit & (points > 0)
            points += is_inside & (letters == ord("."))
        is_read = (counts + points + has_sign == lengths) & (points <= 1) & (counts >= 1) & (counts <= MAX_DIGITS)
        # Both numbers are exact, so that their quotient is rounded once, as the number of the text is.
        values = digits / 10.0 ** np.minimum(decimals, MAX_DIGITS)
        return np.where(first == ord("-"), -values, values), is_read


def words_of(text: str) -> TextWords | None:
    """Return the words of a text, or None if other characters than blanks, tabs and ends of lines separate them."""
    if not text.isascii() and OTHER_BLANKS.search(text):
        return None
    try:
        raw = text.encode()
    except UnicodeEncodeError:
        return None
    characters = np.frombuffer(raw, dtype=np.uint8)
    usual = raw.count(b"\n") + raw.count(b"\t") + raw.count(b"\r\n")
    return TextWords(raw) if np.count_nonzero(characters < ord(" ")) == usual else None


class WordTable(NamedTuple):
    """Positions of different words in a list, by the bytes of the words."""

    # ``(count, k)`` parts of the words and ``(k,)`` lengths, hash values and positions, sorted by hash value.
    parts: NDArray[np.uint64]
    lengths: Positions
    hashes: NDArray[np.uint64]
    places: Positions

    @classmethod
    def of(cls, names: Sequence[str]) -> "WordTable | None":
        """Return the table of the names that are words of limited length; None if two of them have one hash value."""
        kept = [place for place, name in enumerate(names) if len(name) <= MAX_WORD_BYTES and name.split() == [name]]
        words = words_of("\n".join([names[place] for place in kept]))
        if words is None or not kept:
            return None
        every = np.arange(len(kept))
        lengths = words.lengths(every)
        if lengths.max() > MAX_WORD_BYTES:
            return None
        parts = words.parts(every, -(-int(lengths.max()) // 8))
        hashes = _hash_words(parts, lengths)
        order = np.argsort(hashes)
        if (np.diff(hashes[order]) == 0).any():
            return None
        return cls(parts[:, order], lengths[order], hashes[order], np.array(kept, dtype=np.int64)[order])

    def find(self, words: TextWords, chosen: Positions) -> Positions | None:
        """Return the positions of some words of a text in the list; None if one is not in it."""
        lengths, parts = words.lengths(chosen), words.parts(chosen, len(self.parts))
        near = np.minimum(np.searchsorted(self.hashes, _hash_words(parts, lengths)), len(self.hashes) - 1)
        is_same = (self.lengths[near] == lengths) & (self.parts[:, near] == parts).all(axis=0)
        return self.places[near] if is_same.all() else None


def _hash_words(parts: NDArray[np.uint64], lengths: Positions) -> NDArray[np.uint64]:
    hashes: NDArray[np.uint64] = lengths.astype(np.uint64) * FACTORS[-1]
    for part, factor in zip(parts, FACTORS, strict=False):
        # The lower half of a product depends on the lower bits alone.
        hashes += (part ^ (part >> np.uint64(29))) * factor
        hashes ^= hashes >> np.uint64(32)
    return hashes
