/* Sortable columns, and the two pickers that decide which tables and columns are shown. */

const better = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

function sortBy(head) {
  const table = head.closest("table");
  const opposite = { ascending: "descending", descending: "ascending" };
  const order = opposite[head.getAttribute("aria-sort")] ?? head.dataset.first;
  sortRows(table, head, order);
}

function sortRows(table, head, order) {
  const column = [...head.parentElement.children].indexOf(head);
  const sign = order === "descending" ? -1 : 1;
  const valueOf = (row) => row.children[column].dataset.v;
  const rows = all("tbody tr", table);
  rows.sort((a, b) => compare(valueOf(a), valueOf(b), sign));
  for (const other of all("th[aria-sort]", table)) other.setAttribute("aria-sort", other === head ? order : "none");
  one("tbody", table).append(...rows);
}

/** Empty cells come last whatever the order. */
function compare(a, b, sign) {
  if (a === undefined || b === undefined) return (a === undefined) - (b === undefined);
  const [x, y] = [Number(a), Number(b)];
  return sign * (Number.isNaN(x) || Number.isNaN(y) ? better.compare(a, b) : x - y);
}

function showMetric(metric) {
  for (const block of all("[data-metric]")) block.hidden = block.dataset.metric !== metric;
}

function showDataset(dataset) {
  for (const cell of all("[data-dataset]")) cell.hidden = dataset !== "" && cell.dataset.dataset !== dataset;
  for (const table of all("table.scores")) showScale(table, dataset);
}

/** With one data set picked: order by its scores and draw them on a common scale. */
function showScale(table, dataset) {
  const head = all("thead th[data-dataset]", table).find((cell) => cell.dataset.dataset === dataset);
  for (const cell of all(".plot", table)) cell.hidden = !head;
  for (const cell of all(".rank-head, .rank-cell", table)) cell.hidden = Boolean(head);
  if (!head) {
    sortRows(table, one(".rank-head", table), "ascending");
    return;
  }
  sortRows(table, head, head.dataset.first);
  const rows = all("tbody tr", table).map((row) => [row, scoreOf(row, dataset)]);
  const scores = rows.map(([, score]) => score).filter(Boolean);
  if (scores.length === 0) return;
  const low = Math.min(...scores.map((score) => score.mean - score.std));
  const high = Math.max(...scores.map((score) => score.mean + score.std));
  one("th.plot", table).textContent = `${short(low)} to ${short(high)}`;
  for (const [row, score] of rows) one("td.plot", row).replaceChildren(...(score ? [dot(score, low, high)] : []));
}

function scoreOf(row, dataset) {
  const cell = all("td[data-dataset]", row).find((some) => some.dataset.dataset === dataset);
  return cell?.dataset.v === undefined ? null : { mean: Number(cell.dataset.v), std: Number(cell.dataset.std ?? 0) };
}

function dot({ mean, std }, low, high) {
  const place = (value) => 6 + (228 * (value - low)) / (high - low || 1);
  return draw("svg", { viewBox: "0 0 240 18", "aria-hidden": "true" },
    draw("line", { x1: 6, x2: 234, y1: 9, y2: 9, class: "axis" }),
    draw("line", { x1: place(mean - std), x2: place(mean + std), y1: 9, y2: 9, stroke: "var(--c0)", "stroke-width": 2 }),
    draw("circle", { cx: place(mean), cy: 9, r: 4.5, fill: "var(--c0)" }));
}
