"""Tables of the fields of kernel structs in docs/notation.md, from the comments of the `@wp.struct` classes.

    python tools/struct_tables.py           write the tables between the markers in docs/notation.md
    python tools/struct_tables.py --check   exit status 1 and a message where a table is out of date

A marker names a class, wherever it is in the package: `<!-- struct State -->` … `<!-- end struct -->`. The comment of a
field is `# [shape] meaning, unit`, all parts optional, behind it or, where it is long, in the lines above it:

    v: array2  # [nv] velocities of the step that led here, m/s or rad/s

The unit is the one part between commas, semicolons or colons that consists of units only.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import sys
import tokenize
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NOTATION = ROOT / "docs" / "notation.md"
_MARKED = re.compile(r"(<!-- struct (\w+) -->\n).*?(<!-- end struct -->)", re.S)
_SHAPE = re.compile(r"^\[([^\]]*)\]\s*")
_BASE = r"(?:kg|rad|m|s|N|J|√J)[²³⁴]?"
_ONE = rf"(?:{_BASE}(?: {_BASE})*|1(?=/))(?:/{_BASE}(?: {_BASE})*)?"
_UNIT = re.compile(rf"^{_ONE}(?:(?: or |, | and ){_ONE})*$")
_TYPES = {"array2": "real", "ints2d": "int", "ints": "int", "indices": "int"}


@dataclass
class Field:
    """A field of a struct as its comment describes it."""

    name: str
    type: str
    shape: str
    unit: str
    meaning: str


def _type(node: ast.expr) -> str:
    """Type of the entries, in a word."""
    text = ast.unparse(node)
    if inside := re.match(r"(?:wp\.)?array\(dtype=([\w.]+)", text):
        text = inside[1]
    return _TYPES.get(text, text.removeprefix("wp."))


def _split(comment: str) -> tuple[str, str, str]:
    """Shape, unit and meaning of a comment."""
    shape = ""
    if found := _SHAPE.match(comment):
        shape, comment = found[1], comment[found.end() :]
    unit = ""
    parts = re.split(r"([,;:] )", comment)  # texts, and what separates them
    units = [k for k in range(0, len(parts), 2) if _UNIT.match(parts[k].strip())]
    if len(units) == 1:  # with several of them it takes the words to tell which is of what
        k = units[0]
        unit = parts[k].strip()
        del parts[max(k - 1, 0) : max(k + 1, 2)]
    return shape, unit, "".join(parts).strip()


def struct_fields(source: str, name: str) -> list[Field] | None:
    """Fields of a `@wp.struct` class of a module; None if it has no such class."""
    for node in ast.parse(source).body:
        if (
            isinstance(node, ast.ClassDef)
            and node.name == name
            and "wp.struct" in map(ast.unparse, node.decorator_list)
        ):
            return _fields(source, node)
    return None


def _fields(source: str, node: ast.ClassDef) -> list[Field]:
    comments = {
        token.start[0]: token.string.lstrip("# ")
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type == tokenize.COMMENT
    }
    found: list[Field] = []
    items = [item for item in node.body if isinstance(item, ast.AnnAssign)]
    lines = source.splitlines()
    for item in items:
        above = []
        line = item.lineno - 1
        while lines[line - 1].lstrip().startswith("#"):
            above.insert(0, comments[line])
            line -= 1
        text = comments.get(item.lineno) or " ".join(above)
        shape, unit, meaning = _split(text)
        found.append(Field(ast.unparse(item.target), _type(item.annotation), shape, unit, meaning))
    return found


def find_struct(name: str) -> list[Field]:
    """Fields of the one struct of this name in the package."""
    found = [
        fields
        for path in sorted((ROOT / "sharnir").rglob("*.py"))
        if f"class {name}" in (source := path.read_text()) and (fields := struct_fields(source, name)) is not None
    ]
    if len(found) != 1:
        raise SystemExit(f"docs/notation.md has a table of struct {name}: {len(found)} classes of that name, not one")
    return found[0]


def table(name: str) -> str:
    """The fields of a struct as a Markdown table."""
    lines = ["| field | type | shape | unit | meaning |", "|---|---|---|---|---|"]
    for field in find_struct(name):
        meaning = field.meaning.replace("|", "\\|")
        if field.type:
            shape = f"[{field.shape}]".replace("|", "\\|") if field.shape else ""
            lines.append(f"| `{field.name}` | {field.type} | {shape} | {field.unit} | {meaning} |")
        else:
            lines.append(f"| | | | | *{meaning}* |")
    return re.sub(r"\| +(?=\|)", "| ", "\n".join(lines))


def with_tables(text: str) -> str:
    """The document with the present tables between its markers."""
    return _MARKED.sub(lambda m: f"{m[1]}\n{table(m[2])}\n\n{m[3]}", text)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--check", action="store_true", help="compare only")
    check = parser.parse_args().check
    old = NOTATION.read_text()
    new = with_tables(old)
    if check:
        if new != old:
            print("A table in docs/notation.md is out of date: run python tools/struct_tables.py", file=sys.stderr)
        return int(new != old)
    NOTATION.write_text(new)
    return 0


if __name__ == "__main__":
    sys.exit(main())
