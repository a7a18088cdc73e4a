//! Effects of the features on the predictions over the rows of `--data`, as curves and maps.

use swarmwood::Result;
use swarmwood::effects::{
    EffectGrid, FeatureEffect, MAX_STEPS, PairEffect, feature_effect, output_names, pair_effect,
};
use swarmwood::model::{Body, Model};
use swarmwood::predict::Scorer;

use super::effect_panel::{EffectMap, LevelPanel};
use super::html::{CHART, Html, IdSequence, chart_figure, details, figure, gallery, note};
use super::row_sample::RowSample;
use crate::chart::{
    self, BLUE, Chart, ChartArea, GREEN, MARGIN, ORANGE, RED, Series, SeriesMark, TITLE, WIDTH,
};
use crate::format::grouped_count;

/// Rows for curves and for maps.
const CURVE_ROWS: (usize, usize) = (50, 1000);
const MAP_ROWS: usize = 300;

/// Tree evaluations that all curves may take together: a few seconds.
const CURVE_WORK: usize = 400_000_000;

/// Features with a curve, curves that are open, and pairs with a map.
const MAX_FEATURES: usize = 24;
const OPEN_FEATURES: usize = 8;
const MAPS: usize = 2;

/// Levels of a category in a panel.
const MAX_LEVELS: usize = 12;

/// The colours of the classes.
const COLOURS: [&str; 4] = [BLUE, ORANGE, GREEN, RED];

/// The effects of a model.
#[derive(Debug)]
pub struct ModelEffects {
    features: Vec<FeatureEffect>,
    /// The names of the curves of every feature: of many classes, the most probable.
    curves: Vec<String>,
    pairs: Vec<PairEffect>,
    /// The rows of the curves.
    rows: usize,
}

impl ModelEffects {
    /// Computes the effects of the most important features and of the strongest interactions.
    pub fn new(model: &Model, sample: &RowSample, threads: usize) -> Result<ModelEffects> {
        let scorer = Scorer::new(model, None, threads)?;
        let gains = model.importances();
        let mut order: Vec<usize> = (0..model.schema.features.len()).collect();
        // A stable sort: equally important features keep their order.
        order.sort_by(|a, b| gains[*b].gain.total_cmp(&gains[*a].gain));

        order.retain(|feature| gains[*feature].splits > 0);
        order.truncate(MAX_FEATURES);

        // A curve has at most one step per split; large models are averaged over fewer rows.
        let steps =
            order.iter().map(|feature| (gains[*feature].splits as usize + 1).min(MAX_STEPS));
        let work = steps.sum::<usize>() * model.members().len().max(1);
        let rows = sample.thinned((CURVE_WORK / work.max(1)).clamp(CURVE_ROWS.0, CURVE_ROWS.1));
        let mut features = Vec::new();
        for feature in order {
            features.extend(feature_effect(&scorer, &rows, feature)?);
        }

        let outputs = drawn_outputs(&features);
        for effect in &mut features {
            effect.partial = outputs.iter().map(|&at| effect.partial[at].clone()).collect();
        }
        let names = output_names(model);
        let curves = outputs.iter().filter_map(|&at| names.get(at).cloned()).collect();

        let few = sample.thinned(MAP_ROWS);
        let mut pairs = Vec::new();
        for interaction in model.interactions().iter().take(MAPS) {
            let (a, b) = interaction.features;
            pairs.extend(pair_effect(&scorer, &few, (a as usize, b as usize))?);
        }
        Ok(ModelEffects { features, curves, pairs, rows: rows.rows })
    }

    /// The curves and maps for a page.
    pub fn html(&self, model: &Model, ids: &mut IdSequence) -> Html {
        if self.features.is_empty() {
            return Html::default();
        }
        let panels: Vec<Html> = self
            .features
            .iter()
            .map(|effect| self.feature_panel(model, effect, &ids.next_id()))
            .collect();
        let mut panels = panels.into_iter();
        let open = gallery(panels.by_ref().take(OPEN_FEATURES));
        let rest: Vec<Html> = panels.collect();
        let more = match rest.len() {
            0 => Html::default(),
            count => details(&format!("{count} more features"), false, gallery(rest)),
        };
        let map = |pair: &PairEffect| {
            let map = EffectMap::new(model, pair);
            let svg = chart::inline(
                &ids.next_id(),
                &map.title(),
                &map.description(),
                CHART,
                &map.draw(PANEL),
            );
            figure(&svg, &map.title())
        };
        let maps = gallery(self.pairs.iter().map(map).collect::<Vec<_>>());
        note(&self.explanation(model)).and(open).and(more).and(maps)
    }

    /// What the curves are.
    fn explanation(&self, model: &Model) -> String {
        let what = match model.schema.target.kind.classes() {
            [] => "prediction".to_string(),
            [_, second] => format!("probability of {second}"),
            classes if classes.len() > self.curves.len() => {
                format!("probability of each of the {} most probable classes", self.curves.len())
            }
            _ => "probability of each class".to_string(),
        };
        let exact = self.features.iter().all(|effect| effect.grid.is_exact());
        let cells = match exact {
            true => "every threshold of the model is a step of its curve",
            false => "of features with many thresholds a part is steps of the curve",
        };
        let is_drawn = self.features.iter().any(|effect| effect.accumulated.len() == 1);
        let accumulated = match is_drawn {
            true => {
                " Accumulated local effects (ALE) compare rows with neighbouring values only, so \
                 that features that go together stay together."
            }
            false => "",
        };
        format!(
            "Partial dependence is the mean {what} over {} if a feature had the same value in all of \
             them; {cells}.{accumulated}",
            grouped_count(self.rows as u64, "row")
        )
    }

    /// All panels as an SVG document.
    pub fn plot(&self, model: &Model, title: &str) -> String {
        let (width, height) = ((WIDTH - 2.0 * MARGIN) / 2.0, CHART.1 + 26.0);
        let area = |at: usize| ChartArea {
            left: MARGIN + width * (at % 2) as f64,
            top: MARGIN + TITLE + height * (at / 2) as f64 + 22.0,
            width: width - 8.0,
            height: height - 26.0,
        };
        let mut body = String::new();
        let mut add = |title: &str, area: ChartArea, panel: &str| {
            let (x, y) = (area.left + area.width / 2.0, area.top - 6.0);
            let title = chart::escape(title);
            body.push_str(&format!(
                "<text x='{x:.0}' y='{y:.0}' text-anchor='middle' fill='#111'>{title}</text>\n{panel}"
            ));
        };
        for (at, effect) in self.features.iter().enumerate() {
            let panel = self.draw_panel(model, effect, &format!("panel-{at}"), area(at));
            add(&feature_title(model, effect), area(at), &panel);
        }
        for (at, pair) in self.pairs.iter().enumerate() {
            let map = EffectMap::new(model, pair);
            let area = area(self.features.len() + at);
            add(&map.title(), area, &map.draw(area));
        }

        let lines = (self.features.len() + self.pairs.len()).div_ceil(2);
        chart::page(title, &body, MARGIN + TITLE + height * lines as f64 + MARGIN)
    }

    fn feature_panel(&self, model: &Model, effect: &FeatureEffect, id: &str) -> Html {
        let title = feature_title(model, effect);
        match curve_chart(model, effect, &self.curves) {
            Some(chart) => chart_figure(id, &title, &chart),
            None => {
                let panel = LevelPanel::new(model, effect, MAX_LEVELS, &COLOURS);
                let body = panel.draw(PANEL);
                figure(&chart::inline(id, &title, &panel.description(), CHART, &body), &title)
            }
        }
    }

    fn draw_panel(
        &self,
        model: &Model,
        effect: &FeatureEffect,
        id: &str,
        area: ChartArea,
    ) -> String {
        match curve_chart(model, effect, &self.curves) {
            Some(chart) => chart.draw(id, area),
            None => LevelPanel::new(model, effect, MAX_LEVELS, &COLOURS).draw(area),
        }
    }
}

/// As many outputs as there are colours, in their order: those of the greatest mean prediction.
fn drawn_outputs(features: &[FeatureEffect]) -> Vec<usize> {
    let Some(first) = features.first() else { return Vec::new() };
    let mean = |at: usize| first.partial[at].iter().sum::<f64>() / first.partial[at].len() as f64;
    let mut order: Vec<usize> = (0..first.partial.len()).collect();
    order.sort_by(|&a, &b| mean(b).total_cmp(&mean(a)));
    order.truncate(COLOURS.len());
    order.sort_unstable();
    order
}

/// The area of a panel on the page.
const PANEL: ChartArea = ChartArea { left: 0.0, top: 0.0, width: CHART.0, height: CHART.1 };

/// The name of a feature, and whether its curve rises or falls throughout.
fn feature_title(model: &Model, effect: &FeatureEffect) -> String {
    let name = &model.schema.features[effect.feature].name;
    let [curve] = effect.partial.as_slice() else { return name.clone() };
    if matches!(effect.grid, EffectGrid::Levels { .. }) {
        return name.clone();
    }
    let is_always =
        |test: fn(f64, f64) -> bool| curve.windows(2).all(|pair| test(pair[0], pair[1]));
    match (is_always(|a, b| a <= b), is_always(|a, b| a >= b)) {
        (true, false) => format!("{name} (never falls)"),
        (false, true) => format!("{name} (never rises)"),
        _ => name.clone(),
    }
}

/// The curves of a number; `None` for categories.
fn curve_chart(model: &Model, effect: &FeatureEffect, names: &[String]) -> Option<Chart> {
    let EffectGrid::Numbers { edges, .. } = &effect.grid else { return None };
    let steps = |curve: &Vec<f64>| -> Vec<(f64, f64)> {
        if matches!(model.body, Body::Linear(_)) {
            return edges[1..].iter().copied().zip(curve.iter().copied()).collect();
        }
        let cell = |(at, mean): (usize, &f64)| [(edges[at], *mean), (edges[at + 1], *mean)];
        curve.iter().enumerate().flat_map(cell).collect()
    };

    let (mut series, y_label) = match names {
        [_] => {
            let line = Series::new("partial dependence", BLUE, steps(&effect.partial[0]));
            (vec![line], mean_name(model))
        }
        names => {
            let line = |(at, colour): (usize, &&'static str)| {
                let curve = effect.partial.get(at)?;
                Some(Series::new(names[at].clone(), colour, steps(curve)))
            };
            let lines = COLOURS.iter().enumerate().filter_map(line).collect();
            (lines, mean_name(model))
        }
    };
    if let [curve] = effect.accumulated.as_slice() {
        series.push(Series::new("ALE", ORANGE, curve.clone()).with_mark(SeriesMark::Dashed));
    }
    let x_label = model.schema.features[effect.feature].name.clone();
    Some(Chart { x_label, y_label, series })
}

/// The name of the axis of mean predictions.
fn mean_name(model: &Model) -> String {
    match model.schema.target.kind.classes() {
        [] => "mean prediction".to_string(),
        _ => "mean probability".to_string(),
    }
}
