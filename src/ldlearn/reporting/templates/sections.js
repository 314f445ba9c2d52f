/* The sections that are drawn from the embedded data, and the wiring of all pickers. */

const DATA = JSON.parse(one("#data").textContent);
const BASELINES = new Set(all("tr.baseline th[scope=row]").map((cell) => cell.dataset.v));
const MOST_LABELS = 14;

function panel(title, note, chart, baseline = false, level = "h3") {
  const heading = make(level, {}, title, ...(note ? [make("small", {}, note)] : []));
  return make("div", { class: baseline ? "panel baseline" : "panel" }, heading, chart);
}

/* ---- samples ---- */

const intersection = (a, b) => a.reduce((sum, value, j) => sum + Math.min(value, b[j]), 0);

/** Of many labels, those with the largest true degree; the rest is summed up. */
function mostImportant(labels, vectors) {
  if (labels.length <= MOST_LABELS) return [labels, (vector) => vector];
  const key = vectors.find(Boolean);
  const order = labels.map((_, j) => j).sort((a, b) => key[b] - key[a]);
  const [kept, rest] = [order.slice(0, MOST_LABELS - 1), order.slice(MOST_LABELS - 1)];
  const reduce = (vector) => vector && [...kept.map((j) => vector[j]), Number(rest.reduce((sum, j) => sum + vector[j], 0).toFixed(4))];
  return [[...kept.map((j) => labels[j]), `${rest.length} others`], reduce];
}

function drawSample() {
  const stored = DATA.samples[one("#sample-dataset").value];
  const sample = stored?.rows[Number(one("#sample-row").value)];
  if (!sample) return;
  one("#sample-text").textContent = sample.text;
  one("#sample-text").hidden = !sample.text;
  const [labels, reduce] = mostImportant(stored.labels, [sample.truth, ...Object.values(sample.degrees)]);
  const [truth, logical] = [reduce(sample.truth), reduce(sample.logical)];
  const found = Object.entries(sample.degrees).map(([method, degrees]) => ({
    method, degrees: reduce(degrees), score: sample.truth ? intersection(degrees, sample.truth) : null,
  }));
  found.sort((a, b) => b.score - a.score);
  const limit = Math.max(0.01, ...(truth ?? []), ...found.flatMap(({ degrees }) => degrees)) * 1.02;
  const describe = (name, degrees) => `${name}: ${labels.map((label, j) => `${label} ${degrees[j]}`).join(", ")}`;
  const panels = found.map(({ method, degrees, score }) =>
    panel(method, score === null ? "" : `intersection ${score.toFixed(3)}`,
      barChart({ labels, degrees, truth, logical, color: "var(--c0)", limit, label: describe(method, degrees) }),
      BASELINES.has(method)));
  if (truth) {
    panels.unshift(panel(stored.truth, "", barChart({ labels, degrees: truth, logical, color: "var(--muted)", limit, label: describe(stored.truth, truth) })));
  }
  one("#sample-bars").replaceChildren(...panels);
}

function listRows() {
  const rows = DATA.samples[one("#sample-dataset").value]?.rows ?? [];
  setOptions(one("#sample-row"), rows.map((_, i) => String(i)), rows.map(({ row }) => String(row)));
  drawSample();
}

function stepRow(by) {
  const select = one("#sample-row");
  const count = select.options.length;
  if (count > 0) select.selectedIndex = (select.selectedIndex + by + count) % count;
  drawSample();
}

/* ---- sensitivity ---- */

function drawSensitivity() {
  const tasks = DATA.sensitivity[one("#sensitivity-dataset").value]?.[one("#sensitivity-method").value] ?? {};
  const colors = { recovery: "var(--c0)", prediction: "var(--c1)" };
  const groups = Object.entries(tasks).map(([task, curves]) => {
    const panels = curves.map((curve) => panel(curve.parameter, "", lineChart({
      series: [{ ...curve, color: colors[task] }], at: curve.x, names: curve.names,
      label: `${task} score against ${curve.parameter}: ${curve.names.map((name, i) => `${name} gives ${curve.y[i]}`).join(", ")}`,
    }), false, "h4"));
    const heading = make("h3", {}, task === "recovery" ? "Recovery" : "Prediction", make("small", {}, `validation, ${curves[0].score}`));
    return make("div", { class: "group" }, heading, make("div", { class: "panels" }, ...panels));
  });
  one("#sensitivity-panels").replaceChildren(...groups);
}

function listMethods() {
  setOptions(one("#sensitivity-method"), Object.keys(DATA.sensitivity[one("#sensitivity-dataset").value] ?? {}));
  drawSensitivity();
}

/* ---- convergence ---- */

function drawConvergence() {
  const methods = [...new Set(Object.values(DATA.convergence).flatMap(Object.keys))];
  const color = (method) => `var(--c${methods.indexOf(method) % 6})`;
  one("#convergence-key").replaceChildren(...methods.map((method) => make("span", { style: `--color: ${color(method)}` }, method)));
  const panels = Object.entries(DATA.convergence).map(([dataset, runs]) => {
    const series = Object.entries(runs).map(([method, objective]) => ({
      color: color(method), x: objective.slice(1).map((_, i) => i + 2), y: relativeChange(objective),
    }));
    const steps = Math.max(...series.map(({ x }) => x.length));
    const at = Array.from({ length: steps }, (_, i) => i + 2);
    const entry = panel(dataset, "", lineChart({ series, at, names: at.map(String), tick: powerOfTen, label: `Relative change of the objective on ${dataset}` }));
    entry.dataset.dataset = dataset;
    return entry;
  });
  one("#convergence-panels").replaceChildren(...panels);
}

/** Logarithm of the change in each step, as a share of the last value. */
function relativeChange(values) {
  const scale = Math.abs(values[values.length - 1]) || 1;
  return values.slice(1).map((value, i) =>
    (value === null || values[i] === null ? null : Math.log10(Math.max(Math.abs(value - values[i]) / scale, 1e-16))));
}

const powerOfTen = (power) => (Number.isInteger(power) ? `1e${power}` : "");

/* ---- wiring ---- */

function hideIfEmpty(section, data) {
  if (Object.keys(data).length > 0) return;
  for (const part of all("form, .intro, .key", one(section))) part.hidden = true;
  if (!one(".empty", one(section))) one("details", one(section)).append(make("p", { class: "empty" }, "The records hold nothing to show here."));
}

function followDataset(dataset) {
  showDataset(dataset);
  for (const part of all("[data-summary]")) part.hidden = part.dataset.summary !== dataset;
  for (const [selector, update] of [["#sample-dataset", listRows], ["#sensitivity-dataset", listMethods]]) {
    const select = one(selector);
    if ([...select.options].some((option) => option.value === dataset)) {
      select.value = dataset;
      update();
    }
  }
}

/** A link to a section opens it; paper has all of them open. */
function unfold(target) {
  const section = target && document.getElementById(target.slice(1));
  if (section) for (const part of all("details.fold", section)) part.open = true;
}

addEventListener("hashchange", () => unfold(location.hash));
addEventListener("beforeprint", () => all("details.fold").forEach((part) => { part.open = true; }));
for (const link of all(".links a")) link.addEventListener("click", () => unfold(link.getAttribute("href")));
unfold(location.hash);
for (const head of all("th[aria-sort]")) one("button", head).addEventListener("click", () => sortBy(head));
for (const form of all("form")) form.addEventListener("submit", (event) => event.preventDefault());
setOptions(one("#sample-dataset"), Object.keys(DATA.samples));
setOptions(one("#sensitivity-dataset"), Object.keys(DATA.sensitivity));
one("#pick-metric").addEventListener("change", (event) => showMetric(event.target.value));
one("#pick-dataset").addEventListener("change", (event) => followDataset(event.target.value));
one("#sample-dataset").addEventListener("change", listRows);
one("#sample-row").addEventListener("change", drawSample);
one("#sample-previous").addEventListener("click", () => stepRow(-1));
one("#sample-next").addEventListener("click", () => stepRow(1));
one("#sensitivity-dataset").addEventListener("change", listMethods);
one("#sensitivity-method").addEventListener("change", drawSensitivity);
NARROW.addEventListener("change", drawSample);
drawConvergence();
listRows();
listMethods();
showMetric(one("#pick-metric").value);
// A browser may restore an earlier choice on reload.
followDataset(one("#pick-dataset").value);
hideIfEmpty("#samples", DATA.samples);
hideIfEmpty("#sensitivity", DATA.sensitivity);
hideIfEmpty("#convergence", DATA.convergence);
