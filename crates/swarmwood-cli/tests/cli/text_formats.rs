//! Numbers and letters as other programs write them.

use crate::scratch::Scratch;

/// A table of numbers, and the same one as a spreadsheet in another country writes it.
fn tables() -> (String, String) {
    let (mut point, mut comma) = ("a,b,y\n".to_string(), "a;b;y\n".to_string());
    for row in 0..60 {
        let (a, b) = (f64::from(row) * 37.25, f64::from(row % 7) / 4.0);
        let y = a + 100.0 * b;
        point += &format!("{a},{b},{y}\n");
        comma += &format!("{a};{b} €;{y}\n").replace('.', ",");
    }
    (point, comma)
}

#[test]
fn a_decimal_comma_gives_the_same_model() {
    let dir = Scratch::new();
    let (point, comma) = tables();
    dir.file("point.csv", point);
    dir.file("comma.csv", comma);
    for name in ["point", "comma"] {
        dir.run(&format!("train {name}.csv --target y --method greedy --out {name}.json")).works();
        dir.run(&format!("predict {name}.json {name}.csv --out {name}.txt")).works();
    }
    assert_eq!(dir.read("point.json"), dir.read("comma.json"));
    assert_eq!(dir.read("point.txt"), dir.read("comma.txt"));

    // The other sign makes texts of these numbers.
    let run = "train comma.csv --target y --method greedy --decimal . --out m.json";
    dir.fails(run, 2, &["different texts", "--decimal"]);
    let run = "predict point.json comma.csv --decimal . --out p.csv";
    dir.fails(run, 2, &["comma.csv:3", "is not a number"]);
}

#[test]
fn a_target_of_texts_is_no_classification_by_itself() {
    let dir = Scratch::new();
    let rows: String = (0..60).map(|row| format!("{row},{row} kg\n")).collect();
    dir.file("t.csv", format!("a,y\n{rows}"));
    let parts = ["60 different texts in 60 rows", "--task classification"];
    dir.fails("train t.csv --target y --out m.json", 2, &parts);
    dir.run("train t.csv --target y --task classification --trees 1 --out m.json").works();
}

#[test]
fn letters_of_other_encodings_are_read() {
    let dir = Scratch::new();
    let text: String = (0..40).map(|row| format!("{},{row}\n", ["é", "ß"][row % 2])).collect();
    let text = format!("größe,y\n{text}");
    let utf_16: Vec<u8> =
        format!("\u{feff}{text}").encode_utf16().flat_map(u16::to_le_bytes).collect();
    let latin: Vec<u8> = text.chars().map(|char| char as u8).collect();
    dir.file("utf-8.csv", &text);
    dir.file("utf-16.csv", utf_16);
    dir.file("latin.csv", latin);
    for name in ["utf-8", "utf-16", "latin"] {
        dir.run(&format!("train {name}.csv --target y --method greedy --out {name}.json")).works();
    }
    dir.run("train latin.csv --target y --method greedy --encoding latin1 --out given.json")
        .works();
    for name in ["utf-16", "latin", "given"] {
        assert_eq!(dir.read(&format!("{name}.json")), dir.read("utf-8.json"), "{name}");
    }
}

#[test]
fn wrong_formats_are_reported_together() {
    let dir = Scratch::new();
    dir.file("t.csv", "a,y\n1,2\n2,3\n");
    let run = "train t.csv --target y --decimal ; --thousands abc --encoding klingon --out m.json";
    dir.fails(run, 2, &["decimal: is ';'", "thousands: is 'abc'", "encoding: is 'klingon'"]);
    let run = "train t.csv --target y --decimal , --thousands , --out m.json";
    dir.fails(run, 2, &["thousands: is ','", "the decimal sign already"]);
}
