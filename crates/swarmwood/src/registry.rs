//! Which code stands behind the words of the parameter table, beside a given target.
//!
//! This is the one place where a choice becomes an algorithm; no front knows any of their names.

use swarmwood_learn::leaf_loss::{CostMatrix, LeafLoss};
use swarmwood_learn::metric::EvalMetric;
use swarmwood_learn::objective::{OBJECTIVES, ObjectiveConfig, ThresholdedLoss};
use swarmwood_model::TargetKind;

use crate::error::{Error, Violation};
use crate::params::{
    Criterion, IntervalKind, MetricChoice, ObjectiveChoice, Params, TargetSupport,
};
use crate::{Result, params};

/// The objective that the parameters ask for, or why it cannot be used for this target.
///
/// ```
/// use swarmwood::learn::objective::ObjectiveConfig;
/// use swarmwood::model::TargetKind;
/// use swarmwood::{params::Params, registry};
///
/// let classes = TargetKind::Classes(vec!["no".into(), "yes".into()]);
/// assert_eq!(registry::objective(&Params::default(), &classes).unwrap(), ObjectiveConfig::LOGISTIC);
/// assert_eq!(registry::objective(&Params::default(), &TargetKind::Number).unwrap(), ObjectiveConfig::SQUARED);
/// ```
pub fn objective(params: &Params, target: &TargetKind) -> Result<ObjectiveConfig> {
    let classes = classes(target);
    let spec = match params.objective {
        ObjectiveChoice::Auto if classes == 0 && params.criterion == Criterion::Absolute => {
            return Ok(ObjectiveConfig::ABSOLUTE);
        }
        // The first one that fits is the default.
        ObjectiveChoice::Auto => *OBJECTIVES
            .iter()
            .find(|spec| spec.targets.fits(classes))
            .ok_or_else(|| Error::Run(format!("no objective is for {classes} classes")))?,
        ObjectiveChoice::Is(spec) => spec,
    };
    let wanted = spec.targets.to_string();
    fits("objective", spec.name, (&wanted, spec.targets.fits(classes)), classes)?;

    Ok(ObjectiveConfig::new(spec, classes, |name| params.number(name)))
}

/// Like [`objective`], but a tuning may try regression losses on two classes too, as published: the
/// class is the number 0 or 1, and the prediction is thresholded at one half.
///
/// ```
/// use swarmwood::learn::objective::{ObjectiveConfig, ThresholdedLoss};
/// use swarmwood::model::TargetKind;
/// use swarmwood::params::{Method, ObjectiveChoice, Params};
/// use swarmwood::registry;
///
/// let classes = TargetKind::Classes(vec!["no".into(), "yes".into()]);
/// let objective = ObjectiveChoice::named("squared").unwrap();
/// let params = Params { objective, ..Params::of(Method::GREEDY) };
/// assert!(registry::objective(&params, &classes).is_err());
/// let thresholded = ObjectiveConfig::thresholded(ThresholdedLoss::Squared);
/// assert_eq!(registry::objective_or_thresholded(&params, &classes)?, thresholded);
/// # Ok::<(), swarmwood::Error>(())
/// ```
pub fn objective_or_thresholded(params: &Params, target: &TargetKind) -> Result<ObjectiveConfig> {
    let thresholded = params.method.spec().thresholds_regression && classes(target) == 2;
    match params.objective.name() {
        "squared" if thresholded => Ok(ObjectiveConfig::thresholded(ThresholdedLoss::Squared)),
        "squared-log" if thresholded => {
            Ok(ObjectiveConfig::thresholded(ThresholdedLoss::SquaredLog))
        }
        "squaredlogerror" if thresholded => {
            Ok(ObjectiveConfig::thresholded(ThresholdedLoss::SquaredLogError))
        }
        _ => objective(params, target),
    }
}

/// The metric that early stopping watches, or why it cannot be used for this target.
pub fn watch(params: &Params, target: &TargetKind) -> Result<EvalMetric> {
    let classes = classes(target);
    let (numbers, any_classes) = (("numbers", classes == 0), ("classes", classes > 0));
    let (watch, wanted) = match params.metric {
        MetricChoice::Auto => return Ok(EvalMetric::Loss),
        MetricChoice::Rmse => (EvalMetric::Rmse, numbers),
        MetricChoice::Mae => (EvalMetric::Mae, numbers),
        MetricChoice::R2 => (EvalMetric::R2, numbers),
        MetricChoice::Medae => (EvalMetric::Medae, numbers),
        MetricChoice::Mape => (EvalMetric::Mape, numbers),
        MetricChoice::Logloss => (EvalMetric::LogLoss, any_classes),
        MetricChoice::Accuracy => (EvalMetric::Accuracy, any_classes),
        MetricChoice::BalancedAccuracy => (EvalMetric::BalancedAccuracy, any_classes),
        MetricChoice::Brier => (EvalMetric::Brier, any_classes),
        MetricChoice::Auc => (EvalMetric::Auc, any_classes),
        MetricChoice::F1 => (EvalMetric::F1, any_classes),
    };
    fits("metric", params.metric.name(), wanted, classes).map(|()| watch)
}

/// What a single tree is chosen by, or why it cannot be used for this target.
pub fn leaf_loss(params: &Params, target: &TargetKind) -> Result<LeafLoss> {
    let classes = classes(target);
    let loss = match params.criterion {
        Criterion::Accuracy => LeafLoss::Error,
        Criterion::Mix => LeafLoss::Mix { share: 0.5 },
        Criterion::Auto | Criterion::Gini => LeafLoss::Gini,
        Criterion::Entropy | Criterion::GainRatio => LeafLoss::Entropy,
        Criterion::Squared => LeafLoss::Squared,
        Criterion::Absolute => LeafLoss::Absolute,
    };
    let wanted =
        if loss.is_of_classes() { ("classes", classes > 0) } else { ("numbers", classes == 0) };
    fits("criterion", params.criterion.name(), wanted, classes)?;
    let costs = params.costs.rows();
    if costs.is_empty() {
        return Ok(loss);
    }
    if costs.len() != classes {
        let given = costs.len();
        let target = target_text(classes);
        let message = format!(
            "has {given} rows and columns, but the target has {target}; give one for each class"
        );
        return Err(Error::Parameters(vec![Violation::new("costs", message)]));
    }
    Ok(LeafLoss::Costs(CostMatrix::new(classes, costs.concat())))
}

/// Whether the method can be used for this target.
pub fn check_task(params: &Params, target: &TargetKind) -> Result<()> {
    let classes = classes(target);
    let holds = params.method.spec().targets == TargetSupport::Any || classes > 0;
    fits("method", params.method.name(), ("classes", holds), classes)
}

/// Whether decisions that the parameters ask for can be made for this target.
pub fn check_decisions(params: &Params, target: &TargetKind) -> Result<()> {
    let classes = classes(target);
    let default = Params::of(params.method);
    let mut violations: Vec<Violation> = ["threshold", "threshold_for"]
        .into_iter()
        .filter_map(|name| params::find(name).ok())
        .filter(|spec| classes != 2 && spec.show(params) != spec.show(&default))
        .map(|spec| {
            let (value, target) = (spec.show(params), target_text(classes));
            let message = format!(
                "is {value}, but a decision threshold is for targets of two classes, and this one \
                 has {target}; leave it out"
            );
            Violation::new(spec.name, message)
        })
        .collect();
    if classes > 0 && params.interval_kind != IntervalKind::Constant {
        let message = format!(
            "is {}, but prediction sets of classes have no width; leave it out",
            params.interval_kind.name()
        );
        violations.push(Violation::new("interval_kind", message));
    }
    if violations.is_empty() { Ok(()) } else { Err(Error::Parameters(violations)) }
}

fn target_text(classes: usize) -> String {
    if classes == 0 { "numbers".to_string() } else { format!("{classes} classes") }
}

/// The number of classes; 0 for numbers.
fn classes(target: &TargetKind) -> usize {
    match target {
        TargetKind::Number | TargetKind::Numbers(_) => 0,
        TargetKind::Classes(names) => names.len(),
    }
}

/// A violation where the target is not what a choice is for.
fn fits(name: &str, choice: &str, (wanted, holds): (&str, bool), classes: usize) -> Result<()> {
    if holds {
        return Ok(());
    }
    let target = target_text(classes);
    let auto = params::find(name).map(|spec| spec.default_text()).unwrap_or_default();
    let message = format!(
        "is '{choice}', which is for targets of {wanted}, but the target has {target}; '{auto}' fits every task"
    );
    Err(Error::Parameters(vec![Violation::new(name, message)]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_classes(count: usize) -> TargetKind {
        TargetKind::Classes((0..count).map(|class| class.to_string()).collect())
    }

    #[test]
    fn every_choice_fits_some_target_and_no_choice_fits_all_but_auto() {
        for &choice in ObjectiveChoice::ALL {
            let params = Params { objective: choice, ..Params::default() };
            let fitting = [TargetKind::Number, of_classes(2), of_classes(3)]
                .map(|target| objective(&params, &target).is_ok());
            let count = fitting.iter().filter(|&&fits| fits).count();
            assert_eq!(count, if choice == ObjectiveChoice::Auto { 3 } else { 1 }, "{choice:?}");
        }
        for &choice in MetricChoice::ALL {
            let params = Params { metric: choice, ..Params::default() };
            let fits = |target: &TargetKind| watch(&params, target).is_ok();
            assert!(fits(&TargetKind::Number) || fits(&of_classes(2)), "{choice:?}");
            assert_eq!(fits(&of_classes(2)), fits(&of_classes(5)), "{choice:?}");
        }
    }

    #[test]
    fn a_misfit_says_what_would_fit() {
        let softmax = ObjectiveChoice::named("softmax").unwrap();
        let params = Params { objective: softmax, ..Params::default() };
        let message = objective(&params, &of_classes(2)).unwrap_err().to_string();
        assert_eq!(
            message,
            "objective: is 'softmax', which is for targets of three or more classes, but the target has 2 classes; \
             'auto' fits every task"
        );
    }
}
