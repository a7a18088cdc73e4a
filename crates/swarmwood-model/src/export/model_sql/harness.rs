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

/// A PostgreSQL server of its own, without a network, in a temporary folder.
pub(super) const POSTGRES: &str = r#"
import atexit, csv, glob, io, os, shutil, subprocess, sys, tempfile


def program(name):
    folders = [os.environ.get("PATH", ""), *glob.glob("/usr/lib/postgresql/*/bin")]
    found = shutil.which(name, path=os.pathsep.join(folders))
    if found is None:
        print(f"PostgreSQL's program '{name}' is not installed")
        sys.exit(3)
    return found


class Server:
    def __init__(self):
        initdb, self.control, self.psql = map(program, ("initdb", "pg_ctl", "psql"))
        self.folder = tempfile.mkdtemp(prefix="sw-pg-", dir="/tmp")
        atexit.register(shutil.rmtree, self.folder, ignore_errors=True)
        self.user = []
        if os.geteuid() == 0:
            # PostgreSQL does not run as root.
            try:
                shutil.chown(self.folder, "postgres")
            except LookupError:
                print("PostgreSQL does not run as root, and there is no user 'postgres'")
                sys.exit(3)
            self.user = ["runuser", "-u", "postgres", "--"]
        data = os.path.join(self.folder, "data")
        given = ["-A", "trust", "-U", "sw", "-E", "UTF8", "--locale=C", "--no-sync"]
        self.call([initdb, "-D", data, *given])
        options = f"-k {self.folder} -c listen_addresses= -c fsync=off"
        options += " -c max_parallel_workers_per_gather=0"
        log = os.path.join(self.folder, "log")
        self.call([self.control, "-D", data, "-o", options, "-l", log, "-w", "start"])
        atexit.register(self.call, [self.control, "-D", data, "-m", "immediate", "stop"])

    def call(self, words, text=None):
        done = subprocess.run(
            self.user + words, input=text, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd="/tmp"
        )
        if done.returncode:
            raise RuntimeError(done.stderr.decode(errors="replace")[-2000:])
        return done.stdout

    def run(self, text):
        words = [self.psql, "-h", self.folder, "-U", "sw", "-d", "postgres", "-X", "-q", "--csv"]
        words += ["-v", "ON_ERROR_STOP=1", "-P", "null=nan"]
        return self.call(words, text.encode()).decode()

    def execute(self, query):
        found = list(csv.reader(io.StringIO(self.run(query + "\n;\n"), newline="")))
        self.description = [(name,) for name in found[0]] if found else []
        self.rows = found[1:]
        return self

    def executemany(self, _, rows):
        escapes = str.maketrans({"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"})
        cell = lambda value: "\\N" if value is None else str(value).translate(escapes)
        lines = ["\t".join(map(cell, row)) + "\n" for row in rows]
        # A table is not read in the order of its rows; a sorted view is.
        sort = "ALTER TABLE input RENAME TO sw_rows;"
        sort += "CREATE VIEW input AS SELECT * FROM sw_rows ORDER BY sw_row;"
        self.run("COPY input FROM STDIN;\n" + "".join(lines) + "\\.\n" + sort + "\n")

    def fetchall(self):
        return self.rows


connection = Server()
TEXT, DOUBLE = "TEXT", "DOUBLE PRECISION"
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
else:
    shown += [at for at, title in enumerate(titles) if title.startswith("prediction") and at >= len(names) - 1]
for row in cursor.fetchall():
    # SQLite has no NaN: it is NULL there.
    print(*(repr(float("nan") if row[at] is None else float(row[at])) for at in shown))
"#;
