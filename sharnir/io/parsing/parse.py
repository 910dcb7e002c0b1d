"""A URDF or MJCF file to a compiled MuJoCo model, whatever the file holds: a model or a ModelFileError.

The file is checked here, parsed by MuJoCo in a child process, and comes back as bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sharnir.errors import ModelFileError
from sharnir.io.parsing.check_mjcf import check_mjcf
from sharnir.io.parsing.check_urdf import check_urdf
from sharnir.io.parsing.documents import Asset, Documents
from sharnir.io.parsing.error_messages import from_mujoco
from sharnir.io.parsing.parser_client import ChildError, Worker
from sharnir.io.parsing.simplify_urdf import simplified
from sharnir.io.parsing.xml_tree import Node, written

if TYPE_CHECKING:
    import mujoco

TIME_LIMIT = 60.0  # seconds
MEMORY_LIMIT = 4 * 2**30  # bytes


@dataclass(frozen=True)
class Parsed:
    """A model file that was read.

    model: compiled mujoco.MjModel; of a URDF every link is a body, with stand-in inertias and collision geometry only.
    format: "urdf" or "mjcf". tree: the file's root element with includes resolved and references as they are in the
    file; its elements know their `file` and `line`. files: where the meshes of a URDF lie, by the name it calls them;
    visual ones that do not exist are not among them; of an MJCF, by the path in `model.paths`, those that are used as
    the file has them. warnings: what MuJoCo remarked. roots: folders that its files may lie in, its own first.
    """

    model: mujoco.MjModel
    format: str
    path: Path
    tree: Node
    files: dict[str, Path]
    warnings: tuple[str, ...]
    roots: tuple[str, ...]


def parse(
    path: str | Path,
    roots: Sequence[str | Path] = (),
    time_limit: float = TIME_LIMIT,
    memory_limit: int = MEMORY_LIMIT,
    worker: Worker | None = None,
) -> Parsed:
    """Read a URDF or MJCF file, or raise ModelFileError.

    roots: folders, beside the file's own, that meshes, textures and includes may lie in; `package://name/...` is
    looked up in them. time_limit: seconds and memory_limit: bytes that MuJoCo may take. worker: a child process to
    reuse; by default a new one per call.
    """
    path = Path(path)
    if worker is None:
        with Worker() as own:
            own.start()
            return parse(path, roots, time_limit, memory_limit, own)
    documents = Documents(path, roots)
    seen: dict[str, Node] = {}
    files: dict[str, Path] = {}
    if documents.format == "urdf":
        check_urdf(documents)
        seen[documents.main.name], files = simplified(documents)
    else:
        check_mjcf(documents.all)
        seen = {document.name: document.root for document in documents.all}
        files = documents.mesh_files()
    lines: list[Node] = [documents.main.root]
    texts = {}
    for name, root in seen.items():
        texts[name], nodes = written(root, len(lines))
        lines += nodes
    assets = list(documents.assets.values())
    xml = texts.pop(documents.main.name)
    request = {"xml": xml, "models": texts, "format": documents.format, "assets": [[a.name, a.kind] for a in assets]}
    try:
        answer, blobs = worker.ask(request, [a.data for a in assets], memory_limit, time_limit)
    except ChildError as failure:
        raise _budget(path, failure.budget, str(failure), time_limit, memory_limit) from None
    if "failed" in answer:
        raise _failure(answer, documents, assets, lines, time_limit, memory_limit)
    model = _loaded(blobs, path)
    check_finite(model, path)
    remarks = answer.get("warnings")
    warnings = tuple(map(str, remarks)) if isinstance(remarks, list) else ()
    folders = tuple(map(str, documents.files.roots))
    return Parsed(model, documents.format, path, documents.main.root, files, warnings, folders)


def _budget(path: Path, budget: str, reason: str, time_limit: float, memory_limit: int) -> ModelFileError:
    if budget == "time":
        return ModelFileError(
            str(path), f"takes longer than {time_limit:g} s to compile", "a smaller model or a longer time_limit"
        )
    if budget == "memory":
        size = f"{memory_limit / 2**20:.0f} MiB"
        return ModelFileError(
            str(path), f"needs more than {size} to compile", "a smaller model or a larger memory_limit"
        )
    return ModelFileError(str(path), reason, "a model MuJoCo can compile")


def _failure(
    answer: dict[str, Any],
    documents: Documents,
    assets: list[Asset],
    lines: list[Node],
    time_limit: float,
    memory_limit: int,
) -> ModelFileError:
    """The child's answer is not trusted: it may lack anything."""
    for asset in assets:
        if answer["failed"] == "asset" and asset.name == answer.get("asset"):
            return asset.node.wrong(f"file {asset.path.name!r} {answer.get('reason')}", str(answer.get("allowed")))
    if answer["failed"] == "mujoco":
        return from_mujoco(str(answer.get("text")), documents, lines)
    return _budget(documents.path, str(answer["failed"]), "cannot be compiled", time_limit, memory_limit)


def _loaded(blobs: list[bytes], path: Path) -> mujoco.MjModel:
    import mujoco

    try:
        return mujoco.MjModel.from_binary_path("model.mjb", assets={"model.mjb": blobs[0]})
    except (ValueError, IndexError, mujoco.FatalError) as error:
        raise ModelFileError(str(path), f"compiled model is broken: {error}", "a model MuJoCo can compile") from None


def check_finite(model: mujoco.MjModel, path: Path) -> None:
    """Refuse a compiled model that overflowed: finite numbers in the file whose products are not."""
    for name in dir(model):
        if name.startswith("_") or name in UNLIMITED:
            continue
        value = getattr(model, name)
        if isinstance(value, np.ndarray) and value.dtype.kind == "f" and not np.isfinite(value).all():
            raise ModelFileError(
                str(path), f"compiled model has numbers that are not finite in {name}", "numbers of physical size"
            )


UNLIMITED = {"jnt_actfrcrange"}
