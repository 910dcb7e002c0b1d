"""A scene that runs: the simulation, its views and reports, snapshots, whole trajectories.

What needs kernels is loaded when it is used: the precision can be chosen until then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sharnir.simulation.simulation import Report as Report
    from sharnir.simulation.simulation import Saved as Saved
    from sharnir.simulation.simulation import Settings as Settings
    from sharnir.simulation.simulation import Simulation as Simulation

__all__ = ["Report", "Saved", "Settings", "Simulation"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from sharnir.simulation import simulation

        return getattr(simulation, name)
    raise AttributeError(f"module 'sharnir.simulation' has no attribute {name!r}")
