#!/usr/bin/env python3
"""The generic tests of a recipe must be able to fail: each is given a recipe that is right, and ones that lie."""
import contextlib
import datetime
import io
import os
import pathlib
import stat
import sys
import tempfile
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import cookbook  # noqa: E402
from cookbook import answers, generic, page, process, recipe, skips  # noqa: E402

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

**Read first:** [another](../recipe/README.md). **Time:** 10 minutes.

```console
$ scripts/run recipe
started by process <pid>
on <machine...>, GCC
copied 3 files at 12.5 GB/s, 98 % of 4.1 ms
ok    files: 3
```

## Why it does

```cpp
int twice(int x) {
  return x + x;
```

## Pitfalls
## Exercises
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
        self.recipe = recipe.Recipe("recipe", "01_first", bench="recipe_bench")
        self.recipe.folder.mkdir(parents=True)
        (self.build / "recipes.json").write_text('[{"name": "recipe", "chapter": "01_first"}]')
        self.write(SOURCE, PAGE)
        self.program(PROGRAM)

    def write(self, source, text):
        (self.recipe.folder / "recipe.cpp").write_text(source)
        self.recipe.page.write_text(text)

    def script(self, text, name="recipe"):
        path = self.build / "bin" / name
        path.write_text("#!/bin/sh\n" + text)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def program(self, output, exit_code=0):
        self.script(f"cat <<'END'\n{output}END\nexit {exit_code}\n")

    def page_faults(self, old="", new=""):
        self.assertIn(old, PAGE)
        self.write(SOURCE, PAGE.replace(old, new, 1) if old else PAGE)
        return list(page.page_faults(self.recipe, self.build))


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

    def test_a_recipe_that_skips_itself_has_to_say_why(self):
        self.program("started by process 4711\n", exit_code=77)
        self.assertTrue(self.page_faults())

    def test_a_device_that_is_there_is_no_reason_to_skip(self):
        self.recipe.needs = ["cuda"]
        for said, devices, faults in (("no CUDA device: no NVIDIA driver is installed", [], 0),
                                      ("no CUDA device: no CUDA-capable device is detected", [(9, 0)], 1),
                                      ("no CUDA device: CUDA driver version is insufficient", [(9, 0)], 0),
                                      ("it takes 2 devices", [(9, 0)], 0),
                                      ("clusters need a device of compute capability 9.0 or newer", [(8, 6)], 0),
                                      ("clusters need a device of compute capability 9.0 or newer", [(9, 0)], 1)):
            self.program(f"recipe: skipped, {said}\n", exit_code=77)
            with mock.patch.object(skips, "cuda_devices", return_value=devices):
                self.assertEqual(len(self.page_faults()), faults, said)
                if faults:
                    with self.assertRaises(ValueError):
                        generic.run(self.recipe, self.recipe.command(self.build))

    def test_a_device_of_opencl_that_is_there_is_no_reason_to_skip(self):
        self.recipe.needs = ["opencl"]
        for said, devices, faults in (("no OpenCL device: install a driver", 0, 0),
                                      ("no OpenCL device: install a driver", 2, 1), ("no podman", 2, 0)):
            self.program(f"skipped, {said}\n", exit_code=77)
            with mock.patch.object(skips, "opencl_devices", return_value=devices):
                self.assertEqual(len(self.page_faults()), faults, said)

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

    def test_columns(self):
        self.program("what     needed for  here\nmemory   large data  8 GiB\nok    found: yes\n")
        lines = PAGE.split("scripts/run recipe\n")[1].split("```")[0]
        block = "```console\n$ scripts/run recipe\n" + lines
        page = "```console columns=2\n$ scripts/run recipe\n" \
               "what     needed for  here\nmemory   large data  much, elsewhere\nok    found: yes\n"
        self.assertEqual(self.page_faults(block, page), [])
        self.assertTrue(self.page_faults(block, page.replace(" columns=2", "")))
        self.assertTrue(self.page_faults(block, page.replace("large data", "small data")))
        self.assertTrue(self.page_faults(block, page.replace("found: yes", "found: no")))
        self.assertTrue(self.page_faults(block, page.replace("memory   large data  much, elsewhere\n", "")))

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
        command = "$ GREETING=hello build/bin/recipe\nhello\n"
        self.assertEqual(self.page_faults("$ scripts/run recipe\n" + block, command), [])

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
        command = "$ mpirun -n 2 build/bin/recipe_pitfall\nfound\n"
        self.assertTrue(self.page_faults("$ scripts/run recipe\n" + block, command))
        self.assertEqual(list(page.page_faults(self.recipe, self.build, "thread")), [])

    def test_a_section_that_every_page_has_is_missing(self):
        self.assertTrue(self.page_faults("## See also\n", ""))
        self.assertTrue(self.page_faults("## Exercises\n", ""))

    def test_see_also_is_not_the_last_section(self):
        self.assertTrue(self.page_faults("## Exercises\n## See also\n", "## See also\n## Exercises\n"))

    def test_other_sections_may_have_any_name(self):
        self.assertEqual(self.page_faults("## Pitfalls\n", "## Without a lock\n"), [])

    def test_what_to_read_first_or_the_time_is_missing(self):
        self.assertTrue(self.page_faults("**Read first:** [another](../recipe/README.md). ", ""))
        self.assertTrue(self.page_faults("**Time:** 10 minutes.", "**Time:** short."))

    def test_the_book_is_called_the_source(self):
        self.assertTrue(self.page_faults("It does the thing.", "It does what the source does."))
        self.assertEqual(self.page_faults("It does the thing.", "It does what the source code does."), [])

    def test_missing_summary(self):
        self.assertTrue(self.page_faults("It does the thing.\n\n", ""))

    def test_link_that_leads_nowhere(self):
        self.assertTrue(self.page_faults("It does", "It [does](../no_such/README.md)"))

    def test_no_transcript(self):
        self.assertTrue(self.page_faults("```console", "```text"))


class Numbers(unittest.TestCase):
    def test_units_and_their_multiples(self):
        for unit in ("ns", "us", "ms", "s", "B", "KB", "MB", "GB", "MiB", "/s", "GB/s", "M/s", "x", "%", "GFLOP/s"):
            self.assertTrue(page.same(f"it: 12.5 {unit}", f"it: 7 {unit}"), unit)
            self.assertFalse(page.same(f"it: 12.5 {unit}", "it: 12.5 apples"), unit)

    def test_a_number_without_unit_stands_for_itself(self):
        self.assertFalse(page.same("it: 12", "it: 13"))
        self.assertFalse(page.same("12 sheep", "13 sheep"))

    def test_white_space_is_folded(self):
        self.assertTrue(page.same("a   9 ms", "a 10 ms"))
        self.assertTrue(page.same("at most   ~380 of 400", "at most 7 of 400"))
        self.assertTrue(page.same("ends at ~-927632", "ends at 12"))
        self.assertFalse(page.same("at most ~380 of 400", "at most none of 400"))
        self.assertFalse(page.same("at most ~380 of 400", "at most 7 of 401"))
        self.assertTrue(page.same("thread (~224,0,0)", "thread (96,0,0)"))
        self.assertFalse(page.same("thread (~224,0,0)", "thread (96,1,0)"))
        self.assertFalse(page.same("~3 left", "30000000000 left"))
        self.assertTrue(page.same("<words...> took 9 ms", "all of it took 10000 ms"))
        self.assertTrue(page.same("later by -9 ms, 0 us", "later by -12 ms, 1'000'000 us"))
        self.assertFalse(page.same("a 9 ms", "a -9 ms"))
        self.assertFalse(page.same("a 9 ms, 0.1 ms", "a 9 ms, 1e9 ms"))


class Fault(Case):
    def faults(self):
        return list(generic.fault_faults(self.recipe, self.build))

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
        return list(generic.usage_faults(self.recipe, self.build))

    def test_right(self):
        self.assertEqual(self.faults(self.HELP + 'echo "$1 $2: allowed: 1 to 10" >&2; exit 2\n'), [])

    def test_value_out_of_range_taken(self):
        self.assertTrue(self.faults(self.HELP + '[ "$1" = --items ] && exit 0\necho "$1" >&2; exit 2\n'))

    def test_unknown_option_taken(self):
        self.assertTrue(self.faults(self.HELP + '[ "$1" = --items ] && { echo "$1 $2: 1 to 10"; exit 2; }\nexit 0\n'))

    def test_message_without_the_range(self):
        self.assertTrue(self.faults(self.HELP + 'echo "$1 $2: wrong" >&2; exit 2\n'))

    def test_without_a_device_it_is_skipped(self):
        self.recipe.needs = ["cuda"]
        right = self.HELP + '[ "$1" ] && { echo "$1 $2: allowed: 1 to 10" >&2; exit 2; }\n' \
            '[ "${CUDA_VISIBLE_DEVICES-0}" ] && exit 0\n'
        self.assertEqual(self.faults(right + 'echo "skipped, no CUDA device: none"; exit 77\n'), [])
        self.assertTrue(self.faults(right + "exit 77\n"))
        self.assertTrue(self.faults(right + 'echo "no CUDA-capable device is detected"; exit 3\n'))

    def test_threads_that_are_not_there(self):
        (self.build / "lib").mkdir()
        (self.build / "lib" / "libexercise_interposer.so").touch()
        help_text = ('if [ "$1" = --help ]; then\n  echo "  --threads N=4  {} (1 to 64)"\n'
                     '  echo "  --help"\n  exit\nfi\n')
        for threads, faults, what in (("6", 1, "threads that work"), ("7", 0, "threads that work"),
                                      ("9", 0, "threads that work"), ("6", 0, "threads per block")):
            self.script(help_text.format(what) + f'[ "$*" = "--threads 7" ] || exit 2\necho threads {threads} '
                        '>>"$COOKBOOK_EXERCISE_RECORD"\n')
            self.assertEqual(len(list(generic.thread_faults(self.recipe, self.build))), faults, threads)

    def test_more_than_one_line(self):
        self.assertTrue(self.faults(self.HELP + 'echo "$1 $2: allowed: 1 to 10"; echo more; exit 2\n'))


class Launches(Case):
    """The program launches at two places. What the library would record, it writes itself."""
    HELP = '[ "$1" = --help ] && { echo "  --count N=300   how many (0 to 400)"; exit 0; }\n' \
           '[ "$*" = "--count 100" ] || exit 2\n'
    WRONG = 'echo "FAIL  sum: 0"; exit 1\n'
    RECORD = 'printf "place 2 was reached 1 times\\nplace 1 was reached 10 times\\n" >>"$COOKBOOK_CUDA_RECORD"\n'
    REFUSED = '[ "$COOKBOOK_CUDA_REFUSED" -gt 0 ] && { echo "a: too many resources requested for launch"; exit 3; }\n'

    def faults(self, script, source="kernel<<<1, 1>>>();\n"):
        self.write(source, PAGE)
        self.script(self.HELP + script)
        return list(generic.launch_faults(self.recipe, self.build))

    def test_right(self):
        self.assertEqual(self.faults(self.RECORD + self.REFUSED + self.WRONG), [])

    def test_told_among_the_results(self):
        told = '[ "$COOKBOOK_CUDA_REFUSED" = 2 ] && { echo "33 x 33 threads: refused"; exit 1; }\n'
        self.assertEqual(self.faults(self.RECORD + told + self.REFUSED + self.WRONG), [])

    def test_one_place_that_nobody_asks_about(self):
        unasked = f'[ "$COOKBOOK_CUDA_REFUSED" = 2 ] && {{ {self.WRONG.strip()}; }}\n'
        self.assertEqual(len(self.faults(self.RECORD + unasked + self.REFUSED + self.WRONG)), 1)

    def test_asked_too_late(self):
        late = '[ "$COOKBOOK_CUDA_REFUSED" = 1 ] && echo "not asked" >>"$COOKBOOK_CUDA_RECORD"\n'
        self.assertEqual(len(self.faults(self.RECORD + late + self.REFUSED + self.WRONG)), 1)

    def test_right_results_without_a_kernel(self):
        self.assertEqual(len(self.faults(self.RECORD + self.REFUSED + 'echo "ok    sum: 3"\n')), 1)

    def test_a_place_of_the_bench(self):
        """Of the bench it only matters what it does with a launch that is refused."""
        right = self.RECORD + self.REFUSED + self.WRONG
        for bench, faults in ((right, 0), (self.RECORD + self.REFUSED + "exit 0\n", 0), (self.RECORD + "exit 0\n", 2),
                              ("exit 0\n", 0)):
            self.script(self.HELP + bench, "recipe_bench")
            self.assertEqual(len(self.faults(right)), faults, bench)

    def test_a_kernel_that_is_not_launched(self):
        script = 'echo "not launched _Z%sv" >>"$COOKBOOK_CUDA_RECORD"\n' + self.RECORD + self.REFUSED + self.WRONG
        source = "__global__ void kernel(int i) {}\nkernel<<<1, 1>>>(1);\n"
        self.assertEqual(self.faults(script.replace("%s", "N3cub5otherE"), source), [])
        self.assertEqual(len(self.faults(script.replace("%s", "6kernel"), source)), 1)

    def test_nothing_is_launched(self):
        self.assertEqual(len(self.faults(self.WRONG)), 1)
        self.assertEqual(len(self.faults("exit 77\n")), 1)
        self.assertEqual(self.faults(self.WRONG, "cublasDgemm(a, b, c);\n"), [])


class Bench(Case):
    HELP = '[ "$1" = --help ] && { echo "  --size N=30   how many (20 to 40)"; echo "  --help"; exit 0; }\n' \
           '[ "$1 $2" = "--size 20" ] || exit 2\n[ "$3$COOKBOOK_FAULT" ] || exit 2\n'
    CHECK = 'echo \'{"check": "sum", "value": "1", "holds": true}\'\n'
    TABLE = CHECK + 'echo \'{"table": "Sum", "row": "read", "median": 1}\'\n'
    SPOILT = '[ "$COOKBOOK_FAULT" ] && { echo "FAIL  sum: 2"; exit 1; }\n'

    def faults(self, script):
        self.script(self.HELP + script, "recipe_bench")
        return list(generic.bench_faults(self.recipe, self.build))

    def test_right_at_its_smallest_size(self):
        self.assertEqual(self.faults(self.SPOILT + self.TABLE), [])

    def test_no_table(self):
        self.assertTrue(self.faults(self.SPOILT + self.CHECK))

    def test_no_check(self):
        self.assertTrue(self.faults(self.SPOILT + self.TABLE.replace(self.CHECK, "")))

    def test_a_check_that_does_not_hold(self):
        self.assertTrue(self.faults(self.SPOILT + self.TABLE.replace("true", "false")))

    def test_no_records(self):
        self.assertTrue(self.faults(self.SPOILT + 'echo "ok    sum: 1"; echo "Sum median lowest highest"\n'))

    def test_figures_of_a_wrong_result(self):
        self.assertTrue(self.faults(self.SPOILT.replace("exit 1", "echo median; exit 1") + self.TABLE))


class CompileLine(Case):
    LINE = "g++ -std=c++20 -O0 -Iinclude chapters/01_first/recipe/recipe.cpp -o recipe"

    def setUp(self):
        super().setUp()
        (self.root / "common" / "cookbook").mkdir(parents=True)
        self.script("", "recipe")
        patch = mock.patch.dict(os.environ, {"COOKBOOK_WHOLE": "compile_line"})
        patch.start()
        self.addCleanup(patch.stop)

    def faults(self, line, source=SOURCE):
        self.write(source.replace("true -o recipe", line), PAGE)
        return list(generic.compile_line_faults(self.recipe, self.build))

    def test_right(self):
        self.assertEqual(self.faults(self.LINE), [])

    def test_all_sources_of_a_pattern_are_linked(self):
        for name, text in (("a.cpp", "int one() { return 1; }"), ("b.cpp", "int two() { return 2; }")):
            (self.root / "common" / "cookbook" / name).write_text(text + "\n")
        source = SOURCE.replace("int main() {}", "int one(), two();\nint main() { return one() + two() - 3; }")
        self.assertEqual(self.faults(self.LINE.replace(" -o", " common/cookbook/*.cpp -o"), source), [])
        self.assertTrue(self.faults(self.LINE.replace(" -o", " common/cookbook/a.cpp -o"), source))

    def test_a_mistake_in_the_source(self):
        self.assertTrue(self.faults(self.LINE, SOURCE + "this does not compile"))

    def test_an_include_that_resolves_by_the_folders_of_the_line_alone(self):
        (self.root / "common" / "inner.hpp").write_text("")
        source = SOURCE.replace("int twice", '#include "inner.hpp"\nint twice')
        self.assertTrue(self.faults(self.LINE, source))
        self.assertEqual(self.faults(self.LINE.replace("-Iinclude", "-Icommon"), source), [])

    def test_a_command_before_the_compiler(self):
        both = "mkdir -p made && cp chapters/01_first/recipe/recipe.cpp made && " + self.LINE
        self.assertEqual(self.faults(both.replace("chapters/01_first/recipe/recipe.cpp -o", "made/recipe.cpp -o")), [])
        self.assertTrue(self.faults(both.replace("cp chapters", "cp no_such")))

    def test_a_library_that_is_missing(self):
        main = 'extern "C" double cblas_no_such();\nint main() { return cblas_no_such() > 0; }'
        source = SOURCE.replace("int main() {}", main)
        self.assertTrue(self.faults(self.LINE, source))
        self.assertTrue(self.faults(self.LINE.replace(" -o", " -lno_such -o")))

    def test_another_language_version(self):
        self.assertTrue(self.faults(self.LINE.replace("c++20", "c++17")))

    def test_fails(self):
        self.assertTrue(self.faults(self.LINE.replace("recipe.cpp", "no_such.cpp")))

    def test_makes_another_program(self):
        self.assertTrue(self.faults(self.LINE.replace("-o recipe", "-o other")))

    def test_is_missing(self):
        self.write(SOURCE.replace("Compile:", "Build:"), PAGE)
        self.assertTrue(list(generic.compile_line_faults(self.recipe, self.build)))

    def test_headers_are_looked_for_on_every_day(self):
        (self.root / "common" / "outer.hpp").write_text('#include "inner.hpp"\n')
        (self.root / "include").mkdir()
        source = SOURCE.replace("int twice", '#include "outer.hpp"\n#include "schema.capnp.h"\nint twice')
        with mock.patch.dict(os.environ, {"COOKBOOK_WHOLE": ""}), contextlib.redirect_stdout(io.StringIO()), \
                mock.patch.object(generic, "of_today", return_value=False):
            self.assertEqual(self.faults(self.LINE, source), [f"{self.LINE}\nfinds no outer.hpp"])
            line = self.LINE.replace("-Iinclude", "-Icommon -Iinclude")
            self.assertEqual(self.faults(line, source), [f"{line}\nfinds no inner.hpp"])
            (self.root / "include" / "inner.hpp").write_text("")
            with self.assertRaises(SystemExit):  # it is not its day
                self.faults(line, source)

    def test_every_recipe_has_its_day(self):
        day = mock.Mock()
        self.write(SOURCE, PAGE)
        tried = 0
        with mock.patch.dict(os.environ, {"COOKBOOK_WHOLE": ""}), \
                mock.patch.object(datetime, "date", day), contextlib.redirect_stdout(io.StringIO()) as said:
            for ordinal in range(1000, 1000 + generic.LINES_SHARE):
                day.today().toordinal.return_value = ordinal
                try:
                    list(generic.compile_line_faults(self.recipe, self.build))
                    tried += 1
                except SystemExit as end:
                    self.assertEqual(end.code, cookbook.SKIPPED)
        self.assertEqual(tried, 1)
        self.assertIn("scripts/test recipe", said.getvalue())


class Answers(Case):
    """Of a recipe with one answer that is a program; whose turn it is today, or is not."""
    def outcome(self, turn, built, wanted):
        self.write(SOURCE, PAGE)
        listing = answers.listing(self.recipe)
        listing.parent.mkdir(parents=True, exist_ok=True)
        listing.write_text('[[answer]]\nexercise = 1\nchanges = [{file = "a", old = "b", new = "c"}]\n'
                           'contains = ["x"]\n')
        program, = answers.programs(self.recipe, self.build)
        program.parent.mkdir(parents=True, exist_ok=True)
        program.unlink(missing_ok=True)
        if built:
            program.write_text("")
        with mock.patch.dict(os.environ, {"COOKBOOK_WHOLE": wanted}), contextlib.redirect_stdout(io.StringIO()), \
                mock.patch.object(generic, "of_today", return_value=turn), \
                mock.patch.object(answers, "answers_faults", return_value=["tried"]):
            try:
                return generic.wanted_answers_faults(self.recipe, self.build)
            except SystemExit as end:
                return end.code

    def test_are_tried_on_their_day_if_they_are_built(self):
        self.assertEqual(self.outcome(True, True, ""), ["tried"])
        self.assertEqual(self.outcome(True, False, ""), cookbook.SKIPPED)
        self.assertEqual(self.outcome(False, True, "compile_line"), cookbook.SKIPPED)

    def test_are_tried_whenever_they_are_wanted(self):
        self.assertEqual(self.outcome(False, True, "answers compile_line"), ["tried"])
        self.assertEqual(self.outcome(False, False, "answers"), ["tried"])  # and fail: they should be there


class GoogleTests(Case):
    def outcome(self, output, exit_code=0):
        self.script(f'echo "$*"\ncat <<\'END\'\n{output}\nEND\nexit {exit_code}\n', "recipe_test")
        with contextlib.redirect_stdout(io.StringIO()) as said:
            try:
                return list(generic.gtest_faults(self.recipe, self.build, "-*_timing.*")), said.getvalue()
            except SystemExit as end:
                return end.code, said.getvalue()

    def test_passed(self):
        passed = "[  PASSED  ] 2 tests."
        self.assertEqual(self.outcome(passed), ([], f"--gtest_filter=-*_timing.*\n{passed}\n\n"))

    def test_failed_also_where_others_are_skipped(self):
        self.assertTrue(self.outcome("[  SKIPPED ] a.b\n[  FAILED  ] a.c", 1)[0])

    def test_a_skipped_test_is_no_pass(self):
        code, said = self.outcome("no device\n[  SKIPPED ] a.b\n[  PASSED  ] 1 test.")
        self.assertEqual(code, cookbook.SKIPPED)
        self.assertIn("no device", said)


class Checks(Case):
    def faults(self, *checks):
        source = self.recipe.folder / "recipe.cpp"
        source.write_text("int main() {\n  " + "\n  ".join(checks) + "\n}\n")
        return len(list(page.check_faults(source)))

    def test_checks_that_may_fail(self):
        self.assertEqual(self.faults('checks.equal("a, b (c)", f(x, "a)"), 3);', 'checks.that("x", x == y && g(1, 2));',
                                     'checks.within("t", seconds(), 0, 1);', 'checks.equal("i", v[0], w[0]);',
                                     'checks.equal("n", 1\'000 * n, 7);', "// checks.that(\"x\", true);"), 0)

    def test_a_constant(self):
        self.assertEqual(self.faults('checks.that("x", true);', 'checks.equal("x", 3, f());',
                                     'checks.equal("x", "a", f());',
                                     'checks.within("x", 1\'000.5, a, b);', 'check.equal("x",\n    -1L, f());'), 5)

    def test_the_expected_value_itself(self):
        self.assertEqual(self.faults('checks.equal("x", sum(a, b), sum( a,b ));', 'checks.that("x", n == n);',
                                     'checks.within("x", low, low, high);'), 3)


class Running(unittest.TestCase):
    def test_output_exit_code_and_signal(self):
        done = process.run(["sh", "-c", "echo out; echo err >&2; exit 3"])
        self.assertEqual((done.code, done.text, done.timed_out), (3, "out\nerr\n", False))
        self.assertEqual(process.run(["sh", "-c", "kill -KILL $$"]).code, -9)

    def test_at_the_limit_the_whole_group_is_ended_and_what_it_printed_is_there(self):
        done = process.run(["sh", "-c", "echo before; sleep 61.5 & sleep 61.5"], limit=0.5)
        self.assertTrue(done.timed_out)
        self.assertEqual(done.text, "before\n")
        self.assertNotIn("61.5", process.run(["ps", "-eo", "args"]).text.replace("ps -eo", ""))

    def test_sigterm_comes_before_sigkill(self):
        done = process.run(["sh", "-c", "trap 'echo cleaned; exit 7' TERM; echo ready; while :; do :; done"], limit=0.5)
        self.assertEqual((done.code, done.text), (7, "ready\ncleaned\n"), done)

    def test_the_output_ends_when_nobody_has_it_open(self):
        self.assertEqual(process.run(["sh", "-c", "(sleep 0.3; echo late) & echo early"]).text, "early\nlate\n")

    def test_what_is_left_running_can_be_ended_at_once(self):
        process.adopt_orphans()
        done = process.run(["sh", "-c", "setsid sleep 62.5 & echo early"], limit=20, end_orphans=True)
        self.assertEqual((done.text, done.timed_out), ("early\n", False))
        self.assertNotIn("sleep 62.5", process.run(["ps", "-eo", "args"]).text)

    def test_more_output_than_is_kept_stops_nobody(self):
        done = process.run(["sh", "-c", "head -c 9000000 /dev/zero; echo"], limit=30)
        self.assertEqual((done.code, len(done.text)), (0, process.KEPT))


class Symptom(Case):
    def faults(self, symptom, script, sanitizer=""):
        (self.recipe.folder / "recipe_pitfall.cpp").write_text(f"// A pitfall\n//\n{symptom}\n\nint main() {{}}\n")
        self.script(script, "recipe_pitfall")
        return list(generic.symptom_faults(self.recipe, self.build, "recipe_pitfall", sanitizer))

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
