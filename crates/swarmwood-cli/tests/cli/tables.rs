//! Small tables with a known relation.

/// Pseudo-random numbers that are the same on every machine.
pub struct TestRng(u64);

impl TestRng {
    pub fn new(seed: u64) -> Self {
        TestRng(seed)
    }

    /// In [0, 1).
    pub fn unit(&mut self) -> f64 {
        // Steele, Lea and Flood's SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    pub fn pick<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[(self.unit() * choices.len() as f64) as usize]
    }
}

/// One row of the synthetic data: two numbers, a category, and whether the size is missing.
struct Row {
    size: f64,
    age: f64,
    town: &'static str,
    size_known: bool,
    noise: f64,
}

fn rows(count: usize, seed: u64) -> Vec<Row> {
    let mut rng = TestRng::new(seed);
    (0..count)
        .map(|_| Row {
            size: (rng.unit() * 1000.0).round() / 10.0,
            age: (rng.unit() * 80.0).floor(),
            town: rng.pick(&["Ash", "Birch", "Cedar, East", "Dell"]),
            size_known: rng.unit() > 0.1,
            noise: rng.unit() - 0.5,
        })
        .collect()
}

fn features(row: &Row) -> String {
    let size = if row.size_known { row.size.to_string() } else { String::new() };
    let town =
        if row.town.contains(',') { format!("\"{}\"", row.town) } else { row.town.to_string() };
    format!("{size},{},{town}", row.age)
}

/// `price` is linear in size, steps down with age and depends on the town.
pub fn regression(count: usize, seed: u64) -> String {
    let mut text = "size,age,town,price\n".to_string();
    for row in rows(count, seed) {
        let town = if row.town == "Ash" { 50.0 } else { 0.0 };
        let price = 2.0 * row.size + town - if row.age > 40.0 { 30.0 } else { 0.0 } + row.noise;
        text.push_str(&format!("{},{price:.3}\n", features(&row)));
    }
    text
}

/// `sold` is yes for small sizes in two towns and for young houses in the others.
pub fn binary(count: usize, seed: u64) -> String {
    let mut text = "size,age,town,sold\n".to_string();
    for row in rows(count, seed) {
        let by_size = matches!(row.town, "Ash" | "Dell");
        let sold = if by_size { row.size < 50.0 } else { row.age < 30.0 };
        text.push_str(&format!("{},{}\n", features(&row), if sold { "yes" } else { "no" }));
    }
    text
}

/// `colour` follows the age, but in one town it is always `deep \"blue\", dark`.
pub fn classes(count: usize, seed: u64) -> String {
    let mut text = "size,age,town,colour\n".to_string();
    for row in rows(count, seed) {
        let colour = match row.town {
            "Birch" => "\"deep \"\"blue\"\", dark\"",
            _ if row.age < 40.0 => "green",
            _ => "red",
        };
        text.push_str(&format!("{},{colour}\n", features(&row)));
    }
    text
}

/// Splits a line of CSV into its fields.
pub fn fields(line: &str) -> Vec<String> {
    let (mut fields, mut quoted) = (vec![String::new()], false);
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if quoted && letters.peek() == Some(&'"') => {
                letters.next();
                fields.last_mut().unwrap().push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(String::new()),
            _ => fields.last_mut().unwrap().push(letter),
        }
    }
    fields
}

/// The last field of every line after the header.
pub fn last_column(text: &str) -> Vec<String> {
    text.lines().skip(1).map(|line| fields(line).pop().unwrap()).collect()
}

/// A column of a table by name.
pub fn column(text: &str, name: &str) -> Vec<String> {
    let mut lines = text.lines();
    let header = fields(lines.next().unwrap());
    let index = header
        .iter()
        .position(|field| field == name)
        .unwrap_or_else(|| panic!("no {name} in {header:?}"));
    lines.map(|line| fields(line).swap_remove(index)).collect()
}
