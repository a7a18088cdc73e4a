//! Report pages: content, escaping, errors.

use crate::scratch::Scratch;
use crate::tables::{binary, regression};

/// A page without its script and the data of the script; no other element has a script.
#[track_caller]
fn without_scripts(page: &str) -> String {
    let mut rest = page;
    let mut text = String::new();
    let mut scripts = 0;
    while let Some((before, tail)) = rest.split_once("<script") {
        let (head, tail) = tail.split_once('>').unwrap();
        let (content, tail) = tail.split_once("</script>").unwrap();
        match head {
            " type='application/json'" => {
                serde_json::from_str::<serde_json::Value>(content).unwrap();
                assert!(!content.contains('<'));
            }
            "" => {
                assert!(content.starts_with("(() => {\n\"use strict\";\n"), "{content}");
                scripts += 1;
            }
            head => panic!("a script with the attributes {head}"),
        }
        text.push_str(before);
        rest = tail;
    }
    assert!(scripts <= 1 && page.contains("; script-src 'sha256-") == (scripts == 1));
    text + rest
}

/// Asserts that every link on a page has a target, identifiers are unique, and nothing is fetched or
/// executed but the script that the policy of the page names.
#[track_caller]
fn check(page: &str) {
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"));
    let page = &without_scripts(page);
    let quoted = |key: &str| -> Vec<String> {
        page.split(key)
            .skip(1)
            .filter_map(|rest| rest.split('\'').next().map(str::to_string))
            .collect()
    };
    let ids = quoted(" id='");
    for id in &ids {
        assert_eq!(ids.iter().filter(|other| *other == id).count(), 1, "{id} is not unique");
    }
    for target in
        quoted("href='#").into_iter().chain(quoted("url(#").iter().map(|id| id.replace(')', "")))
    {
        assert!(ids.contains(&target), "{target} does not exist");
    }
    let labels = quoted("aria-labelledby='");
    assert!(
        labels
            .iter()
            .flat_map(|label| label.split(' '))
            .all(|label| ids.iter().any(|id| id == label))
    );
    for forbidden in
        ["<script", "src='http", "href='http", "url(http", "@import", "NaN", "<img src=x"]
    {
        assert!(!page.contains(forbidden), "{forbidden}");
    }
    let charts = page.matches("<svg class='chart'").count();
    assert!(page.matches("<desc id='run").count() >= charts);
}

#[track_caller]
fn has(page: &str, parts: &[&str]) {
    for part in parts {
        assert!(page.contains(part), "no {part}");
    }
}

#[test]
fn a_training_run_is_shown_from_record_trace_and_rows() {
    let dir = Scratch::new();
    dir.file("train.csv", binary(400, 1)).file("test.csv", binary(300, 2));
    let train = "train train.csv --target sold --trees 3 --max-leaves 6 --trace run.csv --quiet --json --out m.json";
    let record = dir.run(train).works().out;
    dir.file("run.json", &record);
    dir.run("report run.json run.csv --data test.csv --out page.html")
        .ends(0, &["report of 1 run written to page.html"]);
    let page = dir.read("page.html");
    check(&page);
    has(
        &page,
        &[
            "<h2 id='run-1'>m.json <small>training</small></h2>",
            ">Configuration</h3>",
            ">Data</h3>",
        ],
    );
    has(
        &page,
        &[
            ">Convergence</h3>",
            "trees grown",
            ">95 % interval<",
            "bootstrap",
            ">Confusion matrix</h3>",
        ],
    );
    has(
        &page,
        &[
            ">Threshold and ROC curve</h3>",
            ">Calibration</h3>",
            ">Feature importances</h3>",
            ">Trees</h3>",
        ],
    );
    has(&page, &["gain over greedy", "Comparison of", "Tree 1: ", "Cedar, East", "max_leaves"]);
    has(&page, &["300 rows in test.csv, whose SHA-256 is "]);
    // The value on the page is that of `evaluate`.
    let accuracy =
        dir.run("evaluate m.json test.csv --json").works().json()["accuracy"].as_f64().unwrap();
    let accuracy_text = format!("{accuracy:.4}");
    assert!(
        page.contains(&format!("<strong>{}</strong>", accuracy_text.trim_end_matches('0'))),
        "{accuracy}"
    );
    // The same bytes again, with any number of threads, and with the model named explicitly.
    dir.run("report run.json run.csv --data test.csv --out again.html --threads 3").works();
    assert_eq!(page, dir.read("again.html"));
    dir.run("report m.json run.csv run.json --data test.csv --quiet --out again.html").works();
    assert_eq!(page, dir.read("again.html"));
    // On standard output, without rows, record or trace.
    let alone = dir.run("report m.json --out -").works();
    check(&alone.out);
    has(&alone.out, &["train --json", "train --trace", "--data FILE", ">Feature importances</h3>"]);
    // A part without content is left out.
    for part in [">Convergence<", ">Metrics<", ">Gain over greedy", ">Drift"] {
        assert!(!alone.out.contains(part), "{part}");
    }
}

#[test]
fn regression_has_residuals_and_a_tree_has_rules() {
    let dir = Scratch::new();
    dir.file("r.csv", regression(400, 1));
    let train = "train r.csv --target price --method swarm-tree --max-leaves 5 --quiet --json --out tree.json";
    let record = dir.run(train).works().out;
    dir.file("run.json", &record);
    dir.run("report run.json --data r.csv --out page.html").works();
    let page = dir.read("page.html");
    check(&page);
    has(
        &page,
        &[
            ">Residuals</h3>",
            ">Tree and rules</h3>",
            "The tree as ",
            "counted on 400 rows",
            "Distribution of the target",
        ],
    );
    has(&page, &["on the training rows, the greedy tree", "root mean squared error"]);
    assert!(!page.contains("Confusion matrix"));
}

#[test]
fn content_of_files_is_escaped() {
    let dir = Scratch::new();
    let mut table =
        String::from("<script>alert(1)</script>,\"a'b\"\"&c\",<img src=x onerror=alert(2)>\n");
    for at in 0..200 {
        let (x, town) = (at * 7 % 50, ["<b>Ash</b>", "'Elm'", "\"\"Fir&\"\""][at % 3]);
        let class = if (x > 25) == (at % 3 == 0) { "</title><script>x" } else { "no'" };
        table.push_str(&format!("{x},\"{town}\",{class}\n"));
    }
    dir.file("t.csv", table);
    dir.file("c.toml", "target = \"<img src=x onerror=alert(2)>\"\ntrees = 2\nmax_leaves = 4\n");
    let record = dir
        .run("train t.csv --config c.toml --trace t.trace --json --quiet --out m.json")
        .works()
        .out;
    dir.file("run.json", &record);
    dir.run("report run.json t.trace --data t.csv --out page.html").works();
    let page = dir.read("page.html");
    check(&page);
    has(
        &page,
        &["&lt;script&gt;alert(1)&lt;/script&gt;", "a&#39;b&quot;&amp;c", "&lt;b&gt;Ash&lt;/b&gt;"],
    );
    has(&page, &["&lt;/title&gt;&lt;script&gt;x", ">What if</h3>"]);
}

#[test]
fn models_of_one_target_are_compared_on_the_same_rows() {
    let dir = Scratch::new();
    dir.file("train.csv", regression(500, 1)).file("test.csv", regression(200, 2));
    let train = |more: &str| {
        dir.run(&format!("train train.csv --target price --method greedy --quiet {more}")).works()
    };
    train("--trees 60 --out large.json");
    train("--trees 2 --out small.json");
    dir.run("report large.json small.json --data test.csv --out page.html").works();
    let page = dir.read("page.html");
    check(&page);
    has(
        &page,
        &[
            "2 models of price",
            ">Paired differences</h3>",
            "Differences to large.json",
            ">worse</td>",
        ],
    );
    // A model does not differ from itself.
    dir.run("report large.json large.json --data test.csv --out page.html").works();
    let page = dir.read("page.html");
    has(&page, &[">not significant</td>"]);
    assert!(!page.contains(">worse</td>") && !page.contains(">better</td>"));
    // Models of different targets are not.
    dir.run("train train.csv --target age --method cart --quiet --out age.json").works();
    dir.run("report large.json age.json --out page.html").works();
    assert!(!dir.read("page.html").contains("comparison"));
}

#[test]
fn a_tuning_run_shows_both_scores_and_importances() {
    let dir = Scratch::new();
    let space = "[depth]\ntype = \"integer\"\nlow = 1\nhigh = 4\n\n\
                 [learning_rate]\ntype = \"real\"\nlow = 0.01\nhigh = 1\nscale = \"log\"\n";
    dir.file("train.csv", regression(300, 1)).file("space.toml", space);
    let line = "tune train.csv --target price --space space.toml --trials 12 --trees 5 --folds 2 --engine random \
                --study study.jsonl --out best.json --quiet --json";
    let record = dir.run(line).works().out;
    dir.file("tuned.json", &record);
    dir.run("report study.jsonl tuned.json --out page.html").ends(0, &["report of 1 run"]);
    let page = dir.read("page.html");
    check(&page);
    has(
        &page,
        &[
            "study.jsonl <small>tuning</small>",
            ">Cross-validated and hold-out scores</h3>",
            "Optimism",
            ">Hold-out score<",
        ],
    );
    has(
        &page,
        &[
            ">Slice plots</h3>",
            "rmse against depth",
            "Parallel coordinates",
            ">Parameter importances</h3>",
            "best of 12 trials",
        ],
    );
    has(&page, &["0.01 to 1, log scale", ">Metrics of the model</h3>", ">Trees</h3>"]);
    // Each file alone.
    dir.run("report study.jsonl --out page.html").works();
    check(&dir.read("page.html"));
    has(&dir.read("page.html"), &["the output of &#39;tune --json&#39;"]);
    dir.run("report tuned.json --out page.html").works();
    has(
        &dir.read("page.html"),
        &["Best score so far", "Best configuration", ">Feature importances</h3>"],
    );
}

#[test]
fn an_experiment_is_included_in_the_page() {
    let dir = Scratch::new();
    let folder = dir.path().join("small-models");
    std::fs::create_dir(&folder).unwrap();
    let file = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
    file(
        "summary.md",
        "# Sizes\n\n| set | ours |\n|---|--:|\n| wine | 0.5 |\n\n![frontier](a.svg)\n\n<script>alert(1)</script>\n",
    );
    file("README.md", "- command: `reproduce.py small-models`\n");
    file("a.svg", "<svg xmlns='http://www.w3.org/2000/svg'><title>A</title></svg>");
    file(
        "b.svg",
        "<svg xmlns='http://www.w3.org/2000/svg'><title>Beside &amp; below</title></svg>",
    );
    file("raw.csv", "set,trees,error\nwine,1,0.5\nwine,2,0.4\n");
    dir.run("report small-models --out page.html").works();
    let page = dir.read("page.html");
    check(&page);
    has(&page, &["<h4>Sizes</h4>", "<td>wine</td>", "alt='frontier'", "alt='Beside &amp; below'"]);
    has(
        &page,
        &[
            "<code>reproduce.py small-models</code>",
            "The first 2 of 2 rows in raw.csv",
            "&lt;script&gt;",
        ],
    );
    assert_eq!(page.matches("<img").count(), 2, "the figure of the text is not repeated");
}

#[test]
fn other_files_are_refused_and_nothing_is_written() {
    let dir = Scratch::new();
    dir.file("r.csv", regression(200, 1))
        .file("other.csv", "a,b\n1,2\n")
        .file("half.json", "{\"method\": \"greedy\"");
    dir.file(
        "bad.trace",
        "stage,step,train_loss,valid_metric,metric,best,gain_over_greedy,mean,diversity,evolutionary_factor,alpha,beta,evaluations,cache_hits,seconds\nx\n",
    );
    dir.file("cut.jsonl", "{\"swarmwood_study\":1,\"engine\"\n");
    dir.run("train r.csv --target price --method cart --quiet --out m.json").works();
    std::fs::create_dir(dir.path().join("empty")).unwrap();
    dir.fails("report missing.json --out p.html", 2, &["missing.json: cannot read"]);
    dir.fails(
        "report r.csv --out p.html",
        2,
        &["r.csv: is not a run: neither a model, nor a trace"],
    );
    dir.fails("report half.json --out p.html", 2, &["half.json: is not a run"]);
    dir.fails(
        "report bad.trace --out p.html",
        2,
        &["bad.trace: is a trace, but line 2: has 1 columns, must have 15"],
    );
    dir.fails("report cut.jsonl --out p.html", 2, &["cut.jsonl: line 1: is damaged"]);
    dir.fails("report empty --out p.html", 2, &["empty: is a directory without summary.md"]);
    dir.fails("report m.json --data other.csv --out p.html", 2, &["other.csv"]);
    dir.fails(
        "report m.json m.json --data - --out p.html",
        2,
        &["data: is '-'", "more than one model"],
    );
    dir.fails("report m.json --data r.csv --delimiter ab --out p.html", 2, &["delimiter: is 'ab'"]);
    dir.fails("report m.json --out no/such/p.html", 1, &["no/such/p.html"]);
    dir.run("report").ends(2, &["RUN"]);
    // Rows without a model are an error.
    dir.file(
        "t.trace",
        dir.read("bad.trace").replace("\nx\n", "\nboosting,1,0.5,,,,,,,,,,,,0.1\n"),
    );
    dir.fails(
        "report t.trace --data r.csv --out p.html",
        2,
        &["data: is given, but there is no model"],
    );
    dir.run("report t.trace --out p.html").works();
    check(&dir.read("p.html"));
    // A record whose model belongs to another run is shown without it.
    let record = dir
        .run("train r.csv --target price --method greedy --trees 2 --quiet --json --out g.json")
        .works()
        .out;
    dir.file("run.json", &record);
    dir.run("train r.csv --target price --method greedy --trees 3 --quiet --out g.json").works();
    dir.run("report run.json --out p.html")
        .ends(0, &["warning: run.json: its model g.json does not exist"]);
    has(&dir.read("p.html"), &["with the model file", "training rows"]);
}

#[test]
fn effects_are_written_as_a_picture() {
    let dir = Scratch::new();
    dir.file("r.csv", regression(400, 1));
    dir.run("train r.csv --target price --trees 3 --quiet --out m.json").works();
    dir.run("report m.json --data r.csv --plot effects.svg --out page.html")
        .ends(0, &["effects written to effects.svg"]);
    let svg = dir.read("effects.svg");
    assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n") && !svg.contains("NaN"));
    has(&svg, &["Effects on price", "partial dependence", "ALE", "together"]);
    let page = dir.read("page.html");
    check(&page);
    has(&page, &[">Effects of the features</h3>", ">Subgroups</h3>", "data-widget='whatif'"]);

    dir.run("report m.json --plot effects.svg --out page.html").ends(2, &["plot", "--data"]);
    dir.run("report m.json m.json --data r.csv --plot effects.svg --out page.html")
        .ends(2, &["plot", "one model"]);
}

/// Rows that differ from those of training show it, and the page holds the model in other formats.
#[test]
fn pages_show_drift_and_a_baseline_and_offer_the_model() {
    let dir = Scratch::new();
    let rows = |shift: usize| -> String {
        let row = |at: usize| {
            let (a, town) = (at % 50 + shift, ["Ash", "Birch"][at % 2]);
            format!("{a},{town},{}\n", if a + at % 9 > 30 { "yes" } else { "no" })
        };
        format!("a,town,y\n{}", (0..300).map(row).collect::<String>())
    };
    dir.file("t.csv", rows(0)).file("new.csv", rows(20));
    dir.run("train t.csv --target y --method cart --out m.json").works();
    dir.run("report m.json --data t.csv --out same.html").works();
    dir.run("report m.json --data new.csv --out new.html").works();
    let (same, new) = (dir.read("same.html"), dir.read("new.html"));
    assert!(same.contains("Drift since training") && same.contains("<td>little</td>"));
    assert!(new.contains("<td>large</td>"));
    assert!(new.contains("The baseline, always predicting"));

    let json = new.split("download='model.json' href='data:application/octet-stream;base64,");
    assert!(json.count() == 2 && new.contains("download='model.onnx'"));
    assert!(new.len() < 1_000_000, "{}", new.len());

    // A model of another library has no counts of training rows.
    let plain = dir.read("m.json");
    let start = plain.find(",\"leaf_rows\"").unwrap();
    let end = plain.find("},\n\"target\"").unwrap();
    dir.file("plain.json", format!("{}{}", &plain[..start], &plain[end..]));
    dir.run("report plain.json --data new.csv --out plain.html").works();
    assert!(!dir.read("plain.html").contains("Drift since training"));
}
