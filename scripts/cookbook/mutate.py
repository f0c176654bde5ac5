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
text, are run until one fails. Prints a line per mutation: caught, with the test and the check that caught it, or
survived. A test that has only reached its time limit is named as such: it may hang because of the mistake, or the
machine is busy. Exit code 1 if one survived, did not compile or did not apply, or if the tests fail without any
mutation.

With --sample N, mistakes that nobody has listed: N of each recipe, drawn by lot from what simple rules make of its
lines (mutation_rules.py). What does not compile is drawn again. The same seed draws the same; without one it is the
date. A header that recipes share counts as one of the first that uses it. Here `page` is run as well, and first,
without its excerpts: a mistake that a transcript shows is noticed. A lock that is not taken and a weakened memory
order, if they survive, are tried under ThreadSanitizer, too. tests/<chapter>/equivalent.toml names what changes nothing
(mutation_rules.py); it is not drawn again.

Which check was the first to notice each mistake is kept in build-mutate/noticed.tsv, from run to run. --checks prints
the checks of the lessons, the lines `ok    what` of their pages, that were never the first.
"""
import collections
import dataclasses
import datetime
import functools
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
from cookbook.mutation_rules import included, users

LEFT_OUT = r"\.(page|compile_line|answers|exercise)$"
LIMIT = 1200  # seconds: a mutated program may hang while it is built or run
NOTICED = cookbook.ROOT / "build-mutate" / "noticed.tsv"


def parser():
    result = Parser("mutate", __doc__)
    kinds = result.add_mutually_exclusive_group()
    kinds.add_argument("--list", action="store_true", help="print the mutations without making them")
    kinds.add_argument("--check", action="store_true", help="only see whether the lists fit the sources")
    kinds.add_argument("--checks", action="store_true", help="print the checks that no mistake so far has failed first")
    kinds.add_argument("--sample", metavar="N", type=int, help="draw N mistakes of each recipe by lot")
    result.add_argument("--seed", metavar="S", help="of the lot; today's date without it")
    result.add_names(lambda: list(dict.fromkeys(one.name for one, _ in mutations())), nargs="*",
                     help="every recipe that has mutations if none is named")
    return result


def lists(name="mutations.toml"):
    """What the chapters' lists hold: {folder of the chapter: {recipe: mutations}}."""
    return {path.parent.name: tomllib.loads(path.read_text())
            for path in sorted(cookbook.ROOT.glob(f"tests/*/{name}"))}


def mutations():
    """(recipe, mutation) of every list, in the order of the recipes."""
    found = lists()
    return [(one, mutation) for one in recipe.recipes() for mutation in found.get(one.chapter, {}).get(one.name, [])]


def faults_of_lists():
    """What is wrong with the lists themselves: a recipe that does not exist, a text that does not occur once, or an
    equivalent mistake that no rule makes any more."""
    known = {(one.chapter, one.name) for one in recipe.recipes()}
    for file in ("mutations.toml", "equivalent.toml"):
        for chapter, tables in lists(file).items():
            unknown = [name for name in tables if (chapter, name) not in known]
            yield from (f"{chapter}/{file}: there is no recipe {name}" for name in unknown)
    for one, mutation in mutations():
        if missing := {"file", "old", "new", "why"} - mutation.keys():
            yield f"{one.name}: a mutation without {', '.join(sorted(missing))}"
            continue
        source = one.folder / mutation["file"]
        count = source.read_text().count(mutation["old"]) if source.exists() else 0
        if count != 1 or mutation["old"] == mutation["new"]:
            yield f"{one.name}: {mutation['why']}: the old text stands {count} times in {mutation['file']}"
    for one in recipe.recipes():
        listed = mutation_rules.equivalent(one)
        made = {(mistake.file, mistake.old, mistake.new, mistake.nth) for mistake in mutation_rules.mistakes(one)} \
            if listed else set()
        made |= {(*mistake[:3], None) for mistake in made}
        for file, old, *_ in sorted(listed - made, key=str):
            yield f"{one.name}: equivalent.toml: no rule makes this mistake of a line of {file}: {old}"


def tracked_files():
    """The files that make up the project, relative to its root."""
    listed = process.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=cookbook.ROOT)
    if listed.code == 0:
        return listed.lines
    # Not a checkout, but an archive.
    files = (path.relative_to(cookbook.ROOT) for path in cookbook.ROOT.rglob("*") if path.is_file())
    return [str(path) for path in files if not path.parts[0].startswith("build")]


@dataclasses.dataclass(frozen=True)
class Failure:
    """What has noticed a mistake."""
    test: str
    check: str = ""  # of the program, as its FAIL line names it; otherwise the line of a GoogleTest
    by_limit: bool = False
    output: str = ""

    def __str__(self):
        place = f" ({self.check})" if self.check else ""
        return ("the time limit of " if self.by_limit else "") + self.test + place

    @classmethod
    def first_of(cls, text):
        """The first failure in what ctest has printed; one that is not a time limit, if there is one."""
        # ctest's own list; the output of the failed test, before it, may have lines that look like its lines.
        listed = text[text.rfind("The following tests FAILED:"):]
        failed = [(how, name) for name, how in re.findall(r"^\s*\d+ - (.*\S) \((.*)\)", listed, re.M)
                  if how not in ("Not Run", "Skipped")]
        found = []
        for how, name in failed:
            output = re.search(rf"Test +#\d+: {re.escape(name)} \.(.*?)"
                               r"(?=^ *\d+/\d+ Test +#|^ +Start +\d+: |^\d+% tests)", text, re.M | re.S)
            output = output[1] if output else ""
            # With spoiled values, all checks of a program fail.
            check = None if name.endswith((".fault", ".usage", ".symptom", ".bench")) else \
                re.search(r"\bFAIL  (.+?): ", output)
            place = re.search(r"([\w.]+:\d+): Failure$", output, re.M)
            late = how == "Timeout" or "it was ended, since" in output
            found.append(cls(name, check[1] if check else place[1] if place else "", late, output))
        return min(found, key=lambda one: one.by_limit, default=cls(text))


class Copy:
    """A copy of the tree, configured with one preset for one chapter."""

    def __init__(self, preset, chapter, with_page=False):
        self.preset, self.with_page = preset, with_page
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
        self.limit = 20 if preset == "default" else 60
        build.configure(f"-DCOOKBOOK_CHAPTERS={chapter}", f"-DCOOKBOOK_TEST_TIMEOUT={self.limit}")
        self.targets = build.targets()
        self.known = {}  # what is wrong with a recipe without a mistake

    def run(self, *command):
        environment = {"COOKBOOK_MUTATED": str(self.limit)}
        return process.run(command, LIMIT, environment, self.tree)

    def make(self, targets):
        """Builds some programs and tests; what the compiler says if it refuses, or None."""
        wanted = self.targets & set(targets)
        if not wanted:
            return None
        done = self.run("cmake", "--build", "--preset", self.preset, "--target", *wanted)
        return None if done.code == 0 else "\n".join(decisive_lines(done.text)) or done.text

    def first_failure(self, recipes, *chosen):
        """The recipes' tests until one fails: what has noticed the mistake, or None."""
        fixed = ["setarch", platform.machine(), "-R"] if self.preset == "tsan" else []
        labels = f"^({'|'.join(one.name for one in recipes)})$"
        done = self.run(*fixed, "ctest", "--preset", self.preset, "-L", labels, "-LE", "^(timing|exercise)$", *chosen,
                        "--stop-on-failure", "--output-on-failure", "-j", str(os.cpu_count()))
        return None if done.code == 0 else Failure.first_of(done.text)

    def without_mistake(self, one):
        """What is wrong with a recipe as it is, as in problem(); it is looked at once."""
        if one.name not in self.known:
            self.known[one.name] = self.problem([one])
            if problem := self.known[one.name]:
                print(f"{one.name}: its tests fail without any mistake: {problem}", flush=True)
                print(getattr(problem, "output", ""), file=sys.stderr, flush=True)
        return self.known[one.name]

    def problem(self, recipes, file=None):
        """What is wrong with them, as a text of the compiler or a Failure, or None. Only what uses the `file` is
        looked at."""
        def uses(one, program):
            return file is not None and file.resolve() in included([one.source(program)])

        programs = [name for one in recipes for name in (one.name, *one.programs, *one.pitfalls)]
        # A bench compiles slowly; it is for mistakes in what it includes.
        others = [name for one in recipes
                  for name in (f"{one.name}_test", *([one.bench] if one.bench and uses(one, one.bench) else []))]
        # The programs first: they compile faster than the tests, and their own checks notice half of all mistakes.
        if refused := self.make(programs if file else programs + others):
            return refused
        if self.with_page and (failure := self.first_failure(recipes, "-R", r"\.page$")):
            return failure
        if refused := self.make(others):
            return refused
        left_out = [LEFT_OUT, *(rf"\.{one.name}\.bench$" for one in recipes if one.bench not in others),
                    *(rf"\.{name}\.symptom$" for one in recipes for name in one.pitfalls
                      if file and not uses(one, name))]
        return self.first_failure(recipes, "-E", "|".join(left_out), "--no-tests=error")

    def tried(self, recipes, file, change):
        """What is wrong with the recipes when a source has been changed, as in problem()."""
        source = self.tree / pathlib.Path(os.path.relpath(file, cookbook.ROOT))
        original = source.read_text()
        try:
            source.write_text(change(original))
            return self.problem(recipes, file)
        finally:
            source.write_text(original)


def note(one, failure, mistake):
    """Keeps what has noticed a mistake."""
    if failure:
        with NOTICED.open("a") as file:
            print(one.name, failure.test, failure.check, mistake, sep="\t", file=file)


def idle_checks(recipes):
    """(recipe, check) of the lessons' checks, as their pages show them, that were never the first to notice a mistake,
    of the recipes of which mistakes have been tried."""
    noticed = [line.split("\t") for line in NOTICED.read_text().splitlines()] if NOTICED.exists() else []
    first = {(name, check) for name, _, check, _ in noticed}
    for one in recipes:
        checks = dict.fromkeys(re.findall(r"^ok    (.+?): ", one.page.read_text(), re.M))
        if any(name == one.name for name, *_ in noticed):
            yield from ((one, check) for check in checks if (one.name, check) not in first)


def sample(recipes, count, seed):
    """Tries so many mistakes of each recipe, drawn by lot; the table of what was noticed, by chapter."""
    print(f"seed {seed}", flush=True)
    copies, table = {}, {}

    def copy_of(one, preset):
        key = (preset, one.chapter)
        copies[key] = copies.get(key) or Copy(*key, with_page=preset == "default")
        return copies[key]

    for one in recipes:
        copy = copy_of(one, "default")
        row = table.setdefault(one.chapter, collections.Counter())
        if f"{one.name}_test" not in copy.targets:
            print(f"{one.name}: not built here", flush=True)
            continue
        if copy.without_mistake(one):
            row["not tried"] += count
            continue
        left = count
        for mistake in itertools.islice(mutation_rules.drawn(one, seed), 5 * count):
            change = functools.partial(mutation_rules.made, mistake=mistake)
            problem = copy.tried([one], one.folder / mistake.file, change)
            if isinstance(problem, str):
                continue  # the compiler has refused it
            for other in users(one, mistake.file)[1:]:
                if not problem and f"{other.name}_test" in copy.targets and not copy.without_mistake(other):
                    problem = copy.tried([other], one.folder / mistake.file, change)
            if not problem and mistake.rule in mutation_rules.SEEN_BY_SANITIZER:
                sanitized = copy_of(one, "tsan")
                if not sanitized.without_mistake(one):
                    problem = sanitized.tried([one], one.folder / mistake.file, change)
            row["survived" if problem is None else "ended by a time limit" if problem.by_limit else "noticed"] += 1
            print(f"{one.name}: {f'noticed by {problem}' if problem else 'SURVIVED'}: {mistake}", flush=True)
            note(one, problem, mistake)
            left -= 1
            if left == 0:
                break
        row["known to be equivalent"] += len(mutation_rules.equivalent(one))
    for chapter, row in table.items():
        print(f"{chapter}: " + ", ".join(f"{number} {outcome}" for outcome, number in row.items() if number))
    return 1 if any(row["survived"] or row["not tried"] for row in table.values()) else 0


def main(arguments):
    args = parser().parse_args(arguments)
    if args.sample is not None or args.checks:
        known = recipe.recipes()
        chosen = [recipe.find(name, known) for name in args.names] or known
        if args.checks:
            print("".join(f"{one.name}: {check}\n" for one, check in idle_checks(chosen)), end="")
            return 0
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

    copies = {}
    caught = by_limit = survived = 0
    for one, mutation in chosen:
        key = (mutation.get("preset", "default"), one.chapter)
        copy = copies[key] = copies.get(key) or Copy(*key)
        used_by = [user for user in users(one, mutation["file"]) if user.name in copy.targets]
        where = f"{one.name}: " if copy.preset == "default" else f"{one.name} ({copy.preset}): "
        if [user for user in used_by if copy.without_mistake(user)]:
            survived += 1
            continue
        problem = copy.tried(used_by, one.folder / mutation["file"],
                             lambda text, mutation=mutation: text.replace(mutation["old"], mutation["new"]))
        if isinstance(problem, str):
            print(f"{where}does not compile: {mutation['why']}\n{problem}", flush=True)
        else:
            print(f"{where}{f'caught by {problem}' if problem else 'SURVIVED'}: {mutation['why']}", flush=True)
            note(one, problem, mutation["why"])
        caught += isinstance(problem, Failure)
        by_limit += isinstance(problem, Failure) and problem.by_limit
        survived += not isinstance(problem, Failure)
    print(f"{caught} caught" + f" ({by_limit} of them by a time limit)" * bool(by_limit) + f", {survived} not")
    return 1 if survived else 0
