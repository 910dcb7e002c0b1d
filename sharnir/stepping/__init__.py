"""One step of sequential impulses, as device functions and kernels."""
