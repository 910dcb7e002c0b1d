"""Index of the equations of docs/method.md: number, section, and the files and functions that cite it.

    python tools/equation_index.py           write the table between the markers in docs/method.md
    python tools/equation_index.py --check   exit status 1 and a message where the table is out of date

An equation is defined where an indented line of docs/method.md begins with its number, "(M-7)". It is cited by
docstrings and comments of sharnir/**/*.py, as M-7, or within a range, M-5..M-10 or M-68 to M-72. A citation belongs to
the innermost function or class around it; one in a module's docstring counts for the file, unless a function of that
file cites the same number.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import sys
import tokenize
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
METHOD = ROOT / "docs" / "method.md"
BEGIN = "<!-- equation index: written by tools/equation_index.py -->"
END = "<!-- end of equation index -->"
WIDTH = 120  # columns

NOT_USED = {
    29: "never given to an equation",
    58: "restitution as target velocities, which created energy",
    59: "the same, lowered where its work was positive",
    104: "never given to an equation",
}
NOT_CITED = {  # defined, but cited by no docstring of the package: why
    81: "closed form that tests compare the engine with",
}

_CITED = re.compile(r"\bM-(\d+)(?:\s*(?:\.\.|…|–|to)\s*\(?M-(\d+))?")
_DEFINED = re.compile(r"^ {4,}\(M-(\d+)\)")
_HEADING = re.compile(r"^(#{2,3}) (.*)")

Places = dict[int, dict[str, set[str]]]  # number → file → functions; "" for the file as a whole


def cited_numbers(text: str) -> set[int]:
    """Numbers of all equations a text cites."""
    numbers: set[int] = set()
    for first, last in _CITED.findall(text):
        numbers |= set(range(int(first), int(last or first) + 1))
    return numbers


def defined_equations(text: str) -> dict[int, list[str]]:
    """Equation number → headings of the sections that define it; one each if all is well."""
    found: dict[int, list[str]] = defaultdict(list)
    section = ""
    for line in text.splitlines():
        if heading := _HEADING.match(line):
            section = heading[2]
        elif equation := _DEFINED.match(line):
            found[int(equation[1])].append(section)
    return dict(found)


def _texts(source: str) -> Iterator[tuple[int, str, bool]]:
    """Line, text, and whether it is the module's docstring, of every docstring and comment."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node, clean=False):
            yield node.body[0].lineno, ast.get_docstring(node, clean=False) or "", isinstance(node, ast.Module)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string, False


def _owner(tree: ast.Module, line: int) -> str:
    """Innermost function or class around a line, with the class it belongs to; "" for the module."""
    name, first = "", 0
    spans: list[tuple[int, int, str]] = []

    def visit(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.ClassDef | ast.FunctionDef):
                full = f"{prefix}{child.name}"
                spans.append((child.lineno, child.end_lineno or child.lineno, full))
                visit(child, f"{full}.")
            else:
                visit(child, prefix)

    visit(tree, "")
    for start, end, full in spans:
        if start <= line <= end and start > first:
            name, first = full, start
    return name


def citations(package: Path = ROOT / "sharnir") -> Places:
    """Where the package cites each equation."""
    found: Places = defaultdict(lambda: defaultdict(set))
    for path in sorted(package.rglob("*.py")):
        source = path.read_text()
        if "M-" not in source:
            continue
        tree, file = ast.parse(source), path.relative_to(ROOT).as_posix()
        for line, text, whole in _texts(source):
            for number in cited_numbers(text):
                found[number][file].add("" if whole else _owner(tree, line))
    return found


def anchor(heading: str) -> str:
    """Anchor that Markdown viewers give a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def _rows(number: int, sections: list[str], places: dict[str, set[str]]) -> Iterator[str]:
    """Rows of the table for one equation: one a file, more where its functions do not fit."""
    heading = sections[0] if sections else ""
    first = f"M-{number} | [{heading.split()[0].rstrip('.')}](#{anchor(heading)})" if heading else f"M-{number} | –"
    if not places:
        yield f"| {first} | *{NOT_USED.get(number) or NOT_CITED.get(number, 'cited by no code')}* |"
    for file, functions in sorted(places.items()):
        names = sorted(functions - {""}) if functions != {""} else []
        shown = file.removeprefix("sharnir/")
        cell = f"`{shown}`"
        for k, name in enumerate(names):
            more = f"{': ' if k == 0 else ', '}`{name}`"
            if k > 0 and len(f"| {first} | {cell}{more} |") > WIDTH:
                yield f"| {first} | {cell} |"
                first, cell, more = " | ", f"`{shown}`", f": `{name}`"
            cell += more
        yield f"| {first} | {cell} |"
        first = " | "


def table() -> str:
    """The index as a Markdown table."""
    defined, cited = defined_equations(METHOD.read_text()), citations()
    lines = ["| equation | section | where, under sharnir |", "|---|---|---|"]
    for number in sorted({*defined, *NOT_USED}):
        lines += _rows(number, defined.get(number, []), cited.get(number, {}))
    return "\n".join(lines)


def with_table(text: str) -> str:
    """The document with the present table between its markers."""
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        raise SystemExit(f"docs/method.md needs each of these lines once:\n{BEGIN}\n{END}")
    before, rest = text.split(BEGIN)
    return f"{before}{BEGIN}\n\n{table()}\n\n{END}{rest.split(END)[1]}"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--check", action="store_true", help="compare only")
    check = parser.parse_args().check
    old = METHOD.read_text()
    new = with_table(old)
    if check:
        if new != old:
            print("The index in docs/method.md is out of date: run python tools/equation_index.py", file=sys.stderr)
        return int(new != old)
    METHOD.write_text(new)
    return 0


if __name__ == "__main__":
    sys.exit(main())
