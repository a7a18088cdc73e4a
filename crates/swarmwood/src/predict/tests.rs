use std::io::Write;
use std::path::Path;

use proptest::prelude::*;
use swarmwood_learn::data::{Chunk, Column, MISSING};
use swarmwood_model::predict::FeatureValue;
use swarmwood_model::*;

use super::csv::field;
use super::*;
use crate::read::{KeepColumns, ReadOptions, Source};

/// Two trees per round for three classes with awkward names, over a number and a category.
fn model(rounds: u32) -> Model {
    let leaf = |value: f64| Leaf { value, cover: 1.0 };
    let tree = |round: u32, output: u32| {
        let above = Split {
            feature: 0,
            test: Test::Above(f64::from(round)),
            missing_right: round.is_multiple_of(2),
        };
        let within = Split {
            feature: 1,
            test: Test::In([output % 2].into_iter().collect()),
            missing_right: false,
        };
        let node = |split, left, right| Node { split, left, right, gain: 1.0, cover: 3.0 };
        let nodes = vec![
            node(above, Child::Leaf(0), Child::Node(1)),
            Node { cover: 2.0, ..node(within, Child::Leaf(1), Child::Leaf(2)) },
        ];
        let step = 0.1 * f64::from(output + 1);
        Shape::Ordinary(Tree { nodes, leaves: vec![leaf(-step), leaf(step), leaf(2.0 * step)] })
    };
    let members = (0..rounds).flat_map(|round| (0..3).map(move |output| (round, output)));
    Model {
        schema: Schema {
            features: vec![
                Feature { name: "x".into(), kind: Kind::Number },
                Feature {
                    name: "a, b".into(),
                    kind: Kind::Category { levels: vec!["p".into(), "q".into()] },
                },
            ],
            target: Target {
                name: "kind".into(),
                kind: TargetKind::Classes(vec!["one".into(), "say \"two\"".into(), "3,5".into()]),
            },
            dates: Vec::new(),
        },
        link: Link::Softmax,
        objective: "softmax".into(),
        base: vec![0.0, 0.1, 0.2],
        body: Body::Trees(
            members.map(|(round, output)| Member { output, shape: tree(round, output) }).collect(),
        ),
        provenance: Provenance::default(),
        calibration: Calibration::default(),
    }
}

fn chunk(rows: usize) -> Chunk {
    let numbers =
        (0..rows).map(|row| if row % 7 == 0 { f64::NAN } else { (row % 5) as f64 }).collect();
    let codes = (0..rows).map(|row| [0, 1, MISSING, 1][row % 4]).collect();
    Chunk {
        columns: vec![Column::Number(numbers), Column::Category(codes)],
        rows,
        ..Chunk::default()
    }
}

#[test]
fn blocks_and_threads_equal_the_traversal() {
    let model = model(4);
    let chunk = chunk(2 * TASK_ROWS + 100);
    let (Column::Number(numbers), Column::Category(codes)) = (&chunk.columns[0], &chunk.columns[1])
    else {
        unreachable!("the table is made that way")
    };
    for first in [None, Some(2)] {
        let expected: Vec<f64> = numbers
            .iter()
            .zip(codes)
            .flat_map(|(&x, &code)| {
                model
                    .raw_row(&[FeatureValue::Number(x), FeatureValue::Category(code)], first)
                    .unwrap()
            })
            .collect();
        for threads in [1, 3] {
            let scorer = Scorer::new(&model, first, threads).unwrap();
            assert_eq!(scorer.raw(&chunk).unwrap(), expected);
            assert_eq!(scorer.predictions(&chunk).unwrap(), model.predictions(&expected));
            assert_eq!(scorer.leaves(&chunk).unwrap().len(), chunk.rows * 3 * first.unwrap_or(4));
        }
    }
}

#[test]
fn contributions_sum_to_the_raw_score() {
    let (model, chunk) = (model(3), chunk(50));
    let scorer = Scorer::new(&model, None, 1).unwrap();
    let raw = scorer.raw(&chunk).unwrap();
    let contributions = scorer.contributions(&chunk).unwrap();
    assert_eq!(contributions.len(), raw.len() * 3);
    for (parts, raw) in contributions.chunks(3).zip(&raw) {
        assert!((parts.iter().sum::<f64>() - raw).abs() < 1e-9);
    }
}

/// The table of a small file.
fn table(what: PredictionColumns) -> String {
    let model = model(2);
    let scorer = Scorer::new(&model, None, 2).unwrap();
    let source = Source::Bytes("new.csv".into(), b"x,\"a, b\"\n1.5,p\n,q\n");
    let request = PredictionRequest {
        keep: &KeepColumns::None,
        source: &source,
        options: &ReadOptions::default(),
        what,
        reasons: 0,
        format: TableFormat::Csv,
        safe_csv: false,
    };
    let mut text = Vec::new();
    let report = write_table(&scorer, &request, &mut text, Path::new("out.csv"), &|| true).unwrap();
    assert_eq!(report.rows, 2);
    String::from_utf8(text).unwrap()
}

#[test]
fn awkward_names_are_quoted() {
    let head = |what| table(what).lines().next().unwrap().to_string();
    assert_eq!(
        head(PredictionColumns::Prediction),
        "prediction,probability_one,\"probability_say \"\"two\"\"\",\"probability_3,5\""
    );
    assert_eq!(head(PredictionColumns::Raw), "raw_one,\"raw_say \"\"two\"\"\",\"raw_3,5\"");
    assert_eq!(head(PredictionColumns::Leaves), "leaf_0,leaf_1,leaf_2,leaf_3,leaf_4,leaf_5");
    assert!(
        head(PredictionColumns::Contributions)
            .starts_with("contribution_one_x,\"contribution_one_a, b\",expected_one,")
    );
    let text = table(PredictionColumns::Prediction);
    let lines: Vec<&str> = text.lines().collect();
    assert!(
        lines[1].starts_with("\"3,5\",") && lines[2].starts_with("\"say \"\"two\"\"\","),
        "{text}"
    );
}

#[test]
fn a_stop_and_a_broken_writer_end_it() {
    struct Broken;
    impl Write for Broken {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("broken"))
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let model = model(1);
    let scorer = Scorer::new(&model, None, 1).unwrap();
    let source = Source::Bytes("new.csv".into(), b"x,\"a, b\"\n1.5,p\n");
    let request = PredictionRequest {
        keep: &KeepColumns::None,
        source: &source,
        options: &ReadOptions::default(),
        what: PredictionColumns::Raw,
        reasons: 0,
        format: TableFormat::Csv,
        safe_csv: false,
    };
    let error =
        write_table(&scorer, &request, &mut Broken, Path::new("out.csv"), &|| true).unwrap_err();
    assert_eq!(error.to_string(), "out.csv: cannot write: broken");
    let error = write_table(&scorer, &request, &mut Vec::new(), Path::new("out.csv"), &|| false)
        .unwrap_err();
    assert!(error.to_string().contains("interrupted"));
}

proptest! {
    #[test]
    fn quoted_fields_hold_no_bare_delimiter(text in ".{0,20}") {
        let quoted = field(&text);
        let inner = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        match inner {
            Some(inner) if quoted.len() > 1 => prop_assert_eq!(inner.replace("\"\"", "\""), text),
            _ => {
                prop_assert_eq!(&quoted, &text);
                prop_assert!(!text.contains([',', '"', '\n', '\r']));
            }
        }
    }
}

#[cfg(feature = "parquet")]
mod parquet_files {
    use ::parquet::file::reader::{FileReader, SerializedFileReader};
    use ::parquet::record::{Field, Row};
    use bytes::Bytes;

    use super::*;

    /// Rows for the model: `a` rows of known values.
    fn source(rows: usize) -> Source {
        let mut text = String::from("x,\"a, b\"\n");
        for row in 0..rows {
            let category = ["p", "q", ""][row % 3];
            text += &format!("{},{category}\n", row % 6);
        }
        Source::Bytes("new.csv".into(), text.leak().as_bytes())
    }

    fn written(
        model: &Model,
        source: &Source,
        (what, reasons): (PredictionColumns, usize),
        format: TableFormat,
    ) -> Vec<u8> {
        let scorer = Scorer::new(model, None, 2).unwrap();
        let options = ReadOptions::default();
        let (keep, safe_csv) = (&KeepColumns::None, false);
        let request =
            PredictionRequest { source, options: &options, what, keep, reasons, format, safe_csv };
        let mut bytes = Vec::new();
        write_table(&scorer, &request, &mut bytes, Path::new("out"), &|| true).unwrap();
        bytes
    }

    fn groups_and_rows(bytes: Vec<u8>) -> (usize, Vec<Row>) {
        let reader = SerializedFileReader::new(Bytes::from(bytes)).unwrap();
        let groups = reader.num_row_groups();
        (groups, reader.get_row_iter(None).unwrap().map(|row| row.unwrap()).collect())
    }

    /// A cell as it is in the CSV table.
    fn text(cell: &Field) -> String {
        match cell {
            Field::Null => String::new(),
            Field::Str(text) => field(text),
            Field::Double(number) => number.to_string(),
            Field::Int(number) => number.to_string(),
            Field::ListInternal(list) => {
                let plain = |cell: &Field| match cell {
                    Field::Str(text) => text.clone(),
                    other => panic!("{other:?} in a list of names"),
                };
                field(&list.elements().iter().map(plain).collect::<Vec<_>>().join(";"))
            }
            other => panic!("{other:?} is of no type of the table"),
        }
    }

    #[test]
    fn every_table_has_the_cells_of_the_csv_table() {
        let mut with_sets = model(2);
        with_sets.calibration.class_sets = Some(ClassSets { level: 0.9, min_probability: 0.36 });
        let source = source(100);
        for (model, what, reasons) in [
            (&model(2), PredictionColumns::Prediction, 0),
            (&model(2), PredictionColumns::Prediction, 2),
            (&with_sets, PredictionColumns::Prediction, 1),
            (&model(2), PredictionColumns::Raw, 0),
            (&model(2), PredictionColumns::Leaves, 3),
            (&model(2), PredictionColumns::Contributions, 0),
        ] {
            let of = |format| written(model, &source, (what, reasons), format);
            let csv = String::from_utf8(of(TableFormat::Csv)).unwrap();
            let (_, rows) = groups_and_rows(of(TableFormat::Parquet));
            let cells = |row: &Row| row.get_column_iter().map(|(_, cell)| text(cell)).collect();
            let lines = rows.iter().map(|row| {
                let cells: Vec<String> = cells(row);
                cells.join(",")
            });
            let names = rows[0].get_column_iter().map(|(name, _)| field(name));
            let header = names.collect::<Vec<_>>().join(",");
            let all: String = [header].into_iter().chain(lines).map(|line| line + "\n").collect();
            assert_eq!(all, csv, "{what:?}");
        }
    }

    #[test]
    fn row_groups_are_chunks_and_no_rows_are_a_file_too() {
        let model = model(1);
        let raw = (PredictionColumns::Raw, 0);
        let of = |rows| written(&model, &source(rows), raw, TableFormat::Parquet);
        let (groups, rows) = groups_and_rows(of(200_000));
        assert_eq!((groups, rows.len()), (4, 200_000));
        let (groups, rows) = groups_and_rows(of(0));
        assert_eq!((groups, rows.len()), (0, 0));
    }

    #[test]
    fn options_of_csv_are_refused() {
        let model = model(1);
        let scorer = Scorer::new(&model, None, 1).unwrap();
        let (source, options) = (source(1), ReadOptions::default());
        let request = PredictionRequest {
            source: &source,
            options: &options,
            what: PredictionColumns::Prediction,
            keep: &KeepColumns::None,
            reasons: 0,
            format: TableFormat::Parquet,
            safe_csv: true,
        };
        let written = write_table(&scorer, &request, &mut Vec::new(), Path::new("o"), &|| true);
        assert!(written.unwrap_err().to_string().contains("is for CSV"));
    }
}
