//! Every kind of unusable input gets one clear message with its place.

use super::super::TaskChoice;
use super::*;

/// The input must fail with a message that holds all of the parts.
fn expect(text: impl Into<Vec<u8>>, options: &ReadOptions, parts: &[&str]) {
    let message = failure(training(text, options));
    for part in parts {
        assert!(message.contains(part), "no {part:?} in {message:?}");
    }
}

#[test]
fn files_that_are_not_there_or_not_files() {
    let missing = super::super::training(&Source::File("no/such/file.csv".into()), &target("y"));
    assert!(failure(missing).contains("no/such/file.csv: cannot read"));
    let directory = super::super::training(&Source::File(std::env::temp_dir()), &target("y"));
    assert!(failure(directory).contains("is a directory"));
}

#[test]
fn empty_files() {
    expect("", &target("y"), &["t.csv", "the file is empty"]);
    expect("\u{FEFF}", &target("y"), &["the file is empty"]);
    expect("\n\r\n\n", &target("y"), &["the file is empty"]);
    expect("a,y\n", &target("y"), &["there is a header and no rows", "at least 2 rows"]);
    expect(
        "a,y\n1,2\n",
        &target("y"),
        &["only one row", "at least 2 rows with a value of the target 'y'"],
    );
    expect("a,y\n1,2\n1,\n", &target("y"), &["only one row has a target", "at least 2 rows"]);
}

#[test]
fn broken_rows_and_quotes() {
    expect("a,y\n1,2\n3\n", &target("y"), &["t.csv:3:", "1 fields where the header has 2"]);
    expect("a,y\n1,2\n3,4,5\n", &target("y"), &["t.csv:3:", "3 fields where the header has 2"]);
    expect("a,y\n\"x\ny\",2,\n", &target("y"), &["t.csv:2:", "the lines 2 to 3"]);
    expect("a,y\n1,2\n\"open,4\n5,6\n", &target("y"), &["t.csv:3:", "never closed"]);
    expect("a,y\n1,2\n\"open,4\n\"5\",6\n", &target("y"), &["t.csv:4:", "opens on line 3"]);
}

#[test]
fn text_that_is_not_utf8() {
    // A broken letter among whole ones, and a letter after the part that encodings are found by.
    let broken = b"a,y\n\xC3\xA9,1\n\xE9t\xE9,2\n";
    expect(&broken[..], &target("y"), &["t.csv:3: column 'a'", "not UTF-8", "--encoding"]);
    let mut late = b"a,y\n".to_vec();
    late.extend(b"x,1\n".repeat(40_000));
    late.extend(b"\xE9t\xE9,2\n");
    expect(late, &target("y"), &["t.csv:40002: column 'a'", "not UTF-8"]);
    expect(
        &b"\xC3\xA9\xE9,y\n1,1\n2,2\n"[..],
        &target("y"),
        &["t.csv:1:", "column 1 is not UTF-8"],
    );
    expect(&b"a,y\n1,\0\n"[..], &target("y"), &["zero bytes"]);
    expect(&b"PK\x03\x04rest"[..], &target("y"), &["zip archive or a spreadsheet"]);
    // What is not used need not be readable.
    let options = ReadOptions { ignore: vec!["a".into()], ..target("y") };
    assert_eq!(training(&b"a,b,y\n\xE9,1,1\nx,2,2\n"[..], &options).unwrap().rows, 2);
}

#[test]
fn headers_that_cannot_be_told_apart() {
    expect("a,b,a,y\n1,2,3,4\n", &target("y"), &["t.csv:1:", "columns 1 and 3", "'a'"]);
}

#[test]
fn unknown_columns() {
    expect(
        "price,size\n1,2\n",
        &target("Price"),
        &["no target column 'Price'", "did you mean 'price'?"],
    );
    let options = ReadOptions { weight: Some("wt".into()), ..target("y") };
    expect("a,y\n1,2\n", &options, &["no weight column 'wt'", "the columns are 'a', 'y'"]);
    let options = ReadOptions { ignore: vec!["p".into(), "a".into(), "q".into()], ..target("y") };
    expect("a,b,y\n1,2,3\n", &options, &["no ignored columns 'p', 'q'"]);
    let options = ReadOptions { categorical: vec!["c".into()], ..target("y") };
    expect("a,y\n1,2\n", &options, &["no categorical column 'c'"]);
}

#[test]
fn targets_that_cannot_be_learned() {
    expect("a,y\n1,\n2,NA\n3,nan\n", &target("y"), &["column 'y'", "missing in all 3 rows"]);
    expect("a,y\n1,5\n2,5\n", &target("y"), &["column 'y'", "only one value, '5'"]);
    expect("a,y\n1,yes\n2,yes\n3,\n", &target("y"), &["only one value, 'yes'"]);
    expect("a,y\n1,5\n2,inf\n3,7\n", &target("y"), &["t.csv:3: column 'y'", "'inf' is infinite"]);
    expect("a,y\n1,5\n2,1e999\n3,7\n", &target("y"), &["t.csv:3: column 'y'", "infinite"]);
    let regression = ReadOptions { task: TaskChoice::Regression, ..target("y") };
    expect(
        "a,y\n1,5\n2,six\n3,7\n",
        &regression,
        &["t.csv:3: column 'y'", "'six' is not a number"],
    );
    let numbers: String = (0..2000).map(|row| format!("1,{row}.5\n")).collect();
    expect(
        format!("a,y\n{numbers}1,oops\n"),
        &target("y"),
        &["t.csv:2002: column 'y'", "'oops' is not a number"],
    );
    let words: String = (0..2000).map(|row| format!("1,w{row}\n")).collect();
    expect(format!("a,y\n{words}"), &target("y"), &["more than 1000 classes"]);
    let classification = ReadOptions { task: TaskChoice::Classification, ..target("y") };
    expect(
        format!("a,y\n{numbers}"),
        &classification,
        &["more than 1000 classes", "--task regression"],
    );
}

#[test]
fn weights_that_do_not_weigh() {
    let options = ReadOptions { weight: Some("w".into()), ..target("y") };
    for (weight, part) in
        [("-1", "'-1' is not a weight"), ("inf", "'inf'"), ("x", "'x'"), ("", "is missing")]
    {
        expect(format!("a,w,y\n1,1,1\n2,{weight},2\n"), &options, &["t.csv:3: column 'w'", part]);
    }
    expect("a,w,y\n1,0,1\n2,0,2\n", &options, &["column 'w'", "sum to 0"]);
}

#[test]
fn gzip_that_is_cut_or_damaged() {
    let text: String = (0..5000).map(|row| format!("{},{}\n", row * 7919 % 1009, row)).collect();
    let mut encoder = flate2::read::GzEncoder::new(text.as_bytes(), flate2::Compression::best());
    let mut bytes = b"".to_vec();
    std::io::Read::read_to_end(&mut encoder, &mut bytes).unwrap();
    let options = target("1");
    for length in [5, 15, bytes.len() / 2, bytes.len() - 3] {
        expect(&bytes[..length], &options, &["t.csv: the gzip data", "get the file again"]);
    }
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x55;
    bytes[middle + 1] ^= 0x55;
    assert!(training(bytes, &options).is_err());
}

#[cfg(not(feature = "parquet"))]
#[test]
fn parquet_in_a_build_without_it() {
    expect(&b"PAR1xxxxPAR1"[..], &target("y"), &["cannot read Parquet"]);
}
