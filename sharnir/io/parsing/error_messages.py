"""MuJoCo's messages as our error: the line it names led back to the file, what would be right where we know."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sharnir.errors import ModelFileError, one_line
from sharnir.io.parsing.documents import Documents
from sharnir.io.parsing.xml_tree import Node

LINE = re.compile(r"\bline (?:number=)?(\d+)", re.IGNORECASE)
NAMED = re.compile(r"Element name '([^']+)'")
TAIL = re.compile(
    r"\s*(?:Element (?:name )?'[^']*'(?:, id -?\d+)?(?:, line \d+)?|The static bodies of the spec were .*)"
)
HEAD = re.compile(r"^(?:\s*(?:XML )?Error:\s*)+", re.IGNORECASE)
ASSET = re.compile(r"\ba\d+(?:/[^'\"\n]*?)?\.\w+")

HINTS: list[tuple[str, str]] = [
    ("plugin", "a model without plugins"),
    ("unrecognized attribute", "attributes of this element in MJCF"),
    ("unrecognized element", "elements of MJCF in this place"),
    ("enough data|too much data|bad format", "as many numbers as the attribute takes"),
    ("repeated name|repeated element", "a name of its own for every element of a kind"),
    ("invalid keyword", "the words MJCF knows for this attribute"),
    ("quaternion", "a quaternion of any length but zero"),
    ("not specified", "both counts positive, or a file"),
    ("must be positive|negative", "positive sizes, masses and densities"),
    ("positive eigenvalues|A \\+ B >= C|inertia must", "a mass > 0 and an inertia tensor a body can have"),
    ("mass and inertia of moving bodies", "a mass and an inertia > 0 for every body that moves"),
    ("not found|unknown|missing|does not exist", "names of elements that exist"),
    ("invalid .* size|invalid size|wrong size", "as many numbers as the model has coordinates"),
    ("number of faces|vertices|volume|coplanar|qhull|mesh", "a closed mesh with volume"),
]


def from_mujoco(text: str, documents: Documents, lines: Sequence[Node]) -> ModelFileError:
    """The error of a message; `lines` holds the node written on each line MuJoCo saw, the first at index 1."""
    node = _place(text, documents, lines)
    reason = HEAD.sub("", TAIL.sub("", text)).strip() or "MuJoCo refuses it"
    names = {asset.name: asset.path.name for asset in documents.assets.values()}
    names.update({document.name: document.root.file for document in documents.all})
    reason = one_line(ASSET.sub(lambda found: names.get(found[0], found[0]), reason))
    for pattern, hint in HINTS:
        if re.search(pattern, reason, re.IGNORECASE):
            return node.wrong(reason, hint)
    return node.wrong(reason, "a model MuJoCo can compile")


def _place(text: str, documents: Documents, lines: Sequence[Node]) -> Node:
    """The element a message is about: by its line, else by its asset or name, else the root."""
    found = LINE.search(text)
    if found and 0 < int(found[1]) < len(lines):
        return lines[int(found[1])]
    named_assets = set(ASSET.findall(text))
    for asset in documents.assets.values():
        if asset.name in named_assets:
            return asset.node
    named = NAMED.search(text)
    if named:
        for document in documents.all:
            for node in document.root.iter():
                if node.get("name") == named[1] and isinstance(node, Node):
                    return node
    return documents.main.root
