"""Puts mistakes into the lessons, one at a time, and shows which test notices each.

The mutations of a chapter stand in tests/<chapter>/mutations.toml, two or more per recipe:

    [[lock]]
    file = "lock.cpp"       # from the recipe's folder; "../pool.hpp" is shared with other recipes
    old = "std::scoped_lock guard(mutex);"    # occurs in the file exactly once
    new = ""
    why = "the lock is dropped, so that updates get lost"
    preset = "tsan"         # only for a mistake that nothing but this preset's build shows

Each is made in a copy of the tree, in build-mutate/. The programs and tests of the recipes that use the file are built
there, and all their tests but `page`, `compile_line`, `answers` and `exercise`, which would notice any change of the
text, are run until one fails. Prints a line per mutation: caught, with the test that caught it, or survived. A test
that has only reached its time limit is named as such: it may hang because of the mistake, or the machine is busy. Exit
code 1 if one survived, did not compile or did not apply, or if the tests fail without any mutation.

With --sample N, mistakes that nobody has listed: N of each recipe, drawn by lot from what simple rules make of its
lines (mutation_rules.py). What does not compile is drawn again. The same seed draws the same; without one it is the
date. Here `page` is run as well, without its excerpts: a mistake that a transcript shows is noticed.
"""
import collections
import datetime
import itertools
import os
import pathlib
import platform
import re
import shutil
import sys
import tomllib

import cookbook
from cookbook import mutation_rules, process, recipe
from cookbook.build import Build, decisive_lines
from cookbook.command import Parser

LEFT_OUT = r"\.(page|compile_line|answers|exercise)$"
LEFT_OUT_OF_SAMPLE = r"\.(compile_line|answers|exercise)$"
LIMIT = 1200  # seconds: a mutated program may hang while it is built or run


def parser():
    result = Parser("mutate", __doc__)
    kinds = result.add_mutually_exclusive_group()
    kinds.add_argument("--list", action="store_true", help="print the mutations without making them")
    kinds.add_argument("--check", action="store_true", help="only see whether the lists fit the sources")
    kinds.add_argument("--sample", metavar="N", type=int, help="draw N mistakes of each recipe by lot")
    result.add_argument("--seed", metavar="S", help="of the lot; today's date without it")
    result.add_names(lambda: list(dict.fromkeys(one.name for one, _ in mutations())), nargs="*",
                     help="every recipe that has mutations if none is named")
    return result


def lists():
    """What the chapters' lists hold: {folder of the chapter: {recipe: mutations}}."""
    return {path.parent.name: tomllib.loads(path.read_text())
            for path in sorted(cookbook.ROOT.glob("tests/*/mutations.toml"))}


def mutations():
    """(recipe, mutation) of every list, in the order of the recipes."""
    found = lists()
    return [(one, mutation) for one in recipe.recipes() for mutation in found.get(one.chapter, {}).get(one.name, [])]


def faults_of_lists():
    """What is wrong with the lists themselves: a recipe that does not exist, or a text that does not occur once."""
    known = {(one.chapter, one.name) for one in recipe.recipes()}
    for chapter, tables in lists().items():
        unknown = [name for name in tables if (chapter, name) not in known]
        yield from (f"{chapter}/mutations.toml: there is no recipe {name}" for name in unknown)
    for one, mutation in mutations():
        if missing := {"file", "old", "new", "why"} - mutation.keys():
            yield f"{one.name}: a mutation without {', '.join(sorted(missing))}"
            continue
        source = one.folder / mutation["file"]
        count = source.read_text().count(mutation["old"]) if source.exists() else 0
        if count != 1 or mutation["old"] == mutation["new"]:
            yield f"{one.name}: {mutation['why']}: the old text stands {count} times in {mutation['file']}"


def included(sources):
    """Our own files that these include, directly or not, themselves among them."""
    found = set()
    todo = [path.resolve() for path in sources]
    while todo:
        path = todo.pop()
        if path in found:
            continue
        found.add(path)
        chapter = next((parent for parent in path.parents if parent.parent.name in ("chapters", "tests")), path.parent)
        for name in re.findall(r'^\s*#\s*include "([^"]+)"', path.read_text(), re.M):
            places = (path.parent, chapter, *(cookbook.ROOT / folder for folder in ("common", "chapters", "tests")))
            todo += [(place / name).resolve() for place in places if (place / name).exists()][:1]
    return found


def users(one, file):
    """The recipes of its chapter that include a file, the one whose mutation it is first."""
    path = (one.folder / file).resolve()
    if path.is_relative_to(one.folder.resolve()):
        return [one]
    others = (other for other in recipe.recipes() if other.chapter == one.chapter and other.name != one.name)
    return [one, *(other for other in others
                   if path in included([*other.sources(), *one.tests.glob(f"{other.name}_test.c*")]))]


def tracked_files():
    """The files that make up the project, relative to its root."""
    listed = process.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=cookbook.ROOT)
    if listed.code == 0:
        return listed.lines
    # Not a checkout, but an archive.
    files = (path.relative_to(cookbook.ROOT) for path in cookbook.ROOT.rglob("*") if path.is_file())
    return [str(path) for path in files if not path.parts[0].startswith("build")]


class Copy:
    """A copy of the tree, configured with one preset for one chapter."""

    def __init__(self, preset, chapter, left_out=LEFT_OUT):
        self.preset, self.left_out = preset, left_out
        self.tree = cookbook.ROOT / "build-mutate" / f"{preset}-{chapter}"
        build = Build(preset, self.tree)
        for name in tracked_files():
            source, target = cookbook.ROOT / name, self.tree / name
            if not source.exists() or target.exists() and not source.is_symlink() and \
                    source.read_bytes() == target.read_bytes():
                continue  # an unchanged file keeps its time, so that nothing is built again
            target.parent.mkdir(parents=True, exist_ok=True)
            target.unlink(missing_ok=True)
            shutil.copy(source, target, follow_symlinks=False)
        limit = 20 if preset == "default" else 60
        build.configure(f"-DCOOKBOOK_CHAPTERS={chapter}", f"-DCOOKBOOK_TEST_TIMEOUT={limit}")
        self.targets = build.targets()

    def run(self, *command):
        environment = {"CTEST_OUTPUT_ON_FAILURE": "0", "COOKBOOK_ONLY_TRANSCRIPTS": "1"}
        return process.run(command, LIMIT, environment, self.tree)

    def make(self, recipes):
        """Builds the recipes' programs and tests; what the compiler says if it refuses, or None."""
        wanted = {name for one in recipes
                  for name in (one.name, *one.programs, *one.pitfalls, one.bench, f"{one.name}_test")}
        done = self.run("cmake", "--build", "--preset", self.preset, "--target", *(wanted & self.targets))
        return None if done.code == 0 else "\n".join(decisive_lines(done.text)) or done.text

    def first_failure(self, recipes):
        """The recipes' tests until one fails: its name, or None."""
        fixed = ["setarch", platform.machine(), "-R"] if self.preset == "tsan" else []
        labels = f"^({'|'.join(one.name for one in recipes)})$"
        chosen = ["-L", labels, "-E", self.left_out, "-LE", "^(timing|exercise)$"]
        done = self.run(*fixed, "ctest", "--preset", self.preset, *chosen, "--no-tests=error", "--stop-on-failure",
                        "-j", str(os.cpu_count()))
        if done.code == 0:
            return None
        # ctest's own list; the output of the failed test, before it, may have lines that look like its lines.
        listed = done.text[done.text.rfind("The following tests FAILED:"):]
        failed = re.findall(r"^\s*\d+ - (.*\S) \((.*)\)", listed, re.M)
        failed = sorted((how == "Timeout", name) for name, how in failed if how not in ("Not Run", "Skipped"))
        return f"the time limit of {failed[0][1]}" if failed and failed[0][0] else failed[0][1] if failed else done.text

    def problem(self, recipes):
        """What is wrong with them as they are, or None."""
        return self.make(recipes) or self.first_failure(recipes)

    def tried(self, recipes, file, change):
        """Whether the compiler refuses a source that has been changed (what it says, or None), and which test of the
        recipes fails with it (its name, or None)."""
        source = self.tree / pathlib.Path(os.path.relpath(file, cookbook.ROOT))
        original = source.read_text()
        try:
            source.write_text(change(original))
            refused = self.make(recipes)
            return refused, None if refused else self.first_failure(recipes)
        finally:
            source.write_text(original)


def sample(recipes, count, seed):
    """Tries so many mistakes of each recipe, drawn by lot; the table of what was noticed, by chapter."""
    print(f"seed {seed}", flush=True)
    copies, table = {}, {}
    for one in recipes:
        copy = copies[one.chapter] = copies.get(one.chapter) or Copy("default", one.chapter, LEFT_OUT_OF_SAMPLE)
        row = table.setdefault(one.chapter, collections.Counter())
        if f"{one.name}_test" not in copy.targets:
            print(f"{one.name}: not built here", flush=True)
            continue
        if problem := copy.problem([one]):
            print(f"{one.name}: its tests fail without any mistake: {problem}", flush=True)
            row["not tried"] += count
            continue
        left = count
        for mistake in itertools.islice(mutation_rules.drawn(one, seed), 5 * count):
            refused, failure = copy.tried([one], one.folder / mistake.file,
                                          lambda text, mistake=mistake: mutation_rules.made(text, mistake))
            if refused:
                continue
            outcome = "survived" if failure is None else \
                "ended by a time limit" if failure.startswith("the time limit") else "noticed"
            row[outcome] += 1
            print(f"{one.name}: {f'noticed by {failure}' if failure else 'SURVIVED'}: {mistake}", flush=True)
            left -= 1
            if left == 0:
                break
        row["known to be equivalent"] += len(mutation_rules.equivalent(one))
    for chapter, row in table.items():
        print(f"{chapter}: " + ", ".join(f"{number} {outcome}" for outcome, number in row.items() if number))
    return 1 if any(row["survived"] or row["not tried"] for row in table.values()) else 0


def main(arguments):
    args = parser().parse_args(arguments)
    if args.sample is not None:
        known = recipe.recipes()
        chosen = [recipe.find(name, known) for name in args.names] or known
        return sample(chosen, args.sample, args.seed or datetime.date.today().isoformat())
    every = mutations()
    for name in args.names:
        recipe.find(name, {one.name: one for one, _ in every}.values(), "{} has no mutations", "")
    chosen = [(one, mutation) for one, mutation in every if not args.names or one.name in args.names]
    if args.list:
        print("\n".join(f"{one.name}: {mutation['why']}" for one, mutation in chosen))
        return 0
    faults = list(faults_of_lists())
    print("".join(f"{fault}\n" for fault in faults), end="", file=sys.stderr)
    if faults or args.check:
        return 1 if faults else 0

    copies, problems = {}, {}
    caught = by_limit = survived = 0
    for one, mutation in chosen:
        key = (mutation.get("preset", "default"), one.chapter)
        copy = copies[key] = copies.get(key) or Copy(*key)
        used_by = [user for user in users(one, mutation["file"]) if user.name in copy.targets]
        where = f"{one.name}: " if copy.preset == "default" else f"{one.name} ({copy.preset}): "
        for user in used_by:
            if (key, user.name) not in problems:
                problems[key, user.name] = copy.problem([user])
                if problems[key, user.name]:
                    print(f"{user.name}: its tests fail without any mutation: {problems[key, user.name]}", flush=True)
        if any(problems[key, user.name] for user in used_by):
            survived += 1
            continue
        refused, failure = copy.tried(used_by, one.folder / mutation["file"],
                                      lambda text, mutation=mutation: text.replace(mutation["old"], mutation["new"]))
        if refused:
            print(f"{where}does not compile: {mutation['why']}\n{refused}", flush=True)
        else:
            print(f"{where}{f'caught by {failure}' if failure else 'SURVIVED'}: {mutation['why']}", flush=True)
        caught += failure is not None
        by_limit += (failure or "").startswith("the time limit")
        survived += failure is None
    print(f"{caught} caught" + f" ({by_limit} of them by a time limit)" * bool(by_limit) + f", {survived} not")
    return 1 if survived else 0
