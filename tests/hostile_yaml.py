"""YAML as an adversary writes it: long to read, deep, or far larger than its text."""


def _nest_aliases(first: str, template: str) -> str:
    """Return nine levels of which each names the level before nine times."""
    levels = [template.format(", ".join([f"*a{level - 1}"] * 9)) for level in range(1, 10)]
    return "\n".join(f"a{level}: &a{level} {text}" for level, text in enumerate([first, *levels]))


TEXTS = {
    "a billion aliases": _nest_aliases("[x, x]", "[{}]"),
    "a billion merged keys": _nest_aliases("{x: 1, y: 2}", "{{<<: [{}]}}"),
    "lists in lists": "[" * 100_000,
    "mappings in mappings": "{a: " * 100_000,
    "blocks in blocks": "- " * 100_000,
    "keys in keys": "? " * 100_000,
    "aliases of aliases": "\n".join(["- &a0 [1]", *(f"- &a{i} [*a{i - 1}]" for i in range(1, 300))]),
    "a list that holds itself": "a: &a [*a]",
    "a mapping that holds itself": "&a {b: *a}",
    "many values": "[" + "1," * 200_000 + "]",
    "a number in base 60": "a: " + ":".join(["1"] * 200_000),
    "a tagged number in base 60": "a: !!int '" + " 1:" * 200_000 + "1'",
    "a long number": "a: " + "9" * 5_000,
    "a long hexadecimal number": "a: 0x" + "f" * 5_000,
    "keys of one hash": "\n".join(f"{number * (2**61 - 1)}: 1" for number in range(1, 30_000)),
    "a month that is none": "a: 2001-99-99",
    "a truth that is none": "a: !!bool foo",
    "a date that is none": "a: !!timestamp foo",
    "code": "a: !!python/object/apply:os.system [ls]",
    "no YAML": "a: [\n\t- b",
    "a control character": "a: \0",
    "an unknown alias": "*x",
    "two documents": "a\n---\nb",
    "too long": "#" * (4 << 20) + "\n",
}
