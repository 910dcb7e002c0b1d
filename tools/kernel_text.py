"""Compare the generated kernel text of two versions of the package, with identifiers normalised.

    python tools/kernel_text.py BASE HEAD [--single] [--show KERNEL]

BASE and HEAD are commits or folders. For every kernel of each version Warp's C++ (CPU) and CUDA text is generated,
comments and line markers are dropped, and identifiers are numbered in the order in which they appear. Equal text is
equal behaviour on every machine: the proof for a move or a rename. Nothing is compiled and no GPU is needed.
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
from collections import Counter
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
    isnan copysign clock64 data shape strides ndim x y z w
    """.split()
)
TOKEN = re.compile(
    r"(?P<comment>//[^\n]*|/\*.*?\*/|#line[^\n]*)|(?P<name>(?:wp::)?[A-Za-z_]\w*)|(?P<number>\d[\w.]*(?:[eE][-+]?\d+)?)"
    r"|(?P<string>\"[^\"\n]*\")|(?P<space>\s+)|(?P<other>.)",
    re.DOTALL,
)


def normalise(text: str) -> str:
    """The text without comments, with every free identifier replaced by `id<k>`, k in order of first appearance."""
    numbers: dict[str, str] = {}
    out: list[str] = []
    for token in TOKEN.finditer(text):
        kind, value = token.lastgroup, token.group()
        if kind == "comment":
            continue
        if kind == "space":
            out.append("\n" if "\n" in value else " ")
        elif kind == "name" and not (value in KEPT or value.startswith(("wp::", "__"))):
            out.append(numbers.setdefault(value, f"id{len(numbers)}"))
        else:
            out.append(value)
    return re.sub(r"[ \n]*\n[ \n]*", "\n", "".join(out))


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
    """Normalised text of every kernel that is defined in this process, by kernel and target."""
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
                text = f"{settings}\n" + normalise(builder.codegen(target))
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
    """Print which kernels differ; True if none does. Kernels may have other names: texts are matched."""
    ours, theirs = Counter(head.values()), Counter(base.values())
    new = {name: text for name, text in head.items() if text not in theirs}
    old = {name: text for name, text in base.items() if text not in ours}
    print(f"{len(base)} kernel texts before, {len(head)} after, {len(new)} of them new")
    for name in old:
        print(f"  only before: {name}")
    for name in new:
        print(f"  only after:  {name}")
    for name in new if show else ():
        if show in name and name in base:
            lines = difflib.unified_diff(
                base[name].split("\n"), head[name].split("\n"), "before", "after", "", "", 2, ""
            )
            print("\n".join(list(lines)[:200]))
    return not new and not old and ours == theirs


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
    digest = hashlib.blake2b("".join(sorted(texts[1].values())).encode(), digest_size=8).hexdigest()
    print(f"{'equal' if same else 'DIFFERENT'} ({digest})")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
