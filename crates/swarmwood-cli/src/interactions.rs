//! The interactions of a model, as text and as JSON.

use serde_json::{Value, json};
use swarmwood::model::Model;
use swarmwood::model::explain::Interaction;

/// Interactions that the text lists.
const LISTED_INTERACTIONS: usize = 5;

/// The strongest interactions, with their fractions of the gain of all splits.
pub fn interaction_lines(model: &Model) -> String {
    let total: f64 = model.importances().iter().map(|importance| importance.gain).sum();
    let interactions = model.interactions();
    if interactions.is_empty() || total.is_nan() || total <= 0.0 {
        return String::new();
    }
    let name =
        |feature: u32| model.schema.features[feature as usize].name.replace(char::is_control, "?");
    let mut text =
        "\ninteractions (fraction of the gain that is below a split on the other feature)\n"
            .to_string();
    for Interaction { features: (a, b), gain, splits } in
        interactions.iter().take(LISTED_INTERACTIONS)
    {
        let percent = 100.0 * gain / total;
        text.push_str(&format!("  {} x {}  {percent:.1} %  {splits}\n", name(*a), name(*b)));
    }
    if interactions.len() > LISTED_INTERACTIONS {
        text.push_str(&format!("  and {} more\n", interactions.len() - LISTED_INTERACTIONS));
    }
    text
}

/// The interactions as JSON, the strongest first.
pub fn interactions_json(model: &Model) -> Value {
    let name = |feature: u32| &model.schema.features[feature as usize].name;
    let one = |Interaction { features: (a, b), gain, splits }: &Interaction| json!({"features": [name(*a), name(*b)], "gain": gain, "splits": splits});
    model.interactions().iter().map(one).collect()
}
