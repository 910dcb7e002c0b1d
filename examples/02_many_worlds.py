"""Forward dynamics of one model in a thousand worlds at once, and the identities that tie the algorithms together."""

import numpy as np

import sharnir as sh
from sharnir import dynamics, scenes

model = sh.compile(scenes.make("rods", n=8))
rng = np.random.default_rng(0)
q, v, tau = (rng.normal(size=(n, 1000)) for n in (model.nq, model.nv, model.nv))  # [coordinate, world]

a = dynamics.aba(model, q, v, tau)  # articulated-body method: no mass matrix is formed
back = dynamics.rnea(model, q, v, a)  # inverse dynamics
M = dynamics.crba(model, q)  # [nv, nv, world]
kinetic, potential = dynamics.energy(model, q, v)
print(f"accelerations {a.shape}, mass matrices {M.shape}")
print(f"inverse of forward dynamics is off by {abs(back - tau).max():.1e} N m")

assert np.allclose(back, tau, atol=1e-9)
assert np.allclose(kinetic, 0.5 * np.einsum("iw,ijw,jw->w", v, M, v))
