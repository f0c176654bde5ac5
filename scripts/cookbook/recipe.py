"""The model of a recipe, read from what CMake writes: build/recipes.json, or the same list made without a build
folder."""
import dataclasses
import datetime
import json
import os
import pathlib
import re
import subprocess
import tempfile
import zlib

import cookbook
from cookbook.command import Problem, hint

SOURCES = (".cpp", ".cu", ".cl", ".hpp", ".cuh", ".capnp", ".sh", ".c")
PROGRAMS = (".cpp", ".cu")
MANIFEST = pathlib.Path(__file__).resolve().parents[2] / "chapters" / "manifest.cmake"
# For mpirun, wherever ranks are started: where libevent, on which it is built, uses epoll, it may write warnings of its
# own to standard error. (OMPI_MCA_opal_event_include is for one of its two event loops alone.)
os.environ["EVENT_NOEPOLL"] = "1"


@dataclasses.dataclass
class Recipe:
    name: str
    chapter: str  # the folder, such as 02_threads
    launcher: str = "plain"  # plain, mpi N, or script
    needs: list = dataclasses.field(default_factory=list)  # dependencies that are linked; entries of packages.json
    uses: list = dataclasses.field(default_factory=list)  # what it needs besides to run
    bench_needs: list = dataclasses.field(default_factory=list)
    test_uses: list = dataclasses.field(default_factory=list)  # what its tests and its bench need besides
    programs: list = dataclasses.field(default_factory=list)  # further executables
    pitfalls: list = dataclasses.field(default_factory=list)  # its broken programs
    bench: str = ""  # the executable of its measurement
    configured: bool = True  # whether the build folder has its chapter
    missing: str = ""  # packages without which it is not built; known after configure
    bench_missing: str = ""

    @property
    def folder(self):
        return cookbook.ROOT / "chapters" / self.chapter / self.name

    @property
    def page(self):
        return self.folder / "README.md"

    @property
    def title(self):
        return title_and_summary(self.page)[0]

    @property
    def summary(self):
        return title_and_summary(self.page)[1]

    @property
    def tests(self):
        """The folder of the chapter's tests."""
        return cookbook.ROOT / "tests" / self.chapter

    def sources(self, suffixes=SOURCES):
        """Every source of the recipe, its main program first."""
        files = sorted(path for path in self.folder.rglob("*") if path.suffix in suffixes)
        return sorted(files, key=lambda path: path.stem != self.name)

    def source(self, program):
        """The source of one of its programs."""
        return next(path for path in self.sources(PROGRAMS) if path.stem == program)

    def command(self, build, program=None, arguments=()):
        """How one starts the recipe, or another program of its folder, from the build folder `build`."""
        executable = str(build / "bin" / (program or self.name))
        if self.launcher == "script" and program is None:
            return [str(self.folder / "run.sh"), str(build / "bin"), *arguments]
        if self.launcher.startswith("mpi"):
            # As root and with more ranks than cores, too: a recipe is a lesson, not a production job.
            ranks = self.launcher.split()[1]
            return ["mpirun", "--quiet", "--allow-run-as-root", "--oversubscribe", "-n", ranks, executable, *arguments]
        return [executable, *arguments]


def title_and_summary(page):
    """The first heading of a page (its path, or its text) and the paragraph below it as one line, without its links;
    empty if missing."""
    text = page if isinstance(page, str) else page.read_text() if page.exists() else ""
    match = re.match(r"# ([^\n]+)\n+([^\n#|`\s][^\n]*(?:\n[^\n#][^\n]*)*)\n", text)
    if not match:
        return "", ""
    # A link that is right on the page would lead elsewhere from the lists that the summary goes into.
    return match[1], re.sub(r"\[([^\]]+)\]\([^)\s]+\)", r"\1", match[2].replace("\n", " "))


def head_field(source, field):
    """The values of the lines `// <field>: value` in the comment at the head of a source."""
    head = re.match(r"(?://[^\n]*\n)*", source.read_text())[0]
    return re.findall(rf"^// *{re.escape(field)}: +(.+?) *$", head, re.M)


def read(file):
    return [Recipe(**entry) for entry in json.loads(file.read_text())]


def up_to_date(file, *patterns):
    """Whether a list that CMake has written is newer than all chapters' listings and what else the patterns name."""
    if not file.exists():
        return False
    sources = [MANIFEST, *(path for pattern in ("*/CMakeLists.txt", *patterns)
                           for path in (cookbook.ROOT / "chapters").glob(pattern))]
    return file.stat().st_mtime > max(path.stat().st_mtime for path in sources)


def recipes():
    """All recipes in reading order; needs no build folder."""
    configured = cookbook.ROOT / "build" / "recipes.json"
    if up_to_date(configured, "[0-9]*/*"):  # a recipe's folder, which may have got a bench
        return read(configured)
    with tempfile.TemporaryDirectory() as scratch:
        file = pathlib.Path(scratch) / "recipes.json"
        command = ["cmake", f"-DCHAPTERS={cookbook.ROOT / 'chapters'}", "-P", str(MANIFEST), str(file)]
        try:
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        except FileNotFoundError:
            raise Problem("cmake is needed, which lists the recipes: scripts/setup", cookbook.REFUSED) from None
        if done.returncode != 0:
            raise Problem(f"the list of recipes could not be made\n{done.stdout}", cookbook.REFUSED)
        return read(file)


# Of the recipes, one in so many has its compile lines tried on a day, and its answers: to compile takes long.
LINES_SHARE, ANSWERS_SHARE = 32, 8


def of_today(name, share):
    """Whether today a recipe is among those, one in `share`, for which something is done that takes long."""
    return (datetime.date.today().toordinal() + zlib.crc32(name.encode())) % share == 0


def names():
    return [recipe.name for recipe in recipes()]


def find(name, among=None, what="there is no recipe {}", otherwise="scripts/list prints the recipes"):
    """The recipe of that name, among all or those given ({name: recipe}, or recipes); Problem, with the names most like
    it, if there is none."""
    among = recipes() if among is None else among
    known = among if isinstance(among, dict) else {one.name: one for one in among}
    if name not in known:
        raise Problem(what.format(name) + hint(name, known, "did you mean {}?", otherwise))
    return known[name]
