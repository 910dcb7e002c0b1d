"""Scene files written by hand: a bad one is refused by name, layout does not matter."""

import os
from contextlib import contextmanager

import pytest

from sharnir import Body, Box, Frame, ModelError, Planar, Scene, compile
from sharnir.spec import toml_text
from sharnir.spec.file import MAX_ELEMENTS, scene_from

HEAD = 'format = "sharnir-scene"\nversion = 1\n'
BODY = '[[body]]\nname = "a"\nmass = 1.0\n'
JOINT = '[[joint]]\ntype = "revolute"\nname = "j"\nparent = "world"\nchild = "a"\n'
SPRING = '[[spring]]\nname = "s"\nparent = "world"\nchild = "a"\n'
MOTOR = '[[motor]]\nname = "m"\njoint = "j"\n'
BAD_FILES = {
    "empty": ("", ["format = 'sharnir-scene'", "allowed"]),
    "binary": (bytes(range(256)), ["not TOML", "allowed"]),
    "invalid UTF-8": (b'format = "\xff\xfe"', ["not TOML", "allowed"]),
    "UTF-16": (HEAD.encode("utf-16"), ["not TOML", "allowed"]),
    "invalid TOML": (HEAD + "gravity = = 1\n", ["not TOML", "line 3", "allowed"]),
    "unclosed text": (HEAD + 'name = "abc\n', ["not TOML", "line 3", "allowed"]),
    "JSON": ('{"format": "sharnir-scene"}', ["not TOML", "allowed"]),
    "nested too deep": (HEAD + "gravity = " + "[" * 5000 + "]" * 5000, ["allowed"]),
    "too many digits": (HEAD + "gravity = [0, 0, " + "9" * 5000 + "]\n", ["allowed"]),
    "key twice": (HEAD + BODY + "mass = 2.0\n", ["not TOML", "line 6", "allowed"]),
    "section twice": (HEAD + "[body]\n[body]\n", ["not TOML", "body", "allowed"]),
    "no format": ("version = 1\n", ["format = 'sharnir-scene'", "allowed"]),
    "other format": ('format = "other"\nversion = 1\n', ["format = 'sharnir-scene'", "allowed"]),
    "no version": ('format = "sharnir-scene"\n', ["version", "None", "allowed: 1"]),
    "later version": ('format = "sharnir-scene"\nversion = 2\n', ["version", "given 2", "allowed: 1"]),
    "version as text": ('format = "sharnir-scene"\nversion = "1"\n', ["version", "given '1'", "allowed: 1"]),
    "version as bool": ('format = "sharnir-scene"\nversion = true\n', ["version", "given True", "allowed: 1"]),
    "unknown key": (HEAD + "gravty = [0, 0, 0]\n", ["unknown key 'gravty'", "did you mean 'gravity'?"]),
    "unknown section": (HEAD + '[[bodies]]\nname = "a"\n', ["unknown key 'bodies'", "did you mean 'body'?"]),
    "unknown key of a body": (HEAD + BODY + "dencity = 1\nmas = 1\n", ["body 'a'", "unknown key 'dencity'"]),
    "misspelt key of a body": (HEAD + BODY + "possition = [0, 0, 0]\n", ["body 'a'", "did you mean 'position'?"]),
    "misspelt key of a joint": (HEAD + JOINT + "dampng = 1\n", ["joint 'j'", "did you mean 'damping'?"]),
    "misspelt key of a spring": (HEAD + SPRING + "stifness = 1\n", ["spring 's'", "did you mean 'stiffness'?"]),
    "key of another joint type": (HEAD + JOINT + "pitch = 1\n", ["joint 'j'", "unknown key 'pitch'"]),
    "unknown joint type": (HEAD + JOINT.replace("revolute", "revolut"), ["joint 'j'", "did you mean 'revolute'?"]),
    "joint type as number": (HEAD + JOINT.replace('"revolute"', "5"), ["joint 'j'", "type", "5", "revolute"]),
    "no joint type": (HEAD + JOINT.replace('type = "revolute"\n', ""), ["joint 'j'", "type", "revolute"]),
    "unknown shape type": (HEAD + BODY + 'shapes = [{ type = "spere", radius = 1 }]\n', ["body 'a'", "'sphere'?"]),
    "unknown key of a shape": (HEAD + BODY + 'shapes = [{ type = "sphere", radus = 1 }]\n', ["body 'a'", "'radius'?"]),
    "unknown key of a frame": (HEAD + JOINT + "parent_frame = { ankor = [0, 0, 0] }\n", ["joint 'j'", "'anchor'?"]),
    "name missing": (HEAD + "[[body]]\nmass = 1.0\n", ["body 0", "name is missing"]),
    "child missing": (HEAD + JOINT.replace('child = "a"\n', ""), ["joint 'j'", "child is missing"]),
    "pitch missing": (HEAD + JOINT.replace("revolute", "helical"), ["joint 'j'", "pitch is missing"]),
    "radius missing": (HEAD + BODY + 'shapes = [{ type = "sphere" }]\n', ["body 'a'", "radius is missing"]),
    "body not a list": (HEAD + '[body]\nname = "a"\n', ["body", "allowed: [[body]]"]),
    "body a number": (HEAD + "body = 5\n", ["body", "allowed: [[body]]"]),
    "body a list of numbers": (HEAD + "body = [5]\n", ["body", "allowed: [[body]]"]),
    "scene name a number": (HEAD + "name = 5\n", ["name", "given 5", "allowed"]),
    "body name a number": (HEAD + BODY.replace('"a"', "5"), ["body 5", "name", "given 5", "allowed"]),
    "parent a list": (HEAD + JOINT.replace('"world"', '["world"]'), ["joint 'j'", "parent", "['world']", "allowed"]),
    "misspelt key of a motor": (HEAD + MOTOR + "max_forse = 1\n", ["motor 'm'", "did you mean 'max_force'?"]),
    "joint of a motor missing": (HEAD + MOTOR.replace('joint = "j"\n', ""), ["motor 'm'", "joint is missing"]),
    "joint of a motor a number": (HEAD + MOTOR.replace('"j"', "5"), ["motor 'm'", "joint", "given 5", "allowed"]),
    "velocity as text": (HEAD + MOTOR + 'velocity = "1"\n', ["motor 'm'", "velocity", "given '1'", "allowed"]),
    "follower missing": (HEAD + '[[coupling]]\nname = "c"\nleader = "j"\n', ["coupling 'c'", "follower is missing"]),
    "unknown shape of the world": (HEAD + '[[shape]]\ntype = "halfspace"\n', ["shape 0", "'half_space'?"]),
    "shape without a type": (HEAD + "[[shape]]\nradius = 1\n", ["shape 0", "type", "sphere"]),
    "limit_angles a number": (HEAD + JOINT + "limit_angles = 5\n", ["joint 'j'", "limit_angles", "5", "allowed"]),
    "limits with text": (HEAD + JOINT + 'limits = ["0", 1]\n', ["joint 'j'", "limits", "given '0'", "allowed"]),
    "mass as text": (HEAD + BODY.replace("1.0", '"1.0"'), ["body 'a'", "mass", "given '1.0'", "allowed"]),
    "mass as bool": (HEAD + BODY.replace("1.0", "true"), ["body 'a'", "mass", "given True", "allowed"]),
    "mass as date": (HEAD + BODY.replace("1.0", "2024-01-01"), ["body 'a'", "mass", "2024", "allowed"]),
    "mass as table": (HEAD + BODY.replace("1.0", "{ kg = 1 }"), ["body 'a'", "mass", "{'kg': 1}", "allowed"]),
    "gravity as text": (HEAD + 'gravity = "down"\n', ["gravity", "given 'down'", "allowed"]),
    "gravity with text": (HEAD + 'gravity = [0, 0, "9.81"]\n', ["gravity", "given '9.81'", "allowed"]),
    "shapes a number": (HEAD + BODY + "shapes = 5\n", ["body 'a'", "shapes", "given 5", "allowed"]),
    "shapes a list of numbers": (HEAD + BODY + "shapes = [5]\n", ["body 'a'", "shapes", "given [5]", "allowed"]),
    "frame a list": (HEAD + JOINT + "child_frame = [0, 0, 0]\n", ["joint 'j'", "child_frame", "[0, 0, 0]", "allowed"]),
    "number of 400 digits": (HEAD + BODY.replace("1.0", "9" * 5000), ["allowed"]),
    "version of 400 digits": (HEAD.replace("= 1", "= " + "9" * 400), ["version", "999…", "allowed: 1"]),
    "list in a list": (HEAD + "gravity = " + "[" * 90 + "1" + "]" * 90, ["gravity", "allowed: a number"]),
    "anchor as text": (HEAD + JOINT + 'child_frame = { anchor = "x" }\n', ["joint 'j'", "anchor", "'x'", "allowed"]),
}  # fmt: skip


@contextmanager
def refused(*fragments):
    """The block raises a ModelError of one line that holds all fragments; anything else fails the test."""
    with pytest.raises(ModelError) as caught:
        yield
    message = str(caught.value)
    assert "\n" not in message
    for fragment in fragments:
        assert fragment in message, message


@pytest.mark.parametrize("case", BAD_FILES)
def test_a_bad_file_is_refused_by_name(case, tmp_path):
    content, fragments = BAD_FILES[case]
    path = tmp_path / "scene.toml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with refused(f"scene file {path}", *fragments):
        Scene.load(path)


def test_a_missing_file_is_refused_by_name(tmp_path):
    path = tmp_path / "none.toml"
    with refused(f"scene file {path}", "No such file", "allowed"):
        Scene.load(path)


def test_a_folder_is_refused_by_name(tmp_path):
    with refused(f"scene file {tmp_path}", "is a folder", "allowed"):
        Scene.load(tmp_path)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root reads everything")
def test_a_file_without_permission_is_refused_by_name(tmp_path):
    path = tmp_path / "scene.toml"
    path.write_text(HEAD)
    path.chmod(0)
    with refused(f"scene file {path}", "Permission denied", "allowed"):
        Scene.load(path)


def test_a_byte_order_mark_does_not_matter(tmp_path):
    path = tmp_path / "scene.toml"
    path.write_text(HEAD + BODY, encoding="utf-8-sig")
    assert Scene.load(path).bodies == [Body(name="a", mass=1.0)]


def test_windows_line_ends_do_not_matter(tmp_path):
    path = tmp_path / "scene.toml"
    path.write_bytes((HEAD + BODY).replace("\n", "\r\n").encode())
    assert Scene.load(path).bodies == [Body(name="a", mass=1.0)]


@pytest.mark.parametrize(
    ("content", "fragments"),
    [
        (BODY.replace("1.0", "nan"), ["body 'a'", "mass", "nan", "allowed"]),
        (BODY.replace("1.0", "-inf"), ["body 'a'", "mass", "-inf", "allowed"]),
        (BODY.replace("1.0", "[1.0]"), ["body 'a'", "mass", "(1.0,)", "allowed"]),
        (BODY.replace("1.0", "1" + 400 * "0"), ["body 'a'", "mass", "allowed"]),
        (BODY + "position = [0, nan, 0]\n", ["body 'a'", "position", "nan", "allowed"]),
        ("gravity = [0, 0, nan]\n" + BODY, ["gravity", "nan", "allowed"]),
        (BODY + JOINT + "axis = [0, 0, 0]\n", ["joint 'j'", "axis is zero", "allowed"]),
        (BODY + BODY, ["body 'a'", "taken", "allowed"]),
        (BODY + JOINT + JOINT, ["joint 'j'", "taken", "allowed"]),
        (BODY + JOINT.replace('"a"', '"b"'), ["joint 'j'", "unknown body 'b'", "Known: world, a"]),
    ],
    ids=[
        "nan",
        "inf",
        "list",
        "huge",
        "nan in a vector",
        "gravity",
        "axis",
        "body twice",
        "joint twice",
        "unknown body",
    ],
)
def test_bad_values_in_a_good_file_are_refused_by_the_compiler(content, fragments, tmp_path):
    path = tmp_path / "scene.toml"
    path.write_text(HEAD + content)
    scene = Scene.load(path)
    with refused(*fragments):
        compile(scene)


def test_integers_and_hand_written_layout_are_read(tmp_path):
    path = tmp_path / "scene.toml"
    path.write_text(
        HEAD + "gravity = [0, 0, -10] # moon\n\n"
        '[[joint]]\nchild = "a"\nparent = "world"\nname = \'j\'\ntype = "planar"\n'
        "parent_frame.anchor = [1, 0, 0]\n[joint.child_frame]\naxis = [0, 1, 0]\n"
        '[[body]]\nname = "a"\nmass = 2\n[[body.shapes]]\ntype = "box"\nsize = [\n  1,\n  2,\n  3,\n]\n'
    )
    scene = Scene.load(path)
    assert scene == Scene(
        gravity=(0, 0, -10),
        bodies=[Body(name="a", mass=2, shapes=[Box(size=(1, 2, 3))])],
        joints=[
            Planar(
                name="j",
                parent="world",
                child="a",
                parent_frame=Frame(anchor=(1, 0, 0)),
                child_frame=Frame(axis=(0, 1, 0)),
            )
        ],
    )
    assert compile(scene).nv == 3


TOO_MUCH = {
    "dotted key": (b"a." * 500 + b"a = 1", "key of more than 100 parts"),
    "dotted key with spaces": (b"a\t. " * 500 + b"a = 1", "key of more than 100 parts"),
    "dotted table": (b"[" + b"a." * 500 + b"a]", "key of more than 100 parts"),
    "many dotted keys": (b"a.b.c.d = 1\n" * 30_000, "65536 dots in its keys"),
    "quoted parts": (b'a.",".' * 2000 + b"a = 1", "quoted parts"),
    "quoted parts with spaces": (b"',' . " * 2000 + b"a = 1", "quoted parts"),
    "tables": (b"[[a]]\n" * 2_200_000, "4400002 entries"),
    "lists": (b"a = [" + b"[]," * 4_200_000 + b"]", "entries"),
    "bytes": (b"#" * (toml_text.MAX_BYTES + 1), f"more than {toml_text.MAX_BYTES}"),
}


@pytest.mark.parametrize("case", TOO_MUCH)
def test_what_would_cost_gigabytes_or_hours_is_refused_before_it_is_parsed(case, tmp_path, monkeypatch):
    monkeypatch.setattr(toml_text.tomllib, "loads", lambda text: pytest.fail("it was parsed"))
    content, fragment = TOO_MUCH[case]
    with refused("scene.toml", fragment, "allowed"):
        scene_from(HEAD.encode() + content, tmp_path / "scene.toml")


def test_elements_are_counted(tmp_path):
    few = HEAD + '[[body]]\nname = "a"\nmass = 1.0\nshapes = [' + '{type = "sphere", radius = 1.0},' * 3 + "]\n"
    assert len(scene_from(few.encode(), tmp_path / "x.toml").bodies) == 1
    many = HEAD + BODY + "shapes = [" + "{}," * MAX_ELEMENTS + "]\n"
    with refused(f"has {MAX_ELEMENTS + 1} elements", "allowed"):
        scene_from(many.encode(), tmp_path / "x.toml")


def test_ordinary_numbers_dots_and_depths_are_not_too_much():
    ordinary = b"a = [" + b"0.5, -1.25e-3, +1_0.0," * 50_000 + b"]\nb.c.d = 1\n'e.f' = \"a. b. c.\"\n[x.y.z]\n"
    assert not list(toml_text.excesses(ordinary * 2))


def test_pipes_and_devices_are_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.toml")
    for path in (tmp_path / "pipe.toml", "/dev/zero"):
        with refused("regular file"):
            Scene.load(path)
