// What-if: controls for the features of a model, its prediction, what each feature contributes, the
// path through the trees, and the nearest change that alters the decision.

/** Rows of the waterfall, and trees whose rules are listed. */
const MAX_BARS = 14;
const MAX_RULES = 60;
/** Features whose controls are always visible. */
const OPEN_CONTROLS = 24;

class WhatIf {
  constructor(host, data) {
    this.host = host;
    this.columns = data.columns;
    this.data = data;
    this.scorer = new Scorer(data.model);
    const used = this.scorer.used();
    this.order = this.columns.map((_, at) => at).filter((at) => used[at])
      .sort((a, b) => this.columns[b].gain - this.columns[a].gain);
    this.row = this.typicalRow();
    this.first = this.row.slice();
    this.controls = new Map();
    const run = host.closest("section.run");
    this.drawings = [...(run?.querySelectorAll("figure[data-tree]") ?? [])];
    this.build();
    this.startFrom(0);
  }

  /** The median or the most frequent category of every feature. */
  typicalRow() {
    return this.columns.map((column) => column.typical);
  }

  // ------------------------------------------------------------------------------------ construction

  build() {
    this.output = element("output", { class: "prediction", "aria-live": "polite" });
    this.waterfall = element("div", { class: "waterfall" });
    this.rules = element("ol", { class: "rules" });
    const rules = element("details", {}, element("summary", {}, "The rules taken in every tree"), this.rules);
    rules.addEventListener("toggle", () => this.showRules());
    this.rulesDetails = rules;

    const controls = this.order.map((feature) => this.control(feature));
    const rest = controls.splice(OPEN_CONTROLS);
    const unused = this.columns.length - this.order.length;
    const form = element("div", { class: "controls", role: "group", "aria-label": "Values of the features" },
      ...this.starter(), ...controls);
    if (rest.length > 0) {
      form.append(element("details", {},
        element("summary", {}, `${rest.length} more features, of lower importance`), ...rest));
    }
    if (unused > 0) {
      form.append(element("p", { class: "note" },
        `${unused === 1 ? "One feature is" : `${unused} features are`} not used by the model.`));
    }
    const result = element("div", { class: "result" }, this.classChoice(), this.waterfall);
    this.host.append(element("div", { class: "trial" }, this.output, form, result));
    if (!this.scorer.isLinear && this.scorer.trees.length > 0) this.host.append(rules);
    if (!this.scorer.isLinear) this.host.append(this.nearestPart());
  }

  /** Where to start from: a row of the data, or typical values. */
  starter() {
    const { rows, file } = this.data;
    const reset = element("button", { type: "button" }, "Typical values");
    reset.addEventListener("click", () => { this.rowInput && (this.rowInput.value = ""); this.startFrom(0); });
    if (!rows || rows.values.length === 0) return [element("div", { class: "starter" }, reset)];
    const id = uniqueId();
    const count = rows.values.length;
    this.rowInput = element("input", { type: "number", id, min: 1, max: count, step: 1, inputmode: "numeric" });
    this.rowInput.addEventListener("input", () => {
      const number = Number(this.rowInput.value);
      if (Number.isInteger(number) && number >= 1 && number <= count) this.startFrom(number);
    });
    this.observed = element("span", { class: "note" });
    const label = `Start from row (1 to ${count} of ${file}${this.data.step > 1 ? ", thinned" : ""})`;
    return [element("div", { class: "starter" },
      element("label", { for: id }, label), this.rowInput, reset, this.observed)];
  }

  /** Sets all values: row `number` of the data, or typical values for 0. */
  startFrom(number) {
    const { rows } = this.data;
    this.row = number === 0 ? this.typicalRow()
      : rows.values[number - 1].map((value) => (value === null ? NaN : Number(value)));
    if (this.observed) {
      const { classes, target } = this.scorer;
      const value = number === 0 ? null : rows.target[number - 1];
      this.observed.textContent = value === null || value === undefined ? ""
        : `Observed ${target}: ${classes.length > 0 ? classes[value] : shown(value)}`;
    }
    this.first = this.row.slice();
    this.controls.forEach((control, feature) => control.show(this.row[feature]));
    this.update();
  }

  /** Changes one value. */
  set(feature, value) {
    this.row[feature] = value;
    this.controls.get(feature).show(value);
    this.update();
  }

  control(feature) {
    const { name, levels } = this.scorer.features[feature];
    const id = uniqueId();
    const missing = element("input", { type: "checkbox", "aria-label": `${name} is missing` });
    const head = element("div", { class: "head" }, element("label", { for: id }, name),
      element("label", { class: "missing" }, missing, " missing"));
    const box = element("div", { class: "control" }, head);
    box.dataset.feature = feature;
    const control = levels === null ? this.numberControl(feature, name, id) : this.levelControl(feature, id);
    box.append(...control.parts);
    missing.addEventListener("change", () => {
      this.set(feature, missing.checked ? NaN : control.value());
    });
    this.controls.set(feature, {
      show: (value) => {
        missing.checked = Number.isNaN(value);
        control.show(value);
      },
    });
    return box;
  }

  numberControl(feature, name, id) {
    const column = this.columns[feature];
    const { low, high, typical, integer, bars } = column;
    const step = integer ? 1 : niceStep((high - low) / 200);
    const number = element("input", { type: "number", id, step: "any", inputmode: "decimal" });
    // The ends are multiples of the step, and so is every position in between.
    const end = (value, round) => (step > 0 ? Number((step * round(value / step)).toPrecision(12)) : value);
    const slider = element("input", {
      type: "range", "aria-label": name, min: end(low, Math.floor),
      max: high > low ? end(high, Math.ceil) : low + 1, step: step > 0 ? step : "any",
    });
    const move = (text) => {
      const value = Number(text);
      if (text !== "" && Number.isFinite(value)) this.set(feature, value);
    };
    slider.addEventListener("input", () => move(slider.value));
    number.addEventListener("input", () => move(number.value));
    const parts = bars === null ? [] : [distribution(bars)];
    parts.push(element("div", { class: "inputs" }, slider, number));
    let last = typical;
    return {
      parts,
      value: () => last,
      show: (value) => {
        const gone = Number.isNaN(value);
        slider.disabled = gone;
        number.disabled = gone;
        if (gone) {
          number.value = "";
          return;
        }
        last = value;
        slider.value = value;
        slider.setAttribute("aria-valuetext", shown(value));
        // What is being typed must not be rewritten.
        if (document.activeElement !== number || Number(number.value) !== value) number.value = value;
      },
    };
  }

  levelControl(feature, id) {
    const { levels } = this.scorer.features[feature];
    const { bars, typical } = this.columns[feature];
    const total = bars === null ? 0 : bars.reduce((a, b) => a + b, 0);
    const option = (level, code) => element("option", { value: code },
      total > 0 ? `${level} (${percent(bars[code] / total)})` : level);
    const select = element("select", { id }, ...levels.map(option));
    select.addEventListener("change", () => this.set(feature, Number(select.value)));
    let last = typical;
    return {
      parts: [element("div", { class: "inputs" }, select)],
      value: () => last,
      show: (value) => {
        select.disabled = Number.isNaN(value);
        if (Number.isNaN(value)) return;
        last = value;
        select.value = String(value);
      },
    };
  }

  /** The class whose contributions are shown, for three or more classes. */
  classChoice() {
    if (this.scorer.base.length < 2) return "";
    const id = uniqueId();
    this.classSelect = element("select", { id },
      element("option", { value: -1 }, "the predicted class"),
      ...this.scorer.classes.map((name, at) => element("option", { value: at }, name)));
    this.classSelect.addEventListener("change", () => this.update());
    return element("p", { class: "choice" },
      element("label", { for: id }, "Contributions to "), this.classSelect);
  }

  // ------------------------------------------------------------------------------------------ update

  /** Shows the prediction for the values as they are. */
  update() {
    const raw = this.scorer.raw(this.row);
    this.showPrediction(raw);
    this.showContributions(raw);
    this.light();
    this.showRules();
  }

  showPrediction(raw) {
    const { scorer } = this;
    const before = scorer.raw(this.first);
    const probabilities = scorer.probabilities(raw);
    const predicted = scorer.prediction(raw);
    // All digits, for whoever compares with `swarmwood predict`.
    this.output.dataset.raw = raw.join(" ");
    this.output.dataset.predicted = (probabilities.length > 0 ? probabilities : [predicted]).join(" ");
    const parts = [element("span", {}, `Predicted ${scorer.target}`)];
    if (probabilities.length === 0) {
      const change = predicted - scorer.prediction(before);
      parts.push(element("strong", {}, shown(predicted)),
        element("small", {}, change === 0 ? "at the start values" : `${signed(change)} from the start`));
      const bounds = scorer.bounds(this.row, raw);
      if (bounds !== null) {
        this.output.dataset.predicted += ` ${bounds.lower} ${bounds.upper}`;
        parts.push(element("small", {},
          `${shown(100 * bounds.level)} % interval: ${shown(bounds.lower)} to ${shown(bounds.upper)}`));
      }
    } else {
      const old = scorer.prediction(before);
      const change = old === predicted ? "" : `; ${scorer.classes[old]} at the start`;
      parts.push(element("strong", {}, scorer.classes[predicted]),
        element("small", {}, `probability ${percent(probabilities[predicted])}${change}`),
        this.probabilityBars(probabilities, predicted));
    }
    this.output.replaceChildren(...parts);
  }

  /** The most probable classes as bars. */
  probabilityBars(probabilities, predicted) {
    const ranked = probabilities.map((value, at) => [value, at]).sort((a, b) => b[0] - a[0]).slice(0, 6);
    ranked.sort((a, b) => a[1] - b[1]);
    const line = ([value, at]) => {
      const bar = element("span", { class: at === predicted ? "part up" : "part other" });
      bar.style.width = `${100 * value}%`;
      return element("span", { class: "class" }, element("span", { class: "name" }, this.scorer.classes[at]),
        element("span", { class: "rail" }, bar), element("span", { class: "share" }, percent(value)));
    };
    return element("span", { class: "classes", "aria-hidden": "true" }, ...ranked.map(line));
  }

  showContributions(raw) {
    const { scorer } = this;
    const chosen = Number(this.classSelect?.value ?? -1);
    const output = raw.length === 1 ? 0 : chosen >= 0 ? chosen : scorer.prediction(raw);
    const { expected, values } = scorer.contributions(this.row)[output];
    this.waterfall.dataset.contributions = [...values, expected].join(" ");
    const ranked = this.order.map((feature) => [feature, values[feature]])
      .filter(([, value]) => value !== 0).sort((a, b) => Math.abs(b[1]) - Math.abs(a[1]));
    const steps = ranked.slice(0, MAX_BARS).map(([feature, value]) => [this.valueText(feature), value]);
    const others = ranked.slice(MAX_BARS);
    if (others.length > 0) {
      steps.push([`${others.length} other features`, others.reduce((sum, [, value]) => sum + value, 0)]);
    }

    let at = expected;
    const ends = steps.map(([, value]) => { at += value; return at; });
    const all = [expected, raw[output], ...ends];
    const [low, high] = [Math.min(...all), Math.max(...all)];
    const place = (value) => (high > low ? (value - low) / (high - low) : 0.5);
    const rows = steps.map(([name, value], step) => [name, element("td", { class: "n" }, signed(value)),
      barCell(place(ends[step] - value), place(ends[step]), value > 0 ? "up" : "down")]);
    const mark = (value) => barCell(place(value), place(value), "mark");
    rows.unshift(["Expected", element("td", { class: "n" }, shown(expected)), mark(expected)]);
    rows.push([this.scoreName(output), element("td", { class: "n" }, shown(raw[output])), mark(raw[output])]);
    const caption = `What each feature adds to the ${this.scoreName(output)} (exact SHAP values)`;
    this.waterfall.replaceChildren(dataTable(caption, ["feature", "adds", ""], rows));
  }

  /** What a raw score is. */
  scoreName(output) {
    const { link, classes, target } = this.scorer;
    if (link === "sigmoid") return `log-odds of ${classes[1]}`;
    if (link === "softmax") return `score of ${classes[output]}`;
    return link === "exp" ? `logarithm of ${target}` : link === "expm1" ? `ln(1 + ${target})` : "prediction";
  }

  /** A feature with its value. */
  valueText(feature, value = this.row[feature]) {
    return `${this.scorer.features[feature].name} = ${this.valueName(feature, value)}`;
  }

  valueName(feature, value) {
    const { levels } = this.scorer.features[feature];
    return Number.isNaN(value) ? "missing" : levels === null ? shown(value) : levels[value];
  }

  /** Lights the path in every drawing. */
  light() {
    for (const drawing of this.drawings) {
      const tree = this.scorer.trees[Number(drawing.dataset.tree)];
      const steps = new Set(this.scorer.path(tree, this.row).map(String));
      const leaf = String(this.scorer.leaf(tree, this.row));
      drawing.querySelectorAll("[data-to]").forEach((edge) => {
        edge.classList.toggle("lit", steps.has(edge.dataset.to));
      });
      drawing.querySelectorAll("[data-leaf]").forEach((one) => {
        one.classList.toggle("lit", one.dataset.leaf === leaf);
      });
    }
  }

  /** The rules taken, if their list is open. */
  showRules() {
    if (!this.rulesDetails.open) return;
    const { trees, classes, base } = this.scorer;
    const line = (tree) => {
      let at = tree.nodes.length > 0 ? 0 : -1;
      const conditions = [];
      while (at >= 0) {
        const node = tree.nodes[at];
        const holds = this.scorer.holds(node, this.row);
        conditions.push(this.condition(node, holds));
        at = holds ? node[3] : node[4];
      }
      const value = signed(tree.leaves[-1 - at]);
      const of = base.length > 1 ? ` to ${classes[tree.output]}` : "";
      return element("li", {}, `${conditions.join(" and ") || "always"}: ${value}${of}`);
    };
    const lines = trees.slice(0, MAX_RULES).map(line);
    if (trees.length > MAX_RULES) {
      lines.push(element("li", {}, `and ${trees.length - MAX_RULES} more trees`));
    }
    this.rules.replaceChildren(...lines);
  }

  condition(node, holds) {
    const [feature, test] = node;
    const { name, levels } = this.scorer.features[feature];
    if (Number.isNaN(this.row[feature])) return `${name} is missing`;
    // Only infinity is greater: the test separates missing values from numbers.
    if (test === Number.MAX_VALUE) return `${name} is ${holds ? "finite" : "infinite"}`;
    if (levels === null) return `${name} ${holds ? "≤" : ">"} ${shown(test)}`;
    return `${name} = ${levels[this.row[feature]]}`;
  }

  // --------------------------------------------------------------------------------- nearest change

  nearestPart() {
    this.mayChange = new Map(this.order.map((feature) => {
      return [feature, element("input", { type: "checkbox", checked: true })];
    }));
    const boxes = this.order.map((feature) => element("label", {}, this.mayChange.get(feature),
      ` ${this.scorer.features[feature].name}`));
    const button = element("button", { type: "button" }, "Find the nearest change");
    this.found = element("div", { class: "found", "aria-live": "polite" });
    button.addEventListener("click", () => this.findNearest());
    return element("div", { class: "nearest" },
      element("h4", {}, "The nearest change that alters the decision"),
      element("p", { class: "choice" }, ...this.goalInputs(), button),
      element("details", {}, element("summary", {}, "Features that may change"),
        element("fieldset", { class: "boxes" }, element("legend", {}, "May change"), ...boxes)),
      this.found);
  }

  goalInputs() {
    const { classes, target } = this.scorer;
    const id = uniqueId();
    if (classes.length > 0) {
      this.goalSelect = element("select", { id }, element("option", { value: -1 }, "another class"),
        ...classes.map((name, at) => element("option", { value: at }, name)));
      return [element("label", { for: id }, "So that the model predicts "), this.goalSelect];
    }
    this.goalSelect = element("select", { id },
      element("option", { value: "atLeast" }, "at least"), element("option", { value: "atMost" }, "at most"));
    this.goalValue = element("input", { type: "number", step: "any", "aria-label": `value of ${target}` });
    return [element("label", { for: id }, `So that ${target} is `), this.goalSelect, this.goalValue];
  }

  goal() {
    if (this.scorer.classes.length > 0) return { kind: "class", class: Number(this.goalSelect.value) };
    if (this.goalValue.value === "") return null;
    return { kind: this.goalSelect.value, value: Number(this.goalValue.value) };
  }

  findNearest() {
    const goal = this.goal();
    if (goal === null) {
      this.found.replaceChildren(element("p", {}, "Give the value to reach."));
      this.goalValue.focus();
      return;
    }
    const allowed = this.order.filter((feature) => this.mayChange.get(feature).checked);
    const nearest = new NearestChange(this.scorer, this.columns, this.row.slice(), allowed, goal);
    const search = nearest.search();
    this.found.replaceChildren(element("p", {}, "Searching …"));
    this.search = search;
    const go = () => {
      // Another search has begun.
      if (this.search !== search) return;
      const end = performance.now() + 20;
      let step = search.next();
      while (!step.done && performance.now() < end) step = search.next();
      if (step.done) this.showNearest(step.value);
      else setTimeout(go, 0);
    };
    setTimeout(go, 0);
  }

  showNearest(result) {
    const say = (text) => this.found.replaceChildren(element("p", {}, text));
    this.found.dataset.status = result.status;
    if (result.status === "already") return say("The prediction meets this already.");
    if (result.status === "impossible") return say("No values of the features that may change lead there.");
    if (result.status === "unknown") {
      return say(`Changes of fewer than ${result.size} features do not lead there. The search stopped at its
        limit of ${WORK_LIMIT} steps; allow fewer features to change.`);
    }
    const { changes } = result;
    const row = this.row.slice();
    changes.forEach(({ feature, value }) => { row[feature] = value; });
    const raw = this.scorer.raw(row);
    const predicted = this.scorer.prediction(raw);
    const probabilities = this.scorer.probabilities(raw);
    const text = probabilities.length > 0
      ? `${this.scorer.classes[predicted]} (${percent(probabilities[predicted])})` : shown(predicted);
    const lines = changes.map(({ feature, value }) => [this.scorer.features[feature].name,
      this.valueName(feature, this.row[feature]), this.valueName(feature, value)]);
    const apply = element("button", { type: "button" }, "Apply this change");
    apply.addEventListener("click", () => changes.forEach(({ feature, value }) => this.set(feature, value)));
    const certain = result.complete
      ? `This is exact: no change of fewer features leads there, and no other change of this many is
        nearer. The search covered all cells of the model.`
      : `The search stopped at its limit of ${WORK_LIMIT} steps: a nearer change may exist, but none of
        fewer features.`;
    const unit = this.data.rows ? "standard deviations of the rows" : "0.15 of the range of the thresholds";
    const scale = ` The distance is ${shown(result.distance)}, in ${unit}; another category counts as 1.
      Above a threshold a short number is
      chosen, and whole numbers stay whole.`;
    this.found.dataset.distance = result.distance;
    this.found.dataset.complete = result.complete;
    this.found.replaceChildren(
      element("p", {}, `With ${changes.length === 1 ? "this change" : `these ${changes.length} changes`} the
        model predicts ${text}:`),
      dataTable("The nearest change", ["feature", "now", "then"], lines),
      element("p", { class: "note" }, certain + scale), apply);
    return undefined;
  }
}

/** A distribution as bars. */
function distribution(bars) {
  const top = Math.max(...bars, 1);
  const bar = (count) => {
    const one = element("span");
    one.style.height = count > 0 ? `${Math.max(4, 100 * count / top)}%` : "0";
    return one;
  };
  return element("div", { class: "distribution", "aria-hidden": "true" }, ...bars.map(bar));
}

/** The largest of 1, 2 and 5 times a power of ten that is not above a number. */
function niceStep(size) {
  if (!(size > 0)) return 0;
  const power = 10 ** Math.floor(Math.log10(size));
  const unit = [5, 2, 1].find((one) => one * power <= size) ?? 1;
  return Number((unit * power).toPrecision(3));
}

/** Fills every widget of the page. */
function start() {
  const widgets = { whatif: WhatIf, threshold: ThresholdChoice };
  for (const host of document.querySelectorAll("[data-widget]")) {
    const Widget = widgets[host.dataset.widget];
    const data = JSON.parse(host.querySelector("script").textContent);
    new Widget(host, data);
  }
}
