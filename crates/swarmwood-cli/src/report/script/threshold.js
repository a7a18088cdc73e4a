// The choice of a threshold for two classes: confusion matrix, metrics, costs, and both curves.

class ThresholdChoice {
  constructor(host, data) {
    Object.assign(this, data);
    this.host = host;
    this.at = Math.round(this.threshold * (this.steps.length - 1));
    this.build();
    this.update();
  }

  build() {
    const id = uniqueId();
    const last = this.steps.length - 1;
    this.slider = element("input", { type: "range", id, min: 0, max: 1, step: 1 / last, value: this.at / last });
    this.number = element("input", {
      type: "number", min: 0, max: 1, step: 1 / last, value: this.at / last, "aria-label": "threshold",
    });
    const move = (input) => () => {
      const value = Number(input.value);
      if (input.value !== "" && value >= 0 && value <= 1) this.moveTo(Math.round(value * last));
    };
    this.slider.addEventListener("input", move(this.slider));
    this.number.addEventListener("input", move(this.number));
    this.costs = ["false positive", "false negative"].map((name) => {
      const input = element("input", { type: "number", min: 0, step: "any", value: 1, inputmode: "decimal" });
      input.addEventListener("input", () => this.update());
      return { input, label: element("label", {}, `Cost of a ${name} `, input) };
    });
    const best = element("button", { type: "button" }, "Least cost");
    best.addEventListener("click", () => this.moveTo(this.cheapest()));

    this.matrix = element("div");
    this.metrics = element("div", { "aria-live": "polite" });
    this.curves = element("div", { class: "gallery" });
    this.host.append(
      element("div", { class: "threshold" },
        element("label", { for: id }, `Predict ${this.positive} if its probability is above`),
        element("div", { class: "inputs" }, this.slider, this.number)),
      element("div", { class: "starter" }, ...this.costs.map((cost) => cost.label), best),
      element("div", { class: "tables" }, this.matrix, this.metrics),
      element("p", { class: "note" }, `Precision is the fraction of ${this.positive} among the rows predicted so,
        recall the fraction of all ${this.positive} that are predicted so, specificity the same of
        ${this.negative}; lift is the precision relative to the fraction of all rows. The counts are of
        ${this.file}: a threshold chosen on these rows is judged too well by them.`),
      this.curves);
  }

  moveTo(step) {
    this.at = step;
    const value = step / (this.steps.length - 1);
    this.slider.value = value;
    if (Number(this.number.value) !== value) this.number.value = value;
    this.update();
  }

  /** True and false positives, true and false negatives at a step. */
  counts(step) {
    const [tp, fp] = this.steps[step];
    return { tp, fp, fn: this.totals[0] - tp, tn: this.totals[1] - fp };
  }

  costOf({ fp, fn }) {
    const [a, b] = this.costs.map(({ input }) => Number(input.value) || 0);
    return a * fp + b * fn;
  }

  /** The step of least cost; of several the one nearest to the middle. */
  cheapest() {
    const middle = (this.steps.length - 1) / 2;
    const order = this.steps.map((_, step) => step).sort((a, b) => Math.abs(a - middle) - Math.abs(b - middle));
    const cost = (step) => this.costOf(this.counts(step));
    return order.reduce((best, step) => (cost(step) < cost(best) ? step : best));
  }

  update() {
    const now = this.counts(this.at);
    const { tp, fp, fn, tn } = now;
    const all = tp + fp + fn + tn;
    this.matrix.replaceChildren(dataTable("Rows by true and predicted class",
      ["true class", `predicted ${this.negative}`, `predicted ${this.positive}`],
      [[this.negative, shown(tn), shown(fp)], [this.positive, shown(fn), shown(tp)]]));

    const most = this.totals[0] > this.totals[1];
    const base = most ? { tp: this.totals[0], fp: this.totals[1], fn: 0, tn: 0 }
      : { tp: 0, fp: 0, fn: this.totals[0], tn: this.totals[1] };
    const lines = [
      ["accuracy", (one) => [one.tp + one.tn, all]],
      ["precision", (one) => [one.tp, one.tp + one.fp]],
      ["recall", (one) => [one.tp, one.tp + one.fn]],
      ["specificity", (one) => [one.tn, one.tn + one.fp]],
    ].map(([name, part]) => [name, percent(ratio(part(now))), this.interval(part(now)), percent(ratio(part(base)))]);
    const lift = ratio([tp, tp + fp]) / (this.totals[0] / all);
    const baseLift = most ? "1" : "–";
    lines.push(["F1", shown(f1(now)), "", shown(f1(base))],
      ["lift", Number.isFinite(lift) ? shown(lift) : "–", "", baseLift],
      ["cost", shown(this.costOf(now)), "", shown(this.costOf(base))]);
    const name = `always ${most ? this.positive : this.negative}`;
    this.metrics.dataset.counts = [tp, fp, fn, tn].join(" ");
    this.metrics.replaceChildren(dataTable(`Metrics at the threshold ${this.at / (this.steps.length - 1)}`,
      ["metric", "value", "95 % interval", name], lines));
    this.drawCurves(now);
  }

  /** The Wilson interval of a proportion, unless rows have weights. */
  interval([part, whole]) {
    if (this.weighted || !(whole > 0)) return "";
    const [p, z] = [part / whole, 1.96];
    const middle = (p + z * z / (2 * whole)) / (1 + z * z / whole);
    const half = z / (1 + z * z / whole) * Math.sqrt(p * (1 - p) / whole + z * z / (4 * whole * whole));
    const edge = (value) => (100 * Math.min(1, Math.max(0, value))).toFixed(1);
    return `${edge(middle - half)} to ${edge(middle + half)} %`;
  }

  drawCurves({ tp, fp }) {
    const [p, n] = this.totals;
    const precision = (a, b) => (a + b > 0 ? a / (a + b) : 1);
    const roc = this.curve.map(([a, b]) => [b / n, a / p]);
    const pr = this.curve.filter(([a, b]) => a + b > 0).map(([a, b]) => [a / p, precision(a, b)]);
    this.curves.replaceChildren(
      curveFigure("ROC curve", ["false positive rate", "recall (true positive rate)"], roc, [fp / n, tp / p],
        [[0, 0], [1, 1]]),
      curveFigure("Precision and recall", ["recall", "precision"], pr, [tp / p, precision(tp, fp)],
        [[0, p / (p + n)], [1, p / (p + n)]]));
  }
}

function ratio([part, whole]) {
  return whole > 0 ? part / whole : NaN;
}

function f1({ tp, fp, fn }) {
  return tp > 0 ? 2 * tp / (2 * tp + fp + fn) : 0;
}

/** A curve in the unit square with the chosen point and the chance level. */
function curveFigure(title, [xName, yName], points, [x, y], chance) {
  const [left, top, side] = [56, 10, 230];
  const place = ([a, b]) => `${(left + a * 300).toFixed(1)},${(top + (1 - b) * side).toFixed(1)}`;
  const line = (list, attributes) => drawn("polyline", {
    points: list.map(place).join(" "), fill: "none", "stroke-width": 2, ...attributes,
  });
  const id = uniqueId();
  const told = `${yName} against ${xName}; at the threshold ${yName} is ${shown(y)} and ${xName} ${shown(x)}.`;
  const text = (content, attributes) => drawn("text", attributes, content);
  const svg = drawn("svg", {
    class: "chart", role: "img", viewBox: "0 0 400 290", width: 400, height: 290, "font-size": 12,
    "aria-labelledby": `${id}-title ${id}-desc`,
  }, drawn("title", { id: `${id}-title` }, title), drawn("desc", { id: `${id}-desc` }, told));
  for (const tick of [0, 0.25, 0.5, 0.75, 1]) {
    const [tickX, tickY] = [left + tick * 300, top + (1 - tick) * side];
    svg.append(drawn("path", { d: `M${left} ${tickY}h300`, stroke: "#e4e4e4" }),
      text(String(tick), { x: left - 8, y: tickY + 4, "text-anchor": "end" }),
      text(String(tick), { x: tickX, y: top + side + 18, "text-anchor": "middle" }));
  }
  const middle = top + side / 2;
  svg.append(line(chance, { stroke: "#8a8a8a", "stroke-dasharray": "5 3", "stroke-width": 1.2 }),
    line(points, { stroke: "#1f6fb2" }),
    drawn("circle", { cx: left + x * 300, cy: top + (1 - y) * side, r: 6, fill: "#d9822b" }),
    text(xName, { x: left + 150, y: top + side + 38, "text-anchor": "middle" }),
    text(yName, { x: 14, y: middle, "text-anchor": "middle", transform: `rotate(-90 14 ${middle})` }));
  return element("figure", {}, svg, element("figcaption", {}, `${title}; the point is the threshold.`));
}
