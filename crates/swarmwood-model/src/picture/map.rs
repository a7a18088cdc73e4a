//! The predictions of a model over two features, the others fixed, as a map.
//!
//! The thresholds and levels of the two features divide the plane into cells in which the
//! prediction is constant, so one prediction per cell is exact, for one tree as for many. Missing
//! values have a strip of their own beside each axis. Numbers are drawn to scale if every cell is
//! visible then, else with cells of equal width.

use std::fmt::{self, Write};

use super::palette::{class_colour, escape, fit, scale_colour, width};
use crate::ensemble::Model;
use crate::number_format::{exact, percent, short};
use crate::predict::{FeatureValue, MISSING, Prediction};

use crate::schema::Kind;
use crate::text::printable;
use crate::tree::Test;

/// Maximum number of cells along one axis.
const MAX_CELLS: usize = 200;

const MARGIN: f64 = 20.0;
const LEFT: f64 = 120.0;
const TOP: f64 = 64.0;
const SIDE: f64 = 460.0;
/// The strip of missing values and the gap before it.
const STRIP: f64 = 26.0;
const GAP: f64 = 8.0;
const LEGEND: f64 = 190.0;
const SIZE: f64 = 12.0;

/// Why a map cannot be drawn.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MapError {
    /// A linear function has no areas.
    #[error("the model is linear; a map shows where trees change their prediction")]
    Linear,
    /// Several numbers have no common colour.
    #[error("the model predicts {columns} columns; a map shows one: train one model per column")]
    Columns {
        /// How many.
        columns: usize,
    },
    /// The two features are one.
    #[error("the map needs two different features, and was given '{name}' twice")]
    Same {
        /// The feature.
        name: String,
    },
    /// No split tests the feature.
    #[error("the model does not use '{name}', so a map along it shows nothing; it uses: {used}")]
    Unused {
        /// The feature.
        name: String,
        /// The features that are used.
        used: String,
    },
    /// The model uses features whose value is not fixed.
    #[error("the model also uses {names}; fix their values, for example --at {example}")]
    NotFixed {
        /// The features, with commas.
        names: String,
        /// How to fix one.
        example: String,
    },
    /// There are too many cells.
    #[error(
        "'{name}' has {cells} areas on the map, and more than {MAX_CELLS} cannot be distinguished"
    )]
    TooManyCells {
        /// The feature.
        name: String,
        /// Number of areas.
        cells: usize,
    },
}

/// One axis of the map.
struct MapAxis {
    name: String,
    /// A value of each cell, in order.
    values: Vec<FeatureValue>,
    /// Where each cell begins and ends, from 0 to 1.
    bounds: Vec<f64>,
    /// The labels of the axis: a position from 0 to 1 and a text.
    ticks: Vec<(f64, String)>,
    missing: FeatureValue,
    to_scale: bool,
}

impl Model {
    /// A map of the predictions over two features, `across` and `up`, as an SVG document. `fixed`
    /// has the values of the others, feature by feature; those that the model uses must be there.
    pub fn to_map(
        &self,
        across: usize,
        up: usize,
        fixed: &[Option<FeatureValue>],
    ) -> Result<String, MapError> {
        if self.members().is_empty() {
            return Err(MapError::Linear);
        }
        if let columns @ 2.. = self.schema.target.kind.columns().len() {
            return Err(MapError::Columns { columns });
        }
        let name = |feature: usize| self.schema.features[feature].name.clone();
        let used = self.features_used();
        if across == up {
            return Err(MapError::Same { name: name(across) });
        }

        if let Some(&unused) = [across, up].iter().find(|feature| !used.contains(feature)) {
            let used = used.iter().map(|&feature| name(feature)).collect::<Vec<_>>().join(", ");
            return Err(MapError::Unused { name: name(unused), used });
        }

        let is_open = |feature: &&usize| {
            ![across, up].contains(feature) && fixed.get(**feature).is_none_or(Option::is_none)
        };
        let open: Vec<usize> = used.iter().filter(is_open).copied().collect();
        if let Some(&first) = open.first() {
            let names = open
                .iter()
                .map(|&feature| format!("'{}'", name(feature)))
                .collect::<Vec<_>>()
                .join(", ");
            let value = self.schema.features[first]
                .kind
                .levels()
                .first()
                .cloned()
                .unwrap_or_else(|| "0".into());
            return Err(MapError::NotFixed {
                names,
                example: format!("'{}={value}'", name(first)),
            });
        }

        let axes = [self.axis(across)?, self.axis(up)?];
        let fixed_names: Vec<String> = used
            .iter()
            .filter(|feature| ![across, up].contains(feature))
            .filter_map(|&feature| {
                Some(format!(
                    "{} = {}",
                    name(feature),
                    self.value_name(feature, (*fixed.get(feature)?)?)
                ))
            })
            .collect();
        let predict =
            |x: FeatureValue, y: FeatureValue| self.predict_cell((across, x), (up, y), fixed);
        let map = PredictionMap::new(self, axes, fixed_names, predict);
        let mut svg = String::new();

        // Writing to a string cannot fail.
        let _ = map.draw(&mut svg);
        Ok(svg)
    }

    /// The prediction in one cell.
    fn predict_cell(
        &self,
        x: (usize, FeatureValue),
        y: (usize, FeatureValue),
        fixed: &[Option<FeatureValue>],
    ) -> Prediction {
        let missing = |kind: &Kind| match kind {
            Kind::Number => FeatureValue::Number(f64::NAN),
            Kind::Category { .. } => FeatureValue::Category(MISSING),
        };

        let features = self.schema.features.iter().enumerate();
        let mut row: Vec<FeatureValue> = features
            .map(|(at, feature)| {
                fixed.get(at).copied().flatten().unwrap_or_else(|| missing(&feature.kind))
            })
            .collect();
        (row[x.0], row[y.0]) = (x.1, y.1);
        // Fixed values of the wrong kind come from the caller; the cells stay empty then.
        self.predict_row(&row).unwrap_or(Prediction::Number(f64::NAN))
    }

    fn value_name(&self, feature: usize, value: FeatureValue) -> String {
        match value {
            FeatureValue::Number(value) if value.is_nan() => "missing".into(),
            FeatureValue::Number(value) => exact(value),
            FeatureValue::Category(code) => self.schema.features[feature]
                .kind
                .levels()
                .get(code as usize)
                .cloned()
                .unwrap_or_else(|| "missing".into()),
        }
    }

    fn axis(&self, feature: usize) -> Result<MapAxis, MapError> {
        let name = self.schema.features[feature].name.clone();
        let axis = match &self.schema.features[feature].kind {
            Kind::Category { levels } => {
                let count = levels.len();
                let bounds = (0..=count).map(|at| at as f64 / count as f64).collect();
                let tick = |(at, level): (usize, &String)| {
                    ((at as f64 + 0.5) / count as f64, printable(level).into_owned())
                };
                let ticks = levels.iter().enumerate().map(tick).collect();
                let values = (0..count as u32).map(FeatureValue::Category).collect();
                MapAxis {
                    name,
                    values,
                    bounds,
                    ticks,
                    missing: FeatureValue::Category(MISSING),
                    to_scale: true,
                }
            }
            Kind::Number => number_axis(name, self.thresholds(feature)),
        };

        let cells = axis.values.len();
        if cells > MAX_CELLS {
            Err(MapError::TooManyCells { name: axis.name, cells })
        } else {
            Ok(axis)
        }
    }

    fn thresholds(&self, feature: usize) -> Vec<f64> {
        let splits = self.members().iter().flat_map(|member| member.shape.splits());
        let of_feature = splits.filter(|split| split.feature as usize == feature);
        let threshold =
            |test: &Test| if let Test::Above(threshold) = test { Some(*threshold) } else { None };
        let mut thresholds: Vec<f64> =
            of_feature.filter_map(|split| threshold(&split.test)).collect();
        thresholds.sort_by(f64::total_cmp);
        thresholds.dedup();
        thresholds
    }
}

fn number_axis(name: String, thresholds: Vec<f64>) -> MapAxis {
    let count = thresholds.len();
    let (low, high) =
        (thresholds.first().copied().unwrap_or(0.0), thresholds.last().copied().unwrap_or(0.0));
    let room = if high > low { 0.18 * (high - low) } else { low.abs().max(1.0) };
    let position = |value: f64| (value - low + room) / (high - low + 2.0 * room);
    let scaled: Vec<f64> = [0.0]
        .into_iter()
        .chain(thresholds.iter().map(|&value| position(value)))
        .chain([1.0])
        .collect();
    let to_scale = scaled.windows(2).all(|pair| pair[1] - pair[0] >= 0.012);
    let steps = (0..=count + 1).map(|at| at as f64 / (count + 1) as f64).collect();
    let bounds = if to_scale { scaled } else { steps };
    let ticks =
        thresholds.iter().enumerate().map(|(at, &value)| (bounds[at + 1], short(value))).collect();

    // The largest number of a cell is its upper threshold; that of the last cell is infinity.
    let values = thresholds.into_iter().chain([f64::INFINITY]).map(FeatureValue::Number).collect();
    MapAxis { name, values, bounds, ticks, missing: FeatureValue::Number(f64::NAN), to_scale }
}

/// The content of a map.
struct PredictionMap<'a> {
    model: &'a Model,
    across: MapAxis,
    up: MapAxis,
    fixed_names: Vec<String>,
    /// Line by line, the lowest first; the last line and the last of each line are for missing
    /// values.
    cells: Vec<Vec<Prediction>>,
    range: (f64, f64),
}

impl<'a> PredictionMap<'a> {
    fn new(
        model: &'a Model,
        axes: [MapAxis; 2],
        fixed_names: Vec<String>,
        predict: impl Fn(FeatureValue, FeatureValue) -> Prediction,
    ) -> Self {
        let [across, up] = axes;
        let line = |y: FeatureValue| {
            across
                .values
                .iter()
                .chain([&across.missing])
                .map(|&x| predict(x, y))
                .collect::<Vec<_>>()
        };

        let cells: Vec<Vec<Prediction>> =
            up.values.iter().chain([&up.missing]).map(|&y| line(y)).collect();
        let numbers = cells
            .iter()
            .flatten()
            .filter_map(|one| if let Prediction::Number(n) = one { Some(*n) } else { None });
        let range = numbers
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), n| (low.min(n), high.max(n)));
        PredictionMap { model, across, up, fixed_names, cells, range }
    }

    /// The ends of a cell on the page; the strip of missing values comes after the last cell.
    fn x(&self, cell: usize) -> (f64, f64) {
        match self.across.bounds.get(cell + 1) {
            Some(end) => (LEFT + SIDE * self.across.bounds[cell], LEFT + SIDE * end),
            None => (LEFT + SIDE + GAP, LEFT + SIDE + GAP + STRIP),
        }
    }

    fn y(&self, cell: usize) -> (f64, f64) {
        let bottom = TOP + STRIP + GAP + SIDE;
        match self.up.bounds.get(cell + 1) {
            Some(end) => (bottom - SIDE * end, bottom - SIDE * self.up.bounds[cell]),
            None => (TOP, TOP + STRIP),
        }
    }

    fn draw(&self, svg: &mut String) -> fmt::Result {
        let target = printable(&self.model.schema.target.name);
        let title = format!(
            "{target} over {} and {}",
            printable(&self.across.name),
            printable(&self.up.name)
        );

        let (wide, high) =
            (LEFT + SIDE + GAP + STRIP + MARGIN + LEGEND, TOP + STRIP + GAP + SIDE + 64.0);
        writeln!(
            svg,
            "<svg xmlns='http://www.w3.org/2000/svg' width='{wide:.0}' height='{high:.0}' viewBox='0 0 {wide:.0} \
             {high:.0}' role='img' aria-labelledby='title desc' font-family='Helvetica, Arial, sans-serif' \
             font-size='{SIZE}' fill='#222'>"
        )?;

        let fixed = self.fixed_names.join(", ");
        let note = if fixed.is_empty() { String::new() } else { format!("where {fixed}") };
        writeln!(svg, "<title id='title'>{}</title>", escape(&title))?;
        writeln!(svg, "<desc id='desc'>A map of the model's predictions {}</desc>", escape(&note))?;
        writeln!(svg, "<rect width='100%' height='100%' fill='white'/>")?;
        let title = escape(&fit(&title, 16.0, wide - 2.0 * MARGIN));
        writeln!(
            svg,
            "<text x='{MARGIN}' y='32' font-size='16' font-weight='bold'>{title}</text>"
        )?;

        let note = escape(&fit(&note, SIZE, wide - 2.0 * MARGIN));
        writeln!(svg, "<text x='{MARGIN}' y='51' fill='#666'>{note}</text>")?;
        for (line, cells) in self.cells.iter().enumerate() {
            self.draw_line(svg, line, cells)?;
        }

        self.draw_frames(svg)?;
        self.draw_axes(svg)?;
        self.draw_legend(svg)?;
        writeln!(svg, "</svg>")
    }

    /// A line of cells; neighbours with the same prediction are one rectangle.
    fn draw_line(&self, svg: &mut String, line: usize, cells: &[Prediction]) -> fmt::Result {
        let (top, bottom) = self.y(line);
        let mut first = 0;
        for cell in 0..cells.len() {
            // The strip of missing values stays separate.
            if cell + 1 < cells.len() - 1 && cells[cell + 1] == cells[first] {
                continue;
            }
            let (left, right) = (self.x(first).0, self.x(cell).1);
            let (colour, opacity) = self.colour(&cells[first]);
            writeln!(
                svg,
                "<rect x='{left:.2}' y='{top:.2}' width='{:.2}' height='{:.2}' fill='{colour}' \
                 fill-opacity='{opacity:.3}' shape-rendering='crispEdges'><title>{}</title></rect>",
                right - left,
                bottom - top,
                escape(&self.label(&cells[first]))
            )?;
            first = cell + 1;
        }
        Ok(())
    }

    /// The colour of a prediction and its opacity: the less probable a class, the paler.
    fn colour(&self, prediction: &Prediction) -> (String, f64) {
        match prediction {
            Prediction::Number(number) => (scale_colour(*number, self.range), 1.0),
            // Models of several numbers have no map.
            Prediction::Numbers(_) => (scale_colour(f64::NAN, self.range), 1.0),
            Prediction::Class { class, probabilities } => {
                let even = 1.0 / probabilities.len().max(1) as f64;
                let lead = (probabilities.get(*class as usize).copied().unwrap_or(even) - even)
                    / (1.0 - even);
                (class_colour(*class as usize), 0.35 + 0.6 * lead.clamp(0.0, 1.0))
            }
        }
    }

    fn label(&self, prediction: &Prediction) -> String {
        match prediction {
            Prediction::Number(value) => exact(*value),
            Prediction::Numbers(_) => String::new(),
            Prediction::Class { class, probabilities } => {
                let name = self.model.schema.target.kind.classes().get(*class as usize);
                let share = probabilities.get(*class as usize).copied().unwrap_or(0.0);
                format!(
                    "{}: {}",
                    name.map_or_else(String::new, |name| printable(name).into_owned()),
                    percent(share)
                )
            }
        }
    }

    /// Frames around the plane and the strips.
    fn draw_frames(&self, svg: &mut String) -> fmt::Result {
        let plane = TOP + STRIP + GAP;
        let beyond = LEFT + SIDE + GAP;
        for (x, y, wide, high) in [
            (LEFT, plane, SIDE, SIDE),
            (beyond, plane, STRIP, SIDE),
            (LEFT, TOP, SIDE, STRIP),
            (beyond, TOP, STRIP, STRIP),
        ] {
            writeln!(
                svg,
                "<rect x='{x}' y='{y}' width='{wide}' height='{high}' fill='none' stroke='#8d98a7'/>"
            )?;
        }
        Ok(())
    }

    fn draw_axes(&self, svg: &mut String) -> fmt::Result {
        let bottom = TOP + STRIP + GAP + SIDE;
        let mut end = f64::NEG_INFINITY;
        for (position, text) in &self.across.ticks {
            let (text, x) = (fit(text, 11.0, 90.0), LEFT + SIDE * position);
            let half = width(&text, 11.0) / 2.0;
            writeln!(svg, "<path d='M{x:.1} {bottom}v5' stroke='#8d98a7'/>")?;
            // A label that would overlap the one before is left out.
            if x - half > end + 4.0 {
                let y = bottom + 17.0;
                writeln!(
                    svg,
                    "<text x='{x:.1}' y='{y}' font-size='11' text-anchor='middle'>{}</text>",
                    escape(&text)
                )?;
                end = x + half;
            }
        }

        let mut end = f64::INFINITY;
        for (position, text) in &self.up.ticks {
            let (text, y) = (fit(text, 11.0, LEFT - 46.0), bottom - SIDE * position);
            writeln!(svg, "<path d='M{LEFT} {y:.1}h-5' stroke='#8d98a7'/>")?;
            if y < end - 13.0 {
                let (x, y) = (LEFT - 8.0, y + 4.0);
                writeln!(
                    svg,
                    "<text x='{x}' y='{y:.1}' font-size='11' text-anchor='end'>{}</text>",
                    escape(&text)
                )?;
                end = y - 4.0;
            }
        }

        let style = "font-size='11' fill='#666'";
        let x = LEFT + SIDE + GAP + STRIP / 2.0;
        writeln!(
            svg,
            "<text x='{x}' y='{}' text-anchor='middle' {style}>missing</text>",
            bottom + 17.0
        )?;

        let y = TOP + STRIP / 2.0 + 4.0;
        writeln!(svg, "<text x='{}' y='{y}' text-anchor='end' {style}>missing</text>", LEFT - 8.0)?;
        let label = |axis: &MapAxis| {
            let scale = if axis.to_scale { "" } else { " (not to scale)" };
            escape(&format!("{}{scale}", fit(&printable(&axis.name), SIZE, SIDE - 110.0)))
        };

        let (x, y) = (LEFT + SIDE / 2.0, bottom + 42.0);
        writeln!(
            svg,
            "<text x='{x}' y='{y}' text-anchor='middle' font-weight='bold'>{}</text>",
            label(&self.across)
        )?;

        let (x, y) = (MARGIN + 6.0, bottom - SIDE / 2.0);
        let up = label(&self.up);
        writeln!(
            svg,
            "<text x='{x}' y='{y}' text-anchor='middle' font-weight='bold' transform='rotate(-90 {x} {y})'>{up}</text>"
        )
    }

    fn draw_legend(&self, svg: &mut String) -> fmt::Result {
        let x = LEFT + SIDE + GAP + STRIP + MARGIN;
        let mut y = TOP + STRIP + GAP + 12.0;
        let classes = self.model.schema.target.kind.classes();
        for (class, name) in classes.iter().enumerate().take(24) {
            let (colour, name) =
                (class_colour(class), escape(&fit(&printable(name), SIZE, LEGEND - 50.0)));
            writeln!(
                svg,
                "<rect x='{x}' y='{}' width='12' height='12' rx='2' fill='{colour}'/>",
                y - 10.0
            )?;
            writeln!(svg, "<text x='{}' y='{y}'>{name}</text>", x + 18.0)?;
            y += 20.0;
        }

        if !classes.is_empty() {
            return writeln!(
                svg,
                "<text x='{x}' y='{}' font-size='10.5' fill='#777'>paler if less probable</text>",
                y + 6.0
            );
        }

        for step in 0..5 {
            let value = self.range.1 + (self.range.0 - self.range.1) * f64::from(step) / 4.0;
            let (colour, text) = (scale_colour(value, self.range), short(value));
            writeln!(
                svg,
                "<rect x='{x}' y='{}' width='18' height='22' fill='{colour}'/>",
                y - 12.0
            )?;
            writeln!(svg, "<text x='{}' y='{}'>{text}</text>", x + 26.0, y + 3.0)?;
            y += 22.0;
        }
        Ok(())
    }
}
