"""The commands of scripts/, and what ctest runs besides the programs. One module per command; what they share:

    recipe      the model of a recipe, read from what CMake writes
    process     the one way to start a process
    build       configuring and building
    command     the command line: parsers, messages, the names that one may have meant
"""
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIPPED = 77  # the exit code of what cannot run on this machine
REFUSED = 3  # of what the system refused
