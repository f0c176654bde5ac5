#!/usr/bin/env python3
"""scripts/exercise: what it prints, keeps and refuses, and what the judge says. The build folder is the argument.

That each exercise is judged rightly is shown by the tests <chapter>.<pitfall>.exercise.
"""
import contextlib
import io
import json
import os
import pathlib
import shlex
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SCRIPT = ROOT / "scripts" / "exercise"
sys.path.insert(0, str(ROOT / "scripts"))
from cookbook import exercise as tool  # noqa: E402
from cookbook import exercises, judging  # noqa: E402

BUILD = ROOT / "build"
if len(sys.argv) > 1 and pathlib.Path(sys.argv[-1]).is_dir():
    BUILD = pathlib.Path(sys.argv.pop()).resolve()
NAME = "lock_race"


class Case(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        patch = mock.patch.dict(os.environ, {"COOKBOOK_EXERCISES": scratch.name})
        patch.start()
        self.addCleanup(patch.stop)
        self.program = self.folder / NAME / f"{NAME}.cpp"

    def call(self, *words, answer=""):
        if words[:1] == ("start",):
            words += ("--no-setup",)
        return subprocess.run([SCRIPT, *words], input=answer, capture_output=True, text=True)

    def write(self, text):
        self.program.parent.mkdir(exist_ok=True)
        self.program.write_text(text)


class Commands(Case):
    def test_start_gives_the_program_with_its_task_and_without_the_answer(self):
        done = self.call("start", NAME)
        self.assertEqual(done.returncode, 0, done.stderr)
        text = self.program.read_text()
        self.assertTrue(text.startswith(f"// Exercise: {NAME}\n"))
        self.assertNotIn("// wrong", text)
        self.assertNotIn("Pitfall:", text)
        self.assertIn("counter == 0", text)

    def test_a_second_start_leaves_the_work_alone_until_told_otherwise(self):
        self.call("start", NAME)
        self.write("my work\n")
        self.assertIn("+my work\n", self.call("diff", NAME).stdout)
        done = self.call("start", NAME)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--again", done.stderr)
        self.assertEqual(self.program.read_text(), "my work\n")
        for number in (1, 2):
            self.write(f"my work {number}\n")
            done = self.call("start", NAME, "--again")
            self.assertEqual(done.returncode, 0)
            self.assertIn(f"{NAME}.cpp.{number}", done.stdout)
            self.assertNotIn("my work", self.program.read_text())
        for number in (1, 2):
            self.assertEqual(self.program.with_name(f"{NAME}.cpp.{number}").read_text(), f"my work {number}\n")

    def test_what_must_stay_is_marked(self):
        self.call("start", NAME)
        marked = [line for line in self.program.read_text().splitlines() if line.endswith("// stays")]
        self.assertTrue(any("std::jthread up(change_often, +1);" in line for line in marked), marked)
        self.assertFalse(any("counter = seen + step" in line for line in marked))
        self.assertEqual(self.call("diff", NAME).stdout, "")

    def test_the_judge_replaces_nothing_in_the_comments_that_mark_what_stays(self):
        for exercise in exercises.exercises():
            marked = exercise.marked()
            for version in judging.versions_again(exercise, BUILD, tempfile.mkdtemp(dir=self.folder), marked):
                text = version.program.source.read_text()
                for new in version.table["replace"].values():
                    self.assertNotIn(f"{exercises.MARK}: {new}", text, exercise.name)
                self.assertNotIn(exercises.MARK, text, exercise.name)

    def test_the_result_that_the_check_looks_at_is_marked(self):
        for name, line, marked in (("first_thread_detached", "const int printed = greetings;", True),
                                   ("word_count_cut", "second = text.substr(half);", False)):  # main() calls with it
            exercise = next(one for one in exercises.exercises() if one.name == name)
            self.assertEqual(f"{line}  // stays" in exercise.marked()[exercise.main_file], marked, name)

    def test_a_damaged_list_of_what_is_done_is_named(self):
        for text in ("{", "[1]", '{"lock_race": 3}'):
            (self.folder / "progress.json").write_text(text)
            done = self.call()
            self.assertEqual(done.returncode, 3)
            self.assertIn(str(self.folder / "progress.json"), done.stderr)
            self.assertNotIn("Traceback", done.stderr)

    def test_a_function_to_write_comes_after_the_repairs_of_its_recipe(self):
        names = [one.name for one in exercises.exercises() if one.recipe.name == "thread_queue"]
        self.assertEqual(names, ["thread_queue_endless", "thread_queue_get"])
        done = self.call("start", "thread_queue_get")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("Write it, then: scripts/exercise check thread_queue_get", done.stdout)
        text = (self.folder / "thread_queue_get" / "blocking_queue.hpp").read_text()
        self.assertIn('throw std::logic_error("get() is not written yet");', text)
        self.assertNotIn("return take();\n  }\n\n  /// From now on", text)
        shown = self.call("solution", "thread_queue_get", "--yes").stdout
        self.assertIn("+    not_empty_.wait(lock, [&] { return closed_ || !items_.empty(); });", shown)

    def test_a_sleep_that_was_added_is_left_out_where_a_repair_may_back_off(self):
        exercise = next(one for one in exercises.exercises() if one.name == "deadlock_opposite_orders")
        line = "  ++held_both;"
        text = exercise.marked()[exercise.main_file].replace(line, "  std::this_thread::sleep_for(1ms);\n" + line)
        awake = judging.without_added_sleeps(exercise, text)
        self.assertNotIn("sleep_for", awake)
        self.assertIn("  judge::no_sleep(1ms);", awake)

    def test_no_task_is_cut_off_in_the_list(self):
        self.assertIn("and more threads must be able to make changes of the same kind.",
                      " ".join(self.call("02").stdout.split()))

    def test_each_hint_says_one_more_and_the_last_says_so(self):
        count = len(next(one for one in exercises.exercises() if one.name == NAME).hints)
        for number in range(1, count + 1):
            lines = self.call("hint", NAME).stdout.splitlines()
            self.assertEqual(sum(line[:2] == f"{number}." for line in lines), 1)
        self.assertIn("that was the last", lines[-1])
        self.assertEqual(self.call("hint", NAME).stdout.splitlines(), lines)

    def test_a_solution_is_shown_after_asking(self):
        done = self.call("solution", NAME, answer="n\n")
        self.assertIn("[y/N]", done.stdout)
        self.assertNotIn("+std::atomic", done.stdout)
        for words, answer in ((("solution", NAME), "y\n"), (("solution", NAME, "--yes"), "")):
            shown = self.call(*words, answer=answer).stdout
            self.assertIn("+std::atomic<long> counter = 0;", shown)
            self.assertIn("-long counter = 0;", shown)

    def test_the_list_shows_what_is_begun_and_done_and_the_next(self):
        names = [one.name for one in exercises.exercises()]
        self.call("start", NAME)
        exercises.Progress().note(names[0], done=True)
        lines = self.call().stdout.splitlines()
        marks = {line.split()[1]: line.split()[0] for line in lines if line.strip().startswith(("done ", "begun "))}
        self.assertEqual(marks, {names[0]: "done", NAME: "begun"} if names[0] != NAME else {NAME: "done"})
        self.assertIn(f"1 of {len(names)} done.", lines)
        self.assertEqual(self.call("--names").stdout.split(), names)

    def test_the_list_of_recipes_marks_those_with_an_exercise(self):
        listed = subprocess.run([ROOT / "scripts" / "list"], capture_output=True, text=True).stdout
        self.assertRegex(listed, r"(?m)^x lock ")
        self.assertRegex(listed, r"(?m)^  \w+ " if "\n  " in listed else "")

    def test_an_editor_is_told_how_the_program_is_compiled(self):
        if BUILD != ROOT / "build":
            self.skipTest("scripts/exercise uses build/")
        self.call("start", NAME)
        entry, = json.loads((self.folder / NAME / "compile_commands.json").read_text())
        self.assertEqual(entry["file"], str(self.program.resolve()))
        done = subprocess.run([*shlex.split(entry["command"]), "-fsyntax-only"], cwd=entry["directory"])
        self.assertEqual(done.returncode, 0)

    def test_the_list_of_the_build_has_the_program_too(self):
        if BUILD != ROOT / "build":
            self.skipTest("scripts/exercise uses build/")
        self.call("start", NAME)
        files = [one["file"] for one in json.loads((BUILD / "compile_commands.json").read_text())]
        self.assertEqual(files.count(str(self.program.resolve())), 1)
        self.assertIn(str(ROOT / "chapters" / "02_threads" / "lock" / f"{NAME}.cpp"), files)

    def test_cmake_is_told_of_the_program(self):
        self.call("start", NAME)
        self.assertEqual((self.folder / NAME / "exercise.cmake").read_text(),
                         f'exercise({NAME} {NAME} SOURCE "${{CMAKE_CURRENT_LIST_DIR}}/{NAME}.cpp")\n')
        self.call("start", "thread_queue_get")
        told = (self.folder / "thread_queue_get" / "exercise.cmake").read_text()
        recipe = "${CMAKE_SOURCE_DIR}/chapters/02_threads/thread_queue"
        self.assertTrue(told.startswith(f'exercise(thread_queue_get thread_queue SOURCE "{recipe}/thread_queue.cpp" '
                                        'BESIDE '), told)
        self.assertNotIn("blocking_queue.hpp", told)

    def test_what_it_refuses(self):
        for words, part in ((("start", "lock_rase"), NAME), (("start",), "NAME"), (("begin", NAME), "invalid choice"),
                            (("start", NAME, "--yes"), "--yes"), (("check", NAME), f"scripts/exercise start {NAME}"),
                            (("check",), "no exercise is begun"), (("hint", "lock"), NAME),
                            (("99",), "no chapter begins")):
            done = self.call(*words)
            self.assertEqual(done.returncode, 2, words)
            self.assertIn(part, done.stderr, words)

    def test_an_accepted_repair_is_done_and_the_next_one_is_named(self):
        self.call("start", NAME)
        with mock.patch.object(tool, "prepare", return_value=BUILD), \
                contextlib.redirect_stdout(io.StringIO()) as output:
            with mock.patch.object(tool.judging, "judge", return_value=judging.Verdict(True, "Repaired.")):
                self.assertEqual(tool.check(tool.find(NAME)), 0)
                self.assertTrue(exercises.Progress().of(NAME)["done"])
            hangs = judging.Verdict(False, "It hangs.", "last line")
            with mock.patch.object(tool.judging, "judge", return_value=hangs):
                self.assertEqual(tool.check(tool.find(NAME)), 1)
                self.assertTrue(exercises.Progress().of(NAME)["done"], "what is done stays done")
        following = tool.next_one(exercises.Progress(), NAME)
        self.assertIn(f"Repaired.\nNext: {following.name} ", output.getvalue())
        self.assertIn("It hangs.\n    last line\n", output.getvalue())

    def test_run_shows_what_the_program_prints(self):
        if BUILD != ROOT / "build":
            self.skipTest("scripts/exercise uses build/")
        self.write('#include <cstdio>\nint main() { std::puts("my own line"); return 7; }\n')
        done = self.call("run", NAME)
        self.assertEqual((done.stdout, done.returncode), ("my own line\n", 7), done.stderr)


class Judge(Case):
    def verdict(self, text):
        self.write(text)
        exercise = next(one for one in exercises.exercises() if one.name == NAME)
        return judging.judge(exercise, self.program.parent, BUILD, runs=2, seconds=1)

    def test_of_many_errors_the_first_is_shown(self):
        found = self.verdict("int main() {\n  first_mistake();\n  second_mistake();\n}\n")
        self.assertFalse(found.accepted)
        self.assertIn("first_mistake", found.shown)
        self.assertNotIn("second_mistake", found.shown)

    def test_a_program_that_dies_or_prints_something_else_is_refused(self):
        for text, part in (("#include <cstdlib>\nint main() { std::abort(); }\n", "SIGABRT: it gave up"),
                           ("int main() { *(volatile int*)nullptr = 1; }\n", "SIGSEGV: it used memory"),
                           ("int main() { return 5; }\n", "exit code 5"), ("int main() {}\n", "No line of the output")):
            self.assertIn(part, self.verdict(text).text)

    def test_an_error_in_a_header_is_shown_with_the_line_that_it_is_about(self):
        text = "#include <thread>\nvoid f(int&) {}\nint main() {\n  int x = 0;\n  std::thread t(f, x);\n}\n"
        found = self.verdict(text)
        self.assertRegex(found.shown, rf"{NAME}.cpp:5:.*required from here")
        self.assertIn("error: static assertion failed", found.shown)

    def test_what_a_linker_misses_is_named(self):
        found = self.verdict("void missing();\nint main() { missing(); }\n")
        self.assertIn("cannot be linked", found.text)
        self.assertIn("undefined reference to `missing()'", found.shown)

    def test_an_expected_line_is_readable(self):
        for pattern, text in ((r"the writer was in after \d+ reads", "the writer was in after <number> reads"),
                              (r"\d{1,2} bytes", "<number of 1 to 2 digits> bytes"), (r"3 \+ 4 = 7", "3 + 4 = 7"),
                              (r"refused.*", "refused<any text>"), (r"(up|down)", "up or down")):
            self.assertEqual(judging.readable(pattern), text)

    def test_statements_stay_in_order_with_others_between(self):
        text = "a(1); // b(2);\n  more();\n b( 2 );\n c.cbegin(); 1'000;\n#if 0\n never();\n#endif\n"
        text = exercises.squeezed(text)
        for piece, there in (("a(1); b(2);", True), ("b(2); a(1);", False), ("c.begin();", True), ("1000;", True),
                             ("never();", False), ("a(1); c.begin()", True)):
            self.assertEqual(exercises.keeps(text, piece), there, piece)

    def test_an_expected_line_that_has_the_text_of_the_symptom_is_no_symptom(self):
        exercise = next(one for one in exercises.exercises() if one.name == "cuda_stencil_in_place")
        self.assertEqual(judging.symptom_of(exercise), "points are wrong")
        for line, code, why in (("0 of 4194304 points are wrong", 0, ""),
                                ("7 of 4194304 points are wrong", 1, "The mistake still shows"),
                                ("0 of 4194304 points are wrong", 1, "exit code 1")):
            outcome = judging.run(["sh", "-c", f"echo {line}; exit {code}"], self.folder, 10)
            if why:
                with self.assertRaisesRegex(judging.Refused, why):
                    judging.check_outcome(exercise, outcome, 10, "")
            else:
                judging.check_outcome(exercise, outcome, 10, "")

    def test_the_check_of_the_program_must_stay(self):
        found = self.verdict('#include <cstdio>\nint main() { std::puts("counter: 0"); }\n')
        self.assertIn("must stay", found.text)

    def test_a_lock_around_the_whole_loop_is_refused(self):
        exercise = next(one for one in exercises.exercises() if one.name == NAME)
        text = next(iter(exercise.texts().values())).replace("#include <thread>", "#include <mutex>\n#include <thread>")
        lock = "  static std::mutex m;\n  std::scoped_lock lock(m);\n"
        found = self.verdict(text.replace("  for (int i", lock + "  for (int i"))
        self.assertIn("one after the other", found.text)

    def verdict_on(self, name, *changes, runs=2):
        """On the known solution of an exercise with changes: (old, new)."""
        exercise = next(one for one in exercises.exercises() if one.name == name)
        texts = exercise.edited(exercise.solution()["solution"])
        for old, new in changes:
            self.assertEqual(texts[exercise.main_file].count(old), 1, old)
            texts[exercise.main_file] = texts[exercise.main_file].replace(old, new)
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        for file, text in texts.items():
            (folder / file).write_text(text)
        return judging.judge(exercise, folder, BUILD, runs=runs, seconds=1)

    def test_what_must_stay_must_be_executed(self):
        found = self.verdict_on("scoped_locking_no_name", ("  bool taken = false;\n", """  bool taken = false;
  if (volatile bool always = true; always) {
    std::jthread([] {}).join();
    std::puts("no other thread could take the lock");
    return 0;
  }
"""))
        self.assertIn("It still stands there, but it is not executed:", found.text)

    def test_a_check_that_finds_the_mistake_counts_also_if_its_finding_is_dropped(self):
        two_steps = "while (taken) lose_core();\n    lose_core();\n    taken = true;"
        dropped = "  if (std::atomic<bool>& flag = seen_two; flag.exchange(0)) {}\n  std::puts(seen_two"
        for _ in range(8):  # on a busy machine, 20 runs may not show the mistake
            found = self.verdict_on("spin_lock_two_steps", ("while (taken.exchange(true)) lose_core();", two_steps),
                                    ("  std::puts(seen_two", dropped), runs=20)
            if not found.accepted:
                break
        self.assertIn("this check of the program has found it", found.text)

    def test_a_value_of_the_writers_choice_is_refused(self):
        exercise = next(one for one in exercises.exercises() if one.name == "sequence_lock_one_look")
        texts = exercise.edited(exercise.solution()["solution"])
        name, text = next(iter(texts.items()))
        judging.check_text(exercise, texts)
        for line in ("two = 2 * one;", "mixed ^= mixed;", "mixed.store(false);"):
            changed = text.replace("    if (two != 2 * one)", f"    {line}\n    if (two != 2 * one)")
            with self.assertRaisesRegex(judging.Refused, "a value of its own choice", msg=line):
                judging.check_text(exercise, {name: changed})

    def test_what_has_come_out_is_printed(self):
        exercise = next(one for one in exercises.exercises() if one.name == "shared_lock_upgrade")
        texts = exercise.edited(exercise.solution()["solution"])
        name, text = next(iter(texts.items()))
        call = 'std::printf("%d letters\\n", letters.load());'
        for other, part in (('std::printf("%d letters\\n", 32);', "must print what has come out"),
                            ('std::puts("32 letters");', "must stay")):
            with self.assertRaisesRegex(judging.Refused, part):
                judging.check_text(exercise, {name: text.replace(call, other)})
        judging.check_text(exercise, {name: text.replace(call, 'std::printf("%d letters\\n", int(letters));')})

    def test_the_output_stays_where_it_is(self):
        exercise = next(one for one in exercises.exercises() if one.name == NAME)
        text = next(iter(exercise.edited(exercise.solution()["solution"]).values()))
        for line in ('std::freopen("/dev/null", "w", stdout);', "dup2(file, 1);", "std::fclose(stdout);"):
            with self.assertRaisesRegex(judging.Refused, "must not change where its output goes"):
                judging.check_text(exercise, {exercise.main_file: text.replace("int main() {", "int main() {" + line)})

    def test_a_busy_machine_is_given_more_time(self):
        cores = len(os.sched_getaffinity(0))
        for load, factor in ((0.0, 1), (cores, 1), (3 * cores, 3), (100 * cores, 6)):
            with mock.patch.object(os, "getloadavg", return_value=(load, 0, 0)):
                self.assertEqual(judging.patience(), factor)

    def test_locks_in_a_circle(self):
        program = """
#include <functional>
#include <mutex>
#include <thread>
std::mutex one, two, gate;
void take(std::mutex& first, std::mutex& second, bool alone) {
  std::unique_lock gate_lock(gate, std::defer_lock);
  if (alone) gate_lock.lock();
  std::scoped_lock first_lock(first);
  std::scoped_lock second_lock(second);
}
int main(int count, char**) {
  std::jthread(take, std::ref(one), std::ref(two), count > 1).join();
  std::jthread(take, std::ref(two), std::ref(one), count > 2).join();
}
"""
        source, built, library = self.folder / "circle.cpp", self.folder / "circle", self.folder / "locks.so"
        source.write_text(program)
        subprocess.run(["g++", "-std=c++20", "-pthread", source, "-o", built], check=True)
        judging.make_own_part("exercise_locks.cpp", library, "-shared", "-fPIC")
        for words, circle in (([], True), (["x"], True), (["x", "x"], False)):
            record = self.folder / f"record{len(words)}"
            environment = os.environ | {"LD_PRELOAD": str(library), "COOKBOOK_EXERCISE_RECORD": str(record)}
            subprocess.run([built, *words], check=True, env=environment)
            self.assertEqual(record.exists(), circle, words)

    def test_a_thread_exists_until_it_is_joined(self):
        program = """
#include <chrono>
#include <thread>
#include <vector>
int main(int count, char**) {
  std::vector<std::jthread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([] {});
    if (count > 1) std::this_thread::sleep_for(std::chrono::milliseconds(20));  // it has ended by then
    if (count > 2) threads.clear();
    if (count > 3) {
      std::thread([] {}).detach();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }
}
"""
        source, built = self.folder / "threads.cpp", self.folder / "threads"
        source.write_text(program)
        subprocess.run(["g++", "-std=c++20", "-pthread", source, "-o", built], check=True)
        for words, most in (([], 4), (["x"], 4), (["x"] * 2, 2), (["x"] * 3, 2)):
            record = self.folder / f"record{len(words)}"
            environment = os.environ | {"LD_PRELOAD": str(BUILD / "lib" / "libexercise_interposer.so"),
                                        "COOKBOOK_EXERCISE_RECORD": str(record)}
            subprocess.run([built, *words], check=True, env=environment)
            lines = record.read_text().splitlines()
            self.assertEqual([line for line in lines if line.startswith("threads")][-1], f"threads {most}", words)

    def test_watch_judges_at_each_change_until_it_is_interrupted(self):
        if BUILD != ROOT / "build":
            self.skipTest("scripts/exercise uses build/")
        self.write("int main() { first(); }\n")
        with subprocess.Popen([SCRIPT, "watch", NAME], stdout=subprocess.PIPE, text=True) as watch:
            for name in ("first", "second"):
                lines = []
                while not lines or not lines[-1].startswith("Waiting for a change"):
                    lines.append(watch.stdout.readline())
                self.assertTrue(any(f"‘{name}’" in line or f"'{name}'" in line for line in lines), lines)
                self.write("int main() { second(); }\n")
            watch.send_signal(signal.SIGINT)
            self.assertEqual(watch.wait(20), 130)

    def test_an_interrupted_check_leaves_nothing_running(self):
        if BUILD != ROOT / "build":
            self.skipTest("scripts/exercise uses build/")
        self.write("#include <unistd.h>\nint main() {\n  fork();\n  for (;;) pause();\n}\n")
        for sign, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            judge = subprocess.Popen([SCRIPT, "check", NAME], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            while judge.poll() is None and len(found := running(judge.pid)) < 2:
                time.sleep(0.02)
            self.assertIsNone(judge.poll(), "the check ended by itself")
            judge.send_signal(sign)
            self.assertEqual(judge.wait(20), code)
            self.assertEqual([one for one in found if alive(one)], [])


def alive(process):
    """Whether the process is there and no zombie."""
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    return False


def running(judge):
    """The ids of the learner's program below `judge`."""
    found, names = [], {}
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                name, rest = (entry / "stat").read_text().split("(", 1)[1].rsplit(")", 1)
                names[int(entry.name)] = (name, int(rest.split()[1]))
    for process, (name, parent) in names.items():
        while parent in names and parent != judge:
            parent = names[parent][1]
        if name == NAME and parent == judge:
            found.append(process)
    return found


if __name__ == "__main__":
    unittest.main()
