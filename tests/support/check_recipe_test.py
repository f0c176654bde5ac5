#!/usr/bin/env python3
"""The generic tests of a recipe must be able to fail: each is given a recipe that is right, and ones that lie."""
import json
import os
import pathlib
import stat
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import check_recipe  # noqa: E402
import cookbook  # noqa: E402

SOURCE = """\
// A recipe
//
// Compile: true -o recipe
// Run:     recipe

int twice(int x) {
  return x + x;
}

int main() {}
"""

PAGE = """\
# Do a thing

It does the thing.

## Getting ready
## How to do it

```console
$ scripts/run recipe
started by process <pid>
on <machine...>, GCC
copied 3 files at 12.5 GB/s, 98 % of 4.1 ms
ok    files: 3
```

## How it works

```cpp
int twice(int x) {
  return x + x;
```

## Pitfalls
## There's more
## See also
"""

# What the program prints: other measured numbers than the page has.
PROGRAM = """\
started by process 4711
on AMD EPYC, 2 threads, GCC
copied 3 files at 7.25 GB/s, 101 % of 12 ms
ok    files: 3
"""


class Case(unittest.TestCase):
    """A tree with one recipe; the build folder holds a shell script in its executable's place."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = pathlib.Path(scratch.name)
        self.addCleanup(setattr, cookbook, "ROOT", cookbook.ROOT)
        cookbook.ROOT = self.root
        self.build = self.root / "build"
        (self.build / "bin").mkdir(parents=True)
        self.recipe = cookbook.Recipe("recipe", "01_first")
        self.recipe.folder.mkdir(parents=True)
        (self.build / "recipes.tsv").write_text(
            "name\tchapter\ttitle\tsummary\trun\tneeds\tmissing\nrecipe\t01_first\tt\ts\tplain\t\t\n")
        self.write(SOURCE, PAGE)
        self.program(PROGRAM)

    def write(self, source, page):
        (self.recipe.folder / "recipe.cpp").write_text(source)
        self.recipe.page.write_text(page)

    def script(self, text, name="recipe"):
        path = self.build / "bin" / name
        path.write_text("#!/bin/sh\n" + text)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def program(self, output, exit_code=0):
        self.script(f"cat <<'END'\n{output}END\nexit {exit_code}\n")

    def page_faults(self, old="", new=""):
        self.assertIn(old, PAGE)
        self.write(SOURCE, PAGE.replace(old, new, 1) if old else PAGE)
        return list(check_recipe.page_faults(self.recipe, self.build))


class Page(Case):
    def test_true_with_other_measured_numbers(self):
        self.assertEqual(self.page_faults(), [])

    def test_wrong_text(self):
        self.assertTrue(self.page_faults("copied 3 files", "moved 3 files"))

    def test_wrong_number_without_unit(self):
        self.assertTrue(self.page_faults("ok    files: 3", "ok    files: 4"))

    def test_wrong_unit(self):
        self.assertTrue(self.page_faults("12.5 GB/s", "12.5 MB/s"))
        self.assertTrue(self.page_faults("4.1 ms", "4.1 s"))

    def test_wrong_order(self):
        lines = "copied 3 files at 12.5 GB/s, 98 % of 4.1 ms\nok    files: 3\n"
        self.assertTrue(self.page_faults(lines, "".join(reversed(lines.splitlines(True)))))

    def test_a_recipe_that_skips_itself_is_not_compared_but_its_page_still_is(self):
        self.program("skipped, no device\n", exit_code=77)
        self.assertEqual(self.page_faults(), [])
        self.assertTrue(self.page_faults("return x + x;", "return 2 * x;"))

    def test_missing_line(self):
        self.assertTrue(self.page_faults("ok    files: 3\n", ""))

    def test_line_too_many(self):
        self.assertTrue(self.page_faults("ok    files: 3\n", "ok    files: 3\nok    more: 1\n"))

    def test_a_word_is_one_word(self):
        self.assertTrue(self.page_faults("on <machine...>, GCC", "on <machine>, GCC"))

    def test_wrong_excerpt(self):
        self.assertTrue(self.page_faults("  return x + x;", "  return 2 * x;"))

    def test_excerpt_in_another_order(self):
        self.assertTrue(self.page_faults("int twice(int x) {\n  return x + x;", "  return x + x;\nint twice(int x) {"))

    def test_excerpt_with_a_line_left_out(self):
        self.assertTrue(self.page_faults("int twice(int x) {\n  return x + x;", "int twice(int x) {\n}"))

    def test_excerpt_may_be_indented_otherwise(self):
        self.assertEqual(self.page_faults("  return x + x;", "return x + x;"), [])

    def test_any_order(self):
        block = "```console\n$ scripts/run recipe\n" + PAGE.split("scripts/run recipe\n")[1].split("```")[0]
        head, *lines = block.splitlines()[1:]
        turned = "\n".join(["```console any-order", head, *reversed(lines)]) + "\n"
        self.assertEqual(self.page_faults(block, turned), [])
        self.assertTrue(self.page_faults(block, turned.replace("files: 3", "files: 4")))
        self.assertTrue(self.page_faults(block, turned.replace("ok    files: 3\n", "")))
        self.assertTrue(self.page_faults(block, turned + "ok    files: 3\n"))

    def test_exit_code(self):
        self.program(PROGRAM, exit_code=1)
        self.assertTrue(self.page_faults())
        self.assertEqual(self.page_faults("```console\n", "```console exit=1\n"), [])

    def test_command_that_no_test_can_run(self):
        self.assertTrue(self.page_faults("$ scripts/run recipe", "$ rm -rf /"))
        self.assertTrue(self.page_faults("$ scripts/run recipe", "$ scripts/run recipes"))

    def test_command_with_environment(self):
        self.script('echo "$GREETING"\n')
        block = PAGE.split("scripts/run recipe\n")[1].split("```")[0]
        self.assertEqual(self.page_faults("$ scripts/run recipe\n" + block, "$ GREETING=hello build/bin/recipe\nhello\n"), [])

    def test_command_by_mpirun(self):
        self.script('echo "an mpirun of this test: $*"\n', "mpirun")
        self.addCleanup(os.environ.__setitem__, "PATH", os.environ["PATH"])
        os.environ["PATH"] = f"{self.build / 'bin'}:{os.environ['PATH']}"
        block = PAGE.split("scripts/run recipe\n")[1].split("```")[0]
        program = self.build / "bin" / "recipe"
        self.assertEqual(self.page_faults(
            "$ scripts/run recipe\n" + block,
            "$ mpirun -n 3 build/bin/recipe --items 2\n"
            f"an mpirun of this test: --quiet --allow-run-as-root --oversubscribe -n 3 {program} --items 2\n"), [])

    def test_command_by_mpirun_that_no_test_can_run(self):
        for command in ("mpirun build/bin/recipe", "mpirun -n 0 build/bin/recipe", "mpirun -n x build/bin/recipe",
                        "mpirun -n 3", "mpirun -n 3 recipe", "mpirun -n 3 ../bin/recipe"):
            self.assertTrue(any("no test can run" in fault for fault in
                                self.page_faults("$ scripts/run recipe", "$ " + command)), command)

    def test_a_pitfall_by_mpirun_is_not_compared_under_a_sanitizer(self):
        self.script("echo lost\n", "mpirun")
        self.addCleanup(os.environ.__setitem__, "PATH", os.environ["PATH"])
        os.environ["PATH"] = f"{self.build / 'bin'}:{os.environ['PATH']}"
        (self.recipe.folder / "recipe_pitfall.cpp").write_text('// Pitfall: a\n// Symptom: exit 1, prints "lost"\n')
        block = PAGE.split("scripts/run recipe\n")[1].split("```")[0]
        self.assertTrue(self.page_faults("$ scripts/run recipe\n" + block, "$ mpirun -n 2 build/bin/recipe_pitfall\nfound\n"))
        self.assertEqual(list(check_recipe.page_faults(self.recipe, self.build, "thread")), [])

    def test_missing_section(self):
        self.assertTrue(self.page_faults("## See also\n", ""))

    def test_sections_in_another_order(self):
        self.assertTrue(self.page_faults("## Pitfalls\n## There's more\n", "## There's more\n## Pitfalls\n"))

    def test_a_chapter_with_a_page_on_the_book_wants_the_new_shape(self):
        (self.recipe.folder.parent / "THE_BOOK.md").write_text("# The book's programs\n")
        old = "It does the thing.\n\n"
        new = old + "**Read first:** [another](../recipe/README.md). **Time:** 10 minutes.\n\n"
        exercises = "## Exercises\n## See also\n"
        self.assertTrue(self.page_faults(old, new))
        self.assertTrue(self.page_faults("## See also\n", exercises))
        page = PAGE.replace(old, new).replace("## See also\n", exercises)
        self.write(SOURCE, page)
        self.assertEqual(list(check_recipe.page_faults(self.recipe, self.build)), [])
        self.write(SOURCE, page.replace("It does the thing.", "It does what the source does."))
        self.assertTrue(list(check_recipe.page_faults(self.recipe, self.build)))

    def test_missing_summary(self):
        self.assertTrue(self.page_faults("It does the thing.\n\n", ""))

    def test_link_that_leads_nowhere(self):
        self.assertTrue(self.page_faults("It does", "It [does](../no_such/README.md)"))

    def test_no_transcript(self):
        self.assertTrue(self.page_faults("```console", "```text"))


class Numbers(unittest.TestCase):
    def test_units_and_their_multiples(self):
        for unit in ("ns", "us", "ms", "s", "B", "KB", "MB", "GB", "MiB", "/s", "GB/s", "M/s", "x", "%", "GFLOP/s"):
            self.assertTrue(check_recipe.same(f"it: 12.5 {unit}", f"it: 7 {unit}"), unit)
            self.assertFalse(check_recipe.same(f"it: 12.5 {unit}", "it: 12.5 apples"), unit)

    def test_a_number_without_unit_stands_for_itself(self):
        self.assertFalse(check_recipe.same("it: 12", "it: 13"))
        self.assertFalse(check_recipe.same("12 sheep", "13 sheep"))

    def test_white_space_is_folded(self):
        self.assertTrue(check_recipe.same("a   9 ms", "a 10 ms"))


class Fault(Case):
    def faults(self):
        return list(check_recipe.fault_faults(self.recipe, self.build))

    def test_right(self):
        self.script('[ "$COOKBOOK_FAULT" ] && { echo "FAIL  a: 2"; exit 1; }\necho "ok    a: 1"\n')
        self.assertEqual(self.faults(), [])

    def test_a_result_that_is_dropped(self):
        self.script('[ "$COOKBOOK_FAULT" ] && { echo "FAIL  a: 2"; exit 0; }\necho "ok    a: 1"\n')
        self.assertTrue(self.faults())

    def test_a_check_that_cannot_fail(self):
        self.script('echo "ok    b: 1"\n[ "$COOKBOOK_FAULT" ] && { echo "FAIL  a: 2"; exit 1; }\necho "ok    a: 1"\n')
        self.assertTrue(self.faults())

    def test_fewer_checks_than_the_page_shows(self):
        self.script('[ "$COOKBOOK_FAULT" ] && { echo "FAIL  a: 2"; exit 1; }\necho "ok    a: 1"\n')
        self.write(SOURCE, PAGE.replace("ok    files: 3\n", "ok    files: 3\nok    folders: 1\n"))
        self.assertTrue(self.faults())

    def test_without_the_bare_run_on_the_page(self):
        self.script('[ "$COOKBOOK_FAULT" ] && { echo "FAIL  a: 2"; exit 1; }\necho "ok    a: 1"\necho "ok    b: 1"\n')
        self.write(SOURCE, PAGE.replace("$ scripts/run recipe", "$ scripts/run recipe --short"))
        self.assertTrue(self.faults())

    def test_no_check_at_all(self):
        self.script('[ "$COOKBOOK_FAULT" ] && exit 1\nexit 0\n')
        self.assertTrue(self.faults())


class Usage(Case):
    HELP = '[ "$1" = --help ] && { echo "  --items N=3   how many (1 to 10)"; echo "  --help"; exit 0; }\n'

    def faults(self, script):
        self.script(script)
        return list(check_recipe.usage_faults(self.recipe, self.build))

    def test_right(self):
        self.assertEqual(self.faults(self.HELP + 'echo "$1 $2: allowed: 1 to 10" >&2; exit 2\n'), [])

    def test_value_out_of_range_taken(self):
        self.assertTrue(self.faults(self.HELP + '[ "$1" = --items ] && exit 0\necho "$1" >&2; exit 2\n'))

    def test_unknown_option_taken(self):
        self.assertTrue(self.faults(self.HELP + '[ "$1" = --items ] && { echo "$1 $2: 1 to 10"; exit 2; }\nexit 0\n'))

    def test_message_without_the_range(self):
        self.assertTrue(self.faults(self.HELP + 'echo "$1 $2: wrong" >&2; exit 2\n'))

    def test_more_than_one_line(self):
        self.assertTrue(self.faults(self.HELP + 'echo "$1 $2: allowed: 1 to 10"; echo more; exit 2\n'))


class Bench(Case):
    HELP = '[ "$1" = --help ] && { echo "  --size N=30   how many (20 to 40)"; echo "  --help"; exit 0; }\n' \
           '[ "$1 $2" = "--size 20" ] || exit 2\n'
    TABLE = 'echo "ok    sum: 1"; echo "Sum median lowest highest"; echo "read 1 GB/s"\n'

    def faults(self, script):
        self.script(self.HELP + script, "recipe_bench")
        return list(check_recipe.bench_faults(self.recipe, self.build))

    def test_right_at_its_smallest_size(self):
        self.assertEqual(self.faults('[ "$COOKBOOK_FAULT" ] && { echo "FAIL  sum: 2"; exit 1; }\n' + self.TABLE), [])

    def test_no_table(self):
        self.assertTrue(self.faults('[ "$COOKBOOK_FAULT" ] && { echo "FAIL  sum: 2"; exit 1; }\necho "ok    sum: 1"\n'))

    def test_no_check(self):
        self.assertTrue(self.faults('[ "$COOKBOOK_FAULT" ] && exit 1\necho "Sum median lowest highest"\n'))

    def test_figures_of_a_wrong_result(self):
        self.assertTrue(self.faults(self.TABLE + '[ "$COOKBOOK_FAULT" ] && exit 1\nexit 0\n'))


class CompileLine(Case):
    LINE = "g++ -std=c++20 -Iinclude chapters/01_first/recipe/recipe.cpp -o recipe"

    def setUp(self):
        super().setUp()
        (self.root / "common").mkdir()
        self.script("", "recipe")

    def faults(self, line, source=SOURCE):
        self.write(source.replace("true -o recipe", line), PAGE)
        return list(check_recipe.compile_line_faults(self.recipe, self.build, ""))

    def built(self, source, options=""):
        """Lets the build have compiled `source`, for its part, as the recipe's object."""
        (self.root / "built.cpp").write_text(source)
        subprocess.run(["g++", "-c", str(self.root / "built.cpp"), "-o", str(self.build / "recipe.o")], check=True)
        command = {"directory": str(self.build), "command": f"c++ {options} -o recipe.o -c recipe.cpp",
                   "file": str(self.recipe.folder / "recipe.cpp")}
        (self.build / "compile_commands.json").write_text(json.dumps([command]))

    def test_right(self):
        self.assertEqual(self.faults(self.LINE), [])

    def test_links_what_the_build_has_compiled(self):
        self.built("int main() {}")
        self.assertEqual(self.faults(self.LINE, SOURCE + "this does not compile"), [])

    def test_an_include_that_does_not_resolve(self):
        self.built("int main() {}")
        for name in ('"no_such.hpp"', "NO_SUCH"):
            self.assertTrue(self.faults(self.LINE, SOURCE + f"#include {name}\n"), name)

    def test_an_include_that_resolves_in_the_folders_of_the_build_alone(self):
        """In the source, or in a header that it includes. The preprocessor, which would see the #error, is not needed
        where the line has the same folders."""
        for folder in ("ours", "theirs"):
            (self.root / "common" / folder).mkdir()
        (self.root / "common" / "ours" / "outer.hpp").write_text("#include <inner.hpp>\n")
        (self.root / "common" / "theirs" / "inner.hpp").write_text("")
        self.built("int main() {}", f"-I{self.root}/common/ours -isystem {self.root}/common/theirs")
        source = SOURCE + '#include <vector>\n#include "outer.hpp"\n#error the preprocessor was started\n'
        both = self.LINE.replace("-Iinclude", "-Icommon/ours -Icommon/theirs")
        self.assertEqual(self.faults(both, source), [])
        for line in (self.LINE, self.LINE.replace("-Iinclude", "-Icommon/ours"), both.replace("-std", "-DX -std")):
            self.assertTrue(self.faults(line, source), line)
        (self.root / "common" / "ours" / "inner.hpp").write_text("another header of this name")
        self.assertTrue(self.faults(both.replace("ours -Icommon/theirs", "theirs -Icommon/ours"), source))

    def test_a_header_of_a_library_whose_folder_the_line_does_not_name(self):
        with tempfile.TemporaryDirectory() as library:
            pathlib.Path(library, "library.h").write_text("")
            self.built("int main() {}", f"-isystem {library}")
            source = SOURCE + "#include <library.h>\n"
            self.assertTrue(self.faults(self.LINE, source))
            self.assertEqual(self.faults(self.LINE.replace("-Iinclude", f"-I{library}"), source), [])

    def test_a_generated_source_of_the_same_text_is_not_compiled_again(self):
        self.built("int main() {}")
        line = f"cp {self.recipe.folder}/recipe.cpp . && g++ -std=c++20 recipe.cpp -o recipe"
        self.assertEqual(self.faults(line, SOURCE + "this does not compile"), [])
        self.assertTrue(self.faults(line.replace("&&", "&& echo >>recipe.cpp &&"), SOURCE + "this does not compile"))

    def test_a_library_that_is_missing(self):
        self.built("extern \"C\" double cblas_no_such(); int main() { return cblas_no_such() > 0; }")
        self.assertTrue(self.faults(self.LINE))

    def test_another_language_version(self):
        self.assertTrue(self.faults(self.LINE.replace("c++20", "c++17")))

    def test_fails(self):
        self.assertTrue(self.faults(self.LINE.replace("recipe.cpp", "no_such.cpp")))

    def test_makes_another_program(self):
        self.assertTrue(self.faults(self.LINE.replace("-o recipe", "-o other")))

    def test_is_missing(self):
        self.write(SOURCE.replace("Compile:", "Build:"), PAGE)
        self.assertTrue(list(check_recipe.compile_line_faults(self.recipe, self.build, "")))


class Symptom(Case):
    def faults(self, symptom, script, sanitizer=""):
        (self.recipe.folder / "recipe_pitfall.cpp").write_text(f"// A pitfall\n//\n{symptom}\n\nint main() {{}}\n")
        self.script(script, "recipe_pitfall")
        return list(check_recipe.symptom_faults(self.recipe, self.build, "recipe_pitfall", sanitizer))

    def test_shown(self):
        self.assertEqual(self.faults('// Symptom: exit 1, prints "lost"', "echo 3 lost; exit 1\n"), [])

    def test_cured(self):
        self.assertTrue(self.faults('// Symptom: exit 1, prints "lost"', "echo fine; exit 0\n"))

    def test_other_exit_code(self):
        self.assertTrue(self.faults('// Symptom: exit 1, prints "lost"', "echo 3 lost; exit 2\n"))

    def test_hangs(self):
        self.assertEqual(self.faults("// Symptom: hangs", "echo waiting; sleep 60\n"), [])

    def test_does_not_hang(self):
        self.assertTrue(self.faults("// Symptom: hangs", "echo waiting\n"))
        self.assertTrue(self.faults("// Symptom: hangs", "echo waiting; for i in 1 2 3 4 5 6 7; do sleep 0.1; done\n"))

    def test_works_on_and_on(self):
        self.assertEqual(self.faults("// Symptom: hangs", "echo waiting; while :; do :; done\n"), [])

    def test_a_run_that_the_page_shows_is_left_to_the_test_of_the_page(self):
        def of_page(transcript, symptom='// Symptom: exit 1, prints "lost"', sanitizer=""):
            self.write(SOURCE, PAGE.replace("## Pitfalls\n", f"## Pitfalls\n\n```console{transcript}```\n"))
            return self.faults(symptom, "echo fine\n", sanitizer)

        shown = " exit=1\n$ build/bin/recipe_pitfall\n3 lost\n"
        self.assertEqual(of_page(shown), [])
        self.assertTrue(of_page(shown, sanitizer="thread"))
        self.assertTrue(of_page(shown, '// Symptom: exit 2, prints "lost"'))
        self.assertTrue(of_page(shown, '// Symptom: exit 1, prints "gone"'))
        self.assertTrue(of_page(shown.replace("pitfall", "pitfall --items 2")))
        self.assertTrue(of_page(shown.replace("$ ", "$ ITEMS=2 ")))
        self.assertTrue(of_page(shown.replace("3 lost", "3 ms lost"), '// Symptom: exit 1, prints "3 ms lost"'))

    def test_sanitizer_has_a_symptom_of_its_own(self):
        lines = '// Symptom: exit 1, prints "lost"\n// Symptom under thread: prints "data race"'
        self.assertEqual(self.faults(lines, "echo data race; exit 66\n", "thread"), [])
        self.assertTrue(self.faults(lines, "echo data race; exit 0\n", "thread"))
        self.assertTrue(self.faults(lines, "echo lost; exit 1\n", "thread"))

    def test_none_named(self):
        self.assertTrue(self.faults("//", "exit 1\n"))


if __name__ == "__main__":
    unittest.main()
