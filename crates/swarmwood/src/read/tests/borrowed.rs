//! Borrowed tables: the same rows as from a file, and weights as repeats.

use std::sync::Arc;

use proptest::prelude::*;
use swarmwood_learn::data::MISSING;
use swarmwood_model::{Kind, Target, TargetKind};

use super::{comparable, target, training, whole};
use crate::params::{Method, Params};
use crate::read::{
    Columns, Field, RowSelection, Rows, SAMPLE_ROWS, TableColumn, borrowed, borrowed_matching,
    borrowed_scoring,
};
use crate::{store, train};

/// A table with numbers, one category, targets and maybe weights.
#[derive(Debug, Clone, Default)]
struct Memory {
    fields: Vec<Field>,
    numbers: Vec<Vec<f64>>,
    codes: Vec<u32>,
    target: Vec<f64>,
    weight: Vec<f64>,
}

impl Memory {
    /// A table of numbers alone.
    fn of(numbers: Vec<Vec<f64>>, target: Vec<f64>) -> Memory {
        let fields =
            (0..numbers.len()).map(|at| Field { name: format!("x{at}"), texts: None }).collect();
        Memory { fields, numbers, target, ..Memory::default() }
    }

    fn row(&self, row: usize) -> (Vec<f64>, f64) {
        (self.numbers.iter().map(|column| column[row]).collect(), self.target[row])
    }

    /// The rows at these places.
    fn at(&self, rows: &[usize]) -> Memory {
        let pick = |values: &Vec<f64>| -> Vec<f64> {
            rows.iter().filter_map(|&row| values.get(row)).copied().collect()
        };
        Memory {
            fields: self.fields.clone(),
            numbers: self.numbers.iter().map(pick).collect(),
            codes: Vec::new(),
            target: pick(&self.target),
            weight: pick(&self.weight),
        }
    }
}

fn each<T: Copy>(values: &[T], rows: &RowSelection<'_>, out: &mut Vec<T>) {
    match rows {
        RowSelection::Range(run) => out.extend_from_slice(&values[run.clone()]),
        RowSelection::Indices(rows) => out.extend(rows.iter().map(|&row| values[row])),
    }
}

impl Columns for Memory {
    fn rows(&self) -> usize {
        self.target.len()
    }
    fn fields(&self) -> &[Field] {
        &self.fields
    }
    fn has_weight(&self) -> bool {
        !self.weight.is_empty()
    }
    fn numbers(&self, part: TableColumn, rows: &RowSelection<'_>, out: &mut Vec<f64>) {
        match part {
            TableColumn::Feature(feature) => each(&self.numbers[feature], rows, out),
            TableColumn::Target => each(&self.target, rows, out),
            TableColumn::Weight => each(&self.weight, rows, out),
        }
    }
    fn codes(&self, _: usize, rows: &RowSelection<'_>, out: &mut Vec<u32>) {
        each(&self.codes, rows, out);
    }
}

fn numbers_target() -> Target {
    Target { name: "y".into(), kind: TargetKind::Number }
}

fn rows_of(table: Memory) -> Rows {
    borrowed(Arc::new(table), numbers_target()).unwrap()
}

/// Pets as a lender keeps them: codes in an order of its own, one text that means missing, one that
/// never occurs.
fn pets() -> Memory {
    let texts = ["wolf", "cat", "NA", "dog", "bear"].map(|text| Some(text.to_string())).to_vec();
    Memory {
        fields: vec![
            Field { name: "weight".into(), texts: None },
            Field { name: "kind".into(), texts: Some(texts) },
        ],
        numbers: vec![vec![4.5, 40.0, f64::NAN, 7.0, 9.0]],
        codes: vec![1, 0, 3, MISSING, 2],
        target: vec![1.0, 2.0, 3.0, 4.0, 5.5],
        weight: Vec::new(),
    }
}

#[test]
fn gives_the_schema_and_the_rows_of_a_file_with_the_same_cells() {
    let file =
        training("weight,kind,y\n4.5,cat,1\n40,wolf,2\n,dog,3\n7,,4\n9,NA,5.5\n", &target("y"))
            .unwrap();
    let memory = rows_of(pets());
    assert_eq!(memory.schema, file.schema);
    assert_eq!(comparable(&whole(&memory)), comparable(&whole(&file)));
    assert_eq!(comparable(&memory.sample()), comparable(&file.sample()));
    assert!(!memory.is_streamed());
}

#[test]
fn a_known_schema_maps_other_codes_and_tells_of_unseen_levels() {
    let schema = rows_of(pets()).schema;
    let mut later = pets();
    later.fields[1].texts =
        Some(["dog", "yak", "cat", "wolf"].map(|text| Some(text.to_string())).to_vec());
    later.codes = vec![2, 3, 0, 1, 1];
    let mut kinds = Vec::new();
    let warnings = borrowed_scoring(Arc::new(later.clone()), &schema, &mut |chunk| {
        assert!(chunk.target.is_empty());
        if let swarmwood_learn::data::Column::Category(codes) = &chunk.columns[1] {
            kinds.extend_from_slice(codes);
        }
        Ok(())
    })
    .unwrap();
    assert_eq!(
        schema.features[1].kind,
        Kind::Category { levels: ["cat", "dog", "wolf"].map(String::from).to_vec() }
    );
    assert_eq!(kinds, [0, 2, 1, MISSING, MISSING]);
    assert_eq!(warnings.len(), 1);
    assert!(warnings[0].contains("2 cells hold") && warnings[0].contains("'yak'"), "{warnings:?}");
    assert_eq!(borrowed_matching(Arc::new(later), &schema).unwrap().rows, 5);
    let numbers = Memory::of(vec![vec![0.0]; 2], vec![0.0]);
    let message = borrowed_matching(Arc::new(numbers), &schema).unwrap_err().to_string();
    assert!(message.contains("'kind'") && message.contains("must hold categories"), "{message}");
}

#[test]
fn rows_too_light_to_count_are_left_out_and_told() {
    let table = Memory::of(vec![vec![1.0, 2.0, 3.0, 4.0]], vec![1.0, 2.0, 3.0, 4.0]);
    let with = |weight: [f64; 4]| rows_of(Memory { weight: weight.to_vec(), ..table.clone() });
    let rows = with([1e9, 0.5, 0.0, 2e8]);
    assert_eq!((rows.rows, rows.warnings.len()), (2, 1));
    assert!(
        rows.warnings[0].starts_with("1 rows weigh less than 1.2e-7 of the heaviest"),
        "{:?}",
        rows.warnings
    );
    // What weighs nothing is left out by wish.
    let rows = with([1.5, 0.5, 0.0, 2.0]);
    assert_eq!((rows.rows, rows.warnings.len()), (3, 0));
}

#[test]
fn refuses_answers_that_make_no_sense() {
    let x = vec![vec![1.0, 2.0, 3.0]];
    let with = |target: [f64; 3], weight: [f64; 3]| {
        let table = Memory { weight: weight.to_vec(), ..Memory::of(x.clone(), target.to_vec()) };
        borrowed(Arc::new(table), numbers_target())
            .map(|rows| rows.rows)
            .map_err(|error| error.to_string())
    };
    assert_eq!(with([1.0, 2.0, 3.0], [1.0, 0.0, 0.5]), Ok(2));
    for weight in [[1.0, -1.0, 1.0], [0.0; 3], [1.0, f64::NAN, 1.0], [f64::INFINITY, 1.0, 1.0]] {
        assert!(with([1.0; 3], weight).unwrap_err().contains("weights"), "{weight:?}");
    }
    assert!(with([1.0, f64::NAN, 1.0], [1.0; 3]).unwrap_err().contains("row 1: the target is NaN"));
    assert!(with([1.0; 3], [1.0, 0.0, 0.0]).unwrap_err().contains("only 1 of 3 rows"));
    let mut twins = Memory::of(vec![x[0].clone(), x[0].clone()], vec![1.0, 2.0, 3.0]);
    twins.fields[1].name = "x0".into();
    let message = borrowed(Arc::new(twins), numbers_target()).unwrap_err().to_string();
    assert!(message.contains("'x0': two features have this name"), "{message}");
    let classes =
        Target { name: "y".into(), kind: TargetKind::Classes(vec!["a".into(), "b".into()]) };
    let table = Memory::of(x, vec![0.0, 1.0, 2.0]);
    assert!(
        borrowed(Arc::new(table), classes)
            .unwrap_err()
            .to_string()
            .contains("row 2: the target is 2")
    );
}

#[test]
fn a_large_table_is_sampled_and_split_without_a_copy() {
    let rows = SAMPLE_ROWS + 5000;
    let values: Vec<f64> = (0..rows).map(|row| row as f64).collect();
    let table = Memory { weight: vec![2.0; rows], ..Memory::of(vec![values.clone()], values) };
    let table = rows_of(table);
    let sample = table.sample();
    assert_eq!((table.rows, sample.rows, sample.weight.len()), (rows, SAMPLE_ROWS, SAMPLE_ROWS));
    assert!(sample.target.is_sorted());
    let (rest, held) = table.holdout(0.25, 7).unwrap();
    assert_eq!(rest.rows + held.rows, rows);
    let mut all = whole(&rest).target;
    assert_eq!(rest.sample().rows + held.sample().rows, SAMPLE_ROWS);
    all.extend(whole(&held).target);
    all.sort_by(f64::total_cmp);
    assert!(all.iter().enumerate().all(|(row, &value)| value == row as f64));
}

#[test]
fn rows_that_differ_keep_their_order() {
    let x = vec![3.0, 1.0, 2.0, 9.0];
    let table = Memory { weight: vec![1.0, 1.0, 1.0, 0.0], ..Memory::of(vec![x.clone()], x) };
    let chunk = whole(&rows_of(table));
    assert_eq!((chunk.target, chunk.weight), (vec![3.0, 1.0, 2.0], Vec::new()));
}

/// Two features, a target and a weight.
type Twin = (u8, u8, u8, usize);

/// A table with few distinct rows, their whole weights, and the same with rows repeated, in another
/// order.
fn twins() -> impl Strategy<Value = (Memory, Memory)> {
    let row = (0..4_u8, 0..3_u8, 0..3_u8, 0..4_usize);
    (prop::collection::vec(row, 8..40), any::<u64>()).prop_map(|(rows, seed)| {
        let column = |value: fn(&Twin) -> f64| rows.iter().map(value).collect::<Vec<f64>>();
        let (a, b) = (column(|row| row.0.into()), column(|row| row.1.into()));
        let mut weighted = Memory::of(vec![a, b], column(|row| row.2.into()));
        weighted.weight = column(|row| row.3 as f64);
        let mut repeats: Vec<usize> =
            rows.iter().enumerate().flat_map(|(at, row)| std::iter::repeat_n(at, row.3)).collect();
        repeats.sort_by_key(|&at| crate::read::sample::hash(at as u64, seed));
        let repeated = Memory { weight: Vec::new(), ..weighted.at(&repeats) };
        (weighted, repeated)
    })
}

proptest! {
    #[test]
    fn whole_weights_are_repeats((weighted, repeated) in twins()) {
        let content = |table: &Memory| -> Vec<(Vec<u64>, u64)> {
            let mut rows: Vec<_> = (0..table.target.len()).map(|row| table.row(row)).collect();
            rows.sort_by(|a, b| a.partial_cmp(b).unwrap());
            rows.iter().map(|(x, y)| (x.iter().map(|v| v.to_bits()).collect(), y.to_bits())).collect()
        };
        prop_assume!(repeated.target.len() > 1);
        let expected = content(&repeated);
        let (a, b) = (whole(&rows_of(weighted)), whole(&rows_of(repeated)));
        let back = Memory::of(
            a.columns.iter().map(|column| match column {
                swarmwood_learn::data::Column::Number(values) => values.clone(),
                swarmwood_learn::data::Column::Category(_) => Vec::new(),
            }).collect(),
            a.target.clone(),
        );
        prop_assert_eq!(content(&back), expected);
        if content(&back).windows(2).any(|pair| pair[0] == pair[1]) {
            prop_assert_eq!(comparable(&a), comparable(&b));
        }
    }
}

#[test]
fn weighted_and_repeated_tables_give_the_same_model_by_every_method() {
    let rows = 60;
    let noise = |row: usize, of: usize| (row * 7919 + of * 104_729) % 1000;
    let x: Vec<Vec<f64>> =
        (0..3).map(|of| (0..rows).map(|row| noise(row, of) as f64 / 1000.0).collect()).collect();
    let y: Vec<f64> =
        (0..rows).map(|row| f64::from(u8::from(x[0][row] + x[1][row] > 1.0))).collect();
    let mut weighted = Memory::of(x, y);
    weighted.weight = (0..rows).map(|row| (noise(row, 9) % 4) as f64).collect();
    let repeats: Vec<usize> = (0..rows)
        .rev()
        .flat_map(|row| std::iter::repeat_n(row, weighted.weight[row] as usize))
        .collect();
    let repeated = Memory { weight: Vec::new(), ..weighted.at(&repeats) };
    let classes =
        Target { name: "y".into(), kind: TargetKind::Classes(vec!["no".into(), "yes".into()]) };
    for &method in Method::ALL {
        let params = Params { iterations: 3, threads: 1, ..Params::of(method) };
        let fit = |table: &Memory| {
            let rows = borrowed(Arc::new(table.clone()), classes.clone()).unwrap();
            let params = params.clone().check().unwrap();
            let trained = train::train(&rows, None, &params, &mut |_| {}).unwrap();
            store::to_text(&trained.model).unwrap()
        };
        assert_eq!(fit(&weighted), fit(&repeated), "{method:?}");
    }
}

#[test]
fn rows_too_light_to_be_noticed_are_left_out() {
    let x: Vec<f64> = (0..4).map(f64::from).collect();
    let with = |weight: [f64; 4]| {
        let table = Memory { weight: weight.to_vec(), ..Memory::of(vec![x.clone()], x.clone()) };
        whole(&rows_of(table)).target
    };
    assert_eq!(with([1000.0, 1e-4, 0.5, 1000.0]), [0.0, 2.0, 3.0]);
    assert_eq!(with([1e-4, 1e-5, 1e-4, 0.0]), [0.0, 1.0, 2.0]);
}

/// A table whose first column holds dates.
#[derive(Debug)]
struct WithDates(Memory);

impl Columns for WithDates {
    fn rows(&self) -> usize {
        self.0.rows()
    }
    fn fields(&self) -> &[Field] {
        self.0.fields()
    }
    fn has_weight(&self) -> bool {
        false
    }
    fn numbers(&self, part: TableColumn, rows: &RowSelection<'_>, out: &mut Vec<f64>) {
        self.0.numbers(part, rows, out);
    }
    fn is_date(&self, feature: usize) -> bool {
        feature == 0
    }
    fn codes(&self, feature: usize, rows: &RowSelection<'_>, out: &mut Vec<u32>) {
        self.0.codes(feature, rows, out);
    }
}

#[test]
fn dates_are_expanded_as_those_of_a_file() {
    let days = [19_783.0, 19_388.0, 19_782.0].map(|day| day * 86_400.0).to_vec();
    let table = Memory::of(vec![days, vec![5.0, 6.0, 7.0]], vec![1.0, 2.0, 3.5]);
    let dates = Arc::new(WithDates(table.clone()));
    let rows = borrowed(dates.clone(), number_target()).unwrap();
    let text = "x0,x1,y\n2024-03-01,5,1\n2023-01-31,6,2\n2024-02-29,7,3.5\n";
    let file = training(text, &target("y")).unwrap();
    assert_eq!(rows.schema.features, file.schema.features);
    assert_eq!(rows.schema.dates, file.schema.dates);
    assert_eq!(comparable(&whole(&rows)), comparable(&whole(&file)));

    let again = borrowed_matching(dates, &rows.schema).unwrap();
    assert_eq!(comparable(&whole(&again)), comparable(&whole(&file)));
    let message = borrowed_matching(Arc::new(table), &rows.schema).unwrap_err().to_string();
    assert!(message.contains("column 'x0': holds no dates"), "{message}");
}

fn number_target() -> Target {
    Target { name: "y".into(), kind: TargetKind::Number }
}
