"""Check the rules of kernel code: few parameters, named slots, one value for a constant's name.

    python tools/check_kernels.py [FOLDER …]

FOLDER are folders or files of the package to report on, all by default. Reported, by file and line:

- a `wp.func` with more than MAX_PARAMETERS parameters (kernels and native functions may have more),
- an integer above MAX_INDEX in a subscript, or in the item argument of an accessor of `sharnir.kernels.columns`, or in
  the value of a local variable that such an index is computed from,
- an UPPER_CASE name that is defined with several values in the engine.

Exit status 1 if anything is reported.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "sharnir"
ENGINE = ("kernels", "dynamics", "collision", "impulse", "exact")  # folders with kernel code
KERNEL_FILES = ("control/*_kernels.py",)
CONSTANT_FOLDERS = (*ENGINE, "geometry")
MAX_PARAMETERS = 6
MAX_INDEX = 2  # components of a vector
ACCESSORS = {
    *("get", "put", "get3", "put3", "get33", "put33", "get6", "put6", "get_int", "put_int"),
    *("item", "set_item", "item3", "set_item3", "item_int", "set_item_int"),
}
ITEM = 1  # which argument of an accessor is the item
CONSTANT = re.compile(r"_?[A-Z][A-Z0-9_]*$")
Finding = tuple[Path, int, str]


def files(folders: tuple[str, ...], patterns: tuple[str, ...] = ()) -> list[Path]:
    """Modules of folders of the package, and those that match a pattern."""
    found = {path for folder in folders for path in (PACKAGE / folder).rglob("*.py")}
    return sorted(found | {path for pattern in patterns for path in PACKAGE.glob(pattern)})


def dotted(node: ast.expr) -> str:
    """`wp.func` of a decorator `@wp.func` or `@wp.func(…)`."""
    return ast.unparse(node.func if isinstance(node, ast.Call) else node)


def kernel_functions(tree: ast.Module) -> Iterator[tuple[ast.FunctionDef, str]]:
    """Functions compiled by Warp from Python, with `wp.func` or `wp.kernel`: decorated, or given to it by name."""
    made: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and dotted(node) in ("wp.func", "wp.kernel"):
            made |= {argument.id: dotted(node) for argument in node.args[:1] if isinstance(argument, ast.Name)}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            kinds = [name for name in map(dotted, node.decorator_list) if name in ("wp.func", "wp.kernel")]
            if not node.decorator_list and node.name in made:
                kinds = [made[node.name]]
            yield from ((node, kind) for kind in kinds)


def check_parameters(path: Path, tree: ast.Module) -> Iterator[Finding]:
    """Functions with many parameters."""
    for function, kind in kernel_functions(tree):
        count = len(function.args.posonlyargs) + len(function.args.args) + len(function.args.kwonlyargs)
        if kind == "wp.func" and count > MAX_PARAMETERS:
            yield path, function.lineno, f"{function.name} has {count} parameters, more than {MAX_PARAMETERS}"


def index_expressions(function: ast.FunctionDef) -> Iterator[ast.expr]:
    """Subscripts and item arguments in the body of a function."""
    for statement in function.body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Subscript):
                yield node.slice
            elif isinstance(node, ast.Call) and ast.unparse(node.func) in ACCESSORS and len(node.args) > ITEM:
                yield node.args[ITEM]


def assignments(function: ast.FunctionDef) -> Iterator[tuple[str, ast.expr]]:
    """Local variables of a function and the values assigned to them, `x += value` included. Bounds of `for` loops are
    no values of their variable."""
    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                names = target.elts if isinstance(target, ast.Tuple) else [target]
                yield from ((name.id, node.value) for name in names if isinstance(name, ast.Name))
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            yield node.target.id, node.value


def operands(expression: ast.expr) -> Iterator[ast.expr]:
    """The expression and all parts from which its value is computed: neither conditions, nor what is indexed, nor the
    modulus of `(k + 1) % 3`, the cycle of a vector's components."""
    yield expression
    for name, value in ast.iter_fields(expression):
        is_modulus = name == "right" and isinstance(expression, ast.BinOp) and isinstance(expression.op, ast.Mod)
        is_indexed = name == "value" and isinstance(expression, ast.Subscript)
        if is_modulus or is_indexed or isinstance(expression, ast.Compare):
            continue
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, ast.expr):
                yield from operands(part)


def index_sources(function: ast.FunctionDef) -> list[tuple[str, ast.expr]]:
    """Index expressions of a function, and the values of the local variables they are computed from; each with its
    text."""
    assigned = list(assignments(function))
    sources = [(ast.unparse(expression), expression) for expression in index_expressions(function)]
    followed: set[str] = set()
    for _, expression in sources:  # grows
        names = {node.id for node in operands(expression) if isinstance(node, ast.Name)} - followed
        followed |= names
        sources += [(f"{name} = {ast.unparse(value)}", value) for name, value in assigned if name in names]
    return sources


def check_indices(path: Path, tree: ast.Module) -> Iterator[Finding]:
    """Bare integers in index expressions and in what these are computed from."""
    seen: set[tuple[int, int]] = set()
    for function, _ in kernel_functions(tree):
        for text, expression in index_sources(function):
            for node in operands(expression):
                if not isinstance(node, ast.Constant) or type(node.value) is not int or node.value <= MAX_INDEX:
                    continue
                if (node.lineno, node.col_offset) not in seen:
                    seen.add((node.lineno, node.col_offset))
                    yield path, node.lineno, f"{node.value} in an index expression: {text}"


def constants(tree: ast.Module) -> Iterator[tuple[str, int, str]]:
    """Name, line and value (its text) of every constant defined at the top of a module."""
    for node in tree.body:
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        for target in targets:
            if isinstance(target, ast.Name) and CONSTANT.match(target.id) and node.value is not None:
                yield target.id, node.lineno, value_of(node.value)
            elif isinstance(target, ast.Tuple) and node.value is not None:
                for k, name in enumerate(target.elts):
                    if isinstance(name, ast.Name) and CONSTANT.match(name.id):
                        parts = node.value.elts if isinstance(node.value, ast.Tuple) else None
                        yield name.id, node.lineno, value_of(parts[k]) if parts else f"{ast.unparse(node.value)}[{k}]"


def value_of(node: ast.expr) -> str:
    """Text of a value without `wp.constant`."""
    if isinstance(node, ast.Call) and dotted(node) == "wp.constant" and node.args:
        return ast.unparse(node.args[0])
    return ast.unparse(node)


def check_constants(trees: dict[Path, ast.Module]) -> Iterator[Finding]:
    """Names of constants with several values."""
    found: dict[str, list[tuple[str, Path, int]]] = {}
    for path, tree in trees.items():
        for name, line, value in constants(tree):
            if not name.startswith("_"):  # private to its module
                found.setdefault(name, []).append((value, path, line))
    for name, places in found.items():
        if len({value for value, _, _ in places}) > 1:
            for value, path, line in places:
                yield path, line, f"{name} = {value}, and it has other values elsewhere"


def main() -> int:
    paths = sorted({*files(ENGINE, KERNEL_FILES), *files(CONSTANT_FOLDERS)})
    trees = {path: ast.parse(path.read_text(), str(path)) for path in paths}
    findings: list[Finding] = list(check_constants({p: trees[p] for p in files(CONSTANT_FOLDERS)}))
    for path in files(ENGINE, KERNEL_FILES):
        findings += [*check_parameters(path, trees[path]), *check_indices(path, trees[path])]
    chosen = [Path(argument).resolve() for argument in sys.argv[1:]]
    shown = [f for f in sorted(findings) if not chosen or any(c in (f[0], *f[0].parents) for c in chosen)]
    for path, line, text in shown:
        print(f"{path.relative_to(ROOT)}:{line}: {text}")
    print(f"{len(shown)} findings in {len(paths)} modules")
    return 1 if shown else 0


if __name__ == "__main__":
    sys.exit(main())
