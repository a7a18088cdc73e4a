//! Names out of files of others: they control no terminal, no spreadsheet and no database.

use crate::scratch::Scratch;

/// A table whose column, class and level names are hostile.
fn hostile() -> Scratch {
    let dir = Scratch::new();
    let mut table = String::from("\"size\u{1b}[31m\",town,y\n");
    for row in 0..60 {
        let class = if row % 3 == 0 { "=1+cmd|' /C calc'!A0" } else { "-2" };
        let town = if row % 3 == 0 { "\\' OR 1=1 -- " } else { "Ash" };
        table.push_str(&format!("{row},\"{town}\",\"{class}\"\n"));
    }
    dir.file("t.csv", table);
    dir.run("train t.csv --target y --method cart --out m.json").works();
    dir
}

#[test]
fn errors_and_warnings_do_not_control_the_terminal() {
    let dir = hostile();
    dir.file("bad.csv", "\"size\u{1b}[31m\",town,y\n1,Ash,-2\n\u{9b}2J\u{7}x,Ash,-2\n");
    let long = "a\nerror: no such thing\u{1b}]0;title\u{7}";
    dir.file("names.csv", format!("\"{long}\",y\n1,1\nx,2\ny,3\n"));
    for line in [
        "predict m.json bad.csv --out p.csv",
        "evaluate m.json bad.csv",
        "train bad.csv --target siz --out n.json",
        "train names.csv --target \u{1b}[5m --out n.json",
        "train t.csv --target y --trees \u{1b}[5m --out n.json",
        "inspect \u{1b}[5m.json",
    ] {
        let output = dir.run(line);
        assert_ne!(output.code, 0, "{line}");
        let controls = |letter: char| letter.is_control() && letter != '\n';
        assert!(!output.err.contains(controls), "{line}: {:?}", output.err);
    }
    let output = dir.run("train t.csv --target y --method cart --out m.json").works();
    assert!(!output.err.contains('\u{1b}'), "{:?}", output.err);
}

#[test]
fn safe_tables_have_no_formulas() {
    let dir = hostile();
    let table = dir.run("predict m.json t.csv").works().out;
    assert!(table.contains("\n=1+cmd|"), "names are written as they are");
    let table = dir.run("predict m.json t.csv --safe-csv").works().out;
    assert!(!table.contains("\n=") && table.contains("\n'=1+cmd|"), "{table}");
    assert!(table.contains("\n-2,"), "a number is no formula");
    let probabilities = dir.run("predict m.json t.csv --safe-csv --raw").works().out;
    assert_eq!(probabilities, dir.run("predict m.json t.csv --raw").works().out);
}

#[test]
fn names_do_not_end_texts_of_sql() {
    let dir = hostile();
    for format in ["sql", "mysql"] {
        let sql = dir.run(&format!("rules m.json --format {format}")).works().out;
        // A backslash before a quote would be an escape in some databases.
        assert!(!sql.replace("\\\\", "").contains("\\'"), "{sql}");
    }
    let model = dir.read("m.json").replace("size\\u001b[31m", "size\\\\");
    dir.file("column.json", model);
    dir.fails("rules column.json --format sql", 2, &["backslash", "mysql"]);
    dir.run("rules column.json --format mysql").works();
}
