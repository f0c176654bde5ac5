"""The command line of the scripts: parsers whose messages are one line, and the names that one may have meant."""
import argparse
import difflib

import cookbook


class Problem(Exception):
    """Ends the command with a message; the exit code is that of wrong usage unless another is given."""

    def __init__(self, text, code=2):
        super().__init__(text)
        self.code = code


class Parser(argparse.ArgumentParser):
    """A parser for a module: its doc string is the help."""

    def __init__(self, name=None, doc="", **options):
        options.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        # Subparsers give their own prog.
        super().__init__(**{"prog": f"scripts/{name}", "description": doc, "allow_abbrev": False, **options})

    def error(self, message):
        raise Problem(f"{message}; --help says more")

    def add_names(self, names, **options):
        """An argument for names, which bash completes from what `names()` returns."""
        options.setdefault("metavar", "RECIPE")
        self.add_argument("names", **options).candidates = names


def nearest(name, names):
    """The names most like `name`, best first."""
    containing = [other for other in names if name in other]
    return containing[:3] or difflib.get_close_matches(name, names, n=3, cutoff=0.4)


def hint(name, names, text="nearest: {}", otherwise=""):
    """The names most like `name` in words, or `otherwise` where none is."""
    near = nearest(name, list(names))
    return "; " + text.format(", ".join(near)) if near else otherwise and f"; {otherwise}"


def shown(path):
    """A path as one types it from the project's root."""
    return path.relative_to(cookbook.ROOT) if path.is_relative_to(cookbook.ROOT) else path
