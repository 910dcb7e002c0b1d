"""XML text to a tree whose elements know their file and line. The standard library's expat; no DTD, no entities."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any
from xml.etree import ElementTree
from xml.parsers import expat

from sharnir.errors import ModelFileError, one_line, shown
from sharnir.io.parsing.size_limits import MAX_ATTRIBUTE, MAX_DEPTH, MAX_ELEMENTS

MARKUP = "plain XML elements"


class Node(ElementTree.Element):
    """An element, with the file and line it was written in.

    owner: the nearest element around it that has a name, as in a message.
    instead: attributes MuJoCo is to see in place of those in the file; None where it is to see none.
    """

    file: str = ""
    line: int = 0
    owner: str = ""
    instead: Mapping[str, str | None] = MappingProxyType({})

    def wrong(self, reason: str, allowed: str) -> ModelFileError:
        """The error of this element."""
        return ModelFileError(self.file, reason, allowed, self.line, self.tag, self.get("name", ""), self.owner)


def read_tree(data: bytes, file: str) -> Node:
    """The root of an XML file given as bytes, or a ModelFileError."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ModelFileError(
            file, f"byte {data[error.start]:#04x} is not UTF-8 text", "XML encoded as UTF-8", line
        ) from None
    if "\0" in text:
        raise ModelFileError(
            file, "holds a zero byte: a binary file", "XML encoded as UTF-8", text.count("\n", 0, text.index("\0")) + 1
        )
    if not text.strip():
        raise ModelFileError(file, "is empty", "an XML file with root mujoco or robot")
    return _Reader(file).read(text)


class _Reader:
    """One run of expat."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.owners: list[str] = [""]
        self.count = 0
        self.builder = ElementTree.TreeBuilder(element_factory=Node)
        self.parser = parser = expat.ParserCreate("utf-8")
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self.builder.data
        parser.StartDoctypeDeclHandler = self._refuse_doctype
        parser.EntityDeclHandler = self._refuse_entity
        parser.ExternalEntityRefHandler = self._refuse_entity
        parser.SkippedEntityHandler = self._refuse_entity

    def read(self, text: str) -> Node:
        try:
            self.parser.Parse(text.encode("utf-8"), True)
        except expat.ExpatError as error:
            reason = f"is not well-formed XML: {expat.ErrorString(error.code)}"
            raise ModelFileError(self.file, reason, MARKUP, error.lineno) from None
        root: Any = self.builder.close()
        return root

    def _fail(self, reason: str, allowed: str, tag: str = "", name: str = "") -> ModelFileError:
        return ModelFileError(self.file, reason, allowed, self.parser.CurrentLineNumber, tag, name)

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self.count += 1
        name = attributes.get("name", "")
        if len(self.owners) > MAX_DEPTH:
            raise self._fail(f"is nested more than {MAX_DEPTH} deep", f"at most {MAX_DEPTH} levels", tag, name)
        if self.count > MAX_ELEMENTS:
            raise self._fail(f"is element {self.count}", f"at most {MAX_ELEMENTS} elements", tag, name)
        for key, value in attributes.items():
            if len(value) > MAX_ATTRIBUTE:
                raise self._fail(f"{key} has {len(value)} characters", f"at most {MAX_ATTRIBUTE}", tag, name)
        node: Any = self.builder.start(tag, attributes)
        node.file, node.line, node.owner = self.file, self.parser.CurrentLineNumber, self.owners[-1]
        self.owners.append(f"{tag} {shown(name)}" if name and len(self.owners) > 1 else self.owners[-1])

    def _end(self, tag: str) -> None:
        self.owners.pop()
        self.builder.end(tag)

    def _refuse_doctype(self, *_: object) -> None:
        raise self._fail("holds a document type declaration (DTD)", f"{MARKUP}, no DTD and no entities")

    def _refuse_entity(self, name: object, *_: object) -> int:
        raise self._fail(f"holds the entity {one_line(str(name))!r}", f"{MARKUP}, no DTD and no entities")


def written(root: Node, first_line: int) -> tuple[str, list[Node]]:
    """The tree as XML with one start tag a line, numbered from `first_line`; and the node of each line."""
    lines: list[str] = []
    nodes: list[Node] = []
    stack: list[tuple[Any, bool]] = [(root, True)]
    while stack:
        node, opens = stack.pop()
        if not opens:
            lines[-1] += f"</{node.tag}>"
            continue
        seen = {**node.attrib, **node.instead}
        attributes = "".join(f' {key}="{_quoted(value)}"' for key, value in seen.items() if value is not None)
        nodes.append(node)
        if len(node):
            lines.append(f"<{node.tag}{attributes}>")
            stack.append((node, False))
            stack.extend((child, True) for child in reversed(node))
        else:
            lines.append(f"<{node.tag}{attributes}/>")
    return "\n" * (first_line - 1) + "\n".join(lines) + "\n", nodes


def _quoted(value: str) -> str:
    for sign, code in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;"), ("\n", " "), ("\t", " ")):
        value = value.replace(sign, code)
    return value.replace("\r", " ")
