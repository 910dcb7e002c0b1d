"""Tree algorithms on arrays that stay on a device: build once, fill q, v, …, call, read the results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import warp as wp

from sharnir.dynamics.energy import TOTALS_SIZE
from sharnir.dynamics.tree import allocate_workspace, upload_tree
from sharnir.enums import ExternalForces
from sharnir.errors import fail, shown, unknown
from sharnir.kernels.columns import allocate_columns
from sharnir.kernels.launch import Graphs
from sharnir.kernels.objects import Kernel
from sharnir.kernels.types import np_real, real

if TYPE_CHECKING:
    from sharnir.model.model import Model

TREE_KERNELS = {
    name: Kernel("sharnir.dynamics.kernels", f"{name}_kernel")
    for name in ("aba", "bodies", "crba", "jacobian", "passive", "rnea", "totals", "whitened")
}


def require_model(model: Any) -> Model:
    """Return the model, or raise a ModelError if it is none."""
    from sharnir.model.model import Model

    if not isinstance(model, Model):
        raise fail("dynamics", "not a model", shown(model), "what sharnir.compile returns")
    return model


def require_device(device: Any) -> str:
    """Return the name of a device, or raise a ModelError if Warp does not know it here."""
    known = [d.alias for d in wp.get_devices()]
    if not isinstance(device, str) or device not in known:
        raise unknown("device", device, known)
    return device


class Dynamics:
    """One model, `worlds` states on one device. Arrays are `[item, world]` Warp arrays of the process's precision.

    q [nq], v [nv], tau [nv], f_ext [6 nb] (force, torque about the centre of mass, world axes) are inputs; every
    method runs a captured graph and leaves its result in the array it returns.
    """

    def __init__(self, model: Model, worlds: int = 1, device: str = "cpu") -> None:
        if isinstance(worlds, bool) or not isinstance(worlds, (int, np.integer)) or not 1 <= worlds < 2**31:
            raise fail("Dynamics", "worlds is out of range", shown(worlds), "a whole number ≥ 1")
        self.model, self.worlds, self.device = require_model(model), int(worlds), require_device(device)
        key = ("tree", device)
        if key not in model.cache:
            model.cache[key] = upload_tree(model, device)
        self.tree = model.cache[key]
        on_gpu = wp.get_device(device).is_cuda
        self.workspace = allocate_workspace(model, self.worlds if on_gpu else 1, device)
        self.q = self.array(model.nq)
        self.v = self.array(model.nv)
        self.a = self.array(model.nv)
        self.tau = self.array(model.nv)
        self.f_ext = self.array(6 * model.nb)
        self._results: dict[str, wp.array] = {}
        self._graphs = Graphs(device)

    def array(self, rows: int) -> wp.array:
        """A zeroed array [rows, worlds] on the device."""
        return allocate_columns(rows, self.worlds, self.device)

    def _result(self, name: str, rows: int) -> wp.array:
        if name not in self._results:
            self._results[name] = self.array(rows)
        return self._results[name]

    def launch(self, key: Any, kernel: Any, arguments: list[Any]) -> None:
        """Run a kernel over all worlds from a captured graph."""
        self._graphs.launch(key, kernel, self.worlds, arguments)

    def aba(self, loaded: int = ExternalForces.NONE) -> wp.array:
        """q̈ [nv] from q, v, tau; `loaded` (an ExternalForces) says what else acts. Leaves the
        factor of M⁻¹ in the workspace."""
        args = [self.tree, self.workspace, self.q, self.v, self.tau, self.f_ext, loaded, self.a]
        self.launch(("aba", loaded), TREE_KERNELS["aba"], args)
        return self.a

    def rnea(self, loaded: int = ExternalForces.NONE) -> wp.array:
        """tau [nv] from q, v, a, loaded as in `aba`; also leaves the joints' wrenches."""
        args = [self.tree, self.workspace, self.q, self.v, self.a, self.f_ext, loaded, self.tau, self.wrench]
        self.launch(("rnea", loaded), TREE_KERNELS["rnea"], args)
        return self.tau

    @property
    def wrench(self) -> wp.array:
        """[6 nb] (force, torque about the link frame's origin) each joint exerts on its link, set by `rnea`."""
        return self._result("wrench", 6 * self.model.nb)

    def crba(self) -> wp.array:
        """Mass matrix [nv·nv] at q."""
        M = self._result("crba", self.model.nv**2)
        self.launch("crba", TREE_KERNELS["crba"], [self.tree, self.workspace, self.q, self.v, M])
        return M

    def whitened(self) -> wp.array:
        """W [nv·nv] with M⁻¹ = W Wᵀ at q: the factor of the articulated-body algorithm applied to unit forces."""
        W = self._result("whitened", self.model.nv**2)
        args = [self.tree, self.workspace, self.q, self.v, self.tau, W]
        self.launch("whitened", TREE_KERNELS["whitened"], args)
        return W

    def jacobian(self, link: int, point: np.ndarray) -> wp.array:
        """[6·nv] velocity of a point (m, link frame) and angular velocity of a link, world axes, by v."""
        J = self._result("jacobian", 6 * self.model.nv)
        if "link" not in self._results:
            self._results["link"] = wp.zeros(1, dtype=int, device=self.device)
            self._results["point"] = wp.zeros((3, 1), dtype=real, device=self.device)
        self._results["link"].assign(np.array([link], dtype=np.int32))
        self._results["point"].assign(np.asarray(point, dtype=np_real).reshape(3, 1))
        args = [self.tree, self.workspace, self.q, self.v, self._results["link"], self._results["point"], J]
        self.launch("jacobian", TREE_KERNELS["jacobian"], args)
        return J

    def totals(self) -> wp.array:
        """[12] mass, first moment, kinetic and potential energy, linear and angular momentum (about the origin)."""
        out = self._result("totals", TOTALS_SIZE)
        self.launch("totals", TREE_KERNELS["totals"], [self.tree, self.workspace, self.q, self.v, out])
        return out

    def passive(self) -> wp.array:
        """[nv] joint forces of springs, dampers and constant efforts at q, v."""
        tau = self._result("passive", self.model.nv)
        self.launch("passive", TREE_KERNELS["passive"], [self.tree, self.q, self.v, tau])
        return tau

    def bodies(self) -> tuple[wp.array, wp.array, wp.array]:
        """Body frames at q, v: position [3 nb], rotation matrix [9 nb], velocity and angular velocity [6 nb]."""
        nb = self.model.nb
        out = self._result("position", 3 * nb), self._result("rotation", 9 * nb), self._result("velocity", 6 * nb)
        self.launch("bodies", TREE_KERNELS["bodies"], [self.tree, self.workspace, self.q, self.v, *out])
        return out
