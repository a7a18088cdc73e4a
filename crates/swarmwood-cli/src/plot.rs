//! The picture of a run: figures 8 and 9 of Rao 2022, the best fitness against the iteration, and below it how much the
//! swarm still moves. A run without a search shows its losses.

use swarmwood::learn::event::{Event, Search, Stage};

use crate::chart::{BLUE, Chart, GREEN, LOW, Line, MARGIN, Mark, ORANGE, Place, RED, TALL, TITLE, WIDTH, page};

/// The last stage of a run as an SVG document.
pub fn draw(title: &str, events: &[Event]) -> String {
    if events.iter().any(|event| event.search.is_some_and(|search| search.gain.is_some())) {
        let chart = work(events)
            .draw("loss", Place { left: MARGIN, top: MARGIN + TITLE, width: WIDTH - 2.0 * MARGIN, height: TALL });
        return page(title, &chart, MARGIN + TITLE + TALL + MARGIN);
    }
    let stage = events.last().map(|event| event.stage);
    let events: Vec<&Event> = events.iter().filter(|event| Some(event.stage) == stage).collect();
    let step = stage.map_or("step", |stage| stage.step);
    let place = |left, top, width, height| Place { left, top, width, height };
    let searched = events.iter().any(|event| event.search.is_some());
    let width = WIDTH - 2.0 * MARGIN;
    let (top, below) = (MARGIN + TITLE, MARGIN + TITLE + TALL);
    let (body, height) = if searched {
        let half = width / 2.0;
        let parts = [
            fitness(&events, step).draw("best", place(MARGIN, top, width, TALL)),
            diversity(&events, step).draw("diversity", place(MARGIN, below, half, LOW)),
            repeats(&events, step).draw("repeats", place(MARGIN + half, below, half, LOW)),
        ];
        (parts.concat(), below + LOW + MARGIN)
    } else {
        (losses(&events, step).draw("loss", place(MARGIN, top, width, TALL)), below + MARGIN)
    };
    page(title, &body, height)
}

/// The loss of what there is to end with against the trees grown so far, beside the best greedy fit's: first of the fits in
/// hand, then, when candidates were compared, of the one that became the model.
fn work(events: &[Event]) -> Chart {
    let point = |event: &Event| {
        let search = event.search?;
        Some((search.evaluations as f64, event.train?, event.train? / (1.0 - search.gain?)))
    };
    // The start is greedy boosting by halves, far above both; it and comparisons are what lies between two fits.
    let between = |stage: Stage| stage == Stage::BOOSTING || stage == Stage::COMPARING;
    let chosen = events.iter().rposition(|event| event.stage == Stage::COMPARING).map_or(0, |at| at + 1);
    let line =
        |name: &str, colour, points| Line { name: name.to_string(), colour, points, whole: true, mark: Mark::Line };
    let mut greedy: Vec<(f64, f64)> = Vec::new();
    for (x, _, y) in events.iter().filter(|event| !between(event.stage)).filter_map(point) {
        // The best greedy fit stays what it was until there is another.
        greedy.extend(greedy.last().map(|last| (x, last.1)));
        greedy.push((x, y));
    }
    let mut lines = vec![line("greedy boosting", ORANGE, greedy)];
    for (part, name, colour) in [(&events[..chosen], "search in hand", GREEN), (&events[chosen..], "search", BLUE)] {
        let fits = part.split(|event| between(event.stage)).map(|fit| fit.iter().filter_map(point));
        let fits = fits.map(|fit| fit.map(|(x, loss, _)| (x, loss)).collect::<Vec<_>>()).filter(|fit| !fit.is_empty());
        // The first of a kind stands for all in the legend.
        lines.extend(fits.enumerate().map(|(at, fit)| line(if at == 0 { name } else { "" }, colour, fit)));
    }
    Chart { x_label: "trees grown".to_string(), y_label: "loss on the training rows".to_string(), lines }
}

/// The points of a value that a search may tell.
fn of_search(events: &[&Event], value: impl Fn(&Search) -> Option<f64>) -> Vec<(f64, f64)> {
    let point = |event: &&Event| Some((event.step as f64, event.search.as_ref().and_then(&value)?));
    events.iter().filter_map(point).collect()
}

fn fitness(events: &[&Event], step: &str) -> Chart {
    let measure = events.iter().find_map(|event| event.search).map_or("fitness", |search| search.measure);
    let best = of_search(events, |search| search.best);
    let mean = of_search(events, |search| search.mean);
    Chart {
        x_label: step.to_string(),
        y_label: format!("{measure} on the training rows"),
        lines: vec![
            Line {
                name: "mean of the swarm".to_string(),
                colour: ORANGE,
                points: mean,
                whole: false,
                mark: Mark::Line,
            },
            Line { name: "best so far".to_string(), colour: BLUE, points: best, whole: true, mark: Mark::Line },
        ],
    }
}

fn diversity(events: &[&Event], step: &str) -> Chart {
    let points = of_search(events, |search| search.diversity);
    Chart {
        x_label: step.to_string(),
        y_label: "rules that differ".to_string(),
        lines: vec![Line { name: "diversity".to_string(), colour: GREEN, points, whole: true, mark: Mark::Line }],
    }
}

/// The share of positions that were known already, iteration by iteration: every position is evaluated or a repeat.
fn repeats(events: &[&Event], step: &str) -> Chart {
    let mut before = (0, 0);
    let mut points = Vec::new();
    for (at, search) in events.iter().filter_map(|event| Some((event.step, event.search?))) {
        let new = search.evaluations.saturating_sub(before.0);
        let known = search.repeats.saturating_sub(before.1);
        before = (search.evaluations, search.repeats);
        if new + known > 0 {
            points.push((at as f64, 100.0 * known as f64 / (new + known) as f64));
        }
    }
    Chart {
        x_label: step.to_string(),
        y_label: "known positions, %".to_string(),
        lines: vec![Line { name: "repeats".to_string(), colour: RED, points, whole: true, mark: Mark::Line }],
    }
}

fn losses(events: &[&Event], step: &str) -> Chart {
    let of = |value: &dyn Fn(&Event) -> Option<f64>| -> Vec<(f64, f64)> {
        events.iter().filter_map(|event| Some((event.step as f64, value(event)?))).collect()
    };
    let line =
        |name: &str, colour, points| Line { name: name.to_string(), colour, points, whole: true, mark: Mark::Line };
    let lines = vec![
        line("training loss", BLUE, of(&|event| event.train)),
        line("validation metric", ORANGE, of(&|event| event.valid)),
    ];
    let lines = lines.into_iter().filter(|line| !line.points.is_empty()).collect();
    Chart { x_label: step.to_string(), y_label: "loss".to_string(), lines }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        for part in ["a &lt;title&gt;", ">iteration<", ">accuracy on the training rows<", ">best so far<", ">20<"] {
            assert!(svg.contains(part), "no {part} in {svg}");
        }
        let svg = draw("t", &events[..1]);
        assert!(svg.contains("<circle") && !svg.contains("NaN"), "{svg}");
        assert!(draw("nothing", &[]).ends_with("</svg>\n"));
    }
}
