"""The second half of scripts/run: configures, builds and runs recipes. Use scripts/run."""
import os
import subprocess
import sys
import time

import cookbook

PRESET = os.environ.get("COOKBOOK_PRESET", "default")
BUILD = cookbook.ROOT / ("build" if PRESET == "default" else f"build-{PRESET}")


def quietly(command, what):
    """Runs a build step; its output is shown, on standard error, only if it fails."""
    done = subprocess.run(command, cwd=cookbook.ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        sys.stderr.write(done.stdout)
        sys.exit(f"scripts/run: {what} failed")
    return done.stdout


def configure(again=False):
    if again or not (BUILD / "build.ninja").exists():
        print(f"scripts/run: configuring {BUILD.name}/", file=sys.stderr)
        quietly(["cmake", "--preset", PRESET], "configuring")


def existing(targets):
    """Those of the targets that the build has."""
    listed = "\n" + quietly(["ninja", "-C", str(BUILD), "-t", "targets", "all"], "listing the targets")
    return [target for target in targets if f"\n{target}: phony" in listed]


def build(*targets):
    quietly(["cmake", "--build", str(BUILD), "--target", *targets], f"building {' '.join(targets)}")


def run_one(name, arguments):
    names = [recipe.name for recipe in cookbook.recipes()]
    if name not in names:
        near = cookbook.nearest(name, names)
        hint = f"did you mean {', '.join(near)}?" if near else "scripts/list prints the recipes"
        print(f"scripts/run: no recipe {name}; {hint}", file=sys.stderr)
        return 2
    configure()
    recipe = next((recipe for recipe in cookbook.manifest(BUILD) if recipe.name == name), None)
    if recipe is None or recipe.missing:
        # A package may have come, or a recipe, since configure looked.
        quietly(["cmake", "--preset", PRESET], "configuring")
        recipe = next(recipe for recipe in cookbook.manifest(BUILD) if recipe.name == name)
    if recipe.missing:
        print(f"scripts/run: {name} is not built; install {recipe.missing} (scripts/setup does)", file=sys.stderr)
        return cookbook.SKIPPED
    build("recipes" if recipe.run == "parts" else name)
    command = recipe.command(BUILD, arguments=arguments)
    os.execvp(command[0], command)


def last_reason(text):
    lines = [line for line in text.splitlines() if line.strip()]
    return next((line for line in lines if line.startswith("FAIL")), lines[-1] if lines else "no output")


def run_all():
    quietly(["cmake", "--preset", PRESET], "configuring")
    print("scripts/run: building", file=sys.stderr)
    build("recipes")
    recipes = cookbook.manifest(BUILD)
    rows = []
    for number, recipe in enumerate(recipes, 1):
        print(f"[{number}/{len(recipes)}] {recipe.name}", file=sys.stderr, flush=True)
        if recipe.missing:
            rows.append((recipe, "skipped", "", f"needs {recipe.missing}"))
            continue
        start = time.monotonic()
        try:
            done = subprocess.run(recipe.command(BUILD), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, timeout=120)
            outcome = {0: "ok", cookbook.SKIPPED: "skipped"}.get(done.returncode, f"exit {done.returncode}")
            reason = "" if done.returncode == 0 else last_reason(done.stdout)
        except subprocess.TimeoutExpired:
            outcome, reason = "timeout", "still running after 120 s"
        rows.append((recipe, outcome, f"{time.monotonic() - start:.2f} s", reason))

    print(f"{'recipe':<28} {'outcome':<8} {'time':>8}")
    chapter = None
    for recipe, outcome, seconds, reason in rows:
        if recipe.chapter != chapter:
            chapter = recipe.chapter
            print(chapter)
        print(f"  {recipe.name:<26} {outcome:<8} {seconds:>8}  {reason}".rstrip())
    failed = sum(outcome not in ("ok", "skipped") for _, outcome, _, _ in rows)
    skipped = sum(outcome == "skipped" for _, outcome, _, _ in rows)
    print(f"{len(rows) - failed - skipped} ok, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


def main():
    arguments = sys.argv[1:]
    if arguments[0] == "--all":
        if len(arguments) > 1:
            print(f"scripts/run: --all takes nothing more, not {arguments[1]}", file=sys.stderr)
            return 2
        return run_all()
    if arguments[0].startswith("-"):
        print(f"scripts/run: unknown option {arguments[0]}; the options are --all, --no-setup, --help", file=sys.stderr)
        return 2
    return run_one(arguments[0], arguments[1:])


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
