/* Small charts: lines over the steps or values of a parameter, and the bars of a distribution. */

const NARROW = matchMedia("(max-width: 40rem)");
const FRAME = { width: 280, height: 176, left: 46, right: 10, top: 10, bottom: 30 };

/** Round numbers that cover an interval. */
function ticks(low, high, count = 4) {
  const rough = (high - low) / count || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10);
  const found = [];
  for (let tick = Math.ceil(low / step) * step; tick <= high + step / 1e6; tick += step) found.push(tick);
  return found;
}

/**
 * A line chart. `series`: {color, x, y, spread?, chosen?}; `names`: tick labels at the positions `at` of the
 * horizontal axis; `label`: text for screen readers; `tick`: format of a value on the vertical axis.
 */
function lineChart({ series, at, names, label, tick: format }) {
  const values = series.flatMap(({ y, spread }) => y.flatMap((v, i) => (v === null ? [] : [v - (spread?.[i] ?? 0), v + (spread?.[i] ?? 0)])));
  let [low, high] = [Math.min(...values), Math.max(...values)];
  const room = (high - low || Math.abs(high) || 1) * 0.06;
  [low, high] = [low - room, high + room];
  const [first, last] = [Math.min(...at), Math.max(...at)];
  const { width, height, left, right, top, bottom } = FRAME;
  const X = (x) => left + 8 + ((width - left - right - 16) * (x - first)) / (last - first || 1);
  const Y = (y) => top + ((height - top - bottom) * (high - y)) / (high - low);
  const chart = draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
  const levels = ticks(low, high);
  const digits = Math.max(0, -Math.floor(Math.log10(levels[1] - levels[0] || 1)));
  for (const tick of levels) {
    chart.append(
      draw("line", { x1: left, x2: width - right, y1: Y(tick), y2: Y(tick), class: "axis" }),
      draw("text", { x: left - 6, y: Y(tick) + 4, "text-anchor": "end" }, format ? format(Number(tick.toFixed(6))) : digits > 5 ? tick.toExponential(1) : tick.toFixed(digits)));
  }
  const every = Math.ceil(names.length / 6);
  names.forEach((name, i) => {
    if (i % every === 0) chart.append(draw("text", { x: X(at[i]), y: height - 10, "text-anchor": "middle" }, name));
  });
  for (const one of series) chart.append(...line(one, X, Y));
  return chart;
}

function line({ color, x, y, spread, chosen }, X, Y) {
  const known = x.map((_, i) => i).filter((i) => y[i] !== null);
  const point = (i, shift = 0) => `${X(x[i]).toFixed(1)},${Y(y[i] + shift).toFixed(1)}`;
  const parts = [];
  const wide = known.filter((i) => spread?.[i]);
  if (wide.length > 1) {
    const edge = [...wide.map((i) => point(i, spread[i])), ...wide.toReversed().map((i) => point(i, -spread[i]))];
    parts.push(draw("polygon", { points: edge.join(" "), fill: color, opacity: 0.16 }));
  }
  parts.push(draw("polyline", { points: known.map((i) => point(i)).join(" "), fill: "none", stroke: color, "stroke-width": 2 }));
  for (const i of known) {
    const picked = chosen?.[i] > 0;
    if (picked) parts.push(draw("circle", { cx: X(x[i]), cy: Y(y[i]), r: 6.5, fill: "none", stroke: color, "stroke-width": 1.5 }));
    parts.push(draw("circle", { cx: X(x[i]), cy: Y(y[i]), r: 2.8, fill: color },
      draw("title", {}, `${short(y[i])}${picked ? `, selected ${chosen[i]} times` : ""}`)));
  }
  return parts;
}

/** Horizontal bars, one for each label; `truth` as strokes, `logical` as dots. */
function barChart({ labels, degrees, truth, logical, color, limit, label }) {
  const [width, left, letters] = NARROW.matches ? [172, 68, 8] : [240, 82, 11];
  const [step, right] = [18, 4];
  const X = (value) => left + ((width - left - right) * value) / limit;
  const chart = draw("svg", { viewBox: `0 0 ${width} ${labels.length * step + 2}`, role: "img", "aria-label": label });
  labels.forEach((name, j) => {
    const y = j * step + step / 2 + 1;
    const title = draw("title", {}, `${name}: ${degrees[j]}${truth ? ` (truth ${truth[j]})` : ""}`);
    const shown = name.length > letters ? `${name.slice(0, letters - 1)}…` : name;
    chart.append(draw("g", {}, title,
      draw("text", { x: left - 16, y: y + 4, "text-anchor": "end", class: "name" }, shown),
      ...(logical ? [draw("circle", { cx: left - 8, cy: y, r: 3, stroke: "var(--muted)", fill: logical[j] ? "var(--muted)" : "none" })] : []),
      draw("rect", { x: left, y: y - 5.5, width: Math.max(0, X(degrees[j]) - left), height: 11, rx: 1.5, fill: color }),
      ...(truth ? [draw("line", { x1: X(truth[j]), x2: X(truth[j]), y1: y - 7.5, y2: y + 7.5, class: "truth" })] : [])));
  });
  chart.append(draw("line", { x1: left, x2: left, y1: 0, y2: labels.length * step + 2, class: "axis" }));
  return chart;
}
