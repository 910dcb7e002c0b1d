"""A vehicle on two driven, sprung wheels and a caster: straight on, then round a circle."""

import numpy as np

import sharnir as sh

RADIUS, TREAD = 0.1, 0.4  # m: of a wheel, from wheel to wheel
rubber, slick = sh.Material(friction=0.9), sh.Material(friction=0.0)

scene = sh.Scene(name="differential_drive")
scene.add(sh.HalfSpace(material=rubber))
deck = sh.Box(size=(0.5, 0.3, 0.08))
caster = sh.Sphere(radius=0.05, position=(-0.2, 0, -0.1), material=slick)
scene.add(sh.Body(name="chassis", mass=8.0, center_of_mass=(-0.05, 0, 0), shapes=[deck, caster], position=(0, 0, 0.15)))
spring = sh.Suspension(stiffness=4000, damping=150, travel=0.02, load=30)
motor = {"stall_torque": 0.1, "idle_speed": 400.0, "electrical_time": 0.5e-3, "rotor_inertia": 2e-6, "ratio": 20}
for name, side in (("left", 1), ("right", -1)):
    place = (0.0, side * TREAD / 2, RADIUS)
    sh.add_wheel(
        scene,
        sh.Wheel(name=name, parent="chassis", position=place, radius=RADIUS, width=0.02, mass=0.6,
                 suspension=spring, material=rubber),
    )  # fmt: skip
    scene.add(sh.DCMotor(name=name, joint=name, **motor))

sim = sh.Simulation(scene, dt=0.002)
chassis, left, right = sim.body("chassis"), sim.dc_motor("left"), sim.dc_motor("right")
left.input = right.input = 0.5
sim.run(3.0)
rolling = RADIUS * sim.joint("left").velocity[0]
print(f"straight: {chassis.velocity[0]:.4f} m/s, its wheels roll at {rolling:.4f} m/s")
assert abs(chassis.velocity[0] - rolling) < 1e-3 * rolling

left.input, right.input = 0.3, 0.5
sim.run(3.0)
rates = [sim.joint(name).velocity[0] for name in ("left", "right")]
expected = RADIUS * (rates[1] - rates[0]) / TREAD
print(f"turning: {chassis.angular_velocity[2]:.4f} rad/s, by its wheels {expected:.4f} rad/s")
assert np.isclose(chassis.angular_velocity[2], expected, rtol=0.02)
