"""From a compiled MuJoCo model to a scene, one kind of element a file."""
