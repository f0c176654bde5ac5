"""g++, mpicxx or nvcc for the tests of the compile lines: proves a line without compiling anything twice.

Usage: reusing_objects.py COMPILER ARGUMENT...    with the folders COOKBOOK_ROOT and COOKBOOK_BUILD in the environment

What is linked, with the line's options and libraries, are the objects that the build has made from the same sources. That
the sources' includes resolve with the line's options is shown by comparison: the build has found all of them, and the
line finds the same files. Where that leaves a doubt, the preprocessor decides. A source that the build has not compiled
is compiled; one that another tool has generated counts as the same if it has the same text.
"""
import json  # no pathlib and no subprocess: hundreds of these programs start, and those take longer to load than the rest
import os
import re
import shlex
import sys

root, build = (os.path.realpath(os.environ[name]) for name in ("COOKBOOK_ROOT", "COOKBOOK_BUILD"))
# mpicxx and nvcc call g++; they are to find the real one.
wrappers = os.path.join(os.path.dirname(os.path.realpath(__file__)), "reusing_objects")
os.environ["PATH"] = ":".join(folder for folder in os.environ["PATH"].split(":") if os.path.realpath(folder) != wrappers)


def text_of(path):
    with open(path, "rb") as file:
        return file.read()


def folders_of(words):
    """The folders of the options -I and -isystem, in the order in which they are searched."""
    found = {"-I": [], "-isystem": []}
    for i, word in enumerate(words):
        for option, folders in found.items():
            if word == option:
                folders.append(words[i + 1])
            elif word.startswith(option):
                folders.append(word[len(option):].lstrip("="))
    return found["-I"] + found["-isystem"]


def commands_of_the_build():
    path = os.path.join(build, "compile_commands.json")
    return json.loads(text_of(path)) if os.path.exists(path) else []


def command_for(source, commands):
    """The words and the object with which the build has compiled this source, or another one of its name and text."""
    for entry in commands:
        if os.path.basename(entry["file"]) == os.path.basename(source) and text_of(entry["file"]) == text_of(source):
            words = shlex.split(entry["command"])
            made = os.path.join(entry["directory"], words[words.index("-o") + 1])
            if os.path.exists(made):
                return words, made
    return None, None


def implicit_folders(compiler, options):
    """Folders that the compiler searches for headers of its own accord, as far as the build may name them."""
    folders = []
    if compiler == "nvcc":
        places = [os.path.join(folder, compiler) for folder in os.environ["PATH"].split(":")]
        tool = os.path.realpath(next(path for path in places if os.path.exists(path)))
        folders.append(os.path.join(os.path.dirname(tool), "..", "include"))
    if "mpicxx" in (compiler, *options):
        folders += folders_of(shlex.split(os.popen("mpicxx -show").read()))
    return folders


def found(name, quoted, includer, folders):
    """The file that an #include names, or None if no folder has it."""
    places = [os.path.dirname(includer)] * quoted + folders
    return next((path for folder in places if os.path.isfile(path := os.path.join(folder, name))), None)


def finds_the_same(source, build_words, compiler, options):
    """Whether it is sure that the line's options lead to the same headers as the build's command, in the source and in
    all of ours that it includes."""
    harmless = r"-std=c\+\+20|-O\w?|-I.+|-march=native|-arch=native|-pthread|-g|-s|-static|-fopenmp|-fsanitize=\w+|" \
               r"-Xcompiler=-march=native|-ccbin|mpicxx"
    if not all(re.fullmatch(harmless, option) for option in options):
        return False
    known = {os.path.realpath(folder) for folder in implicit_folders(compiler, options)}
    build_folders = [folder for folder in map(os.path.realpath, folders_of(build_words)) if folder not in known]
    if not all(f"{folder}/".startswith((f"{root}/", f"{build}/")) for folder in build_folders):
        return False  # a folder of a library, which the line may not know
    line_folders = folders_of(options)

    todo, done = [(source, source)], set()
    while todo:
        pair = todo.pop()
        if pair in done:
            continue
        done.add(pair)
        text = text_of(pair[0]).decode()
        for sign, name in re.findall(r'^[ \t]*#[ \t]*include[ \t]*(["<]?)([^">\n]+)', text, re.M):
            by_build = found(name, sign == '"', pair[0], build_folders)
            by_line = found(name, sign == '"', pair[1], line_folders)
            if by_build and by_line and text_of(by_build) == text_of(by_line):
                todo.append((by_build, by_line))
            elif by_build or by_line or sign != "<":
                return False
    return True


def main():
    compiler, *words = sys.argv[1:]
    sources = [word for word in words if word.endswith((".cpp", ".c++", ".cu"))]
    output = words[words.index("-o") + 1] if "-o" in words else "a.out"
    options = [word for i, word in enumerate(words) if word not in sources and word != "-o" and words[i - 1:i] != ["-o"]]
    libraries = [word for word in options if word.startswith(("-l", "-L", "-Wl,"))]
    options = [word for word in options if word not in libraries]
    if not sources or "-c" in options:
        os.execvp(compiler, [compiler, *words])
    if "-std=c++20" not in options:
        sys.exit(f"{compiler}: the line does not ask for C++20")

    objects, commands = [], commands_of_the_build()
    for source in sources:
        if not os.path.exists(source):
            sys.exit(f"{compiler}: there is no {source}")
        build_words, made = command_for(source, commands)
        if made and not source.startswith("common/"):  # the helper library includes nothing but itself
            if not finds_the_same(source, build_words, compiler, options):
                preprocessor = [compiler, *options, "-M", "-MF", "/dev/null", source]
                if os.spawnvp(os.P_WAIT, compiler, preprocessor) != 0:
                    sys.exit(1)
        objects.append(made or source)
    flags = os.environ.get("COOKBOOK_LINK_FLAGS", "").split()  # a sanitizer's
    if "-static" in options:  # which no sanitizer can be; the build links it without, too
        flags = []
    if compiler == "nvcc":
        flags = ["-Xlinker=--strip-debug", *("-Xcompiler=" + flag.replace(",", "\\,") for flag in flags)]
    else:
        flags.append("-Wl,--strip-debug")
    os.execvp(compiler, [compiler, *options, *flags, *objects, *libraries, "-o", output])


main()
