"""Configuring and building, in silence unless it fails."""
import json
import os
import pathlib
import re
import shlex
import sys

import cookbook
from cookbook import process, recipe
from cookbook.command import Problem

DECISIVE = re.compile(r"\berror:|\bfatal error\b|required from here|undefined reference|multiple definition|"
                      r"cannot find -l|^CMake Error|static assertion")
SHOWN_LINES = 12


def decisive_lines(text):
    """The lines of a compiler's, linker's or CMake's output that say what is wrong, each once. Of the lines "required
    from here" those in the project's own sources, which the error in a library's header is about."""
    lines = []
    for line in text.splitlines():
        own = "required from here" not in line or re.match(r"(\S*/)?(chapters|common|tests|exercises)/", line)
        if DECISIVE.search(line) and own and line not in lines:
            lines.append(line)
    return lines[:SHOWN_LINES]


def step(command, what, tree=None):
    """Runs a step of the build. If it fails, what decides is shown first, and then all that it printed."""
    done = process.run(command, cwd=tree or cookbook.ROOT)
    if done.code != 0:
        decisive = decisive_lines(done.text)
        below = "\n\nAll of the output:\n\n" if decisive else "\n"
        raise Problem(f"{what} failed\n" + "\n".join(decisive) + below + done.text.rstrip(), code=1)
    return done.text


class Build:
    """The build folder of a preset, of this tree or of a copy."""

    def __init__(self, preset=None, tree=None):
        self.preset = preset or os.environ.get("COOKBOOK_PRESET", "default")
        self.tree = tree or cookbook.ROOT
        self.folder = self.tree / ("build" if self.preset == "default" else f"build-{self.preset}")

    def configure(self, *options):
        step(["cmake", "--preset", self.preset, *options], "configuring", self.tree)

    def recipes(self):
        """The recipes, as configure knows them; configures first where it has not, or where a listing has changed
        since."""
        file = self.folder / "recipes.json"
        if not recipe.up_to_date(file):
            print(f"configuring {self.folder.name}/", file=sys.stderr, flush=True)
            self.configure()
        return recipe.read(file)

    def recipe(self, name, bench=False):
        """The recipe, configured anew where it is not built: a package may have come since. Problem if its chapter is
        not among those to build."""
        def look():
            return recipe.find(name, self.recipes())

        found = look()
        if not found.configured or found.missing or bench and found.bench_missing:
            self.configure()
            found = look()
        if not found.configured:
            raise Problem(f"{self.folder.name}/ is configured without {found.chapter}: cmake --preset {self.preset} "
                          "-DCOOKBOOK_CHAPTERS= configures all chapters", cookbook.REFUSED)
        return found

    def build(self, *targets):
        step(["cmake", "--build", str(self.folder), "--target", *targets], f"building {' '.join(targets)}")

    def targets(self):
        listed = process.run(["ninja", "-C", str(self.folder), "-t", "targets", "all"])
        return {line.split(":")[0] for line in listed.text.splitlines()}


PRECOMPILED = re.compile(r" -Winvalid-pch| (?:-Xclang )?-include(?:-pch)? (?:-Xclang )?\S*cmake_pch\S*")


def compile_command(build, source):
    """How the build compiles a source: the words and the folder, without what it is to be called and without the
    precompiled header, which is for these options alone."""
    for entry in json.loads((build / "compile_commands.json").read_text()):
        if pathlib.Path(entry["file"]) == source:
            words = shlex.split(PRECOMPILED.sub("", entry["command"]))
            at = words.index("-o")
            return words[:at] + words[at + 2:], entry["directory"]
    raise LookupError(f"the build does not compile {source}")


def link_command(build, program):
    """How the build links a program, as words; the objects and the program are relative to the build folder."""
    listed = process.run(["ninja", "-C", str(build), "-t", "commands", program])
    line = next(line for line in listed.lines if re.search(rf" -o bin/{program}(\s|$)", line))
    return shlex.split(line.removeprefix(": && ").removesuffix(" && :"))
