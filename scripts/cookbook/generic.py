"""The generic tests of a recipe: page, answers, fault, usage, launches, compile_line, bench, gtest, and those of a
pitfall: symptom, exercise. Besides, exercises (the definitions of all exercises fit the programs) and checks (no check
is unable to fail).

Prints a line per fault. Exit code 0: true, 1: at least one fault, 77: skipped.
"""
import glob
import json
import os
import pathlib
import re
import shlex
import shutil
import sys
import tempfile

import cookbook
from cookbook import answers, process, skips
from cookbook.command import Parser
from cookbook.page import check_faults, page_faults, pattern_of, transcripts, translated
from cookbook.recipe import ANSWERS_SHARE, LINES_SHARE, PROGRAMS, find, head_field, of_today, read, recipes

RABBITMQ = pathlib.Path("/usr/lib/rabbitmq/bin/rabbitmq-server")
COMPILERS = ("g++", "mpicxx", "nvcc")
# process.LIMIT is so many times as long then; the same number is in tests/support/run.hpp, for RunOptions.
SLOWER_WITH_A_SANITIZER = 4

# When one rank has failed, mpirun would give the others a second to end by themselves: a second for each wrong option.
os.environ["OMPI_MCA_odls_base_sigkill_timeout"] = "0"
# These tests ask whether results are right and texts are true, not how fast anything is: one round will do.
os.environ["COOKBOOK_ROUNDS"] = "1"


def run(recipe, command, limit=None, until_asleep=0, spoilt=False):
    """Runs a program of the recipe, with spoilt values if wanted. Ends the test if the program skips itself with a good
    reason; a ValueError without one."""
    environment = {"COOKBOOK_FAULT": "1"} if spoilt else {}
    done = process.run(command, limit or process.LIMIT, environment, until_asleep=until_asleep)
    if done.code == cookbook.SKIPPED and (fault := skips.skip_fault(recipe, done.text)):
        raise ValueError(f"{fault}\n{done.text}")
    return process.skip_if_skipped(done)


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(cookbook.SKIPPED)


def skip_unless_wanted(kind, recipe, share, built=True):
    """Skips what one recipe in `share` has its turn for each day, if that is another one. COOKBOOK_WHOLE names what
    scripts/test wants for every recipe."""
    if kind not in os.environ.get("COOKBOOK_WHOLE", "").split() and not (of_today(recipe.name, share) and built):
        skip(f"1 recipe in {share} is tried each day, and this one on another, or it was not built; "
             f"scripts/test {recipe.name} tries it, and scripts/test --whole all of them")


def check_lines(text, word):
    return [line for line in text.splitlines() if re.match(rf"{word} +\S", line)]


def may_be_skipped(recipe):
    """Whether the recipe's programs may find that the machine lacks what they need, although they were built."""
    devices = {"cuda", "opencl"} & set(recipe.needs)
    return recipe.launcher == "script" or bool(devices) or "rabbitmq" in recipe.needs and not RABBITMQ.exists()


def bare_transcripts(recipe, build, program=None):
    """What the page says that the recipe, or another program of its folder, prints without options: the attributes and
    the text of each such transcript."""
    known = {recipe.name: recipe}
    for attributes, command, lines in transcripts(recipe.page.read_text()):
        if translated(command, known, build) == ({}, recipe.command(build, program)):
            yield attributes, "\n".join(lines)


def fault_faults(recipe, build):
    """A recipe whose values are spoiled must fail every check that it passes otherwise."""
    spoiled = run(recipe, recipe.command(build), spoilt=True)
    # The test of the page has run the program and holds its transcript to be true, so it need not run once more. Where
    # a device may be missing, a spoiled check on the host is a failure although the recipe as such is skipped.
    text = None if may_be_skipped(recipe) else next((text for _, text in bare_transcripts(recipe, build)), None)
    if text is None:
        right = run(recipe, recipe.command(build))
        if right.code != 0:
            yield f"unspoiled: exit code {right.code}\n{right.text}"
        text = right.text
    checks = len(check_lines(text, "ok"))
    if checks == 0 or check_lines(text, "FAIL"):
        yield f"unspoiled: {checks} checks hold\n{text}"
    if spoiled.code != 1:
        yield f"spoiled: exit code {spoiled.code}, expected 1\n{spoiled.text}"
    failed = len(check_lines(spoiled.text, "FAIL"))
    if failed != checks or check_lines(spoiled.text, "ok"):
        yield f"spoiled: {failed} of {checks} checks fail, expected all\n{spoiled.text}"


OPTION_RANGE = r"--([\w-]+) (?:N|X)\b.*?\(([-\d.e+]+) to\s+([-\d.e+]+)\)"


def smallest_arguments(recipe, build, program=None):
    """Every numeric option of a program at its lowest value."""
    ranges = re.findall(OPTION_RANGE, run(recipe, recipe.command(build, program, ["--help"])).text, re.S)
    return [word for name, lowest, _ in ranges for word in (f"--{name}", lowest)]


def usage_faults(recipe, build):
    """Help works; an unknown option, and each numeric option below, above, far above its range and with a word for a
    value, is refused with exit code 2 and one line that names what is wrong. All of this for the bench, too. With
    seven threads wanted, the program has so many at a time. If it needs CUDA, and no device is to be seen, it is
    skipped."""
    yield from thread_faults(recipe, build)
    if "cuda" in recipe.needs:
        done = process.run(recipe.command(build), process.LIMIT, {"CUDA_VISIBLE_DEVICES": ""})
        if done.code != cookbook.SKIPPED or "skipped, no CUDA device: " not in done.text:
            yield f"without a device: exit code {done.code}, expected {cookbook.SKIPPED}\n{done.text}"
    for program in [None] + [recipe.bench] * (recipe.bench != "" and (build / "bin" / recipe.bench).exists()):
        yield from usage_faults_of(recipe, build, program)


def thread_faults(recipe, build):
    library = build / "lib" / "libexercise_interposer.so"  # counts threads; there is none for a sanitizer
    text = process.run(recipe.command(build, None, ["--help"]), process.LIMIT).text
    match = re.search(r"--(threads|workers)[ =]N\S* +([^\n(]*threads(?! per block| that .* may)[^\n(]*)\(", text)
    if not match or not library.exists() or recipe.launcher != "plain":
        return
    with tempfile.TemporaryDirectory() as scratch:
        record = pathlib.Path(scratch) / "record"
        environment = {"LD_PRELOAD": str(library), "COOKBOOK_EXERCISE_RECORD": str(record)}
        done = process.run(recipe.command(build, None, [f"--{match[1]}", "7"]), process.LIMIT, environment)
        counts = re.findall(r"threads (\d+)", record.read_text()) if record.exists() else []
        if done.code == 0 and max(map(int, counts), default=1) < 7:
            yield f"--{match[1]} 7: {max(map(int, counts), default=1)} threads at a time"


def usage_faults_of(recipe, build, program):
    help_result = process.run(recipe.command(build, program, ["--help"]), process.LIMIT)
    if help_result.code != 0 or "--help" not in help_result.text:
        yield f"--help: exit code {help_result.code}\n{help_result.text}"

    attempts = [(["--no-such-option"], ["--no-such-option"])]
    for name, lowest, highest in re.findall(OPTION_RANGE, help_result.text, re.S):
        below, above = f"{float(lowest) - 1:.0f}", f"{float(highest) * 2 + 1:.0f}"
        for value in (below, above, "9" * 400, "many", "1x", ""):
            attempts.append(([f"--{name}", value], [f"--{name}", value, lowest, highest]))
    for name in re.findall(r"--([\w-]+) WORD", help_result.text):
        attempts.append(([f"--{name}", "no-such-word"], [f"--{name}", "no-such-word"]))
    # Ranks read their options before they meet. So one attempt shows what all of them do, and for the others one rank
    # alone will do: there can be thirty, and to start ten ranks takes a while.
    alone = recipe.launcher.startswith("mpi")
    for i, (arguments, named) in enumerate(attempts):
        command = recipe.command(build, program, arguments)
        if alone and i > 0:
            command = command[command.index(str(build / "bin" / (program or recipe.name))):]
        result = process.run(command, process.LIMIT)
        lines = result.text.splitlines()
        shown = " ".join([program or "", *arguments]).strip()[:60]
        if result.code != 2:
            yield f"{shown}: exit code {result.code}, expected 2"
        if len(lines) != 1 or not all(text in lines[0] for text in named):
            yield f"{shown}: expected one line that names {named}, got:\n{result.text}"


def bench_faults(recipe, build):
    """The bench with every numeric option at its lowest value: as records, its checks hold and it has a table; and with
    spoiled values it fails and prints none."""
    program = recipe.bench
    if "cuda" in recipe.needs and not (build / "bin" / program).exists():
        skip(f"{program} is not built: there is no GPU")
    smallest = smallest_arguments(recipe, build, program)
    right = run(recipe, recipe.command(build, program, [*smallest, "--json"]), limit=100)
    records = [json.loads(line) for line in right.lines if line.startswith("{")]
    checks = [record["holds"] for record in records if "check" in record]
    if right.code != 0 or not checks or not all(checks) or not any("table" in record for record in records):
        yield f"{program} {' '.join(smallest)}: exit code {right.code}\n{right.text}"
    spoiled = run(recipe, recipe.command(build, program, smallest), limit=100, spoilt=True)
    if spoiled.code != 1 or check_lines(spoiled.text, "ok") or "median" in spoiled.text:
        yield f"{program}, spoiled: exit code {spoiled.code}\n{spoiled.text}"


# cuda_errors: refusals are its subject. debug_gpu: it launches one of its kernels; its own test refuses each.
WITH_REFUSALS_OF_THEIR_OWN = ("cuda_errors", "debug_gpu")
LARGE_ENOUGH = {"--count": "100", "--workers": "2"}
# Without a device they wait for a lock for ever: cuBLAS or cuRAND is not what it was after a launch that does nothing.
BENCHES_THAT_NEED_A_DEVICE = ("cuda_blas_bench", "cuda_dot_product_bench", "cuda_generalised_product_bench",
                              "cuda_random_bench")
# They have no results of a kernel, or the device itself compares them.
NO_RESULTS_ON_THE_HOST = ("cuda_devices", "cuda_clusters", "cuda_hopper_product", "cuda_memory_pool")


def launch_faults(recipe, build):
    """Where kernels are launched but not run, each kernel of the program's file is launched, and its checks fail. At
    each place where one is launched: if the device refuses, the program asks for the error before it does anything else
    with CUDA, and ends with a message, or tells it among its results; so does the bench, where it is built. No device
    is needed: those of tests/support/cuda_without_device.cpp are not there. Everything is as small as the options
    allow, but large enough that all has to be done, and that no result is right by chance."""
    if recipe.name in WITH_REFUSALS_OF_THEIR_OWN:
        return
    command = small_command(recipe, build)
    done, record = launched(command, build)
    text = recipe.source(recipe.name).read_text()
    places = places_of(record)
    if not places and "<<<" in text:
        yield f"it launches nothing\n{done.text}"
    not_launched = re.findall(r"^not launched (.*)", record, re.M)
    for kernel in re.findall(r"__global__ void (?:__launch_bounds__\([^)]*\) )?(\w+)\(", text):
        if any(f"{len(kernel)}{kernel}" in mangled for mangled in not_launched):
            yield f"the kernel {kernel} is never launched\n{done.text}"
    if places and recipe.name not in NO_RESULTS_ON_THE_HOST and (done.code != 1 or not check_lines(done.text, "FAIL")):
        yield f"no kernel is run: exit code {done.code}, expected 1\n{done.text}"
    yield from refusal_faults(command, build, places)
    if recipe.bench not in ("", *BENCHES_THAT_NEED_A_DEVICE) and (build / "bin" / recipe.bench).exists():
        command = small_command(recipe, build, recipe.bench)
        for fault in refusal_faults(command, build, places_of(launched(command, build)[1])):
            yield f"{recipe.bench}: {fault}"


def small_command(recipe, build, program=None):
    arguments = smallest_arguments(recipe, build, program)
    for i, name in enumerate(arguments[:-1]):
        if name in LARGE_ENOUGH:
            arguments[i + 1] = max(arguments[i + 1], LARGE_ENOUGH[name], key=float)
    return recipe.command(build, program, arguments)


def launched(command, build, refused=0):
    """What a program does, and is recorded, if no kernel is run and the launch at one place is refused; 0: none is."""
    with tempfile.TemporaryDirectory() as scratch:
        record = pathlib.Path(scratch) / "record"
        done = process.run(command, process.LIMIT,
                           {"LD_PRELOAD": str(build / "lib" / "libcuda_without_device.so"),
                            "COOKBOOK_CUDA_RECORD": str(record), "COOKBOOK_CUDA_REFUSED": str(refused),
                            "COOKBOOK_FEW_RUNS": "1"})
        return done, record.read_text() if record.exists() else ""


def places_of(record):
    """The numbers of the places at which the program launches."""
    return sorted({int(number) for number in re.findall(r"^place (\d+)", record, re.M)})


def refusal_faults(command, build, places):
    for number in places:
        done, record = launched(command, build, number)
        if "not asked" in record:
            yield f"launch {number} of {len(places)} is refused, and the program does not ask at once\n{done.text}"
        elif done.code in (0, cookbook.SKIPPED) or done.timed_out or \
                not re.search("too many resources requested for launch|: refused$", done.text, re.M):
            yield f"launch {number} of {len(places)} is refused: exit code {done.code}\n{done.text}"


def wanted_answers_faults(recipe, build):
    skip_unless_wanted("answers", recipe, ANSWERS_SHARE, all(path.exists() for path in answers.programs(recipe, build)))
    return answers.answers_faults(recipe, build)


def compile_line_faults(recipe, build):
    """The compile lines of every program of the recipe work, as they are written. For the compiler's cache each source
    of a line is compiled by a call of its own, with the line's options, and the objects are linked. On any day each
    finds the project's headers."""
    missing = [f"{line}\nfinds no {header}" for source in recipe.sources(PROGRAMS)
               for line in head_field(source, "Compile")
               for header in headers_not_found(source, re.findall(r"-I(\S+)", line), set())]
    if missing:
        yield from missing
        return
    skip_unless_wanted("compile_line", recipe, LINES_SHARE)
    for source in recipe.sources(PROGRAMS):
        if not (build / "bin" / source.stem).exists():
            continue  # a bench without its library
        lines = head_field(source, "Compile")
        if not lines:
            yield f"{source.name} has no line '// Compile: ...'"
        for line in lines:
            with tempfile.TemporaryDirectory() as scratch:
                for folder in ("chapters", "common"):
                    os.symlink(cookbook.ROOT / folder, pathlib.Path(scratch) / folder)
                fault = next(filter(None, (command_fault(part, scratch) for part in line.split("&&"))), None)
                if fault:
                    yield f"{line}\n{fault}"
                elif not (pathlib.Path(scratch) / source.stem).exists():
                    yield f"{line}: makes no {source.stem}"


def headers_not_found(source, folders, seen):
    """The headers of the project that a source includes, by way of others, too, and that stand neither beside the file
    that includes them nor in one of the folders. What is made of a schema does not stand in the tree."""
    for name in re.findall(r'^#include "(?!.*\.capnp\.h")(.*)"', source.read_text(), re.M):
        found = next((path for folder in (source.parent, *folders)
                      if (path := cookbook.ROOT / folder / name).exists()), None)
        if not found:
            yield name
        elif found not in seen:
            seen.add(found)
            yield from headers_not_found(found, folders, seen)


def command_fault(text, folder):
    """Runs one command of a compile line in `folder`; what is wrong, or None."""
    words = [name for word in shlex.split(text) for name in sorted(glob.glob(word, root_dir=folder)) or [word]]
    if words[0] not in COMPILERS:
        done = process.run(["sh", "-c", text], 600, cwd=folder)
        return done.text if done.code != 0 else None
    if "-std=c++20" not in words:
        return "it does not ask for C++20"
    sources = [word for word in words if word.endswith((".cpp", ".c++", ".cu"))]
    made = words.index("-o") if "-o" in words else len(words)
    options = [word for i, word in enumerate(words) if word not in sources and i not in (made, made + 1)]
    libraries = [word for word in options if word.startswith(("-l", "-L", "-Wl,"))]
    options = [word for word in options if word not in libraries]
    cache = ["ccache"] * bool(shutil.which("ccache"))
    objects = [f"{number}.o" for number in range(len(sources))]
    calls = [[*cache, *options, "-c", source, "-o", f"{number}.o"] for number, source in enumerate(sources)]
    for command in [*calls, [*options, *objects, *libraries, *words[made:made + 2]]]:
        done = process.run(command, 600, cwd=folder)
        if done.code != 0:
            return done.text
    return None


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
    source = recipe.source(pitfall)
    plain, under = head_field(source, "Symptom"), head_field(source, f"Symptom under {sanitizer}")
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
    for limit in (2, 10, 30) if hangs else [process.LIMIT / 2] * 10:  # on a busy machine the first line may come late
        result = run(recipe, recipe.command(build, pitfall), limit=limit, until_asleep=0.5 if hangs else 0)
        if hangs and result.timed_out and result.text:
            return
        if not hangs and not result.timed_out and text[1] in result.text and \
                (result.code == int(code[1]) if code else result.code != 0):
            return
    yield f"symptom not seen: {symptom[0]}; exit code {result.code}, timed out: {result.timed_out}\n{result.text}"


# Others --------------------------------------------------------------------------------------------------------------

def gtest_faults(recipe, build, chosen):
    """All GoogleTests of the recipe in one process. If one of them skips itself and none fails, so does this."""
    done = process.run([str(build / "bin" / f"{recipe.name}_test"), f"--gtest_filter={chosen}"])
    if done.code == 0 and "[  SKIPPED ]" in done.text:
        done.code = cookbook.SKIPPED
    print(process.skip_if_skipped(done).text)
    if done.code != 0:
        yield f"exit code {done.code}"


def exercise_faults(name, build):
    """An exercise: the untouched program is refused for its symptom, plausible wrong repairs are refused with the
    expected reason, and the known solution and other right ones are accepted. With COOKBOOK_FEW_CASES in the
    environment, as in a run of all tests, these are one wrong repair and the known solution."""
    from cookbook import exercises, judging  # only here: that they are loaded takes longer than some of the tests

    def judged(case, texts, **effort):
        folder = build / "exercise_tests" / name / case  # always the same, so that a compiler's cache knows it
        folder.mkdir(parents=True, exist_ok=True)
        for file, text in texts.items():
            (folder / file).write_text(text)
        verdict = judging.judge(exercise, folder, build, **effort)
        if verdict.skipped:
            print(verdict)
            sys.exit(cookbook.SKIPPED)
        return verdict

    exercise = next(one for one in exercises.exercises() if one.name == name)
    how_many = 1 if os.environ.get("COOKBOOK_FEW_CASES") else None
    under = " ".join(head_field(exercise.original, f"Symptom under {judging.sanitizer_of(exercise)}"))
    usual = "not written yet" if exercise.write else "hangs"
    reasons = [exercise.solution().get("untouched") or judging.symptom_of(exercise) or usual,
               *re.findall(r'prints "([^"]+)"', under)]
    untouched = judged("untouched", exercise.texts())
    if untouched.accepted or not any(reason in str(untouched) for reason in reasons):
        yield f"the untouched program is not refused for {' or '.join(reasons)}, but: {untouched}"
    for number, case in enumerate(exercise.cases("wrong")[:how_many], 1):
        if case.get("uses") and not shutil.which(case["uses"]):
            continue
        wrong = judged(f"wrong{number}", exercise.edited(case["edits"]))
        reasons = case["refused"] if isinstance(case["refused"], list) else [case["refused"]]  # one of them
        if wrong.accepted or not any(reason in str(wrong) for reason in reasons):
            yield f"a wrong repair ({case['why']}) is not refused for {' or '.join(reasons)}, but: {wrong}"
    known = {"why": "the known solution", "edits": exercise.solution()["solution"]}
    for number, case in enumerate([known, *exercise.cases("right")][:how_many], 1):
        right = judged(f"right{number}", exercise.edited(case["edits"]), runs=5, seconds=2)
        if not right.accepted:
            yield f"a right repair ({case['why']}) is refused: {right}"


def faults(kind, name, build, sanitizer, chosen):
    if kind == "exercises":
        from cookbook import exercises
        return exercises.faults_of_lists()
    if kind == "checks":
        return (fault for recipe in recipes() for source in recipe.sources(PROGRAMS) for fault in check_faults(source))
    listed = read(build / "recipes.json")
    if kind == "exercise":
        from cookbook import exercises
        recipe = find(name, {one.name: one.recipe for one in exercises.exercises()}, "there is no exercise {}", "")
    elif kind == "symptom":
        recipe = find(name, {pitfall: one for one in listed for pitfall in one.pitfalls}, "there is no pitfall {}", "")
    else:
        recipe = find(name, listed)
    return {"page": lambda: page_faults(recipe, build, sanitizer),
            "answers": lambda: wanted_answers_faults(recipe, build), "fault": lambda: fault_faults(recipe, build),
            "usage": lambda: usage_faults(recipe, build),
            "launches": lambda: launch_faults(recipe, build),
            "compile_line": lambda: compile_line_faults(recipe, build), "bench": lambda: bench_faults(recipe, build),
            "gtest": lambda: gtest_faults(recipe, build, chosen), "exercise": lambda: exercise_faults(name, build),
            "symptom": lambda: symptom_faults(recipe, build, name, sanitizer)}[kind]()


def parser():
    result = Parser("cookbook check", __doc__)
    result.add_argument("kind", choices=["page", "answers", "fault", "usage", "launches", "compile_line", "bench",
                                         "gtest", "symptom", "exercise", "exercises", "checks"])
    result.add_argument("name", nargs="?", default="", help="the recipe, or the pitfall")
    result.add_argument("--build", type=lambda path: pathlib.Path(path).resolve(), default=cookbook.ROOT / "build")
    result.add_argument("--sanitizer", default="", help="with which the build was made")
    result.add_argument("--filter", default="*", help="of the GoogleTests")
    return result


def main(arguments):
    args = parser().parse_args(arguments)
    if args.sanitizer:
        process.LIMIT *= SLOWER_WITH_A_SANITIZER
    try:
        found = list(faults(args.kind, args.name, args.build, args.sanitizer, args.filter))
    except ValueError as error:  # a text that an exercise would change does not stand there
        found = [str(error)]
    for fault in found:
        print(f"{args.name}: {fault}" if args.name else fault)
    return 1 if found else 0
