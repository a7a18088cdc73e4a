// A model: raw scores, predictions, the path of a row through every tree, and contributions.
//
// The tables are those of `swarmwood_model::export::scoring_json`. A row is an array of numbers in the
// order of the features: the value of a number, the position of a category in `levels`, NaN if missing.

class Scorer {
  constructor(tables) {
    Object.assign(this, tables);
    const scale = this.interval?.scale;
    for (const tree of scale ? [...this.trees, scale] : this.trees) {
      for (const node of tree.nodes) {
        if (Array.isArray(node[1])) node[1] = new Set(node[1]);
      }
    }
    this.paths = null;
  }

  get isLinear() {
    return this.linear.length > 0;
  }

  /** Whether each feature is used by a tree or a linear term. */
  used() {
    const used = this.features.map(() => this.isLinear);
    for (const tree of this.trees) tree.nodes.forEach(([feature]) => { used[feature] = true; });
    return used;
  }

  /** Whether the test of a node holds for a row. */
  holds(node, row) {
    const value = row[node[0]];
    if (Number.isNaN(value)) return node[2] === 1;
    return typeof node[1] === "number" ? value <= node[1] : node[1].has(value);
  }

  /** The steps of a row through a tree, as children: numbers of nodes, and last -1 - leaf. */
  path(tree, row) {
    const steps = [];
    let at = tree.nodes.length > 0 ? 0 : -1;
    while (at >= 0) {
      const node = tree.nodes[at];
      at = this.holds(node, row) ? node[3] : node[4];
      steps.push(at);
    }
    return steps;
  }

  /** The number of the leaf that a row reaches in a tree. */
  leaf(tree, row) {
    let at = tree.nodes.length > 0 ? 0 : -1;
    while (at >= 0) {
      const node = tree.nodes[at];
      at = this.holds(node, row) ? node[3] : node[4];
    }
    return -1 - at;
  }

  /** The term of a feature in a linear function. */
  term(output, feature, value) {
    if (Number.isNaN(value)) return 0;
    const term = this.linear[output][feature];
    return this.features[feature].levels === null ? term[0] * (value - term[1]) : term[value];
  }

  /** The raw scores, one per output: the same additions in the same order as in `swarmwood predict`. */
  raw(row) {
    const scores = this.base.slice();
    for (const tree of this.trees) scores[tree.output] += tree.leaves[this.leaf(tree, row)];
    this.linear.forEach((terms, output) => terms.forEach((_, feature) => {
      if (!Number.isNaN(row[feature])) scores[output] += this.term(output, feature, row[feature]);
    }));
    return scores;
  }

  /** The probability of each class; none for regression. */
  probabilities(scores) {
    if (this.link === "sigmoid") {
      return [1 / (1 + Math.exp(scores[0])), 1 / (1 + Math.exp(-scores[0]))];
    }
    if (this.link !== "softmax") return [];
    const top = Math.max(...scores);
    const powers = scores.map((score) => Math.exp(score - top));
    const total = powers.reduce((a, b) => a + b, 0);
    return powers.map((power) => power / total);
  }

  /** The predicted number, or the number of the predicted class. */
  prediction(scores) {
    switch (this.link) {
      case "sigmoid":
        return scores[0] > this.cut ? 1 : 0;
      case "softmax":
        return scores.reduce((best, score, output) => (score > scores[best] ? output : best), 0);
      case "exp":
        return Math.min(Math.exp(scores[0]), Number.MAX_VALUE);
      case "expm1":
        return Math.min(Math.expm1(scores[0]), Number.MAX_VALUE);
      default:
        return scores[0];
    }
  }

  /** The interval of a predicted number; null if the model has none. */
  bounds(row, scores) {
    if (this.interval === null) return null;
    const { level, half_width: unit, scale } = this.interval;
    const width = scale === null ? unit : unit * scale.leaves[this.leaf(scale, row)];
    const centre = this.link === "expm1" ? scores[0] : this.prediction(scores);
    const bounded = (end) => Math.min(Math.max(end, -Number.MAX_VALUE), Number.MAX_VALUE);
    const ends = [bounded(centre - width), bounded(centre + width)];
    const mapped = ends.map((end) => {
      if (this.link === "exp") return Math.max(end, 0);
      return this.link === "expm1" ? this.prediction([end]) : end;
    });
    return { level, lower: mapped[0], upper: mapped[1] };
  }

  /**
   * Exact SHAP values of every output: what each feature adds to the expected raw score. Together with
   * it they sum to the raw score. The algorithm is that of `swarmwood_model::explain`: the integral of
   * Owen's multilinear extension over each path, by Gauss-Legendre quadrature of sufficient degree.
   */
  contributions(row) {
    this.paths ??= this.trees.map(leafPaths);
    const all = this.base.map((start) => ({ expected: start, values: this.features.map(() => 0) }));
    this.paths.forEach((leaves, at) => {
      const tree = this.trees[at];
      const taken = tree.nodes.map((node) => this.holds(node, row));
      const { values } = all[tree.output];
      for (const path of leaves) {
        all[tree.output].expected += path.value * path.share;
        addLeaf(path, taken, values);
      }
    });
    this.linear.forEach((terms, output) => terms.forEach((_, feature) => {
      all[output].values[feature] = this.term(output, feature, row[feature]);
    }));
    return all;
  }
}

/** The path to each leaf of a tree: its value and, per feature, the share of the covers and the edges. */
function leafPaths(tree) {
  const covers = tree.nodes.map(() => 0);
  const cover = (child) => (child < 0 ? tree.covers[-1 - child] : covers[child]);
  // Children come after their parent.
  for (let at = tree.nodes.length - 1; at >= 0; at--) {
    covers[at] = cover(tree.nodes[at][3]) + cover(tree.nodes[at][4]);
  }
  const found = [];
  const open = [[tree.nodes.length > 0 ? 0 : -1, []]];
  while (open.length > 0) {
    const [at, steps] = open.pop();
    if (at < 0) {
      found.push(leafPath(tree.leaves[-1 - at], steps));
      continue;
    }
    const [feature, , , yes, no] = tree.nodes[at];
    for (const [child, side] of [[yes, true], [no, false]]) {
      const share = covers[at] > 0 ? cover(child) / covers[at] : 0.5;
      open.push([child, [...steps, { feature, node: at, side, share }]]);
    }
  }
  return found;
}

function leafPath(value, steps) {
  const features = new Map();
  for (const { feature, node, side, share } of steps) {
    const one = features.get(feature) ?? { feature, share: 1, edges: [] };
    one.share *= share;
    one.edges.push([node, side]);
    features.set(feature, one);
  }
  const list = [...features.values()];
  const share = list.reduce((product, one) => product * one.share, 1);
  return { value, features: list, share };
}

/** Adds the contribution of a leaf to every feature on its path. */
function addLeaf(path, taken, values) {
  const { nodes, weights } = quadrature(Math.max(1, Math.ceil(path.features.length / 2)));
  const passes = path.features.map((one) => one.edges.every(([node, side]) => taken[node] === side));
  // Features that the row follows are factors t + z (1 - t), the others z (1 - t).
  const factor = (at, t) => (passes[at] ? t : 0) + path.features[at].share * (1 - t);
  path.features.forEach((one, at) => {
    let integral = 0;
    nodes.forEach((t, k) => {
      let product = weights[k];
      path.features.forEach((_, other) => { if (other !== at) product *= factor(other, t); });
      integral += product;
    });
    values[one.feature] += path.value * ((passes[at] ? 1 : 0) - one.share) * integral;
  });
}

const quadratures = new Map();

/** Gauss-Legendre quadrature on the interval from 0 to 1: roots by Newton's method. */
function quadrature(count) {
  if (quadratures.has(count)) return quadratures.get(count);
  const [nodes, weights] = [[], []];
  for (let root = 0; root < count; root++) {
    let x = Math.cos(Math.PI * (root + 0.75) / (count + 0.5));
    let slope = 1;
    for (let step = 0; step < 8; step++) {
      let [before, value] = [1, x];
      for (let k = 2; k <= count; k++) {
        [before, value] = [value, ((2 * k - 1) * x * value - (k - 1) * before) / k];
      }
      slope = count * (x * value - before) / (x * x - 1);
      x -= value / slope;
    }
    nodes.push((1 - x) / 2);
    weights.push(1 / ((1 - x * x) * slope * slope));
  }
  quadratures.set(count, { nodes, weights });
  return quadratures.get(count);
}
