//! What happened in a run: every event, for a table and a picture when it is over.
//!
//! Events are kept in memory and written at the end, to the side and renamed: a run that is resumed tells its past again,
//! so the files of a run that was killed are whole as soon as it is finished.

use std::path::Path;

use swarmwood::Result;
use swarmwood::learn::event::Event;
use swarmwood::write::write_atomically;

use crate::plot;

/// The columns of a trace.
const COLUMNS: &str =
    "stage,step,train,valid,measure,best,gain,mean,diversity,factor,alpha,beta,evaluations,repeats,seconds";

/// The events so far.
#[derive(Default)]
pub struct Record {
    events: Vec<Event>,
}

impl Record {
    /// Keeps an event.
    pub fn push(&mut self, event: &Event) {
        self.events.push(event.clone());
    }

    /// Writes one line an event.
    pub fn write_trace(&self, path: &Path) -> Result<()> {
        write_atomically(path, |out| {
            writeln!(out, "{COLUMNS}")?;
            self.events.iter().try_for_each(|event| writeln!(out, "{}", line(event)))
        })
    }

    /// Draws the last stage.
    pub fn write_plot(&self, path: &Path, title: &str) -> Result<()> {
        let svg = plot::draw(title, &self.events);
        write_atomically(path, |out| out.write_all(svg.as_bytes()))
    }
}

/// An event as a line of a table; what is not known is empty.
fn line(event: &Event) -> String {
    let known = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
    let search = event.search.as_ref();
    let number = |of: &dyn Fn(&swarmwood::learn::event::Search) -> Option<f64>| known(search.and_then(of));
    let cells = [
        event.stage.name.to_string(),
        event.step.to_string(),
        known(event.train),
        known(event.valid),
        search.map_or(String::new(), |search| search.measure.to_string()),
        number(&|search| search.best),
        number(&|search| search.gain),
        number(&|search| search.mean),
        number(&|search| search.diversity),
        number(&|search| search.factor),
        number(&|search| search.alpha),
        number(&|search| search.beta),
        search.map_or(String::new(), |search| search.evaluations.to_string()),
        search.map_or(String::new(), |search| search.repeats.to_string()),
        format!("{:.6}", event.elapsed),
    ];
    cells.join(",")
}
