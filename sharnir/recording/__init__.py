"""Recordings of runs: written while they go on, read, checked and continued afterwards."""
