"""Writes what is made from other files: from the pages the list of recipes in README.md, each chapter's table, and
chapters/INDEX.md; from the records of benches the tables of figures on the pages (figures.py)."""
import re

import cookbook
from cookbook import figures
from cookbook import recipe as model
from cookbook.command import Parser, Problem, shown

BEGIN, END = "<!-- recipes: made by scripts/update_index -->", "<!-- end of recipes -->"

# Interfaces by the library that they belong to: heading, and what a code span in the right column of a page's table
# must begin with. The first group that fits takes it.
GROUPS = [
    ("C++ standard library", r"(?:std|atomic)::\w[\w:]*|co_await|co_return|co_yield|thread_local|alignas|volatile"),
    ("OpenMP", r"#pragma omp [a-z ]+|omp_\w+"),
    ("oneTBB", r"tbb::[\w:]+"),
    ("Boost and Asio", r"(?:boost|asio|beast|awaitable_operators|net|http)(?:::[\w:]+)?"),
    ("MPI", r"MPI_\w+|mpirun|mpicxx"),
    ("CUDA and its libraries", r"__\w+|(?:cub|thrust|nvcuda|cg)::[\w:]+|"
                               r"(?:cuda|cublas|cufft|curand|nccl|nvrtc|cu)[A-Z]\w+|nvcc"),
    ("OpenCL", r"cl::\w+|cl[A-Z]\w+|CL_\w+|__kernel"),
    ("POSIX and Linux", r"(?:pthread|sem|posix|shm|sched|mq|epoll|timer)_\w+|f?exec[lv]p?e?|v?fork|wait(?:p?id)|"
                        r"kill|pipe2?|poll|prctl\(\w+|prctl|mmap|munmap|futex|getppid|getpid|gettid|setenv|socketpair|signalfd|pidfd_\w+|sigaction|"
                        r"ftruncate|fcntl|dup2|nice|ps|taskset"),
]


def padded(rows):
    """The lines of a table, its first row the head, with columns of equal width, as mdformat writes them."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    rows.insert(1, ["-" * width for width in widths])
    padded = ([cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in rows)
    return [f"| {' | '.join(row)} |" for row in padded]


def table(recipes, folder):
    rows = [[f"[`{recipe.name}`]({recipe.folder.relative_to(folder)}/README.md)", recipe.title, recipe.summary]
            for recipe in recipes]
    return "\n".join(padded([["recipe", "title", "what it shows"], *rows]))


def chapter_table(by_chapter):
    """A row per chapter, for the root README."""
    rows = [["chapter", "what it is about", "recipes"]]
    for chapter, recipes in by_chapter.items():
        title, summary = model.title_and_summary(cookbook.ROOT / "chapters" / chapter / "README.md")
        rows.append([f"[{title}](chapters/{chapter}/README.md)", summary, str(len(recipes))])
    return "\n".join(padded(rows))


def python_tables(recipe):
    """(left cell, right cell) of each row of the table on the recipe's page whose first heading begins with Python."""
    inside = False
    for line in recipe.page.read_text().splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]] if line.startswith("|") else []
        if len(cells) != 2:
            inside = False
        elif cells[0].startswith("Python"):
            inside = True
        elif inside and not set(cells[0]) <= set("-: "):
            yield cells


def spans(cell):
    return [span.replace("\\|", "|") for span in re.findall(r"`([^`]+)`", cell)]


# The names with which Python's modules and packages appear in the tables, whatever they were imported as.
MODULES = set("""array asyncio celery cl comm concurrent contextlib cp ctypes cuda cupy curandom cublas drv driver fcntl
flask functools futures gpuarray itertools json linalg mask math mmap MPI mpi4py multiprocessing np numba numpy os pycsp
pycuda pyopencl Pyro4 queue random rpyc scipy scoop select selectors signal skcuda socket string struct subprocess sys
threading time torch types""".split())


# Functions that are the reader's own in the tables' examples, and words that nobody looks up.
OWN = set("""Add add cin CookBook counter cout f factorial func g handler kernel lambda_handler Layer linear_combination
main mandel may_take multiply MyProcess None OPTIONS HEAD PREFERRED_WORK_GROUP_SIZE_MULTIPLE print printer work
worker""".split())


def python_names(span):
    """What a reader would look up of a piece of Python: functions and classes, those of a module by their full names,
    and keywords that begin a statement. Nothing of literals, operators and variables."""
    code = re.sub(r"""(["']).*?\1""", "''", span)
    if keyword := re.match(r"(?:async (?:def|with|for)|await|yield|with|lambda|nonlocal|global|del)\b", code):
        yield keyword[0]
    for match in re.finditer(r"(?<![\w.)\]])(?P<at>@?)(?P<name>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)(?P<call>\(?)", code):
        root, *rest = match["name"].split(".")
        if rest and root in MODULES or match["at"]:
            yield match["at"] + match["name"]
        elif match["call"] and len(name := [root, *rest][-1]) > 1 and name not in OWN:
            yield f"{name}()"
    if re.fullmatch(r"__\w+__|[A-Z]\w{3,}", span) and span not in OWN:
        yield span


def index(recipes):
    """The text of chapters/INDEX.md."""
    python, groups = {}, {heading: {} for heading, _ in GROUPS}
    for recipe in recipes:
        for left, right in python_tables(recipe):
            for name in (name for span in spans(left) for name in python_names(span)):
                python.setdefault(name, {})[recipe.name] = recipe
            for span in spans(right):
                for heading, pattern in GROUPS:
                    if match := re.match(rf"(?:{pattern})(?![\w])", span.removeprefix("::")):
                        name = re.sub(r"^prctl\((\w+)", r"prctl(\1)", match[0])
                        groups[heading].setdefault(name, {})[recipe.name] = recipe
                        break

    def lines(entries):
        for span in sorted(entries, key=lambda span: (re.sub(r"\W", "", span).lower(), span)):
            links = ", ".join(f"[{name}]({recipe.chapter}/{name}/README.md)" for name, recipe in entries[span].items())
            yield f"- `{span}`: {links}"

    parts = ["# Index\n\nFrom a construct of Python, or an interface of C++ or of a library, to the recipes whose "
             "pages name it in their table. `scripts/list WORD` looks into the sources as well.\n\n"
             "<!-- made by scripts/update_index from the pages -->",
             "## From Python\n\n" + "\n".join(lines(python))]
    parts += [f"## {heading}\n\n" + "\n".join(lines(entries)) for heading, entries in groups.items() if entries]
    return "\n\n".join(parts) + "\n"


def parser():
    result = Parser("update_index", __doc__)
    result.add_argument("--check", action="store_true", help="write nothing; exit code 1, naming the file, where "
                        "something is not what would be written")
    return result


def main(arguments):
    args = parser().parse_args(arguments)
    by_chapter = {}
    for recipe in model.recipes():
        by_chapter.setdefault(recipe.chapter, []).append(recipe)

    marked = {cookbook.ROOT / "README.md": chapter_table(by_chapter)}
    for chapter, recipes in by_chapter.items():
        folder = cookbook.ROOT / "chapters" / chapter
        marked[folder / "README.md"] = table(recipes, folder)
    wanted = {cookbook.ROOT / "chapters" / "INDEX.md": index([recipe for row in by_chapter.values() for recipe in row])}
    for path, text in marked.items():
        before = path.read_text()
        if before.count(BEGIN) != 1 or before.count(END) != 1:
            print(f"{shown(path)}: the marks are missing: {BEGIN} and {END}")
            return 1
        head, tail = before.split(BEGIN)[0], before.split(END)[1]
        wanted[path] = f"{head}{BEGIN}\n\n{text}\n\n{END}{tail}"

    for recipe in (recipe for row in by_chapter.values() for recipe in row):
        text = recipe.page.read_text()
        if figures.BLOCK.search(text):
            try:
                wanted[recipe.page] = figures.with_figures(text, figures.kept(recipe.folder), padded)
            except Problem as problem:
                print(f"{shown(recipe.page)}: {problem}")
                return 1

    stale = [path for path, text in wanted.items() if not path.exists() or path.read_text() != text]
    for path in stale:
        if args.check:
            print(f"{shown(path)} is out of date; run scripts/update_index")
        else:
            path.write_text(wanted[path])
    return 1 if stale and args.check else 0
