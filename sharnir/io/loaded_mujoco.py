"""MuJoCo, imported with care: what it imports for its windows starts `python -c` to ask a library for its version."""

from sharnir.child_process import safe_path

with safe_path():
    import mujoco

__all__ = ["mujoco"]
