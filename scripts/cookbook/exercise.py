"""Exercises: programs to repair, and functions to write, which the machine judges.

Without a command: the exercises in learning order, what is done, and the next one; or those of a chapter.

Exit code: 0 done or accepted, 1 not repaired yet, 2 wrong usage, 3 the system refused, 77 cannot be judged on this
machine. COOKBOOK_EXERCISES names another folder for your work than exercises/.
"""
import difflib
import itertools
import json
import os
import pathlib
import shlex
import sys
import tempfile
import textwrap
import time

import cookbook
from cookbook import exercises, judging, process, setup
from cookbook.build import Build
from cookbook.command import Parser, Problem, hint, shown
from cookbook.recipe import PROGRAMS


def names():
    return [exercise.name for exercise in exercises.exercises()]


def parser():
    result = Parser("exercise", __doc__)
    result.add_argument("--names", action="store_true", help="the names alone, one per line", dest="only_names")
    commands = result.add_subparsers(dest="command", metavar="COMMAND")
    for name, (_, of_begun, text, options) in COMMANDS.items():
        command = commands.add_parser(name, help=text, description=text, prog=f"scripts/exercise {name}")
        command.add_names(names, metavar="NAME", nargs="?" if of_begun else None)
        for option, meaning in options.items():
            command.add_argument(option, action="store_true", help=meaning)
    return result


def find(name):
    known = {exercise.name: exercise for exercise in exercises.exercises()}
    if name in known:
        return known[name]
    of_recipe = [exercise.name for exercise in known.values() if exercise.recipe.name == name]
    near = f"; nearest: {', '.join(of_recipe)}" if of_recipe else hint(name, known)
    raise Problem(f"there is no exercise {name}{near}")


def folder_of(exercise):
    return exercises.work_folder() / exercise.name


def program_of(exercise):
    return folder_of(exercise) / exercise.main_file


def next_one(progress, after=None):
    """The first exercise that is not done, those behind `after` first."""
    found = exercises.exercises()
    names = [exercise.name for exercise in found]
    place = names.index(after) + 1 if after else 0
    in_turn = found[place:] + found[:place]
    return next((exercise for exercise in in_turn if not progress.of(exercise.name).get("done")), None)


def say_next(progress, after=None):
    following = next_one(progress, after)
    if following:
        print(f"Next: {following.name}    scripts/exercise start {following.name}")
    else:
        print("All exercises are done.")


def show_list(beginning):
    progress = exercises.Progress()
    every = exercises.exercises()
    found = [exercise for exercise in every if exercise.recipe.chapter.startswith(beginning)]
    if not found:
        chapters = dict.fromkeys(exercise.recipe.chapter for exercise in every)
        raise Problem(f"no chapter begins with {beginning}; the chapters are {', '.join(chapters)}")
    done = 0
    for chapter, group in itertools.groupby(found, key=lambda exercise: exercise.recipe.chapter):
        print(chapter)
        for exercise in group:
            finished = progress.of(exercise.name).get("done", False)
            done += finished
            mark = "done" if finished else "begun" if program_of(exercise).exists() else ""
            lines = textwrap.wrap(" ".join(exercise.task.split()), 76)
            print(f"  {mark:<6} {exercise.name:<36} {lines[0]}")
            for line in lines[1:]:
                print(f"{'':<46}{line}")
    print(f"{done} of {len(found)} done.")
    say_next(progress)
    return 0


def start(exercise, args):
    if program_of(exercise).exists() and not args.again:
        raise Problem(f"{shown(program_of(exercise))} exists. Your work stays as it is; with --again you begin "
                      "anew, and your program is kept beside it")
    if not args.no_setup:
        setup.for_recipes([exercise.recipe.name])
    folder_of(exercise).mkdir(parents=True, exist_ok=True)
    for name, text in exercise.marked().items():
        keep_old(folder_of(exercise) / name, text)
        (folder_of(exercise) / name).write_text(text)
    note_target(exercise)
    note_compile_command(exercise, Build())
    exercises.Progress().note(exercise.name, done=False)
    print(textwrap.fill(" ".join(exercise.task.split()), 100))
    print(f"\nThe program: {shown(program_of(exercise))}\n"
          f"The page:    {shown(exercise.recipe.page)}\n"
          f"{'Write' if exercise.write else 'Repair'} it, then: scripts/exercise check {exercise.name}")
    return 0


def keep_old(file, text):
    """Moves a file with another text aside, to the first of NAME.1, NAME.2 and so on that is free."""
    if not file.exists() or file.read_text() == text:
        return
    number = next(i for i in itertools.count(1) if not file.with_name(f"{file.name}.{i}").exists())
    file.rename(file.with_name(f"{file.name}.{number}"))
    print(f"Your program of before: {shown(file.with_name(f'{file.name}.{number}'))}")


def note_target(exercise):
    """Tells CMake of the learner's program, for a target of its own (tests/support/exercise_targets.cmake)."""
    source, beside = f"${{CMAKE_CURRENT_LIST_DIR}}/{exercise.main_file}", []
    if exercise.write:
        source = exercise.original
        beside = [path for path in exercise.recipe.sources() if path.parent == exercise.recipe.folder
                  and path != source and path.name != exercise.main_file]
        if not exercise.main_file.endswith(".hpp"):  # a kernel, which the program looks for beside itself
            beside.append(f"${{CMAKE_CURRENT_LIST_DIR}}/{exercise.main_file}")
    words = [exercise.name, exercise.program, "SOURCE", f'"{source}"']
    if exercise.write:
        words += ["BESIDE", *(f'"{path}"' for path in beside or [source])]
    text = f"exercise({' '.join(words)})\n".replace(str(cookbook.ROOT), "${CMAKE_SOURCE_DIR}")
    (folder_of(exercise) / "exercise.cmake").write_text(text)


def note_compile_command(exercise, build):
    """Tells an editor how the learner's program is compiled, in the form in which CMake does it for those of the
    build: beside the program, and in the list of the build, which CMake writes anew when it configures the next time
    (then with the target of the exercise)."""
    source = program_of(exercise).resolve()
    try:
        words, folder = judging.Program(exercise, source, build.folder, None).compile_words()
    except (OSError, LookupError):
        return  # not configured yet; a check is
    if source.suffix == ".hpp":
        words[1:1] = ["-x", "c++"]
    elif source.suffix not in PROGRAMS:
        return  # a kernel
    entry = {"directory": folder, "command": shlex.join(words), "file": str(source)}
    (folder_of(exercise) / "compile_commands.json").write_text(json.dumps([entry], indent=1) + "\n")
    listing = build.folder / "compile_commands.json"
    others = [one for one in json.loads(listing.read_text())
              if one["file"] != entry["file"] and (one["file"].startswith(f"{build.folder}/")
                                                   or pathlib.Path(one["file"]).exists())]
    written = listing.with_suffix(f".{os.getpid()}")
    written.write_text(json.dumps([*others, entry], indent=1) + "\n")
    written.replace(listing)


def begun(name):
    """The exercise that is named, or else the one whose program was changed last."""
    if name:
        exercise = find(name)
        if not program_of(exercise).exists():
            raise Problem(f"{exercise.name} is not begun: scripts/exercise start {exercise.name}")
        return exercise
    found = [exercise for exercise in exercises.exercises() if program_of(exercise).exists()]
    if not found:
        raise Problem("no exercise is begun; scripts/exercise names the next one")
    return max(found, key=lambda exercise: program_of(exercise).stat().st_mtime)


def prepare(exercise):
    """Builds what the learner's program is linked with; the build folder. Exit code 77 if the recipe cannot be built
    here."""
    build = Build()
    found = build.recipe(exercise.recipe.name)
    if found.missing:
        print(f"{exercise.name} cannot be judged here: it needs {found.missing} (scripts/setup {found.name} installs "
              "packages)")
        sys.exit(cookbook.SKIPPED)
    # The recipe's other programs, too, which the learner's may start; not its bench.
    programs = {found.name, *found.programs, *found.pitfalls}
    build.build(*(programs | {"exercise_interposer", "exercise_interposer_mpi"}) & build.targets())
    note_compile_command(exercise, build)
    return build.folder


def check(exercise, args=None):
    print(f"Judging {shown(program_of(exercise))}; a right repair takes up to half a minute.\n"
          "  building what it is linked with", flush=True)
    folder = prepare(exercise)
    verdict = judging.judge(exercise, folder_of(exercise), folder, say=lambda text: print(f"  {text}", flush=True))
    print(str(verdict).rstrip())
    if verdict.skipped:
        return cookbook.SKIPPED
    progress = exercises.Progress()
    if verdict.accepted:
        progress.note(exercise.name, done=True)
        say_next(progress, exercise.name)
        return 0
    print(f"A hint: scripts/exercise hint {exercise.name}")
    return 1


def run_it(exercise, args):
    """Compiles the program and runs it; its output and its exit code are the learner's to see."""
    folder = prepare(exercise)
    with tempfile.TemporaryDirectory(prefix="exercise-") as scratch:
        source = judging.assembled(exercise, folder_of(exercise), pathlib.Path(scratch) / "source")
        program = judging.Program(exercise, source.resolve(), folder, pathlib.Path(scratch))
        try:
            command = program.command(program.compiled())
        except judging.Refused as refused:
            print(str(refused.verdict).rstrip())
            return 1
        return process.call(command)


def watch(exercise, args):
    seen = None
    while True:
        times = [(folder_of(exercise) / name).stat().st_mtime for name in exercise.texts()]
        if times != seen:
            seen = times
            if check(exercise) == 0:
                return 0
            print(f"Waiting for a change of {shown(program_of(exercise))}; Ctrl-C ends this.", flush=True)
        time.sleep(0.3)


def give_hint(exercise, args):
    progress = exercises.Progress()
    given = min(progress.of(exercise.name).get("hints", 0) + 1, len(exercise.hints))
    for number, text in enumerate(exercise.hints[:given], 1):
        print(textwrap.fill(f"{number}. " + " ".join(text.split()), 100, subsequent_indent="   "))
    progress.note(exercise.name, hints=given)
    left = len(exercise.hints) - given
    print(f"({left} more)" if left else f"(that was the last; scripts/exercise solution {exercise.name})")
    return 0


def show_difference(before, after, what):
    for name, text in before.items():
        old, new = (one.splitlines(keepends=True) for one in (text, after[name]))
        sys.stdout.writelines(difflib.unified_diff(old, new, f"{name}, broken", f"{name}, {what}"))


def show_changes(exercise, args):
    given = exercise.marked()
    show_difference(given, {name: (folder_of(exercise) / name).read_text() for name in given}, "yours")
    return 0


def solution(exercise, args):
    if not args.yes:
        print(f"Show a solution of {exercise.name}? [y/N] ", end="", flush=True)
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            print("Not shown.")
            return 0
    show_difference(exercise.texts(), exercise.edited(exercise.solution()["solution"]), "repaired")
    return 0


# What each calls, whether it takes an exercise that is begun (the one changed last if none is named), its help and
# options.
COMMANDS = {
    "start": (start, False, "copies the program to exercises/NAME/, with the task at its head; installs first "
              "what the recipe needs and is missing", {
                  "--again": "also where you have begun; your program is kept as NAME.cpp.1",
                  "--no-setup": "install nothing"}),
    "check": (check, True, "compiles your repair and judges it; without a name the one changed last", {}),
    "run": (run_it, True, "compiles your program as it is, and runs it", {}),
    "diff": (show_changes, True, "what you have changed", {}),
    "watch": (watch, True, "checks at each change of the file, until Ctrl-C", {}),
    "hint": (give_hint, False, "one hint more each time", {}),
    "solution": (solution, False, "shows the difference to a solution, after asking", {"--yes": "without asking"}),
}


def main(arguments):
    if not arguments or arguments[0][:1].isdigit() and len(arguments) == 1:
        return show_list(*arguments or [""])
    args = parser().parse_args(arguments)
    if args.only_names:
        print("\n".join(names()))
        return 0
    if not args.command:
        parser().error("which command?")
    function, of_begun = COMMANDS[args.command][:2]
    try:
        return function(begun(args.names) if of_begun else find(args.names), args)
    except ValueError as error:
        raise Problem(error, cookbook.REFUSED) from error
