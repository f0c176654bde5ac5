"""Usage: complete COMMAND WORD...    what the next word of a command line may be, one per line; for completion.bash"""
import argparse
import importlib

from cookbook.__main__ import MODULES

COMMANDS = ("setup", "run", "test", "bench", "list", "exercise", "new_recipe", "mutate", "site", "update_index")


def candidates(parser, words):
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            chosen = next((word for word in words if word in action.choices), None)
            yield from candidates(action.choices[chosen], words) if chosen else action.choices
        else:
            yield from (option for option in action.option_strings if option.startswith("--"))
            yield from getattr(action, "candidates", lambda choices=action.choices: choices or ())()


def main(arguments):
    name, *words = arguments
    if name in COMMANDS:
        print("\n".join(candidates(importlib.import_module(f"cookbook.{MODULES.get(name, name)}").parser(), words)))
    return 0
