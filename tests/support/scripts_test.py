#!/usr/bin/env python3
"""What the scripts make, and what they refuse."""
import contextlib
import importlib.machinery
import importlib.util
import io
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
SCRIPTS = HERE.parent.parent / "scripts"
sys.path[:0] = [str(HERE), str(SCRIPTS)]
import check_recipe  # noqa: E402
import cookbook  # noqa: E402


def script(name):
    """A script without ending, as a module."""
    loader = importlib.machinery.SourceFileLoader(name, str(SCRIPTS / name))
    sys.dont_write_bytecode = True
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


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
        new_recipe = script("new_recipe")
        for kind in new_recipe.KINDS:
            name = f"new_{kind}"
            self.write("chapters/02_threads/THE_BOOK.md", "# The book's programs\n")
            self.write("chapters/02_threads/README.md", "# Threads\n")
            new_recipe.write_all("02_threads", name, kind, bench=kind in ("plain", "mpi"))
            recipe = next(recipe for recipe in cookbook.recipes() if recipe.name == name)
            page = recipe.page.read_text()
            self.assertEqual(list(check_recipe.structure_faults(page, recipe.folder)), [], kind)
            self.assertEqual(list(check_recipe.excerpt_faults(page, [path.read_text() for path in recipe.sources()])), [], kind)
            for source in (path for path in recipe.sources() if path.suffix in (".cpp", ".cu")):
                self.assertTrue(cookbook.head_field(source, "Compile"), source)
                self.assertNotRegex(source.read_text(), r"\{(title|name|chapter)\}")

    def test_what_it_refuses(self):
        for arguments in ([], ["02_threads"], ["threads", "x"], ["02_threads", "X"], ["--kind", "odd", "02_threads", "x"],
                          ["02_threads", "lock"], ["--kind", "cuda", "02_threads", "x"]):
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
        return list(script("mutate").faults_of_lists())

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
        self.assertTrue(list(script("mutate").faults_of_lists()))


class Index(Case):
    PAGE = "# First\n\nIt is the first.\n\n| Python | C++ |\n|---|---|\n| `threading.Lock` | `std::mutex m;` or `pthread_mutex_t` |\n"

    def test_leads_from_both_columns_to_the_recipe(self):
        self.write("chapters/02_threads/CMakeLists.txt", "recipe(first)\n")
        self.write("chapters/02_threads/first/README.md", self.PAGE + "\n| other | table |\n|---|---|\n| `a` | `std::b` |\n")
        text = script("update_index").index(cookbook.recipes())
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


class Bench(Case):
    def test_what_it_refuses(self):
        for arguments in (["--json"], ["--odd"], ["no_such_recipe"], ["lock"]):
            done = subprocess.run([SCRIPTS / "bench", *arguments], capture_output=True, text=True)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertRegex(done.stderr, re.compile("scripts/bench: "))

    def test_prints_a_table_with_its_comparisons(self):
        bench = script("bench")
        record = {"recipe": "x_bench", "table": "sums", "row": "ours", "unit": "GB/s", "median": 4, "lowest": 3,
                  "highest": 5, "runs": 9, "compared": {"vs tbb": 1.25, "of read": None}, "machine": "a machine"}
        with contextlib.redirect_stdout(io.StringIO()) as out:
            bench.print_tables([record])
        self.assertRegex(out.getvalue(), r"ours +4 GB/s +\[3 to 5\] +1\.25 vs tbb\n")


if __name__ == "__main__":
    unittest.main()
