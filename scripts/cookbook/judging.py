"""Judges a repair of an exercise, or a function written for one: compiles it, runs it many times and under load, counts
its threads, processes and messages, runs it with a sanitizer, and judges it again with another input and with looks of
its own at the decisive moments, since the text of the program's checks is the learner's to change. The answer says in
plain words what is still wrong, with the lines that show it."""
import concurrent.futures
import dataclasses
import hashlib
import json
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
from cookbook.build import compile_command, decisive_lines, link_command
from cookbook.recipe import head_field

SHOWN_LINES = 8  # of a program's output or of a report
SUPPORT = cookbook.ROOT / "tests" / "support"
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

def first_error(text, source=""):
    """The first error of a compiler's output, with the lines that explain it; where it is in a library's header, also
    the line of the program that it is about. Of a linker's output the lines that name what is missing."""
    lines = text.splitlines()
    start = next((i for i, line in enumerate(lines) if re.search(r"\berror\b", line)), None)
    if start is None or "collect2" in lines[start] or "ld returned" in lines[start]:
        return "\n".join(decisive_lines(text) or lines[:SHOWN_LINES])
    end = next((i for i in range(start + 1, len(lines)) if re.search(r"\b(error|warning)\b", lines[i])), len(lines))
    shown = lines[start:min(end, start + SHOWN_LINES)]
    if source and source not in lines[start]:
        about = [line for line in lines[:end] if source in line and re.search("required|In function|from here", line)]
        shown = [*about[-2:], *(line for line in shown if line not in about)]
    return "\n".join(shown)


class Program:
    """A learner's program, compiled as the pitfall is. The build folder's paths are relative to it."""

    def __init__(self, exercise, source, build, scratch, flags=()):
        self.exercise, self.source, self.build, self.scratch, self.flags = exercise, source, build, scratch, list(flags)
        self.ahead = {}  # what is compiled already, by folder: the program's path, or why there is none

    def compile_words(self):
        """How it is compiled, but for the name of the object: words and folder."""
        original = str(self.exercise.original)
        words, place = compile_command(self.build, self.exercise.original)
        words = [str(self.source) if word == original else word for word in words]
        # A warning is no mistake.
        words += ["-I", str(self.exercise.recipe.folder), *["-Wno-error"] * (self.source.suffix == ".cpp"), *self.flags]
        return words, place

    def compiled(self, flags=(), called="", further=()):
        """The program's path. `called` is the folder that it goes to, `further` are objects that are linked with it."""
        called = called or ("plain" if not flags else flags[0].split("=")[-1].split(",")[0])
        done = self.ahead.pop(called, None) or self.attempt(flags, called, further)
        if isinstance(done, Refused):
            raise done
        return done

    def attempt(self, flags, called, further):
        """The program's path, or why there is none."""
        try:
            return self.compile(flags, self.scratch / called, further)
        except Refused as refused:
            return refused

    def compile(self, flags, folder, further):
        name = self.exercise.program
        folder.mkdir()
        for other in {source.stem for source in self.exercise.recipe.sources()} - {name}:
            if (self.build / "bin" / other).exists():  # some start a program that stands beside theirs
                (folder / other).symlink_to(self.build / "bin" / other)
        object_file, program = folder / f"{name}.o", folder / name
        words, place = self.compile_words()
        words = ["ccache"] * bool(shutil.which("ccache")) + words + ["-o", str(object_file), *flags]
        done = process.run(words, 300, cwd=place)
        if done.code != 0:
            raise Refused("The program does not compile. The first error:", first_error(done.text, self.source.name))
        words = [str(program) if word == f"bin/{name}" else re.sub(rf"^\S*/{name}\.dir/\S*\.o$", str(object_file), word)
                 for word in link_command(self.build, name)]
        flags = [flag for flag in flags if flag.startswith("-f")]  # those that a linker needs as well
        done = process.run([*words, *map(str, further), *flags], 300, cwd=self.build)
        if done.code != 0:
            raise Refused("The program cannot be linked:", first_error(done.text))
        return program

    def command(self, program, before=()):
        """How one starts it; `before` stands directly before the program, behind mpirun's options."""
        command = self.exercise.recipe.command(self.build, self.exercise.program)
        return [*command[:-1], *before, str(program)]


def compile_ahead(jobs):
    """Compiles programs at the same time, as (program, flags, folder's name, further objects) each. No program may run
    meanwhile, since whatever a run has left behind is ended."""
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for program, called, future in [(program, called, pool.submit(program.attempt, flags, called, further))
                                        for program, flags, called, further in jobs]:
            program.ahead[called] = future.result()


def assembled(exercise, folder, place, driver=False):
    """The source that is compiled: the learner's program itself; or, where a function is to be written, a copy of the
    recipe's program, or of the judge's driver, that lies beside the learner's file, so that it includes this one."""
    if not exercise.write:
        return folder / exercise.main_file
    place.mkdir()
    for path in exercise.recipe.sources():  # all of them: a program or a header may look for a file beside itself
        if path.parent == exercise.recipe.folder:
            (place / path.name).write_text(path.read_text())
    (place / exercise.main_file).write_text((folder / exercise.main_file).read_text())
    source = exercise.driver if driver else exercise.original
    if source.name != exercise.main_file:
        (place / source.name).write_text(source.read_text())
    return place / source.name


# Judging -------------------------------------------------------------------------------------------------------------

def symptom_of(exercise):
    """The text by which the untouched program shows its mistake, or None where it hangs or where only a sanitizer sees
    it."""
    symptom = " ".join(head_field(exercise.original, "Symptom"))
    text = re.search(r'prints "([^"]+)"', symptom)
    return text[1] if text and not symptom.startswith("exit 0") else None


def last_lines(outcome):
    return "\n".join(outcome.lines[-SHOWN_LINES:])


# What Linux says of a signal that a program ends by.
SIGNALS = {"SIGSEGV": "it used memory that it does not have", "SIGBUS": "it used memory that is not there",
           "SIGABRT": "it gave up by itself, as for an exception that nobody catches, or a failed check",
           "SIGFPE": "it divided by zero", "SIGILL": "it came to an instruction that does not exist",
           "SIGKILL": "somebody has killed it", "SIGTERM": "somebody has asked it to end",
           "SIGPIPE": "it wrote where nobody reads any more"}


def ending(code):
    """The signal that has ended a program, in words, or None. A launcher such as mpirun reports N as 128 + N."""
    number = -code if code < 0 else code - 128
    if number not in [one.value for one in signal.Signals]:
        return None
    name = signal.Signals(number).name
    return f"{name}: {SIGNALS[name]}" if name in SIGNALS else name


def readable(pattern):
    """A regular expression of an expected line as a reader would write it."""
    beside = r"\(\?<?[!=][^()]*\)|\(\?<?[!=][^()]*\([^()]*\)[^()]*\)"  # what must not stand before it, or follow
    text = re.sub(r"\\[1-9]", "<the same>", re.sub(beside, "", pattern))
    text = re.sub(r"\\d\{(\d+),(\d+)\}", r"<number of \1 to \2 digits>", text)
    text = re.sub(r"(?:\.|\\S)\{(\d+),(\d+)\}", r"<text of \1 to \2 characters>", text)
    for old, new in ((r"(?:\\d)+[+*]|(?:\[0-9.,]+\]|\[\\d.,]+\])[+*]", "<number>"), (r"\\d", "<digit>"),
                     (r"\\w\+|\\S\+", "<word>"), (r"\.[*+]\??", "<any text>"), (r"\[a-z ]+\][+*]", "<words>"),
                     (r"\\s[*+]?", " "),
                     (r"\(\?:", "("), (r"\\(.)", r"\1")):
        text = re.sub(old, new, text)
    return re.sub(r"\(([^()|]*(?:\|[^()|]*)+)\)", lambda match: " or ".join(match[1].split("|")), text)


def check_refusal(outcome, where):
    """Refuses what a look of the judge's own has refused while the program ran."""
    if refusal := re.search(r"^judge: (.*)", outcome.text, re.M):
        before = [line for line in outcome.text[:refusal.start()].splitlines() if line.strip()]
        seen = f" ({where.strip()})" if where else ""
        raise Refused(refusal[1] + seen + (" Before, it printed:" if before else ""), "\n".join(before[-SHOWN_LINES:]))


def check_outcome(exercise, outcome, limit, where, prints=None, code=0):
    """Refuses what one run has shown."""
    symptom = symptom_of(exercise)
    expected = exercise.prints if prints is None else prints
    check_refusal(outcome, where)
    # "0 of 400 sums are wrong" is expected, and has the text of "7 of 400 sums are wrong"
    place = next((i for i, line in enumerate(outcome.lines) if symptom and symptom in line
                  and not any(re.fullmatch(pattern, line.strip()) for pattern in expected)), None)
    if place is not None and code == 0:
        raise Refused(f"The mistake still shows{where}. The program printed:",
                      "\n".join(outcome.lines[max(0, place - 3):place + 1]))
    if outcome.timed_out:
        raise Refused(f"The program hangs: it still ran after {limit} s{where}. "
                      + ("Its last lines:" if outcome.lines else "It has printed nothing."), last_lines(outcome))
    if outcome.code == cookbook.SKIPPED:
        raise Skipped(last_lines(outcome))
    if outcome.code != code and (why := ending(outcome.code)):
        raise Refused(f"The program was ended by a signal{where}, {why}. Its last lines:", last_lines(outcome))
    for pattern in expected if outcome.code == code else []:
        if not any(re.fullmatch(pattern, line.strip()) for line in outcome.text.splitlines()):
            raise Refused(f"No line of the output is like the expected one{where}: {readable(pattern)} "
                          "The program printed:", last_lines(outcome))
    if outcome.code != code:
        raise Refused(f"The program ended with exit code {outcome.code}{where}, not with {code}. Its last lines:",
                      last_lines(outcome))


# What hides a mistake from the judge instead of mending it.
HIDES = {
    r"\bno_sanitize|\bdisable_sanitizer|\bno_instrument_function|__SANITIZE_|\b__[talum]+san_|\b__sanitizer_|"
    r"address_sanitizer|thread_sanitizer": "This keeps a sanitizer from looking, so it is no repair:",
    r"\b_Exit\s*\(|\bquick_exit\s*\(|\bset_terminate\s*\(|\bon_exit\s*\(|\bat(?:_quick_)?exit\s*\(|"
    r"\b(?:con|de)structor\s*\)\s*\)": "The program must come to its own end, and not leave by this:",
    r"\b(?:std::)?freopen\s*\(|\bdup[23]\s*\(|\bclose\s*\(\s*(?:1|STDOUT_FILENO)\s*\)|\bfclose\s*\(\s*stdout\s*\)":
        "The program must not change where its output goes:",
    r"COOKBOOK_EXERCISE|LD_PRELOAD|\bnamespace\s+judge\b|\bjudge\s*::|\bsetitimer\s*\(|\b__libc_start_main\b":
        "This has to do with the judge, and not with the task:",
    r"#\s*pragma\s+(GCC\s+optimize|clang\s+optimize)|\boptnone\b|\boptimize\s*\(":
        "This changes how the program is compiled, and not what it does:",
}


def checked_names(exercise, names):
    """The variables that the statements look at which set those of the verdict, as in if (one != two) wrong = true;"""
    found = set()
    for piece in exercise.keep:
        for condition, name in re.findall(r"\bif\s*\(([^;{}]*)\)\s*\{?\s*(?:\+\+)?(\w+)", piece):
            if name in names:
                found |= set(re.findall(r"(?<![\w:.>])([a-zA-Z_]\w*)\b(?!\s*(?:\(|::|\.))", condition))
    return found


def check_verdict(exercise, mine, original):
    """Refuses a program that sets what its check looks at to the wanted value before it looks."""
    known = exercises.squeezed(next(iter(exercise.edited(exercise.solution()["solution"]).values())))
    verdicts, results = exercises.verdict_names(original), exercise.results()
    names = verdicts | checked_names(exercise, verdicts)
    constant = r"(?:true|false|[-+]?\d[\d']*\w*|\"[^\"]*\"|\{[\d\s]*\})"
    any_name = "|".join(sorted(names, key=len, reverse=True))
    # of constants and of what the check looks at, nothing else
    own = rf"(?:(?:{any_name}|{constant}|[-+*/%^&|<>=!~()\s])+)" if names else constant
    for name in sorted(names):
        # a statement of its own, and no declaration: `counter = 0;`, `counter.store(0)`, `two = 2 * one`, `a -= 495`
        value = constant if name in verdicts else rf"(?=[^;]*\b(?:{any_name})\b){own}"
        named = rf"(?<=[;{{}})])\s*(?:const_cast<[^;]*>\()?{name}\)?"
        setting = rf"{named}(?:\s*=\s*(?:{value})\s*;|\.(?:store|exchange)\(\s*{constant}\b[^;]*;"
        setting += rf"|\s*(?!\+=\s*1\s*;)[-+*/%^&|]=\s*(?:{own})\s*;|\s*=\s*(?=[^;]*\b(?:{any_name})\b){own};)"
        ours, theirs, solutions = (re.findall(setting, text) for text in (mine, original, known))
        theirs = max(theirs, solutions, key=len)
        if len(ours) > len(theirs):
            before = [one.strip() for one in theirs]
            raise Refused(f"The program gives {name} a value of its own choice, and its check looks at {name}:",
                          next((one.strip() for one in ours if one.strip() not in before), ours[-1].strip()))
        if name in results and not exercises.keeps(exercises.squeezed(mine), results[name]):
            raise Refused(f"The program's check looks at {name}, so this must stay:", results[name])


def arguments_of(text, call):
    """What the calls that begin so print: the text from the format to the closing parenthesis of each."""
    found = []
    for match in exercises.pattern_of(call).finditer(text):
        depth, end = 1, match.end()
        while end < len(text) and depth > 0:
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        found.append(re.sub(r'"(?:\\.|[^"\\])*"', "", text[match.end():end - 1]))
    return found


def check_printed(exercise, mine, original):
    """Refuses a program that prints a value of its writer's choice where it is to print what has come out."""
    for call in exercise.printing():
        given, now = (arguments_of(text, call) for text in (original, mine))
        for before, after in zip(given, now, strict=False):
            if re.search(r"[a-zA-Z_]\w*", before) and not re.search(r"(?<![\w'.])[a-zA-Z_]\w*", after):
                raise Refused("The program must print what has come out, and not a value of its own choice:",
                              f"{call}{after})")


def check_text(exercise, texts):
    """Refuses repairs that wait instead of synchronising, or that change what the program does or checks."""
    given = exercise.texts()
    main = next(iter(given))
    mine, original = (exercises.without_comments(files[main]) for files in (texts, given))
    if not exercise.sleeps and len(re.findall(SLEEPS, mine)) > len(re.findall(SLEEPS, original)):
        shown = [line.strip() for line in added_lines(mine, original) if re.search(SLEEPS, line)]
        raise Refused("The program sleeps where it did not before. Sleeping makes a mistake show less often; it does "
                      "not remove it:", "\n".join(shown))
    for pattern, why in HIDES.items():
        if len(found := re.findall(rf"[^\n]*(?:{pattern})[^\n]*", mine)) > len(re.findall(pattern, original)):
            line = re.search(rf"[^\n]*(?:{pattern})[^\n]*", mine)
            raise Refused(why, line[0].strip() if found else "")
    squeezed = "\n".join(exercises.squeezed(text) for text in texts.values())
    for piece in exercise.kept():
        if not exercises.keeps(squeezed, piece):
            raise Refused("This belongs to the program's work or to its own checks, and must stay:", piece)
    check_printed(exercise, mine, original)
    words = set(re.findall(r"\w+", " ".join(exercise.kept())))
    for line, name in re.findall(r"^(\s*#\s*define\s+(\w+)[^\n]*)", mine, re.M):
        if name in words and line.strip() not in original:
            raise Refused("This macro gives another meaning to what must stay:", line.strip())
    if not exercise.write:  # there the judge's own program looks
        check_verdict(exercise, mine, original)
    for pattern, reason in exercise.refuse.items():
        if re.search(pattern, squeezed):
            raise Refused(reason)


def added_lines(mine, original):
    before = [line.strip() for line in original.splitlines()]
    return [line for line in mine.splitlines() if line.strip() not in before]


def without_added_sleeps(exercise, text):
    """The program with every sleep that its writer has added replaced by nothing: it must be right without."""
    given = "\n".join(files[exercise.main_file] for files in (exercise.texts(), exercise.marked()))
    added = set(added_lines(text, given))
    call = r"(?:(?:std::)?this_thread::)?\bsleep_for\s*\(|\bu?sleep\s*\("
    return "\n".join(re.sub(call, "judge::no_sleep(", line) if line in added else line for line in text.split("\n"))


LEAVES = re.compile(r"\b(_exit|exit|_Exit|quick_exit|exec\w+|become_program)\s*\(")  # programs that end by such a call


def check_counts(exercise, record):
    """Refuses a repair that takes the parallelism out: fewer threads, processes or messages than the program must
    have."""
    lines = record.read_text().splitlines() if record.exists() else []
    if "begin" in lines and "main returned" not in lines and not LEAVES.search(exercise.original.read_text()):
        raise Refused("The program ended before its function main() returned. Its checks must come to their end.")
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
    sent = sum(int(line.split()[1]) for line in lines if line.startswith("sent "))
    if sent < exercise.sent:
        raise Refused(f"All ranks together sent {sent} bytes to each other, and the program has to send "
                      f"{exercise.sent}. A repair keeps the communication.")


def sanitizer_of(exercise):
    if exercise.sanitizer:
        return exercise.sanitizer
    source = exercise.original
    if source.suffix == ".cu":
        return "memcheck"
    if exercise.recipe.launcher.startswith("mpi"):
        return "none"
    if exercise.write:
        return "thread"
    return "thread" if "#include <thread>" in source.read_text() else "address"


IN_PLAIN_WORDS = {
    "barrier divergence": "Not all work-items of a group come to the same barrier.",
    "data race at": "Two work-items use the same memory, one of them writes, and no barrier stands between.",
    "data race": "Two threads use the same memory at the same time, one of them writes, and nothing orders the two.",
    "lock-order-inversion": "Two locks are taken in one order here and in the other order there.",
    "buffer-overflow": "The program reads or writes behind the end of an array.",
    "use-after": "The program uses memory that no longer belongs to it.",
}
SANITIZER_NAMES = {"thread": "ThreadSanitizer", "address": "AddressSanitizer"}
REPORT = re.compile(r"^(==\d+==ERROR: |WARNING: ThreadSanitizer|FATAL: ThreadSanitizer|.*: runtime error: |"
                    r"=+ (Invalid |Uninitialized |Barrier error|(Error|Warning): Race reported|Program hit |"
                    r"ERROR SUMMARY: [1-9]|RACECHECK SUMMARY: [1-9])|"
                    r"(Read-write|Write-write|Write-read) data race|Uninitialized value read|"
                    r"Invalid (read|write) of size|"
                    r"Work-group divergence)")
# what compute-sanitizer says on a virtual machine that hides the device's counters
NO_SUCH_TOOL_HERE = "Device not supported"


def sanitizer_flags(kind):
    """As the presets tsan and asan have it; the warnings were shown when the program was compiled without."""
    if kind == "thread":
        return ["-fsanitize=thread", "-O1", "-g", "-w"]
    return ["-fsanitize=address,undefined", "-fno-sanitize=vptr", "-O0", "-g", "-w"]


def can_deadlock(exercise, program, plain):
    """Whether locks are taken in a circle that no further lock makes impossible."""
    library, record = program.scratch / "exercise_locks.so", program.scratch / "locks"
    make_own_part("exercise_locks.cpp", library, "-shared", "-fPIC")
    for _ in range(3):
        run(program.command(plain, ["env", f"LD_PRELOAD={library}", f"COOKBOOK_EXERCISE_RECORD={record}"]),
            program.scratch, exercise.limit)
    return record.exists()


def check_sanitizer(exercise, kind, program, plain, say, before=""):
    """Refuses a program in which a sanitizer finds a mistake. `plain` is the same program, built without one, and
    `before` the C++ that comes before it."""
    if kind == "none":
        return None
    suppressions = SUPPORT / "tsan.supp"
    if "exercise_openmp.hpp" in before:  # with which ThreadSanitizer knows what OpenMP orders
        lines = [line for line in suppressions.read_text().splitlines() if not line.startswith("race:libgomp")]
        suppressions = program.scratch / "tsan.supp"
        suppressions.write_text("\n".join(lines) + "\n")
    environment = {"TSAN_OPTIONS": f"halt_on_error=1:second_deadlock_stack=1:report_thread_leaks=0:"
                                   f"suppressions={suppressions}",
                   "ASAN_OPTIONS": "detect_stack_use_after_return=1:protect_shadow_gap=0",
                   "UBSAN_OPTIONS": "print_stacktrace=1",
                   "LSAN_OPTIONS": "detect_leaks=0" if {"mpi", "opencl", "cuda"} & set(exercise.recipe.needs) else ""}
    if kind in SANITIZER_NAMES:
        name = SANITIZER_NAMES[kind]
        before = ["setarch", platform.machine(), "-R"] if kind == "thread" else []
        command = program.command(program.compiled(sanitizer_flags(kind)), before)
    elif kind == "oclgrind":
        tool = shutil.which("oclgrind")
        if not tool:
            return None
        name = "Oclgrind"
        command = [tool, "--data-races", "--uninitialized", *program.command(plain)]
    else:
        tool = shutil.which("compute-sanitizer") or shutil.which("compute-sanitizer", path="/usr/local/cuda/bin")
        if not tool:
            return None
        name = f"compute-sanitizer's {kind}"
        command = program.command(plain, [tool, "--tool", kind])
    limit = 6 * exercise.limit
    say(f"running with {name}")
    for _ in range(1 if kind == "oclgrind" else 3):
        outcome = run(command, program.scratch, limit, environment)
        if NO_SUCH_TOOL_HERE in outcome.text:
            return None
        if "lock-order-inversion" in outcome.text and not can_deadlock(exercise, program, plain):
            environment["TSAN_OPTIONS"] += ":detect_deadlocks=0"
            outcome = run(command, program.scratch, limit, environment)
        if "Program hit cudaErrorNotReady" in outcome.text:  # no mistake: a stream at work answers so
            command = program.command(plain, [tool, "--tool", kind, "--report-api-errors", "no"])
            outcome = run(command, program.scratch, limit, environment)
        check_refusal(outcome, f" with {name}")
        lines = outcome.text.splitlines()
        start = next((i for i, line in enumerate(lines) if REPORT.match(line)), None)
        if start is not None:
            access = re.compile(r" +(Previous |Atomic )?(read|write) of size", re.I)
            own = [line.strip() for line in lines[start + 1:]
                   if program.source.name in line or exercise.main_file in line or access.match(line)
                   or kind == "oclgrind" and re.match(r"\s+(At line|First entity|Second entity)", line)]
            meaning = [words + " " for mistake, words in IN_PLAIN_WORDS.items() if mistake in lines[start]]
            raise Refused(f"{name} finds a mistake. {''.join(meaning[:1])}Its report:",
                          "\n".join([lines[start].strip(), *own[:SHOWN_LINES - 1]]))
        if outcome.timed_out:
            check_outcome(exercise, outcome, limit, f" with {name}")
        if outcome.code == cookbook.SKIPPED:
            raise Skipped(last_lines(outcome))
    return name


@dataclasses.dataclass
class Again:
    """The program as it is judged again."""
    table: dict
    program: Program
    flags: list
    called: str

    @property
    def where(self):
        return f" when it was judged again, with {self.table['with']}"


def versions_again(exercise, build, scratch, texts):
    """The versions of the program that are judged again. Nothing is replaced in comments, which may name what stays."""
    for number, table in enumerate(exercise.again, 1):
        place = pathlib.Path(scratch) / f"again_{number}"
        place.mkdir()
        made = {name: exercises.without_comments(text) for name, text in texts.items()}
        for old, new in table["replace"].items():
            pattern, count = exercises.pattern_of(old), 0
            for name, text in made.items():
                made[name], found = pattern.subn(lambda _, new=new: new, text)
                count += found
            if not count:
                raise Refused("This must stay as it is, with nothing in between:", old)
        for name, text in made.items():
            (place / name).write_text(text)
        probe = place / "probe.hpp"
        probe.write_text(f'#include "{SUPPORT / "exercise_probe.hpp"}"\n{table.get("before", "")}\n')
        source = place / next(iter(made))
        program = Program(exercise, source, build, pathlib.Path(scratch), ["-I", str(SUPPORT), "-include", str(probe)])
        faster = ["-O0"] * (source.suffix != ".cu")  # to compile
        yield Again(table, program, faster, f"again_{number}/built")


def check_again(exercise, version, scratch, interposed):
    """Refuses a program that is not right with another input, or that the judge's own look finds wrong."""
    command = version.program.command(version.program.compiled(version.flags, version.called), interposed)
    table = version.table
    limit = round(patience() * table["limit"]) if "limit" in table else exercise.limit + 5
    for _ in range(2):
        outcome = run(command, scratch, limit)
        check_outcome(exercise, outcome, limit, version.where, table.get("prints", exercise.prints),
                      table.get("code", 0))


def make_own_part(source, made, *flags):
    """Compiles a part of the judge's own."""
    done = process.run(["g++", "-std=c++20", "-O2", *flags, str(SUPPORT / source), "-o", str(made)], 300)
    if done.code != 0:
        raise Refused("The judge's own part does not compile:", first_error(done.text))
    return made


# What is executed ----------------------------------------------------------------------------------------------------

COVERAGE = ["-fprofile-arcs", "-ftest-coverage", "-fprofile-update=prefer-atomic", "-O0", "-w"]


def counts_lines(exercise, build):
    """Whether it can be seen which lines of the program are executed: GCC counts them. A process that is killed leaves
    no counts."""
    if exercise.write or not exercise.kept() or exercise.original.suffix != ".cpp" or not shutil.which("gcov"):
        return False
    compiler = pathlib.Path(compile_command(build, exercise.original)[0][0]).name
    ends_others = re.search(r"\b(p?thread_)?kill(pg)?\s*\(|\bSIGKILL\b", exercise.original.read_text())
    return "clang" not in compiler and not ends_others


def coverage_job(program, called, flags=()):
    """What compile_ahead() needs to compile the program so that its lines are counted."""
    part = program.scratch / "coverage.o"
    if not part.exists():
        make_own_part("exercise_coverage.cpp", part, "-c")
    filter_files = f"-fprofile-filter-files={re.escape(program.source.name)}"
    return program, [*flags, *COVERAGE, filter_files], called, [part]


def run_counted(exercise, job):
    """Runs the program, so that its lines are counted, besides those of earlier runs. Whether it came to a good end."""
    program, _, called, _ = job
    command = program.command(program.scratch / called / exercise.program)
    outcome = run(command, program.scratch, 6 * exercise.limit)
    return outcome.code == 0 and not outcome.timed_out


def executed_lines(exercise, job):
    """How often each line of the program was executed: {number: times}, lines without code left out; and, in the same
    way, how often each branch of a line was taken: {number: [times, ...]}."""
    program, _, called, _ = job
    folder = program.scratch / called
    found, branches = {}, {}
    command = ["gcov", "--branch-probabilities", "--json-format", "--stdout", f"{exercise.program}.gcda"]
    listed = process.run(command, 60, cwd=folder)
    for line in (line for line in listed.lines if line.startswith("{")):
        for file in json.loads(line)["files"]:
            if pathlib.Path(file["file"]).name == program.source.name:
                for one in file["lines"]:
                    found[one["line_number"]] = found.get(one["line_number"], 0) + one["count"]
                    taken = [branch["count"] for branch in one["branches"] if not branch["throw"]]
                    branches[one["line_number"]] = branches.get(one["line_number"], []) + taken
    return found, branches


CONTROL = re.compile(r"\b(?:(?:if|while|switch|catch)\b[^;{}]*\)|for\b[^{}]*\)|else|do|try)\s*$")


def in_coroutine(text, place):
    """Whether this place in a source without comments belongs to a coroutine: GCC may leave its lines out, or count
    them as never executed."""
    while True:
        depth, start = 0, place
        while start > 0 and depth >= 0:
            start -= 1
            depth += {"}": 1, "{": -1}.get(text[start], 0)
        if depth >= 0:
            return False
        depth, end = 1, start + 1
        while end < len(text) and depth > 0:
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        if re.search(r"\bco_(?:await|return|yield)\b", text[start:end]):
            return True
        if not CONTROL.search(text[max(0, start - 300):start]):
            return False
        place = start


def statements_executed(exercise, text, lines, branches):
    """Of each statement to keep that stands in the program, how often it is executed, None where it has no code, and
    how often each of its branches is taken: {(number of the piece, number of the statement): [times, [times, ...]]}."""
    text, found = exercises.without_comments(text), {}
    for number, piece in enumerate(exercise.kept()):
        place = 0
        for part_number, part in enumerate(exercises.statements(piece)):
            seen = None  # of the first occurrence that is executed, or else of the last one
            words = part.strip().rstrip("{}")
            for match in exercises.pattern_of(words).finditer(text, place) if words else ():
                first = text.count("\n", 0, match.start()) + 1
                counts = [lines[at] for at in range(first, first + match[0].count("\n") + 1) if at in lines]
                seen = (match.end(), max(counts) if counts else None, branches.get(first, []))
                if seen[1]:
                    break
            if seen and (seen[1] or not in_coroutine(text, match.start())):
                found[number, part_number] = [seen[1], seen[2]]
            if seen:
                place = seen[0] if seen[1] else place
    return found


def solution_job(exercise, build, scratch, text):
    place = pathlib.Path(scratch) / "solution"
    place.mkdir()
    for name, content in exercise.edited(exercise.solution()["solution"]).items():
        (place / name).write_text(content)
    program = Program(exercise, place / exercise.main_file, build, pathlib.Path(scratch))
    return coverage_job(program, "lines_of_solution")


def expected_execution(exercise, build, scratch):
    """What is executed of the known solution. It is the same for each check, so it is kept."""
    text = exercise.edited(exercise.solution()["solution"])[exercise.main_file]
    key = hashlib.sha256("\0".join([text, *exercise.kept(), pathlib.Path(__file__).read_text()]).encode()).hexdigest()
    file = build / "exercise_counts" / f"{exercise.name}.json"
    try:
        stored = json.loads(file.read_text())
        if stored["of"] == key:
            return {tuple(place): times for place, times in stored["executed"]}
    except (OSError, ValueError, KeyError):
        pass
    job = solution_job(exercise, build, scratch, text)
    job[0].compiled(*job[1:])
    good = run_counted(exercise, job)
    executed = statements_executed(exercise, text, *executed_lines(exercise, job))
    if good:
        file.parent.mkdir(exist_ok=True)
        written = file.with_suffix(f".{os.getpid()}")
        written.write_text(json.dumps({"of": key, "executed": [[place, times] for place, times in executed.items()]}))
        written.replace(file)
    return executed


def check_executed(exercise, job, build, scratch, runs):
    """Refuses a program in which work or checks that must stay are still written, and are not executed; or in which a
    check finds the mistake, and what it has found is dropped. It is run up to so many times: what one thread has to do
    may be over before another one begins."""
    expected = expected_execution(exercise, build, scratch)
    for left in range(runs - 1, -1, -1):
        if not run_counted(exercise, job):
            return  # why, the other runs show
        try:
            check_lines(exercise, job, expected)
            return
        except Refused:
            if left == 0:
                raise
    if runs == 0:
        check_lines(exercise, job, expected)


def check_same_way(exercise, version, program):
    """Refuses a program that goes another way with another input: whose own lines are executed, or whose branches are
    taken, another number of times."""
    ways = []
    for one, called in ((program, "lines_of_usual"), (version.program, f"lines_{version.called.split('/')[0]}")):
        job = coverage_job(one, called)
        one.compiled(*job[1:])
        if not run_counted(exercise, job):
            return  # why, the other runs show
        ways.append(executed_lines(exercise, job))
    (lines, branches), (other_lines, other_branches) = ways
    source = version.program.source.read_text().splitlines()
    for number in sorted(lines.keys() | other_lines.keys()):
        if (lines.get(number), branches.get(number)) != (other_lines.get(number), other_branches.get(number)):
            raise Refused(f"The program went another way{version.where}. This line was executed, or a branch in it was "
                          "taken, another number of times:", source[number - 1].strip())


def check_lines(exercise, job, expected):
    lines, branches = executed_lines(exercise, job)
    if not lines:
        return
    found = statements_executed(exercise, job[0].source.read_text(), lines, branches)
    names = exercises.verdict_names(exercises.without_comments(exercise.texts()[exercise.main_file]))
    for (number, part), (times, taken) in found.items():
        usual, usually_taken = expected.get((number, part), (0, []))
        statement = exercises.statements(exercise.kept()[number])[part].strip()
        if usual and (times == 0 or times is None and "(" in exercise.kept()[number]):
            raise Refused("This belongs to the program's work or to its own checks. It still stands there, but it is "
                          "not executed:", exercise.kept()[number])
        # if (what is wrong) verdict = true;
        notes = re.match(r"if\s*\(.*\)\s*(?:\+\+)?(\w+)", statement)
        if (notes and notes[1] in names and len(taken) == len(usually_taken)
                and any(mine and not others for mine, others in zip(taken, usually_taken, strict=True))):
            raise Refused("The mistake still happens: this check of the program has found it.", statement)


# Further looks -------------------------------------------------------------------------------------------------------

def check_own_program(exercise, program, scratch, say):
    """Refuses a function with which the recipe's own program does not do its work."""
    source = program.source
    say(f"running {source.name} with your {exercise.write}")
    command = program.command(program.compiled(called="own"))
    check_outcome(exercise, run(command, scratch, 2 * exercise.limit), 2 * exercise.limit,
                  f" when {source.name} was run with your {exercise.write}", prints=[])


def check_late_waits(exercise, program, plain):
    """Refuses a program in which a wake-up is lost. Only that it hangs is looked at: what else a late thread changes
    may be as it should be."""
    library = program.scratch / "exercise_late.so"
    make_own_part("exercise_late.cpp", library, "-shared", "-fPIC")
    for further in ([], ["COOKBOOK_EXERCISE_HEAD_START=1"]):
        command = program.command(plain, ["env", f"LD_PRELOAD={library}", *further])
        if run(command, program.scratch, exercise.limit + 2).timed_out:
            raise Refused("It hangs if a thread comes late to its wait for a condition variable: the wake-up is lost. "
                          "What the thread waits for must be changed under the mutex that it holds when it looks.")


def check_functions(exercise, program, scratch):
    """Refuses a program that leaves out a part of its work: a function of its own is entered often enough."""
    record = pathlib.Path(scratch) / "entered"
    counter = make_own_part("exercise_functions.cpp", pathlib.Path(scratch) / "functions.o", "-c")
    flags = ["-finstrument-functions", "-finstrument-functions-exclude-file-list=/usr/include,/usr/lib", "-w"]
    plain = program.compiled(flags, "functions", [counter])
    run(program.command(plain, ["env", f"COOKBOOK_EXERCISE_RECORD={record}"]), scratch, 2 * exercise.limit)
    lines = record.read_text().split() if record.exists() else []
    most = max(map(int, lines[1::2]), default=0)
    if most < exercise.functions:
        raise Refused(f"The function of the program that is entered most often is entered about {most} times, and it "
                      f"takes {exercise.functions} for the whole work. (A coroutine is entered when it is started, "
                      "each time that it goes on, and when it is destroyed.)")


def patience():
    """How many times longer than usual a program may take: the machine may be busy with other work already."""
    return min(6.0, max(1.0, os.getloadavg()[0] / len(os.sched_getaffinity(0))))


def judge(exercise, folder, build, runs=20, seconds=4, say=lambda text: None):
    """The verdict on the program in `folder`. It is run up to `runs` times and `seconds` alone, and as often under
    load. What is being done is told to `say`."""
    texts = {name: (folder / name).read_text() for name in exercise.texts()}
    exercise = dataclasses.replace(exercise, limit=round(patience() * exercise.limit))
    process.adopt_orphans()
    with tempfile.TemporaryDirectory(prefix="exercise-") as scratch:
        try:
            source, allowed = folder / exercise.main_file, []
            probe = ["-include", str(SUPPORT / "exercise_probe.hpp")]
            if exercise.write:
                check_text(exercise, texts)
                source = assembled(exercise, folder, pathlib.Path(scratch) / "driver", driver=True)
                allowed = probe
            awake = without_added_sleeps(exercise, texts[source.name]) if exercise.sleeps else None
            if exercise.sleeps and awake != texts[source.name]:
                allowed = probe
                folder = pathlib.Path(scratch) / "awake"
                folder.mkdir()
                check_text(exercise, texts)
                texts = texts | {source.name: awake}
                for name, text in texts.items():
                    (folder / name).write_text(text)
                source = folder / source.name
            program = Program(exercise, source.resolve(), build, pathlib.Path(scratch), allowed)
            if "cuda" in exercise.recipe.needs:  # to compile takes long, so ask first whether there is a device
                first = run(program.command(build / "bin" / exercise.program), scratch, 60)
                if first.code == cookbook.SKIPPED:
                    raise Skipped(last_lines(first))
            say("compiling")
            plain = program.compiled()
            say("running once, and counting")
            record = pathlib.Path(scratch) / "record"
            interposers = [str(path) for path in sorted((build / "lib").glob("libexercise_interposer*.so"))
                           if "mpi" not in path.name or exercise.recipe.launcher.startswith("mpi")]
            interposed = ["env", "LD_PRELOAD=" + ":".join(interposers)]
            counted = [*interposed, f"COOKBOOK_EXERCISE_RECORD={record}"]
            check_outcome(exercise, run(program.command(plain, counted), scratch, exercise.limit), exercise.limit, "")
            if not allowed:
                check_text(exercise, texts)
            check_counts(exercise, record)
            if exercise.synchronous:
                say("running once with sends that wait for their receives")
                command = program.command(plain, [*interposed, "COOKBOOK_EXERCISE_SYNCHRONOUS=1"])
                check_outcome(exercise, run(command, scratch, exercise.limit), exercise.limit,
                              " when each MPI_Send waits for its receive, as MPI may let it do")
            if any(re.search("condition_variable|pthread_cond", text) for text in texts.values()):
                say("running with threads that come late to their waits")
                check_late_waits(exercise, program, plain)
            if exercise.functions:
                say("counting what its functions do")
                check_functions(exercise, program, scratch)
            say("compiling for other looks at it")
            versions = list(versions_again(exercise, build, scratch, texts))
            other_input = next((one for one in versions if one.table.get("sanitizer") is True), None)
            further = [one for one in versions if isinstance(one.table.get("sanitizer"), str)]
            for_sanitizer = other_input.program if other_input else program
            jobs = [(one.program, one.flags, one.called, ()) for one in versions]
            kind, counting = sanitizer_of(exercise), None
            together = kind == "address" and for_sanitizer is program  # one compilation less
            if counts_lines(exercise, build):
                flags = sanitizer_flags(kind) if together else []
                jobs.append(counting := coverage_job(program, kind if together else "lines", flags))
            if kind in SANITIZER_NAMES and not (together and counting):
                jobs.append((for_sanitizer, sanitizer_flags(kind), kind, ()))
            jobs += [(one.program, sanitizer_flags(one.table["sanitizer"]), one.table["sanitizer"], ())
                     for one in further]
            own = None
            if exercise.write and exercise.write in exercise.original.read_text():
                own_source = assembled(exercise, folder, pathlib.Path(scratch) / "own_source")
                own = Program(exercise, own_source, build, pathlib.Path(scratch))
                jobs.append((own, (), "own", ()))
            compile_ahead(jobs)
            for number, version in enumerate(one for one in versions if not one.table.get("last")):
                if number == 0:
                    say("judging again, with another input or a look at the decisive moment")
                check_again(exercise, version, scratch, interposed)
            built = pathlib.Path(scratch) / other_input.called / exercise.program if other_input else plain
            used = [check_sanitizer(exercise, kind, for_sanitizer, built, say)]
            for one in further:
                built = pathlib.Path(scratch) / one.called / exercise.program
                used.append(check_sanitizer(exercise, one.table["sanitizer"], one.program, built, say,
                                            one.table.get("before", "")))
            sanitizer = " and ".join(filter(None, used))
            for version in (one for one in versions if one.table.get("last")):
                say("judging once more")
                check_again(exercise, version, scratch, interposed)
            if counting:
                say("looking whether it executes what must stay")
                if not together:
                    program.compiled(*counting[1:])
                check_executed(exercise, counting, build, scratch, 0 if together else 3)
                for version in (one for one in versions if one.table.get("same_way")):
                    check_same_way(exercise, version, program)
            say(f"running up to {runs} times, for {seconds} s at most")
            count = repeated(exercise, program.command(plain), scratch, runs, seconds, exercise.limit, "")
            if own:
                check_own_program(exercise, own, pathlib.Path(scratch), say)
            say("the same while every core is busy")
            with process.load() as busy:
                loaded = repeated(exercise, program.command(plain), scratch, runs, seconds, 4 * exercise.limit,
                                  " while other programs kept every core busy", busy)
        except Refused as refused:
            return refused.verdict
        except Skipped as skipped:
            return Verdict(False, "It cannot be judged here. The program said:", str(skipped), skipped=True)
        finally:
            process.end_descendants()
    found = f"; {sanitizer} {'find' if ' and ' in sanitizer else 'finds'} nothing" if sanitizer else ""
    done = "Written" if exercise.write else "Repaired"
    return Verdict(True, f"{done}: right in {count} runs, and in {loaded} with every core busy{found}.")


def repeated(exercise, command, folder, runs, seconds, limit, where, spared=()):
    """Runs it again and again, at least twice; how often."""
    start = time.monotonic()
    for count in range(1, runs + 1):
        check_outcome(exercise, run(command, folder, limit, spared=spared), limit, where)
        if count >= 2 and time.monotonic() - start > seconds:
            break
    return count
