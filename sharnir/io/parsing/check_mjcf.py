"""What MuJoCo's reader lets through in an MJCF file: numbers without meaning, and counts no memory can hold."""

from __future__ import annotations

import math
import re
from typing import Any

from sharnir.checks import MAX_MAGNITUDE
from sharnir.errors import shown
from sharnir.io.parsing.documents import Document
from sharnir.io.parsing.size_limits import COUNTS, MAX_ARENA, MAX_ELEMENTS, MAX_HEIGHTS, MAX_PIXELS
from sharnir.io.parsing.xml_tree import Node

TEXT = {
    "actuator", "assetdir", "body", "body1", "body2", "builtin", "camera", "childclass", "class", "content_type",
    "cranksite", "eulerseq", "file", "fileback", "filedown", "filefront", "fileleft", "fileright", "fileup", "flex",
    "frame", "geom", "geom1", "geom2", "gridlayout", "hfield", "input", "instance", "joint", "joint1", "joint2",
    "jointinparent", "key", "material", "memory", "mesh", "meshdir", "model", "name", "node", "objname", "plugin",
    "prefix", "refname", "refsite", "role", "sep", "sidesite", "site", "site1", "site2", "slidersite", "subtree1",
    "subtree2", "target", "tendon", "tendon1", "tendon2", "texture", "texturedir", "value",
}  # fmt: skip
"""Attributes that hold names or words: `inf` is a name there."""
RANGES = ("ctrlrange", "forcerange", "actrange", "actuatorfrcrange", "lengthrange", "velrange", "posrange", "ffrange")
RANGED = ("joint", "spatial", "fixed", "tendon")
ODD = re.compile(r"nan|inf|e\+?\d\d|\d{40}", re.IGNORECASE)
UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40, "P": 2**50, "E": 2**60}


def check_mjcf(documents: list[Document]) -> None:
    """Raise the error of the first element that is refused."""
    for document in documents:
        for node in document.root.iter():
            assert isinstance(node, Node)
            check_node(node)
    sizes: dict[str, int] = {}
    for document in reversed(documents):
        _expanded(document, sizes)


def check_node(node: Node) -> None:
    """One element by itself."""
    check_finite(node)
    check_ranges(node)
    check_counts(node)
    if node.tag in SPECIAL:
        SPECIAL[node.tag](node)


def number(word: str) -> float:
    """A number as C reads it; NaN where it is none."""
    try:
        return float(word)
    except ValueError:
        return math.nan


def numbers(node: Node, key: str) -> list[float]:
    """The numbers of an attribute; NaN where a word is none: MuJoCo refuses those with its own message."""
    return [number(word) for word in node.get(key, "").split()]


def check_finite(node: Node) -> None:
    """No NaN, no infinity, nothing whose powers overflow."""
    for key, value in node.attrib.items():
        if (key in TEXT and (node.tag, key) != ("numeric", "data")) or node.tag == "text" or not ODD.search(value):
            continue
        for word in value.split():
            bare = word.lstrip("+-").lower()
            if bare.startswith(("nan", "inf")) or math.isinf(number(word)):
                raise node.wrong(f"{key} is not finite: given {shown(value)}", "finite numbers")
            if abs(number(word)) > MAX_MAGNITUDE:
                raise node.wrong(f"{key} is out of range: given {shown(value)}", f"numbers up to {MAX_MAGNITUDE:g}")


def check_ranges(node: Node) -> None:
    """Lower before upper."""
    for key in (*RANGES, "range") if node.tag in RANGED else RANGES:
        limits = numbers(node, key)
        if len(limits) == 2 and limits[0] > limits[1]:
            raise node.wrong(f"{key} has lower > upper: given {shown(node.get(key))}", "lower <= upper")


def check_counts(node: Node) -> None:
    """Counts that MuJoCo allocates for, before it does."""
    for key in node.attrib:
        most = COUNTS.get((node.tag, key), COUNTS.get(("*", key)))
        if most is None:
            continue
        for count in numbers(node, key):
            if count > most:
                raise node.wrong(f"{key} is {shown(node.get(key))}", f"at most {most}")


def _option(node: Node) -> None:
    if "timestep" in node.attrib:
        step = numbers(node, "timestep")
        if len(step) == 1 and not step[0] > 0:
            raise node.wrong(f"timestep is {shown(node.get('timestep'))}", "seconds > 0")


def _size(node: Node) -> None:
    found = re.fullmatch(r"\s*(\d+)\s*([KMGTPE]?)\s*", node.get("memory", ""), re.IGNORECASE)
    if found and int(found[1][:30]) * UNITS[found[2].upper()] > MAX_ARENA:
        raise node.wrong(f"memory is {shown(node.get('memory'))}", f"at most {MAX_ARENA} bytes")


def _hfield(node: Node) -> None:
    counts = numbers(node, "nrow") + numbers(node, "ncol")
    if len(counts) == 2 and math.prod(counts) > MAX_HEIGHTS:
        raise node.wrong(f"nrow x ncol is {counts[0]:.0f} x {counts[1]:.0f}", f"at most {MAX_HEIGHTS} heights")


def _texture(node: Node) -> None:
    counts = numbers(node, "width") + numbers(node, "height")
    if len(counts) == 2 and math.prod(counts) > MAX_PIXELS:
        raise node.wrong(f"width x height is {counts[0]:.0f} x {counts[1]:.0f}", f"at most {MAX_PIXELS} pixels")


def _joint(node: Node) -> None:
    axis = numbers(node, "axis")
    if len(axis) == 3 and all(x == 0.0 for x in axis):
        raise node.wrong(f"axis is zero: given {shown(node.get('axis'))}", "a direction, any length but zero")


SPECIAL = {"option": _option, "size": _size, "hfield": _hfield, "texture": _texture, "joint": _joint}


def _expanded(document: Document, sizes: dict[str, int]) -> int:
    """Number of elements a document stands for once <replicate>, <flexcomp> and <attach> are carried out."""
    if document.name in sizes:
        return sizes[document.name]
    by_name = _models(document)
    largest = max([_expanded(m, sizes) for m in document.models.values()], default=1)
    total = 0
    stack: list[tuple[Any, float]] = [(document.root, 1.0)]
    while stack:
        node, times = stack.pop()
        if node.tag == "replicate":
            times = _times(node, times * max(1.0, _largest(numbers(node, "count"))), "count")
        elif node.tag == "flexcomp":
            counts = [max(1.0, n) for n in numbers(node, "count") if not math.isnan(n)]
            total += int(_times(node, times * math.prod(counts), "count"))
        elif node.tag == "attach":
            model = by_name.get(node.get("model", ""))
            times = _times(node, times * (sizes[model.name] if model else largest), "attached model")
        total += int(times)
        if total > MAX_ELEMENTS:
            raise node.wrong("makes one element too many", f"at most {MAX_ELEMENTS} elements in all")
        stack.extend((child, times) for child in node)
    sizes[document.name] = total
    return total


def _models(document: Document) -> dict[str, Document]:
    """Attached documents by the name they are attached under."""
    found = {}
    for node in document.root.iter("model"):
        if id(node) in document.models:
            model = document.models[id(node)]
            found[node.get("name", model.root.get("model", ""))] = model
    return found


def _largest(counts: list[float]) -> float:
    return max((n for n in counts if not math.isnan(n)), default=1.0)


def _times(node: Node, times: float, what: str) -> float:
    if times > MAX_ELEMENTS:
        raise node.wrong(
            f"{what} {shown(node.get('count', node.get('model')))} makes {times:.3g} elements",
            f"at most {MAX_ELEMENTS} elements in all",
        )
    return times
