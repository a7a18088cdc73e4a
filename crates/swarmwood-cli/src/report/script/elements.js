// Elements of the page, and numbers as text. Text from outside becomes text nodes only.

/** An element with attributes and children; children are elements or text. */
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === true) made.setAttribute(key, "");
    else if (value !== false && value !== null) made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

/** An element of a drawing. */
function drawn(name, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  Object.entries(attributes).forEach(([key, value]) => made.setAttribute(key, value));
  made.append(...children);
  return made;
}

let lastId = 0;

/** An identifier that no other element has. */
function uniqueId() {
  lastId += 1;
  return `widget-${lastId}`;
}

/** A table with a caption; `rows` are arrays of cells (elements or text), the first one the heading. */
function dataTable(caption, heads, rows) {
  const cell = (content, at) => (content instanceof HTMLTableCellElement ? content
    : at === 0 ? element("th", { scope: "row" }, content) : element("td", { class: "n" }, content));
  const head = (text, at) => element("th", { scope: "col", class: at === 0 ? null : "n" }, text);
  return element("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": caption },
    element("table", {},
      element("caption", {}, caption),
      element("thead", {}, element("tr", {}, ...heads.map(head))),
      element("tbody", {}, ...rows.map((row) => element("tr", {}, ...row.map(cell))))));
}

/** A bar from one fraction to another, as a cell. */
function barCell(from, to, kind) {
  const bar = element("span", { class: `part ${kind}` });
  bar.style.left = `${100 * Math.min(from, to)}%`;
  bar.style.width = `${Math.max(100 * Math.abs(to - from), 0.5)}%`;
  return element("td", { class: "track" }, element("span", { class: "rail", "aria-hidden": "true" }, bar));
}

/** A number with up to six significant digits. */
function shown(value) {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "missing" : value > 0 ? "∞" : "−∞";
  const size = Math.abs(value);
  if (value !== 0 && (size < 1e-4 || size >= 1e12)) return value.toExponential(4).replace("-", "−");
  const digits = Math.max(0, 6 - Math.max(1, Math.ceil(Math.log10(size || 1))));
  const text = new Intl.NumberFormat("en", { maximumFractionDigits: digits }).format(value);
  return text.replace("-", "−");
}

/** A number with its sign. */
function signed(value) {
  return value > 0 ? `+${shown(value)}` : shown(value);
}

/** A fraction in per cent. */
function percent(value) {
  return Number.isFinite(value) ? `${(100 * value).toFixed(1)} %` : "–";
}
