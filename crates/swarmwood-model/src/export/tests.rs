use proptest::prelude::*;

use super::*;
use crate::ensemble::{Body, Link, Member, Shape};
use crate::picture::tests::single;
use crate::rules::tests::worked;
use crate::rules::{MAX_RULE_LEAVES, RuleMerge};
use crate::samples::{any_model, rows};
use crate::schema::{Kind, TargetKind};
use crate::tree::{Child, Leaf, Node, Split, Test, Tree};

/// Every format, with its content.
fn all() -> impl Iterator<Item = &'static dyn ExportFormat> {
    FORMATS.iter().copied()
}

#[test]
fn names_and_extensions_are_unique_within_a_content() {
    let is_word = |text: &str| {
        !text.is_empty()
            && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
    };
    for format in all() {
        let (content, name) = (format.content(), format.name());
        assert!(is_word(name) && !format.description().is_empty(), "{name}");
        assert!(!format.extensions().is_empty(), "{name}");
        assert_eq!(find(content, name).unwrap().name(), name);
        for extension in format.extensions() {
            assert!(is_word(extension), "{name}");
            let format_of_extension = find_extension(content, &extension.to_uppercase()).unwrap();
            assert_eq!(format_of_extension.name(), name, "{extension}");
        }
        assert_eq!(formats(content).filter(|other| other.name() == name).count(), 1);
    }
    assert!(find(ExportContent::Rules, "docx").is_none());
    assert!(find_extension(ExportContent::Drawing, "").is_none());
}

#[test]
fn options_are_checked_by_name_and_value() {
    let model = worked();
    for format in all() {
        let attempt = |name: &str, value: &str| {
            let options = ExportOptions::default().with(name, value);
            export(format, &ExportInput::new(&model), &options).map_err(|error| error.to_string())
        };
        assert!(attempt("no such option", "1").unwrap_err().contains("the format takes"));
        for option in format.options() {
            let default = ExportOptions::default().get(option);
            let plain = export(format, &ExportInput::new(&model), &ExportOptions::default());
            assert_eq!(attempt(option.name, &default).ok(), plain.ok(), "{}", option.name);
            if !matches!(option.values, OptionValues::Text { .. }) {
                assert!(attempt(option.name, "no such value").unwrap_err().contains("must be"));
            }
            assert!(!option.help.is_empty());
        }
    }
}

#[test]
fn binary_formats_are_no_text() {
    struct Binary;
    impl ExportFormat for Binary {
        fn spec(&self) -> FormatSpec {
            FormatSpec {
                name: "binary",
                description: "bytes",
                extensions: &["bin"],
                is_binary: true,
                ..FormatSpec::MODEL
            }
        }
        fn supports(&self, _: &Model) -> Result<(), UnsupportedModel> {
            Ok(())
        }
        fn write(
            &self,
            _: &ExportInput<'_>,
            _: &ExportOptions,
            out: &mut Vec<u8>,
        ) -> Result<(), ExportError> {
            out.push(0xff);
            Ok(())
        }
    }
    let model = worked();
    let (input, options) = (ExportInput::new(&model), ExportOptions::default());
    assert_eq!(export(&Binary, &input, &options), Ok(vec![0xff]));
    let error = export_text(&Binary, &input, &options).unwrap_err();
    assert_eq!(error, ExportError::Binary { name: "binary" });
}

/// Rules that were computed before, whose statistics may come from data, are written as they are.
#[test]
fn precomputed_rules_are_written() {
    let model = worked();
    let tree = model.single_tree().unwrap();
    let mut rules = tree.rules(RuleMerge::Cover).unwrap();
    rules.set_counts(&rules.empty_counts());
    for format in formats(ExportContent::Rules) {
        let precomputed = ExportInput::with_rules(&model, &rules);
        let precomputed = export_text(format, &precomputed, &ExportOptions::default()).unwrap();
        let own = ExportInput::new(&model);
        let own = export_text(format, &own, &ExportOptions::default()).unwrap();
        let has_statistics = !["sql", "mysql", "python"].contains(&format.name());
        assert_eq!(precomputed != own, has_statistics, "{}", format.name());
    }
}

#[test]
fn merging_is_an_option() {
    let model = worked();
    let format = find(ExportContent::Rules, "text").unwrap();
    let text = |merge: &str| {
        let options = ExportOptions::default().with("merge", merge);
        export_text(format, &ExportInput::new(&model), &options).unwrap()
    };
    assert_ne!(text("cover"), text("cells"));
    for (name, _) in RuleMerge::NAMES {
        assert!(RuleMerge::from_name(name).is_some());
    }
    assert_eq!(RuleMerge::from_name(RuleMerge::NAMES[0].0), Some(RuleMerge::default()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn graphs_have_two_edges_per_node(seed in any::<u64>(), leaves in 1_usize..40) {
        let mut model = single(seed, leaves);
        model.schema.features[0].name = "a<b>&'\"\u{1b}".into();
        let format = find(ExportContent::Drawing, "dot").unwrap();
        let dot = export_text(format, &ExportInput::new(&model), &ExportOptions::default()).unwrap();
        prop_assert_eq!(dot.matches(" -> ").count(), 2 * (leaves - 1));
    }

    /// The importer of LightGBM's models reads what the export writes, without a loss.
    #[test]
    fn lightgbm_files_are_read_back(model in any_model(), seed in any::<u64>()) {
        let format = find(ExportContent::Model, "lightgbm").unwrap();
        prop_assume!(format.supports(&model).is_ok());
        let bytes = export(format, &ExportInput::new(&model), &ExportOptions::default()).unwrap();
        let again = crate::format::read(&bytes).unwrap();
        for row in rows(seed, &model, 20) {
            prop_assert_eq!(again.raw_row(&row, None).unwrap(), model.raw_row(&row, None).unwrap());
        }
    }

    /// A format that supports a model writes it, twice as the same bytes; one that does not says
    /// why.
    #[test]
    fn supported_models_are_written(model in any_model()) {
        for format in all() {
            let write = || export(format, &ExportInput::new(&model), &ExportOptions::default());
            match format.supports(&model) {
                Ok(()) => {
                    let bytes = write();
                    prop_assert!(bytes.is_ok(), "{}: {:?}", format.name(), bytes);
                    prop_assert_eq!(&bytes, &write());
                    let text = String::from_utf8(bytes.unwrap());
                    prop_assert!(format.is_binary() || text.is_ok_and(|text| !text.is_empty()));
                }
                Err(refusal) => {
                    prop_assert!(refusal.to_string().len() > 20, "{}", refusal);
                    prop_assert_eq!(write(), Err(ExportError::Unsupported(refusal)));
                }
            }
        }
    }
}

#[test]
fn names_are_quoted() {
    let mut model = worked();
    model.schema.features[0].name = "a\"ge'\n".into();
    model.schema.features[2].name = "class".into();
    model.schema.features[1].kind =
        Kind::Category { levels: ["it's", "g\"\\", "blue", "x"].map(String::from).to_vec() };
    model.schema.target.name = "ill\nDROP".into();
    let text = |name| {
        let format = find(ExportContent::Rules, name).unwrap();
        export_text(format, &ExportInput::new(&model), &ExportOptions::default()).unwrap()
    };
    assert_eq!(
        text("sql"),
        "-- ill\\nDROP\nCASE\n  WHEN (\"colour\" NOT IN ('it''s', 'blue') OR \"colour\" IS NULL) THEN 'no'\n  \
         WHEN (\"a\"\"ge'\n\" > 30 OR \"a\"\"ge'\n\" IS NULL) AND \"class\" <= 1.5 THEN 'no'\n  ELSE 'yes'\nEND\n"
    );
    let mysql = text("mysql");
    assert!(mysql.contains("`colour` NOT IN ('it''s', 'blue')"), "{mysql}");

    let python = text("python");
    for part in [
        "    # Predicts ill\\nDROP.\n",
        "    a_ge__ = row.get(\"a\\\"ge'\\u000a\")\n",
        "    if colour not in (\"it's\", \"blue\"):\n        return \"no\"\n",
        "    if not a_ge__ <= 30 and class_2 <= 1.5:\n",
        "    return \"yes\"\n",
    ] {
        assert!(python.contains(part), "no {part} in {python}");
    }
    let markdown = text("markdown");
    assert!(
        markdown.contains(
            "| if | then | confidence | rows | lift |\n| --- | --- | ---: | ---: | ---: |\n"
        ),
        "{markdown}"
    );
    assert!(markdown.contains("| *otherwise* | **yes** | 80 % | 100 | 1.89 |\n"), "{markdown}");
    let json = text("json");
    assert!(
        json.contains("\"missing\": \"included\"") && json.contains("\"condition_count\": 3"),
        "{json}"
    );
}

/// A backslash before the end of a name would be an escape in some databases.
#[test]
fn columns_that_databases_read_differently_are_refused() {
    for (column, is_ambiguous) in [("age\\", true), ("a\\\"ge", true), ("a\\ge", false)] {
        let mut model = worked();
        model.schema.features[0].name = column.into();
        for (name, refuses) in [("sql", is_ambiguous), ("mysql", false), ("python", false)] {
            let format = find(ExportContent::Rules, name).unwrap();
            assert_eq!(format.supports(&model).is_err(), refuses, "{name} {column}");
        }
    }
}

/// Merging leaves takes longer than their square: there is a limit, and it is checked first.
#[test]
fn the_rules_of_large_trees_are_refused() {
    let mut model = worked();
    model.link = Link::Identity;
    model.schema.target.kind = TargetKind::Number;
    model.base = vec![0.0];
    let split =
        |at: usize| Split { feature: 0, test: Test::Above(at as f64), missing_right: false };
    let chain = |leaves: usize| {
        let right = |at: usize| match at + 2 < leaves {
            true => Child::Node(at as u32 + 1),
            false => Child::Leaf(at as u32 + 1),
        };
        let node = |at: usize| Node {
            split: split(at),
            left: Child::Leaf(at as u32),
            right: right(at),
            gain: 1.0,
            cover: 1.0,
        };
        let leaf = |at: usize| Leaf { value: at as f64, cover: 1.0 };
        let nodes = (0..leaves - 1).map(node).collect();
        Shape::Ordinary(Tree { nodes, leaves: (0..leaves).map(leaf).collect() })
    };
    let format = find(ExportContent::Rules, "text").unwrap();
    for (leaves, refuses) in [(MAX_RULE_LEAVES, false), (MAX_RULE_LEAVES + 1, true), (50_000, true)]
    {
        model.body = Body::Trees(vec![Member { output: 0, shape: chain(leaves) }]);
        assert_eq!(format.supports(&model).is_err(), refuses, "{leaves}");
    }
    let large = model.single_tree().unwrap().rules(RuleMerge::Cover).unwrap_err().to_string();
    assert!(large.contains("50000 leaves, and at most 2000"), "{large}");
}
