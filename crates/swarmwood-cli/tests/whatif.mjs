// Checks the parts of report pages that have controls, in Chromium and in Node.
//
//     node whatif.mjs BINARY BROWSER FOLDER
//
// For every kind of model: 200 settings are made by clicks, keys and slider moves, and what the page
// predicts is compared with `swarmwood predict`: raw scores and their contributions, and predictions.
// The nearest change is compared with a search through all cells. Screenshots stay in FOLDER.

import { execFileSync } from "node:child_process";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { MAX_BYTES, audit, watchShifts } from "./audit.mjs";
import { chance } from "./random.mjs";

const [binary, browserPath, folder] = process.argv.slice(2);
const { chromium } = createRequire(join(folder, "package.json"))("playwright-core");
const scripts = join(dirname(fileURLToPath(import.meta.url)), "../src/report/script");
const SETTINGS = 200;

// ---------------------------------------------------------------------------------------------------------------- data

const TOWNS = ["Ash", "</script><script>alert(2)</script>", "Dell \"on\" 'sea', & more", "Elm"];
const HOSTILE = "<img src=x onerror=alert(1)>";
const HEADS = ["size", "age", "town", HOSTILE, "far"];
const quoted = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : String(text));

// Houses with a price, how many rooms they have, whether they were sold, and what they are.
function houses(rows, seed) {
  const unit = chance(seed);
  const lines = [[...HEADS, "price", "rooms", "sold", "kind"].join(",")];
  for (let row = 0; row < rows; row++) {
    const [size, age, far, noise] = [20 + 180 * unit(), Math.floor(80 * unit()), 12 * unit(), unit() + unit() - 1];
    const town = Math.floor(4 * unit());
    const price = 1000 * (2 * size + (town === 1 ? 60 : 0) - 0.02 * age * age - 4 * far + 25 * noise);
    const sold = price / 1e5 - 2 + 1.5 * (unit() - 0.5) > 0 ? "yes" : "<b>no</b>";
    const kind = size > 130 ? "villa" : far < 3 + 2 * noise ? "town house" : "cottage";
    const rooms = Math.floor(size / 40 + (town === 2 ? 3 : 0) + 2 * unit());
    const some = (value) => (unit() < 0.05 ? "" : value);
    const cells = [some(size.toFixed(1)), some(age), some(TOWNS[town]), unit().toFixed(3), far.toFixed(2)];
    lines.push([...cells, price.toFixed(0), rooms, sold, kind].map(quoted).join(","));
  }
  return lines.join("\n") + "\n";
}

const TARGETS = ["price", "rooms", "sold", "kind"];
const MODELS = {
  regression: ["price", "--trees 6 --max-leaves 12"],
  binary: ["sold", "--trees 5 --max-leaves 8"],
  classes: ["kind", "--method greedy --trees 8 --depth 3"],
  tree: ["kind", "--method swarm-tree --max-leaves 6"],
  counts: ["rooms", "--method greedy --objective poisson --trees 20 --depth 3"],
  logarithm: ["rooms", "--method greedy --objective squared-log --trees 20 --depth 3"],
  linear: ["price", "--method greedy --booster gblinear --trees 20"],
  interval: ["price", "--trees 4 --max-leaves 8 --interval 0.9"],
  adaptive: ["price", "--trees 4 --max-leaves 8 --interval 0.8 --interval-kind adaptive"],
  decision: ["sold", "--trees 3 --max-leaves 6 --threshold 0.3"],
  default: ["price", ""],
};

function swarmwood(...line) {
  return execFileSync(binary, line, { cwd: folder, stdio: ["ignore", "pipe", "pipe"] }).toString();
}

function makePage(name) {
  const [target, more] = MODELS[name];
  const others = TARGETS.filter((one) => one !== target).join(",");
  swarmwood("train", "houses.csv", "--target", target, "--ignore", others, "--quiet", "--out", `what-${name}.json`,
    ...more.split(" ").filter(Boolean));
  swarmwood("report", `what-${name}.json`, "--data", "houses-test.csv", "--quiet", "--out", `what-${name}.html`);
}

// ------------------------------------------------------------------------------------------------------------ settings

// Changes one control as a person does: types a number, moves the slider by keys or by a click, chooses a category, or
// says that the value is missing.
async function change(page, control, unit) {
  const missing = control.locator(".missing input");
  if (unit() < 0.12) return missing.click();
  if (await missing.isChecked()) await missing.click();
  const select = control.locator("select");
  if (await select.count()) {
    const count = await select.locator("option").count();
    return select.selectOption({ index: Math.floor(count * unit()) });
  }
  const slider = control.locator("input[type=range]");
  const number = control.locator("input[type=number]");
  const [low, high] = await slider.evaluate((one) => [Number(one.min), Number(one.max)]);
  const way = unit();
  if (way < 0.4) return number.fill(String(low + (high - low) * (1.2 * unit() - 0.1)));
  if (way < 0.7) {
    const box = await slider.boundingBox();
    return slider.click({ position: { x: 4 + (box.width - 8) * unit(), y: box.height / 2 } });
  }
  await slider.focus();
  const keys = ["Home", "End", "PageUp", "PageDown", "ArrowLeft", "ArrowRight"];
  return page.keyboard.press(keys[Math.floor(keys.length * unit())]);
}

// Runs in the page: the values of the controls and what is predicted.
function readings() {
  const controls = [...document.querySelectorAll(".control")].map((one) => {
    const input = one.querySelector("select") ?? one.querySelector("input[type=number]");
    const missing = one.querySelector(".missing input").checked;
    return [Number(one.dataset.feature), missing ? null : input.value, input.tagName === "SELECT"];
  });
  const output = document.querySelector(".prediction");
  const numbers = (text) => text.split(" ").map(Number);
  return {
    controls,
    raw: numbers(output.dataset.raw),
    predicted: numbers(output.dataset.predicted),
    shown: output.querySelector("strong").textContent,
    contributions: numbers(document.querySelector(".waterfall").dataset.contributions),
  };
}

// The settings as a table that `predict` reads. Features without a control are not used.
function settingsTable(model, found) {
  const lines = [model.features.map((feature) => quoted(feature.name)).join(",")];
  for (const { controls } of found) {
    const cells = model.features.map(() => "0");
    for (const [feature, value, isLevel] of controls) {
      cells[feature] = value === null ? "" : quoted(isLevel ? model.features[feature].levels[value] : value);
    }
    lines.push(cells.join(","));
  }
  return lines.join("\n") + "\n";
}

function numberRows(text, skip) {
  return text.trim().split("\n").slice(1).map((line) => line.split(",").slice(skip).map(Number));
}

// The distance of two numbers in units in the last place of the larger one.
function ulps(a, b) {
  const size = Math.max(Math.abs(a), Math.abs(b));
  return a === b ? 0 : Math.abs(a - b) / 2 ** (Math.floor(Math.log2(size)) - 52);
}

function compare(name, model, found) {
  const faults = [];
  writeFileSync(join(folder, "settings.csv"), settingsTable(model, found));
  const predict = (...more) => swarmwood("predict", `what-${name}.json`, "settings.csv", "--quiet", ...more);
  const raw = numberRows(predict("--raw"), 0);
  const shap = numberRows(predict("--contributions"), 0);
  // The predicted class comes before the probabilities; its name may contain anything but a comma here.
  const isClass = model.classes.length > 0;
  const predictions = predict();
  const predicted = numberRows(predictions, isClass ? 1 : 0);
  const classes = predictions.trim().split("\n").slice(1).map((line) => line.split(",")[0]);
  let apart = 0;
  found.forEach((one, row) => {
    if (one.raw.join() !== raw[row].join()) faults.push(`row ${row}: raw ${one.raw}, expected ${raw[row]}`);
    // The exponential function of browsers differs from that of the system by a unit in the last place.
    const limit = model.link === "identity" ? 0 : 1;
    one.predicted.forEach((value, at) => {
      apart += value === predicted[row][at] ? 0 : 1;
      if (ulps(value, predicted[row][at]) > limit) {
        faults.push(`row ${row}: predicted ${one.predicted}, expected ${predicted[row]}`);
      }
    });
    if (isClass && one.shown !== classes[row]) faults.push(`row ${row}: ${one.shown}, expected ${classes[row]}`);
    const width = model.features.length + 1;
    const output = one.raw.length === 1 ? 0 : one.raw.indexOf(Math.max(...one.raw));
    shap[row].slice(output * width, (output + 1) * width).forEach((value, at) => {
      const size = Math.max(1, Math.abs(one.raw[output]));
      if (Math.abs(value - one.contributions[at]) > 1e-9 * size) {
        faults.push(`row ${row}: contributions ${one.contributions}, expected ${shap[row]}`);
      }
    });
    const sum = one.contributions.reduce((a, b) => a + b, 0);
    if (Math.abs(sum - one.raw[output]) > 1e-9 * Math.max(1, Math.abs(sum))) faults.push(`row ${row}: sum ${sum}`);
  });
  return { faults: faults.slice(0, 5), apart };
}

// ------------------------------------------------------------------------------------------------------- nearest change

const { Scorer, NearestChange } = new Function(`
  ${readFileSync(join(scripts, "scorer.js"))}
  ${readFileSync(join(scripts, "nearest.js"))}
  return { Scorer, NearestChange };
`)();

function dataOf(name, widget = "whatif") {
  const page = readFileSync(join(folder, `what-${name}.html`), "utf8");
  const [, text] = page.split(`data-widget='${widget}'`)[1].match(/<script type='application\/json'>(.*?)<\/script>/s);
  return JSON.parse(text);
}

// Searches all combinations of cells.
function bruteForce(nearest) {
  const features = nearest.allowed;
  let best = null;
  const row = nearest.row.slice();
  const visit = (at, count, distance) => {
    if (at === features.length) {
      if (!nearest.reached(nearest.scorer.raw(row))) return;
      const better = best === null || count < best.count || (count === best.count && distance < best.distance);
      if (better) best = { count, distance };
      return;
    }
    visit(at + 1, count, distance);
    const before = row[features[at]];
    for (const cell of nearest.cells.get(features[at])) {
      row[features[at]] = cell.value;
      visit(at + 1, count + 1, distance + cell.distance);
    }
    row[features[at]] = before;
  };
  visit(0, 0, 0);
  return best;
}

function checkNearest(name) {
  const { model, columns, rows } = dataOf(name);
  const scorer = new Scorer(model);
  const used = scorer.used().map((one, at) => (one ? at : -1)).filter((at) => at >= 0);
  const predictions = rows.values.map((row) => scorer.prediction(scorer.raw(row.map((v) => v ?? NaN))));
  const sorted = predictions.slice().sort((a, b) => a - b);
  const faults = [];
  const statuses = {};
  for (let at = 0; at < 12; at++) {
    const row = rows.values[at].map((value) => (value === null ? NaN : Number(value)));
    const allowed = at % 3 === 0 ? used.filter((_, position) => position !== at % used.length) : used;
    const goal = model.classes.length > 0 ? { kind: "class", class: at % 2 ? -1 : at % model.classes.length }
      : { kind: at % 2 ? "atLeast" : "atMost", value: sorted[Math.floor(sorted.length * (at % 2 ? 0.9 : 0.1))] };
    const nearest = new NearestChange(scorer, columns, row, allowed, goal);
    const combinations = nearest.allowed.reduce((n, one) => n * (1 + nearest.cells.get(one).length), 1);
    const search = nearest.search();
    let step = search.next();
    while (!step.done) step = search.next();
    const { status, complete, changes, distance } = step.value;
    statuses[status] = (statuses[status] ?? 0) + 1;
    if (combinations > 60_000) continue;
    const expected = bruteForce(nearest);
    const text = `row ${at}: ${JSON.stringify(step.value)}, expected ${JSON.stringify(expected)}`;
    if (status === "already") {
      if (expected?.count !== 0) faults.push(text);
    } else if (status === "impossible") {
      if (expected !== null) faults.push(text);
    } else if (!complete || expected?.count !== changes.length || Math.abs(expected.distance - distance) > 1e-9) {
      faults.push(text);
    }
  }
  return { faults, statuses };
}

// --------------------------------------------------------------------------------------------------------------- pages

async function open(browser, name, { width, scheme }, faults) {
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme: scheme });
  const page = await context.newPage();
  page.setDefaultTimeout(120_000);
  const address = pathToFileURL(join(folder, `what-${name}.html`)).href;
  page.on("console", (message) => faults.push(`console: ${message.text()}`));
  page.on("pageerror", (error) => faults.push(`error: ${error}`));
  page.on("dialog", (dialog) => { faults.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  page.on("request", (request) => {
    const url = request.url();
    if (url !== address && !url.startsWith("data:")) faults.push(`fetches ${url}`);
  });
  await watchShifts(page);
  await page.goto(address);
  faults.push(...(await audit(page)));
  return page;
}

// Runs in the page: how long the slowest update takes, in milliseconds.
function slowestUpdate() {
  const times = [];
  for (const slider of document.querySelectorAll(".control input[type=range]")) {
    for (const share of [0.2, 0.6, 0.9]) {
      slider.value = Number(slider.min) + share * (Number(slider.max) - Number(slider.min));
      const before = performance.now();
      slider.dispatchEvent(new Event("input", { bubbles: true }));
      times.push(performance.now() - before);
    }
  }
  times.sort((a, b) => a - b);
  return times.at(-1) ?? 0;
}

async function checkPage(browser, name) {
  const faults = [];
  const page = await open(browser, name, { width: 1200, scheme: "light" }, faults);
  const { model, rows } = dataOf(name);
  const unit = chance(name.length);
  const controls = await page.locator(".control").all();
  const found = [];

  for (let setting = 0; setting < SETTINGS; setting++) {
    if (setting % 20 === 10) await page.locator("[data-widget=whatif] .starter input").fill(String(1 + Math.floor(rows.values.length * unit())));
    for (let times = 0; times < 2; times++) await change(page, controls[Math.floor(controls.length * unit())], unit);
    found.push(await page.evaluate(readings));
  }
  const { faults: wrong, apart } = compare(name, model, found);
  faults.push(...wrong);

  // The path is lit in every drawing: from the root to one leaf.
  const lit = await page.evaluate(() => [...document.querySelectorAll("figure[data-tree]")].map((one) => {
    return [one.querySelectorAll("[data-to]").length, one.querySelectorAll("path.lit").length,
      one.querySelectorAll("g.lit").length];
  }));
  if (lit.some(([edges, path, leaves]) => leaves !== 1 || (edges > 0 && path === 0))) faults.push(`lit: ${lit}`);

  const slowest = await page.evaluate(slowestUpdate);
  if (slowest > 100) faults.push(`an update takes ${slowest} ms`);

  if (model.linear.length === 0) faults.push(...(await applyNearest(page, model)));
  if (model.classes.length === 2) faults.push(...(await checkThreshold(page, name, model)));
  const size = statSync(join(folder, `what-${name}.html`)).size;
  if (size > MAX_BYTES) faults.push(`the page has ${size} bytes`);
  await page.context().close();

  for (const width of [360, 768, 1200]) {
    for (const scheme of ["light", "dark"]) {
      const small = await open(browser, name, { width, scheme }, faults);
      const wide = await small.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
      if (wide > 0) faults.push(`${wide} pixels wider than ${width}`);
      await small.screenshot({ path: join(folder, `what-${name}-${width}-${scheme}.png`), fullPage: true });
      await small.context().close();
    }
  }
  return { faults, text: `${found.length} settings, ${apart} predictions apart in the last place, ` +
    `${slowest.toFixed(1)} ms, ${(size / 1024).toFixed(0)} KB` };
}

// Moves the threshold by keys and by typing, and compares the counts with the predictions of `predict`.
async function checkThreshold(page, name, model) {
  const table = readFileSync(join(folder, "houses-test.csv"), "utf8").trim().split("\n").slice(1);
  const truth = table.map((line) => line.endsWith(`yes,${line.split(",").at(-1)}`));
  const predicted = numberRows(swarmwood("predict", `what-${name}.json`, "houses-test.csv", "--quiet"), 1);
  const place = model.classes.indexOf("yes");
  const faults = [];
  const slider = page.locator(".threshold input[type=range]");
  const number = page.locator(".threshold .inputs input[type=number]");
  for (const step of ["0.5", "ArrowRight", "PageUp", "0.07", "Home", "End", "0.93", "ArrowLeft"]) {
    if (step.startsWith("0")) {
      await number.fill(step);
    } else {
      await slider.focus();
      await page.keyboard.press(step);
    }
    const threshold = Number(await number.inputValue());
    const counts = [0, 0, 0, 0];
    truth.forEach((positive, row) => {
      const chosen = predicted[row][place] > threshold;
      counts[chosen ? (positive ? 0 : 1) : (positive ? 2 : 3)] += 1;
    });
    const found = await page.locator("[data-counts]").getAttribute("data-counts");
    if (found !== counts.join(" ")) faults.push(`threshold ${threshold}: ${found}, expected ${counts.join(" ")}`);
  }
  const least = page.locator("button", { hasText: "Least cost" });
  await page.getByLabel("Cost of a false negative").fill("10");
  await least.click();
  if (Number(await number.inputValue()) >= 0.5) faults.push("costly false negatives do not lower the threshold");
  return faults;
}

// Finds and applies the nearest change by clicks; then the goal is reached.
async function applyNearest(page, model) {
  await page.locator("[data-widget=whatif] .starter input").fill("3");
  if (model.classes.length === 0) {
    const [now] = (await page.locator(".prediction").first().getAttribute("data-predicted")).split(" ").map(Number);
    await page.locator(".nearest input[type=number]").fill(String(now + Math.abs(now) * 0.1));
  }
  const before = await page.locator(".prediction strong").first().textContent();
  await page.locator(".nearest button", { hasText: "Find" }).click();
  await page.waitForFunction(() => document.querySelector(".found").dataset.status);
  const status = await page.locator(".found").getAttribute("data-status");
  if (status !== "found") return [`the nearest change is ${status}`];
  await page.locator(".found button").click();
  const after = await page.locator(".prediction strong").first().textContent();
  return before === after ? ["the nearest change does not alter the prediction"] : [];
}

writeFileSync(join(folder, "houses.csv"), houses(1200, 1));
writeFileSync(join(folder, "houses-test.csv"), houses(600, 2));
const browser = await chromium.launch({ executablePath: browserPath, args: ["--no-sandbox"] });
let failed = 0;
for (const name of Object.keys(MODELS)) {
  makePage(name);
  const { faults, text } = await checkPage(browser, name);
  let nearest = "";
  if (dataOf(name).model.linear.length === 0) {
    const checked = checkNearest(name);
    faults.push(...checked.faults);
    nearest = `, nearest ${JSON.stringify(checked.statuses)}`;
  }
  console.log(`  ${faults.length ? "FAILED" : "ok"}  what-if of ${name}: ${text}${nearest}`);
  [...new Set(faults)].slice(0, 10).forEach((fault) => console.log(`          ${fault}`));
  failed += faults.length;
}
await browser.close();
process.exit(failed ? 1 : 0);
