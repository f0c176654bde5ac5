"""Answers of exercises that change a program: the change as text, applied, built and run by ctest.

Usage: answers list RECIPE_FOLDER ANSWERS              prints a line `<number> <program>` for each answer that is built
       answers apply RECIPE_FOLDER ANSWERS N FOLDER    writes the recipe's sources, changed by answer N, into FOLDER

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

ctest runs them as <chapter>.<recipe>.answers, so an answer on a page cannot be wrong. To compile them takes a fifth of
a whole build, so scripts/test without a name does this for one recipe in eight, for others each day.
"""
import pathlib
import re
import shlex
import shutil
import sys
import tempfile
import tomllib

import cookbook
from cookbook import process
from cookbook.build import compile_command
from cookbook.page import same, transcript_faults
from cookbook.recipe import SOURCES

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


def listing(recipe):
    return recipe.tests / "answers" / f"{recipe.name}.toml"


def changed_programs(answers):
    """The numbers of the answers that are programs to build."""
    return [number for number, answer in enumerate(answers, 1) if answer.get("changes") and "refused" not in answer]


def changed_program(recipe, number):
    return f"answers/{recipe.name}_answer_{number}"


def programs(recipe, build):
    return [build / "bin" / changed_program(recipe, number) for number in changed_programs(read(listing(recipe)))]


def answers_faults(recipe, build):
    file = listing(recipe)
    asked = set(map(int, re.findall(r"^(\d+)\. ", recipe.page.read_text().partition("\n## Exercises")[2], re.M)))
    for number, answer in enumerate(read(file), 1):
        name = f"answer {number}, to exercise {answer['exercise']}"
        if answer["exercise"] not in asked:
            yield f"{name}: the page has no such exercise"
        fault = refusal_fault if "refused" in answer else answer_fault
        if text := fault(recipe, build, number, answer):
            yield f"{name}: {text}"


def answer_fault(recipe, build, number, answer):
    """What the changed program does that the answer does not say, or None."""
    program = program_of(recipe.folder, answer)
    if answer.get("changes"):
        program = changed_program(recipe, number)
    command = recipe.command(build, program, shlex.split(answer.get("run", "")))
    hangs, fault = answer.get("hangs", False), None
    for _ in range(answer.get("tries", 1)):
        result = process.run(command, 60, until_asleep=0.5 if hangs else 0)
        if answer.get("exit", 0) != cookbook.SKIPPED:
            process.skip_if_skipped(result)
        lines, faults = result.text.splitlines(), []
        if hangs != result.timed_out:
            faults.append("it has ended" if hangs else "it hangs")
        elif not hangs and result.code != answer.get("exit", 0):
            faults.append(f"exit code {result.code}, expected {answer.get('exit', 0)}")
        if "output" in answer:
            faults += transcript_faults(answer["output"].splitlines(), lines, answer.get("any_order", False))
        faults += [f"no line: {wanted}" for wanted in answer.get("contains", [])
                   if not any(same(wanted, line) for line in lines)]
        if not faults:
            return None
        fault = "\n".join([*faults, result.text])
    return fault


def refusal_fault(recipe, build, number, answer):
    """Whether the compiler takes the changed program, or refuses it with other words; None if it is as expected."""
    program = program_of(recipe.folder, answer)
    source = recipe.source(program)
    words, folder = compile_command(build, source)
    with tempfile.TemporaryDirectory() as scratch:
        apply(recipe.folder, answer, pathlib.Path(scratch))
        words = [str(pathlib.Path(scratch) / source.name) if word == str(source) else word for word in words]
        result = process.run([*words, "-fsyntax-only"], 60, cwd=folder)
    if result.code == 0:
        return "it compiles"
    return None if answer["refused"] in result.text else f"the compiler says something else:\n{result.text}"


def main(arguments):
    if len(arguments) < 3 or arguments[0] not in ("list", "apply"):
        print(__doc__, file=sys.stderr)
        return 2
    folder, file = pathlib.Path(arguments[1]), pathlib.Path(arguments[2])
    answers = read(file)
    if arguments[0] == "apply":
        apply(folder, answers[int(arguments[3]) - 1], pathlib.Path(arguments[4]))
        return 0
    for number in changed_programs(answers):
        print(number, program_of(folder, answers[number - 1]))
    return 0
