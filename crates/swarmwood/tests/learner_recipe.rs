//! The recipe "a learner" of CONTRIBUTING.md, carried out with nothing but its steps: a learner
//! that predicts the mean of the target, or the shares of the classes.

use swarmwood::Result;
use swarmwood::learn::event::{Event, Stage};
use swarmwood::model::{Body, TargetKind};
use swarmwood::params::{
    CustomLossSupport, LearnerOutput, LearnerSpec, Method, Params, TargetSupport,
};
use swarmwood::read::{self, ReadOptions, Rows, Source};
use swarmwood::train::{Job, Learner, TrainOptions, TrainResult, train_learner, train_with};

/// Step 1: the description.
const CONSTANT: LearnerSpec = LearnerSpec {
    name: "constant",
    help: "predicts the same for every row",
    parameters: &["objective"],
    targets: TargetSupport::Any,
    output: LearnerOutput::Ensemble,
    takes_pretrained: false,
    checkpoints: false,
    continues: false,
    custom_loss: CustomLossSupport::Never,
    thresholds_regression: false,
    tuned_sizes: &[],
    defaults: |params| params,
    resolve: |params, _| params,
    check: |_, _| {},
};

/// Step 2: the code.
struct ConstantLearner;

impl Learner for ConstantLearner {
    fn method(&self) -> Method {
        Method::of(&CONSTANT)
    }

    fn train(&self, job: &Job<'_>, observer: &mut dyn FnMut(&Event)) -> Result<TrainResult> {
        let mut target = Vec::new();
        let mut weight = Vec::new();
        job.rows.for_each_chunk(&mut |chunk| {
            target.extend_from_slice(&chunk.target);
            weight.extend_from_slice(&chunk.weight);
            Ok(())
        })?;

        let base = job.objective.start(&target, &weight);
        observer(&Event::new(Stage::BOOSTING, 1, 1));

        job.result(job.model(base, Body::Trees(Vec::new())), 0.0)
    }
}

fn rows(csv: &'static [u8]) -> Rows {
    let options = ReadOptions { target: "y".into(), ..ReadOptions::default() };
    read::training(&Source::Bytes("table.csv".into(), csv), &options).unwrap()
}

/// Step 3 is a line in `LEARNERS`; a test names the learner instead.
fn train(rows: &Rows) -> (TrainResult, usize) {
    let params = Params::of(Method::of(&CONSTANT)).check().unwrap();
    let mut events = 0;
    let trained = train_learner(
        &ConstantLearner,
        (rows, None),
        &params,
        &TrainOptions::default(),
        &mut |_| {
            events += 1;
        },
    );
    (trained.unwrap(), events)
}

fn metric(trained: &TrainResult, name: &str) -> f64 {
    trained.train_metrics.iter().find(|metric| metric.0 == name).unwrap().1
}

#[test]
fn a_learner_of_ones_own_trains_is_measured_and_recorded() {
    let (trained, events) = train(&rows(b"x,y\n1,0.5\n2,1.5\n3,2.5\n4,7.5\n"));
    assert_eq!((events, trained.model.base.as_slice()), (1, &[3.0][..]));
    assert_eq!(trained.model.provenance.method, "constant");
    assert!((metric(&trained, "mae") - 2.25).abs() < 1e-9);
    // Only what the learner uses is on record.
    let recorded: Vec<&String> = trained.model.provenance.params.keys().collect();
    assert!(recorded.contains(&&"seed".to_string()), "{recorded:?}");
    assert!(!recorded.contains(&&"trees".to_string()), "{recorded:?}");
}

#[test]
fn it_decides_between_classes_too() {
    let (trained, _) = train(&rows(b"x,y\n1,a\n2,b\n3,a\n4,a\n"));
    assert!(
        matches!(&trained.model.schema.target.kind, TargetKind::Classes(names) if names.len() == 2)
    );
    assert!((metric(&trained, "accuracy") - 0.75).abs() < 1e-9);
}

#[test]
fn what_it_does_not_use_has_no_effect_and_is_said() {
    let params = Params { depth: 3, ..Params::of(Method::of(&CONSTANT)) };
    let [said] = &params.idle()[..] else { panic!("{:?}", params.idle()) };
    let said = said.to_string();
    assert!(
        said.starts_with("depth has no effect: it is for method swarm or greedy or "),
        "{said}"
    );
    assert!(!said.contains("constant"), "{said}");
}

#[test]
fn a_learner_that_is_not_listed_is_not_found_by_its_method() {
    let rows = rows(b"x,y\n1,1\n2,2\n");
    let params = Params::of(Method::of(&CONSTANT)).check().unwrap();
    let message = train_with(&rows, None, &params, &TrainOptions::default(), &mut |_| {})
        .unwrap_err()
        .to_string();
    assert!(message.contains("constant"), "{message}");
}
