"""The exercises: broken programs to repair. Where each is defined, what the learner gets, what a repair must keep.

An exercise is a pitfall of a recipe, or a program to complete. exercise.toml in the recipe's folder has a table each:

    [lock_race]                        # the name of the program
    task = "..."                       # what it does wrong, and what it shall do; never why
    hints = ["...", "...", "..."]      # each says more than the one before
    prints = ["counter: 0"]            # regular expressions; each must match a whole line that the repair prints
    keep = ["if (counter == 0)"]       # text that must stay in the program, white space aside: its work and its checks
    refuse = {"regular expression" = "why"}  # what a repair must not be, looked for in the program without white space
    threads = 3                        # that must exist at the same time in one process, main included
    processes = 2                      # that the program must start, in all
    calls = {MPI_Send = 2}             # calls of MPI's functions, at least, in all ranks together;
                                       # "MPI_Send|MPI_Isend" = 2 counts both
    sanitizer = "thread"               # thread, address (with undefined), none; for CUDA a tool of compute-sanitizer:
                                       # memcheck, racecheck, initcheck, synccheck. Without this line: thread where the
                                       # source includes <thread>, memcheck for CUDA, none for MPI, otherwise address
    limit = 5                          # seconds; a program that runs longer is said to hang. 5 without this line
    files = ["draw.cl"]                # further files of the recipe that the learner gets
    without = ["// the second one"]    # text that the learner does not get, since it gives the answer away

tests/<chapter>/solutions/<name>.toml has the changes that repair it, and those of a plausible repair that is wrong:

    [[solution]]                       # file = "draw.cl" where it is not the program's own
    old = "long counter = 0;"          # occurs exactly once in what the learner gets
    new = "std::atomic<long> counter = 0;"

    [wrong]
    why = "sleeping only makes the race rarer"
    refused = "sleeps"                 # text that the judge's answer to it must contain

    [[wrong.edits]]
    old = "..."
    new = "..."
"""
import dataclasses
import json
import os
import pathlib
import re
import textwrap
import tomllib

import cookbook
from cookbook import recipe as model

SANITIZERS = ("thread", "address", "none", "memcheck", "racecheck", "initcheck", "synccheck")
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
    sanitizer: str = ""
    limit: int = 5
    files: list = dataclasses.field(default_factory=list)
    without: list = dataclasses.field(default_factory=list)

    @property
    def original(self):
        """The program as it stands in the recipe's folder."""
        return self.recipe.source(self.name)

    @property
    def solution_file(self):
        return self.recipe.tests / "solutions" / f"{self.name}.toml"

    def texts(self):
        """What the learner gets: {file name: text}, the program first."""
        source = self.original
        given = {source.name: self.head() + "\n" + self.stripped(source.read_text())}
        return given | {name: self.stripped((self.recipe.folder / name).read_text()) for name in self.files}

    def head(self):
        lines = [f"Exercise: {self.name}", ""]
        for paragraph in self.task.strip().split("\n\n"):
            lines += [*textwrap.wrap(" ".join(paragraph.split()), WIDTH - 3, break_on_hyphens=False), ""]
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
        return tomllib.loads(self.solution_file.read_text())

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
FIELDS = {field.name: field.type for field in dataclasses.fields(Exercise)[2:]}


def squeezed(text):
    """A source without comments and white space."""
    text = re.sub(r"//[^\n]*", "", re.sub(r"/\*.*?\*/", "", text, flags=re.S))
    return re.sub(r"\s+", "", text)


def tables_of(recipe):
    """The tables of the recipe's exercise.toml, by name."""
    listing = recipe.folder / "exercise.toml"
    return tomllib.loads(listing.read_text()) if listing.exists() else {}


def exercises():
    """All exercises in learning order. Needs no build folder."""
    return [Exercise(name, recipe, **tables[name]) for recipe in model.recipes() if (tables := tables_of(recipe))
            for name in recipe.pitfalls if name in tables]


def faults_of_lists():
    """What is wrong with the definitions, as texts."""
    for recipe in model.recipes():
        tables = tables_of(recipe)
        for name in recipe.pitfalls:
            if name not in tables:
                yield f"{recipe.name}: the pitfall {name} has no exercise"
        for name, table in tables.items():
            if name not in recipe.pitfalls:
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
    for piece in exercise.keep:
        if squeezed(piece) not in given:
            yield f"{exercise.name}: to keep, but not in what the learner gets: {piece}"
    sources = [exercise.original.read_text(), *((exercise.recipe.folder / name).read_text() for name in exercise.files)]
    for piece in exercise.without:
        if not any(piece in source for source in sources):
            yield f"{exercise.name}: to leave out, but not in the program: {piece}"
    if not exercise.solution_file.exists():
        yield f"{exercise.name}: no {exercise.solution_file.relative_to(cookbook.ROOT)}"
        return
    solution = exercise.solution()
    try:
        for edits in (solution["solution"], solution["wrong"]["edits"]):
            exercise.edited(edits)
        if not solution["wrong"]["why"] or not solution["wrong"]["refused"]:
            yield f"{exercise.name}: a wrong repair without why or refused"
    except (KeyError, ValueError) as error:
        yield f"{exercise.name}: {error}"


# What the learner has done -------------------------------------------------------------------------------------------

def work_folder():
    return pathlib.Path(os.environ.get("COOKBOOK_EXERCISES", cookbook.ROOT / "exercises"))


class Progress:
    """What is done and how many hints were given: {name: {"done": bool, "hints": N}}, kept in progress.json."""

    def __init__(self):
        self.file = work_folder() / "progress.json"
        self.entries = json.loads(self.file.read_text()) if self.file.exists() else {}

    def of(self, name):
        return self.entries.get(name, {})

    def note(self, name, **changes):
        self.entries[name] = {**self.of(name), **changes}
        self.file.parent.mkdir(parents=True, exist_ok=True)
        written = self.file.with_suffix(".new")
        written.write_text(json.dumps(self.entries, indent=1) + "\n")
        written.replace(self.file)
