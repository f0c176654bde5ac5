"""The figures of benches that are kept: <recipe>/figures.jsonl, the records of scripts/bench --record with their date,
of a few machines one after another. A page shows a table of them between two marks, the site draws it besides, and both
are made from the record:

    <!-- figures: one producer, one consumer -->
    <!-- end of figures -->

The first mark names a table by its title, or several, separated by `|`; then each table is a column, and its title the
column's head. Behind a single title may stand how its rows become columns, which shows the medians alone:

    <!-- figures: a broadcast; columns before the comma -->     the row "8 B, one by one" is in the column "8 B"
    <!-- figures: one child; columns behind the comma -->       the row "fork, of 8 MiB" is in the column "of 8 MiB"
"""
import json
import math
import re
import textwrap

from cookbook.command import Problem

FILE = "figures.jsonl"
WIDTH = 120  # of a page's lines
BLOCK = re.compile(r"(<!-- figures: (.*?) -->\n).*?(<!-- end of figures -->)", re.S)
TURNED = {"; columns before the comma": lambda row: row.partition(", ")[::2],  # column and row
          "; columns behind the comma": lambda row: row.rpartition(", ")[::-2]}


def kept(folder):
    """The records of a recipe's folder; none where there is no file."""
    path = folder / FILE
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def keep(folder, records, date):
    """Writes records in place of those of the same tables and machine; the others stay."""
    made = {(record["table"], record["machine"]) for record in records}
    others = [record for record in kept(folder) if (record["table"], record["machine"]) not in made]
    dated = [{**record, "date": date} for record in records]
    (folder / FILE).write_text("".join(json.dumps(record) + "\n" for record in others + dated))


def turned(mark):
    """The titles that a mark names, and how a row's name gives column and row, or None."""
    for end, parts in TURNED.items():
        if mark.endswith(end):
            return [mark.removesuffix(end)], parts
    return mark.split(" | "), None


def chosen(records, mark):
    """{machine: {title: records}}, in the order in which they are kept; every title of the mark has to be there."""
    titles, _ = turned(mark)
    for title in titles:
        if all(record["table"] != title for record in records):
            raise Problem(f"{FILE} holds no table '{title}'", code=1)
    found = {}
    for record in records:
        if record["table"] in titles:
            found.setdefault(record["machine"], {}).setdefault(record["table"], []).append(record)
    return {machine: {title: tables[title] for title in titles if title in tables} for machine, tables in found.items()}


def number(value):
    """Three digits that count, and all that stand before the point."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def share(value):
    """Two digits after the point, and of small shares two that count."""
    if value is None:
        return "-"
    return f"{value:.2f}" if value >= 0.1 or value <= 0 else f"{value:.{1 - math.floor(math.log10(value))}f}"


def measured(record):
    return f"{number(record['median'])} ({number(record['lowest'])} to {number(record['highest'])})"


def rows_of(tables, parts=None):
    """The table of one machine as rows of cells, its head first."""
    (first, records), *others = tables.items()
    unit = records[0]["unit"]
    if parts:
        medians = {parts(record["row"].strip()): number(record["median"]) for record in records}
        columns = list(dict.fromkeys(column for column, row in medians if column and row))
        rows = dict.fromkeys(row for column, row in medians if column and row)
        return [[f"{first}, in {unit}", *columns], *([row, *(medians.get((column, row), "-") for column in columns)]
                                                     for row in rows)]
    if others:
        columns = [{record["row"].strip(): measured(record) for record in table} for table in tables.values()]
        names = dict.fromkeys(name for column in columns for name in column)
        return [[f"in {unit}", *tables], *([name, *(column.get(name, "-") for column in columns)] for name in names)]
    labels = list(dict.fromkeys(label for record in records for label in record["compared"]))
    shares = [[share(record["compared"].get(label)) for label in labels] for record in records]
    return [[first, unit, *labels], *([record["row"].strip(), measured(record), *row]
                                      for record, row in zip(records, shares, strict=True))]


def of_machine(machine, tables, parts=None):
    """What stands above a machine's table, wrapped as mdformat does."""
    records = [record for table in tables.values() for record in table]
    runs = sorted({record["runs"] for record in records})
    of_runs = f"{runs[0]} to {runs[-1]}" if len(runs) > 1 else runs[0]
    spread = "" if parts else " (lowest to highest)"
    return textwrap.fill(f"{machine}; medians of {of_runs} runs{spread}; {records[0]['date']}:",
                         WIDTH, break_long_words=False, break_on_hyphens=False)


def with_figures(text, records, table):
    """The page's text with what stands between the marks made anew; `table` makes lines of rows."""
    def block(match):
        _, parts = turned(match[2])
        made = [f"{of_machine(machine, tables, parts)}\n\n" + "\n".join(table(rows_of(tables, parts)))
                for machine, tables in chosen(records, match[2]).items()]
        return match[1] + "\n" + "\n\n".join(made) + "\n\n" + match[3]

    return BLOCK.sub(block, text)
