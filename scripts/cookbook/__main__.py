"""Usage: python3 scripts/cookbook COMMAND ARGUMENT...    scripts/COMMAND does this for the commands that are meant for
people"""
import importlib
import pathlib
import signal
import sys

sys.path[0] = str(pathlib.Path(__file__).resolve().parent.parent)
sys.dont_write_bytecode = sys.flags.isolated and not sys.pycache_prefix  # a test leaves nothing in the tree
MODULES = {"new_recipe": "new", "update_index": "index", "check": "generic"}  # the others are called like their command


def main():
    name = sys.argv[1]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what runs is ended first
    command = importlib.import_module("cookbook.command")
    module = importlib.import_module(f"cookbook.{MODULES.get(name, name)}")
    try:
        return module.main(sys.argv[2:])
    except command.Problem as problem:
        print(f"scripts/{name}: {problem}", file=sys.stderr)
        return problem.code
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # of scripts/list | head
        sys.stderr.close()
        return 141
    except OSError as error:
        print(f"scripts/{name}: {error}", file=sys.stderr)
        return 3


if __name__ == "__main__":
    sys.exit(main())
