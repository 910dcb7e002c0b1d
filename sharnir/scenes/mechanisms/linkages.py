"""Mechanisms with closed loops."""

from __future__ import annotations

from sharnir.scenes.mechanisms.chains import UPWARD, count
from sharnir.scenes.parts import untouched
from sharnir.spec.elements import Body, Frame, Spring
from sharnir.spec.joints import Revolute
from sharnir.spec.scene import WORLD, Scene


def n_four_bar(n: int = 2) -> Scene:
    """N coupled four-bars (IFToMM A02): n + 1 uprights and n couplers, 1 m and 1 kg each, set moving at 1 m/s."""
    n = count("n_four_bar", n)
    about = (1 / 12, 1 / 12, 1 / 12)
    scene = Scene(name="n_four_bar")
    for k in range(n + 1):
        scene.add(Body(name=f"upright{k}", mass=1.0, inertia=about, position=(float(k), 0.0, 0.5)))
    for k in range(n):
        scene.add(Body(name=f"coupler{k}", mass=1.0, inertia=about, position=(k + 0.5, 0.0, 1.0)))
    for k in range(n + 1):
        anchor = (float(k), 0.0, 0.0)
        scene.add(
            Revolute(name=f"ground{k}", parent=WORLD, child=f"upright{k}", anchor=anchor, axis=UPWARD, velocity=-1.0)
        )
    for k in range(n):
        left, right = (float(k), 0.0, 1.0), (k + 1.0, 0.0, 1.0)
        scene.add(
            Revolute(name=f"left{k}", parent=f"upright{k}", child=f"coupler{k}", anchor=left, axis=UPWARD, velocity=1.0)
        )
        scene.add(Revolute(name=f"right{k}", parent=f"coupler{k}", child=f"upright{k + 1}", anchor=right, axis=UPWARD))
    return untouched(scene)


# Andrews' squeezing mechanism, as in the test set for IVP solvers (Bari): SI units.
_GROUND = {"O": (0.0, 0.0), "A": (-0.06934, -0.00227), "B": (-0.03635, 0.03273), "C": (0.014, 0.072)}
_D, _DA, _E, _EA, _RR, _RA = 0.028, 0.0115, 0.02, 0.01421, 0.007, 0.00092
_SS, _SA, _SB, _SC, _SD = 0.035, 0.01874, 0.01043, 0.018, 0.02
_TA, _TB, _U, _UA, _UB, _ZF, _ZT, _FA = 0.02308, 0.00916, 0.04, 0.01228, 0.00449, 0.02, 0.04, 0.01421
_MASS = (0.04325, 0.00365, 0.02373, 0.00706, 0.0705, 0.00706, 0.05498)
_INERTIA = (2.194e-6, 4.41e-7, 5.255e-6, 5.667e-7, 1.169e-5, 5.667e-7, 1.912e-5)
_START = (
    -0.06171389001427645, 0.0, 0.45527981916307037, 0.22266839016588588, 0.48736497954384256, -0.22266839016588588,
    1.2305474445498212,
)  # fmt: skip


def _point(x: float, y: float) -> Frame:
    return Frame(anchor=(x, y, 0.0))


def andrews() -> Scene:
    """Andrews' squeezing mechanism: seven bodies, three loops, a spring, driven by 0.033 N m for 0.03 s."""
    scene = Scene(name="andrews", gravity=(0.0, 0.0, 0.0))
    centres = (
        (_RA, 0.0), (-_DA, 0.0), (_SB, -_SA), (0.0, _EA - _E), (_TB, _TA), (_ZF - _FA, 0.0), (_UB, -_UA),
    )  # fmt: skip
    for k, (mass, inertia, centre) in enumerate(zip(_MASS, _INERTIA, centres, strict=True)):
        about = (inertia, inertia, inertia)
        scene.add(Body(name=f"K{k + 1}", mass=mass, center_of_mass=(*centre, 0.0), inertia=about))
    beta, theta, gamma, phi, delta, omega, epsilon = _START
    here = _point(0.0, 0.0)
    hinges = (
        ("beta", WORLD, "K1", _point(*_GROUND["O"]), beta),
        ("theta", "K1", "K2", _point(_RR, 0.0), theta),
        ("gamma", WORLD, "K3", _point(*_GROUND["B"]), gamma),
        ("delta", WORLD, "K5", _point(*_GROUND["A"]), delta),
        ("phi", "K5", "K4", _point(_ZT, 0.0), phi),
        ("epsilon", WORLD, "K7", _point(*_GROUND["A"]), epsilon),
        ("omega", "K7", "K6", _point(0.0, -_U), omega),
    )
    for name, parent, child, place, start in hinges:
        effort = 0.033 if name == "beta" else 0.0
        scene.add(
            Revolute(
                name=name,
                parent=parent,
                child=child,
                parent_frame=place,
                child_frame=here,
                position=start,
                effort=effort,
            )
        )
    for other, end in (("K3", _point(0.0, -_SS)), ("K4", _point(0.0, -_E)), ("K6", _point(_ZF, 0.0))):
        tip = _point(-_D, 0.0)
        scene.add(Revolute(name=f"tip_{other}", parent="K2", child=other, parent_frame=tip, child_frame=end))
    scene.add(
        Spring(
            name="spring",
            parent=WORLD,
            child="K3",
            parent_anchor=(*_GROUND["C"], 0.0),
            child_anchor=(_SD, -_SC, 0.0),
            stiffness=4530.0,
            length=0.07785,
        )
    )
    return untouched(scene)
