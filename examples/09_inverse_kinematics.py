"""An arm draws a line on a table: inverse kinematics leads its hand, a wrist sensor keeps it pressed by 8 N."""

import numpy as np

import sharnir as sh

RATE = 200.0  # 1/s, of the controller
STEEL = sh.Material(friction=0.3)

scene = sh.Scene(name="draughtsman")
scene.add(sh.HalfSpace(material=STEEL))
bends = {"base": (0, 0, 1), "shoulder": (0, 1, 0), "elbow": (0, 1, 0), "wrist": (0, 1, 0)}
start = {"base": 0.3, "shoulder": -1.0, "elbow": 1.6, "wrist": 0.6}
below = "world"
for k, (name, axis) in enumerate(bends.items()):
    link = sh.Capsule(radius=0.03, length=0.3, position=(0.15, 0, 0), orientation=(0, 1, 0, 1), mask=0)
    x = 0.35 * max(0, k - 1)
    scene.add(sh.Body(name=f"{name}_link", mass=1.0, shapes=[link], position=(x, 0, 0.4)))
    scene.add(
        sh.Revolute(
            name=name, parent=below, child=f"{name}_link", anchor=(x, 0, 0.4), axis=axis, limits=(-2.8, 2.8),
            position=start[name], damping=20.0, max_speed=3.0,
        )
    )  # fmt: skip
    stiff = {"gain": (3000.0, 0, 0), "bias": (0, -3000.0, 0), "input": start[name]}
    scene.add(sh.Actuator(name=f"{name}_servo", joints=[name], **stiff))
    below = f"{name}_link"
scene.add(sh.Body(name="pen", mass=0.2, shapes=[sh.Sphere(radius=0.02, material=STEEL)], position=(1.1, 0, 0.4)))
scene.add(sh.Fixed(name="holder", parent=below, child="pen"))
scene.add(sh.Sensor(name="cell", kind="wrench", of="holder", rate=RATE, noise=0.02))
scene.add(sh.Sensor(name="table", kind="contact_force", of="pen"))

sim = sh.Simulation(scene, dt=0.002)
wrist = sh.WristForce(sim, "cell")
pen = sh.PositionTask("pen", (0.55, 0.0, 0.02))
upright = sh.AxisTask("pen", (0, 0, -1), axis=(1, 0, 0), priority=1)
ik = sh.InverseKinematics(sim, [pen, upright])
found = ik.solve(sim)
print(f"first pose: pen within {found.errors[0]:.0e} m, upright within {np.degrees(found.errors[1]):.2f}°")
assert found.reached

first, last = np.array([0.5, -0.2, 0.025]), np.array([0.55, 0.25, 0.025])
lower = sh.MinimumJerk(sim.body("pen").position, first, 2.0)
along = sh.MinimumJerk(first, last, 3.0, begin=3.0)
press = sh.Admittance(mass=0.0, damping=600.0, wanted=(0, 0, -8.0))  # a hand that yields at 1/600 m/s per N
q = np.array(sim.model.q0)
forces = []


def draw(sim: sh.Simulation) -> None:
    """Lead the pen along the path, deeper or less deep as the wrist feels it."""
    global q
    wanted = (lower if sim.time < 2.0 else along)(sim.time)
    pen.target, pen.target_rate = wanted.position, wanted.velocity
    if sim.time > 2.0:
        given = press.step(wrist.read(sim)[:3], 1 / RATE)
        pen.target = wanted.position + given.offset * [0, 0, 1]
        forces.append((sim.body("pen").rotation @ sim.sensor("table"))[2])
    q = ik.moved(q, ik.step(q, 1 / RATE), 1 / RATE)
    for name in bends:
        sim.actuator(f"{name}_servo").input = q[sim.model.joint(name).q][0]


sim.add_controller(draw, rate=RATE)
sim.run(6.5)
pressed = np.array(forces[200:])  # once it has settled
print(f"pressed by {pressed.mean():.2f} N on average, {pressed.min():.2f} to {pressed.max():.2f} N")
print(f"the pen is at {np.round(sim.body('pen').position, 4)}, wanted {last}")
assert abs(pressed.mean() - 8.0) < 0.3 and pressed.min() > 4.0
assert np.linalg.norm(sim.body("pen").position[:2] - last[:2]) < 0.01
