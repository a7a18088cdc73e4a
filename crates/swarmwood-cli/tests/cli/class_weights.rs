//! Weights of classes, with every method.

use crate::scratch::Scratch;
use crate::tables::{binary, classes, regression};

/// A class that weighs twice is a class whose rows weigh twice.
#[test]
fn class_weights_are_weights_of_rows() {
    let dir = Scratch::new();
    let table = binary(300, 1);
    let weighted = |weight: &dyn Fn(bool) -> u32| -> String {
        let mut lines = table.lines();
        let mut text = format!("w,{}\n", lines.next().unwrap());
        for line in lines {
            text += &format!("{},{line}\n", weight(line.ends_with("yes")));
        }
        text
    };
    dir.file("plain.csv", &table).file("double.csv", weighted(&|yes| if yes { 2 } else { 1 }));
    for method in ["swarm", "greedy", "cart", "swarm-tree", "tree-sum", "sgbdt-bins"] {
        let run = |data: &str, flags: &str| {
            let out = format!("--out {method}.json");
            let small = match method {
                "sgbdt-bins" => "--trees 2 --depth 2 --population 5 --iterations 3",
                "swarm" => "--trees 2 --max-leaves 4",
                _ => "",
            };
            dir.run(&format!("train {data} --target sold --method {method} {small} {flags} {out}"))
                .works();
            let model = dir.read(&format!("{method}.json"));
            model[model.find("\"trees\":[").unwrap()..].to_string()
        };
        let expected = run("double.csv", "--weight w");
        assert_eq!(run("plain.csv", "--class-weight yes:2"), expected, "{method}");
        assert_eq!(run("plain.csv", "--scale-pos-weight 2"), expected, "{method}");
        assert_ne!(run("plain.csv", ""), expected, "{method}");
    }
}

#[test]
fn balanced_classes_have_the_same_total_weight() {
    let dir = Scratch::new();
    dir.file("t.csv", "x,y\n1,a\n2,a\n3,a\n4,b\n");
    let train = "train t.csv --target y --method cart --depth 1 --out m.json --json";
    let report = dir.run(&format!("{train} --class-weight balanced")).works().json();
    assert_eq!(report["metrics"]["train"]["accuracy"], 1.0);
    dir.file("c.toml", "class-weight = [\"a:1\", \"b:3\"]\n");
    dir.run(&format!("{train} --config c.toml")).works();
}

#[test]
fn unfit_class_weights_are_refused() {
    let dir = Scratch::new();
    dir.file("two.csv", binary(60, 1))
        .file("more.csv", classes(60, 1))
        .file("numbers.csv", regression(60, 1));
    let train = |data: &str, target: &str, flags: &str| {
        dir.run(&format!("train {data} --target {target} {flags} --method cart"))
    };
    train("two.csv", "sold", "--class-weight yes").ends(2, &["must be 'balanced' or classes"]);
    train("two.csv", "sold", "--class-weight yes:-1").ends(2, &["must be 'balanced' or classes"]);
    train("two.csv", "sold", "--class-weight yess:2").ends(2, &["did you mean 'yes'?"]);
    train("two.csv", "sold", "--scale-pos-weight 0").ends(2, &["must be a number above 0"]);
    train("more.csv", "colour", "--scale-pos-weight 2").ends(2, &["is for two classes"]);
    train("numbers.csv", "price", "--class-weight balanced")
        .ends(2, &["is for classes, but the target has numbers"]);
}
