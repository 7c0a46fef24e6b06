"""The command line, as `python -m sparsefield`."""

from sparsefield.cli import main

main()
