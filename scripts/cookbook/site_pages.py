"""Writes what MkDocs makes the site from, into a folder: docs/ with every page, and mkdocs.yml.

    python -m cookbook.site_pages FOLDER    run by scripts/site, in the virtual environment that has the generator

The texts are those of the repository. What is changed in them is what GitHub's Markdown and Python's write differently,
and links to files that are no pages: a recipe's sources stand below its page, other files have a page each.
"""
import json
import pathlib
import posixpath
import re
import shutil
import sys

import pygments
from markdown_it import MarkdownIt
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name, get_lexer_for_filename
from pygments.util import ClassNotFound

import cookbook
from cookbook import compiler_explorer, exercises, figures, index, page, plot
from cookbook import recipe as model
from cookbook.site import FILES

LEXERS = {".cu": "cuda", ".cuh": "cuda", ".hpp": "cpp", ".cl": "c", ".capnp": "capnp", ".toml": "toml"}
LINK = re.compile(r"(?P<code>`+[^`].*?`+)|\]\((?P<target>[^)\s]+)\)", re.S)
FENCE = re.compile(r" *(?P<marks>```+|~~~+)")
# Pages besides those of the chapters and their recipes.
CONTRIBUTING = ["CONTRIBUTING.md", "chapters/README.md", "CHANGELOG.md"]
INDEX = "chapters/INDEX.md"


def anchor(name):
    """The anchor of a source on its recipe's page: lock.cpp is lock-cpp."""
    return re.sub(r"[^\w]", "-", name)


def highlighted(text, name):
    """A source as HTML with an anchor per line, such as lock-cpp-12."""
    suffix = pathlib.PurePath(name).suffix
    try:
        lexer = get_lexer_by_name(LEXERS[suffix]) if suffix in LEXERS else get_lexer_for_filename(name)
    except ClassNotFound:
        lexer = get_lexer_by_name("bash" if text.startswith("#!") else "text")
    html = pygments.highlight(text, lexer, HtmlFormatter(linenos="inline", lineanchors=anchor(name),
                                                        anchorlinenos=True, cssclass="highlight source"))
    return html.rstrip() + "\n"


def by_fences(text):
    """The lines of a page as (line, whether it belongs to a fenced block)."""
    marks = None
    for line in text.splitlines():
        match = FENCE.match(line)
        if marks is None and match:
            marks = match["marks"]
            yield line, True
        elif marks is not None:
            if line.strip() == marks:
                marks = None
            yield line, True
        else:
            yield line, False


def outside_fences(text, change):
    """A page with `change` applied to what is not in a fenced block, paragraph by paragraph or in longer pieces."""
    result, piece = [], []
    for line, fenced in [*by_fences(text), ("", True)]:
        if fenced:
            if piece:
                result += change("\n".join(piece)).split("\n")
                piece = []
            result.append(line)
        else:
            piece.append(line)
    return "\n".join(result[:-1]) + "\n"


def deeper_lists(text):
    """A page whose list items have their further lines indented by four, as Python's Markdown wants it. GitHub's wants
    as many as the item's mark has: two or three."""
    lines = text.split("\n")
    extra = [0] * len(lines)
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        if token.type == "list_item_open":
            first, end = token.map
            mark = re.match(r" *(?:[-*+]|\d+[.)]) +", lines[first])[0]
            width = len(mark.lstrip(" "))
            for i in range(first + 1, end):
                extra[i] += 4 - width
    return "\n".join(" " * more + line if line.strip() else line for more, line in zip(extra, lines, strict=True))


class Site:
    def __init__(self, folder):
        self.folder, self.docs = folder, folder / "docs"
        self.recipes = model.recipes()
        self.by_folder = {recipe.folder.relative_to(cookbook.ROOT).as_posix(): recipe for recipe in self.recipes}
        self.files = {}  # what got a page of its own because a page links to it: path in the repository, page
        self.tags = self.interfaces()

    def interfaces(self):
        """The interfaces of C++ and its libraries by recipe, as the index has them."""
        tags, text = {}, index.index(self.recipes)
        for line in text[text.index("## C++ standard library"):].splitlines():
            if match := re.match(r"- `(.+?)`: ", line):
                for name in re.findall(r"\[(\w+)\]\(", line):
                    tags.setdefault(name, []).append(match[1])
        return tags

    def write(self, path, text):
        target = self.docs / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    def write_converted(self, path):
        self.write(path, self.converted((cookbook.ROOT / path).read_text(), path))

    def target(self, here, link):
        """Where a link of the page `here` (a path in the repository) leads to on the site."""
        path, mark, fragment = link.partition("#")
        if re.match(r"[a-z]+:", link) or not path:
            return link
        goal = posixpath.normpath(posixpath.join(posixpath.dirname(here), path))
        file = cookbook.ROOT / goal
        if not file.exists():
            raise SystemExit(f"{here}: a link to {link}, which does not exist")
        recipe = self.by_folder.get(posixpath.dirname(goal))
        if file.is_dir():
            goal = posixpath.join(goal, "README.md")
            if not (cookbook.ROOT / goal).exists():
                return self.list_page(here, file)
        elif file.suffix in (".png", ".svg"):
            (self.docs / goal).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, self.docs / goal)
        elif recipe and file in self.shown_sources(recipe):
            goal, fragment, mark = posixpath.join(posixpath.dirname(goal), "README.md"), anchor(file.name), "#"
        elif file.suffix != ".md":
            self.files[goal] = f"files/{goal}.md"
            goal = self.files[goal]
        result = posixpath.relpath(goal, posixpath.dirname(here) or ".") + mark + fragment
        return f"#{fragment}" if goal == here and fragment else result

    def list_page(self, here, folder):
        """A folder without a page of its own becomes a list of its files."""
        goal = folder.relative_to(cookbook.ROOT).as_posix()
        page = f"files/{goal}/index.md"
        lines = [f"# {goal}\n"]
        for name in sorted(path.name for path in folder.iterdir() if path.is_file()):
            lines.append(f"- [{name}]({self.target(page, posixpath.relpath(f'{goal}/{name}', f'files/{goal}'))})")
        self.write(page, "\n".join(lines) + "\n")
        return posixpath.relpath(page, posixpath.dirname(here) or ".")

    def shown_sources(self, recipe):
        return [*recipe.sources(), *sorted(recipe.folder.glob("*.yaml")), *sorted(recipe.folder.glob("*.txt"))]

    def converted(self, text, here):
        """A page of the repository in the form of the site."""
        def change(piece):
            return LINK.sub(lambda match: match["code"] or f"]({self.target(here, match['target'])})", piece)

        text = outside_fences(text, change)
        text = re.sub(r"^( *```(?:console|cpp|cuda|c|sh|text|mermaid))\b[^\n]*$", r"\1", text, flags=re.M)
        text = text.replace("<details>", '<details markdown="1">')
        text = re.sub(r"^(<details[^\n]*>)(<summary>)", r"\1\n\2", text, flags=re.M)
        return deeper_lists(text)

    def excerpts(self, recipe, text):
        """The page with a link below each excerpt, to its place in the source."""
        pools = []
        for source in recipe.sources():
            text_of_source = source.read_text()
            numbers = [i for i, line in enumerate(text_of_source.splitlines(), 1) if line.strip()]
            pools.append((source.name, numbers, page.squeeze(text_of_source)))

        def with_place(match):
            needle = page.squeeze(match[1])
            for name, numbers, lines in pools:
                if (i := page.position(needle, lines)) is not None:
                    first, last = numbers[i], numbers[i + len(needle) - 1]
                    where = f"line {first}" if first == last else f"lines {first} to {last}"
                    return f"{match[0]}\n\n[{name}, {where}](#{anchor(name)}-{first}){{ .place }}"
            return match[0]

        return page.EXCERPT.sub(with_place, text)

    def plots(self, recipe, text):
        """The page with a picture below each table of figures that are kept."""
        records = figures.kept(recipe.folder)
        folder = self.docs / "chapters" / recipe.chapter / recipe.name

        def with_pictures(match):
            lines = []
            folder.mkdir(parents=True, exist_ok=True)
            for machine, tables in figures.chosen(records, match[2]).items():
                for title, rows in tables.items():
                    name = f"{plot.slug(title)}.{plot.slug(machine)}.svg"
                    plot.picture(rows, folder / name)
                    lines.append(f"![{title}, {machine}]({name})")
            return f"{match[0]}\n\n" + "\n\n".join(lines)

        return figures.BLOCK.sub(with_pictures, text)

    def recipe_page(self, recipe):
        here = f"chapters/{recipe.chapter}/{recipe.name}/README.md"
        text = self.excerpts(recipe, recipe.page.read_text())
        text = self.plots(recipe, self.converted(text, here))
        text = re.sub(r"^(\*\*Read first:\*\*.*?)\n\n", r"\1\n{ .read-first }\n\n", text, count=1, flags=re.M | re.S)
        front = json.dumps({"tags": self.tags.get(recipe.name, [])})
        parts = [f"---\n{front}\n---\n\n{text}", '## Sources {#sources}\n']
        for source in self.shown_sources(recipe):
            kind = " (the pitfall)" if source.stem in recipe.pitfalls else ""
            parts.append(f"### {source.name}{kind} {{#{anchor(source.name)}}}\n")
            if url := compiler_explorer.link(source):
                parts.append(f"[Open in Compiler Explorer]({url}){{ .explore }}\n")
            parts.append(highlighted(source.read_text(), source.name))
        self.write(here, "\n".join(parts))
        return here

    def chapter_pages(self, chapter):
        """The navigation of a chapter."""
        folder = f"chapters/{chapter}"
        entries = [f"{folder}/README.md"]
        self.write_converted(entries[0])
        for recipe in self.recipes:
            if recipe.chapter == chapter:
                entries.append({recipe.name: self.recipe_page(recipe)})
        book = f"{folder}/THE_BOOK.md"
        if (cookbook.ROOT / book).exists():  # chapter 9 is not of the book
            self.write_converted(book)
            entries.append({"The book's own programs": book})
        number, _, word = chapter.partition("_")
        word = word.replace("_", " ")
        return {f"{int(number)} {word.upper() if word == 'gpu' else word.capitalize()}": entries}

    def exercises_page(self):
        lines = ["# Exercises\n", "Broken programs to repair, in learning order. `scripts/exercise start NAME` gives "
                 "you one, `scripts/exercise check` judges the repair.\n"]
        chapter = None
        for one in exercises.exercises():
            if one.recipe.chapter != chapter:
                chapter = one.recipe.chapter
                title = model.title_and_summary(cookbook.ROOT / "chapters" / chapter / "README.md")[0]
                lines.append(f"## {title}\n")
            lines.append(f"### {one.name}\n\n[{one.recipe.title}](chapters/{chapter}/{one.recipe.name}/README.md)\n")
            lines.append(one.task.strip() + "\n")
            for number, hint in enumerate(one.hints, 1):
                lines.append(f'<details markdown="1">\n<summary>Hint {number}</summary>\n\n{hint}\n\n</details>\n')
        self.write("exercises.md", "\n".join(lines))

    def first_page(self):
        """The root's README below three ways in."""
        ways = (FILES / "ways_in.md").read_text()
        text = self.converted((cookbook.ROOT / "README.md").read_text(), "README.md")
        title, rest = text.split("\n", 1)
        summary, rest = rest.strip().split("\n\n", 1)
        self.write("README.md", f"---\nhide: [navigation]\n---\n\n{title}\n\n{summary}\n\n{ways}\n{rest}")

    def build(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        self.docs.mkdir(parents=True)
        self.first_page()
        for name in [INDEX, *CONTRIBUTING]:
            self.write_converted(name)
        chapters = list(dict.fromkeys(recipe.chapter for recipe in self.recipes))
        nav = [{"Home": "README.md"}, *(self.chapter_pages(chapter) for chapter in chapters)]
        self.exercises_page()
        self.write("tags.md", "# By construct\n\n<!-- material/tags -->\n")
        nav += [{"Exercises": "exercises.md"},
                {"Look up": [{"Index": INDEX}, {"By construct": "tags.md"}]},
                {"Contribute": CONTRIBUTING}]
        for file, path in sorted(self.files.items()):
            source = highlighted((cookbook.ROOT / file).read_text(), file)
            self.write(path, f"---\nsearch: {{boost: 0.2}}\n---\n\n# {file}\n\n{source}")
        for name in ("cookbook.css", "cookbook.js"):
            shutil.copyfile(FILES / name, self.docs / name)
        (self.folder / "mkdocs.yml").write_text((FILES / "mkdocs.yml").read_text() + "\nnav: " + json.dumps(nav) + "\n")


if __name__ == "__main__":
    Site(pathlib.Path(sys.argv[1]).resolve()).build()
