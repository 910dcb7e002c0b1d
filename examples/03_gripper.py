"""One motor closes two fingers: limits, dry friction, a motor, and a coupling, in both coordinates."""

import sharnir as sh

scene = sh.Scene(name="gripper", gravity=(0, 0, 0))
for side in (-1, 1):
    name = "left" if side < 0 else "right"
    finger = sh.Box(size=(0.02, 0.02, 0.1), mask=0, position=(0, 0, 0.05))
    scene.add(sh.Body(name=name, mass=0.1, shapes=[finger], position=(0.03 * side, 0, 0)))
    scene.add(
        sh.Revolute(
            name=f"{name}_hinge", parent="world", child=name, anchor=(0.03 * side, 0, 0), axis=(0, 1, 0),
            limits=(-0.4, 0.4), friction=0.01,
        )
    )  # fmt: skip
scene.add(sh.Motor(name="drive", joint="left_hinge", position=0.3, max_force=1.0, response=0.1))
scene.add(sh.Coupling(name="repeater", leader="left_hinge", follower="right_hinge", ratio=-1.0))

for solver in ("simgc", "simmc"):
    sim = sh.Simulation(scene, solver=solver, dt=0.005)
    sim.run(1.0)
    left, right = sim.joint("left_hinge"), sim.joint("right_hinge")
    print(f"{solver}: left {left.position[0]:.4f}, right {right.position[0]:.4f} rad")
    assert abs(left.position[0] - 0.3) < 1e-3 and abs(left.position[0] + right.position[0]) < 1e-7

    sim.motor("drive").target = 1.0  # beyond the limit: the stop takes what the motor gives
    report = sim.run(1.0)
    print(f"  at the stop: {left.position[0]:.6f} rad, motor {sim.motor('drive').force:.3f} N m, {report.reason}")
    assert left.position[0] < 0.4 + 1e-4
