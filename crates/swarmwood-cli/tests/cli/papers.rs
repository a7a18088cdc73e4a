//! Every command in the table of the papers' methods runs.

use crate::scratch::Scratch;
use crate::tables::TestRng;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/papers.md");

/// Numbers without a category, so that every method accepts them; `target` makes the last column.
fn table(target: impl Fn(f64, f64) -> String) -> String {
    let mut rng = TestRng::new(3);
    let mut text = "a,b,c,y\n".to_string();
    for _ in 0..120 {
        let [a, b, c] = [(); 3].map(|()| (rng.unit() * 1000.0).round() / 10.0);
        text.push_str(&format!("{a},{b},{c},{}\n", target(a, b)));
    }
    text
}

#[test]
fn every_row_is_complete_and_its_command_runs() {
    let dir = Scratch::new();
    dir.file("numbers.csv", table(|a, b| format!("{}", a + if b > 40.0 { 30.0 } else { 0.0 })));
    dir.file("classes.csv", table(|a, b| if a > b { "yes" } else { "no" }.to_string()));

    let page = std::fs::read_to_string(PAGE).unwrap();
    let mut commands = 0;
    for row in page.lines().filter(|line| line.starts_with("| ") && !line.contains("| command |")) {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        assert_eq!(cells.len(), 5, "{row}");
        assert!(cells.iter().all(|cell| !cell.is_empty()), "{row}");

        let command = cells[1].trim_matches('`');
        let arguments = command.strip_prefix("swarmwood ").unwrap_or_else(|| panic!("{row}"));
        let listing = arguments.contains("--list-engines");
        let quiet = if listing { "" } else { " --quiet --out model.json" };
        dir.run(&format!("{arguments}{quiet}")).works();
        commands += 1;
    }
    assert!(commands > 40, "{commands}");
}
