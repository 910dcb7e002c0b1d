"""Untrusted URDF and MJCF files to a compiled MuJoCo model, in a child process."""
