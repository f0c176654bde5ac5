"""Mistakes by rule: changes of single lines that a tired programmer could make, for scripts/mutate --sample.

A line of a lesson is changed by one rule at one place. Comments, includes and what stands in strings are left alone
(but for addresses), and so is a 1000 that converts a unit. tests/<chapter>/equivalent.toml names those that change no
behaviour, with the reason; they are not drawn again:

    [[lock]]
    file = "lock.cpp"
    old = "counter += step;"    # the line without white space at its ends
    new = "counter -= step;"
    why = "the two threads exchange their roles"
    nth = 2    # only the second such line of the file
"""
import collections
import dataclasses
import os
import random
import re
import tomllib

import cookbook
from cookbook import recipe
from cookbook.recipe import SOURCES

CALL = r"(?:co_await |\(void\) ?)?[\w:]+(?:(?:\.|->|::)\w+|\[[^\]]*\])*(?:<[\w:, ]*>)?\([^{}]*\)"
LAUNCH = r"\w+<<<.*>>>\(.*\)"


@dataclasses.dataclass(frozen=True)
class Mistake:
    file: str
    line: int  # the first is 1
    old: str
    new: str
    rule: str
    nth: int = 1  # of the lines of the file with this text

    def __str__(self):
        return f"{self.file}:{self.line}: {self.rule}: {self.old} -> {self.new or 'nothing'}"


def replaced(pattern, new):
    """A rule that replaces each match of a pattern, one at a time; `new` is a text or a function of the match."""
    def rule(code):
        for match in re.finditer(pattern, code):
            text = new(match) if callable(new) else match.expand(new)
            if text is not None:
                yield code[:match.start()] + text + code[match.end():]
    return rule


def dropped(pattern):
    """A rule that drops a statement that stands on a line of its own."""
    def rule(code):
        if re.fullmatch(rf"\s*(?:{pattern});", code):
            yield ""
    return rule


def next_number(match):
    return str(int(match[0].replace("'", "")) + 1)


def one_less(match):
    number = int(match[0].replace("'", ""))
    return str(number - 1) if number > 0 else None


DURATION = (r"(?:(?<=chrono::seconds\()|(?<=illiseconds\()|(?<=icroseconds\())[1-9]\d*(?=\))|"
            r"\b[1-9]\d*(?=(?:ms|us|ns|s)\b)")
# 1000 and its powers that something other than a number is multiplied with or divided by: seconds become milliseconds,
# and a thousandth of a measured time is nothing that could be noticed.
UNIT = r"(?<=[A-Za-z_)\]] [*/] )1(?:'?000)+(?![\w.'])|1(?:'?000)+(?= \* [A-Za-z_(])"
NUMBER = rf"(?!{UNIT})(?<!seconds\()(?<![\w.'<\[])(?:0|[1-9][\d']*)(?![\w.'>xX\]])"
TURNED = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
CONDITION = r"\bif \((?!const |auto )(?=.*\))(.*?)\)(?= [\w{*+(-]|$)(?! -? ?\d)"
SIGNALS = {"SIGTERM": "SIGINT", "SIGINT": "SIGTERM", "SIGKILL": "SIGTERM"}
REDUCTIONS = {"MPI_SUM": "MPI_MAX", "MPI_MAX": "MPI_MIN", "MPI_MIN": "MPI_MAX", "MPI_LAND": "MPI_LOR"}
RULES = {
    "a checked call is dropped": dropped(r"(?:MPI|CUDA|CL|NCCL|CUBLAS|CUFFT|CURAND)_CHECK\(.*\)"),
    "a call is dropped": dropped(rf"(?!return|using|static_assert|delete)(?:{CALL}|{LAUNCH})"),
    "a lock is not taken": dropped(r"(?:const )?std::(?:scoped_lock|lock_guard|unique_lock|shared_lock)\b.*"),
    "an assignment is dropped": dropped(r"[\w.\->\[\]*]+ [-+*/|&]?= [^{}]*|(?:\+\+|--)[\w.\->\[\]]+|"
                                        r"[\w.\->\[\]]+(?:\+\+|--)"),
    "a comparison is turned": replaced(r" (<=|>=|==|!=|<|>) (?!>)", lambda match: f" {TURNED[match[1]]} "),
    "one more": replaced(NUMBER, next_number),
    "one less": replaced(NUMBER, one_less),
    "ten times as long": replaced(DURATION, lambda match: match[0] + "0"),
    "the condition is always true": replaced(CONDITION, "if (true)"),
    "the condition is never true": replaced(CONDITION, "if (false)"),
    "a not is dropped": replaced(r"(?<=[(\s])!(?=[\w(])", ""),
    "and is or": replaced(r" && ", " || "),
    "or is and": replaced(r" \|\| ", " && "),
    "plus is minus": replaced(r"(?<=[\w)\]]) \+ (?=[\w(])", " - "),
    "minus is plus": replaced(r"(?<=[\w)\]]) - (?=[\w(])", " + "),
    "a memory order is weakened": replaced(r"memory_order(::|_)(?:acquire|release|acq_rel|seq_cst)\b",
                                           r"memory_order\1relaxed"),
    "parallel is sequential": replaced(r"\bexecution::par(?:_unseq)?\b", "execution::seq"),
    "asynchronous is deferred": replaced(r"\blaunch::async\b", "launch::deferred"),
    "two arguments are exchanged": replaced(r"(?<!std::swap\()(?<=[(,] |[\w(]\()([a-z]\w*), ([a-z]\w*)(?=[,)])",
                                            lambda match: f"{match[2]}, {match[1]}" if match[1] != match[2] else None),
    "another signal": replaced(r"\b(?:SIGTERM|SIGINT|SIGKILL)\b", lambda match: SIGNALS[match[0]]),
    "every address": replaced(r"address_v4::loopback\(\)", "address_v4::any()"),
    "notify one instead of all": replaced(r"\bnotify_all\b", "notify_one"),
    "another reduction": replaced(r"\bMPI_(?:SUM|MAX|MIN|LAND)\b", lambda match: REDUCTIONS[match[0]]),
}
# Mistakes that may change nothing but what ThreadSanitizer sees.
SEEN_BY_SANITIZER = ("a lock is not taken", "a memory order is weakened")
ADDRESS = ("every address", replaced(r"127\.0\.0\.1", "0.0.0.0"))


def masked(line):
    """The line's code and its rest: what is in strings is replaced by as many \0, and comments are cut off."""
    code, place, quote = "", 0, None
    while place < len(line):
        letter = line[place]
        if quote:
            if letter == "\\":
                code += "\0\0"
                place += 2
                continue
            code += letter if letter == quote else "\0"
            quote = None if letter == quote else quote
        elif line.startswith("//", place):
            break
        else:
            quote = letter if letter in "\"" or letter == "'" and not re.search(r"\d$", code) else None
            code += letter
        place += 1
    return code, line[place:]


def mistakes_in(text, file):
    """Every mistake that the rules can make in a source."""
    if file.endswith(".sh"):
        return
    seen = set()
    lines = collections.Counter()
    in_option = False
    options = "|".join(re.findall(r"\boptions\.add\(\"[\w-]+\", (\w+),", text))
    value = "[\\w.':{} <]+"  # such as 1'000, 1 << 25 and std::size_t{1} << 26
    default = re.compile(rf"\s*[\w:]+ (?:\w+ = {value}, )*(?:{options}) = {value}(?:, \w+ = {value})*;"
                         if options else "(?!)")
    for number, line in enumerate(text.splitlines(), 1):
        code, comment = masked(line)
        lines[line.strip()] += 1
        # What an option is by default, and between which limits, is no lesson.
        in_option = in_option or code.lstrip().startswith("options.")
        left_out = in_option
        in_option = in_option and not code.rstrip().endswith(";")
        if left_out or default.fullmatch(code.rstrip()) or not code.strip() or \
                code.lstrip().startswith(("#", "*", "namespace", "template", "using ")):
            continue
        hidden = [line[i] for i, letter in enumerate(code) if letter == "\0"]
        for rule, change in [*RULES.items(), ADDRESS]:
            # What is only printed, and to connect to "every address", which is this machine, opens nothing.
            if rule == "every address" and re.search(r"\bprint|\bconnect\(", code):
                continue
            source = line[:len(code)] if rule == "every address" else code.rstrip()
            for changed in change(source):
                if changed.count("\0") not in (0, len(hidden)):
                    continue  # it has cut a string
                letters = iter(hidden)
                changed = re.sub("\0", lambda _, letters=letters: next(letters), changed)
                new = (changed + ("  " + comment if comment and changed.strip() else "")).rstrip()
                key = (number, new)
                if new.strip() != line.strip() and key not in seen:
                    seen.add(key)
                    yield Mistake(file, number, line.strip(), new.strip(), rule, lines[line.strip()])


def included(sources):
    """Our own files that these include, directly or not, themselves among them."""
    found = set()
    todo = [path.resolve() for path in sources]
    while todo:
        path = todo.pop()
        if path in found:
            continue
        found.add(path)
        chapter = next((parent for parent in path.parents if parent.parent.name in ("chapters", "tests")), path.parent)
        for name in re.findall(r'^\s*#\s*include "([^"]+)"', path.read_text(), re.M):
            places = (path.parent, chapter, *(cookbook.ROOT / folder for folder in ("common", "chapters", "tests")))
            todo += [(place / name).resolve() for place in places if (place / name).exists()][:1]
    return found


def users(one, file):
    """The recipes of its chapter that include a file, the one whose mutation it is first."""
    path = (one.folder / file).resolve()
    if path.is_relative_to(one.folder.resolve()):
        return [one]
    others = (other for other in recipe.recipes() if other.chapter == one.chapter and other.name != one.name)
    return [one, *(other for other in others
                   if path in included([*other.sources(), *one.tests.glob(f"{other.name}_test.c*")]))]


def lesson(one):
    """The sources of a recipe but its pitfalls and its bench."""
    left_out = {*one.pitfalls, one.bench}
    suffixes = [suffix for suffix in SOURCES if suffix not in (".capnp", ".sh")]
    return [source for source in one.sources(suffixes) if source.stem not in left_out]


def shared_headers(one):
    """The headers at the top of the chapter's folder of which this recipe's lesson is the first user, in reading
    order."""
    before = set()
    for other in (other for other in recipe.recipes() if other.chapter == one.chapter):
        found = {path for path in included([*lesson(other), *one.tests.glob(f"{other.name}_test.c*")])
                 if path.parent == one.folder.parent.resolve()}
        if other.name == one.name:
            return sorted(found - before)
        before |= found
    return []


def mistakes(one):
    """Every mistake that the rules can make in the lesson of a recipe: not in its pitfalls and its bench."""
    for source in [*lesson(one), *shared_headers(one)]:
        yield from mistakes_in(source.read_text(), os.path.relpath(source, one.folder))


def equivalent(one):
    """Those that are known to change no behaviour, as (file, old, new, nth or None for all)."""
    path = one.tests / "equivalent.toml"
    listed = tomllib.loads(path.read_text()).get(one.name, []) if path.exists() else []
    return {(entry["file"], entry["old"], entry["new"], entry.get("nth")) for entry in listed}


def drawn(one, seed):
    """The mistakes of a recipe in the order in which they are to be tried: that of a lottery among the rules, so that
    rules with many places do not take all turns."""
    lottery = random.Random(f"{seed} {one.name}")
    known = equivalent(one)
    by_rule = {}
    for mistake in mistakes(one):
        key = (mistake.file, mistake.old, mistake.new)
        if not {(*key, None), (*key, mistake.nth)} & known:
            by_rule.setdefault(mistake.rule, []).append(mistake)
    while by_rule:
        rule = lottery.choice(sorted(by_rule))
        yield by_rule[rule].pop(lottery.randrange(len(by_rule[rule])))
        if not by_rule[rule]:
            del by_rule[rule]


def made(text, mistake):
    """The source with the mistake in it."""
    lines = text.split("\n")
    line = lines[mistake.line - 1]
    lines[mistake.line - 1] = line[:len(line) - len(line.lstrip())] + mistake.new
    return "\n".join(lines)
