#!/usr/bin/env python3
"""The generic tests of a recipe: page, answers, fault, usage, compile_line, bench, symptom.

Usage: check_recipe.py KIND RECIPE --build FOLDER [--pitfall PROGRAM] [--sanitizer thread|address]
Prints a line per fault. Exit code 0: true, 1: at least one fault, 77: skipped.
"""
import argparse
import json
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent.parent / "scripts")]
import answers  # noqa: E402
import cookbook  # noqa: E402

RABBITMQ = pathlib.Path("/usr/lib/rabbitmq/bin/rabbitmq-server")
REUSING_OBJECTS = pathlib.Path(__file__).resolve().parent / "reusing_objects"  # compilers that compile nothing twice
UNITS = (r"(?:ns|us|ms|s|min|[KMGT]?i?B|[KMGT]?i?B/s|[kKMGT]?(?:FLOP/s|flop/s)|[kKMGT]?/s|[KMG] \w+/s|x|%|seconds|Hz|[kMG]Hz)")
NUMBER = r"[-+]?\d[\d',]*(?:\.\d+)?(?:[eE][-+]?\d+)?"


# When one rank has failed, mpirun would give the others a second to end by themselves: a second for each wrong option.
os.environ["OMPI_MCA_odls_base_sigkill_timeout"] = "0"
# These tests ask whether results are right and texts are true, not how fast anything is: one round will do.
os.environ["COOKBOOK_ROUNDS"] = "1"


class Result:
    def __init__(self, exit_code, text, timed_out):
        self.exit_code, self.text, self.timed_out = exit_code, text, timed_out


def threads_of(group):
    """Of each thread of a process group its state, and how often it has slept or given way so far."""
    threads = {}
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.getpgid(int(process)) == group:
                for thread in os.listdir(f"/proc/{process}/task"):
                    status = pathlib.Path(f"/proc/{process}/task/{thread}/status").read_text()
                    threads[thread] = re.findall(r"^(?:State|\w+_ctxt_switches):\t(\w+)", status, re.M)
        except OSError:
            continue  # it has just ended
    return threads


def output_of(process, limit, until_asleep):
    """All that it prints, when it has ended. Raises subprocess.TimeoutExpired at the limit, or when all threads of its
    group have slept for `until_asleep` seconds on end."""
    end = time.monotonic() + limit
    threads, since = {}, 0
    while True:
        try:
            return process.communicate(timeout=0.1 if until_asleep else limit)[0]
        except subprocess.TimeoutExpired:
            now = time.monotonic()
            before, threads = threads, threads_of(process.pid) if until_asleep else {}
            if threads != before or any(states[0] != "S" for states in threads.values()):
                since = now
            if now >= end or now - since >= until_asleep:
                raise


def run(command, environment=None, limit=60, cwd=None, until_asleep=0):
    """Runs a command in a process group of its own, both outputs as one text, and ends the group at the limit (see
    output_of): by SIGTERM, so that mpirun can remove the memory that the ranks share, and by SIGKILL if it is still
    there 2 s later."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                               start_new_session=True, cwd=cwd, env={**os.environ, **(environment or {})})
    timed_out = False
    try:
        output = output_of(process, limit, until_asleep)
    except subprocess.TimeoutExpired:
        timed_out = True
        os.killpg(process.pid, signal.SIGTERM)
        try:
            output, _ = process.communicate(timeout=2)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
    # AddressSanitizer does not know the stacks of fibers, and says so when one throws.
    text = re.sub(r"==\d+==WARNING: ASan is ignoring requested __asan_handle_no_return.*?/issues/189\n", "",
                  output.decode(errors="replace"), flags=re.S)
    return Result(process.returncode, text, timed_out)


# The page ------------------------------------------------------------------------------------------------------------

def pattern_of(line):
    """The regular expression for one line of a transcript: numbers with a unit match any number with that unit,
    <word> matches one word, <words...> one or more, and any run of white space matches any other."""
    pattern, rest = "", " ".join(line.split())
    token = re.compile(rf"(?P<word><[a-z][\w -]*>)|(?P<words><[a-z][\w ]*\.\.\.>)"
                       rf"|(?<![\w.])(?P<number>{NUMBER})(?P<gap> ?)(?P<unit>{UNITS})(?![\w/])")
    while rest:
        match = token.search(rest)
        if not match:
            return pattern + re.escape(rest)
        pattern += re.escape(rest[:match.start()])
        if match["word"]:
            pattern += r"\S+"
        elif match["words"]:
            pattern += r"\S+(?: \S+)*"
        else:
            pattern += NUMBER + match["gap"] + re.escape(match["unit"])
        # A look-behind must still see what stands before, so cut only what is done.
        rest = rest[match.end():]
    return pattern


def same(expected, actual):
    return re.fullmatch(pattern_of(expected), " ".join(actual.split())) is not None


def any_order_faults(expected, actual):
    """The expected lines that no pairing with the actual lines can serve (augmenting paths)."""
    partner = {}

    def place(i, seen):
        for j, line in enumerate(actual):
            if j not in seen and same(expected[i], line):
                seen.add(j)
                if j not in partner or place(partner[j], seen):
                    partner[j] = i
                    return True
        return False

    lonely = [line for i, line in enumerate(expected) if not place(i, set())]
    return lonely, [line for j, line in enumerate(actual) if j not in partner]


def transcript_faults(expected, actual, any_order=False):
    """The differences between the lines of a transcript and the lines that a command printed, as texts."""
    expected = [line for line in expected if line.strip()]
    actual = [line for line in actual if line.strip()]
    if any_order:
        lonely, extra = any_order_faults(expected, actual)
        return [f"the page has this line, the program does not: {line}" for line in lonely] + \
               [f"the program has this line, the page does not: {line}" for line in extra]
    for i, line in enumerate(expected):
        if i >= len(actual):
            return [f"the page has this line, the program has ended: {line}"]
        if not same(line, actual[i]):
            return [f"the page says:      {line}", f"the program prints: {actual[i]}"]
    return [f"the program has this line, the page does not: {line}" for line in actual[len(expected):]]


def squeeze(text):
    return [line.strip() for line in text.splitlines() if line.strip()]


def excerpt_faults(page, sources):
    """The excerpts of a page that stand in no source; white space at the ends of lines and empty lines aside."""
    pools = [squeeze(source) for source in sources]
    for block in re.findall(r"^```(?:cpp|cuda|c)\b[^\n]*\n(.*?)^```", page, re.M | re.S):
        needle = squeeze(block)
        if not any(pool[i:i + len(needle)] == needle for pool in pools for i in range(len(pool))):
            yield f"this excerpt stands in no source of the recipe:\n    " + "\n    ".join(needle)


def transcripts(page):
    """The (attributes, command, expected lines) of every console block, one per command."""
    for info, block in re.findall(r"^```console([^\n]*)\n(.*?)^```", page, re.M | re.S):
        command, lines = None, []
        for line in block.splitlines():
            if line.startswith("$ "):
                if command:
                    yield info.split(), command, lines
                command, lines = line[2:], []
            elif command is None:
                raise ValueError(f"a console block begins with a command, not with: {line}")
            else:
                lines.append(line)
        if command is None:
            raise ValueError("a console block without a command")
        yield info.split(), command, lines


def translated(command, known, build):
    """A page's command as the environment and the argument list that the test runs, or None if it is not one that a
    page may have: `scripts/run RECIPE ARGUMENTS`, `build/bin/PROGRAM ARGUMENTS` or `mpirun -n RANKS build/bin/PROGRAM
    ARGUMENTS`, with VARIABLE=value before it."""
    words = shlex.split(command)
    environment = {}
    while words and (match := re.fullmatch(r"([A-Z_]+)=(.*)", words[0])):
        environment[match[1]] = match[2]
        words.pop(0)
    if len(words) >= 2 and words[0] == "scripts/run" and words[1] in known:
        return environment, known[words[1]].command(build, arguments=words[2:])
    if words and (match := re.fullmatch(r"build/bin/(\w+)", words[0])):
        return environment, [str(build / "bin" / match[1]), *words[1:]]
    if len(words) >= 4 and words[:2] == ["mpirun", "-n"] and re.fullmatch(r"[1-9]\d*", words[2]) \
            and (match := re.fullmatch(r"build/bin/(\w+)", words[3])):
        return environment, cookbook.Recipe("", "", run=f"mpi {words[2]}").command(build, match[1], words[4:])
    return None


def structure_faults(page, folder):
    if not cookbook.title_and_summary(page)[1]:
        yield "the page does not start with a title and a summary"
    headings = re.findall(r"^## (.+?) *$", page, re.M)
    if headings[-1:] != ["See also"] or "Exercises" not in headings:
        yield "the page must have a section 'Exercises', and end with 'See also'"
    if not re.search(r"^\*\*Read first:\*\*.*\*\*Time:\*\*\s+\d+\s+minutes", page, re.M | re.S):
        yield "no line '**Read first:** ... **Time:** N minutes.'"
    if re.search(r"\b[Tt]he source('s)?\b(?! (code|file|rank|text|of))", page):
        yield "'the source' stands for the book: name it, or move the sentence to THE_BOOK.md"
    if "```console" not in page:
        yield "no transcript"
    prose = re.sub(r"^```.*?^```|`[^`\n]*`", "", page, flags=re.M | re.S)
    for target in re.findall(r"\]\((?!https?:|#)([^)#\s]+)", prose):
        if not (folder / target).exists():
            yield f"a link leads nowhere: {target}"


def page_faults(recipe, build, sanitizer=""):
    page = recipe.page.read_text()
    yield from structure_faults(page, recipe.folder)
    yield from excerpt_faults(page, [source.read_text() for source in recipe.sources()])
    known = {other.name: other for other in cookbook.manifest(build)}
    for attributes, command, expected in transcripts(page):
        if not (translation := translated(command, known, build)):
            yield f"no test can run this command: {command}"
            continue
        environment, words = translation
        programs = {word.split("/")[-1] for word in words}
        broken = any(cookbook.head_field(source, "Symptom") for source in recipe.sources() if source.stem in programs)
        if sanitizer and broken:
            continue  # a sanitizer ends a pitfall in its own way, which the test of its symptom knows
        wanted = next((int(word[5:]) for word in attributes if word.startswith("exit=")), 0)
        for _ in range(10 if broken else 1):  # a pitfall may be right by luck, as in the test of its symptom
            result = run(words, environment)
            faults = [] if result.exit_code == wanted else [f"exit code {result.exit_code}, expected {wanted}"]
            faults += transcript_faults(expected, result.text.splitlines(), "any-order" in attributes)
            if not faults:
                break
        if result.exit_code == cookbook.SKIPPED != wanted:  # no device here: the transcript is true on a machine that has one
            continue
        for fault in faults:
            yield f"$ {command}: {fault}"


# The answers ---------------------------------------------------------------------------------------------------------

def compile_command(build, source):
    """How the build compiles a source: the words and the folder, without what it is to be called."""
    for entry in json.loads((build / "compile_commands.json").read_text()):
        if pathlib.Path(entry["file"]) == source:
            words = shlex.split(entry["command"])
            at = words.index("-o")
            return words[:at] + words[at + 2:], entry["directory"]
    raise LookupError(f"the build does not compile {source}")


def answers_faults(recipe, build):
    file = cookbook.ROOT / "tests" / recipe.chapter / "answers" / f"{recipe.name}.toml"
    asked = set(map(int, re.findall(r"^(\d+)\. ", recipe.page.read_text().partition("\n## Exercises")[2], re.M)))
    for number, answer in enumerate(answers.read(file), 1):
        name = f"answer {number}, to exercise {answer['exercise']}"
        if answer["exercise"] not in asked:
            yield f"{name}: the page has no such exercise"
        fault = refusal_fault if "refused" in answer else answer_fault
        if text := fault(recipe, build, number, answer):
            yield f"{name}: {text}"


def answer_fault(recipe, build, number, answer):
    """What the changed program does that the answer does not say, or None."""
    program = answers.program_of(recipe.folder, answer)
    if answer.get("changes"):
        program = f"answers/{recipe.name}_answer_{number}"
    command = recipe.command(build, program, shlex.split(answer.get("run", "")))
    hangs, fault = answer.get("hangs", False), None
    for _ in range(answer.get("tries", 1)):
        result = run(command, until_asleep=0.5 if hangs else 0)
        if result.exit_code == cookbook.SKIPPED != answer.get("exit", 0):
            print(result.text)
            sys.exit(cookbook.SKIPPED)
        lines, faults = result.text.splitlines(), []
        if hangs != result.timed_out:
            faults.append("it has ended" if hangs else "it hangs")
        elif not hangs and result.exit_code != answer.get("exit", 0):
            faults.append(f"exit code {result.exit_code}, expected {answer.get('exit', 0)}")
        if "output" in answer:
            faults += transcript_faults(answer["output"].splitlines(), lines, answer.get("any_order", False))
        faults += [f"no line: {wanted}" for wanted in answer.get("contains", [])
                   if not any(same(wanted, line) for line in lines)]
        if not faults:
            return None
        fault = "\n".join([*faults, result.text])
    return fault


def refusal_fault(recipe, build, number, answer):
    """Whether the compiler takes the changed program, or refuses it with other words; None if it is as expected."""
    program = answers.program_of(recipe.folder, answer)
    source = next(path for path in recipe.sources() if path.stem == program and path.suffix in (".cpp", ".cu"))
    words, folder = compile_command(build, source)
    with tempfile.TemporaryDirectory() as scratch:
        answers.apply(recipe.folder, answer, pathlib.Path(scratch))
        words = [str(pathlib.Path(scratch) / source.name) if word == str(source) else word for word in words]
        result = run([*words, "-fsyntax-only"], cwd=folder)
    if result.exit_code == 0:
        return "it compiles"
    return None if answer["refused"] in result.text else f"the compiler says something else:\n{result.text}"


# The program ---------------------------------------------------------------------------------------------------------

def check_lines(text, word):
    return [line for line in text.splitlines() if re.match(rf"{word} +\S", line)]


def may_be_skipped(recipe):
    """Whether the recipe's programs may find that the machine lacks what they need, although they were built."""
    needs = recipe.needs.split()
    return recipe.run == "parts" or "cuda" in needs or "opencl" in needs or "rabbitmq" in needs and not RABBITMQ.exists()


def bare_transcripts(recipe, build, program=None):
    """What the page says that the recipe, or another program of its folder, prints without options: the attributes and
    the text of each such transcript."""
    known = {recipe.name: recipe}
    for attributes, command, lines in transcripts(recipe.page.read_text()):
        if translated(command, known, build) == ({}, recipe.command(build, program)):
            yield attributes, "\n".join(lines)


def fault_faults(recipe, build):
    """A recipe whose values are spoiled must fail every check that it passes otherwise."""
    spoiled = run(recipe.command(build), {"COOKBOOK_FAULT": "1"})
    if spoiled.exit_code == cookbook.SKIPPED:
        sys.exit(cookbook.SKIPPED)
    # The test of the page has run the program and holds its transcript to be true, so it need not run once more. Where
    # a device may be missing, a spoiled check on the host is a failure although the recipe as such is skipped.
    text = None if may_be_skipped(recipe) else next((text for _, text in bare_transcripts(recipe, build)), None)
    if text is None:
        right = run(recipe.command(build))
        if right.exit_code == cookbook.SKIPPED:
            sys.exit(cookbook.SKIPPED)
        if right.exit_code != 0:
            yield f"unspoiled: exit code {right.exit_code}\n{right.text}"
        text = right.text
    checks = len(check_lines(text, "ok"))
    if checks == 0 or check_lines(text, "FAIL"):
        yield f"unspoiled: {checks} checks hold\n{text}"
    if spoiled.exit_code != 1:
        yield f"spoiled: exit code {spoiled.exit_code}, expected 1\n{spoiled.text}"
    failed = len(check_lines(spoiled.text, "FAIL"))
    if failed != checks or check_lines(spoiled.text, "ok"):
        yield f"spoiled: {failed} of {checks} checks fail, expected all\n{spoiled.text}"


OPTION_RANGE = r"--([\w-]+) (?:N|X)\b.*?\(([-\d.e+]+) to\s+([-\d.e+]+)\)"


def usage_faults(recipe, build):
    """Help works; an unknown option, and each numeric option below, above, far above its range and with a word for a
    value, is refused with exit code 2 and one line that names what is wrong. All of this for the bench, too."""
    for program in [None] + [f"{recipe.name}_bench"] * (build / "bin" / f"{recipe.name}_bench").exists():
        yield from usage_faults_of(recipe, build, program)


def usage_faults_of(recipe, build, program):
    help_result = run(recipe.command(build, program, ["--help"]))
    if help_result.exit_code != 0 or "--help" not in help_result.text:
        yield f"--help: exit code {help_result.exit_code}\n{help_result.text}"

    attempts = [(["--no-such-option"], ["--no-such-option"])]
    for name, lowest, highest in re.findall(OPTION_RANGE, help_result.text, re.S):
        below, above = f"{float(lowest) - 1:.0f}", f"{float(highest) * 2 + 1:.0f}"
        for value in (below, above, "9" * 400, "many", "1x", ""):
            attempts.append(([f"--{name}", value], [f"--{name}", value, lowest, highest]))
    for name in re.findall(r"--([\w-]+) WORD", help_result.text):
        attempts.append(([f"--{name}", "no-such-word"], [f"--{name}", "no-such-word"]))
    # Ranks read their options before they meet. So one attempt shows what all of them do, and for the others one rank
    # alone will do: there can be thirty, and to start ten ranks takes a while.
    alone = recipe.run.startswith("mpi")
    for i, (arguments, named) in enumerate(attempts):
        command = recipe.command(build, program, arguments)
        result = run(command[command.index(str(build / "bin" / (program or recipe.name))):] if alone and i > 0 else command)
        lines = result.text.splitlines()
        shown = " ".join([program or "", *arguments]).strip()[:60]
        if result.exit_code != 2:
            yield f"{shown}: exit code {result.exit_code}, expected 2"
        if len(lines) != 1 or not all(text in lines[0] for text in named):
            yield f"{shown}: expected one line that names {named}, got:\n{result.text}"


def bench_faults(recipe, build):
    """The bench with every numeric option at its lowest value: its checks hold and it prints a table; and with spoiled
    values it fails and prints none."""
    program = f"{recipe.name}_bench"
    ranges = re.findall(OPTION_RANGE, run(recipe.command(build, program, ["--help"])).text, re.S)
    smallest = [word for name, lowest, _ in ranges for word in (f"--{name}", lowest)]
    right = run(recipe.command(build, program, smallest), limit=100)
    if right.exit_code == cookbook.SKIPPED:
        sys.exit(cookbook.SKIPPED)
    if right.exit_code != 0 or not check_lines(right.text, "ok") or "median" not in right.text:
        yield f"{program} {' '.join(smallest)}: exit code {right.exit_code}\n{right.text}"
    spoiled = run(recipe.command(build, program, smallest), {"COOKBOOK_FAULT": "1"}, limit=100)
    if spoiled.exit_code != 1 or check_lines(spoiled.text, "ok") or "median" in spoiled.text:
        yield f"{program}, spoiled: exit code {spoiled.exit_code}\n{spoiled.text}"


def compile_line_faults(recipe, build, sanitizer):
    """The compile lines of every program of the recipe work: their includes resolve, they ask for C++20, and their
    options and libraries link what this build has compiled into a program of that name."""
    flags = {"thread": "-fsanitize=thread", "address": "-fsanitize=address,undefined"}.get(sanitizer, "")
    environment = {"PATH": f"{REUSING_OBJECTS}:{os.environ['PATH']}", "COOKBOOK_PYTHON": sys.executable,
                   "COOKBOOK_ROOT": str(cookbook.ROOT), "COOKBOOK_BUILD": str(build.resolve()),
                   "COOKBOOK_LINK_FLAGS": flags}
    for source in (source for source in recipe.sources() if source.suffix in (".cpp", ".cu")):
        if not (build / "bin" / source.stem).exists():
            continue  # a bench without its library
        lines = cookbook.head_field(source, "Compile")
        if not lines:
            yield f"{source.name} has no line '// Compile: ...'"
        for line in lines:
            with tempfile.TemporaryDirectory() as scratch:
                for folder in ("chapters", "common"):
                    os.symlink(cookbook.ROOT / folder, pathlib.Path(scratch) / folder)
                compiled = run(["sh", "-c", line], environment, cwd=scratch, limit=110)
                if compiled.exit_code != 0:
                    yield f"{line}\n{compiled.text}"
                elif not (pathlib.Path(scratch) / source.stem).exists():
                    yield f"{line}: makes no {source.stem}"


def symptom_faults(recipe, build, pitfall, sanitizer):
    """A pitfall, a broken program, names its symptom in its head comment, one of

        Symptom: hangs                         having printed its first line, it still runs after 2 seconds, or all its
                                               threads have slept for half a second on end
        Symptom: exit N, prints "TEXT"         in a build without sanitizers
        Symptom under thread: prints "TEXT"    in a build with that sanitizer, whatever the exit code but 0
        Symptom under address: skipped, WHY    that sanitizer cannot run it

    and must show it within 10 runs, since a race may be lost by luck. Where the page shows such a run, the test of the
    page holds that to be true, and the program need not run once more.
    """
    source = next(path for path in recipe.sources() if path.stem == pitfall)
    plain, under = cookbook.head_field(source, "Symptom"), cookbook.head_field(source, f"Symptom under {sanitizer}")
    symptom = (under if sanitizer and under else plain) or [""]
    if symptom[0].startswith("skipped"):
        print(symptom[0])
        sys.exit(cookbook.SKIPPED)
    hangs = symptom[0].startswith("hangs")
    code = re.search(r"exit (\d+)", symptom[0])
    text = re.search(r'prints "([^"]+)"', symptom[0])
    if not (hangs or text):
        yield f"{source.name}: the head comment has no Symptom that this test knows: {symptom[0]}"
        return
    if code and not sanitizer and not may_be_skipped(recipe):
        for attributes, lines in bare_transcripts(recipe, build, pitfall):
            if f"exit={code[1]}" in attributes and text[1] in lines and pattern_of(text[1]) == re.escape(text[1]):
                return
    result = None
    for limit in (2, 10, 30) if hangs else [30] * 10:  # on a busy machine the first line may come late
        result = run(recipe.command(build, pitfall), limit=limit, until_asleep=0.5 if hangs else 0)
        if result.exit_code == cookbook.SKIPPED:
            sys.exit(cookbook.SKIPPED)
        if hangs and result.timed_out and result.text:
            return
        if not hangs and not result.timed_out and text[1] in result.text and \
                (result.exit_code == int(code[1]) if code else result.exit_code != 0):
            return
    yield f"symptom not seen: {symptom[0]}; exit code {result.exit_code}, timed out: {result.timed_out}\n{result.text}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=["page", "answers", "fault", "usage", "compile_line", "bench", "symptom"])
    parser.add_argument("recipe")
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--pitfall")
    parser.add_argument("--sanitizer", default="")
    args = parser.parse_args()
    recipe = next(recipe for recipe in cookbook.manifest(args.build) if recipe.name == args.recipe)
    if args.kind == "symptom":
        faults = symptom_faults(recipe, args.build, args.pitfall, args.sanitizer)
    elif args.kind in ("compile_line", "page"):
        check = {"compile_line": compile_line_faults, "page": page_faults}
        faults = check[args.kind](recipe, args.build, args.sanitizer)
    else:
        check = {"answers": answers_faults, "fault": fault_faults, "usage": usage_faults, "bench": bench_faults}
        faults = check[args.kind](recipe, args.build)
    faults = list(faults)
    for fault in faults:
        print(f"{recipe.name}: {fault}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
