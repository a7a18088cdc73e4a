//! The picture of a run: figures 8 and 9 of Rao 2022, the best fitness against the iteration, and
//! below it how much the swarm still moves. A run without a search shows its losses.

use swarmwood::learn::event::Stage;

use crate::chart::{
    BLUE, Chart, ChartArea, GREEN, LOW, MARGIN, ORANGE, RED, Series, SeriesMark, TALL, TITLE,
    WIDTH, page,
};
use crate::trace::TraceStep;

/// The charts of a run, the most telling one first, each with an identifier and what it shows.
pub fn charts(steps: &[TraceStep]) -> Vec<(&'static str, &'static str, Chart)> {
    if steps.iter().any(|step| step.gain.is_some()) {
        return vec![(
            "loss",
            "How the loss of the search went beside greedy boosting",
            work(steps),
        )];
    }
    let stage = steps.last().map(|step| &step.stage);
    let steps: Vec<&TraceStep> = steps.iter().filter(|step| Some(&step.stage) == stage).collect();
    let noun = steps.first().map_or("step", |step| &step.noun);
    if steps.iter().any(|step| step.is_searched()) {
        return vec![
            ("best", "The best and the mean of the swarm", fitness(&steps, noun)),
            ("diversity", "How far particles differ", diversity(&steps, noun)),
            ("repeats", "Positions that were known already", repeats(&steps, noun)),
        ];
    }
    vec![("loss", "How the loss went", losses(&steps, noun))]
}

/// The last stage of a run as an SVG document: the first chart in full width, the others beside
/// each other below.
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

/// The loss of what there is to end with against the trees grown so far, beside the best greedy
/// fit's: first of the fits in hand, then, when candidates were compared, of the one that became
/// the model.
fn work(steps: &[TraceStep]) -> Chart {
    let point = |step: &TraceStep| {
        Some((step.evaluations? as f64, step.train?, step.train? / (1.0 - step.gain?)))
    };
    // The start is greedy boosting by halves, far above both; it and comparisons are what lies
    // between two fits.
    let between = |step: &TraceStep| {
        step.stage == Stage::BOOSTING.name || step.stage == Stage::COMPARING.name
    };
    let chosen =
        steps.iter().rposition(|step| step.stage == Stage::COMPARING.name).map_or(0, |at| at + 1);
    let line = |name: &str, colour, points| Series {
        name: name.to_string(),
        colour,
        points,
        whole: true,
        mark: SeriesMark::Line,
    };
    let mut greedy: Vec<(f64, f64)> = Vec::new();
    for (x, _, y) in steps.iter().filter(|step| !between(step)).filter_map(point) {
        // The best greedy fit stays what it was until there is another.
        greedy.extend(greedy.last().map(|last| (x, last.1)));
        greedy.push((x, y));
    }
    let mut lines = vec![line("greedy boosting", ORANGE, greedy)];
    for (part, name, colour) in
        [(&steps[..chosen], "search in hand", GREEN), (&steps[chosen..], "search", BLUE)]
    {
        let fits = part.split(|step| between(step)).map(|fit| fit.iter().filter_map(point));
        let fits = fits
            .map(|fit| fit.map(|(x, loss, _)| (x, loss)).collect::<Vec<_>>())
            .filter(|fit| !fit.is_empty());
        // The first of a kind stands for all in the legend.
        lines.extend(
            fits.enumerate().map(|(at, fit)| line(if at == 0 { name } else { "" }, colour, fit)),
        );
    }
    Chart {
        x_label: "trees grown".to_string(),
        y_label: "loss on the training rows".to_string(),
        lines,
    }
}

/// The points of a value that a step may tell.
fn of(steps: &[&TraceStep], value: impl Fn(&TraceStep) -> Option<f64>) -> Vec<(f64, f64)> {
    steps.iter().filter_map(|step| Some((step.step as f64, value(step)?))).collect()
}

fn fitness(steps: &[&TraceStep], noun: &str) -> Chart {
    let measure =
        steps.iter().find(|step| step.is_searched()).map_or("fitness", |step| &step.measure);
    let line = |name: &str, colour, points, whole| Series {
        name: name.to_string(),
        colour,
        points,
        whole,
        mark: SeriesMark::Line,
    };
    Chart {
        x_label: noun.to_string(),
        y_label: format!("{measure} on the training rows"),
        lines: vec![
            line("mean of the swarm", ORANGE, of(steps, |step| step.mean), false),
            line("best so far", BLUE, of(steps, |step| step.best), true),
        ],
    }
}

fn diversity(steps: &[&TraceStep], noun: &str) -> Chart {
    let points = of(steps, |step| step.diversity);
    Chart {
        x_label: noun.to_string(),
        y_label: "rules that differ".to_string(),
        lines: vec![Series {
            name: "diversity".to_string(),
            colour: GREEN,
            points,
            whole: true,
            mark: SeriesMark::Line,
        }],
    }
}

/// The share of positions that were known already, iteration by iteration: every position is
/// evaluated or a repeat.
fn repeats(steps: &[&TraceStep], noun: &str) -> Chart {
    let mut before = (0, 0);
    let mut points = Vec::new();
    for (at, evaluations, repeats) in
        steps.iter().filter_map(|step| Some((step.step, step.evaluations?, step.repeats?)))
    {
        let new = evaluations.saturating_sub(before.0);
        let known = repeats.saturating_sub(before.1);
        before = (evaluations, repeats);
        if new + known > 0 {
            points.push((at as f64, 100.0 * known as f64 / (new + known) as f64));
        }
    }
    Chart {
        x_label: noun.to_string(),
        y_label: "known positions, %".to_string(),
        lines: vec![Series {
            name: "repeats".to_string(),
            colour: RED,
            points,
            whole: true,
            mark: SeriesMark::Line,
        }],
    }
}

fn losses(steps: &[&TraceStep], noun: &str) -> Chart {
    let line = |name: &str, colour, points| Series {
        name: name.to_string(),
        colour,
        points,
        whole: true,
        mark: SeriesMark::Line,
    };
    let lines = vec![
        line("training loss", BLUE, of(steps, |step| step.train)),
        line("validation metric", ORANGE, of(steps, |step| step.valid)),
    ];
    let lines = lines.into_iter().filter(|line| !line.points.is_empty()).collect();
    Chart { x_label: noun.to_string(), y_label: "loss".to_string(), lines }
}

#[cfg(test)]
mod tests {
    use super::*;
    use swarmwood::learn::event::{Event, Search};

    /// The picture of some events.
    fn draw(title: &str, events: &[Event]) -> String {
        super::draw(title, &events.iter().map(TraceStep::from).collect::<Vec<_>>())
    }

    fn iteration(step: usize) -> Event {
        let search = Search {
            measure: "accuracy",
            best: Some(0.9 + step as f64 / 1000.0),
            gain: None,
            mean: Some(0.5),
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
    fn the_default_method_shows_its_loss_beside_greedy_boosting() {
        let step = |step: usize| {
            let mut event = iteration(step);
            event.train = Some(1.0 - step as f64 / 100.0);
            event.search = event.search.map(|search| Search { gain: Some(0.2), ..search });
            event
        };
        let events: Vec<Event> = (1..=5).map(step).collect();
        let svg = draw("t", &events);
        assert_eq!(svg.matches("<polyline").count(), 2, "{svg}");
        // Two fits in hand, and the one that was chosen.
        let with = |stage| move |at| Event { stage, ..step(at) };
        let mut events: Vec<Event> = (1..=3).map(with(Stage::SWEEPS)).collect();
        events.push(with(Stage::BOOSTING)(4));
        events.extend((5..=6).map(with(Stage::SWEEPS)));
        events.push(Event { train: None, ..with(Stage::COMPARING)(7) });
        events.extend((8..=12).map(with(Stage::PAIRS)));
        let svg = draw("t", &events);
        assert_eq!(svg.matches("<polyline").count(), 4, "{svg}");
        assert_eq!(svg.matches(">search in hand<").count(), 1, "{svg}");
        assert!(svg.contains(">greedy boosting<") && svg.contains(">trees grown<"), "{svg}");
    }

    #[test]
    fn a_search_has_three_charts_and_a_training_one() {
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
