//! Which column of a file plays which part.

use std::collections::HashMap;

use super::ReadOptions;
use super::location::{SourceLocation, listed};
use super::target_columns;
use crate::nearest::nearest;
use crate::{Error, Result};

/// Positions of the columns that are read for training.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TableLayout {
    pub(super) target: usize,
    /// The targets after the first one.
    pub(super) more_targets: Vec<usize>,
    pub(super) weight: Option<usize>,
    pub(super) features: Vec<usize>,
    /// Positions the user wants read as categories.
    pub(super) categorical: Vec<usize>,
}

impl TableLayout {
    /// Assigns the columns as the options ask.
    pub(super) fn of(
        names: &[String],
        options: &ReadOptions,
        location: &SourceLocation,
    ) -> Result<TableLayout> {
        if options.target.is_empty() {
            let help = format!("name one of the columns: {}", listed(names));
            return Err(location.fault("no target column is given", help));
        }
        let mut targets = find_targets(names, &options.target, location)?;
        let weight = options
            .weight
            .as_deref()
            .map(|name| find(names, name, "weight", location))
            .transpose()?;
        let ignored = find_all(names, &options.ignore, "ignored", location)?;
        let categorical = find_all(names, &options.categorical, "categorical", location)?;
        let clash = |position: usize, message: &str, help: &str| {
            Err::<TableLayout, Error>(location.column(&names[position], message, help))
        };
        for &target in &targets {
            if weight == Some(target) {
                let help = "choose another weight column";
                return clash(target, "is both the target and the weight", help);
            }
            if ignored.contains(&target) {
                let help = "take it off the ignored columns";
                return clash(target, "is both the target and ignored", help);
            }
            if categorical.contains(&target) {
                let help = "ask for classification (--task classification) if the target's numbers are classes";
                return clash(target, "is the target and cannot be a categorical feature", help);
            }
        }
        if let Some(weight) =
            weight.filter(|weight| ignored.contains(weight) || categorical.contains(weight))
        {
            return clash(
                weight,
                "is the weight and cannot be ignored or categorical",
                "choose one of the two",
            );
        }
        if let Some(&both) = categorical.iter().find(|position| ignored.contains(position)) {
            return clash(both, "is both categorical and ignored", "choose one of the two");
        }
        let is_feature = |position: &usize| {
            !targets.contains(position) && Some(*position) != weight && !ignored.contains(position)
        };
        let features: Vec<usize> = (0..names.len()).filter(is_feature).collect();
        if features.is_empty() {
            let help = "the target needs at least one other column to be learned from";
            return Err(location.fault("no feature column is left", help));
        }
        let more_targets = targets.split_off(1);
        Ok(TableLayout { target: targets[0], more_targets, weight, features, categorical })
    }
}

/// The positions of the target columns that a text names: one column with this name, or a list.
pub(super) fn find_targets(
    names: &[String],
    text: &str,
    location: &SourceLocation,
) -> Result<Vec<usize>> {
    let is_column = names.iter().any(|name| name == text);
    match target_columns::listed_names(text).filter(|_| !is_column) {
        Some(listed) => find_all(names, &listed, "target", location),
        None => Ok(vec![find(names, text, "target", location)?]),
    }
}

/// The position of a column, or an error that lists what there is.
pub(super) fn find(
    names: &[String],
    wanted: &str,
    part: &str,
    location: &SourceLocation,
) -> Result<usize> {
    names
        .iter()
        .position(|name| name == wanted)
        .ok_or_else(|| unknown(names, &[wanted], part, location))
}

/// The positions of all columns, or an error that names every one that is absent.
pub(super) fn find_all(
    names: &[String],
    wanted: &[String],
    part: &str,
    location: &SourceLocation,
) -> Result<Vec<usize>> {
    let positions: HashMap<&str, usize> =
        names.iter().enumerate().map(|(at, name)| (name.as_str(), at)).collect();
    let absent: Vec<&str> =
        wanted.iter().map(String::as_str).filter(|name| !positions.contains_key(name)).collect();
    if !absent.is_empty() {
        return Err(unknown(names, &absent, part, location));
    }
    Ok(wanted.iter().filter_map(|name| positions.get(name.as_str()).copied()).collect())
}

fn unknown(names: &[String], wanted: &[&str], part: &str, location: &SourceLocation) -> Error {
    let plural = if wanted.len() == 1 { "" } else { "s" };
    let message = format!("no {part} column{plural} {}", listed(wanted));
    let near: Vec<&str> = wanted
        .iter()
        .filter_map(|wanted| nearest(wanted, names.iter().map(String::as_str)))
        .collect();
    let mut help = String::new();
    if !near.is_empty() {
        help += &format!("did you mean {}? ", listed(&near));
    }
    help += &format!("the columns are {}", listed(names));
    if names.iter().all(|name| super::token::number(name.as_bytes()).is_some()) {
        help +=
            "; they look like a first row of data: the file needs a line of column names before it";
    } else if names.len() == 1 {
        help += "; give the delimiter if this is several columns in one";
    }
    location.fault(message, help)
}

#[cfg(test)]
mod tests {
    use super::super::location::PositionUnit;
    use super::*;

    fn location() -> SourceLocation {
        SourceLocation { file: String::from("t.csv"), unit: PositionUnit::Line }
    }

    fn names(list: &str) -> Vec<String> {
        list.split(',').map(String::from).collect()
    }

    fn message(names: &[String], options: &ReadOptions) -> String {
        TableLayout::of(names, options, &location()).unwrap_err().to_string()
    }

    #[test]
    fn assigns_every_column() {
        let options = ReadOptions {
            target: "y".into(),
            weight: Some("w".into()),
            ignore: vec!["id".into()],
            categorical: vec!["zip".into()],
            ..ReadOptions::default()
        };
        let layout = TableLayout::of(&names("id,a,w,zip,y"), &options, &location()).unwrap();
        assert_eq!(
            layout,
            TableLayout {
                target: 4,
                more_targets: Vec::new(),
                weight: Some(2),
                features: vec![1, 3],
                categorical: vec![3]
            }
        );
    }

    #[test]
    fn several_targets_are_a_list_unless_a_column_has_the_whole_name() {
        let layout = |columns: &[&str], target: &str| {
            let names: Vec<String> = columns.iter().map(ToString::to_string).collect();
            let options = ReadOptions { target: target.into(), ..ReadOptions::default() };
            let layout = TableLayout::of(&names, &options, &location())?;
            Ok::<_, Error>((layout.target, layout.more_targets, layout.features))
        };
        assert_eq!(layout(&["x", "a", "b"], "b, a").unwrap(), (2, vec![1], vec![0]));
        assert_eq!(layout(&["x", "a,b", "a"], "a,b").unwrap(), (1, vec![], vec![0, 2]));
        assert_eq!(layout(&["x", "a,b", "a"], "\"a,b\",a").unwrap(), (1, vec![2], vec![0]));
        assert_eq!(layout(&["x", "a,b", "a"], "\"a,b\"").unwrap(), (1, vec![], vec![0, 2]));
        let text = layout(&["x", "a", "b"], "a,c").unwrap_err().to_string();
        assert!(text.contains("no target column 'c'"), "{text}");
        let text = layout(&["a", "b"], "a,b").unwrap_err().to_string();
        assert!(text.contains("no feature column"), "{text}");
    }

    #[test]
    fn suggests_near_names_and_lists_all() {
        let options = ReadOptions { target: "Prise".into(), ..ReadOptions::default() };
        let text = message(&names("area,price,rooms"), &options);
        assert!(text.contains("no target column 'Prise'"), "{text}");
        assert!(text.contains("did you mean 'price'?"), "{text}");
        assert!(text.contains("'area', 'price', 'rooms'"), "{text}");
        let text = message(&names("1.5,2,3"), &options);
        assert!(text.contains("needs a line of column names"), "{text}");
    }

    #[test]
    fn refuses_a_column_in_two_parts() {
        let base = ReadOptions { target: "y".into(), ..ReadOptions::default() };
        let columns = names("a,y");
        let y = vec![String::from("y")];
        for options in [
            ReadOptions { weight: Some("y".into()), ..base.clone() },
            ReadOptions { ignore: y.clone(), ..base.clone() },
            ReadOptions { categorical: y, ..base.clone() },
            ReadOptions { weight: Some("a".into()), ignore: vec!["a".into()], ..base.clone() },
            ReadOptions { categorical: vec!["a".into()], ignore: vec!["a".into()], ..base.clone() },
        ] {
            assert!(message(&columns, &options).contains("column '"), "{options:?}");
        }
        assert!(
            message(&columns, &ReadOptions { ignore: vec!["a".into()], ..base })
                .contains("no feature column")
        );
        assert!(message(&columns, &ReadOptions::default()).contains("no target column is given"));
    }
}
