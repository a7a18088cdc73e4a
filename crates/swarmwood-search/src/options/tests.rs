use super::*;

const SPECS: &[OptionSpec] = &[
    OptionSpec::choice("kind", &[("plain", "one"), ("fancy", "two")], "a choice"),
    OptionSpec::integer("population", (1, 100), 20, "a count").or("auto"),
    OptionSpec::integer("generations", (1, 1000), 1, "a limit").unless_given("unlimited"),
    OptionSpec::real("rate", (0.0, 1.0), 0.15, "a number"),
    OptionSpec::real("scale", (1e-9, 2.0), 0.5, "a number")
        .when(OptionCondition::Is("kind", "fancy")),
    OptionSpec::real("last", (0.0, 1.0), 0.5, "a number")
        .when(OptionCondition::IsSet("generations")),
    OptionSpec::flag("memo", true, "a flag"),
];

fn check(given: &EngineOptions) -> Result<OptionValues, Vec<ParamError>> {
    OptionValues::check("this", SPECS, given, |name| match name {
        "sigma" => vec!["cmaes"],
        "steps" => vec!["grid", "other"],
        _ => Vec::new(),
    })
}

fn parse(text: &str) -> Result<OptionValues, Vec<ParamError>> {
    check(&EngineOptions::parse(text))
}

#[test]
fn values_are_parsed_and_the_rest_are_defaults() {
    let values = parse(" kind = fancy,population=7 , scale=1,memo=false").unwrap();
    assert_eq!((values.choice("kind"), values.count("population")), ("fancy", 7));
    assert_eq!((values.real("rate"), values.real("scale")), (0.15, 1.0));
    assert_eq!((values.optional_natural("generations"), values.flag("memo")), (None, false));
    assert_eq!(values.given().to_string(), "kind=fancy, population=7, scale=1, memo=false");
    assert_eq!(parse("").unwrap(), OptionValues::defaults(SPECS));
    assert_eq!(parse("population=auto").unwrap().optional_count("population"), None);
}

/// However they are written, and whether defaults are given or not.
#[test]
fn equal_options_compare_equal() {
    let typed: EngineOptions = [
        ("generations".to_owned(), OptionValue::Real(5.0)),
        ("memo".to_owned(), OptionValue::Flag(true)),
        ("rate".to_owned(), OptionValue::Integer(1)),
    ]
    .into_iter()
    .collect();
    let typed = check(&typed).unwrap().given();
    assert_eq!(typed, parse("rate=1.0,kind=plain,generations=5").unwrap().given());
    assert_eq!(check(&typed).unwrap().given(), typed);
    assert!(parse("rate=0.15, generations=unlimited").unwrap().given().is_empty());
}

#[test]
fn all_errors_are_reported_together() {
    let text = "rat=1,rate=1.5,population=2.5,kind=nice,memo=perhaps,sigma=1,steps=2,scale=1,\
                last=0.5,generations,rate=0.1,zebra=1,memo";
    let errors = parse(text).unwrap_err();
    let lines: Vec<String> =
        errors.iter().map(|error| format!("{} {}", error.parameter, error.message)).collect();
    let all = "kind, population, generations, rate, scale, last, memo";
    let expected = [
        format!("rat is no option of engine 'this', which has {all}; did you mean 'rate'?"),
        "rate is '1.5', must be a number from 0 to 1".to_owned(),
        "population is '2.5', must be a whole number from 1 to 100, or auto".to_owned(),
        "kind is 'nice', must be plain or fancy".to_owned(),
        "memo is 'perhaps', must be true or false".to_owned(),
        format!("sigma belongs to engine 'cmaes'; engine 'this' has {all}"),
        format!("steps belongs to engines grid, other; engine 'this' has {all}"),
        "generations has no value; must be a whole number from 1 to 1000, or unlimited".to_owned(),
        "rate is given twice; give it once".to_owned(),
        format!("zebra is no option of engine 'this', which has {all}"),
        "memo is given twice; give it once".to_owned(),
        "scale has no effect without kind=fancy".to_owned(),
        "last has no effect without a value of generations".to_owned(),
    ];
    assert_eq!(lines, expected);
}

#[test]
fn odd_values_are_refused() {
    for text in ["rate=nan", "rate=inf", "rate=-0.1", "population=0", "population=1e300"] {
        assert!(parse(text).is_err(), "{text}");
    }
    for value in [OptionValue::Flag(true), OptionValue::Real(f64::NAN), OptionValue::Real(1e300)] {
        let given = [("population".to_owned(), value)].into_iter().collect();
        assert!(check(&given).is_err(), "{given}");
    }
}
