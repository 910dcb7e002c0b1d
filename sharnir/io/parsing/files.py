"""Files of a model: found under declared roots only, regular, of bounded size, read once."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote

from sharnir.io.parsing.size_limits import MAX_FILES, MAX_TOTAL_BYTES
from sharnir.regular_files import FileProblemError, read_regular, real_folders

SCHEME = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]+):/*")
PACKAGE = re.compile(r"^(?:package|model)://+([^/]+)/+(.*)$", re.DOTALL)
INSIDE = "a file inside the model's folder or one of the declared roots"


class OutsideError(FileProblemError):
    """A reference that leads out of the declared roots."""


class Files:
    """Reads what a model refers to, and nothing outside its roots. Keeps count of files and bytes."""

    def __init__(self, path: Path, roots: Sequence[str | Path]) -> None:
        self.folder = Path(os.path.realpath(path.parent))
        self.roots = [self.folder, *real_folders(roots, path)]
        self.bytes = 0
        self.count = 0

    def find(self, reference: str, folders: Sequence[Path]) -> Path:
        """The real path of a reference, tried in the given folders, or for package:// in the roots."""
        if not reference.strip() or "\0" in reference:
            raise FileProblemError("file name is empty", "the name of a file")
        package = PACKAGE.match(reference)
        scheme = SCHEME.match(reference)
        if package:
            candidates = self._in_packages(package[1], unquote(package[2]))
            missing = f"a file under a root; roots are {', '.join(map(str, self.roots))}{self._hint(*package.groups())}"
        elif scheme:
            raise OutsideError(f"file {reference!r} is not taken from {scheme[1]}:", INSIDE)
        else:
            candidates = [folder / reference for folder in folders]
            missing = "a file that exists"
        outside = None
        for candidate in candidates:
            try:
                real = Path(os.path.realpath(candidate))
            except (OSError, ValueError):
                continue
            if not any(real.is_relative_to(root) for root in self.roots):
                outside = real
            elif os.path.lexists(real):
                return real
        if outside is not None:
            raise OutsideError(f"file {reference!r} leads out of the declared roots", INSIDE)
        raise FileProblemError(f"file {reference!r} is not found", missing)

    def _in_packages(self, package: str, rest: str) -> list[Path]:
        named = [root / rest for root in self.roots if root.name == package]
        return named + [root / package / rest for root in self.roots]

    def _hint(self, package: str, rest: str) -> str:
        """Which folder above the model's would do as a root, if any; it is not taken by itself."""
        around = [up for up in self.folder.parents if os.path.lexists(up / package / unquote(rest))]
        return f"; with roots=[{str(around[0])!r}], or --root on the command line, it would be found" if around else ""

    def read(self, path: Path, limit: int) -> bytes:
        self.count += 1
        if self.count > MAX_FILES:
            raise FileProblemError(f"refers to more than {MAX_FILES} files", f"at most {MAX_FILES} files")
        try:
            data = read_regular(path, limit)
        except FileProblemError as problem:
            raise FileProblemError(f"file {path.name!r} {problem.reason}", problem.allowed) from None
        self.bytes += len(data)
        if self.bytes > MAX_TOTAL_BYTES:
            raise FileProblemError(
                f"files add up to more than {MAX_TOTAL_BYTES} bytes", f"at most {MAX_TOTAL_BYTES} bytes"
            )
        return data
