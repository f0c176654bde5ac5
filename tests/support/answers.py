#!/usr/bin/env python3
"""Answers of exercises that change a program: the change as text, applied, built and run by ctest.

Usage: answers.py list RECIPE_FOLDER ANSWERS              prints a line `<number> <program>` for each answer that is built
       answers.py apply RECIPE_FOLDER ANSWERS N FOLDER    writes the recipe's sources, changed by answer N, into FOLDER

tests/<chapter>/answers/<recipe>.toml holds the answers, in the order of the exercises:

    [[answer]]
    exercise = 3               # its number on the page
    program = "lock"           # what is built from the changed sources; without it, the recipe's own program
    changes = [                # each old text stands in its file exactly once; may be left out where options do it
      {file = "lock.cpp", old = "long counter = 0;", new = "std::atomic<long> counter = 0;"},
    ]
    run = "--changes 1000"     # the options with which it is started; none if this is left out
    exit = 0                   # the exit code that is expected; 0 if this is left out
    output = '''               # what it prints, all of it, compared as a transcript of a page is; or
    counter: 0
    '''
    contains = ["counter: 0"]  # lines that must be among those that it prints, compared alike
    any_order = true           # the lines of `output` may come in any order
    tries = 10                 # for what shows by luck: one of so many runs must be as expected
    hangs = true               # instead: having printed the lines in `contains`, it neither ends nor works on
    refused = "no member"      # instead: the changed program does not compile, and the compiler says this

ctest runs them as <chapter>.<recipe>.answers, so an answer on a page cannot be wrong.
"""
import pathlib
import shutil
import sys
import tomllib

SOURCES = (".cpp", ".cu", ".cl", ".hpp", ".cuh", ".capnp", ".sh", ".c")
KEYS = {"exercise", "program", "changes", "run", "exit", "output", "contains", "any_order", "tries", "hangs", "refused"}


def read(file):
    """The answers of a file, each a dictionary; SystemExit names what is wrong with one."""
    answers = tomllib.loads(file.read_text()).get("answer", [])
    for number, answer in enumerate(answers, 1):
        if unknown := answer.keys() - KEYS:
            sys.exit(f"{file.name}: answer {number}: unknown: {', '.join(sorted(unknown))}")
        if "exercise" not in answer:
            sys.exit(f"{file.name}: answer {number} does not name its exercise")
        if not answer.keys() & {"output", "contains", "refused"}:
            sys.exit(f"{file.name}: answer {number} expects nothing")
    return answers


def program_of(folder, answer):
    return answer.get("program", folder.name)


def apply(folder, answer, target):
    """Copies the sources of a recipe and changes them."""
    texts = {path.relative_to(folder): path.read_text() for path in folder.rglob("*") if path.suffix in SOURCES}
    for change in answer.get("changes", []):
        path = pathlib.Path(change["file"])
        count = texts.get(path, "").count(change["old"])
        if count != 1:
            sys.exit(f"answer to exercise {answer['exercise']} of {folder.name}: this text stands {count} times in "
                     f"{path}:\n{change['old']}")
        texts[path] = texts[path].replace(change["old"], change["new"])
    for path, text in texts.items():
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        (target / path).write_text(text)
        shutil.copymode(folder / path, target / path)


def main():
    if len(sys.argv) < 4 or sys.argv[1] not in ("list", "apply"):
        print(__doc__, file=sys.stderr)
        return 2
    folder, file = pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    answers = read(file)
    if sys.argv[1] == "apply":
        apply(folder, answers[int(sys.argv[4]) - 1], pathlib.Path(sys.argv[5]))
        return 0
    for number, answer in enumerate(answers, 1):
        if answer.get("changes") and "refused" not in answer:
            print(number, program_of(folder, answer))
    return 0


if __name__ == "__main__":
    sys.exit(main())
