//! Columns of dates, from training to reports.

use crate::scratch::Scratch;

/// A table whose target depends on the month and the hour.
fn table() -> String {
    let rows = (0..240).map(|row| {
        let (month, day, hour) = (row % 12 + 1, row % 28 + 1, row * 7 % 24);
        let y = 10 * month + hour;
        format!("{row},2024-{month:02}-{day:02}T{hour:02}:30:00,{}.5,{y}\n", row % 5)
    });
    format!("id,at,a,y\n{}", rows.collect::<String>())
}

#[test]
fn a_model_reads_dates_as_it_was_trained_with_them() {
    let dir = Scratch::new();
    dir.file("t.csv", table());
    let train = "train t.csv --target y --ignore id --method greedy --trees 50 --out m.json";
    dir.run(train).works();
    let model = dir.read("m.json");
    assert!(model.contains("{\"name\":\"at\",\"format\":\"iso\",\"origin\":\"2024-01-01\""));
    dir.run("predict m.json t.csv --out p.csv").works();
    let metrics = dir.run("evaluate m.json t.csv --json").works().json();
    assert!(metrics["rmse"].as_f64().unwrap() < 5.0, "{metrics}");
    let page = dir.run("report m.json --data t.csv --out r.html").works();
    assert_eq!(page.code, 0);
    let page = dir.read("r.html");
    assert!(page.contains("at.month") && page.contains("at.hour"));

    // The parts are features like others.
    let constrained = format!("{train} --monotone at.month:+");
    dir.run(&constrained).works();
    dir.file("bad.csv", "at,a\n2024-13-01,1\n");
    dir.fails("predict m.json bad.csv", 2, &["bad.csv:2", "'2024-13-01' is not a date"]);
}

#[test]
fn other_ways_of_writing_give_the_same_model() {
    let dir = Scratch::new();
    let iso = table();
    let mut lines = vec![iso.lines().next().unwrap_or_default().to_string()];
    for line in iso.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let (date, time) = fields[1].split_once('T').unwrap();
        let parts: Vec<&str> = date.split('-').collect();
        let day_first = format!("{}/{}/{} {time}", parts[2], parts[1], parts[0]);
        lines.push(format!("{},{day_first},{},{}", fields[0], fields[2], fields[3]));
    }
    dir.file("iso.csv", &iso).file("days.csv", lines.join("\n"));
    for name in ["iso", "days"] {
        let run =
            format!("train {name}.csv --target y --method greedy --trees 5 --out {name}.json");
        dir.run(&run).works();
        dir.run(&format!("predict {name}.json {name}.csv --out {name}.txt")).works();
    }
    assert_eq!(dir.read("iso.txt"), dir.read("days.txt"));
    let given = "train days.csv --target y --method greedy --trees 5 --out given.json --dates";
    dir.run(&format!("{given} ignore")).ends(0, &["column 'at': holds dates and is left out"]);
    dir.fails(&format!("{given} %Q"), 2, &["dates: must be auto, ignore or a pattern"]);

    dir.file("c.toml", "dates = \"ignore\"\n");
    dir.run("train days.csv --target y --method greedy --trees 5 --config c.toml --out c.json")
        .ends(0, &["left out (--dates ignore)"]);
    assert_eq!(dir.read("c.json"), dir.read("given.json"));
}

#[test]
fn digits_alone_are_dates_if_the_pattern_says_so() {
    let dir = Scratch::new();
    let rows = |separator: &str| {
        let line = |row: usize| {
            let (month, day) = (row % 12 + 1, row % 28 + 1);
            let date = format!("2024{separator}{month:02}{separator}{day:02}");
            format!("{},{date},{}.5,,{}\n", 1000 + row, row % 5, 10 * month + day % 7)
        };
        format!("id,at,a,empty,y\n{}", (0..200).map(line).collect::<String>())
    };
    dir.file("digits.csv", rows("")).file("iso.csv", rows("-"));
    for (name, more) in [("digits", "--dates %Y%m%d"), ("iso", "")] {
        let train = "--target y --ignore empty --method greedy --trees 20";
        dir.run(&format!("train {name}.csv {train} {more} --out {name}.json")).works();
        dir.run(&format!("predict {name}.json {name}.csv --out {name}.txt")).works();
    }
    assert_eq!(dir.read("digits.txt"), dir.read("iso.txt"));
    let dates = |name: &str| dir.read(name).contains("{\"name\":\"at\",\"format\":\"%Y%m%d\"");
    assert!(dates("digits.json") && !dates("iso.json"));

    // Without the pattern they are numbers. A word among numbers makes a category, pattern or not.
    let train = "--target y --ignore empty --method greedy --trees 2";
    dir.run(&format!("train digits.csv {train} --out plain.json")).works();
    assert!(!dir.read("plain.json").contains("at.month"));
    dir.file("words.csv", rows("").replace(",0.5,", ",low,"));
    dir.run(&format!("train words.csv {train} --dates %Y%m%d --out words.json")).works();
    assert!(dates("words.json") && dir.read("words.json").contains("\"low\""));
    dir.file("bad.csv", "id,at,a\n1,20241301,1\n");
    dir.fails("predict digits.json bad.csv", 2, &["bad.csv:2", "'20241301' is not a date"]);
}
