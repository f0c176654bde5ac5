"""Judges a repair of an exercise: compiles it, runs it many times and under load, counts its threads, processes and
messages, and runs it with a sanitizer. The answer says in plain words what is still wrong, with the lines that show
it."""
import dataclasses
import os
import pathlib
import platform
import re
import shutil
import signal
import tempfile
import time

import cookbook
from cookbook import exercises, process
from cookbook.build import compile_command, link_command
from cookbook.recipe import head_field

SHOWN_LINES = 8  # of a program's output or of a report
SLEEPS = r"\b(?:sleep_for|sleep_until|usleep|nanosleep|clock_nanosleep|sleep)\s*\("
# When one rank has failed, mpirun would wait for the others a while; sometimes for ever.
os.environ["OMPI_MCA_odls_base_sigkill_timeout"] = "0"


@dataclasses.dataclass
class Verdict:
    accepted: bool
    text: str  # what was found, in plain words
    shown: str = ""  # the lines that show it
    skipped: bool = False

    def __str__(self):
        indented = "".join(f"    {line}\n" for line in self.shown.splitlines())
        return self.text + ("\n" + indented if indented else "\n")


class Refused(Exception):
    def __init__(self, text, shown=""):
        super().__init__(text)
        self.verdict = Verdict(False, text, shown)


class Skipped(Exception):
    pass


def run(command, folder, limit, environment=None, spared=()):
    """Runs a command; what it leaves behind is ended."""
    return process.run(command, limit, environment, folder, end_orphans=True, spared=spared)


# Compiling -----------------------------------------------------------------------------------------------------------

def first_error(text):
    """The first error of a compiler's output, with the lines that explain it."""
    lines = text.splitlines()
    start = next((i for i, line in enumerate(lines) if re.search(r"\berror\b", line)), 0)
    end = next((i for i in range(start + 1, len(lines)) if re.search(r"\b(error|warning)\b", lines[i])), len(lines))
    return "\n".join(lines[start:min(end, start + SHOWN_LINES)])


class Program:
    """A learner's program, compiled as the pitfall is. The build folder's paths are relative to it."""

    def __init__(self, exercise, source, build, scratch):
        self.exercise, self.source, self.build, self.scratch = exercise, source, build, scratch

    def compile_words(self):
        """How it is compiled, but for the name of the object: words and folder."""
        original = str(self.exercise.original)
        words, place = compile_command(self.build, self.exercise.original)
        words = [str(self.source) if word == original else word for word in words]
        # A warning is no mistake.
        return words + ["-I", str(self.exercise.recipe.folder)] + ["-Wno-error"] * (self.source.suffix == ".cpp"), place

    def compiled(self, flags=()):
        name = self.exercise.name
        folder = self.scratch / ("plain" if not flags else flags[0].split("=")[-1].split(",")[0])
        folder.mkdir()
        for other in {source.stem for source in self.exercise.recipe.sources()} - {name}:
            if (self.build / "bin" / other).exists():  # some start a program that stands beside theirs
                (folder / other).symlink_to(self.build / "bin" / other)
        object_file, program = folder / f"{name}.o", folder / name
        words, place = self.compile_words()
        words = ["ccache"] * bool(shutil.which("ccache")) + words + ["-o", str(object_file), *flags]
        done = run(words, place, 300)
        if done.code != 0:
            raise Refused("The program does not compile. The first error:", first_error(done.text))
        words = [str(program) if word == f"bin/{name}" else re.sub(rf"^\S*/{name}\.dir/\S*\.o$", str(object_file), word)
                 for word in link_command(self.build, name)]
        done = run([*words, *flags], self.build, 300)
        if done.code != 0:
            raise Refused("The program cannot be linked:", first_error(done.text))
        return program

    def command(self, program, before=()):
        """How one starts it; `before` stands directly before the program, behind mpirun's options."""
        command = self.exercise.recipe.command(self.build, self.exercise.name)
        return [*command[:-1], *before, str(program)]


# Judging -------------------------------------------------------------------------------------------------------------

def symptom_of(exercise):
    """The text by which the untouched program shows its mistake, or None where it hangs or where only a sanitizer sees
    it."""
    symptom = " ".join(head_field(exercise.original, "Symptom"))
    text = re.search(r'prints "([^"]+)"', symptom)
    return text[1] if text and not symptom.startswith("exit 0") else None


def last_lines(outcome):
    return "\n".join(outcome.lines[-SHOWN_LINES:])


def check_outcome(exercise, outcome, limit, where):
    """Refuses what one run has shown."""
    symptom = symptom_of(exercise)
    if symptom and symptom in outcome.text:
        place = next(i for i, line in enumerate(outcome.lines) if symptom in line)
        raise Refused(f"The mistake still shows{where}. The program printed:",
                      "\n".join(outcome.lines[max(0, place - 3):place + 1]))
    if outcome.timed_out:
        raise Refused(f"The program hangs: it still ran after {limit} s{where}. "
                      + ("Its last lines:" if outcome.lines else "It has printed nothing."), last_lines(outcome))
    if outcome.code == cookbook.SKIPPED:
        raise Skipped(last_lines(outcome))
    if outcome.code < 0:
        raise Refused(f"The program was ended by signal {-outcome.code} ({signal.Signals(-outcome.code).name}){where}. "
                      "Its last lines:", last_lines(outcome))
    if outcome.code != 0:
        raise Refused(f"The program ended with exit code {outcome.code}{where}, not with 0. Its last lines:",
                      last_lines(outcome))
    for pattern in exercise.prints:
        if not any(re.fullmatch(pattern, line.strip()) for line in outcome.text.splitlines()):
            raise Refused(f"No line of the output is like the expected one{where}: {pattern.replace(chr(92), '')}. "
                          "The program printed:", last_lines(outcome))


def check_text(exercise, texts):
    """Refuses repairs that wait instead of synchronising, or that change what the program does or checks."""
    given = exercise.texts()
    main = next(iter(given))
    mine, original = (re.sub(r"//[^\n]*", "", files[main]) for files in (texts, given))
    if len(re.findall(SLEEPS, mine)) > len(re.findall(SLEEPS, original)):
        before = [line.strip() for line in original.splitlines()]
        shown = [line.strip() for line in mine.splitlines() if re.search(SLEEPS, line) and line.strip() not in before]
        raise Refused("The program sleeps where it did not before. Sleeping makes a mistake show less often; it does "
                      "not remove it:", "\n".join(shown))
    squeezed = "\n".join(exercises.squeezed(text) for text in texts.values())
    for piece in exercise.keep:
        if exercises.squeezed(piece) not in squeezed:
            raise Refused("This belongs to the program's work or to its own checks, and must stay:", piece)
    for pattern, reason in exercise.refuse.items():
        if re.search(pattern, squeezed):
            raise Refused(reason)


def check_counts(exercise, record):
    """Refuses a repair that takes the parallelism out: fewer threads, processes or messages than the program must
    have."""
    lines = record.read_text().splitlines() if record.exists() else []
    threads = max([int(line.split()[1]) for line in lines if line.startswith("threads ")], default=1)
    processes = lines.count("process")
    if threads < exercise.threads:
        raise Refused(f"Beside main at most {threads - 1} thread{'s' * (threads != 2)} existed at the same time, and "
                      f"the program needs {exercise.threads - 1}. A repair keeps the parallelism.")
    if processes < exercise.processes:
        raise Refused(f"The program started {processes} processes, and it needs {exercise.processes}. "
                      "A repair keeps the parallelism.")
    for call, least in exercise.calls.items():
        if (made := sum(lines.count(f"call {one}") for one in call.split("|"))) < least:
            raise Refused(f"All ranks together called {call.replace('|', ' or ')} {made} times, and the program needs "
                          f"{least} calls. A repair keeps the communication.")


def sanitizer_of(exercise):
    if exercise.sanitizer:
        return exercise.sanitizer
    source = exercise.original
    if source.suffix == ".cu":
        return "memcheck"
    if exercise.recipe.launcher.startswith("mpi"):
        return "none"
    return "thread" if "#include <thread>" in source.read_text() else "address"


IN_PLAIN_WORDS = {
    "data race": "Two threads use the same memory at the same time, one of them writes, and nothing orders the two.",
    "lock-order-inversion": "Two locks are taken in one order here and in the other order there.",
    "buffer-overflow": "The program reads or writes behind the end of an array.",
    "use-after": "The program uses memory that no longer belongs to it.",
}
SANITIZER_NAMES = {"thread": "ThreadSanitizer", "address": "AddressSanitizer"}
REPORT = re.compile(r"^(==\d+==ERROR: |WARNING: ThreadSanitizer|FATAL: ThreadSanitizer|.*: runtime error: |"
                    r"=+ (Invalid |Uninitialized |Barrier error|(Error|Warning): Race reported|Program hit |"
                    r"ERROR SUMMARY: [1-9]|RACECHECK SUMMARY: [1-9]))")
# what compute-sanitizer says on a virtual machine that hides the device's counters
NO_SUCH_TOOL_HERE = "Device not supported"


def check_sanitizer(exercise, program, plain):
    kind = sanitizer_of(exercise)
    if kind == "none":
        return None
    suppressions = cookbook.ROOT / "tests" / "support" / "tsan.supp"
    environment = {"TSAN_OPTIONS": f"halt_on_error=1:second_deadlock_stack=1:suppressions={suppressions}",
                   "ASAN_OPTIONS": "detect_stack_use_after_return=1:protect_shadow_gap=0",
                   "UBSAN_OPTIONS": "print_stacktrace=1",
                   "LSAN_OPTIONS": "detect_leaks=0" if {"mpi", "opencl", "cuda"} & set(exercise.recipe.needs) else ""}
    if kind in SANITIZER_NAMES:
        # As the presets tsan and asan have it; the warnings were shown when the program was compiled without.
        flags = ["-fsanitize=thread"] if kind == "thread" else ["-fsanitize=address,undefined", "-fno-sanitize=vptr"]
        flags += ["-O1", "-g", "-w"]
        name = SANITIZER_NAMES[kind]
        before = ["setarch", platform.machine(), "-R"] if kind == "thread" else []
        command = program.command(program.compiled(flags), before)
    else:
        tool = shutil.which("compute-sanitizer") or shutil.which("compute-sanitizer", path="/usr/local/cuda/bin")
        if not tool:
            return None
        name = f"compute-sanitizer's {kind}"
        command = program.command(plain, [tool, "--tool", kind])
    limit = 6 * exercise.limit
    for _ in range(3):
        outcome = run(command, program.scratch, limit, environment)
        if NO_SUCH_TOOL_HERE in outcome.text:
            return None
        lines = outcome.text.splitlines()
        start = next((i for i, line in enumerate(lines) if REPORT.match(line)), None)
        if start is not None:
            access = re.compile(r" +(Previous |Atomic )?(read|write) of size", re.I)
            own = [line.strip() for line in lines[start + 1:] if program.source.name in line or access.match(line)]
            meaning = [words + " " for mistake, words in IN_PLAIN_WORDS.items() if mistake in lines[start]]
            raise Refused(f"{name} finds a mistake. {''.join(meaning[:1])}Its report:",
                          "\n".join([lines[start].strip(), *own[:SHOWN_LINES - 1]]))
        if outcome.timed_out:
            check_outcome(exercise, outcome, limit, f" with {name}")
        if outcome.code == cookbook.SKIPPED:
            raise Skipped(last_lines(outcome))
    return name


def judge(exercise, folder, build, runs=20, seconds=6, say=lambda text: None):
    """The verdict on the program in `folder`. It is run up to `runs` times and `seconds` alone, and as often under
    load. What has been done so far is told to `say`."""
    texts = {name: (folder / name).read_text() for name in exercise.texts()}
    source = folder / next(iter(texts))
    process.adopt_orphans()
    with tempfile.TemporaryDirectory(prefix="exercise-") as scratch:
        try:
            program = Program(exercise, source.resolve(), build, pathlib.Path(scratch))
            if "cuda" in exercise.recipe.needs:  # to compile takes long, so ask first whether there is a device
                first = run(program.command(build / "bin" / exercise.name), scratch, 60)
                if first.code == cookbook.SKIPPED:
                    raise Skipped(last_lines(first))
            plain = program.compiled()
            say("compiled")
            record = pathlib.Path(scratch) / "record"
            interposers = [str(path) for path in sorted((build / "lib").glob("libexercise_interposer*.so"))
                      if "mpi" not in path.name or exercise.recipe.launcher.startswith("mpi")]
            counted = ["env", "LD_PRELOAD=" + ":".join(interposers), f"COOKBOOK_EXERCISE_RECORD={record}"]
            check_outcome(exercise, run(program.command(plain, counted), scratch, exercise.limit), exercise.limit, "")
            check_text(exercise, texts)
            check_counts(exercise, record)
            say("right in one run")
            sanitizer = check_sanitizer(exercise, program, plain)
            if sanitizer:
                say(f"{sanitizer} finds nothing")
            count = repeated(exercise, program.command(plain), scratch, runs, seconds, exercise.limit, "")
            say(f"right in {count} runs")
            with process.load() as busy:
                loaded = repeated(exercise, program.command(plain), scratch, runs, seconds, 4 * exercise.limit,
                                  " while other programs kept every core busy", busy)
        except Refused as refused:
            return refused.verdict
        except Skipped as skipped:
            return Verdict(False, "It cannot be judged here. The program said:", str(skipped), skipped=True)
        finally:
            process.end_descendants()
    found = f"; {sanitizer} finds nothing" if sanitizer else ""
    return Verdict(True, f"Repaired: right in {count} runs, and in {loaded} with every core busy{found}.")


def repeated(exercise, command, folder, runs, seconds, limit, where, spared=()):
    """Runs it again and again, at least twice; how often."""
    start = time.monotonic()
    for count in range(1, runs + 1):
        check_outcome(exercise, run(command, folder, limit, spared=spared), limit, where)
        if count >= 2 and time.monotonic() - start > seconds:
            break
    return count
