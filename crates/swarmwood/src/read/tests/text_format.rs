//! Numbers with other signs than a point, and other encodings than UTF-8.

use swarmwood_model::{Kind, TargetKind};

use super::{levels, numbers, source, target, training, whole};
use crate::read::{DecimalSign, ReadOptions, TextEncoding, TextFormat, matching};

fn with_format(format: TextFormat) -> ReadOptions {
    ReadOptions { format, ..target("y") }
}

#[test]
fn numbers_with_a_decimal_comma_are_detected() {
    let rows = training("a;b;y\n1,5;x;1\n2;y;2,5\n-3.000,25;x;4\n", &target("y")).unwrap();
    assert_eq!(numbers(&whole(&rows), 0), [1.5, 2.0, -3000.25]);
    assert_eq!(whole(&rows).target, [1.0, 2.5, 4.0]);
    assert_eq!(levels(&rows, 1), ["x", "y"]);
    let [warning] = &rows.warnings[..] else { panic!("{:?}", rows.warnings) };
    assert!(warning.contains("column 'a': '1,5' is read as a number with a decimal comma"));

    // The schema knows numbers, and another file may write them in another way.
    let other = source("a,b,y\n1.5,x,1\n\"2,000.5\",y,2\n");
    let other = matching(&other, &rows.schema, &ReadOptions::default()).unwrap();
    assert_eq!(numbers(&whole(&other), 0), [1.5, 2000.5]);
}

#[test]
fn thousands_currencies_and_percents_are_numbers() {
    let text = "price,share,y\n\"$1,234.50\",12.5%,1\n$3,7%,2\n\"-$10,000\",0%,4\n";
    let rows = training(text, &target("y")).unwrap();
    assert_eq!(numbers(&whole(&rows), 0), [1234.5, 3.0, -10000.0]);
    assert_eq!(numbers(&whole(&rows), 1), [12.5, 7.0, 0.0]);
    assert!(rows.warnings[0].contains("'$1,234.50' is read as the number 1234.5"));
}

#[test]
fn what_can_be_read_in_two_ways_is_said() {
    let text = "a,y\n\"1,234\",1\n\"2,345\",2\n12,3\n";
    let rows = training(text, &target("y")).unwrap();
    assert_eq!(numbers(&whole(&rows), 0), [1234.0, 2345.0, 12.0]);
    assert!(rows.warnings[0].contains("'1,234' is read as 1234; use --decimal ,"));
    let other = matching(&source(text), &rows.schema, &ReadOptions::default()).unwrap();
    assert_eq!(other.warnings, rows.warnings);

    let decimal = Some(DecimalSign::Comma);
    let rows = training(text, &with_format(TextFormat { decimal, ..TextFormat::default() }));
    let rows = rows.unwrap();
    assert_eq!(numbers(&whole(&rows), 0), [1.234, 2.345, 12.0]);
    assert!(rows.warnings.is_empty(), "{:?}", rows.warnings);
}

#[test]
fn a_given_separator_of_thousands_is_the_only_one() {
    let format = TextFormat { thousands: Some(' '), ..TextFormat::default() };
    let rows = training("a;y\n1 234;1\n2;2\n", &with_format(format)).unwrap();
    assert_eq!(numbers(&whole(&rows), 0), [1234.0, 2.0]);
    let rows = training("a;y\n1'234;1\n2;2\n", &with_format(format)).unwrap();
    assert!(matches!(rows.schema.features[0].kind, Kind::Category { .. }));
}

#[test]
fn weights_are_written_like_other_numbers() {
    let options = ReadOptions { weight: Some("w".into()), ..target("y") };
    let rows = training("a;w;y\n1,5;0,5;1\n2;1,25;2\n", &options).unwrap();
    assert_eq!(whole(&rows).weight, [0.5, 1.25]);
}

#[test]
fn texts_that_are_hardly_classes_are_asked_about() {
    let text: String = (0..60).map(|row| format!("{row},{}kg\n", row % 20)).collect();
    let text = format!("a,y\n{text}");
    let error = training(text.clone(), &target("y")).unwrap_err().to_string();
    for part in ["20 different texts in 60 rows", "'0kg'"] {
        assert!(error.contains(part), "{error}");
    }
    let task = crate::read::TaskChoice::Classification;
    let rows = training(text, &ReadOptions { task, ..target("y") }).unwrap();
    assert!(matches!(&rows.schema.target.kind, TargetKind::Classes(names) if names.len() == 20));
}

#[test]
fn other_encodings_are_detected() {
    let text = "naïve,y\né,1\nü,2\n€,4\n";
    let expected = training(text, &target("y")).unwrap();
    let utf_16 = |bytes: fn(u16) -> [u8; 2], mark: bool| -> Vec<u8> {
        let mark = mark.then_some('\u{FEFF}');
        let text: String = mark.into_iter().chain(text.chars()).collect();
        text.encode_utf16().flat_map(bytes).collect()
    };
    let windows = b"na\xEFve,y\n\xE9,1\n\xFC,2\n\x80,4\n".to_vec();
    for (bytes, warns) in [
        (utf_16(u16::to_le_bytes, true), false),
        (utf_16(u16::to_be_bytes, true), false),
        (windows, true),
    ] {
        let rows = training(bytes, &target("y")).unwrap();
        assert_eq!(rows.schema, expected.schema);
        assert_eq!(whole(&rows).target, whole(&expected).target);
        assert_eq!(rows.warnings.len(), usize::from(warns), "{:?}", rows.warnings);
    }
    let plain = "name,y\na,1\nb,2\n";
    let unmarked: Vec<u8> = plain.encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(levels(&training(unmarked, &target("y")).unwrap(), 0), ["a", "b"]);
}

#[test]
fn a_given_encoding_is_used() {
    let encoding = TextEncoding::of("iso-8859-2");
    let format = TextFormat { encoding, ..TextFormat::default() };
    let rows = training(&b"a,y\n\xB3,1\nx,2\n"[..], &with_format(format)).unwrap();
    assert_eq!(levels(&rows, 0), ["x", "ł"]);
    assert!(rows.warnings.is_empty());
}
