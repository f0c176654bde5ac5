#!/usr/bin/env python3
"""What the scripts make, and what they refuse."""
import contextlib
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"
sys.path.insert(0, str(SCRIPTS))
import cookbook  # noqa: E402
from cookbook import bench, build, complete, figures, index, mutate, mutation_rules, new, page, recipe, test  # noqa: E402
from cookbook.command import Problem  # noqa: E402


class Case(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = pathlib.Path(scratch.name)
        self.addCleanup(setattr, cookbook, "ROOT", cookbook.ROOT)
        cookbook.ROOT = self.root

    def write(self, path, text):
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)


class NewRecipe(Case):
    def test_every_kind_has_a_page_whose_structure_and_excerpt_are_right(self):
        for kind in new.KINDS:
            name = f"new_{kind}"
            self.write("chapters/02_threads/THE_BOOK.md", "# The book's programs\n")
            self.write("chapters/02_threads/README.md", "# Threads\n")
            new.write_all("02_threads", name, kind, bench=kind in ("plain", "mpi"))
            made = recipe.find(name)
            self.assertEqual(made.launcher, {"mpi": "mpi 4", "script": "script"}.get(kind, "plain"))
            text = made.page.read_text()
            self.assertEqual(list(page.structure_faults(text, made.folder)), [], kind)
            self.assertEqual(list(page.excerpt_faults(text, [path.read_text() for path in made.sources()])), [], kind)
            for source in made.sources(recipe.PROGRAMS):
                self.assertTrue(recipe.head_field(source, "Compile"), source)
                self.assertEqual(list(page.check_faults(source)), [])
                self.assertNotRegex(source.read_text(), r"\{(title|name|chapter)\}")

    def test_what_it_refuses(self):
        for arguments in ([], ["02_threads"], ["threads", "x"], ["02_threads", "X"],
                          ["--kind", "odd", "02_threads", "x"], ["02_threads", "lock"],
                          ["--kind", "cuda", "--bench", "06_gpu", "x"]):
            done = subprocess.run([SCRIPTS / "new_recipe", *arguments], capture_output=True, text=True)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertTrue(done.stderr, arguments)


class Mutations(Case):
    def faults(self, **changes):
        mutation = {"file": "first.cpp", "old": "lock();", "new": "", "why": "no lock", **changes}
        text = "[[first]]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in mutation.items())
        self.write("chapters/02_threads/CMakeLists.txt", "recipe(first)\n")
        self.write("chapters/02_threads/first/first.cpp", "void f() {\n  lock();\n  work();\n  work();\n}\n")
        self.write("tests/02_threads/mutations.toml", text)
        return list(mutate.faults_of_lists())

    def test_a_list_that_fits(self):
        self.assertEqual(self.faults(), [])

    def test_a_text_that_occurs_never_or_twice(self):
        self.assertTrue(self.faults(old="unlock_all();"))
        self.assertTrue(self.faults(old="work();"))

    def test_a_mutation_that_changes_nothing(self):
        self.assertTrue(self.faults(new="lock();"))

    def test_a_file_or_a_recipe_that_does_not_exist(self):
        self.assertTrue(self.faults(file="second.cpp"))
        self.faults()
        self.write("tests/02_threads/mutations.toml", "[[second]]\nfile = 'x'\nold = 'a'\nnew = 'b'\nwhy = 'c'\n")
        self.assertTrue(list(mutate.faults_of_lists()))

    def equivalent(self, name="first", file="first.cpp", old="lock();", new="nothing", nth=None):
        text = f"[[{name}]]\nfile = '{file}'\nold = '{old}'\nnew = '{new}'\nwhy = 'x'\n"
        self.write("tests/02_threads/equivalent.toml", text + (f"nth = {nth}\n" if nth else ""))
        return self.faults()

    def test_an_equivalent_mistake_is_one_that_a_rule_makes(self):
        self.faults()
        [locked] = [one for one in mutation_rules.mistakes(recipe.find("first", recipe.recipes()))
                    if one.old == "lock();"][:1]
        self.assertEqual(self.equivalent(new=locked.new), [])
        self.assertEqual(self.equivalent(old="work();", new=locked.new, nth=2), [])
        self.assertTrue(self.equivalent(old="work();", new=locked.new, nth=3))
        self.assertTrue(self.equivalent(old="unlock();", new=locked.new))
        self.assertTrue(self.equivalent(new="lock(1);"))
        self.assertTrue(self.equivalent(file="second.cpp", new=locked.new))
        self.assertTrue(self.equivalent(name="second", new=locked.new))

    def test_a_shared_header_concerns_the_recipes_that_include_it(self):
        self.faults()
        names = ("first", "second", "third", "fourth")
        self.write("chapters/02_threads/CMakeLists.txt", "".join(f"recipe({name})\n" for name in names))
        self.write("chapters/02_threads/inner.hpp", "")
        self.write("chapters/02_threads/outer.hpp", '#include "inner.hpp"\n')
        self.write("chapters/02_threads/second/second.cpp", '#include "outer.hpp"\n')
        self.write("tests/02_threads/third_test.cpp", '#include "02_threads/inner.hpp"\n')
        self.write("chapters/02_threads/fourth/fourth.cpp", "#include <inner.hpp>\n")
        first = recipe.find("first")
        self.assertEqual([one.name for one in mutate.users(first, "../inner.hpp")], ["first", "second", "third"])
        self.assertEqual([one.name for one in mutate.users(first, "first.cpp")], ["first"])
        for name, shared in (("first", []), ("second", ["inner.hpp", "outer.hpp"]), ("third", []), ("fourth", [])):
            found = mutation_rules.shared_headers(recipe.find(name))
            self.assertEqual([path.name for path in found], shared, name)

    def failure(self, *, tests, outputs=""):
        return str(mutate.Failure.first_of(f"{outputs}\n0% tests passed\n\nThe following tests FAILED:\n{tests}"))

    def test_the_time_limit_is_named_and_any_other_failure_goes_before_it(self):
        tests = "\t  1 - t.first (Timeout)\n\t  3 - t.none (Not Run)\n"
        outputs = "  7 - a.b (Failed)\nThe following tests FAILED:\n\t  5 - t.inner (Failed)\n"
        self.assertEqual(self.failure(tests=tests, outputs=outputs), "the time limit of t.first")
        self.assertEqual(self.failure(tests=tests + "\t  2 - t.z (Failed)\n", outputs=outputs), "t.z")
        page = "1/3 Test #4: t.one.page ......***Failed    0.5 sec\n$ build/bin/one: it was ended, since it ran\n"
        self.assertEqual(self.failure(tests="\t  4 - t.one.page (Failed)\n", outputs=page),
                         "the time limit of t.one.page")

    def test_the_check_that_noticed_is_named(self):
        outputs = ("1/3 Test #4: t.one.page ......***Failed    0.5 sec\n"
                   "$ build/bin/one: FAIL  sum: of all: 1, expected 2\n"
                   "    Start 5: t.two\n"
                   "2/3 Test #5: t.two .....***Failed    0.5 sec\n/a/tests/x/one_test.cpp:12: Failure\nFAILED\n"
                   "3/3 Test #6: t.one.fault .....***Failed    0.5 sec\nFAIL  sum: 1, expected 2\n")
        for failed, expected in (("4 - t.one.page", "t.one.page (sum)"), ("5 - t.two", "t.two (one_test.cpp:12)"),
                                 ("6 - t.one.fault", "t.one.fault")):
            self.assertEqual(self.failure(tests=f"\t  {failed} (Failed)\n", outputs=outputs), expected)


class MistakesByRule(Case):
    def rules(self, text, file="a.cpp"):
        return {(one.rule, one.new) for one in mutation_rules.mistakes_in(text, file)}

    def test_each_rule_makes_its_mistakes(self):
        for line, rule, changed in (
                ("  queue.close();", "a call is dropped", ""),
                ("  add<<<blocks, 256>>>(a, b);", "a call is dropped", ""),
                ("  MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));", "a checked call is dropped", ""),
                ("  const std::scoped_lock lock(mutex_);", "a lock is not taken", ""),
                ("  total += part;", "an assignment is dropped", ""),
                ("  if (a < b) return;", "a comparison is turned", "if (a <= b) return;"),
                ("  f(count + 1);", "one more", "f(count + 2);"),
                ("  f(count - 1);", "one less", "f(count - 0);"),
                ("  if (i < count) {", "the condition is always true", "if (true) {"),
                ("  if (i < count) {", "the condition is never true", "if (false) {"),
                ("  while (!closed_) step();", "a not is dropped", "while (closed_) step();"),
                ("  return a && b;", "and is or", "return a || b;"),
                ("  x.load(std::memory_order_acquire);", "a memory order is weakened",
                 "x.load(std::memory_order_relaxed);"),
                ("  std::sort(std::execution::par, a, b);", "parallel is sequential",
                 "std::sort(std::execution::seq, a, b);"),
                ("  copy(from, to);", "two arguments are exchanged", "copy(to, from);"),
                ("  kill(child, SIGKILL);", "another signal", "kill(child, SIGTERM);"),
                ('  listen("127.0.0.1");', "every address", 'listen("0.0.0.0");'),
                ("  wait(milliseconds(20));", "ten times as long", "wait(milliseconds(200));"),
                ("  wait(20ms);", "ten times as long", "wait(200ms);"),
                ("  woken.notify_all();", "notify one instead of all", "woken.notify_one();")):
            self.assertIn((rule, changed), self.rules(line), line)

    def test_comments_strings_includes_and_options_are_left_alone(self):
        for line in ('#include "a_1.hpp"', "// a = 1;", '  print("1 < 2 && 3");  // 4',
                     '  options.add("n", n, "x", 1, 2);', '  options.add("n", n, "x", 1,\n    2);',
                     '  int m = 1, n = 2;\n  options.add("n", n, "x", 1, 2);',
                     '  int n = 2, m = 1;\n  options.add("n", n, "x", 1, 2);',
                     '  int m = 1, n = 1 << 25;\n  options.add("n", n, "x", 1, 1 << 26);',
                     '  std::size_t m = 1, n = std::size_t{1} << 26;\n  options.add("n", n, "x", 1, 2);'):
            self.assertLessEqual({rule for rule, _ in self.rules(line)}, {"a call is dropped"}, line)

    def test_the_1000_that_converts_a_unit_is_left_alone(self):
        for line in ("  print(watch.seconds() * 1000, i);", "  ms = 1000 * watch.seconds();", "  print(us / 1'000);",
                     "  print(times[i] / 1000000);", "  ns = 1'000'000'000 * (b - a);"):
            self.assertFalse({"one more", "one less"} & {rule for rule, _ in self.rules(line)}, line)
        for line, changed in (("  f(1000);", "f(1001);"), ("  f(n + 1000);", "f(n + 1001);"),
                              ("  f(n / 10'000);", "f(n / 10001);"), ("  f(n % 1000);", "f(n % 1001);"),
                              ("  f(1000 / n);", "f(1001 / n);"), ("  f(3 * 1000);", "f(3 * 1001);"),
                              ("  f(1000 * 1024);", "f(1001 * 1024);"), ("  f(n * 1000 + 1);", "f(n * 1000 + 2);")):
            self.assertIn(("one more", changed), self.rules(line), line)

    def test_a_string_in_a_changed_line_stays_as_it_is(self):
        self.assertIn(("one more", 'print("{} of 3", 5);  // all 4'), self.rules('print("{} of 3", 4);  // all 4'))

    def test_a_mistake_is_made_in_its_line_only(self):
        text = "  f(1);\n  f(1);\n"
        second = [one for one in mutation_rules.mistakes_in(text, "a.cpp") if one.line == 2 and one.rule == "one more"]
        self.assertEqual("  f(1);\n  f(2);\n", mutation_rules.made(text, second[0]))

    def test_the_same_seed_draws_the_same_and_equivalent_ones_are_not_drawn(self):
        self.write("chapters/02_threads/one/one.cpp",
                   "int f(int a) { return a + 1; }\nint g(int a) { return a + 3; }\n")
        self.write("chapters/02_threads/one/one_trap.cpp", "int f(int a) { return a + 100; }\n")
        one = recipe.Recipe("one", "02_threads", pitfalls=["one_trap"])
        first = list(mutation_rules.drawn(one, "7"))
        self.assertEqual(first, list(mutation_rules.drawn(one, "7")))
        self.assertNotEqual(first, list(mutation_rules.drawn(one, "8")))
        self.assertEqual({"one.cpp"}, {mistake.file for mistake in first})
        known = first[0]
        self.write("tests/02_threads/equivalent.toml", f'[[one]]\nfile = "{known.file}"\nold = "{known.old}"\n'
                   f'new = "{known.new}"\nwhy = "..."\n')
        self.assertNotIn(known, list(mutation_rules.drawn(one, "7")))

    def test_only_one_of_equal_lines_may_be_equivalent(self):
        self.write("chapters/02_threads/one/one.cpp", "void f() {\n  g();\n  h();\n  g();\n}\n")
        self.write("tests/02_threads/equivalent.toml",
                   '[[one]]\nfile = "one.cpp"\nold = "g();"\nnew = ""\nwhy = "..."\nnth = 2\n')
        one = recipe.Recipe("one", "02_threads")
        self.assertEqual({2, 3}, {mistake.line for mistake in mutation_rules.drawn(one, "1")})


class Model(Case):
    def test_a_summary_is_one_line_without_links(self):
        page = "# Do it\n\nAs in [lock](../lock/README.md),\nbut better.\n\n**Read first:** x\n"
        self.assertEqual(("Do it", "As in lock, but better."), recipe.title_and_summary(page))

    def test_what_cmake_lists(self):
        self.write("chapters/02_threads/CMakeLists.txt",
                   "# recipe(none)\nrecipe(first NEEDS tbb\n  boost USES podman)\n"
                   "recipe(second RUN mpi 4 PITFALLS a b)\n")
        self.write("chapters/02_threads/second/second_bench.cpp", "")
        first, second = recipe.recipes()
        self.assertEqual((first.name, first.needs), ("first", ["tbb", "boost"]))
        self.assertEqual((first.uses, first.launcher), (["podman"], "plain"))
        self.assertEqual((second.launcher, second.pitfalls, second.bench), ("mpi 4", ["a", "b"], "second_bench"))
        self.assertEqual(second.command(self.root, "a", ["-x"])[-3:], ["4", str(self.root / "bin" / "a"), "-x"])
        with self.assertRaisesRegex(Problem, "did you mean first"):
            recipe.find("firsd")

    def test_an_argument_that_recipe_does_not_have(self):
        self.write("chapters/02_threads/CMakeLists.txt", "recipe(first NEED tbb)\n")
        with self.assertRaisesRegex(Problem, "NEED"):
            recipe.recipes()

    def test_what_decides_in_a_failed_build(self):
        lines = ["In file included from x.hpp:1:", "/usr/include/c++/12/thread:1:2: note: x",
                 "/usr/include/c++/12/x: required from here",
                 "/x/chapters/02_threads/lock/lock.cpp:9:3:   required from here",
                 "/usr/include/c++/12/y.h:7:2: error: assertion failed", "ld: lock.o: undefined reference to `f()'",
                 "ld: lock.o: undefined reference to `f()'", "ninja: build stopped"]
        self.assertEqual(build.decisive_lines("\n".join(lines)), [lines[3], lines[4], lines[5]])
        with self.assertRaisesRegex(Problem, r"(?s)^trying failed\na: error: b\n.*noise\na: error: b"):
            build.step(["sh", "-c", "echo noise; echo 'a: error: b'; exit 1"], "trying")


class Commands(unittest.TestCase):
    def test_names_of_recipes_and_chapters_and_options_for_ctest(self):
        self.assertEqual(test.split(["--preset", "tsan", "lock", "--repeat", "5", "-R", "page", "--timing"]),
                         (["--preset", "tsan", "lock", "--repeat", "5"], ["-R", "page", "--timing"]))
        self.assertEqual([one.name for one in test.chosen(["lock"])], ["lock"])
        for name in ("02_threads", "threads"):
            self.assertEqual({one.chapter for one in test.chosen([name])}, {"02_threads"})
        with self.assertRaisesRegex(Problem, "lock"):
            test.chosen(["lokc"])

    def test_each_says_what_it_takes_and_refuses_what_it_does_not(self):
        for name in complete.COMMANDS:
            done = subprocess.run([SCRIPTS / name, "--help"], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (0, ""), name)
            if name == "test":  # it would go to ctest
                continue
            words = ["--no-such-option", *{"new_recipe": ["02_threads", "x"]}.get(name, [])]
            done = subprocess.run([SCRIPTS / name, *words], capture_output=True, text=True)
            self.assertEqual(done.returncode, 2, name)
            self.assertRegex(done.stderr, rf"^scripts/{name}: [^\n]*no-such-option[^\n]*\n$")

    def test_bash_completes_options_commands_and_names(self):
        for words, expected in (("run loc", "lock lock_free_stack"), ("exercise hi", "hint"),
                                ("exercise hint lock_r", "lock_race"), ("bench --j", "--json"),
                                ("test 02", "02_threads"), ("setup --w", "--with-test-dependencies"),
                                ("new_recipe --kind", "--kind")):
            text = f"source {SCRIPTS}/completion.bash; COMP_WORDS=({SCRIPTS}/{words}); " \
                   "COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _cookbook; echo ${COMPREPLY[@]}"
            done = subprocess.run(["bash", "-c", text], capture_output=True, text=True)
            self.assertEqual(done.stdout.strip(), expected, (words, done.stderr))

    def test_what_run_refuses(self):
        for words, part in ((["--no-setup", "lokc"], "lock"), (["--all", "x"], "takes nothing more"),
                            ([], "which recipe")):
            done = subprocess.run([SCRIPTS / "run", *words], capture_output=True, text=True)
            self.assertEqual(done.returncode, 2, words)
            self.assertIn(part, done.stderr)


class Index(Case):
    PAGE = "# First\n\nIt is the first.\n\n| Python | C++ |\n|---|---|\n" \
           "| `threading.Lock` | `std::mutex m;` or `pthread_mutex_t` |\n"

    def test_leads_from_both_columns_to_the_recipe(self):
        self.write("chapters/02_threads/CMakeLists.txt", "recipe(first)\n")
        other = "\n| other | table |\n|---|---|\n| `a` | `std::b` |\n"
        self.write("chapters/02_threads/first/README.md", self.PAGE + other)
        text = index.index(recipe.recipes())
        link = "[first](02_threads/first/README.md)"
        for entry in ("threading.Lock", "std::mutex", "pthread_mutex_t"):
            self.assertIn(f"- `{entry}`: {link}", text)
        self.assertNotIn("std::b", text)


class Plot(Case):
    def record(self, table, row):
        return json.dumps({"recipe": "x_bench", "table": table, "row": row, "unit": "ns", "median": 2, "lowest": 1,
                           "highest": 3, "runs": 9, "compared": {}, "machine": "a machine"}) + "\n"

    def plot(self, *arguments):
        return subprocess.run([SCRIPTS / "plot", *arguments], capture_output=True, text=True)

    def test_bars_and_lines(self):
        rows = [self.record("bars", row) for row in ("mutex", "spin lock")]
        rows += [self.record("lines", f"{series}, {size} KiB") for series in ("a", "b") for size in (4, 64, 1024)]
        self.write("figures.json", "".join(rows))
        done = self.plot(self.root / "figures.json")
        if "matplotlib is needed" in done.stderr:
            self.skipTest("python3-matplotlib is not installed")
        self.assertEqual(done.returncode, 0, done.stderr)
        bars, lines = (self.root / f"x_bench.{table}.svg" for table in ("bars", "lines"))
        self.assertIn("spin lock", bars.read_text())
        self.assertIn("64 KiB", lines.read_text())
        first = lines.read_text()
        self.plot(self.root / "figures.json")
        self.assertEqual(lines.read_text(), first)  # the same figures give the same file

    def test_what_it_refuses(self):
        self.write("empty.json", "")
        self.write("broken.json", "{\n")
        for arguments in ([], ["no_such_file"], [self.root / "empty.json"], [self.root / "broken.json"]):
            done = self.plot(*arguments)
            if "matplotlib is needed" in done.stderr:
                self.skipTest("python3-matplotlib is not installed")
            self.assertEqual(done.returncode, 2, arguments)


class Figures(Case):
    def record(self, table, row, median, machine="a machine", **compared):
        return {"recipe": "x_bench", "table": table, "row": row, "unit": "ns", "median": median, "lowest": median / 2,
                "highest": 2 * median, "runs": 9, "compared": compared, "machine": machine}

    def test_a_record_replaces_what_the_same_machine_had(self):
        figures.keep(self.root, [self.record("one", "a", 1), self.record("two", "a", 2)], "2026-01-01")
        figures.keep(self.root, [self.record("one", "a", 3, "another")], "2026-02-02")
        figures.keep(self.root, [self.record("one", "a", 4), self.record("one", "b", 5)], "2026-03-03")
        self.assertEqual([(one["table"], one["row"], one["median"], one["date"]) for one in figures.kept(self.root)],
                         [("two", "a", 2, "2026-01-01"), ("one", "a", 3, "2026-02-02"), ("one", "a", 4, "2026-03-03"),
                          ("one", "b", 5, "2026-03-03")])

    def test_tables_of_a_page(self):
        figures.keep(self.root, [self.record("one", "a", 1234.5, **{"vs a": 1.0}), self.record("one", "b", 0.12345),
                                 self.record("two", "b", 10)], "2026-01-01")
        page = "before\n\n<!-- figures: {} -->\nold\n<!-- end of figures -->\n\nafter\n"
        made = figures.with_figures(page.format("one"), figures.kept(self.root), index.padded)
        self.assertTrue(made.startswith("before\n\n<!-- figures: one -->\n\na machine; medians of 9 runs "
                                        "(lowest to highest); 2026-01-01:\n\n| one | ns "), made)
        self.assertTrue(made.endswith(" |\n\n<!-- end of figures -->\n\nafter\n"), made)
        self.assertIn("| a   | 1,234 (617 to 2,469)    | 1.00 |\n| b   | 0.123 (0.0617 to 0.247) | -    |\n", made)
        self.assertEqual(figures.with_figures(made, figures.kept(self.root), index.padded), made)
        both = figures.with_figures(page.format("one | two"), figures.kept(self.root), index.padded)
        self.assertIn("| in ns | one                     | two          |\n"
                      "| ----- | ----------------------- | ------------ |\n"
                      "| a     | 1,234 (617 to 2,469)    | -            |\n"
                      "| b     | 0.123 (0.0617 to 0.247) | 10 (5 to 20) |\n", both)
        few = {**self.record("few", "  c", 1, **{"vs a": 0.00123}), "runs": 3}
        figures.keep(self.root, [self.record("few", "b", 1, **{"vs a": 0.1}), few], "2026-01-01")
        made = figures.with_figures(page.format("few"), figures.kept(self.root), index.padded)
        self.assertIn("medians of 3 to 9 runs", made)
        self.assertIn("| b   | 1 (0.5 to 2) | 0.10   |\n| c   | 1 (0.5 to 2) | 0.0012 |\n", made)
        with self.assertRaisesRegex(Problem, "no table 'three'"):
            figures.with_figures(page.format("three"), figures.kept(self.root), index.padded)

    def test_machines_become_columns(self):
        rows = [self.record("t", row, median, machine) | {"date": "2026-01-01"}
                for machine, median in (("A, 2 threads, GCC 12", 1), ("B, 16 threads, GCC 13", 2))
                for row in ("a", "b, c", "d")]
        page = "<!-- figures: t; medians{} -->\n<!-- end of figures -->\n"
        made = figures.with_figures(page.format(" of b, c | d"), rows, index.padded)
        self.assertIn("A, 2 threads, GCC 12 and B, 16 threads, GCC 13; medians of 9 runs; 2026-01-01:\n\n"
                      "| t, in ns | A, 2 threads | B, 16 threads |\n| -------- | ------------ | ------------- |\n"
                      "| b, c     | 1            | 2             |\n"
                      "| d        | 1            | 2             |\n", made)
        self.assertIn("| a        | 1            | 2             |\n", figures.with_figures(page.format(""), rows,
                                                                                              index.padded))
        with self.assertRaisesRegex(Problem, "no row 'e'"):
            figures.with_figures(page.format(" of b, c | e"), rows, index.padded)
        with self.assertRaisesRegex(Problem, r"of one table, not of 's \| t'"):
            figures.with_figures(page.replace("t;", "s | t;").format(""), rows, index.padded)

    def test_rows_become_columns(self):
        rows = [self.record("t", row, i) | {"date": "2026-01-01"}
                for i, row in enumerate(["alone", " 8 B, a", "8 B, b, c", "1 KiB, a"])]
        page = "<!-- figures: t; columns {} the comma -->\n<!-- end of figures -->\n"
        before, behind = (figures.with_figures(page.format(side), rows, index.padded) for side in ("before", "behind"))
        self.assertIn("a machine; medians of 9 runs; 2026-01-01:\n\n"
                      "| t, in ns | 8 B | 1 KiB |\n| -------- | --- | ----- |\n"
                      "| a        | 1   | 3     |\n| b, c     | 2   | -     |\n", before)
        self.assertIn("| t, in ns | a | c |\n| -------- | - | - |\n| 8 B      | 1 | - |\n| 8 B, b   | - | 2 |\n"
                      "| 1 KiB    | 3 | - |\n", behind)


class Bench(Case):
    def test_what_it_refuses(self):
        for arguments in (["--json"], ["--odd"], ["no_such_recipe"], ["lock"]):
            done = subprocess.run([SCRIPTS / "bench", *arguments], capture_output=True, text=True)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertRegex(done.stderr, re.compile("scripts/bench: "))

    def test_prints_a_table_with_its_comparisons(self):
        record = {"recipe": "x_bench", "table": "sums", "row": "ours", "unit": "GB/s", "median": 4, "lowest": 3,
                  "highest": 5, "runs": 9, "compared": {"vs tbb": 1.25, "of read": None}, "machine": "a machine"}
        with contextlib.redirect_stdout(io.StringIO()) as out:
            bench.print_tables([record])
        self.assertRegex(out.getvalue(), r"ours +4 GB/s +\[3 to 5\] +1\.25 vs tbb\n")


class Environment(unittest.TestCase):
    def test_scripts_test_passes_on_no_setting_of_the_generic_tests(self):
        """COOKBOOK_ROUNDS, for one, would let a C++ test measure once instead of so many times."""
        code = "import os; before = dict(os.environ); import cookbook.test; " \
               "print(sorted(name for name in os.environ if os.environ[name] != before.get(name)))"
        done = subprocess.run([sys.executable, "-c", code], cwd=SCRIPTS, text=True, stdout=subprocess.PIPE, check=True,
                              env={"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"})
        self.assertEqual(done.stdout, "['EVENT_NOEPOLL']\n")


if __name__ == "__main__":
    unittest.main()
