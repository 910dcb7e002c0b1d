"""Benchmarks that run on a machine with a GPU."""
