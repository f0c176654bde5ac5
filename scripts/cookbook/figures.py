"""The figures of benches that are kept: <recipe>/figures.jsonl, the records of scripts/bench --record with their date,
of a few machines one after another. A page shows a table of them between two marks, the site draws it besides, and both
are made from the record:

    <!-- figures: one producer, one consumer -->
    <!-- end of figures -->

The first mark names a table by its title, or several, separated by `|`; then each table is a column, and its title the
column's head. What may stand behind the titles makes the table shorter, for the medians alone are shown then:

    <!-- figures: one phase; medians -->                       of one title: the machines are columns
    <!-- figures: one phase; medians of barrier | latch -->    and only these rows are shown
    <!-- figures: a broadcast; columns before the comma -->    the row "8 B, one by one" is in the column "8 B"
    <!-- figures: one child; columns behind the comma -->      the row "fork, of 8 MiB" is in the column "of 8 MiB"
"""
import json
import math
import re
import textwrap

from cookbook.command import Problem

FILE = "figures.jsonl"
WIDTH = 120  # of a page's lines
BLOCK = re.compile(r"(<!-- figures: (.*?) -->\n).*?(<!-- end of figures -->)", re.S)
MARK = re.compile(r"(?P<titles>.*?)(?:(?P<medians>; medians)(?: of (?P<rows>.*))?|"
                  r"; columns (?P<turned>before|behind) the comma)?")


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


def parsed(mark):
    """The parts of what a first mark names, as MARK has them."""
    parts = MARK.fullmatch(" ".join(mark.split()))  # a long mark may take several lines
    if (parts["medians"] or parts["turned"]) and " | " in parts["titles"]:
        raise Problem(f"medians alone are of one table, not of '{parts['titles']}'", code=1)
    return parts


def chosen(records, mark):
    """{machine: {title: records}}, in the order in which they are kept; what the mark names has to be there."""
    parts = parsed(mark)
    titles, rows = parts["titles"].split(" | "), parts["rows"] and parts["rows"].split(" | ")
    for title in titles:
        if all(record["table"] != title for record in records):
            raise Problem(f"{FILE} holds no table '{title}'", code=1)
    for row in rows or []:
        if all(record["table"] != titles[0] or record["row"].strip() != row for record in records):
            raise Problem(f"{FILE} holds no row '{row}' of '{titles[0]}'", code=1)
    found = {}
    for record in records:
        if record["table"] in titles and (not rows or record["row"].strip() in rows):
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


def with_columns(head, cells):
    """Rows of cells, the head first, of {(column, row): cell}; a cell that is not there is a dash."""
    columns, rows = (list(dict.fromkeys(key[i] for key in cells)) for i in (0, 1))
    return [[head, *columns], *([row, *(cells.get((column, row), "-") for column in columns)] for row in rows)]


def rows_of(tables):
    """The table of one machine as rows of cells, its head first."""
    (first, records), *others = tables.items()
    if others:
        return with_columns(f"in {records[0]['unit']}", {(title, record["row"].strip()): measured(record)
                                                         for title, table in tables.items() for record in table})
    labels = list(dict.fromkeys(label for record in records for label in record["compared"]))
    shares = [[share(record["compared"].get(label)) for label in labels] for record in records]
    return [[first, records[0]["unit"], *labels], *([record["row"].strip(), measured(record), *row]
                                                    for record, row in zip(records, shares, strict=True))]


def turned(tables, side):
    """The medians of one machine's table: of "8 B, ring" the part before (or behind) the comma is the column."""
    (title, records), = tables.items()
    cells = {}
    for record in records:
        row = record["row"].strip()
        place = row.partition(", ")[::2] if side == "before" else row.rpartition(", ")[::-2]
        if all(place):
            cells[place] = number(record["median"])
    return with_columns(f"{title}, in {records[0]['unit']}", cells)


def beside(machines):
    """The medians of one table, a column per machine, which is named by what stands before its second comma."""
    records = [record for tables in machines.values() for table in tables.values() for record in table]
    return with_columns(f"{records[0]['table']}, in {records[0]['unit']}",
                        {(", ".join(record["machine"].split(", ")[:2]), record["row"].strip()): number(record["median"])
                         for record in records})


def caption(tables, spread):
    """What stands above a table, wrapped as mdformat does."""
    records = [record for table in tables for record in table]
    runs = sorted({record["runs"] for record in records})
    of_runs = f"{runs[0]} to {runs[-1]}" if len(runs) > 1 else runs[0]
    machines = " and ".join(dict.fromkeys(record["machine"] for record in records))
    dates = ", ".join(dict.fromkeys(record["date"] for record in records))
    return textwrap.fill(f"{machines}; medians of {of_runs} runs{' (lowest to highest)' if spread else ''}; {dates}:",
                         WIDTH, break_long_words=False, break_on_hyphens=False)


def with_figures(text, records, table):
    """The page's text with what stands between the marks made anew; `table` makes lines of rows."""
    def block(match):
        mark, machines = parsed(match[2]), chosen(records, match[2])
        if mark["medians"]:
            made = [(machines.values(), beside(machines))]
        elif mark["turned"]:
            made = [([tables], turned(tables, mark["turned"])) for tables in machines.values()]
        else:
            made = [([tables], rows_of(tables)) for tables in machines.values()]
        parts = [caption([one for tables in of for one in tables.values()], not (mark["medians"] or mark["turned"])) +
                 "\n\n" + "\n".join(table(rows)) for of, rows in made]
        return match[1] + "\n" + "\n\n".join(parts) + "\n\n" + match[3]

    return BLOCK.sub(block, text)
