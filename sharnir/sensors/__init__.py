"""Sensors: ideal readings of a simulation, samples with rate, delay and noise, support polygon."""
