"""`python -m sharnir`: the command line."""

from sharnir.cli import main

main()
