"""Compare the generated kernel text of two versions of the package, with identifiers normalised.

    python tools/kernel_text.py BASE HEAD [--single] [--show KERNEL]

BASE and HEAD are commits or folders. For every kernel of each version Warp's C++ (CPU) and CUDA text is generated,
comments and line markers are dropped, and texts are compared token by token up to a one-to-one change of names. Equal
text is equal behaviour on every machine: the proof for a move or a rename. Nothing is compiled and no GPU is needed.
"""

from __future__ import annotations

import argparse
import difflib
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

TARGETS = ("cpu", "cuda")
# Names that mean something to the compiler: everything else is a name that we, or Warp for us, have chosen.
KEPT = set(
    """
    alignas auto bool break case char class const constexpr continue default do double else enum extern false float for
    goto if inline int int8_t int16_t int32_t int64_t long namespace nullptr operator private public return short signed
    sizeof static static_assert struct switch template this true typedef typename uint8_t uint16_t uint32_t uint64_t
    union unsigned using void volatile while threadIdx blockIdx blockDim gridDim size_t defined ifdef ifndef endif elif
    define undef include pragma ext_vector_type aligned fabs fabsf sqrt sqrtf fmin fmax sin cos tan exp log pow isfinite
    isnan copysign clock64
    """.split()
)
TOKEN = re.compile(
    r"(?P<comment>//[^\n]*|/\*.*?\*/|#line[^\n]*)|(?P<name>(?:wp::)?[A-Za-z_]\w*)|(?P<number>\d[\w.]*(?:[eE][-+]?\d+)?)"
    r"|(?P<string>\"[^\"\n]*\")|(?P<space>\s+)|(?P<other>->|.)",
    re.DOTALL,
)


def tokens_of(text: str) -> list[str]:
    """Tokens of C++ text without comments and white space; a name that we have chosen starts with `$`."""
    out: list[str] = []
    for token in TOKEN.finditer(text):
        kind, value = token.lastgroup, token.group()
        if kind == "name" and not (value in KEPT or value.startswith(("wp::", "__"))):
            out.append("$" + value)
        elif kind not in ("comment", "space"):
            out.append(value)
    return inline_constants(out)


def inline_constants(tokens: list[str]) -> list[str]:
    """Tokens with `const wp::T name = value;` dropped and the name replaced by its value: how often Warp declares the
    same constant depends on how it is spelled."""
    out: list[str] = []
    values: dict[str, list[str]] = {}
    depth = k = 0
    while k < len(tokens):
        if tokens[k] == "const" and depth and tokens[k + 1].startswith("wp::") and tokens[k + 3] == "=":
            end = tokens.index(";", k)
            values[tokens[k + 2]] = tokens[k + 4 : end]
            k = end + 1
            continue
        depth += (tokens[k] == "{") - (tokens[k] == "}")
        if depth == 0:
            values = {}
        out += values.get(tokens[k], [tokens[k]])
        k += 1
    return out


def shape_of(tokens: list[str]) -> str:
    """Digest of the tokens with all chosen names alike: texts that are equal up to names have equal shapes."""
    plain = " ".join("$" if token.startswith("$") else token for token in tokens)
    return hashlib.blake2b(plain.encode(), digest_size=16).hexdigest()


class Renaming:
    """Whether two texts of equal shape are equal up to names: one-to-one for functions and structs over the whole text,
    for other names within each definition; fields must be pairs that a struct's definition has."""

    def __init__(self) -> None:
        self.globals: tuple[dict[str, str], dict[str, str]] = ({}, {})
        self.locals: tuple[dict[str, str], dict[str, str]] = ({}, {})
        self.fields: set[tuple[str, str]] = set()

    def agrees(self, old: list[str], new: list[str]) -> bool:
        depth, in_struct = 0, False
        for k, (a, b) in enumerate(zip(old, new, strict=True)):
            before = old[k - 1] if k else ""
            if a.startswith("$"):
                if not self._pair(a, b, before, old[k + 1 : k + 2], depth, in_struct):
                    return False
                continue
            in_struct = in_struct or (a == "struct" and depth == 0)
            depth += (a == "{") - (a == "}")
            if depth == 0 and a in ";}":
                self.locals, in_struct = ({}, {}), False
        return True

    def _pair(self, a: str, b: str, before: str, after: list[str], depth: int, in_struct: bool) -> bool:
        if before in (".", "->"):
            return a == b or (a, b) in self.fields or self._known(self.locals, a, b)
        if a in self.globals[0] or b in self.globals[1]:
            return self._known(self.globals, a, b)
        if depth == 0 and (before == "struct" or after == ["("]):
            return self._add(self.globals, a, b)
        if in_struct and depth == 1:
            self.fields.add((a, b))
        return self._add(self.locals, a, b)

    @staticmethod
    def _known(maps: tuple[dict[str, str], dict[str, str]], a: str, b: str) -> bool:
        return maps[0].get(a) == b and maps[1].get(b) == a

    @staticmethod
    def _add(maps: tuple[dict[str, str], dict[str, str]], a: str, b: str) -> bool:
        return maps[0].setdefault(a, b) == b and maps[1].setdefault(b, a) == a


def import_package() -> None:
    """Import every module of the package on the path: importing defines its kernels."""
    import importlib
    import pkgutil

    import sharnir

    for module in pkgutil.walk_packages(sharnir.__path__, "sharnir."):
        if module.name.endswith(("__main__", "_process", ".child", ".parts_child", ".process")):
            continue
        try:
            importlib.import_module(module.name)
        except ImportError as error:
            print(f"not imported: {module.name}: {error}", file=sys.stderr)


def kernel_texts() -> dict[str, str]:
    """Text of every kernel that is defined in this process, by kernel and target."""
    from warp._src import context

    out: dict[str, str] = {}
    for module in list(context.user_modules.values()):
        for kernel in module._get_live_kernels():
            if not kernel.func.__module__.startswith("sharnir"):
                continue
            for target in TARGETS:
                options = {**module.options, "output_arch": None}
                options.setdefault("block_dim", 256)
                builder = context.ModuleBuilder(
                    module, options, hasher=context.ModuleHasher([kernel], options), target=target
                )
                settings = sorted((k, str(v)) for k, v in {**module.options, **kernel.options}.items())
                text = f"{settings}\n" + builder.codegen(target)
                name = f"{kernel.key} {target}"
                while name in out:
                    name += "'"
                out[name] = text
    return out


def generate(folder: Path, single: bool, out: Path) -> dict[str, str]:
    """Texts of the version in `folder`, made by a process of its own."""
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONHASHSEED": "0"}
    if single:
        environment["SHARNIR_PRECISION"] = "single"
    command = [sys.executable, str(Path(__file__).resolve()), "--worker", str(out)]
    subprocess.run(command, env=environment, cwd=folder, check=True)
    return json.loads(out.read_text())


def checkout(version: str, into: Path) -> Path:
    """The folder of a version: itself, or a work tree of that commit."""
    if Path(version).is_dir():
        return Path(version).resolve()
    subprocess.run(["git", "worktree", "add", "--quiet", "--detach", str(into), version], check=True)
    return into


def compare(base: dict[str, str], head: dict[str, str], show: str) -> bool:
    """Print which kernels differ; True if none does. Kernels may have other names: texts are matched by their shape."""
    old = {name: tokens_of(text) for name, text in base.items()}
    new = {name: tokens_of(text) for name, text in head.items()}
    shapes: dict[str, list[str]] = {}
    for name, tokens in old.items():
        shapes.setdefault(shape_of(tokens), []).append(name)
    unmatched, pairs = [], []
    for name, tokens in new.items():
        partners = shapes.get(shape_of(tokens), [])
        partner = next((p for p in partners if Renaming().agrees(old[p], tokens)), None)
        if partner is None:
            unmatched.append(name)
        else:
            partners.remove(partner)
            pairs.append((partner, name))
    left = [name for names in shapes.values() for name in names]
    print(f"{len(base)} kernel texts before, {len(head)} after, {len(pairs)} equal up to names")
    for word, names in (("only before", left), ("only after", unmatched)):
        for name in names:
            print(f"  {word}: {name}")
    for name in unmatched if show else ():
        if show in name and name in old:
            print("\n".join(difference(old[name], new[name])))
    return not left and not unmatched


def difference(old: list[str], new: list[str]) -> list[str]:
    """Where two texts of unlike shape differ, a statement a line, names alike."""
    plain = [" ".join("$" if t.startswith("$") else t for t in tokens) for tokens in (old, new)]
    lines = [text.replace(";", ";\n").split("\n") for text in plain]
    return list(difflib.unified_diff(*lines, "before", "after", n=2, lineterm=""))[:200]  # enough to see what it is


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("versions", nargs="*", metavar="BASE HEAD")
    parser.add_argument("--single", action="store_true", help="single precision")
    parser.add_argument("--show", default="", help="print the differences of kernels whose name has this in it")
    parser.add_argument("--worker", default="", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        import_package()
        Path(arguments.worker).write_text(json.dumps(kernel_texts()))
        return 0
    if len(arguments.versions) != 2:
        parser.error("two versions are compared")
    with tempfile.TemporaryDirectory() as folder:
        texts = []
        for k, version in enumerate(arguments.versions):
            tree = checkout(version, Path(folder) / f"tree{k}")
            texts.append(generate(tree, arguments.single, Path(folder) / f"texts{k}.json"))
            if not Path(version).is_dir():
                subprocess.run(["git", "worktree", "remove", "--force", str(tree)], check=True)
        same = compare(texts[0], texts[1], arguments.show)
    print("equal" if same else "DIFFERENT")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
