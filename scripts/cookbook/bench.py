"""Builds and runs the measurements of recipes, and prints their figures; installs first what they need and is
missing."""
import datetime
import json
import pathlib
import sys

import cookbook
from cookbook import figures, process, recipe, setup
from cookbook.build import Build
from cookbook.command import Parser


def benches():
    return [one for one in recipe.recipes() if one.bench]


def parser():
    result = Parser("bench", __doc__, usage="scripts/bench [--no-setup] [--json FILE] [--record] "
                                             "[RECIPE ...] [-- OPTION ...]")
    result.add_argument("--no-setup", action="store_true", help="install nothing")
    result.add_argument("--json", metavar="FILE", type=pathlib.Path,
                        help="also keep the figures as records, one JSON object per line; scripts/plot draws them")
    result.add_argument("--record", action="store_true", help="keep them with the recipe, too, with today's date, in "
                        "place of this machine's older ones; scripts/update_index writes them into its page")
    result.add_names(lambda: [one.name for one in benches()], nargs="*",
                     help="every recipe that has a measurement if none is named; options after -- go to them")
    return result


def records_of(build, name, options):
    """Exit code and JSON records of one bench; what it says on standard error goes through."""
    one = build.recipe(name, bench=True)
    if packages := one.missing or one.bench_missing:
        print(f"{name}: its bench is not built; it needs {packages}", file=sys.stderr)
        return cookbook.SKIPPED, []
    build.build(one.bench)
    done = process.run([*one.command(build.folder, one.bench, options), "--json"], errors=None)
    if done.code != 0:
        print(f"{name}: {'skipped' if done.code == cookbook.SKIPPED else f'exit code {done.code}'}", file=sys.stderr)
    return done.code, [json.loads(line) for line in done.lines] if done.code == 0 else []


def print_tables(records):
    table = None
    for record in records:
        if table != record["table"]:
            table = record["table"]
            print(f"\n{record['recipe']}: {table}\non {record['machine']}; {record['runs']} runs, "
                  "median [lowest to highest]")
        shares = [(label, share) for label, share in record["compared"].items() if share is not None]
        values = [float("nan") if record[key] is None else record[key] for key in ("median", "lowest", "highest")]
        print(f"  {record['row']:<44} {values[0]:10.4g} {record['unit']:<8} [{values[1]:.4g} to {values[2]:.4g}]"
              + "".join(f"  {share:7.2f} {label}" for label, share in shares), flush=True)


def main(arguments):
    options = []
    if "--" in arguments:
        at = arguments.index("--")
        arguments, options = arguments[:at], arguments[at + 1:]
    args = parser().parse_args(arguments)
    known = benches()
    names = [recipe.find(name, known, "{} has no bench", "").name for name in args.names]
    if not args.no_setup:
        setup.for_recipes(names, tests=not names, bench=True)
    build = Build()
    worst, records = 0, []
    for name in names or [one.name for one in known]:
        code, lines = records_of(build, name, options)
        worst = max(worst, 0 if code == cookbook.SKIPPED else code)
        tables = [line for line in lines if "table" in line]
        print_tables(tables)
        records += tables
        if args.record and tables:
            figures.keep(recipe.find(name, known).folder, tables, datetime.date.today().isoformat())
    if args.json:
        args.json.write_text("".join(json.dumps(record) + "\n" for record in records))
    return worst
