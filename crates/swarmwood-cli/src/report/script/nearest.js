// The nearest change of a row that alters the decision of a model of trees.
//
// The thresholds of a feature divide its values into finitely many cells in which nothing changes, and
// so do the sets of categories. The search goes through the sets of features that change, small sets
// first, and through their cells by branch and bound: a branch ends if its distance is not below the
// best one, or if no values of the features that are still open can reach the goal. The bound is the
// sum over the trees of the best leaf that can still be reached. So the first size with a solution is
// the minimum, and its nearest solution is exact, unless the limit of work is reached.

/** How many bounds the search may compute before it gives up. */
const WORK_LIMIT = 300_000;

class NearestChange {
  /**
   * `columns` has per feature `scale` (the unit of distances) and `integer`; `allowed` the numbers of
   * the features that may change; the `goal` is { kind: "class", class } with -1 for any other class,
   * or { kind: "atLeast" | "atMost", value }.
   */
  constructor(scorer, columns, row, allowed, goal) {
    Object.assign(this, { scorer, columns, row, goal });
    this.start = scorer.prediction(scorer.raw(row));
    this.cells = new Map(allowed.map((feature) => [feature, this.cellsOf(feature)]));
    this.allowed = allowed.filter((feature) => this.cells.get(feature).length > 0);
    this.work = 0;
    this.best = null;
  }

  /** The cells of a feature without the one of the row, the nearest first. */
  cellsOf(feature) {
    const { levels } = this.scorer.features[feature];
    const now = this.row[feature];
    const tests = this.scorer.trees.flatMap((tree) => tree.nodes)
      .filter((node) => node[0] === feature).map((node) => node[1]);
    if (levels !== null) return this.categoryCells(feature, tests, now);

    const thresholds = [...new Set(tests)].sort((a, b) => a - b);
    const { scale, integer } = this.columns[feature];
    const cells = [];
    for (let at = 0; at <= thresholds.length; at++) {
      const low = at === 0 ? -Infinity : thresholds[at - 1];
      const high = at === thresholds.length ? Infinity : thresholds[at];
      if (now > low && now <= high) continue;
      const from = Number.isNaN(now) ? this.columns[feature].typical : now;
      const value = nearestIn(low, high, from, scale, integer);
      if (value === null) continue;
      // A missing value has no distance; giving one counts as one unit.
      const distance = Number.isNaN(now) ? 1 : Math.abs(value - now) / scale;
      cells.push({ feature, value, distance });
    }
    return cells.sort((a, b) => a.distance - b.distance);
  }

  /** One category per group that no test tells apart; each is one unit away. */
  categoryCells(feature, tests, now) {
    const kind = (code) => tests.map((test) => (test.has(code) ? 1 : 0)).join("");
    const seen = new Set([Number.isNaN(now) ? "" : kind(now)]);
    const cells = [];
    this.scorer.features[feature].levels.forEach((_, code) => {
      if (seen.has(kind(code))) return;
      seen.add(kind(code));
      cells.push({ feature, value: code, distance: 1 });
    });
    return cells;
  }

  /** Whether raw scores meet the goal. */
  reached(scores) {
    const predicted = this.scorer.prediction(scores);
    switch (this.goal.kind) {
      case "atLeast":
        return predicted >= this.goal.value;
      case "atMost":
        return predicted <= this.goal.value;
      default:
        return this.goal.class < 0 ? predicted !== this.start : predicted === this.goal.class;
    }
  }

  /** Whether the goal can be reached with the features of `open` at any value and the others as in `row`. */
  reachable(row, open) {
    this.work += 1;
    const { trees, base } = this.scorer;
    const low = base.slice();
    const high = base.slice();
    for (const tree of trees) {
      const [least, most] = this.range(tree, tree.nodes.length > 0 ? 0 : -1, row, open);
      low[tree.output] += least;
      high[tree.output] += most;
    }
    // Bounds are sums in another order than scores; a hair's breadth is never worth a solution.
    const slack = 1e-9 * (1 + Math.max(...high.map(Math.abs), ...low.map(Math.abs)));
    const most = this.scorer.prediction([high[0] + slack]);
    const least = this.scorer.prediction([low[0] - slack]);
    switch (this.goal.kind) {
      case "atLeast":
        return most >= this.goal.value;
      case "atMost":
        return least <= this.goal.value;
      default:
        return this.classReachable(low, high, slack);
    }
  }

  classReachable(low, high, slack) {
    if (high.length === 1) {
      const wanted = this.goal.class < 0 ? 1 - this.start : this.goal.class;
      const { cut } = this.scorer;
      return wanted === 1 ? high[0] + slack > cut : low[0] - slack <= cut;
    }
    const wins = (one) => low.every((least, other) => other === one || high[one] + slack >= least);
    if (this.goal.class >= 0) return wins(this.goal.class);
    return low.some((_, one) => one !== this.start && wins(one));
  }

  /** The least and the largest leaf of a tree that can be reached. */
  range(tree, at, row, open) {
    if (at < 0) return [tree.leaves[-1 - at], tree.leaves[-1 - at]];
    const node = tree.nodes[at];
    if (!open.has(node[0])) {
      return this.range(tree, this.scorer.holds(node, row) ? node[3] : node[4], row, open);
    }
    const [yes, no] = [this.range(tree, node[3], row, open), this.range(tree, node[4], row, open)];
    return [Math.min(yes[0], no[0]), Math.max(yes[1], no[1])];
  }

  /** Searches; yields now and then so that the page stays responsive. Returns the result. */
  *search() {
    if (this.reached(this.scorer.raw(this.row))) return { status: "already" };
    if (!this.reachable(this.row, new Set(this.allowed))) return { status: "impossible" };
    for (let size = 1; size <= this.allowed.length; size++) {
      for (const set of subsets(this.allowed, size)) {
        yield this.work;
        if (this.work > WORK_LIMIT) return this.result(false, size);
        this.descend(this.row.slice(), set, 0, 0, []);
      }
      if (this.best !== null) return this.result(true, size);
    }
    return { status: "impossible" };
  }

  result(complete, size) {
    return { status: this.best === null ? "unknown" : "found", complete, size, ...this.best };
  }

  /** Tries the cells of the features of `set` from position `at` on. */
  descend(row, set, at, distance, changes) {
    if (this.work > WORK_LIMIT) return;
    if (at === set.length) {
      this.work += 1;
      if (this.reached(this.scorer.raw(row))) this.best = { distance, changes: changes.slice() };
      return;
    }
    if (!this.reachable(row, new Set(set.slice(at)))) return;
    const feature = set[at];
    const before = row[feature];
    for (const cell of this.cells.get(feature)) {
      const total = distance + cell.distance;
      if (this.best !== null && total >= this.best.distance) break;
      row[feature] = cell.value;
      changes.push(cell);
      this.descend(row, set, at + 1, total, changes);
      changes.pop();
    }
    row[feature] = before;
  }
}

/** All subsets of a size. */
function* subsets(items, size, from = 0) {
  if (size === 0) {
    yield [];
    return;
  }
  for (let at = from; at <= items.length - size; at++) {
    for (const rest of subsets(items, size - 1, at + 1)) yield [items[at], ...rest];
  }
}

/** A short number with low < number <= high as near as possible to `now`; null if there is none. */
function nearestIn(low, high, now, scale, integer) {
  if (now <= high && now > low) return now;
  if (now > high) {
    const value = integer ? Math.floor(high) : high;
    return value > low ? value : null;
  }
  if (integer) {
    const value = Math.floor(low) + 1;
    return value <= high ? value : null;
  }
  // Just above the threshold: the shortest decimal that is not farther away than a thousandth.
  const top = Math.min(high, low + scale / 1000);
  for (let digits = 0; digits <= 17; digits++) {
    const unit = 10 ** (digits - Math.ceil(Math.log10(Math.max(scale, 1e-300))));
    const value = Number((Math.floor(low * unit + 1) / unit).toPrecision(15));
    if (value > low && value <= top) return value;
  }
  return high === Infinity ? low + scale / 1000 : high;
}
