//! Types, levels, classes, weights, and the warnings about them.

use proptest::prelude::*;
use swarmwood_learn::data::MISSING;
use swarmwood_model::{Kind, TargetKind};

use super::super::{TaskChoice, TextFormat};
use super::*;

#[test]
fn tells_numbers_from_categories_and_finds_missing_values() {
    let text = "a,b,c,y\n1,x,true,1.5\nNA,,false,2.5\n-inf,y,NaN,4\n";
    let rows = training(text, &target("y")).unwrap();
    let chunk = whole(&rows);
    assert!(numbers(&chunk, 0)[1].is_nan());
    assert_eq!(numbers(&chunk, 0)[2], f64::NEG_INFINITY);
    assert_eq!((levels(&rows, 1), codes(&chunk, 1)), (vec!["x", "y"], &[0, MISSING, 1][..]));
    assert_eq!((levels(&rows, 2), codes(&chunk, 2)), (vec!["false", "true"], &[1, 0, MISSING][..]));
    assert_eq!(rows.schema.target.kind, TargetKind::Number);
    assert_eq!(chunk.target, [1.5, 2.5, 4.0]);
    assert!(chunk.weight.is_empty());
    assert!(rows.warnings.is_empty(), "{:?}", rows.warnings);
}

#[test]
fn accepts_byte_order_mark_crlf_quotes_and_every_delimiter() {
    for delimiter in [",", ";", "\t", "|"] {
        let text = ["a", "\"b \"\"q\"\"\"", "y"].join(delimiter)
            + "\r\n"
            + &["1", "\"line one\r\nline two\"", "0"].join(delimiter)
            + "\r\n\r\n"
            + &[" 2 ", &format!("\"x{delimiter}y\""), "1"].join(delimiter);
        let rows = training(format!("\u{FEFF}{text}"), &target("y")).unwrap();
        assert_eq!(rows.schema.features[1].name, "b \"q\"");
        assert_eq!(levels(&rows, 1), ["line one\r\nline two", &format!("x{delimiter}y")]);
        assert_eq!(numbers(&whole(&rows), 0), [1.0, 2.0]);
    }
    let lone = training("a,y\r1,0\r2,1\r", &target("y")).unwrap();
    assert_eq!(lone.rows, 2);
    let format = TextFormat { delimiter: Some(b':'), ..TextFormat::default() };
    let given = ReadOptions { format, ..target("y") };
    assert_eq!(training("a:y\n1,5:0\n2:1\n", &given).unwrap().schema.features[0].name, "a");
}

#[test]
fn a_forced_category_keeps_its_spelling() {
    let options = ReadOptions { categorical: vec!["zip".into()], ..target("y") };
    let rows = training("zip,y\n01,1\n1,2\n1.0,3.5\n", &options).unwrap();
    assert_eq!(levels(&rows, 0), ["01", "1", "1.0"]);
    assert!(rows.warnings.is_empty(), "{:?}", rows.warnings);
}

#[test]
fn a_word_late_in_the_file_turns_the_column_into_categories() {
    let mut text = String::from("a,b,y\n");
    for row in 0..40_000 {
        text += &format!("{},{},{}\n", row % 7, row, row);
    }
    text += "seven,1,1\n3,2,2\n";
    let rows = training(text, &target("y")).unwrap();
    assert_eq!(levels(&rows, 0), ["0", "1", "2", "3", "4", "5", "6", "seven"]);
    let chunk = whole(&rows);
    assert_eq!(codes(&chunk, 0)[..9], [0, 1, 2, 3, 4, 5, 6, 0, 1]);
    assert_eq!(codes(&chunk, 0)[40_000..], [7, 3]);
    assert!(matches!(rows.schema.features[1].kind, Kind::Number));
    let [warning] = &rows.warnings[..] else { panic!("{:?}", rows.warnings) };
    assert!(
        warning.contains("column 'a'") && warning.contains("'seven' on line 40002"),
        "{warning}"
    );
}

#[test]
fn levels_do_not_depend_on_the_order_of_rows() {
    let lines = ["b,1", "a,2", "c,3", "a,4"];
    let forward = training(format!("k,y\n{}\n", lines.join("\n")), &target("y")).unwrap();
    let mut reversed = lines;
    reversed.reverse();
    let backward = training(format!("k,y\n{}\n", reversed.join("\n")), &target("y")).unwrap();
    assert_eq!(forward.schema, backward.schema);
    assert_eq!(codes(&whole(&forward), 0), [1, 0, 2, 0]);
    assert_eq!(codes(&whole(&backward), 0), [0, 2, 0, 1]);
}

#[test]
fn infers_the_task() {
    let task = |cells: &str| {
        let text = format!(
            "a,y\n{}\n",
            cells.split(' ').map(|y| format!("1,{y}")).collect::<Vec<_>>().join("\n")
        );
        training(text, &target("y")).unwrap()
    };
    assert_eq!(classes(&task("no yes no")), ["no", "yes"]);
    assert_eq!(classes(&task("True False True")), ["False", "True"]);
    assert_eq!(classes(&task("1 0 1 1.0")), ["0", "1"]);
    assert_eq!(classes(&task("10 9 10 9")), ["9", "10"]);
    assert_eq!(classes(&task("b a c 1")), ["1", "a", "b", "c"]);
    assert!(classes(&task("1 2 3")).is_empty());
    let options = ReadOptions { task: TaskChoice::Classification, ..target("y") };
    let rows = training("a,y\n1,10\n1,9\n1,-1\n", &options).unwrap();
    assert_eq!((classes(&rows), whole(&rows).target), (vec!["-1", "9", "10"], vec![2.0, 1.0, 0.0]));
    let options = ReadOptions { task: TaskChoice::Regression, ..target("y") };
    assert!(classes(&training("a,y\n1,0\n1,1\n", &options).unwrap()).is_empty());
}

#[test]
fn hints_at_class_codes() {
    let codes: String = (0..60).map(|row| format!("{row},{}\n", row % 3)).collect();
    let rows = training(format!("a,y\n{codes}"), &target("y")).unwrap();
    assert!(classes(&rows).is_empty());
    assert!(rows.warnings[0].contains("3 different whole numbers"), "{:?}", rows.warnings);
    let amounts: String = (0..60).map(|row| format!("{row},{}.5\n", row % 3)).collect();
    assert!(training(format!("a,y\n{amounts}"), &target("y")).unwrap().warnings.is_empty());
}

#[test]
fn the_positive_class_comes_second() {
    let options = |positive: &str| ReadOptions { positive: Some(positive.into()), ..target("y") };
    let text = "a,y\n1,bad\n2,good\n3,bad\n";
    let rows = training(text, &options("bad")).unwrap();
    assert_eq!((classes(&rows), whole(&rows).target), (vec!["good", "bad"], vec![1.0, 0.0, 1.0]));
    let rows = training(text, &options("good")).unwrap();
    assert_eq!((classes(&rows), whole(&rows).target), (vec!["bad", "good"], vec![0.0, 1.0, 0.0]));
    let rows = training("a,y\n1,1\n2,2\n", &options("1.0")).unwrap();
    assert_eq!((classes(&rows), whole(&rows).target), (vec!["2", "1"], vec![1.0, 0.0]));
    assert!(failure(training(text, &options("ugly"))).contains("the classes are 'bad', 'good'"));
    assert!(failure(training("a,y\n1,a\n2,b\n3,c\n", &options("a"))).contains("needs two classes"));
    assert!(failure(training("a,y\n1,1\n2,2\n3,3\n", &options("1"))).contains("in a regression"));
}

#[test]
fn rows_without_a_target_are_left_out_with_a_warning() {
    let rows = training("k,y\nonly here,NA\na,1\nb,\nb,2.5\na,3\n", &target("y")).unwrap();
    assert_eq!((rows.rows, levels(&rows, 0)), (3, vec!["a", "b"]));
    assert_eq!(whole(&rows).target, [1.0, 2.5, 3.0]);
    assert!(rows.warnings[0].contains("2 rows have no target"), "{:?}", rows.warnings);
    assert!(
        rows.warnings[0].contains("line 2, where 'NA' counts as missing"),
        "{:?}",
        rows.warnings
    );
}

#[test]
fn weights_are_read() {
    let options = ReadOptions { weight: Some("w".into()), ..target("y") };
    let rows = training("w,a,y\n1,1,1\n0.5,2,2\n0,3,3\n", &options).unwrap();
    assert_eq!((rows.schema.features.len(), whole(&rows).weight), (1, vec![1.0, 0.5, 0.0]));
}

#[test]
fn warns_of_identifiers() {
    for count in [30, 2000] {
        let ids: String = (0..count).map(|row| format!("id{row},{row}\n")).collect();
        let rows = training(format!("a,y\n{ids}"), &target("y")).unwrap();
        let expected = format!("{count} different texts in {count} rows");
        assert!(rows.warnings[0].contains(&expected), "{:?}", rows.warnings);
    }
}

#[test]
fn a_column_without_a_name_gets_one() {
    let rows = training(",a,y\n0,5,1\n1,6,2\n", &target("y")).unwrap();
    assert_eq!(rows.schema.features[0].name, "column_1");
    assert!(rows.warnings[0].contains("column 1 has no name"), "{:?}", rows.warnings);
}

#[test]
fn reads_gzip_also_in_several_members() {
    let pack = |text: &str| {
        let mut encoder =
            flate2::read::GzEncoder::new(text.as_bytes(), flate2::Compression::fast());
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut encoder, &mut bytes).unwrap();
        bytes
    };
    let bytes = [pack("a,y\n1,2\n"), pack("3,4\n5,6.5\n")].concat();
    assert_eq!(whole(&training(bytes, &target("y")).unwrap()).target, [2.0, 4.0, 6.5]);
}

/// A cell and its spelling in a file.
fn cell() -> impl Strategy<Value = Option<String>> {
    proptest::option::weighted(0.9, "[a-cA-C0-9 ,;\"\n\r\té|.]{1,8}")
}

proptest! {
    /// Any table, written with quotes, reads back the same.
    #[test]
    fn texts_come_back(cells in proptest::collection::vec((cell(), cell()), 2..30)) {
        let usable = |cell: &Option<String>| {
            cell.clone().filter(|text| !super::super::token::is_missing(text.as_bytes()))
        };
        let quote = |cell: &Option<String>| format!("\"{}\"", cell.as_deref().unwrap_or("").replace('"', "\"\""));
        let mut text = String::from("one,two,y\n");
        for (row, (one, two)) in cells.iter().enumerate() {
            text += &format!("{},{},{row}.5\n", quote(one), quote(two));
        }
        let options = ReadOptions {
            categorical: vec!["one".into(), "two".into()],
            task: TaskChoice::Regression,
            ..target("y")
        };
        let rows = training(text, &options).unwrap();
        let chunk = whole(&rows);
        for feature in 0..2 {
            let levels = levels(&rows, feature);
            prop_assert!(levels.is_sorted());
            for (row, pair) in cells.iter().enumerate() {
                let code = codes(&chunk, feature)[row];
                let read = (code != MISSING).then(|| levels[code as usize].to_string());
                prop_assert_eq!(read, usable(if feature == 0 { &pair.0 } else { &pair.1 }));
            }
        }
    }

    /// Numbers written in full come back to the bit.
    #[test]
    fn numbers_come_back(values in proptest::collection::vec(any::<f64>(), 2..40)) {
        let text: String = values.iter().enumerate().map(|(row, value)| format!("{value},{row}.5\n")).collect();
        let options = ReadOptions { task: TaskChoice::Regression, ..target("y") };
        let rows = training(format!("x,y\n{text}"), &options).unwrap();
        let chunk = whole(&rows);
        for (read, value) in numbers(&chunk, 0).iter().zip(&values) {
            prop_assert!(read.to_bits() == value.to_bits() || (read.is_nan() && value.is_nan()));
        }
    }

    /// No bytes whatever make the reader panic.
    #[test]
    fn survives_any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = training(bytes, &target("y"));
    }

    #[test]
    fn survives_any_table_like_text(text in "[ay01,;\"\n\r .-]{0,80}") {
        let _ = training(format!("a,y\n{text}"), &target("y"));
    }
}
