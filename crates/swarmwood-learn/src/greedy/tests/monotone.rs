//! Boosting under monotone constraints.

use swarmwood_model::monotone::{Direction, neighbours};

use super::*;
use crate::constraints::Constraints;

/// The first number rises, the second, which has missing values, falls.
fn constraints() -> Constraints {
    let directions = vec![Some(Direction::Increasing), Some(Direction::Decreasing)];
    Constraints::default().with_monotone(directions)
}

fn constrained(
    backends: &dyn BackendFactory,
    data: &Dataset,
    spec: &ObjectiveConfig,
    settings: &GreedyConfig,
) -> BoostingFit {
    let (pool, budget) = (Pool::new(2).unwrap(), Budget::unlimited());
    let context = Context { pool: &pool, budget: &budget };
    let (objective, constraints) = (make(spec), constraints());
    let set = TrainingSet { backends, ..TrainingSet::new(data, None, &*objective) };
    train(set.with_constraints(&constraints), settings, context, &mut |_| {}).unwrap()
}

#[test]
fn every_backend_gives_the_same_monotone_trees() {
    let loopback = LoopbackBackends::default();
    let specs = SPECS.iter().filter(|spec| spec.classes() < 3);
    for spec in specs {
        let data = data_for(spec, 3000);
        for growth in GROWTHS {
            let settings = settings(growth);
            let fit = constrained(&LocalBackends, &data, spec, &settings);
            let remote = constrained(&loopback, &data, spec, &settings);
            assert_eq!(fit.ensemble, remote.ensemble, "{spec:?} {growth:?}");

            let mut pairs = 0;
            for member in &fit.ensemble.members {
                let tree = member.shape.to_tree();
                let value = |leaf: u32| tree.leaves[leaf as usize].value;
                let found = neighbours(&tree, &[0, 1]);
                assert!(found[0].iter().all(|&(low, high)| value(low) <= value(high)));
                assert!(found[1].iter().all(|&(low, high)| value(low) >= value(high)));
                pairs += found[0].len() + found[1].len();
            }
            assert!(pairs > 0, "{spec:?} {growth:?}");
        }
    }
}
