"""Installs what recipes need; does nothing where everything is there already.

Without names for all recipes. With names, what building any recipe needs, and what these need to be built and to run.
A package that cannot be had stops none of the others: it is named, and what needs it is skipped. The exit code is 3 if
nothing could be installed.

For Debian 12 and Ubuntu 24.04; scripts/packages.json says which packages. CUDA is not installed: see README.md, "GPUs".
"""
import contextlib
import json
import os
import re
import shutil
import subprocess
import sys

import cookbook
from cookbook import recipe
from cookbook.command import Parser, Problem

POLICY = "/usr/sbin/policy-rc.d"


def parser():
    result = Parser("setup", __doc__)
    result.add_argument("--with-test-dependencies", action="store_true",
                        help="also what they are compared with and tested against, and the formatter of the sources")
    result.add_names(recipe.names, nargs="*")
    return result


def entries():
    return json.loads((cookbook.ROOT / "scripts" / "packages.json").read_text())


def wanted(recipes=None, tests=False, bench=False):
    """The packages for these recipes, or for all: each a package, or "a|b" for the first of the two that the
    distribution has. With `tests` also what they are tested against, with `bench` what their measurements need."""
    if recipes is None:
        keys = [key for key, entry in entries().items() if tests or not entry.get("tests")]
    else:
        keys = [key for key, entry in entries().items() if entry.get("always")] + ["gtest"] * tests
        for one in recipes:
            keys += one.needs + one.uses
            if tests or bench:
                keys += one.bench_needs + one.test_uses
    known = {**entries(), **dict.fromkeys(("cublas", "cufft", "curand", "nvrtc"), {})}  # parts of CUDA
    return list(dict.fromkeys(choice for key in keys for choice in known[key].get("packages", [])))


def missing(choices):
    """Those of which no alternative is installed."""
    names = [name for choice in choices for name in choice.split("|")]
    command = ["dpkg-query", "-W", "-f", "${Package} ${db:Status-Status}\n", *names]
    installed = set()
    with contextlib.suppress(FileNotFoundError):
        listed = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
        installed = {line.split()[0] for line in listed.splitlines() if line.endswith(" installed")}
    return [choice for choice in choices if not installed & set(choice.split("|"))]


def say(text):
    print(f"scripts/setup: {text}", file=sys.stderr, flush=True)


def as_root():
    """The words before a command that only root may run."""
    return [] if os.geteuid() == 0 else ["sudo"]


def apt_get(*words):
    """Whether apt-get did as told. Its output is none of the caller's standard output."""
    environment = ["env", "DEBIAN_FRONTEND=noninteractive"]
    return subprocess.run([*as_root(), *environment, "apt-get", "-qq", *words], stdout=2).returncode == 0


INSTALL = ("install", "-y", "--no-install-recommends")


def amount(packages):
    """How many packages apt-get would fetch for these, and how large they are; empty where it cannot say."""
    done = subprocess.run(["apt-get", "-qq", *INSTALL, "--print-uris", *packages], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True)
    sizes = [int(size) for size in re.findall(r"^'[^']*' \S+ (\d+)", done.stdout, re.M)]
    if done.returncode != 0 or not sizes:
        return ""
    return f" ({len(sizes)} package{'s' * (len(sizes) != 1)} with what they need, {max(1, round(sum(sizes) / 1e6))} MB)"


@contextlib.contextmanager
def no_services():
    """The recipes start their own broker, web server and sshd, on free ports. Debian would start one of each at once,
    as a service of the machine; a policy that says no (exit code 101) prevents that, for this installation only."""
    if os.path.exists(POLICY):
        yield
        return
    text = f"printf '#!/bin/sh\\nexit 101\\n' >{POLICY} && chmod +x {POLICY}"
    subprocess.run([*as_root(), "sh", "-c", text])
    try:
        yield
    finally:
        subprocess.run([*as_root(), "rm", "-f", POLICY])


def install(choices, purpose=""):
    """Installs what is missing of the `choices`; whether it could, at least in part."""
    choices = missing(choices)
    if not choices:
        return True
    texts = ", ".join(choice.replace("|", " or ") for choice in choices)
    if not shutil.which("apt-get"):
        raise Problem(f"no apt-get here; install by hand what stands for: {texts}", cookbook.REFUSED)
    if as_root() and not shutil.which("sudo"):
        raise Problem(f"not root and no sudo; ask the administrator for: {texts}", cookbook.REFUSED)
    if not apt_get("update"):
        say("the lists of packages could not be brought up to date; is there a network?")
    packages = []
    for choice in choices:
        here = [name for name in choice.split("|")
                if subprocess.run(["apt-cache", "show", name], capture_output=True).returncode == 0]
        packages += here[:1]
        if not here:  # its recipes are skipped, and the table at the end of configure says so
            say(f"this distribution has no {choice.replace('|', ' or ')}")
    if not packages:
        return False
    say(f"installing{purpose} {' '.join(packages)}{amount(packages)}")
    with no_services():
        if apt_get(*INSTALL, *packages):
            return True
        # One package that cannot be installed beside the others makes apt-get refuse all of them.
        say("not all at once; one after another")
        refused = [package for package in packages if not apt_get(*INSTALL, package)]
    if refused:
        say(f"could not be installed: {' '.join(refused)}; what needs them is skipped")
    return len(refused) < len(packages)


def for_recipes(names, tests=False, bench=False):
    """Installs what these recipes need, or all of them if none is named. Problem if nothing that is missing could be
    had."""
    chosen = None
    if names:
        if not shutil.which("cmake"):  # which lists the recipes
            require(install(wanted([])))
        known = recipe.recipes()
        chosen = [recipe.find(name, known) for name in names]
    require(install(wanted(chosen, tests, bench), f" for {', '.join(names)}:" if names else ""))


def require(installed):
    if not installed:
        raise Problem("nothing could be installed", cookbook.REFUSED)


def main(arguments):
    args = parser().parse_args(arguments)
    for_recipes(args.names, args.with_test_dependencies)
    return 0
