"""Dynamics of the spanning tree on numpy arrays, for one world or many, in double or single precision.

Every function takes a Model and arrays [size] for one world or [size, worlds] for many, and returns results with
the same trailing axis. For arrays that stay on a device and calls that copy nothing, use `Dynamics`.

Joint forces here are what is given; springs, dampers and constant efforts of joints are `passive_forces`. Springs
between points act wherever `springs=True`. Loop joints do not act here: they belong to the solvers.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np

# modules whose names functions below have: importing one later would put it in the function's place
import sharnir.dynamics.aba
import sharnir.dynamics.crba
import sharnir.dynamics.jacobian
import sharnir.dynamics.rnea  # noqa: F401
from sharnir.checks import vector
from sharnir.dynamics.energy import TOTALS_SIZE, Total
from sharnir.dynamics.evaluator import Dynamics, require_model
from sharnir.dynamics.loop_closure import close_loops
from sharnir.dynamics.tree import cast_to_precision
from sharnir.enums import ExternalForces
from sharnir.errors import fail, shown
from sharnir.model.model import Model, Reals
from sharnir.spec.elements import plain

MAX_CACHED_EVALUATORS = 4  # evaluators of different world counts cached per model and device


def _evaluator(model: Model, worlds: int, device: str) -> Dynamics:
    cached = model.cache.setdefault(("evaluators", device), OrderedDict())
    if worlds in cached:
        cached.move_to_end(worlds)
    else:
        cached[worlds] = Dynamics(model, worlds, device)
        if len(cached) > MAX_CACHED_EVALUATORS:
            cached.popitem(last=False)
    return cached[worlds]


def _load_inputs(model: Model, device: str, **inputs: Any) -> tuple[Dynamics, bool]:
    """Check the inputs, copy them to a cached evaluator; returns it and whether the inputs had an axis of worlds."""
    require_model(model)
    sizes = {"q": model.nq, "f_ext": 6 * model.nb}
    arrays = {}
    for name, value in inputs.items():
        if name != "f_ext":
            arrays[name] = model.checked(name, value, sizes.get(name, model.nv))
        elif value is not None:
            arrays[name] = model.checked(name, _flat_wrenches(model, value), 6 * model.nb)
    counts = {a.shape[1] if a.ndim == 2 else 1 for a in arrays.values()}
    many = {a.ndim == 2 for a in arrays.values()}
    if len(counts) > 1 or len(many) > 1:
        given = ", ".join(f"{n} {list(a.shape)}" for n, a in arrays.items())
        raise fail(f"model {model.name!r}", "inputs have different numbers of worlds", given, "the same for all")
    evaluator = _evaluator(model, counts.pop(), device)
    for q in model.quaternions:
        lengths = np.linalg.norm(arrays["q"][q : q + 4], axis=0)
        if lengths.min() < 1e-9:
            raise fail(f"model {model.name!r}", f"q[{q}:{q + 4}] is a zero quaternion", 0, "any length but zero")
    for name, array in arrays.items():
        values = np.ascontiguousarray(array if array.ndim == 2 else array[:, None])
        getattr(evaluator, name).assign(cast_to_precision(model, name, values))
    return evaluator, many.pop()


def _flat_wrenches(model: Model, value: Any) -> Reals:
    """[nb, 6] or [nb, 6, worlds] as [6 nb] or [6 nb, worlds]."""
    allowed = f"numbers [{model.nb}, 6] or [{model.nb}, 6, worlds]"
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise fail(f"model {model.name!r}", "f_ext is not made of numbers", shown(value), allowed) from None
    if array.ndim not in (2, 3) or array.shape[:2] != (model.nb, 6):
        raise fail(f"model {model.name!r}", "f_ext has the wrong shape", list(array.shape), allowed)
    return array.reshape(6 * model.nb, *array.shape[2:])


def _read_result(result: Any, many: bool, *shape: int) -> Reals:
    """A result as numpy array [*shape] or, of inputs with an axis of worlds, [*shape, worlds]."""
    array = result.numpy().astype(float)
    worlds = array.shape[1]
    array = array.reshape(*shape, worlds)
    return array if many else array[..., 0]


def aba(
    model: Model, q: Any, v: Any, tau: Any, f_ext: Any = None, *, springs: bool = False, device: str = "cpu"
) -> Reals:
    """Forward dynamics: accelerations v̇ [nv] for joint forces tau [nv] (N, N m), by the articulated-body method.

    f_ext: [nb, 6] force (N) and torque about the centre of mass (N m) on each body, world axes.
    """
    e, many = _load_inputs(model, device, q=q, v=v, tau=tau, f_ext=f_ext)
    return _read_result(e.aba(_external_forces(e, f_ext, springs)), many, model.nv)


def _external_forces(evaluator: Dynamics, f_ext: Any, springs: bool) -> int:
    """Which external forces act, an ExternalForces; zeroes f_ext where only springs do."""
    if f_ext is None and springs:
        evaluator.f_ext.zero_()
    if springs:
        return ExternalForces.WRENCHES_AND_SPRINGS
    return ExternalForces.NONE if f_ext is None else ExternalForces.WRENCHES


def rnea(
    model: Model, q: Any, v: Any, a: Any, f_ext: Any = None, *, springs: bool = False, device: str = "cpu"
) -> Reals:
    """Inverse dynamics: joint forces [nv] that give accelerations a [nv]."""
    return _inverse_dynamics(model, q, v, a, f_ext, springs, device)[0]


def joint_wrenches(
    model: Model, q: Any, v: Any, a: Any, f_ext: Any = None, *, springs: bool = False, device: str = "cpu"
) -> Reals:
    """[nb, 6] force (N) and torque (N m, about the link frame's origin) each joint exerts on its link, world axes."""
    return _inverse_dynamics(model, q, v, a, f_ext, springs, device)[1]


def _inverse_dynamics(
    model: Model, q: Any, v: Any, a: Any, f_ext: Any, springs: bool, device: str
) -> tuple[Reals, Reals]:
    e, many = _load_inputs(model, device, q=q, v=v, a=a, f_ext=f_ext)
    tau = e.rnea(_external_forces(e, f_ext, springs))
    return _read_result(tau, many, model.nv), _read_result(e.wrench, many, model.nb, 6)


def crba(model: Model, q: Any, *, device: str = "cpu") -> Reals:
    """Mass matrix [nv, nv], armature included, by composite rigid bodies."""
    e, many = _load_inputs(model, device, q=q)
    return _read_result(e.crba(), many, model.nv, model.nv)


def whitened(model: Model, q: Any, *, device: str = "cpu") -> Reals:
    """W [nv, nv] with M⁻¹ = W Wᵀ, sparse as the tree: row d is what a unit force on coordinate d does, whitened."""
    e, many = _load_inputs(model, device, q=q)
    return _read_result(e.whitened(), many, model.nv, model.nv)


def jacobian(model: Model, q: Any, body: str, point: Any = (0.0, 0.0, 0.0), *, device: str = "cpu") -> Reals:
    """[6, nv]: velocity (3, m/s) of a point of a body (m, body frame) and its angular velocity (3, rad/s), by v."""
    i = require_model(model).body(body)
    e, many = _load_inputs(model, device, q=q)
    p = vector(f"body {body!r}", "point", plain(point), 3)
    return _read_result(e.jacobian(i, model.body_pos[i] + model.body_rot[i] @ p), many, 6, model.nv)


def passive_forces(model: Model, q: Any, v: Any, *, device: str = "cpu") -> Reals:
    """[nv] joint forces (N, N m) of springs, dampers and constant efforts."""
    e, many = _load_inputs(model, device, q=q, v=v)
    return _read_result(e.passive(), many, model.nv)


def body_poses(model: Model, q: Any, *, device: str = "cpu") -> tuple[Reals, Reals]:
    """Positions [nb, 3] (m) and rotation matrices [nb, 3, 3] of the body frames in the world."""
    e, many = _load_inputs(model, device, q=q)
    position, rotation, _ = e.bodies()
    return _read_result(position, many, model.nb, 3), _read_result(rotation, many, model.nb, 3, 3)


def body_velocities(model: Model, q: Any, v: Any, *, device: str = "cpu") -> Reals:
    """[nb, 6] velocity of each body frame's origin (m/s) and angular velocity (rad/s), world axes."""
    e, many = _load_inputs(model, device, q=q, v=v)
    return _read_result(e.bodies()[2], many, model.nb, 6)


def center_of_mass(model: Model, q: Any, *, device: str = "cpu") -> Reals:
    """[3] of all bodies together, m."""
    e, many = _load_inputs(model, device, q=q)
    return _center_of_mass(_read_result(e.totals(), many, TOTALS_SIZE))


def energy(model: Model, q: Any, v: Any, *, device: str = "cpu") -> tuple[Reals, Reals]:
    """Kinetic and potential energy (J): gravity, zero at the origin, and springs."""
    e, many = _load_inputs(model, device, q=q, v=v)
    sums = _read_result(e.totals(), many, TOTALS_SIZE)
    return sums[Total.KINETIC], sums[Total.POTENTIAL]


def momentum(model: Model, q: Any, v: Any, *, device: str = "cpu") -> tuple[Reals, Reals]:
    """Linear momentum [3] (kg m/s) and angular momentum [3] about the common centre of mass (kg m²/s)."""
    e, many = _load_inputs(model, device, q=q, v=v)
    sums = _read_result(e.totals(), many, TOTALS_SIZE)
    P, L = sums[Total.LINEAR_X : Total.LINEAR_Z + 1], sums[Total.ANGULAR_X : Total.ANGULAR_Z + 1]
    return P, L - np.cross(_center_of_mass(sums), P, axis=0)


def _center_of_mass(sums: Reals) -> Reals:
    """First moment over mass; the origin where there is no mass."""
    mass = sums[Total.MASS]
    return np.asarray(sums[Total.MOMENT_X : Total.MOMENT_Z + 1] / np.where(mass > 0, mass, 1.0))


__all__ = [
    "Dynamics", "aba", "body_poses", "body_velocities", "center_of_mass", "close_loops", "crba", "energy", "jacobian",
    "joint_wrenches", "momentum", "passive_forces", "rnea", "whitened",
]  # fmt: skip
