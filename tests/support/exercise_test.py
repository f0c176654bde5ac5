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
        self.assertEqual(self.call("start", NAME, "--again").returncode, 0)
        self.assertNotEqual(self.program.read_text(), "my work\n")

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
        for text, part in (("#include <cstdlib>\nint main() { std::abort(); }\n", "SIGABRT"),
                           ("int main() { return 5; }\n", "exit code 5"), ("int main() {}\n", "No line of the output")):
            self.assertIn(part, self.verdict(text).text)

    def test_the_check_of_the_program_must_stay(self):
        found = self.verdict('#include <cstdio>\nint main() { std::puts("counter: 0"); }\n')
        self.assertIn("must stay", found.text)

    def test_a_lock_around_the_whole_loop_is_refused(self):
        exercise = next(one for one in exercises.exercises() if one.name == NAME)
        text = next(iter(exercise.texts().values())).replace("#include <thread>", "#include <mutex>\n#include <thread>")
        lock = "  static std::mutex m;\n  std::scoped_lock lock(m);\n"
        found = self.verdict(text.replace("  for (int i", lock + "  for (int i"))
        self.assertIn("one after the other", found.text)

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
