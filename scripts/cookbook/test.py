"""Installs what is missing, builds, and runs ctest: everything, or the tests of the recipes and chapters that are
named.

    scripts/test lock               all tests of one recipe, and no others
    scripts/test 02_threads         those of a chapter
    scripts/test lock --repeat 50   until one fails, at most 50 times; a test that fails seldom shows itself
    scripts/test -R page            what begins with a dash and is not listed here goes to ctest, with all that follows

With CI=true in the environment warnings are errors.
"""
import os
import platform

import cookbook
from cookbook import process, recipe, setup
from cookbook.build import Build
from cookbook.command import Parser, hint
from cookbook.recipe import ANSWERS_SHARE, LINES_SHARE


def parser():
    result = Parser("test", __doc__, usage="scripts/test [OPTION ...] [RECIPE | CHAPTER ...] [CTEST OPTION ...]")
    result.add_argument("--no-setup", action="store_true", help="install nothing")
    result.add_argument("--preset", metavar="NAME", default="default", help="of CMakePresets.json, such as tsan")
    kinds = result.add_mutually_exclusive_group()
    kinds.add_argument("--timing", action="store_true", help="the tests that compare speeds, one after another; only "
                       "on a quiet machine. They are no part of the other runs")
    kinds.add_argument("--exercises", action="store_true", help="the exercises: the broken program and wrong repairs "
                       "are refused, right ones accepted. Only a few are part of the other runs, with few repairs")
    result.add_argument("--whole", action="store_true", help="try the compile lines and the exercises' answers of all "
                        "recipes, as is done for those that are named. Otherwise the lines of one recipe in "
                        f"{LINES_SHARE} are tried and the answers of one in {ANSWERS_SHARE}, those of others each day")
    result.add_argument("--repeat", metavar="N", help="run each test N times, or until it fails")
    result.add_names(lambda: recipe.names() + chapters(), nargs="*", metavar="RECIPE | CHAPTER")
    return result


def chapters():
    return list(dict.fromkeys(one.chapter for one in recipe.recipes()))


def split(arguments):
    """Our own arguments, and those of ctest: from the first option on that is not one of ours."""
    known = parser()._option_string_actions
    for i, word in enumerate(arguments):
        if word.startswith("-") and word.split("=")[0] not in known:
            return arguments[:i], arguments[i:]
    return arguments, []


def chosen(names):
    """The recipes that are meant by names of recipes, of chapters' folders, and of chapters without their number."""
    known, found = recipe.recipes(), []
    for name in names:
        meant = [one for one in known if name in (one.name, one.chapter, one.chapter.partition("_")[2])]
        if not meant:
            candidates = [one.name for one in known] + [one.chapter for one in known]
            parser().error(f"there is no recipe and no chapter {name}" + hint(name, dict.fromkeys(candidates)))
        found += meant
    return found


def main(arguments):
    own, for_ctest = split(arguments)
    args = parser().parse_args(own)
    if args.repeat and not args.repeat.startswith("until-"):
        args.repeat = f"until-fail:{args.repeat}"
    os.chdir(cookbook.ROOT)
    if not args.no_setup:
        setup.for_recipes([one.name for one in chosen(args.names)] if args.names else [], tests=True)
    build = Build(args.preset)
    werror = "ON" if os.environ.get("CI") == "true" else "OFF"
    if args.names:
        names = [one.name for one in chosen(args.names)]
        build.configure(f"-DCOOKBOOK_WERROR={werror}")
        targets = [f"{name}_tests" for name in names if not build.recipe(name).missing]
        for_ctest = ["-L", f"^({'|'.join(names)})$", *for_ctest]
        if targets:
            build.build(*targets)
    else:  # what is built and what is left out is part of the answer
        code = process.call(["cmake", "--preset", args.preset, f"-DCOOKBOOK_WERROR={werror}"])
        if not code:
            answers = [f"{name}_answers" for name in recipe.names() if recipe.of_today(name, ANSWERS_SHARE)]
            more = ["whole"] if args.whole else sorted(build.targets() & set(answers))
            code = process.call(["cmake", "--build", "--preset", args.preset, "--target", "all", *more])
        if code:
            return code
    kind = ["-LE", "^(timing|exercise)$"]
    if args.timing or args.exercises:
        kind = ["-L", "^timing$" if args.timing else "^exercise$"]
    repeat = ["--repeat", args.repeat] if args.repeat else []
    # ThreadSanitizer's shadow memory does not fit every layout that address randomisation may choose.
    fixed = ["setarch", platform.machine(), "-R"] if args.preset == "tsan" else []
    if fixed and process.run([*fixed, "true"]).code != 0:
        fixed = []
    environment = {}
    if args.whole or args.names:  # to try all compile lines of a chapter is too much
        lines = args.whole or not set(args.names) & set(chapters())
        environment["COOKBOOK_WHOLE"] = "answers compile_line" if lines else "answers"
    if not args.names and not args.exercises:
        environment["COOKBOOK_FEW_CASES"] = "1"
    # Most tests wait more than they calculate; not with a sanitizer, which makes their work ten times as long.
    at_once = str(os.cpu_count() * (1 if args.preset in ("tsan", "asan") else 2))
    return process.call([*fixed, "ctest", "--preset", args.preset, "--no-tests=error", "-j", at_once, *kind, *repeat,
                         *for_ctest], environment)
