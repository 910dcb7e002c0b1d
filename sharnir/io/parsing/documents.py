"""A model file and all it refers to, read into memory: includes resolved, assets and sub-models under names of our own.

MuJoCo is given these copies only. It never opens a file, so what was checked is what is parsed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from sharnir.errors import ModelFileError
from sharnir.io.parsing.assets import STL_FACES, is_text_stl
from sharnir.io.parsing.files import FileProblemError, Files, read_regular
from sharnir.io.parsing.size_limits import MAX_ASSET_BYTES, MAX_DEPTH, MAX_ELEMENTS, MAX_XML_BYTES
from sharnir.io.parsing.xml_tree import Node, read_tree

FACES = ("fileright", "fileleft", "fileup", "filedown", "filefront", "fileback")
MJCF_FILES = {("mesh", "file"), ("hfield", "file"), ("skin", "file"), ("flexcomp", "file"), ("texture", "file")} | {
    ("texture", face) for face in FACES
}
FORMATS = {"mujoco": "mjcf", "robot": "urdf"}
MESHES = ("stl", "obj", "msh", "dae", "glb")
KINDS = {
    "mesh": MESHES,
    "flexcomp": ("stl", "obj", "msh"),
    "skin": ("skn",),
    "hfield": ("png", "hfield"),
    "texture": ("png", "ktx", "texture"),
}
CONTENT = {
    "model/stl": "stl",
    "model/obj": "obj",
    "model/vnd.mujoco.msh": "msh",
    "image/png": "png",
    "image/ktx": "ktx",
    "image/vnd.mujoco.texture": "texture",
    "image/vnd.mujoco.hfield": "hfield",
}


@dataclass
class Asset:
    """A file the model refers to. kind: what the element takes it for. name: what MuJoCo knows it by."""

    name: str
    kind: str
    data: bytes
    path: Path
    node: Node


@dataclass
class Document:
    """An XML file with its includes resolved. name: what MuJoCo knows it by. models: documents it attaches."""

    name: str
    root: Node
    folder: Path
    models: dict[int, Document] = field(default_factory=dict)


class Documents:
    """The main document, the sub-models it attaches, and the assets of all."""

    def __init__(self, path: Path, roots: Sequence[str | Path]) -> None:
        self.path = path
        self.assets: dict[tuple[Path, str], Asset] = {}
        self.all: list[Document] = []
        self._known: dict[Path, Document] = {}
        try:
            data = read_regular(path, MAX_XML_BYTES)
        except FileProblemError as problem:
            raise ModelFileError(str(path), problem.reason, problem.allowed) from None
        self.files = Files(path, roots)
        root = read_tree(data, str(path))
        if root.tag not in FORMATS:
            raise root.wrong("is no robot model", "root element <mujoco> (MJCF) or <robot> (URDF)")
        self.format = FORMATS[root.tag]
        self.main = self._document(root, path.resolve(), ())

    def _document(self, root: Node, real: Path, parents: tuple[Path, ...]) -> Document:
        folder = self.files.folder if not parents else real.parent
        document = Document(f"m{len(self.all)}.xml", root, folder)
        self.all.append(document)
        self._known[real] = document
        self._include(document, real)
        check_size(root)
        if self.format == "mjcf":
            self._name_assets(document)
            self._attach(document, (*parents, real))
        return document

    def _include(self, document: Document, real: Path) -> None:
        """Replace every <include file="..."/> by the children of that file's root."""
        seen = {real}
        stack: list[Any] = [document.root]
        while stack:
            parent = stack.pop()
            k = 0
            while k < len(parent):
                child = parent[k]
                if child.tag == "include":
                    parent[k : k + 1] = list(self._included(child, document, seen))
                else:
                    stack.append(child)
                    k += 1

    def _included(self, node: Node, document: Document, seen: set[Path]) -> Node:
        folders = [document.folder, Path(node.file).parent]
        try:
            real = self.files.find(node.get("file", ""), folders)
            if real in seen:
                raise FileProblemError(
                    f"file {node.get('file')!r} includes itself or is included twice", "each file once"
                )
            if len(node):
                raise FileProblemError("has elements inside", "an empty element")
            data = self.files.read(real, MAX_XML_BYTES)
        except FileProblemError as problem:
            raise node.wrong(problem.reason, problem.allowed) from None
        seen.add(real)
        root = read_tree(data, str(real))
        if not len(root):
            raise node.wrong(f"file {node.get('file')!r} holds no elements", "a file with elements below its root")
        return root

    def _attach(self, document: Document, parents: tuple[Path, ...]) -> None:
        """Read the sub-models of <asset><model file="..."/>."""
        for asset in document.root.iter("asset"):
            for node in asset.iterfind("model"):
                assert isinstance(node, Node)
                try:
                    real = self.files.find(node.get("file", ""), [document.folder])
                    if real in parents:
                        raise FileProblemError(f"file {node.get('file')!r} attaches itself", "a model without a cycle")
                    known = self._known.get(real)
                    if known is None:
                        root = read_tree(self.files.read(real, MAX_XML_BYTES), str(real))
                        if root.tag != "mujoco":
                            raise root.wrong("is no sub-model", "root element <mujoco> (MJCF)")
                        known = self._document(root, real, parents)
                except FileProblemError as problem:
                    raise node.wrong(problem.reason, problem.allowed) from None
                document.models[id(node)] = known
                node.instead = {"file": known.name, "content_type": None}

    def _name_assets(self, document: Document) -> None:
        """Read the assets of an MJCF document; MuJoCo sees our names for them, and no folders."""
        folders = {"meshdir": "", "texturedir": ""}
        strip = False
        for compiler in document.root.iterfind("compiler"):
            assert isinstance(compiler, Node)
            both = compiler.get("assetdir")
            for key, before in folders.items():
                folders[key] = compiler.get(key, before if both is None else both)
            strip = compiler.get("strippath", str(strip).lower()) == "true"
            compiler.instead = dict.fromkeys(("meshdir", "texturedir", "assetdir", "strippath"))
        for node in document.root.iter():
            assert isinstance(node, Node)
            for key in [key for key in node.attrib if (node.tag, key) in MJCF_FILES]:
                reference = node.attrib[key]
                if strip:
                    reference = PurePosixPath(reference).name
                folder = document.folder / folders["texturedir" if node.tag == "texture" else "meshdir"]
                asset = self.asset(node, reference, folder, node.get("content_type"))
                given = {key: asset.name, "content_type": None}
                if node.tag != "flexcomp" and "name" not in node.attrib:
                    given["name"] = PurePosixPath(reference).stem
                node.instead = {**node.instead, **given}

    def mesh_files(self) -> dict[str, Path]:
        """Files of meshes as they are, by MuJoCo's names: those that others read too, and that no element moves."""
        moved = {
            node.instead.get("file") for document in self.all for node in document.root.iter("mesh")
            if isinstance(node, Node) and {"refpos", "refquat"} & set(node.attrib)
        }  # fmt: skip
        known = [a for a in self.assets.values() if a.kind in MESHES and a.kind != "msh"]
        return {asset.name: asset.path for asset in known if asset.name not in moved}

    def asset(self, node: Node, reference: str, folder: Path, content: str | None = None) -> Asset:
        """The asset of a reference, read once however often it is referred to."""
        try:
            kind = self._kind(node.tag, reference, content)
            real = self.files.find(reference, [folder])
            key = (real, f"{kind} {node.tag}")
            if key not in self.assets:
                data = self.files.read(real, MAX_ASSET_BYTES)
                ending = "msh" if node.tag == "mesh" and needs_conversion(kind, data) else kind
                stem = PurePosixPath(reference).stem
                name = (
                    f"a{len(self.assets)}.{ending}" if self.format == "mjcf" else f"a{len(self.assets)}/{stem}.{ending}"
                )
                self.assets[key] = Asset(name, kind, data, real, node)
        except FileProblemError as problem:
            raise node.wrong(problem.reason, problem.allowed) from None
        return self.assets[key]

    def _kind(self, tag: str, reference: str, content: str | None) -> str:
        kinds = KINDS[tag]
        ending = PurePosixPath(reference).suffix.lower().lstrip(".")
        kind = CONTENT.get(content, content) if content else ending
        if kind in kinds:
            return kind
        if not content and tag in ("hfield", "texture", "skin"):
            return kinds[-1]  # MuJoCo's own binary formats, whatever the ending
        raise FileProblemError(f"file {reference!r} is of unknown type {kind!r}", ", ".join(kinds))


def needs_conversion(kind: str, data: bytes) -> bool:
    """Whether MuJoCo does not read a mesh as it is: another format, STL as text, or STL with too many faces."""
    if kind != "stl":
        return kind in ("dae", "glb")
    return is_text_stl(data) or int.from_bytes(data[80:84], "little") > STL_FACES


def check_size(root: Node) -> None:
    """Depth and number of elements, once includes are resolved."""
    stack: list[tuple[Any, int]] = [(root, 1)]
    count = 0
    while stack:
        node, depth = stack.pop()
        count += 1
        if depth > MAX_DEPTH:
            raise node.wrong(f"is nested more than {MAX_DEPTH} deep", f"at most {MAX_DEPTH} levels")
        if count > MAX_ELEMENTS:
            raise node.wrong("is one element too many", f"at most {MAX_ELEMENTS} elements")
        stack.extend((child, depth + 1) for child in node)
