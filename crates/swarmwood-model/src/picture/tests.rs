use proptest::prelude::*;

use super::*;
use crate::samples::{SampleRng, SampleSize, model, tree};
use crate::*;

pub(crate) fn single(seed: u64, leaves: usize) -> Model {
    let mut model = model(seed, SampleSize { features: 6, rounds: 0, leaves: 1, levels: 0 });
    let one = tree(&mut SampleRng(seed), &model.schema.features, leaves);
    // Several columns have no single tree.
    if !model.schema.target.kind.columns().is_empty() {
        model.schema.target.kind = TargetKind::Number;
        model.base.truncate(1);
    }
    model.body = Body::Trees(
        (0..model.outputs() as u32)
            .map(|output| Member { output, shape: Shape::Ordinary(one.clone()) })
            .collect(),
    );
    model
}

/// Whether tags are closed in the order in which they were opened, and texts hold nothing that must
/// be escaped.
fn is_well_formed(xml: &str) -> Result<(), String> {
    let mut open: Vec<&str> = Vec::new();
    for part in xml.split('<').skip(1) {
        let (tag, text) = part.split_once('>').ok_or(format!("no end of {part}"))?;
        if text.contains('>') {
            return Err(format!("a bare > in {text}"));
        }
        if tag.matches('\'').count() % 2 == 1 {
            return Err(format!("an open quote in {tag}"));
        }
        let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap_or_default();
        if tag.starts_with('/') {
            let innermost = open.pop();
            if innermost != Some(name) {
                return Err(format!("{name} closes {innermost:?}"));
            }
        } else if !tag.ends_with('/') {
            open.push(name);
        }
    }
    if open.is_empty() { Ok(()) } else { Err(format!("{open:?} are open")) }
}

proptest! {
    #[test]
    fn pictures_are_well_formed(seed in any::<u64>(), leaves in 1_usize..40) {
        let mut model = single(seed, leaves);
        model.schema.features[0].name = "a<b>&'\"\u{1b}".into();
        let svg = model.single_tree().unwrap().to_svg().unwrap();
        prop_assert_eq!(is_well_formed(&svg), Ok(()));
        prop_assert!(!svg.contains("NaN") && !svg.contains("inf'"), "{}", svg);
        prop_assert_eq!(svg.matches("<title>leaf ").count(), leaves);
        prop_assert_eq!(svg.matches("<path d='M").count(), 2 * (leaves - 1) + leaves);
    }

    /// Any two features, the others held at random values.
    #[test]
    fn maps_are_well_formed(seed in any::<u64>(), leaves in 2_usize..20) {
        let model = single(seed, leaves);
        let used: Vec<usize> = model.features_used().into_iter().collect();
        if used.len() >= 2 {
            let fixed: Vec<Option<FeatureValue>> = samples::rows(seed, &model, 1)[0].iter().copied().map(Some).collect();
            match model.to_map(used[0], used[1], &fixed) {
                Ok(svg) => prop_assert_eq!(is_well_formed(&svg), Ok(())),
                Err(error) => prop_assert!(matches!(error, MapError::TooManyCells { .. }), "{}", error),
            }
        }
    }
}

fn stairs() -> Model {
    let mut model = single(1, 1);
    let number = |name: &str| Feature { name: name.into(), kind: Kind::Number };
    let colour = Kind::Category { levels: vec!["red".into(), "blue".into()] };
    model.schema.features =
        vec![number("age"), Feature { name: "colour".into(), kind: colour }, number("dose")];
    model.schema.target.kind = TargetKind::Number;
    (model.link, model.base) = (Link::Identity, vec![0.0]);
    let node = |split, left, right| Node { split, left, right, gain: 1.0, cover: 1.0 };
    let age = Split { feature: 0, test: Test::Above(30.0), missing_right: true };
    let red = Split { feature: 1, test: Test::In([0].into_iter().collect()), missing_right: false };
    let nodes =
        vec![node(age, Child::Leaf(0), Child::Node(1)), node(red, Child::Leaf(1), Child::Leaf(2))];
    let leaves = [1.0, 2.0, 3.0].map(|value| Leaf { value, cover: 1.0 }).to_vec();
    model.body =
        Body::Trees(vec![Member { output: 0, shape: Shape::Ordinary(Tree { nodes, leaves }) }]);
    model
}

/// Age at most 30 predicts 1 for every colour; above, red predicts 3 and the others 2.
#[test]
fn a_map_has_an_area_for_each_prediction() {
    let model = stairs();
    let svg = model.to_map(0, 1, &[None, None, None]).unwrap();
    let count = |text: &str| svg.matches(&format!("<title>{text}</title></rect>")).count();
    // Lines: red, blue, missing. Cells: at most 30, above, missing.
    assert_eq!((count("1"), count("2"), count("3")), (3, 4, 2), "{svg}");
    let dose = Split { feature: 2, test: Test::Above(1.0), missing_right: true };
    let mut more = model.clone();
    let Body::Trees(members) = &mut more.body else { unreachable!() };
    let Shape::Ordinary(tree) = &mut members[0].shape else { unreachable!() };
    tree.nodes[0].left = Child::Node(2);
    tree.nodes.push(Node {
        split: dose,
        left: Child::Leaf(0),
        right: Child::Leaf(3),
        gain: 1.0,
        cover: 1.0,
    });
    tree.leaves.push(Leaf { value: 4.0, cover: 1.0 });
    assert_eq!(more.check(), Ok(()));
    let unstated = more.to_map(0, 1, &[None, None, None]).unwrap_err();
    assert_eq!(
        unstated.to_string(),
        "the model also uses 'dose'; fix their values, for example --at 'dose=0'"
    );
    let svg = more.to_map(0, 1, &[None, None, Some(FeatureValue::Number(2.0))]).unwrap();
    assert!(svg.contains("where dose = 2<"), "{svg}");
    assert!(matches!(model.to_map(0, 2, &[]), Err(MapError::Unused { .. })));
    assert!(matches!(model.to_map(1, 1, &[]), Err(MapError::Same { .. })));
}

#[test]
fn the_largest_picture_has_a_limit() {
    let model = single(5, MAX_LEAVES + 1);
    assert_eq!(model.single_tree().unwrap().to_svg(), Err(TreeTooLarge { leaves: MAX_LEAVES + 1 }));
}

#[test]
fn names_cannot_leave_their_place() {
    assert_eq!(escape("a<b>&'\"\n"), "a&lt;b&gt;&amp;&#39;&quot;?");
}

#[test]
fn thresholds_at_infinity_are_described_in_words() {
    let schema = Schema {
        features: vec![Feature { name: "age".into(), kind: Kind::Number }],
        target: Target { name: "y".into(), kind: TargetKind::Number },
        dates: Vec::new(),
    };
    let split = |missing_right| Split { feature: 0, test: Test::Above(f64::MAX), missing_right };
    let sides = |split: &Split| [false, true].map(|right| split_side(&schema, split, right, true));
    assert_eq!(sides(&split(true)), ["known", "missing"]);
    assert_eq!(sides(&split(false)), ["known", "infinite"]);
    // The full rule is available on request.
    assert!(split_side(&schema, &split(true), false, false).starts_with("≤ 1.797"));
}

#[test]
fn parts_of_a_document_have_names_of_their_own() {
    let model = single(3, 4);
    let tree = model.single_tree().unwrap();
    let svg = tree.to_svg_part("t7-").unwrap();
    assert!(svg.contains("aria-labelledby='t7-title t7-desc'"), "{svg}");
    assert!(svg.contains("<title id='t7-title'>") && svg.contains("<desc id='t7-desc'>"), "{svg}");
    assert_eq!(tree.to_svg().unwrap(), svg.replace("t7-", ""));
}
