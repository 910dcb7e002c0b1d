"""Real model files, damaged at random but knowingly: elements, attributes and numbers, and now and then bytes."""

from __future__ import annotations

import copy
import random
import shutil
import xml.etree.ElementTree as ET
from importlib.metadata import files
from importlib.util import find_spec
from pathlib import Path

NUMBERS = (
    "1e6", "1e-6", "3", "-0.1", "1e3", "1e15", "nan", "inf", "-inf", "1e308", "-1e308", "1e-320", "-1", "0", "1e9",
    "2147483648", "-2147483648", "0.5", "1e999",
)  # fmt: skip
WORDS = (
    "", " ", "abc", "../../x", "/dev/zero", "http://a/b.stl", "package://a/b.stl", "💥", "a" * 5000, "&amp;",
    "0x10", "1,2", "%n%s"
)  # fmt: skip
TAGS = (
    "body", "geom", "joint", "link", "include", "mesh", "replicate", "attach", "frame", "default", "freejoint",
    "plugin", "flexcomp", "mujoco", "robot", "x"
)  # fmt: skip
LARGEST = 120_000  # bytes of a file that is damaged


def sources(folder: Path) -> list[Path]:
    """Copies of the model files to damage, each with all it refers to, in folders of their own."""
    found = []
    for package, inside in (
        ("gymnasium", "envs/mujoco/assets"),
        ("dm_control", "suite"),
        ("dm_control", "third_party/kinova"),
    ):
        origin = find_spec(package).submodule_search_locations[0]
        copy = folder / package / inside
        shutil.copytree(Path(origin) / inside, copy, ignore=shutil.ignore_patterns("*.py", "dog*", "__pycache__"))
        found += sorted(copy.glob("*.xml"))
    robots = next(Path(f.locate()).resolve() for f in files("example-robot-data") if f.suffix == ".urdf")
    share = next(p for p in robots.parents if p.name == "example-robot-data")
    for name in (
        "double_pendulum",
        "finger_edu",
        "hector",
        "quadruped",
        "simple_humanoid",
        "solo",
        "bolt",
        "iris",
        "xarm",
    ):
        where = folder / "example-robot-data/robots" / f"{name}_description"
        shutil.copytree(share / "robots" / where.name, where)
        found += sorted(where.rglob("*.urdf"))
    return [path for path in found if path.stat().st_size < LARGEST]


def damaged(path: Path, seed: int) -> bytes:
    """The bytes of a model file after one to three blows."""
    chance = random.Random(seed)
    data = path.read_bytes()
    if chance.random() < 0.1:
        return _bytes(data, chance)
    root = ET.fromstring(data)
    for _ in range(chance.randint(1, 3)):
        chance.choice(BLOWS)(root, chance)
    root.attrib.pop("nested", None)
    data = ET.tostring(root)
    return _bytes(data, chance) if chance.random() < 0.05 else data


def _bytes(data: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(data))
    end = min(len(data), at + chance.randint(1, 200))
    kind = chance.randrange(5)
    if kind == 0:
        return data[:at]
    if kind == 1:
        return data[:at] + data[end:]
    if kind == 2:
        return data[:end] + data[at:]
    if kind == 3:
        return data[:at] + chance.randbytes(end - at) + data[end:]
    flipped = bytearray(data)
    for _ in range(chance.randint(1, 20)):
        flipped[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    return bytes(flipped)


def _pick(root: ET.Element, chance: random.Random) -> ET.Element:
    return chance.choice(list(root.iter()))


def _child(root: ET.Element, chance: random.Random) -> tuple[ET.Element, int] | None:
    parents = [node for node in root.iter() if len(node)]
    if not parents:
        return None
    parent = chance.choice(parents)
    return parent, chance.randrange(len(parent))


def drop_element(root: ET.Element, chance: random.Random) -> None:
    if found := _child(root, chance):
        del found[0][found[1]]


def double_element(root: ET.Element, chance: random.Random) -> None:
    if found := _child(root, chance):
        found[0].insert(found[1], copy.deepcopy(found[0][found[1]]))


def copy_elsewhere(root: ET.Element, chance: random.Random) -> None:
    if found := _child(root, chance):
        _pick(root, chance).append(copy.deepcopy(found[0][found[1]]))


def move_elsewhere(root: ET.Element, chance: random.Random) -> None:
    if found := _child(root, chance):
        node = found[0][found[1]]
        del found[0][found[1]]
        _pick(root, chance).append(node)


def rename_element(root: ET.Element, chance: random.Random) -> None:
    _pick(root, chance).tag = chance.choice(TAGS)


def nest(root: ET.Element, chance: random.Random) -> None:
    if found := _child(root, chance):
        parent, at = found
        levels = (1, 3, 30, 500) if root.get("nested") is None else (1, 3)
        root.set("nested", "")
        for _ in range(chance.choice(levels)):
            outer = ET.Element(parent[at].tag)
            outer.append(parent[at])
            parent[at] = outer


def _attribute(root: ET.Element, chance: random.Random) -> tuple[ET.Element, str] | None:
    nodes = [node for node in root.iter() if node.attrib]
    if not nodes:
        return None
    node = chance.choice(nodes)
    return node, chance.choice(list(node.attrib))


def drop_attribute(root: ET.Element, chance: random.Random) -> None:
    if found := _attribute(root, chance):
        del found[0].attrib[found[1]]


def move_attribute(root: ET.Element, chance: random.Random) -> None:
    if found := _attribute(root, chance):
        _pick(root, chance).set(found[1], found[0].get(found[1], ""))


def change_number(root: ET.Element, chance: random.Random) -> None:
    for _ in range(20):
        found = _attribute(root, chance)
        if found and _is_number(found[0].get(found[1], "x").split()):
            words = found[0].get(found[1], "").split()
            words[chance.randrange(len(words))] = chance.choice(NUMBERS)
            if chance.random() < 0.2:
                words = words * chance.choice((0, 2, 1000))
            found[0].set(found[1], " ".join(words))
            return


def _is_number(words: list[str]) -> bool:
    try:
        return bool([float(word) for word in words])
    except ValueError:
        return False


def swap_alike(root: ET.Element, chance: random.Random) -> None:
    """The value of an attribute goes to another element that has one of that name."""
    if one := _attribute(root, chance):
        others = [node for node in root.iter() if one[1] in node.attrib]
        chance.choice(others).set(one[1], one[0].get(one[1], ""))


def move_to_kin(root: ET.Element, chance: random.Random) -> None:
    """An element goes, or is copied, where elements of its kind may be."""
    if found := _child(root, chance):
        parent, at = found
        child = copy.deepcopy(parent[at])
        if chance.random() < 0.5:
            del parent[at]
        chance.choice([node for node in root.iter() if node.tag == parent.tag]).append(child)


def change_word(root: ET.Element, chance: random.Random) -> None:
    if found := _attribute(root, chance):
        found[0].set(found[1], chance.choice(WORDS + NUMBERS))


def swap_values(root: ET.Element, chance: random.Random) -> None:
    one, other = _attribute(root, chance), _attribute(root, chance)
    if one and other:
        one[0].set(one[1], other[0].get(other[1], ""))


WILD = (
    double_element, copy_elsewhere, move_elsewhere, rename_element, nest, drop_attribute, move_attribute, change_word,
    swap_values,
)  # fmt: skip
BLOWS = WILD + 3 * (drop_element, change_number, change_number, swap_alike, swap_alike, move_to_kin)
