// What Lighthouse checks of a page, by the browser's own figures: names of controls in the tree of
// accessibility, contrast of texts by WCAG 2.2 (AA), and layout shift.

/** The most bytes of the page of one model. */
export const MAX_BYTES = 1_000_000;

/** A cumulative layout shift up to this is good. */
const MAX_SHIFT = 0.1;

const CONTROLS = new Set([
  "button", "checkbox", "combobox", "DisclosureTriangle", "link", "listbox", "radio", "searchbox",
  "slider", "spinbutton", "switch", "textbox",
]);

/** Called before the page is opened. */
export async function watchShifts(page) {
  await page.addInitScript(() => {
    window.layoutShift = 0;
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) {
        // What follows within half a second of an input is expected by the reader.
        if (!entry.hadRecentInput) window.layoutShift += entry.value;
      }
    }).observe({ type: "layout-shift", buffered: true });
  });
}

/** Faults of the page as it is now. */
export async function audit(page) {
  const faults = await names(page);
  faults.push(...(await page.evaluate(faintTexts)));
  const shift = await page.evaluate(async () => {
    // Two frames later, everything has been laid out.
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    return window.layoutShift;
  });
  if (shift > MAX_SHIFT) faults.push(`the layout shifts by ${shift.toFixed(3)}`);
  return faults;
}

/** Controls and pictures without a name, as a screen reader meets them. */
async function names(page) {
  const session = await page.context().newCDPSession(page);
  const { nodes } = await session.send("Accessibility.getFullAXTree");
  const shown = nodes.filter((node) => !node.ignored);
  const controls = shown.filter((node) => CONTROLS.has(node.role?.value));
  const faults = controls.filter((node) => !node.name?.value?.trim())
    .map((node) => `a ${node.role.value} has no name`);
  const pictures = shown.filter((node) => ["image", "img"].includes(node.role?.value));
  faults.push(...pictures.filter((node) => !node.name?.value?.trim()).map(() => "a picture has no name"));
  if (controls.length === 0) faults.push("no control was found");
  await session.detach();
  return faults;
}

/** Runs in the page: texts with too little contrast against what is behind them. */
function faintTexts() {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const parsed = new Map();
  // Any colour that the browser knows, as red, green, blue from 0 to 255 and an opacity.
  const channels = (colour) => {
    if (!parsed.has(colour)) {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = colour;
      canvas.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
      parsed.set(colour, [r, g, b, a / 255]);
    }
    return parsed.get(colour);
  };
  const over = ([r, g, b, a], ground) => [r, g, b].map((value, at) => a * value + (1 - a) * ground[at]);
  const ground = (one) => {
    const layers = [];
    for (let at = one; at; at = at.parentElement) {
      const layer = channels(getComputedStyle(at).backgroundColor);
      if (layer[3] > 0) layers.push(layer);
      if (layer[3] === 1) break;
    }
    return layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255]);
  };
  const light = (colour) => {
    const [r, g, b] = colour.map((value) => value / 255)
      .map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (one, other) => {
    const [high, low] = [light(one), light(other)].sort((a, b) => b - a);
    return (high + 0.05) / (low + 0.05);
  };
  const found = new Set();
  const hasText = (one) => [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
  const fields = "input:not([type=range]):not([type=checkbox]), select, button";
  for (const one of document.querySelectorAll("body *")) {
    if (["SCRIPT", "STYLE", "TITLE", "DESC", "title", "desc"].includes(one.tagName)) continue;
    if (!(hasText(one) || one.matches(fields)) || one.matches(":disabled")) continue;
    if (!one.checkVisibility({ checkOpacity: false, visibilityProperty: true })) continue;
    const style = getComputedStyle(one);
    const behind = ground(one);
    const colour = one instanceof SVGElement ? style.fill : style.color;
    if (colour === "none") continue;
    const ink = over(channels(colour), behind);
    const size = Number.parseFloat(style.fontSize);
    const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const ratio = contrast(ink, behind);
    if (ratio < (isLarge ? 3 : 4.5)) {
      const text = (one.textContent.trim() || one.value || one.outerHTML).slice(0, 30);
      found.add(`'${text}' in ${colour} has a contrast of ${ratio.toFixed(2)}`);
    }
  }
  return [...found].slice(0, 5);
}
