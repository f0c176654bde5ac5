"""The tests `page` and `checks`: what a page says is true, and a program's checks are able to fail.

A page's excerpts stand in the sources, its commands print what it shows, and it has the parts that every page has.
"""
import os
import re
import shlex
import shutil

import cookbook
from cookbook import process, recipe, skips
from cookbook.recipe import Recipe

UNITS = (r"(?:ns|us|ms|s|min|[KMGT]?i?B|[KMGT]?i?B/s|[kKMGT]?(?:FLOP/s|flop/s)|[kKMGT]?/s|[KMG] \w+/s|"
         r"x|%|seconds|Hz|[kMG]Hz)")
EXCERPT = re.compile(r"^```(?:cpp|cuda|c)\b[^\n]*\n(.*?)^```", re.M | re.S)  # its group is the code
NUMBER = r"[-+]?\d+(?:[',]\d{3})*(?:\.\d+)?(?:[eE][-+]?\d+)?"


def pattern_of(line):
    """The regular expression for one line of a transcript: ~ and a number match any number, also behind a bracket, and
    numbers with a unit any number with that unit, each a group, <word> matches one word, <words...> one or more, and
    any run of white space matches any other."""
    pattern, rest = "", " ".join(line.split())
    token = re.compile(rf"(?P<word><[a-z][\w -]*>)|(?P<words><[a-z][\w ]*\.\.\.>)|(?<![^\s(])~(?P<about>{NUMBER})"
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
        elif match["about"]:
            pattern += f"~?({NUMBER})"
        else:
            pattern += f"({NUMBER})" + match["gap"] + re.escape(match["unit"])
        # A look-behind must still see what stands before, so cut only what is done.
        rest = rest[match.end():]
    return pattern


def is_plausible(shown, printed):
    """Whether a figure may stand for the one that a page shows: a time does not become negative, nor ten million times
    as long, on any machine."""
    shown, printed = (float(re.sub("[',]", "", number)) for number in (shown, printed))
    return (printed >= 0 or shown < 0) and abs(printed) < 1e7 * max(abs(shown), 1)


def same(expected, actual):
    pattern = pattern_of(expected)
    match, page = (re.fullmatch(pattern, " ".join(line.split())) for line in (actual, expected))
    # Where <words...> stand before a number, the page's line need not match its own pattern.
    return match is not None and (page is None or all(map(is_plausible, page.groups(), match.groups())))


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


def first_columns(line, columns):
    """A line up to its first so many columns; two blanks or more stand between columns."""
    return "  ".join(re.split(r" {2,}", line.strip())[:columns])


def transcript_faults(expected, actual, any_order=False, columns=None):
    """The differences between the lines of a transcript and the lines that a command printed, as texts. With `columns`,
    only so many columns of each line are compared."""
    expected = [first_columns(line, columns) for line in expected if line.strip()]
    actual = [first_columns(line, columns) for line in actual if line.strip()]
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


def position(needle, pool):
    """Where these lines begin among others, or None."""
    return next((i for i in range(len(pool)) if pool[i:i + len(needle)] == needle), None)


def excerpt_faults(page, sources):
    """The excerpts of a page that stand in no source; white space at the ends of lines and empty lines aside."""
    pools = [squeeze(source) for source in sources]
    for block in EXCERPT.findall(page):
        needle = squeeze(block)
        if not any(position(needle, pool) is not None for pool in pools):
            yield "this excerpt stands in no source of the recipe:\n    " + "\n    ".join(needle)


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
    page may have: `scripts/run RECIPE ARGUMENTS`, `build/bin/PROGRAM ARGUMENTS`, `mpirun -n RANKS build/bin/PROGRAM
    ARGUMENTS` or `compute-sanitizer OPTIONS build/bin/PROGRAM ARGUMENTS`, with VARIABLE=value before it."""
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
        return environment, Recipe("", "", f"mpi {words[2]}").command(build, match[1], words[4:])
    if words[:1] == [SANITIZER]:
        return environment, [compute_sanitizer() or SANITIZER,
                             *(re.sub(r"^build/bin/(?=\w+$)", f"{build}/bin/", word) for word in words[1:])]
    return None


SANITIZER = "compute-sanitizer"


def compute_sanitizer():
    """The path of NVIDIA's tool: the one that CMake has found, or one on PATH, or in CUDA's usual folder; None if there
    is none."""
    return os.environ.get("COOKBOOK_COMPUTE_SANITIZER") or shutil.which(SANITIZER) \
        or shutil.which(SANITIZER, path="/usr/local/cuda/bin")


def structure_faults(page, folder):
    if not recipe.title_and_summary(page)[1].strip("*").partition("Read first:")[0]:
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
    if re.search(r"^\|(?: *:?-+:? *\|)+\n(?!\|)", page, re.M):
        yield "a table has no rows: nothing may stand between the line below its heading and the first of them"
    prose = re.sub(r"^ *```.*?^ *```|`[^`\n]*`", "", page, flags=re.M | re.S)
    for target in re.findall(r"\]\((?!https?:|#)([^)#\s]+)", prose):
        if not (folder / target).exists():
            yield f"a link leads nowhere: {target}"


def page_faults(one, build, sanitizer=""):
    page = one.page.read_text()
    yield from structure_faults(page, one.folder)
    mutated = "COOKBOOK_MUTATED" in os.environ
    if not mutated:  # excerpts notice any change of a line
        yield from excerpt_faults(page, [source.read_text() for source in one.sources()])
    known = {other.name: other for other in recipe.read(build / "recipes.json")}
    for attributes, command, expected in transcripts(page):
        if not (translation := translated(command, known, build)):
            yield f"no test can run this command: {command}"
            continue
        environment, words = translation
        if words[0] == SANITIZER:
            continue  # it is not here
        programs = {word.split("/")[-1] for word in words}
        broken = any(recipe.head_field(source, "Symptom") for source in one.sources() if source.stem in programs)
        if sanitizer and broken:
            continue  # a sanitizer ends a pitfall in its own way, which the test of its symptom knows
        values = {name: int(value) for name, equals, value in (word.partition("=") for word in attributes) if equals}
        wanted = values.get("exit", 0)
        for _ in range(10 if broken else 1):  # a pitfall may be right by luck, as in the test of its symptom
            # No program of a page sleeps for so long, even on a busy machine; one that does is in a deadlock.
            result = process.run(words, process.LIMIT, environment, until_asleep=6 if mutated else 0)
            faults = [] if result.code == wanted else [f"exit code {result.code}, expected {wanted}"]
            faults += transcript_faults(expected, result.text.splitlines(), "any-order" in attributes,
                                        values.get("columns"))
            if not faults:
                break
            if result.timed_out:
                faults = ["it was ended, since it ran or slept for too long"]
            else:
                faults += [line for line in result.text.splitlines()
                           if line.startswith("FAIL  ") and line not in expected]
        # Its tools do not work on a virtual machine that hides the device's counters.
        if SANITIZER in words[0] and "Device not supported" in result.text:
            continue
        # no device here: the transcript is true on a machine that has one
        if result.code == cookbook.SKIPPED != wanted:
            if not (fault := skips.skip_fault(one, result.text)):
                continue
            faults = [fault]
        for fault in faults:
            yield f"$ {command}: {fault}"
        if faults and mutated:
            return


# The checks of a program ---------------------------------------------------------------------------------------------

LITERAL = re.compile(r"""[-+]?[\d'.]+(e[-+]?\d+)?[a-z]*|true|false|"[^"]*"|'.'""", re.I)


def arguments_of(text, start):
    """The arguments of a call, as texts without white space; `start` is where its opening parenthesis stands."""
    depth, found, quote = 0, [""], ""
    i = start
    while True:
        c = text[i]
        if quote:
            if c == "\\":
                found[-1] += c
                i += 1
                c = text[i]
            elif c == quote:
                quote = ""
        elif c == '"' or c == "'" and not text[i - 1].isalnum():  # not the ' within a number
            quote = c
        elif c in "([{":
            depth += 1
        elif c in ")]}":
            depth -= 1
            if depth == 0:
                break
        if c == "," and depth == 1 and not quote:
            found.append("")
        elif i > start and (quote or not c.isspace()):
            found[-1] += c
        i += 1
    return found


def check_faults(source):
    """The checks of a program that cannot fail: the value that they look at is a constant, or the text of the expected
    one."""
    text = re.sub(r"//[^\n]*", "", source.read_text())
    for call in re.finditer(r"\bchecks?\.(equal|that|within)\(", text):
        _, actual, *expected = arguments_of(text, call.end() - 1)
        left, equals, right = actual.partition("==")
        if LITERAL.fullmatch(actual) or actual in expected or call[1] == "that" and equals and left == right:
            yield f"{source.name}: this check cannot fail: {call[0]}..., {', '.join([actual, *expected])})"
