"""MJCF files that are refused: name → (text, line, element, fragments of the message)."""

from __future__ import annotations

WORLD = "<mujoco>\n<worldbody>\n{}\n</worldbody>\n{}\n</mujoco>"
BODY = '<body name="a">\n<joint name="j" {}/>\n<geom size="0.1" {}/>\n{}\n</body>'
Case = tuple[str, int | None, str, tuple[str, ...]]


def world(joint: str = "", geom: str = "", inside: str = "", after: str = "") -> str:
    """A world with one body on lines 3 to 7; `after` is on line 9."""
    return WORLD.format(BODY.format(joint, geom, inside), after)


def asset(text: str, body: str = "") -> str:
    return WORLD.format(body, f"<asset>{text}</asset>")


CASES: dict[str, Case] = {
    "mass_inf": (world(geom='mass="inf"'), 5, "geom", ("mass is not finite", "'inf'")),
    "mass_nan": (world(geom='mass="NaN"'), 5, "geom", ("mass is not finite",)),
    "mass_infinity": (world(geom='mass="-Infinity"'), 5, "geom", ("mass is not finite",)),
    "mass_overflow": (world(geom='mass="1e999"'), 5, "geom", ("mass is not finite",)),
    "mass_negative": (world(geom='mass="-1"'), 5, "geom", ("negative",)),
    "mass_beyond_double": (world(inside='<geom size="1e200" density="1e10"/>'), 6, "geom", ("out of range", "1e+50")),
    "mass_of_digits": (world(geom=f'mass="{"9" * 60}"'), 5, "geom", ("out of range",)),
    "density_negative": (world(geom='density="-1"'), 5, "geom", ("negative",)),
    "size_negative": (world(inside='<geom size="-1"/>'), 6, "geom", ("must be positive",)),
    "inertial_nan": (world(inside='<inertial pos="0 0 0" mass="1" diaginertia="1 nan 1"/>'), 6, "inertial", ("diag",)),
    "inertia_not_positive": (
        world(inside='<inertial pos="0 0 0" mass="1" fullinertia="1 1 1 2 0 0"/>'), 3, "body", ("eigenvalues",)
    ),
    "inertia_triangle": (
        world(inside='<inertial pos="0 0 0" mass="1" diaginertia="1 1 9"/>'), 3, "body", ("A + B >= C",)
    ),
    "inertia_negative": (world(inside='<inertial pos="0 0 0" mass="1" diaginertia="1 1 -1"/>'), 3, "body", ()),
    "no_mass": (WORLD.format('<body name="m"><joint/></body>', ""), 3, "body", ("mass and inertia",)),
    "timestep_zero": (world(after='<option timestep="0"/>'), 9, "option", ("timestep is '0'", "> 0")),
    "timestep_nan": (world(after='<option timestep="nan"/>'), 9, "option", ("timestep is not finite",)),
    "timestep_negative": (world(after='<option timestep="-0.01"/>'), 9, "option", ("timestep", "> 0")),
    "gravity_inf": (world(after='<option gravity="0 0 -inf"/>'), 9, "option", ("gravity is not finite",)),
    "axis_zero": (world(joint='axis="0 0 0"'), 4, "joint", ("axis is zero",)),
    "axis_short": (world(joint='axis="0 1"'), 4, "joint", ("not have enough data",)),
    "axis_word": (world(joint='axis="0 1 up"'), 4, "joint", ("bad format", "axis")),
    "range_reversed": (world(joint='range="2 1"'), 4, "joint", ("lower > upper", "lower <= upper")),
    "range_nan": (world(joint='range="nan 1"'), 4, "joint", ("range is not finite",)),
    "joint_type": (world(joint='type="hing"'), 4, "joint", ("type",)),
    "quat_zero": (world(inside='<site quat="0 0 0 0"/>'), None, "", ()),
    "unknown_element": (world(inside="<goem/>"), 6, "goem", ("unrecognized element",)),
    "unknown_attribute": (world(joint='dampnig="1"'), 4, "joint", ("unrecognized attribute", "dampnig")),
    "unknown_class": (world(joint='class="no"'), 4, "joint", ("class",)),
    "duplicate_names": (WORLD.format('<body name="a"/>\n<body name="a"/>', ""), 4, "body", ("repeated name 'a'",)),
    "missing_joint": (world(after='<actuator><motor joint="no"/></actuator>'), 9, "motor", ("'no'",)),
    "ctrlrange_reversed": (
        world(after='<actuator><motor joint="j" ctrlrange="1 -1"/></actuator>'), 9, "motor", ("lower > upper",)
    ),
    "missing_body": (world(after='<equality><weld body1="a" body2="no"/></equality>'), 9, "weld", ("'no'",)),
    "key_too_long": (world(after='<keyframe><key name="k" qpos="1 2"/></keyframe>'), 9, "key", ("qpos",)),
    "replicate_1e9": (
        WORLD.format('<replicate count="1000000000"><geom size="1"/></replicate>', ""), 3, "replicate", ("1e+09",)
    ),
    "replicate_nested": (
        WORLD.format("<replicate count='1000'>" * 4 + '<geom size="1"/>' + "</replicate>" * 4, ""), 3, "replicate", ()
    ),
    "flexcomp_count": (
        WORLD.format('<body><flexcomp type="grid" count="9999 9999 9999" dim="3"/></body>', ""), 3, "flexcomp", ()
    ),
    "hfield_1e5": (
        asset('<hfield name="h" nrow="100000" ncol="100000" size="1 1 1 1"/>'), 5, "hfield", ("100000 x 100000",)
    ),
    "hfield_negative": (asset('<hfield name="h" nrow="-5" ncol="7" size="1 1 1 1"/>'), 5, "hfield", ()),
    "texture_huge": (
        asset('<texture name="t" type="2d" builtin="flat" width="16000" height="16000"/>'), 5, "texture", ("16000",)
    ),
    "nkey": (world(after='<size nkey="2000000000"/>'), 9, "size", ("nkey", "at most")),
    "nuserdata": (world(after='<size nuserdata="2000000000"/>'), 9, "size", ("nuserdata",)),
    "memory": (world(after='<size memory="1P"/>'), 9, "size", ("memory",)),
    "numeric_size": (world(after='<custom><numeric name="n" size="2000000000"/></custom>'), 9, "numeric", ("size",)),
    "numeric_nan": (world(after='<custom><numeric name="n" data="nan"/></custom>'), 9, "numeric", ("not finite",)),
    "nsample": (
        world(after='<sensor><jointpos joint="j" nsample="2000000000" interval="1"/></sensor>'), 9, "jointpos", ()
    ),
    "mesh_vertex_nan": (asset('<mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 nan"/>'), 5, "mesh", ("not finite",)),
    "mesh_index": (
        asset('<mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 1" face="0 1 9"/>', '<geom type="mesh" mesh="m"/>'),
        5, "mesh", ("index",),
    ),
    "mesh_flat": (
        asset('<mesh name="m" vertex="0 0 0 1 0 0 0 1 0 1 1 0"/>', '<body><geom type="mesh" mesh="m"/></body>'),
        5, "mesh", (),
    ),
    "plugin": (world(after='<extension><plugin plugin="evil.code"/></extension>'), 9, "plugin", ("evil.code",)),
    "include_missing": ('<mujoco>\n<include file="no.xml"/>\n</mujoco>', 2, "include", ("'no.xml' is not found",)),
    "include_self": ('<mujoco>\n<include file="model.xml"/>\n</mujoco>', 2, "include", ("includes itself",)),
    "include_up": ('<mujoco>\n<include file="../../../etc/passwd"/>\n</mujoco>', 2, "include", ("leads out",)),
    "include_absolute": ('<mujoco>\n<include file="/etc/passwd"/>\n</mujoco>', 2, "include", ("leads out",)),
    "mesh_absolute": (asset('<mesh file="/etc/passwd.stl"/>'), 5, "mesh", ("leads out of the declared roots",)),
    "mesh_up": (asset('<mesh file="../../../../x.stl"/>'), 5, "mesh", ("leads out of the declared roots",)),
    "meshdir_up": (
        WORLD.format("", '<compiler meshdir="/etc"/>\n<asset><mesh file="x.stl"/></asset>'), 6, "mesh", ("leads out",)
    ),
    "mesh_http": (asset('<mesh file="http://x.org/a.stl"/>'), 5, "mesh", ("http:",)),
    "mesh_file_url": (asset('<mesh file="file:///etc/a.stl"/>'), 5, "mesh", ("file:",)),
    "mesh_missing": (asset('<mesh file="no.stl"/>'), 5, "mesh", ("'no.stl' is not found",)),
    "mesh_type": (asset('<mesh file="a.exe"/>'), 5, "mesh", ("unknown type 'exe'", "stl")),
    "mesh_content": (asset('<mesh file="a.stl" content_type="model/usd"/>'), 5, "mesh", ("unknown type 'model/usd'",)),
    "model_self": (asset('<model name="m" file="model.xml"/>'), 5, "model", ("attaches itself",)),
    "root": ("<html/>", 1, "html", ("is no robot model", "<mujoco>")),
    "deep": (WORLD.format("<body>" * 20000 + "</body>" * 20000, ""), 3, "body", ("nested", "deep")),
    "truncated": (world()[:60], 5, "", ("not well-formed",)),
    "mismatched": ("<mujoco>\n<worldbody>\n</mujoco>", 3, "", ("mismatched tag",)),
    "two_roots": ("<mujoco/>\n<mujoco/>", 2, "", ("not well-formed",)),
    "duplicate_attribute": ('<mujoco>\n<option timestep="1" timestep="2"/></mujoco>', 2, "", ("duplicate attribute",)),
    "empty": ("", None, "", ("is empty",)),
    "blank": (" \n\n ", None, "", ("is empty",)),
    "text": ("hello", 1, "", ("not well-formed",)),
    "doctype": ("<!DOCTYPE mujoco>\n<mujoco/>", 1, "", ("DTD",)),
    "entity": ('<!DOCTYPE m [<!ENTITY a "b">]>\n<mujoco>&a;</mujoco>', 1, "", ("DTD",)),
    "laughs": (
        '<!DOCTYPE m [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]>\n<mujoco model="&b;"/>', 1, "", ("DTD",)
    ),
    "external_entity": ('<!DOCTYPE m [<!ENTITY a SYSTEM "file:///x">]>\n<mujoco>&a;</mujoco>', 1, "", ("DTD",)),
    "undefined_entity": ("<mujoco>\n&nope;</mujoco>", 2, "", ("undefined entity",)),
}  # fmt: skip
