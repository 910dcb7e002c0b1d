"""URDF files that are refused: name → (text, line, element, fragments of the message)."""

from __future__ import annotations

from bad_mjcf import Case

INERTIAL = '<inertial><mass value="{}"/><inertia ixx="{}" iyy="1" izz="1" ixy="{}" ixz="0" iyz="0"/></inertial>'
LIMIT = '<limit lower="{}" upper="{}" effort="{}" velocity="{}"/>'


def link(name: str, inside: str = "", mass: str = "1", ixx: str = "1", ixy: str = "0") -> str:
    return f'<link name="{name}">{INERTIAL.format(mass, ixx, ixy)}{inside}</link>\n'


def joint(name: str, parent: str, child: str, kind: str = "revolute", axis: str = "0 0 1", inside: str = "") -> str:
    ends = f'<parent link="{parent}"/><child link="{child}"/>'
    limit = inside or LIMIT.format(-1, 1, 5, 2)
    return f'<joint name="{name}" type="{kind}">{ends}<axis xyz="{axis}"/>{limit}</joint>\n'


def robot(*parts: str) -> str:
    return '<robot name="r">\n' + "".join(parts) + "</robot>"


def mesh(file: str) -> str:
    return f'<collision><geometry><mesh filename="{file}"/></geometry></collision>'


A, B, C = link("a"), link("b"), link("c")
CASES: dict[str, Case] = {
    "no_links": ("<robot/>", 1, "robot", ("has no links",)),
    "mass_inf": (robot(link("a", mass="inf")), 2, "mass", ("not a finite number",)),
    "mass_nan": (robot(link("a", mass="nan")), 2, "mass", ("not a finite number",)),
    "mass_word": (robot(link("a", mass="heavy")), 2, "mass", ("'heavy'",)),
    "mass_negative": (robot(link("a", mass="-1")), 2, "mass", ("is negative",)),
    "mass_empty": (robot(link("a", mass="")), 2, "mass", ("0 numbers",)),
    "inertia_nan": (robot(link("a", ixx="nan")), 2, "inertia", ("ixx",)),
    "inertia_negative": (robot(link("a", ixx="-1")), 2, "link", ("not positive", "-1")),
    "inertia_indefinite": (robot(link("a", ixy="3")), 2, "link", ("not positive",)),
    "cycle": (robot(A, B, joint("j", "a", "b"), joint("k", "b", "a")), 5, "joint", ("cycle",)),
    "cycle_beside_root": (
        robot(A, B, C, joint("j", "b", "c"), joint("k", "c", "b")), 6, "joint", ("cycle",)
    ),
    "self_joint": (robot(A, joint("j", "a", "a")), 3, "joint", ("cycle",)),
    "two_parents": (robot(A, B, C, joint("j", "a", "b"), joint("k", "c", "b")), 6, "joint", ("two parents",)),
    "two_roots": (robot(A, B), 3, "link", ("has no parent", "one root link")),
    "missing_parent": (robot(A, B, joint("j", "x", "b")), 4, "joint", ("unknown parent link 'x'",)),
    "missing_child": (robot(A, joint("j", "a", "x")), 3, "joint", ("unknown child link 'x'",)),
    "duplicate_links": (robot(A, A), 3, "link", ("name is taken", "line 2")),
    "duplicate_joints": (robot(A, B, C, joint("j", "a", "b"), joint("j", "b", "c")), 6, "joint", ("name is taken",)),
    "link_without_name": (robot("<link/>\n"), 2, "link", ("has no name",)),
    "lower_above_upper": (
        robot(A, B, joint("j", "a", "b", inside=LIMIT.format(2, 1, 1, 1))), 4, "joint", ("lower > upper",)
    ),
    "limit_nan": (robot(A, B, joint("j", "a", "b", inside=LIMIT.format("nan", 1, 1, 1))), 4, "limit", ("lower",)),
    "limit_inf": (robot(A, B, joint("j", "a", "b", inside=LIMIT.format("-inf", 1, 1, 1))), 4, "limit", ("lower",)),
    "effort_negative": (robot(A, B, joint("j", "a", "b", inside=LIMIT.format(0, 1, -1, 1))), 4, "limit", ("effort",)),
    "velocity_nan": (robot(A, B, joint("j", "a", "b", inside=LIMIT.format(0, 1, 1, "nan"))), 4, "limit", ("velocity",)),
    "axis_zero": (robot(A, B, joint("j", "a", "b", axis="0 0 0")), 4, "joint", ("axis is zero",)),
    "axis_short": (robot(A, B, joint("j", "a", "b", axis="0 1")), 4, "axis", ("2 numbers", "3 numbers")),
    "joint_type": (robot(A, B, joint("j", "a", "b", kind="revolut")), 4, "joint", ("did you mean 'revolute'?",)),
    "unknown_tag": (robot(A, "<lnk/>\n"), 3, "lnk", ("did you mean 'link'?",)),
    "unknown_tag_in_link": (robot(link("a", "<colision/>")), 2, "colision", ("did you mean 'collision'?",)),
    "mimic_missing": (
        robot(A, B, joint("j", "a", "b", inside='<mimic joint="x"/>')), 4, "joint", ("joint to mimic 'x'",)
    ),
    "mimic_self": (robot(A, B, joint("j", "a", "b", inside='<mimic joint="j"/>')), 4, "joint", ("mimics itself",)),
    "mimic_nan": (
        robot(A, B, joint("j", "a", "b", inside='<mimic joint="j" multiplier="nan"/>')), 4, "mimic", ("multiplier",)
    ),
    "origin_inf": (robot(link("a", '<visual><origin xyz="0 inf 0"/></visual>')), 2, "origin", ("xyz",)),
    "two_turns": (
        robot(link("a", '<visual><origin rpy="0 0 1" quat_xyzw="0 0 0 1"/></visual>')), 2, "origin", ("both rpy and",)
    ),
    "quaternion_zero": (
        robot(link("a", '<collision><origin quat_xyzw="0 0 0 0"/></collision>')), 2, "origin", ("quat_xyzw is zero",)
    ),
    "sphere_negative": (
        robot(link("a", '<collision><geometry><sphere radius="-1"/></geometry></collision>')),
        2, "sphere", ("not positive",),
    ),
    "box_without_size": (
        robot(link("a", "<collision><geometry><box/></geometry></collision>")), 2, "box", ("has no size",)
    ),
    "mesh_missing": (robot(link("a", mesh("no.stl"))), 2, "mesh", ("'no.stl' is not found",)),
    "mesh_package": (robot(link("a", mesh("package://p/no.stl"))), 2, "mesh", ("not found", "roots are")),
    "mesh_package_up": (robot(link("a", mesh("package://p/../../../x.stl"))), 2, "mesh", ("leads out",)),
    "mesh_escaped_up": (robot(link("a", mesh("package://p/%2e%2e/%2e%2e/%2e%2e/x.stl"))), 2, "mesh", ("leads out",)),
    "mesh_http": (robot(link("a", mesh("http://x.org/a.stl"))), 2, "mesh", ("http:",)),
    "mesh_absolute": (robot(link("a", mesh("/dev/zero"))), 2, "mesh", ("unknown type",)),
    "mesh_absolute_stl": (robot(link("a", mesh("/x/a.stl"))), 2, "mesh", ("leads out",)),
    "visual_absolute": (
        robot(link("a", mesh("/x/a.stl").replace("collision", "visual"))), 2, "mesh", ("leads out",)
    ),
    "option_nan": (robot('<mujoco><option timestep="nan"/></mujoco>\n', A), 2, "option", ("timestep",)),
    "timestep_zero": (robot('<mujoco><option timestep="0"/></mujoco>\n', A), 2, "option", ("timestep",)),
    "size_nkey": (robot('<mujoco><size nkey="2000000000"/></mujoco>\n', A), 2, "size", ("nkey",)),
    "long_chain": (
        robot(*(link(f"l{k}") for k in range(1500)), *(joint(f"j{k}", f"l{k}", f"l{k + 1}") for k in range(1499))),
        1003, "link", ("more than 1000 joints",),
    ),
}  # fmt: skip
