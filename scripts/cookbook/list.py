"""Prints the recipes by chapter, with their one-line summaries; those with an exercise (scripts/exercise) have a mark
x."""
import re
import textwrap

from cookbook import recipe
from cookbook.command import Parser, Problem, hint

INTERFACE = re.compile(r"\b(?:(?:std|tbb|asio|boost|cub|thrust|cg)(?:::\w+)+|"
                       r"(?:pthread|MPI|cuda|cublas|cufft|curand|cl|nccl)_?\w+|(?<=::)[a-z_]\w+(?=\())")


def parser():
    result = Parser("list", __doc__)
    result.add_argument("--names", action="store_true", help="the names alone, one per line", dest="only_names")
    result.add_argument("words", metavar="WORD", nargs="*",
                        help="only recipes with all the words in name, title, summary or the interfaces that they use")
    return result


def interfaces(one):
    """The names of libraries' and the system's interfaces that the recipe's sources use, such as std::mutex."""
    return sorted({name for source in one.sources() for name in INTERFACE.findall(source.read_text())})


def main(arguments):
    args = parser().parse_args(arguments)
    recipes = recipe.recipes()
    if args.only_names:
        print("\n".join(one.name for one in recipes))
        return 0
    words = [word.lower() for word in args.words]
    chapter = None
    for one in recipes:
        used = [name for name in (interfaces(one) if words else []) if any(word in name.lower() for word in words)]
        text = " ".join([one.chapter, one.name, one.title, one.summary]).lower()
        if not all(word in text or any(word in name.lower() for name in used) for word in words):
            continue
        if one.chapter != chapter:
            print(one.chapter if chapter is None else f"\n{one.chapter}")
            chapter = one.chapter
        print(f"{'x' if (one.folder / 'exercise.toml').exists() else ' '} {one.name:<26} {one.summary}")
        if used:
            print(textwrap.fill(f"uses {', '.join(used)}", 118, initial_indent=" " * 29, subsequent_indent=" " * 29))
    if chapter is None:
        near = hint(args.words[0], [one.name for one in recipes])
        raise Problem(f"nothing has {' and '.join(args.words)}{near}", code=1)
    return 0
