"""Builds the cookbook as a site to read in a browser, with search, from the pages as they are: build/site/index.html.

    scripts/site            builds it; a link that leads nowhere is an error
    scripts/site --serve    builds it and shows it on http://127.0.0.1:8000/

The generator (MkDocs with Material) and the script that draws the diagrams come from PyPI, into a virtual environment
under build/. The built site asks no other host for anything.
"""
import functools
import hashlib
import http.server
import importlib.util
import os
import shutil
import sys
import zipfile

import cookbook
from cookbook import process, setup
from cookbook.command import Parser, Problem, shown

FILES = cookbook.ROOT / "scripts" / "cookbook" / "site_files"
TOOLS = cookbook.ROOT / "build" / "site-tools"
# The package that has Mermaid with all of its parts, for a site that loads nothing from elsewhere. Only that folder of
# it is used.
MERMAID = "nicegui==3.18.0"
MERMAID_FOLDER = "nicegui/elements/mermaid/dist/"


def parser():
    result = Parser("site", __doc__)
    result.add_argument("--serve", metavar="PORT", nargs="?", type=int, const=8000,
                        help="show the site on this port of 127.0.0.1, 8000 without a number, until Ctrl-C")
    return result


def run(command, what):
    """Runs a command of the tools; its output is shown only if it fails."""
    done = process.run([str(word) for word in command], limit=600, environment={"PYTHONPATH": str(FILES.parents[1])})
    if done.code != 0:
        raise Problem(f"{what}\n{done.text.rstrip()}", cookbook.REFUSED if "pip" in str(command[0]) else 1)


def prepare_tools():
    """The virtual environment, made anew when the requirements have changed."""
    wanted = hashlib.sha256((FILES / "requirements.txt").read_bytes() + MERMAID.encode()).hexdigest()
    stamp = TOOLS / "stamp"
    if stamp.exists() and stamp.read_text() == wanted:
        return
    if importlib.util.find_spec("ensurepip") is None:  # on Debian it is a package of its own
        setup.require(setup.install(["python3-venv"], " for the virtual environment:"))
    print(f"scripts/site: installing MkDocs and Mermaid from PyPI into {shown(TOOLS)}", file=sys.stderr)
    shutil.rmtree(TOOLS, ignore_errors=True)
    run([sys.executable, "-m", "venv", TOOLS], "the virtual environment could not be made; is python3-venv installed?")
    pip = [TOOLS / "bin" / "pip", "--quiet", "--disable-pip-version-check"]
    run([*pip, "install", "-r", FILES / "requirements.txt"], "the generator could not be installed")
    run([*pip, "download", "--no-deps", "--dest", TOOLS, MERMAID], "Mermaid could not be had")
    with zipfile.ZipFile(next(TOOLS.glob("nicegui-*.whl"))) as wheel:
        for name in wheel.namelist():
            if name.startswith(MERMAID_FOLDER) and name.endswith(".js"):
                target = TOOLS / "mermaid" / name.removeprefix(MERMAID_FOLDER)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(wheel.read(name))
    stamp.write_text(wanted)


def build():
    prepare_tools()
    work = cookbook.ROOT / "build" / "site-pages"
    run([TOOLS / "bin" / "python", "-m", "cookbook.site_pages", work], "the pages could not be written")
    shutil.copytree(TOOLS / "mermaid", work / "docs" / "mermaid")
    folder = cookbook.ROOT / "build" / "site"
    run([TOOLS / "bin" / "mkdocs", "build", "--strict", "--quiet", "--clean", "-f", work / "mkdocs.yml", "-d", folder],
        "the site could not be built")
    return folder


def main(arguments):
    args = parser().parse_args(arguments)
    folder = build()
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    print(f"{shown(folder / 'index.html')}, {size / 1e6:.0f} MB")
    if args.serve is not None:
        handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=os.fspath(folder))
        with http.server.ThreadingHTTPServer(("127.0.0.1", args.serve), handler) as server:
            print(f"http://127.0.0.1:{server.server_port}/", flush=True)
            server.serve_forever()
    return 0
