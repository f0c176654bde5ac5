"""The exercises: broken programs to repair. Where each is defined, what the learner gets, what a repair must keep.

An exercise is a pitfall of a recipe, which is to be repaired, or a function of a recipe that is taken out and is to be
written. exercise.toml in the recipe's folder has a table each:

    [lock_race]                        # the name of the program
    task = "..."                       # what it does wrong, and what it shall do; never why
    hints = ["...", "...", "..."]      # each says more than the one before
    prints = ["counter: 0"]            # regular expressions; each must match a whole line that the repair prints
    keep = ["if (counter == 0)"]       # what must stay in the program: its work and its checks. White space and
                                       # comments do not count, the statements of one entry come in this order, and
                                       # others may stand between them. The learner's file marks them by "// stays".
                                       # What the known solution executes of it must be executed, and calls that print
                                       # an expected line stay as well
    refuse = {"regular expression" = "why"}  # what a repair must not be, looked for in the program without white space;
                                       # for what can be seen from outside only by text: prefer `again`
    threads = 3                        # that must exist at the same time in one process, main included; a thread
                                       # exists until it is joined
    processes = 2                      # that the program must start, in all
    calls = {MPI_Send = 2}             # calls of MPI's functions, at least, in all ranks together;
                                       # "MPI_Send|MPI_Isend" = 2 counts both
    sent = 2000002                     # bytes that all ranks together send each other point to point, at least
    synchronous = true                 # it must also end if every MPI_Send, and the wait for every MPI_Isend, waits for
                                       # the receive, as MPI allows
    functions = 500000                 # of the program's own functions, coroutines included, that are entered, at least
    sleeps = true                      # a repair may sleep, as one that backs off does: it is judged without the sleep
    sanitizer = "thread"               # thread, address (with undefined), none; oclgrind for kernels of OpenCL; for
                                       # CUDA a tool of compute-sanitizer: memcheck, racecheck, initcheck, synccheck.
                                       # Without this line: thread where the source includes <thread>, memcheck for
                                       # CUDA, none for MPI, otherwise address
    limit = 5                          # seconds; a program that runs longer is said to hang. 5 without this line
    files = ["draw.cl"]                # further files of the recipe that the learner gets
    without = ["// the second one"]    # text that the learner does not get, since it gives the answer away

What a program does is judged from outside, since the text of its checks is the learner's, too: the judge compiles it
again with another input, or with a look of its own at the decisive moment. Any number of tables say how:

    [[lock_race.again]]
    with = "steps of +3 and -1"        # completes "Judged again, with ...:" in the answer to a learner
    replace = {"change_often, -1" = "change_often, -3"}  # each occurrence; the text must stay, with nothing in between
    prints = ["counter: -40000000"]    # instead of those above
    code = 1                           # the exit code, 0 without this line; with another one the symptom may show
    before = "inline int looks = 0;"   # C++ that comes before the program, behind tests/support/exercise_probe.hpp,
                                       # whose functions the replaced text may call, such as judge::refuse("why");
                                       # beside it: exercise_pauses.hpp, with which threads pause between steps, and
                                       # exercise_openmp.hpp, which ThreadSanitizer needs for OpenMP
    limit = 8                          # seconds; that of the exercise, and 5 more, without this line
    sanitizer = true                   # the sanitizer runs with this input, which takes it less time; or the
                                       # name of one, for one table, that runs besides the exercise's own
    same_way = true                    # each line of the program is executed, and each branch taken, as often as with
                                       # the usual input; seen where GCC counts them
    last = true                        # judged after the sanitizer, whose report says more than this

What is to be written has these fields besides task, hints, threads, processes, sanitizer (thread without that line),
prints and limit:

    [thread_queue_get]
    write = "blocking_queue.hpp"       # the recipe's file of which the learner gets a copy; prints are the driver's

    [[thread_queue_get.taken]]
    out = "..."                        # what is taken out of it, which occurs once in it, and is the solution
    instead = "..."                    # what stands there instead: a function that says "not written yet"

The recipe's own program is built with the learner's file, and must end with exit code 0. Then the judge's driver,
tests/<chapter>/exercises/<name>.cpp, is built with it and judged as a repair is. It includes the learner's file, and
reports by judge::expect() of exercise_probe.hpp.

tests/<chapter>/solutions/<name>.toml has the changes that repair it, those of other repairs that are right, and those
of plausible repairs that are wrong:

    untouched = "the sum is wrong"     # why what the learner gets is refused, where it is not the pitfall's symptom

    [[solution]]                       # file = "draw.cl" where it is not the program's own. What is to be written has
                                       # none
    old = "long counter = 0;"          # occurs exactly once in what the learner gets
    new = "std::atomic<long> counter = 0;"

    [[right]]
    why = "a mutex of its own for each change"

    [[right.edits]]
    old = "..."
    new = "..."

    [[wrong]]                          # or [wrong], where there is one
    why = "sleeping only makes the race rarer"
    refused = "sleeps"                 # text that the judge's answer to it must contain; or a list, one of which
    uses = "oclgrind"                  # the program without which the judge cannot see it

    [[wrong.edits]]
    old = "..."
    new = "..."
"""
import bisect
import dataclasses
import itertools
import json
import os
import pathlib
import re
import textwrap
import tomllib

import cookbook
from cookbook import recipe as model
from cookbook.command import Problem

SANITIZERS = ("thread", "address", "none", "oclgrind", "memcheck", "racecheck", "initcheck", "synccheck")
WIDTH = 118


@dataclasses.dataclass
class Exercise:
    name: str
    recipe: model.Recipe
    task: str
    hints: list
    prints: list = dataclasses.field(default_factory=list)
    keep: list = dataclasses.field(default_factory=list)
    refuse: dict = dataclasses.field(default_factory=dict)
    threads: int = 1
    processes: int = 0
    calls: dict = dataclasses.field(default_factory=dict)
    sent: int = 0
    synchronous: bool = False
    functions: int = 0
    sleeps: bool = False
    again: list = dataclasses.field(default_factory=list)
    write: str = ""
    taken: list = dataclasses.field(default_factory=list)
    sanitizer: str = ""
    limit: int = 5
    files: list = dataclasses.field(default_factory=list)
    without: list = dataclasses.field(default_factory=list)

    @property
    def program(self):
        """The program that the build makes: the pitfall; or the recipe's own, where a function of it is to be
        written."""
        return self.recipe.name if self.write else self.name

    @property
    def original(self):
        """The program as it stands in the recipe's folder."""
        return self.recipe.source(self.program)

    @property
    def driver(self):
        """The judge's program that tests what the learner has written."""
        return self.recipe.tests / "exercises" / f"{self.name}.cpp"

    @property
    def main_file(self):
        """The name of the file that the learner works on."""
        return self.write or self.original.name

    @property
    def solution_file(self):
        return self.recipe.tests / "solutions" / f"{self.name}.toml"

    def texts(self):
        """What the learner gets: {file name: text}, the program first."""
        if self.write:
            text = (self.recipe.folder / self.write).read_text()
            for piece in self.taken:
                text = text.replace(piece["out"], piece["instead"])
            return {self.write: self.head() + "\n" + text}
        source = self.original
        given = {source.name: self.head() + "\n" + self.stripped(source.read_text())}
        return given | {name: self.stripped((self.recipe.folder / name).read_text()) for name in self.files}

    def kept(self):
        """What must stay: what exercise.toml says, what the judge replaces when it judges again, and what prints the
        expected lines."""
        replaced = [text for one in self.again for text in one.get("replace", {})]
        return [*dict.fromkeys([*self.keep, *replaced, *self.printing()])]

    def printing(self):
        """The beginnings of those calls that print an expected line, up to the format, as far as the known solution has
        them as well."""
        if self.write or not self.solution_file.exists():
            return []
        given = self.stripped(self.original.read_text())
        repaired = given
        for edit in self.solution()["solution"]:
            if edit.get("file", self.original.name) == self.original.name:
                repaired = repaired.replace(edit["old"], edit["new"])
        found = []
        for match in PRINTING.finditer(given):
            words = words_of(re.sub(r"%[-+ 0-9.*]*[hljztL]*[a-zA-Z]|\\.|\{[^{}]*\}", " ", match[1]))
            expected = any(words <= words_of(re.sub(r"\\[a-zA-Z]", " ", line)) for line in self.prints)
            kept = any(match[0] in one for one in self.keep)
            if words and expected and not kept and keeps(squeezed(repaired), match[0]):
                found.append(match[0])
        return found

    def results(self):
        """What is const in the program and in the known solution, and compared where main() decides what the exit code
        is: this is the result of the work, and stays. {name of the variable: statement}"""
        if self.write or not self.solution_file.exists():
            return {}
        given = without_comments(self.texts()[self.main_file])
        repaired = squeezed(self.edited(self.solution()["solution"])[self.main_file])
        declared = {name: re.search(rf"\bconst\s+[\w:<>]+\s+{name}\s*=[^;]*;", given)
                    for name in sorted(verdict_names(given, arguments=False))}
        return {name: match[0] for name, match in declared.items() if match and keeps(repaired, match[0])}

    def marked(self):
        """What the learner gets, with a mark behind what must stay."""
        together = [text for one in self.again for text in one.get("replace", {})]
        pieces = [*self.kept(), *self.results().values()]
        return {name: with_marks(text, pieces, together) for name, text in self.texts().items()}

    def cases(self, kind):
        """The further repairs that are right, or wrong: tables with why and edits."""
        found = self.solution().get(kind, [])
        return [found] if isinstance(found, dict) else found

    def head(self):
        lines = [f"Exercise: {self.name}", ""]
        for paragraph in self.task.strip().split("\n\n"):
            lines += [*textwrap.wrap(" ".join(paragraph.split()), WIDTH - 3, break_on_hyphens=False), ""]
        if self.keep or self.again:
            what = (f'What is marked by "{MARK}" must stay; where the mark names a part of its line, this part. Keep '
                    'its order, unless the task needs another. You may write other lines between the marked ones.')
            lines += [*textwrap.wrap(what, WIDTH - 3), ""]
        lines += [f"Page:    chapters/{self.recipe.chapter}/{self.recipe.name}/README.md",
                  f"Judge:   scripts/exercise check {self.name}", f"Hint:    scripts/exercise hint {self.name}"]
        return "".join(f"// {line}".rstrip() + "\n" for line in lines)

    def stripped(self, text):
        """The program without its head comment and without the comments that say what is wrong."""
        lines = text.splitlines()
        while lines and lines[0].startswith("//"):
            lines.pop(0)
        text = "\n".join(lines).lstrip("\n") + "\n"
        for piece in self.without:
            text = text.replace(piece, "")
        kept = []
        for line in text.splitlines():
            shown = re.sub(r"\s*// wrong\b.*$", "", line).rstrip()
            if shown or not line.strip():
                kept.append(shown)
        return "\n".join(kept) + "\n"

    def solution(self):
        """What is stored of its repairs; the lesson itself is the solution of what is to be written."""
        stored = tomllib.loads(self.solution_file.read_text())
        if self.write:
            stored["solution"] = [{"old": piece["instead"], "new": piece["out"]} for piece in self.taken]
        return stored

    def edited(self, edits):
        """The learner's files with `edits` made; ValueError if the old text of one does not stand there exactly
        once."""
        texts = self.texts()
        main = next(iter(texts))
        for edit in edits:
            name = edit.get("file", main)
            if texts.get(name, "").count(edit["old"]) != 1:
                count = texts.get(name, "").count(edit["old"])
                raise ValueError(f"{self.name}: stands {count} times in {name}: {edit['old']}")
            texts[name] = texts[name].replace(edit["old"], edit["new"])
        return texts


# The fields of exercise.toml with their types: all but the name of the program and its recipe.
AGAIN = {"with", "replace", "prints", "code", "before", "limit", "sanitizer", "last", "same_way"}
FIELDS = {field.name: field.type for field in dataclasses.fields(Exercise)[2:]}


def words_of(text):
    return set(re.findall(r"[A-Za-z]{2,}", text))


# Comments, or a string or a character, in which there is none.
COMMENT_OR_TEXT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|(?<![0-9A-Fa-f])\'(?:\\.|[^\'\\\n])+\'', re.S)
TOKEN = r"\w+|[^\w\s]"
# A call that prints a text, up to the end of its format.
PRINTING = re.compile(r'\b(?:std::(?:printf|puts|fputs)|(?:cookbook|fmt|std)::(?:println|print))\s*\(\s*'
                      r'"((?:\\.|[^"\\\n])*)"')
# Where main() decides what the exit code is.
VERDICT = re.compile(r"\bif\s*\(([^;{}]*)\)\s*(?:\{[^{}]*?)?(?:\breturn\s|\b_exit\b)|"
                     r"\breturn\s+([^;{}]*?)\?\s*\w+\s*:\s*\w+\s*;|"
                     r"\b_?exit\(([^;{}?]*)\?")
BETWEEN = r"(?:\s|//[^\n]*\n|/\*.*?\*/)*"  # two words of a source: white space and comments
MARK = "// stays"


def without_comments(text):
    """A source without its comments and without what stands between #if 0 and its end; lines stay lines."""
    def blank(match):
        return match[0] if match[0][0] in "\"'" else re.sub(r"[^\n]", "", match[0]) or " "

    text = COMMENT_OR_TEXT.sub(blank, text)
    left_out = re.compile(r"^[ \t]*#[ \t]*if[ \t]+(0|false)\b.*?^[ \t]*#[ \t]*endif\b", re.S | re.M)
    return left_out.sub(lambda match: re.sub(r"[^\n]", "", match[0]), text)


def verdict_names(program, arguments=True):
    """The variables by which main() decides what the exit code is, also those that it calls a function with."""
    found = set()
    for match in VERDICT.finditer(program[max(program.find("int main("), 0):]):
        text = re.sub(r'"[^"]*"', "", next(filter(None, match.groups()), ""))
        text = text if arguments else re.sub(r"\w\([^()]*\)", "", text)
        found |= set(re.findall(r"(?<![\w:.>])([a-zA-Z_]\w*)\b(?!\s*(?:\(|::))", text))
    return found - {"true", "false", "not", "and", "or"}


def squeezed(text):
    """A source without comments and white space, and with one of several ways to write the same."""
    text = re.sub(r"\s+", "", without_comments(text))
    return re.sub(r"(?<=\d)'(?=\d)", "", re.sub(r"\bc((?:r?begin|r?end)\()", r"\1", text))


def statements(piece):
    """The statements of a text to keep, each of which is looked for by itself. What stands in a pair of parentheses is
    not taken apart."""
    parts, depth, start, quoted = [], 0, 0, ""
    for i, letter in enumerate(piece):
        if quoted:
            quoted = "" if letter == quoted and piece[i - 1] != "\\" else quoted
        elif letter in "\"'" and not (letter == "'" and piece[i - 1:i].isalnum()):
            quoted = letter
        elif letter in "([":
            depth += 1
        elif letter in ")]":
            depth = max(0, depth - 1)
        elif letter in ";{}" and depth == 0:
            parts.append(piece[start:i + 1])
            start = i + 1
    return [part for part in [*parts, piece[start:]] if part.strip()]


def keeps(squeezed_text, piece):
    """Whether the statements of `piece` stand in the text in this order, with or without others between them."""
    place = 0
    for part in map(squeezed, statements(piece)):
        place = squeezed_text.find(part, place)
        if place < 0:
            return False
        place += len(part)
    return True


def pattern_of(piece):
    """A pattern that finds a text in a source, also with other white space and comments between its words."""
    words = re.findall(TOKEN, piece)
    return re.compile((r"(?<!\w)" if words[0][0].isalnum() else "") + BETWEEN.join(map(re.escape, words))
                      + (r"(?!\w)" if words[-1][-1].isalnum() else ""), re.S)


def with_marks(text, pieces, together=()):
    """The text with a mark at the end of each line on which something stands that must stay; if it is only a part of
    the line's words, with this part. What stands in `together` must stay without anything between its lines."""
    lines = text.split("\n")
    starts = [0, *itertools.accumulate(len(line) + 1 for line in lines)]
    kept = {}  # for the number of a line, which of its letters stay
    joined = set()  # the lines that must be followed by the next one

    def note(found, whole):
        first, last = (bisect.bisect_right(starts, place) - 1 for place in (found.start(), found.end() - 1))
        for number in range(first, last + 1):
            letters = range(max(found.start(), starts[number]), min(found.end(), starts[number + 1]))
            kept.setdefault(number, set()).update(place - starts[number] for place in letters)
            if whole and number < last:
                joined.add(number)

    for piece in pieces:
        place = 0
        for part in statements(piece):
            found = pattern_of(part).search(text, place)
            if not found:
                break
            place = found.end()
            note(found, False)
    for piece in together:
        for found in pattern_of(piece).finditer(text):
            note(found, True)
    for number, letters in kept.items():
        line = lines[number]
        if re.fullmatch(r"\s*[{}();]*\s*", line) or line.endswith("\\") or 'R"' in line:
            continue
        code = without_comments(line)
        said = MARK
        if any(match.start() not in letters for match in re.finditer(r"\w+", code)) and code in line:
            gaps = "".join(letter if place in letters else "\n" for place, letter in enumerate(code))
            said = f"{MARK}: {' ... '.join(part.strip() for part in gaps.split(chr(10)) if part.strip())}"
        lines[number] += f"  {said}" + (", with the next line" if number in joined else "")
    return "\n".join(lines)


def tables_of(recipe):
    """The tables of the recipe's exercise.toml, by name."""
    listing = recipe.folder / "exercise.toml"
    return tomllib.loads(listing.read_text()) if listing.exists() else {}


def exercises():
    """All exercises in learning order. Needs no build folder."""
    return [Exercise(name, recipe, **tables[name]) for recipe in model.recipes() if (tables := tables_of(recipe))
            for name in [*(one for one in recipe.pitfalls if one in tables),  # what is to be repaired, and then written
                         *(one for one, table in tables.items() if "write" in table)]]


def faults_of_lists():
    """What is wrong with the definitions, as texts."""
    for recipe in model.recipes():
        tables = tables_of(recipe)
        for name in recipe.pitfalls:
            if name not in tables:
                yield f"{recipe.name}: the pitfall {name} has no exercise"
        for name, table in tables.items():
            if name not in recipe.pitfalls and "write" not in table:
                yield f"{recipe.name}: exercise.toml has {name}, which is none of its pitfalls"
            wrong = [key for key, value in table.items() if key not in FIELDS or not isinstance(value, FIELDS[key])]
            if wrong or not {"task", "hints"} <= table.keys() or table.get("sanitizer", "none") not in SANITIZERS:
                wrong = ", ".join(wrong) or "task, hints, sanitizer"
                yield f"{name}: unknown or missing fields, or of the wrong type: {wrong}"
                continue
            yield from faults_of(Exercise(name, recipe, **table))


def faults_of(exercise):
    if len(exercise.hints) < 2:
        yield f"{exercise.name}: fewer than two hints"
    given = "\n".join(squeezed(text) for text in exercise.texts().values())
    for piece in exercise.kept():
        if not keeps(given, piece):
            yield f"{exercise.name}: to keep, but not in what the learner gets: {piece}"
    for again in exercise.again:
        if unknown := again.keys() - AGAIN or not {"with", "replace"} <= again.keys():
            yield f"{exercise.name}: unknown or missing fields of again: {unknown}"
        for piece in again.get("replace", {}):
            if not any(pattern_of(piece).search(text) for text in exercise.texts().values()):
                yield f"{exercise.name}: to replace, but not in what the learner gets: {piece}"
    if exercise.write:
        whole = (exercise.recipe.folder / exercise.write).read_text()
        for piece in exercise.taken:
            if piece.keys() != {"out", "instead"} or whole.count(piece["out"]) != 1:
                yield f"{exercise.name}: to take out, but not once in {exercise.write}: {piece}"
        if not exercise.taken or not exercise.driver.exists():
            yield f"{exercise.name}: nothing is taken out, or there is no {exercise.driver.relative_to(cookbook.ROOT)}"
    sources = [exercise.original.read_text(), *((exercise.recipe.folder / name).read_text() for name in exercise.files)]
    for piece in exercise.without:
        if not any(piece in source for source in sources):
            yield f"{exercise.name}: to leave out, but not in the program: {piece}"
    if not exercise.solution_file.exists():
        yield f"{exercise.name}: no {exercise.solution_file.relative_to(cookbook.ROOT)}"
        return
    solution = exercise.solution()
    try:
        if not exercise.cases("wrong"):
            yield f"{exercise.name}: no wrong repair"
        cases = [*exercise.cases("right"), *exercise.cases("wrong")]
        for edits in (solution["solution"], *(case["edits"] for case in cases)):
            exercise.edited(edits)
        if not all(case["why"] for case in cases):
            yield f"{exercise.name}: a repair without why"
        if not all(case["refused"] for case in exercise.cases("wrong")):
            yield f"{exercise.name}: a wrong repair without refused"
    except (KeyError, ValueError) as error:
        yield f"{exercise.name}: {error}"


# What the learner has done -------------------------------------------------------------------------------------------

def work_folder():
    return pathlib.Path(os.environ.get("COOKBOOK_EXERCISES", cookbook.ROOT / "exercises"))


class Progress:
    """What is done and how many hints were given: {name: {"done": bool, "hints": N}}, kept in progress.json."""

    def __init__(self):
        self.file = work_folder() / "progress.json"
        try:
            self.entries = json.loads(self.file.read_text()) if self.file.exists() else {}
            if not isinstance(self.entries, dict) or not all(isinstance(one, dict) for one in self.entries.values()):
                raise ValueError("it is not of the form that this script writes")
        except ValueError as error:
            raise Problem(f"{self.file} is damaged: {error}. It holds what is done and which hints were given; remove "
                          "it to begin anew. Your programs are kept", cookbook.REFUSED) from None

    def of(self, name):
        return self.entries.get(name, {})

    def note(self, name, **changes):
        self.entries[name] = {**self.of(name), **changes}
        self.file.parent.mkdir(parents=True, exist_ok=True)
        written = self.file.with_suffix(".new")
        written.write_text(json.dumps(self.entries, indent=1) + "\n")
        written.replace(self.file)
