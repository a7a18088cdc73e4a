//! The programs that run a query: databases, each behind `connection`, and what they are asked.

/// SQLite, which comes with Python.
pub(super) const SQLITE: &str = r#"
import sqlite3, sys
connection = sqlite3.connect(":memory:")
TEXT, DOUBLE = "TEXT", "REAL"
"#;

/// DuckDB as a Python package.
pub(super) const DUCKDB: &str = r#"
import sys
try:
    import duckdb
except ImportError:
    print("the Python package 'duckdb' is not installed")
    sys.exit(3)
connection = duckdb.connect(":memory:")
TEXT, DOUBLE = "VARCHAR", "DOUBLE"
"#;

/// A table with the rows in the database that `connect` opens; prints the scores and predictions.
pub(super) const SCRIPT: &str = r#"
import json
table = json.load(open(sys.argv[2], encoding="utf-8"))
quoted = lambda name: '"' + name.replace('"', '""') + '"'
kinds = [(TEXT if feature["levels"] is not None else DOUBLE) for feature in table["features"]]
names = [quoted(feature["name"]) for feature in table["features"]] + ["sw_row"]
columns = ", ".join(f"{name} {kind}" for name, kind in zip(names, kinds + ["INTEGER"]))
connection.execute(f"CREATE TABLE input ({columns})")
rows = []
for number, row in enumerate(table["rows"]):
    values = []
    for value, feature in zip(row, table["features"]):
        levels = feature["levels"]
        if value is not None and levels is None:
            value = float(value)
        elif value is not None:
            value = levels[value] if value < len(levels) else "new" + "".join(levels)
        values.append(value)
    rows.append(values + [number])
connection.executemany(f"INSERT INTO input VALUES ({', '.join('?' * len(names))})", rows)
cursor = connection.execute(open(sys.argv[1], encoding="utf-8", newline="").read())
titles = [column[0] for column in cursor.description]
shown = [at for at, title in enumerate(titles) if title.startswith("raw_score_") and at >= len(names) - 1]
if table["classes"]:
    shown += [at for at, title in enumerate(titles) if title.startswith("probability_") and at >= len(names) - 1]
elif titles[-1] == "prediction":
    shown.append(len(titles) - 1)
for row in cursor.fetchall():
    # SQLite has no NaN: it is NULL there.
    print(*(repr(float("nan") if row[at] is None else float(row[at])) for at in shown))
"#;
