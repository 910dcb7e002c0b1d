"""A DC motor with a gear lifts a weight, is braked, and says where its energy goes."""

import sharnir as sh

scene = sh.Scene(name="hoist")
scene.add(sh.Body(name="drum", mass=0.5, inertia=(1e-3, 1e-3, 1e-3)))
scene.add(sh.Body(name="load", mass=2.0, shapes=[sh.Box(size=(0.1, 0.1, 0.1))], position=(0.05, 0, -0.5)))
scene.add(sh.Revolute(name="axle", parent="world", child="drum", axis=(0, 1, 0)))
scene.add(sh.Prismatic(name="rope", parent="world", child="load", axis=(0, 0, 1)))
scene.add(sh.Coupling(name="winding", leader="axle", follower="rope", ratio=0.05))
winch = {"resistance": 2.0, "inductance": 1e-3, "torque_constant": 0.05, "voltage": 12.0, "max_current": 5.0}
gear = {"rotor_inertia": 1e-5, "ratio": 20, "efficiency": 0.9, "brake": 0.1}
scene.add(sh.DCMotor(name="winch", joint="axle", **winch, **gear))

sim = sh.Simulation(scene, dt=0.002)
motor, load = sim.dc_motor("winch"), sim.body("load")
taken = heat = 0.0
motor.input = 12.0
for _ in range(500):
    sim.step()
    taken += sim.dt * motor.electrical_power
    heat += sim.dt * motor.heat
print(f"lifts at {load.velocity[2]:.3f} m/s with {motor.current:.2f} A and {motor.voltage:.1f} V")
print(
    f"of {taken:.1f} J taken, {heat:.1f} J are heat and {2.0 * 9.81 * (load.position[2] + 0.5):.1f} J lifted the load"
)

motor.input, motor.brake = 0.0, True
sim.run(0.5)
height = load.position[2]
sim.run(1.0)
print(f"braked, it holds: moved by {abs(load.position[2] - height):.1e} m in a second")
assert abs(load.position[2] - height) < 1e-6
