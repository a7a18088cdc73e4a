//! One tree as rules and as drawings. Python and SQL are executed and compared with `predict`.

use std::process::Command;

use crate::scratch::Scratch;
use crate::tables::{binary, classes, regression};

/// One leaf-wise tree, boosted for one round.
const ONE_TREE: &str = "--method greedy --trees 1 --learning-rate 1 --growth leaf --max-leaves 9";

/// Two numbers and a category with an awkward name, three classes, one tree.
const THREE_CLASSES: &str = r#"{"format":"swarmwood","version":1,"objective":"softmax","link":"softmax","base":[0.0,0.0,0.0],
"provenance":{"version":"0.1.0","method":"synthetic","rows":100,"params":{}},
"target":{"name":"colour","classes":["it's","green","a \"b\" \\"]},
"features":[{"name":"size"},{"name":"to\"wn","levels":["Ash","Birch","O'Dell"]},{"name":"class"}],
"trees":[
{"kind":"ordinary","output":0,TREE"leaf":[-0.1,-3.0,-3.0,-0.2],"leaf_cover":[40.0,30.0,20.0,10.0]},
{"kind":"ordinary","output":1,TREE"leaf":[-3.0,-0.1,-2.0,-3.0],"leaf_cover":[40.0,30.0,20.0,10.0]},
{"kind":"ordinary","output":2,TREE"leaf":[-3.0,-3.0,-0.1,-4.0],"leaf_cover":[40.0,30.0,20.0,10.0]}]}
"#;
const TREE: &str = r#""feature":[0,1,2],"threshold":[30.25,null,0.1],"levels":[null,[0,2],null],"missing_right":[1,0,1],
"left":[1,-1,-3],"right":[2,-2,-4],"gain":[1.0,1.0,1.0],"cover":[100.0,70.0,30.0],"#;

fn three_classes() -> String {
    THREE_CLASSES.replace("TREE", TREE)
}

/// Runs the function and the expression of the rules on the rows and compares with the predictions.
const COMPARE: &str = r#"
import csv, sqlite3
text_columns = {"town", 'to"wn', "sold"}
def value(name, text):
    return None if text == "" else text if name in text_columns else float(text)
rows = [{name: value(name, text) for name, text in row.items()} for row in csv.DictReader(open("new.csv"))]
expected = [row["prediction"] for row in csv.DictReader(open("p.csv"))]
space = {}
exec(open("rules.py").read(), space)
predict = space["predict"]
quoted = lambda name: '"' + name.replace('"', '""') + '"'
names = list(rows[0])
base = sqlite3.connect(":memory:")
base.execute("create table t (%s)" % ", ".join(quoted(n) + (" text" if n in text_columns else " real") for n in names))
base.executemany("insert into t values (%s)" % ", ".join("?" * len(names)), [list(row.values()) for row in rows])
values = [value for value, in base.execute("select (%s) from t order by rowid" % open("rules.sql").read())]
assert len(values) == len(expected) == len(rows) > 100
def same(value, text):
    return value == text if isinstance(value, str) else value == float(text)
for row, text, sql in zip(rows, expected, values):
    assert same(predict(row), text), ("python", row, text, predict(row))
    assert same(sql, text), ("sql", row, text, sql)
    nan = {name: float("nan") if value is None else value for name, value in row.items()}
    assert same(predict(nan), text), ("nan", row)
    absent = {name: value for name, value in row.items() if value is not None}
    assert same(predict(absent), text), ("absent", row)
print(len(set(expected)), "different predictions on", len(rows), "rows")
"#;

#[track_caller]
fn check_python_and_sql(dir: &Scratch) -> String {
    dir.run("predict m.json new.csv --out p.csv -q").works();
    dir.run("rules m.json --format python --out rules.py -q").works();
    dir.run("rules m.json --format sql --out rules.sql -q").works();
    let python =
        Command::new("python3").args(["-c", COMPARE]).current_dir(dir.path()).output().unwrap();
    assert!(
        python.status.success(),
        "{}\n{}",
        String::from_utf8_lossy(&python.stderr),
        dir.read("rules.py")
    );
    String::from_utf8_lossy(&python.stdout).into_owned()
}

/// Adds rows with missing values, an unknown town, and infinities.
fn with_edge_cases(table: &str) -> String {
    let mut table = table.to_string();
    let width = table.lines().next().unwrap_or_default().split(',').count();
    for size in ["", "inf", "-inf", "30.25", "30.250000000000004", "50"] {
        for town in ["", "Ash", "Nowhere", "Birch"] {
            for age in ["", "0.1", "inf", "29.5", "80"] {
                // Some tables have the age second, some the town; the targets are not used.
                let end = ",yes".repeat(width - 3);
                table.push_str(&format!("{size},{age},{town}{end}\n"));
            }
        }
    }
    table
}

#[test]
fn python_and_sql_agree_with_the_model() {
    let dir = Scratch::new();
    dir.file("b.csv", binary(400, 3)).file("r.csv", regression(400, 4));
    dir.file("new.csv", with_edge_cases(&binary(150, 5)));
    dir.run(&format!("train b.csv --target sold {ONE_TREE} --out m.json -q")).works();
    assert!(check_python_and_sql(&dir).starts_with("2 different"));
    dir.run(&format!("train r.csv --target price {ONE_TREE} --out m.json -q")).works();
    assert!(check_python_and_sql(&dir).starts_with("9 different"));
    let mut rows = "class,to\"\"wn,size\n".replace("to\"\"wn", "\"to\"\"wn\"");
    for size in ["", "30.25", "30.3", "-1e9", "inf"] {
        for town in ["", "Ash", "Birch", "O'Dell", "Nowhere"] {
            for class in ["", "0.1", "0.10000000000000002", "-0.5", "7"] {
                rows.push_str(&format!("{class},{town},{size}\n"));
            }
        }
    }
    dir.file("m.json", three_classes()).file("new.csv", rows);
    assert!(check_python_and_sql(&dir).starts_with("3 different"));
}

/// Runs the function and the expression of rules with points and compares with the predictions.
const COMPARE_SUM: &str = r#"
import csv, sqlite3, sys
text_columns = {"town", "sold"}
def value(name, text):
    return None if text == "" else text if name in text_columns else float(text)
rows = [{name: value(name, text) for name, text in row.items()} for row in csv.DictReader(open("new.csv"))]
expected = [float(row[sys.argv[1]]) for row in csv.DictReader(open("p.csv"))]
space = {}
exec(open("rules.py").read(), space)
names = [name for name in rows[0] if name in ("size", "age", "town")]
base = sqlite3.connect(":memory:")
base.execute("create table t (%s)" % ", ".join(n + (" text" if n in text_columns else " real") for n in names))
base.executemany("insert into t values (%s)" % ", ".join("?" * len(names)), [[row[n] for n in names] for row in rows])
sql = [value for value, in base.execute("select (%s) from t order by rowid" % open("rules.sql").read())]
assert len(sql) == len(expected) == len(rows) > 100
for row, wanted, told in zip(rows, expected, sql):
    found = space["predict"](row)
    found = found[sys.argv[2]] if isinstance(found, dict) else found
    assert abs(found - wanted) < 1e-9 * (1 + abs(wanted)), ("python", row, wanted, found)
    if len(sys.argv) < 3:
        assert abs(told - wanted) < 1e-9 * (1 + abs(wanted)), ("sql", row, wanted, told)
print(len(set(expected)))
"#;

#[test]
fn sums_of_trees_are_rules_with_points() {
    let dir = Scratch::new();
    dir.file("b.csv", binary(400, 3)).file("r.csv", regression(400, 4));
    dir.file("new.csv", with_edge_cases(&binary(150, 5)));
    let compare = |column: &[&str]| {
        dir.run("predict m.json new.csv --out p.csv -q").works();
        dir.run("rules m.json --format python --out rules.py -q").works();
        dir.run("rules m.json --format sql --out rules.sql -q").works();
        let mut python = Command::new("python3");
        let run = python.args(["-c", COMPARE_SUM]).args(column).current_dir(dir.path()).output();
        let run = run.unwrap();
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
        String::from_utf8_lossy(&run.stdout).trim().parse::<usize>().unwrap()
    };

    let sum = "--method tree-sum --guard=false --budget 20 --total-splits 6 -q";
    dir.run(&format!("train r.csv --target price {sum} --out m.json")).works();
    assert!(compare(&["prediction"]) > 6, "more predictions than rules");
    let text = dir.run("rules m.json").works().out;
    assert!(text.contains("3 features: one line of each applies to a row"), "{text}");
    assert!(text.contains("\nintercept +") && text.contains("\nsize\n  at most "), "{text}");
    let counted = dir.run("rules m.json --data r.csv").works().out;
    assert!(counted.contains("support was counted on 400 rows of data"), "{counted}");
    assert_eq!(
        counted.replace("was counted on 400 rows of data", ""),
        text.replace("is that of the 400 training rows", ""),
        "covers are counts of the rows"
    );
    let table = dir.run("rules m.json --format markdown").works().out;
    assert!(table.contains("| feature | values | points | rows |"), "{table}");
    let json = dir.run("rules m.json --format json").works().out;
    assert!(json.contains("\"intercept\"") && json.contains("\"groups\""), "{json}");

    dir.run(&format!("train b.csv --target sold {sum} --out m.json")).works();
    assert!(compare(&["probability_yes"]) > 6);
    let boosted = "--method greedy --trees 5 --depth 2 -q";
    dir.run(&format!("train r.csv --target price {boosted} --out m.json")).works();
    assert!(compare(&["prediction"]) > 6, "rules of any small sum");
    let text = dir.run("rules m.json").works().out;
    assert!(text.contains("\ngroup 1\n  IF ") && text.contains("\n  OTHERWISE: "), "{text}");

    dir.run("train r.csv --target price --method greedy --trees 200 -q --out m.json").works();
    dir.fails("rules m.json", 2, &["at most 1000 are written as rules"]);
}

#[test]
fn rules_have_statistics() {
    let dir = Scratch::new();
    dir.file("m.json", three_classes());
    let text = dir.run("rules m.json").works().out;
    let expected = "\
# 2 rules with 4 conditions and a default rule; the 4 leaf paths had 8 conditions
# the order does not matter: rules with different predictions never match the same row
# statistics are those of the 100 training rows in the leaves
# categories that are not in the training data count as missing

";
    assert!(text.starts_with(expected), "{text}");
    for line in ["IF ", " THEN green (confidence ", "OTHERWISE "] {
        assert!(text.contains(line), "no {line} in {text}");
    }
    // Two rows of "it's" in the first leaf, one of them right; one in the last.
    dir.file(
        "d.csv",
        "size,\"to\"\"wn\",class,colour\n1,Birch,0,it's\n2,Birch,0,green\n40,Ash,1,it's\n1,Ash,0,green\n",
    );
    let json = dir.run("rules m.json --format json --data d.csv").works().json();
    assert_eq!((&json["rows"], &json["counted_on_data"]), (&4.0.into(), &true.into()));
    let rules: Vec<&serde_json::Value> =
        json["rules"].as_array().unwrap().iter().chain([&json["default_rule"]]).collect();
    let green = rules.iter().find(|rule| rule["prediction"] == "green").unwrap();
    assert_eq!(
        (&green["support"], &green["confidence"], &green["lift"]),
        (&0.25.into(), &1.0.into(), &2.0.into())
    );
    let markdown = dir.run("rules m.json --format markdown --data d.csv --out r.md").works();
    assert!(
        markdown.err.contains("written to r.md")
            && dir.read("r.md").contains("statistics were counted on 4 rows")
    );
    assert!(dir.run("rules m.json --merge cells").works().out.contains("OTHERWISE"));
}

#[test]
fn models_of_many_trees_have_no_picture_and_linear_ones_no_rules() {
    let dir = Scratch::new();
    dir.file("b.csv", binary(200, 1)).file("c.csv", classes(200, 1));
    dir.run("train b.csv --target sold --method greedy --trees 3 --out m.json").works();
    dir.fails(
        "inspect m.json --plot t.svg",
        2,
        &["m.json: the model has 3 rounds", "--trees 1 --learning-rate 1"],
    );
    dir.run("train c.csv --target colour --method greedy --trees 1 --out m.json").works();
    dir.fails(
        "inspect m.json --plot t.svg",
        2,
        &["m.json: the model has one tree per class and their rules differ"],
    );
    let text = dir.run("rules m.json").works().out;
    assert!(text.contains("the probability of a class is"), "{text}");
    dir.run("train b.csv --target sold --method greedy --booster gblinear --trees 2 --out m.json")
        .works();
    dir.fails("rules m.json", 2, &["m.json: the model is linear"]);
    dir.fails(
        "inspect m.json --plot t.svg --map size,age",
        2,
        &["error: map: the model is linear"],
    );
}

#[test]
fn invalid_arguments_are_reported() {
    let dir = Scratch::new();
    dir.file("m.json", three_classes()).file("d.csv", "size,class,colour\n1,2,it's\n");
    dir.run("rules m.json --format yaml").ends(2, &["yaml", "markdown"]);
    dir.run("rules m.json --merge grid").ends(2, &["grid", "cells"]);
    dir.fails("rules m.json --data d.csv", 2, &["d.csv", "to\"wn"]);
    dir.fails("rules absent.json", 2, &["absent.json"]);
    dir.fails("rules m.json --out absent/r.txt", 1, &["absent/r.txt: cannot write"]);
    dir.fails("rules m.json --data d.csv --delimiter ;;", 2, &["error: delimiter: is ';;'"]);
    dir.fails("inspect m.json --plot t.png", 2, &["error: plot: 't.png' must end in .svg"]);
    dir.fails("inspect m.json --plot t.svg --map size", 2, &["error: map: needs two features"]);
    dir.fails(
        "inspect m.json --plot t.svg --map size,clas",
        2,
        &["no feature 'clas'; did you mean 'class'?"],
    );
    dir.fails(
        "inspect m.json --plot t.svg --map size,class",
        2,
        &["the model also uses 'to\"wn'", "to\"wn=Ash"],
    );
    dir.fails(
        "inspect m.json --plot t.svg --map size,class --at to\"wn=Ush",
        2,
        &["did you mean 'Ash'?"],
    );
    dir.fails(
        "inspect m.json --plot t.svg --map size,to\"wn --at class=x",
        2,
        &["'class' is numeric, and 'x' is not a number"],
    );
    dir.fails("inspect m.json --plot t.dot --map size,class", 2, &["a map is drawn as .svg"]);
    dir.run("inspect m.json --map size,class").ends(2, &["--plot"]);
}

#[test]
fn drawings_are_files() {
    let dir = Scratch::new();
    dir.file("m.json", three_classes());
    let output = dir.run("inspect m.json --plot t.svg --json").works();
    assert!(output.err.contains("chart written to t.svg") && output.json()["trees"] == 3);
    let svg = dir.read("t.svg");
    for part in [
        "<svg ",
        "Tree for colour: 4 leaves",
        "it&#39;s",
        "≤ 30.25",
        "to&quot;wn",
        "Birch",
        "</svg>\n",
    ] {
        assert!(svg.contains(part), "no {part} in {svg}");
    }
    dir.run("inspect m.json --plot t.dot -q").works();
    assert!(dir.read("t.dot").starts_with("digraph tree {"));
    dir.run("inspect m.json --plot map.svg --map size,to\"wn --at class=? -q").works();
    assert!(dir.read("map.svg").contains("where class = missing"));
}
