//! Configurations by the names of their parameters: in journals, in commands, in reports.

use serde_json::{Map, Value as Json};
use swarmwood_search::{Domain, Point, PointValue, Space};

/// A value as text; `None` if the parameter has none here.
///
/// ```
/// use swarmwood::search::{Param, Space, PointValue};
/// use swarmwood::tune::named::text;
/// let space = Space::new(vec![Param::list("bins", &[16.0, 64.0]), Param::choice("kind", &["a", "b"])]).unwrap();
/// assert_eq!(text(&space, 0, PointValue::Index(1)).as_deref(), Some("64"));
/// assert_eq!(text(&space, 1, PointValue::Index(1)).as_deref(), Some("b"));
/// assert_eq!(text(&space, 1, PointValue::Absent), None);
/// ```
pub fn text(space: &Space, parameter: usize, value: PointValue) -> Option<String> {
    match value {
        PointValue::Integer(number) => Some(number.to_string()),
        _ => space
            .label(parameter, value)
            .map(str::to_owned)
            .or_else(|| space.number(parameter, value).map(|number| number.to_string())),
    }
}

/// A configuration as a JSON object; parameters without a value are left out.
pub fn json(space: &Space, point: &Point) -> Map<String, Json> {
    let value = |i: usize| match point.0.get(i).copied().unwrap_or(PointValue::Absent) {
        PointValue::Integer(number) => Some(Json::from(number)),
        value => space
            .label(i, value)
            .map(Json::from)
            .or_else(|| space.number(i, value).map(number_json)),
    };
    let pairs = space.params().iter().enumerate();
    pairs.filter_map(|(i, param)| Some((param.name.clone(), value(i)?))).collect()
}

/// Numbers that are whole look whole: `64`, not `64.0`.
fn number_json(number: f64) -> Json {
    let whole = number as i64;
    if whole as f64 == number && whole.abs() < 1 << 53 {
        Json::from(whole)
    } else {
        Json::from(number)
    }
}

/// The configuration that [`json`] described; the error says what does not fit the space.
pub fn parse(space: &Space, object: &Map<String, Json>) -> Result<Point, String> {
    if let Some(name) = object.keys().find(|name| space.position(name).is_none()) {
        return Err(format!("'{name}' is no parameter of the space"));
    }
    let mut values = Vec::with_capacity(space.len());
    for param in space.params() {
        let Some(given) = object.get(&param.name) else {
            values.push(PointValue::Absent);
            continue;
        };
        let number = given.as_f64();
        let value = match &param.domain {
            Domain::Integer { .. } => given.as_i64().map(PointValue::Integer),
            Domain::Real { .. } => number.map(PointValue::Real),
            Domain::List(list) => {
                list.iter().position(|item| Some(*item) == number).map(PointValue::Index)
            }
            Domain::Choice(labels) => labels
                .iter()
                .position(|label| Some(label.as_str()) == given.as_str())
                .map(PointValue::Index),
        };
        values.push(value.ok_or_else(|| {
            format!("'{}' is {given}, which the space does not have", param.name)
        })?);
    }
    let point = Point(values);
    if space.contains(&point) {
        Ok(point)
    } else {
        Err("the configuration does not lie in the space".to_owned())
    }
}
