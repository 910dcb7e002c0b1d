"""Sensor samples: readings at a rate, delayed, with bias and noise, rounded to the resolution."""

from __future__ import annotations

import zlib
from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np

from sharnir.errors import fail, unknown
from sharnir.model.model import Model, Reals
from sharnir.rotations import quat_multiply, turn_quaternion
from sharnir.sensors.sensors import ideal_reading
from sharnir.spec.sensors import SENSOR_KINDS, Sensor

if TYPE_CHECKING:
    from sharnir.simulation.simulation import Simulation

SAMPLE_TIME_TOLERANCE = 1e-6  # of a period: a sample that is due a rounding error later is due now


def measure(sim: Simulation, sensor: Sensor) -> Any:
    """Take a sample now: ideal reading, bias, noise, resolution. Noise depends on seed, name and time alone, so that
    none of it need be saved."""
    value = ideal_reading(sim, sensor)
    if not (is_nonzero(sensor.noise) or is_nonzero(sensor.bias) or sensor.resolution):
        return value
    size = 3 if sensor.kind == "orientation" else SENSOR_KINDS[sensor.kind][1]
    error = np.broadcast_to(np.asarray(sensor.bias, dtype=float), size)
    if is_nonzero(sensor.noise):
        source = np.random.Philox(
            key=[sensor.seed, zlib.crc32(sensor.name.encode())], counter=[0, 0, 0, round(sim.time * 1e9)]
        )
        error = error + np.random.Generator(source).standard_normal(size) * np.asarray(sensor.noise, dtype=float)
    if sensor.kind == "orientation":
        return quat_multiply(value, turn_quaternion(error))
    value = np.atleast_1d(value) + error
    if sensor.resolution:
        value = sensor.resolution * np.round(value / sensor.resolution)
    return float(value[0]) if size == 1 else value


def is_nonzero(value: Any) -> bool:
    """Whether a number, or one of several, is not zero."""
    return any(value) if isinstance(value, tuple) else value != 0


class Sampler:
    """Samples of those sensors of a model that have a rate or a delay: those that may still be shown."""

    def __init__(self, model: Model) -> None:
        self.sensors = {s.name: s for s in model.sensors if s.rate is not None or s.delay > 0}
        self._kept: dict[str, deque[tuple[float, Any]]] = {name: deque() for name in self.sensors}

    def clear(self) -> None:
        for kept in self._kept.values():
            kept.clear()

    def take(self, sim: Simulation) -> None:
        """Samples that are due, of the present state; and forget those too old to be shown again."""
        for name, sensor in self.sensors.items():
            kept = self._kept[name]
            if not kept or is_due(sensor, kept[-1][0], sim.time):
                kept.append((sim.time, measure(sim, sensor)))
            while len(kept) > 1 and kept[1][0] <= sim.time - sensor.delay + SAMPLE_TIME_TOLERANCE * sim.dt:
                kept.popleft()

    def wait(self, sim: Simulation) -> int:
        """Steps until the next sample is due."""
        if any(sensor.rate is None for sensor in self.sensors.values()):
            return 1
        nexts = (
            (np.floor(sim.time * s.rate + SAMPLE_TIME_TOLERANCE) + 1) / s.rate for s in self.sensors.values() if s.rate
        )
        return max(1, int(np.ceil((min(nexts) - sim.time) / sim.dt - SAMPLE_TIME_TOLERANCE)))

    def shown(self, sim: Simulation, name: str) -> Any:
        """What a sensor shows: the latest sample at least as old as its delay, or its first."""
        self.take(sim)
        value = self._kept[name][0][1]
        return value if isinstance(value, float) else value.copy()

    def saved(self) -> dict[str, Reals]:
        """[samples, 1 + size] times and values, by sensor."""
        return {
            SENSOR_PREFIX + name: np.array([[t, *np.atleast_1d(value)] for t, value in kept]).reshape(
                len(kept), 1 + SENSOR_KINDS[self.sensors[name].kind][1]
            )
            for name, kept in self._kept.items()
        }

    def restore(self, arrays: dict[str, Any]) -> None:
        """Go on from what `saved` returned; from nothing where it is not there, as of a recording's snapshots."""
        for name, kept in self._kept.items():
            kept.clear()
            size = SENSOR_KINDS[self.sensors[name].kind][1]
            rows = np.asarray(arrays.get(SENSOR_PREFIX + name, np.zeros((0, 1 + size))))
            if rows.ndim != 2 or rows.shape[1] != 1 + size:
                raise fail(
                    f"saved state of sensor {name!r}", "has the wrong shape", list(rows.shape), f"[n, {1 + size}]"
                )
            kept.extend((float(row[0]), float(row[1]) if size == 1 else row[1:].copy()) for row in rows)


def is_due(sensor: Sensor, last: float, now: float) -> bool:
    """Whether a sample is due now (s), the last one having been taken at time `last`."""
    if sensor.rate is None:
        return now > last
    return bool(
        np.floor(now * sensor.rate + SAMPLE_TIME_TOLERANCE) > np.floor(last * sensor.rate + SAMPLE_TIME_TOLERANCE)
    )


def create_sampler(model: Model, worlds: int) -> Sampler | None:
    """Sampler of a model's sensors with a rate or a delay; None where there are none."""
    sampler = Sampler(model)
    return sampler if sampler.sensors and worlds == 1 else None


def read_sensor(sim: Simulation, name: str) -> Any:
    """What a sensor shows now: a number or a vector."""
    sensors = sim.model.cache.get("sensors")
    if sensors is None:
        sensors = sim.model.cache["sensors"] = {sensor.name: sensor for sensor in sim.model.sensors}
    if name not in sensors:
        raise unknown("sensor", name, sensors)
    if sim.worlds > 1:
        raise fail(f"sensor {name!r}", "is read of one world", f"{sim.worlds} worlds", "worlds=1")
    sensor = sensors[name]
    if sim.sampler is not None and name in sim.sampler.sensors:
        return sim.sampler.shown(sim, name)
    return measure(sim, sensor)


SENSOR_PREFIX = "sensor:"  # prefix of the names of arrays that hold samples of a sensor
