//! The convergence chart of a run: figures 8 and 9 of Rao 2022, the best fitness per iteration, and
//! below it how much the swarm still moves. A run without a search shows its losses.

use swarmwood::learn::event::Stage;

use crate::chart::{
    BLUE, Chart, ChartArea, GREEN, LOW, MARGIN, ORANGE, RED, Series, TALL, TITLE, WIDTH, page,
};
use crate::trace::TraceStep;

/// The charts of a run, the most important first, each with an identifier and a title.
pub fn charts(steps: &[TraceStep]) -> Vec<(&'static str, &'static str, Chart)> {
    if steps.iter().any(|step| step.gain_over_greedy.is_some()) {
        return vec![(
            "loss",
            "Training loss of the search and of greedy boosting",
            search_loss(steps),
        )];
    }

    let stage = steps.last().map(|step| &step.stage);
    let steps: Vec<&TraceStep> = steps.iter().filter(|step| Some(&step.stage) == stage).collect();
    let noun = steps.first().map_or("step", |step| &step.noun);

    if steps.iter().any(|step| step.is_search()) {
        return vec![
            ("best", "Best and mean fitness of the swarm", fitness(&steps, noun)),
            ("diversity", "Diversity of the swarm", diversity(&steps, noun)),
            ("cache-hits", "Cached evaluations", cache_hits(&steps, noun)),
        ];
    }

    vec![("loss", "Loss", losses(&steps, noun))]
}

/// The last stage of a run as an SVG document: the first chart in full width, the others side by
/// side below it.
pub fn draw(title: &str, steps: &[TraceStep]) -> String {
    let charts = charts(steps);
    let width = WIDTH - 2.0 * MARGIN;
    let (top, below) = (MARGIN + TITLE, MARGIN + TITLE + TALL);
    let part = width / charts.len().saturating_sub(1).max(1) as f64;

    let place = |at: usize| match at {
        0 => ChartArea { left: MARGIN, top, width, height: TALL },
        _ => ChartArea {
            left: MARGIN + part * (at - 1) as f64,
            top: below,
            width: part,
            height: LOW,
        },
    };

    let body: String = charts
        .iter()
        .enumerate()
        .map(|(at, (name, _, chart))| chart.draw(name, place(at)))
        .collect();

    page(title, &body, if charts.len() > 1 { below + LOW + MARGIN } else { below + MARGIN })
}

/// The training loss of the search against the trees grown so far, beside that of the best greedy
/// fit: first of the preliminary fits, then, once candidates were compared, of the selected one.
fn search_loss(steps: &[TraceStep]) -> Chart {
    let point = |step: &TraceStep| {
        Some((
            step.evaluations? as f64,
            step.train_loss?,
            step.train_loss? / (1.0 - step.gain_over_greedy?),
        ))
    };

    // Boosting starts far above both curves; it and comparisons separate two fits of the search.
    let separates = |step: &TraceStep| {
        step.stage == Stage::BOOSTING.name || step.stage == Stage::COMPARING.name
    };
    let selected =
        steps.iter().rposition(|step| step.stage == Stage::COMPARING.name).map_or(0, |at| at + 1);
    let mut greedy: Vec<(f64, f64)> = Vec::new();
    for (x, _, y) in steps.iter().filter(|step| !separates(step)).filter_map(point) {
        // The best greedy loss stays the same until there is a better fit.
        greedy.extend(greedy.last().map(|last| (x, last.1)));
        greedy.push((x, y));
    }

    let mut series = vec![Series::new("greedy boosting", ORANGE, greedy)];
    for (part, name, colour) in
        [(&steps[..selected], "preliminary search", GREEN), (&steps[selected..], "search", BLUE)]
    {
        let fits = part.split(|step| separates(step)).map(|fit| fit.iter().filter_map(point));
        let fits = fits
            .map(|fit| fit.map(|(x, loss, _)| (x, loss)).collect::<Vec<_>>())
            .filter(|fit| !fit.is_empty());
        // One entry per kind in the legend.
        series.extend(
            fits.enumerate()
                .map(|(at, fit)| Series::new(if at == 0 { name } else { "" }, colour, fit)),
        );
    }

    Chart { x_label: "trees grown".to_string(), y_label: "training loss".to_string(), series }
}

/// The points of a value, for the steps that have one.
fn points_of(steps: &[&TraceStep], value: impl Fn(&TraceStep) -> Option<f64>) -> Vec<(f64, f64)> {
    steps.iter().filter_map(|step| Some((step.step as f64, value(step)?))).collect()
}

fn fitness(steps: &[&TraceStep], noun: &str) -> Chart {
    let metric = steps.iter().find(|step| step.is_search()).map_or("fitness", |step| &step.metric);
    Chart {
        x_label: noun.to_string(),
        y_label: format!("{metric} on the training rows"),
        series: vec![
            Series::new("mean of the swarm", ORANGE, points_of(steps, |step| step.mean)).clipped(),
            Series::new("best so far", BLUE, points_of(steps, |step| step.best)),
        ],
    }
}

fn diversity(steps: &[&TraceStep], noun: &str) -> Chart {
    let points = points_of(steps, |step| step.diversity);
    Chart {
        x_label: noun.to_string(),
        y_label: "mean number of differing rules".to_string(),
        series: vec![Series::new("diversity", GREEN, points)],
    }
}

/// The fraction of positions per iteration whose fitness was in the cache.
fn cache_hits(steps: &[&TraceStep], noun: &str) -> Chart {
    let mut before = (0, 0);
    let mut points = Vec::new();
    for (at, evaluations, hits) in
        steps.iter().filter_map(|step| Some((step.step, step.evaluations?, step.cache_hits?)))
    {
        let new = evaluations.saturating_sub(before.0);
        let cached = hits.saturating_sub(before.1);
        before = (evaluations, hits);
        if new + cached > 0 {
            points.push((at as f64, 100.0 * cached as f64 / (new + cached) as f64));
        }
    }

    Chart {
        x_label: noun.to_string(),
        y_label: "cached evaluations, %".to_string(),
        series: vec![Series::new("cache hits", RED, points)],
    }
}

fn losses(steps: &[&TraceStep], noun: &str) -> Chart {
    let mut series = vec![
        Series::new("training loss", BLUE, points_of(steps, |step| step.train_loss)),
        Series::new("validation metric", ORANGE, points_of(steps, |step| step.valid_metric)),
    ];
    series.retain(|one| !one.points.is_empty());
    Chart { x_label: noun.to_string(), y_label: "loss".to_string(), series }
}

#[cfg(test)]
mod tests {
    use super::*;
    use swarmwood::learn::event::{Event, SearchStatus};

    /// The chart of some events.
    fn draw(title: &str, events: &[Event]) -> String {
        super::draw(title, &events.iter().map(TraceStep::from).collect::<Vec<_>>())
    }

    fn iteration(step: usize) -> Event {
        let search = SearchStatus {
            measure: "accuracy",
            best: Some(0.9 + step as f64 / 1000.0),
            gain: None,
            mean: Some(0.895),
            diversity: Some(30.0 - step as f64),
            factor: Some(0.5),
            alpha: Some(0.45),
            beta: Some(0.45),
            evaluations: 50 * step as u64,
            repeats: step as u64,
        };
        Event { search: Some(search), ..Event::new(Stage::SWARM, step, 20) }
    }

    #[test]
    fn the_ensemble_search_is_drawn_beside_greedy_boosting() {
        let step = |step: usize| {
            let mut event = iteration(step);
            event.train = Some(1.0 - step as f64 / 100.0);
            event.search = event.search.map(|search| SearchStatus { gain: Some(0.2), ..search });
            event
        };
        let events: Vec<Event> = (1..=5).map(step).collect();
        let svg = draw("t", &events);
        assert_eq!(svg.matches("<polyline").count(), 2, "{svg}");
        // Two preliminary fits, and the selected one.
        let with = |stage| move |at| Event { stage, ..step(at) };
        let mut events: Vec<Event> = (1..=3).map(with(Stage::SWEEPS)).collect();
        events.push(with(Stage::BOOSTING)(4));
        events.extend((5..=6).map(with(Stage::SWEEPS)));
        events.push(Event { train: None, ..with(Stage::COMPARING)(7) });
        events.extend((8..=12).map(with(Stage::PAIRS)));
        let svg = draw("t", &events);
        assert_eq!(svg.matches("<polyline").count(), 4, "{svg}");
        assert_eq!(svg.matches(">preliminary search<").count(), 1, "{svg}");
        assert!(svg.contains(">greedy boosting<") && svg.contains(">trees grown<"), "{svg}");
    }

    #[test]
    fn a_swarm_has_three_charts_and_boosting_one() {
        let mut events = vec![Event { train: Some(1.0), ..Event::new(Stage::PRETRAINING, 1, 1) }];
        events.extend((1..=20).map(iteration));
        let svg = draw("a <title>", &events);
        assert_eq!(svg.matches("<polyline").count(), 4, "{svg}");
        for part in [
            "a &lt;title&gt;",
            ">iteration<",
            ">accuracy on the training rows<",
            ">best so far<",
            ">20<",
        ] {
            assert!(svg.contains(part), "no {part} in {svg}");
        }
        let svg = draw("t", &events[..1]);
        assert!(svg.contains("<circle") && !svg.contains("NaN"), "{svg}");
        assert!(draw("nothing", &[]).ends_with("</svg>\n"));
    }
}
