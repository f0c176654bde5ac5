"""What the scripts and the tests share: where the recipes are, what they are called, how each is started.

Usage: cookbook.py MANIFEST    writes titles and summaries of the pages into the manifest that configure has made
"""
import dataclasses
import difflib
import os
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SKIPPED = 77  # the exit code of what cannot run on this machine
SOURCES = (".cpp", ".cu", ".cl", ".hpp", ".cuh", ".capnp", ".sh", ".c")
# For mpirun, wherever ranks are started: where libevent, on which it is built, uses epoll, it may write warnings of its
# own to standard error. (OMPI_MCA_opal_event_include is for one of its two event loops alone.)
os.environ["EVENT_NOEPOLL"] = "1"


@dataclasses.dataclass
class Recipe:
    name: str
    chapter: str  # the folder, such as 02_threads
    title: str = ""
    summary: str = ""
    run: str = "plain"  # plain, mpi N, or parts
    needs: str = ""
    missing: str = ""  # packages without which it is not built; known after configure
    pitfalls: tuple = ()  # names of its broken programs; read from the chapter's CMakeLists.txt alone

    @property
    def folder(self):
        return ROOT / "chapters" / self.chapter / self.name

    @property
    def page(self):
        return self.folder / "README.md"

    @property
    def has_exercise(self):
        return (self.folder / "exercise.toml").exists()

    def sources(self):
        """Every source of the recipe, its main program first."""
        files = sorted(path for path in self.folder.rglob("*") if path.suffix in SOURCES)
        return sorted(files, key=lambda path: path.stem != self.name)

    @property
    def bench(self):
        """The source of the measurement, or None if there is none."""
        return next((path for path in self.sources() if path.stem == f"{self.name}_bench"), None)

    def command(self, build, program=None, arguments=()):
        """How one starts the recipe, or another program of its folder, from the build folder `build`."""
        executable = str(build / "bin" / (program or self.name))
        kind, *rest = self.run.split()
        if kind == "parts" and program is None:
            return [str(self.folder / "run.sh"), str(build / "bin"), *arguments]
        if kind == "mpi":
            # As root and with more ranks than cores, too: a recipe is a lesson, not a production job.
            return ["mpirun", "--quiet", "--allow-run-as-root", "--oversubscribe", "-n", rest[0], executable, *arguments]
        return [executable, *arguments]


def title_and_summary(page):
    """The first heading of a page (its path, or its text) and the paragraph below it as one line; empty if missing."""
    text = page if isinstance(page, str) else page.read_text() if page.exists() else ""
    match = re.match(r"# ([^\n]+)\n+([^\n#|`\s][^\n]*(?:\n[^\n#][^\n]*)*)\n", text)
    return (match[1], match[2].replace("\n", " ")) if match else ("", "")


def head_comment(source):
    """The lines of the comment at the head of a source, without their slashes."""
    lines = []
    for line in source.read_text().splitlines():
        if not line.startswith("//"):
            break
        lines.append(line[2:].strip())
    return lines


def head_field(source, field):
    """The values of the lines `// <field>: value` of a source's head comment."""
    text = "\n".join(head_comment(source))
    return re.findall(rf"^{re.escape(field)}: +(.+)$", text, re.M)


def complete(manifest_file):
    """Writes title and summary of every page into the manifest, whose lines have empty columns for them."""
    header, *rows = manifest_file.read_text().splitlines()
    lines = [header]
    for row in rows:
        columns = row.split("\t")
        columns[2:4] = title_and_summary(Recipe(columns[0], columns[1]).page)
        lines.append("\t".join(columns))
    manifest_file.write_text("\n".join(lines) + "\n")


def recipes():
    """All recipes in reading order, read from the chapters' CMakeLists.txt and the pages; needs no build folder."""
    found = []
    for listing in sorted(ROOT.glob("chapters/[0-9][0-9]_*/CMakeLists.txt")):
        for call in re.finditer(r"^\s*recipe\(\s*(\w+)([^)]*)\)", listing.read_text(), re.M):
            run = re.search(r"\bRUN\s+(mpi\s+\d+|parts|plain)", call[2])
            needs = re.search(r"\bNEEDS((?:\s+[a-z]\w*)+)", call[2])
            pitfalls = re.search(r"\bPITFALLS((?:\s+[a-z]\w*)+)", call[2])
            recipe = Recipe(call[1], listing.parent.name, run=" ".join(run[1].split()) if run else "plain",
                            needs=" ".join(needs[1].split()) if needs else "",
                            pitfalls=tuple(pitfalls[1].split()) if pitfalls else ())
            recipe.title, recipe.summary = title_and_summary(recipe.page)
            found.append(recipe)
    return found


def manifest(build):
    """The recipes as configure has written them down in the build folder."""
    header, *rows = (build / "recipes.tsv").read_text().splitlines()
    return [Recipe(**dict(zip(header.split("\t"), row.split("\t")))) for row in rows]


def nearest(name, names):
    """The names most like `name`, best first."""
    containing = [other for other in names if name in other]
    return containing[:3] or difflib.get_close_matches(name, names, n=3, cutoff=0.4)


def api_names(recipe):
    """The names of libraries' and the system's interfaces that the recipe's sources use, such as std::mutex."""
    pattern = r"\b(?:(?:std|tbb|asio|boost|cub|thrust|cg)(?:::\w+)+|(?:pthread|MPI|cuda|cublas|cufft|curand|cl|nccl)_?\w+|" \
              r"(?<=::)[a-z_]\w+(?=\())"
    return sorted({name for source in recipe.sources() for name in re.findall(pattern, source.read_text())})


if __name__ == "__main__":
    complete(pathlib.Path(sys.argv[1]))
