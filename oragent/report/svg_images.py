"""Check SVG pictures: plain shapes and text, no scripts, no references to anything else."""

import re
from xml.etree import ElementTree

MOST_BYTES = 2 << 20
NAMESPACE = "{http://www.w3.org/2000/svg}"
ELEMENTS = frozenset((
    "svg", "g", "path", "rect", "circle", "ellipse", "line", "polyline", "polygon", "text", "tspan", "title", "desc",
))  # fmt: skip
ATTRIBUTES = frozenset((
    "width", "height", "viewBox", "preserveAspectRatio", "x", "y", "x1", "y1", "x2", "y2", "cx", "cy", "r", "rx", "ry",
    "dx", "dy", "d", "points", "transform", "fill", "fill-opacity", "fill-rule", "stroke", "stroke-width",
    "stroke-opacity", "stroke-dasharray", "stroke-linecap", "stroke-linejoin", "opacity", "font-size", "font-family",
    "font-weight", "text-anchor", "dominant-baseline",
))  # fmt: skip
VALUE = re.compile(r"[\w\s.,#%+\-]*", re.ASCII)
TRANSFORM = re.compile(r"[a-zA-Z\d\s.,+\-()]*")


def is_plain_svg(data: bytes) -> bool:
    """Return whether a file is an SVG document of known elements and attributes, at most 2 MiB large.

    Elements and attributes that can hold scripts, styles or addresses are not among the known ones, and neither are
    document types, entities and processing instructions.
    """
    if len(data) > MOST_BYTES or b"<!" in data or b"<?" in data or b"\0" in data:
        return False
    try:
        root = ElementTree.fromstring(data.decode("utf-8"))
    except (ElementTree.ParseError, UnicodeDecodeError, ValueError):
        return False
    return root.tag == f"{NAMESPACE}svg" and all(map(_is_plain, root.iter()))


def _is_plain(element: ElementTree.Element) -> bool:
    namespace, name = element.tag[: len(NAMESPACE)], element.tag[len(NAMESPACE) :]
    return (
        namespace == NAMESPACE
        and name in ELEMENTS
        and all(
            key in ATTRIBUTES and (TRANSFORM if key == "transform" else VALUE).fullmatch(value)
            for key, value in element.attrib.items()
        )
    )
