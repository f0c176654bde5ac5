"""Draws tables of figures: one SVG per table.

Rows named "16 KiB" or "mutex, 4 threads" become lines over the number, one per name before the comma; all other rows
become bars. Whiskers and bands reach from the lowest to the highest run. A file is named <program>.<table>.svg.
"""
import json
import pathlib
import re

from cookbook.command import Parser, Problem

try:
    import matplotlib
except ImportError:
    raise Problem("Python's matplotlib is needed (Debian's and Ubuntu's package python3-matplotlib; scripts/setup "
                  "--with-test-dependencies installs it for /usr/bin/python3)", code=1) from None
matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402

# The same text for the same figures, so that a picture changes only when they do.
plt.rcParams.update({"svg.hashsalt": "cookbook", "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 10})
FACTORS = {"": 1, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "k": 1e3, "M": 1e6, "G": 1e9}
POINT = re.compile(r"(?:(?P<series>.*), )?(?P<number>\d[\d',.]*) ?"
                   r"(?P<factor>Ki|Mi|Gi|k|M|G)?(?P<unit>[A-Za-z%][\w /%]*)?$")


def points(records):
    """Series -> [(x, label, record)] if every row is a point on a line, else None."""
    series = {}
    for record in records:
        match = POINT.match(record["row"])
        if not match:
            return None
        number = float(match["number"].replace("'", "").replace(",", "")) * FACTORS[match["factor"] or ""]
        series.setdefault(match["series"] or "", []).append((number, match["unit"] or "", record))
    units = {unit.rstrip("s") for row in series.values() for _, unit, _ in row}
    return series if len(units) == 1 and max(map(len, series.values())) > 2 else None


def draw(axes, records):
    unit = records[0]["unit"]
    lines = points(records)
    if lines is None:
        names = [record["row"] for record in records]
        medians = [record["median"] for record in records]
        whiskers = [[record["median"] - record["lowest"] for record in records],
                    [record["highest"] - record["median"] for record in records]]
        axes.barh(names, medians, xerr=whiskers, color="#5b8db8", ecolor="#333333", capsize=2)
        axes.invert_yaxis()
        axes.set_xlabel(unit)
        return
    for name, row in lines.items():
        row.sort(key=lambda point: point[0])
        x = [point[0] for point in row]
        axes.plot(x, [point[2]["median"] for point in row], marker="o", markersize=3, label=name)
        axes.fill_between(x, [point[2]["lowest"] for point in row], [point[2]["highest"] for point in row], alpha=0.2)
    first = next(iter(lines.values()))
    largest = max(point[0] for row in lines.values() for point in row)
    if largest >= 32 * min(point[0] for row in lines.values() for point in row):
        axes.set_xscale("log", base=2)
    ticks = {point[0]: POINT.match(point[2]["row"]) for row in lines.values() for point in row}
    chosen = sorted(ticks)[::max(1, len(ticks) // 8)]
    axes.set_xticks(chosen, [f"{ticks[x]['number']}{' ' if ticks[x]['factor'] else ''}{ticks[x]['factor'] or ''}"
                             f"{(ticks[x]['unit'] or '') if ticks[x]['factor'] else ''}" for x in chosen])
    axes.minorticks_off()
    axes.set_xlabel(first[0][1])
    axes.set_ylabel(unit)
    axes.set_ylim(bottom=0)
    if any(lines):
        axes.legend(frameon=False)


def slug(text):
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")


def picture(records, path):
    """Writes an SVG of one table, whose records these are."""
    figure, axes = plt.subplots(figsize=(7, 3.5 if points(records) else 0.8 + 0.35 * len(records)))
    draw(axes, records)
    axes.set_title(records[0]["table"])
    axes.spines[["top", "right"]].set_visible(False)
    runs = records[0]["runs"]
    made_by = records[0]["machine"] + (f"; median and range of {runs} runs" if runs > 1 else "")
    figure.text(0.01, 0.005, made_by, fontsize=7)
    figure.tight_layout(rect=(0, 0.03, 1, 1))
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def parser():
    result = Parser("plot", __doc__)
    result.add_argument("file", metavar="FILE", type=pathlib.Path,
                        help="the records of scripts/bench --json, or of a program's own --json")
    result.add_argument("folder", metavar="FOLDER", type=pathlib.Path, nargs="?",
                        help="for the pictures; by default the one that FILE is in")
    return result


def main(arguments):
    args = parser().parse_args(arguments)
    source, folder = args.file, args.folder or args.file.parent
    if not source.exists():
        raise Problem(f"there is no file {source}")
    tables = {}
    for number, line in enumerate(source.read_text().splitlines(), 1):
        try:
            record = json.loads(line)
        except json.JSONDecodeError as error:
            raise Problem(f"{source}:{number}: not a JSON record: {error}") from None
        if "table" in record and None not in (record["median"], record["lowest"], record["highest"]):
            # The records that a recipe keeps are of several machines.
            machine = slug(record["machine"]) if "date" in record else ""
            tables.setdefault((record["recipe"], record["table"], machine), []).append(record)
    if not tables:
        raise Problem(f"{source} holds no figures; make it with scripts/bench --json FILE")
    folder.mkdir(parents=True, exist_ok=True)
    for (program, table, machine), records in tables.items():
        path = folder / ".".join(filter(None, (program, slug(table), machine, "svg")))
        picture(records, path)
        print(path)
    return 0

