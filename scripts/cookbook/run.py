"""Builds one recipe and runs it, or all of them; installs first what they need and is missing.

Standard output is the recipe's own, and so is the exit code: 0 all checks hold, 1 a check fails, 2 wrong usage,
3 the system refused, 77 skipped. COOKBOOK_PRESET names another preset of CMakePresets.json than "default".
"""
import itertools
import os
import sys
import time

import cookbook
from cookbook import process, recipe, setup
from cookbook.build import Build
from cookbook.command import Parser

LIMIT = 120  # seconds, for one of --all


def parser():
    result = Parser("run", __doc__, usage="scripts/run [--no-setup] RECIPE [OPTION ...]\n"
                                          "       scripts/run [--no-setup] --all")
    result.add_argument("--no-setup", action="store_true", help="install nothing")
    result.add_argument("--all", action="store_true", help="run every recipe with its defaults; a table at the end")
    result.add_names(recipe.names, nargs="*", help="one recipe; what follows are its own options")
    return result


def run_one(name, arguments, no_setup):
    if not no_setup:
        setup.for_recipes([name])
    build = Build()
    found = build.recipe(name)
    if found.missing:
        print(f"scripts/run: {name} is not built; it needs {found.missing} (scripts/setup {name} installs packages)",
              file=sys.stderr)
        return cookbook.SKIPPED
    build.build(name)
    command = found.command(build.folder, arguments=arguments)
    sys.stdout.flush()
    return os.execvp(command[0], command)


def last_reason(outcome):
    return next((line for line in outcome.lines if line.startswith("FAIL")), (outcome.lines or ["no output"])[-1])


def run_all(no_setup):
    if not no_setup:
        setup.for_recipes([])
    build = Build()
    build.configure()
    print("scripts/run: building", file=sys.stderr)
    build.build("recipes")
    recipes = [one for one in build.recipes() if one.configured]
    rows = []
    for number, one in enumerate(recipes, 1):
        print(f"[{number}/{len(recipes)}] {one.name}", file=sys.stderr, flush=True)
        if one.missing:
            rows.append((one, "skipped", "", f"needs {one.missing}"))
            continue
        start = time.monotonic()
        done = process.run(one.command(build.folder), LIMIT)
        if done.timed_out:
            outcome, reason = "timeout", f"still running after {LIMIT} s"
        else:
            outcome = {0: "ok", cookbook.SKIPPED: "skipped"}.get(done.code, f"exit {done.code}")
            reason = "" if done.code == 0 else last_reason(done)
        rows.append((one, outcome, f"{time.monotonic() - start:.2f} s", reason))

    print(f"{'recipe':<28} {'outcome':<8} {'time':>8}")
    for chapter, group in itertools.groupby(rows, key=lambda row: row[0].chapter):
        print(chapter)
        for one, outcome, seconds, reason in group:
            print(f"  {one.name:<26} {outcome:<8} {seconds:>8}  {reason}".rstrip())
    skipped = sum(row[1] == "skipped" for row in rows)
    failed = sum(row[1] not in ("ok", "skipped") for row in rows)
    print(f"{len(rows) - failed - skipped} ok, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


def main(arguments):
    own = list(itertools.takewhile(lambda word: word.startswith("-"), arguments))
    args, rest = parser().parse_args(own), arguments[len(own):]
    if args.all == bool(rest):
        parser().error(f"--all takes nothing more, not {rest[0]}" if rest else "which recipe? scripts/list prints them")
    return run_all(args.no_setup) if args.all else run_one(rest[0], rest[1:], args.no_setup)
