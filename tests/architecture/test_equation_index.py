"""What the docs say about the code is true: equations, fields of structs, files, modules and links they name."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import equation_index  # noqa: E402
import struct_tables  # noqa: E402

PAGES = sorted([*(ROOT / "docs").glob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"])
FOLDERS = ("sharnir", "tests", "tools", "examples", "benchmarks", "docs")
OTHERS = {  # names that look like files or folders of the project and are not
    "sharnir/event": "a topic of recordings",
    "sharnir/snapshot": "a topic of recordings",
    "sharnir/state": "a topic of recordings",
    "sharnir/step": "a topic of recordings",
    "sharnir/parts": "a folder in the user's cache",
}
LONG = {"docs/method.md", "docs/experiments.md"}  # pages of which no line is longer than WIDTH


def page_name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def test_the_index_is_up_to_date() -> None:
    text = equation_index.METHOD.read_text()
    assert text == equation_index.with_table(text), "run python tools/equation_index.py"


def test_the_tables_of_structs_are_up_to_date() -> None:
    text = struct_tables.NOTATION.read_text()
    assert text == struct_tables.with_tables(text), "run python tools/struct_tables.py"


def test_every_equation_is_defined_once() -> None:
    defined = equation_index.defined_equations(equation_index.METHOD.read_text())
    assert {number: sections for number, sections in defined.items() if len(sections) != 1} == {}
    assert set(range(1, max(defined) + 1)) - set(defined) == set(equation_index.NOT_USED)


def test_every_equation_cited_is_defined() -> None:
    defined = set(equation_index.defined_equations(equation_index.METHOD.read_text()))
    texts = [*PAGES, ROOT / "CHANGELOG.md", *(p for f in FOLDERS[:-1] for p in (ROOT / f).rglob("*.py"))]
    itself = {Path(__file__).resolve(), ROOT / "tools" / "equation_index.py"}
    for path in texts:
        if path not in itself:
            unknown = equation_index.cited_numbers(path.read_text()) - defined - set(equation_index.NOT_USED)
            assert not unknown, f"{page_name(path)} cites M-{min(unknown)}, which docs/method.md does not define"


def test_every_equation_is_cited_by_code() -> None:
    """NOT_CITED has those that need not be, with reasons, and no others."""
    defined = set(equation_index.defined_equations(equation_index.METHOD.read_text()))
    assert defined - set(equation_index.citations()) == set(equation_index.NOT_CITED)


def test_ranges_and_lists_are_read() -> None:
    assert equation_index.cited_numbers("(M-5..M-7, M-10), M-68 to M-70") == {5, 6, 7, 10, 68, 69, 70}


def test_comments_are_read_as_shape_unit_and_meaning() -> None:
    source = '''
@wp.struct
class A:
    """Of a test."""

    v: array2  # [nv] velocities, m/s or rad/s
    # [2 scalar] how many,
    # and which
    k: ints
    n: int
    point: wp.array(dtype=vec3)  # m
'''
    fields = struct_tables.struct_fields(source, "A")
    assert fields is not None
    assert [(f.name, f.type, f.shape, f.unit, f.meaning) for f in fields] == [
        ("v", "real", "nv", "m/s or rad/s", "velocities"),
        ("k", "int", "2 scalar", "", "how many, and which"),
        ("n", "int", "", "", ""),
        ("point", "vec3", "", "m", ""),
    ]


def named_files(text: str) -> set[str]:
    """Files and folders of the project that a text names by their path; the index of equations included."""
    found = re.findall(rf"(?<![\w/.-])(?:{'|'.join(FOLDERS)})/[\w./-]*", text)
    return {name.rstrip("./") for name in found if not re.search(r"[*<{…]", name)} - set(OTHERS)


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_files_that_a_page_names_exist(page: Path) -> None:
    missing = [name for name in named_files(page.read_text()) if not [*ROOT.glob(name), *ROOT.glob(f"{name}*")]]
    assert not missing, f"{page_name(page)} names {missing}"


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_modules_that_a_page_names_without_folder_exist(page: Path) -> None:
    """`aba.py` or `dynamics/aba.py`: some file of the project has a path that ends so."""
    known = [f"/{path.relative_to(ROOT).as_posix()}" for f in FOLDERS for path in (ROOT / f).rglob("*.py")]
    named = set(re.findall(r"`([\w/]+\.py)\b", page.read_text()))
    missing = [name for name in named if not any(path.endswith(f"/{name}") for path in known)]
    assert not missing, f"{page_name(page)} names {sorted(missing)}"


def resolves(name: str) -> bool:
    """Whether sharnir.a.b.c is a module, or something a module defines or exports."""
    parts = name.split(".")
    path = ROOT / parts[0]
    rest = parts[1:]
    while rest and ((path / rest[0]).is_dir() or (path / f"{rest[0]}.py").exists()):
        path = path / rest.pop(0)
    source = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return not rest or rest[0] in names_of(source.read_text())


def names_of(source: str) -> set[str]:
    """What a module defines at its top, imports or lists, also in tables by which it imports lazily."""
    names: set[str] = set()
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.ImportFrom | ast.Import):
            names |= {alias.asname or alias.name for alias in node.names}
        else:
            names |= {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
            names |= {n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str)}
    return names


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_names_of_the_package_on_a_page_exist(page: Path) -> None:
    found = set(re.findall(r"(?<![\w/.-])sharnir(?:\.[A-Za-z_]\w*)+", page.read_text()))
    missing = [name for name in found if not resolves(name)]
    assert not missing, f"{page_name(page)} names {missing}"


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_links_lead_somewhere(page: Path) -> None:
    for target, anchor in re.findall(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)", page.read_text()):
        path = (page.parent / target).resolve() if target else page
        assert path.exists(), f"{page_name(page)} links to {target}"
        if anchor:
            headings = re.findall(r"^#+ (.*)", path.read_text(), re.M)
            anchors = {equation_index.anchor(heading) for heading in headings}
            assert anchor in anchors, f"{page_name(page)} links to {target}#{anchor}"


@pytest.mark.parametrize("name", sorted(LONG))
def test_lines_of_the_method_fit(name: str) -> None:
    long = [line for line in (ROOT / name).read_text().splitlines() if len(line) > equation_index.WIDTH]
    assert not long
