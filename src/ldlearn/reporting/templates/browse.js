/* The rows of a table: search, filter, sort, select, export. Only rows in view are in the document. */

const data = JSON.parse(one("#data").textContent);
const UNKNOWN = 65535;
const MOST_LABELS = 10; // bars of a row
const MOST_PIXELS = 8e6; // browsers limit the height of an element
const n = data.names.length;
const c = data.labels.length;

const bytes = (text) => Uint8Array.from(atob(text), (character) => character.charCodeAt(0)).buffer;
const degrees = (text) => (text === null ? null : new Uint16Array(bytes(text)));
const given = data.given === null ? null : new Uint8Array(bytes(data.given));
const counts = data.counts === null ? null : new Float64Array(bytes(data.counts));
const series = data.series.map(({ name, degrees: values, low, high }) => ({ name, values: degrees(values), low: degrees(low), high: degrees(high) }));
const scores = data.scores.map(({ name, values }) => ({ name, values: new Float32Array(bytes(values)) }));
const predicted = series.at(-1).values;
const texts = data.names.map((name, row) => [name, ...data.cells.map((column) => column[row])].join("\n").toLowerCase());

const list = one("#rows");
const selected = new Set();
let shown = [];
let active = 0; // position of the row that keys refer to
let drawn = new Map();
let height = 0; // of a row

const largest = (row) => {
  let best = row * c;
  for (let k = best; k < (row + 1) * c; k++) if (predicted[k] > predicted[best]) best = k;
  return best - row * c;
};

function matches(row, words, label, state) {
  if (!words.every((word) => texts[row].includes(word))) return false;
  if (label === "") return true;
  return state === "largest" ? largest(row) === Number(label) : given[row * c + Number(label)] === Number(state);
}

/** Choose and order the rows. Unknown values come last whatever the order. */
function update() {
  const words = one("#search").value.toLowerCase().split(/\s+/).filter(Boolean);
  const [label, state, sort] = ["#label", "#state", "#sort"].map((control) => one(control).value);
  one("#state").disabled = label === "";
  const current = shown[active];
  shown = [];
  for (let row = 0; row < n; row++) if (matches(row, words, label, state)) shown.push(row);
  const reversed = one("#order").getAttribute("aria-pressed") === "true";
  if (sort !== "") {
    const { values } = scores[Number(sort)];
    const sign = reversed ? 1 : -1; // large values first
    shown.sort((a, b) => Number.isNaN(values[a]) - Number.isNaN(values[b]) || sign * (values[a] - values[b]) || a - b);
  } else if (reversed) shown.reverse();
  active = Math.max(0, shown.indexOf(current));
  drawn.clear();
  one("#none").hidden = shown.length > 0;
  layOut();
  report();
}

function report() {
  const count = (number) => number.toLocaleString("en");
  one("#status").textContent = `${count(shown.length)} of ${count(n)} rows, ${count(selected.size)} selected`;
}

/** The height of the list, and how far a row moves when the page is scrolled by a pixel. */
const fullHeight = () => shown.length * height;
const listHeight = () => Math.min(fullHeight(), MOST_PIXELS);
const room = () => window.innerHeight;
const rate = () => Math.max(1, (fullHeight() - room()) / Math.max(1, listHeight() - room()));
const scrolled = () => Math.max(0, -list.getBoundingClientRect().top);

/** Position in the full list at the upper edge of the window. */
function offsetAt(top) {
  const end = Math.max(0, listHeight() - room());
  return Math.min(top, end) * rate() + Math.max(0, top - end);
}

function layOut() {
  list.hidden = !shown.length;
  if (list.hidden) return;
  const probe = makeRow(0, 0);
  list.replaceChildren(probe);
  height = probe.offsetHeight;
  drawn.clear();
  list.style.height = `${listHeight()}px`;
  drawRows();
}

function drawRows() {
  const top = scrolled();
  const offset = offsetAt(top);
  const first = Math.max(0, Math.floor(offset / height) - 3);
  const last = Math.min(shown.length, Math.ceil((offset + room()) / height) + 3);
  const kept = new Map();
  for (let place = first; place < last; place++) {
    const element = drawn.get(place) ?? makeRow(shown[place], place);
    element.style.top = `${place * height - offset + top}px`;
    element.classList.toggle("active", place === active);
    kept.set(place, element);
  }
  drawn = kept;
  list.replaceChildren(...kept.values());
  if (kept.has(active)) list.setAttribute("aria-activedescendant", `row-${active}`);
  else list.removeAttribute("aria-activedescendant");
}

const shownDegree = (value) => (value === UNKNOWN ? "–" : (value / 1e4).toFixed(2));

/** The labels of a row that have bars: all, or the positive ones and those with the largest degrees. */
function labelsOf(row) {
  const order = [...Array(c).keys()];
  if (c <= MOST_LABELS) return order;
  const size = (label) => Math.max(...series.map(({ values }) => (values[row * c + label] === UNKNOWN ? 0 : values[row * c + label])));
  const weight = order.map((label) => size(label) + (given?.[row * c + label] === 1 ? 1e4 : 0));
  return order.sort((a, b) => weight[b] - weight[a] || a - b).slice(0, MOST_LABELS);
}

/** How many votes a row has; 0 if votes are not counted. */
function votesOf(row) {
  return counts === null ? 0 : counts.subarray(row * c, (row + 1) * c).reduce((sum, votes) => sum + votes, 0);
}

/** A number of votes in a few characters: 3, 0.37, 12.35K. */
function shortVotes(votes) {
  const notation = votes < 10000 ? "standard" : "compact";
  return votes.toLocaleString("en", { notation, maximumFractionDigits: 2 });
}

/** Above the bars of a row: how many votes it has, and whose bars these are. */
function head(row, labels) {
  const votes = votesOf(row);
  const parts = [];
  if (votes) parts.push(make("span", { class: "votes share" }, `${shortVotes(votes)} ${votes === 1 ? "vote" : "votes"}`));
  else if (counts !== null) parts.push(make("span", { class: "votes" }, "no votes"));
  if (labels.length < c) parts.push(make("span", {}, `${labels.length} of ${c} labels`));
  return make("span", { class: "line head" }, make("span", { class: "about-row" }, ...parts),
    make("span", { class: "numbers" }, ...series.map(({ name }) => make("span", { class: name }, name))));
}

function bar(row, label) {
  const k = row * c + label;
  const votes = votesOf(row);
  const track = make("span", { class: "track", "aria-hidden": "true", style: `--n: ${series.length}` });
  const numbers = make("span", { class: "numbers" });
  if (counts?.[k]) track.append(make("i", { class: "share", style: `width: ${(100 * counts[k]) / votes}%` }));
  series.forEach(({ name, values, low, high }, place) => {
    numbers.append(make("span", { title: `${name} degree` }, shownDegree(values[k])));
    if (values[k] === UNKNOWN) return;
    track.append(make("i", { class: name, style: `--k: ${place}; width: ${values[k] / 100}%` }));
    if (low !== null && low[k] !== UNKNOWN && high[k] > low[k]) {
      track.append(make("i", { class: "span", style: `--k: ${place}; left: ${low[k] / 100}%; width: ${(high[k] - low[k]) / 100}%` }));
    }
  });
  const state = given?.[k];
  let mark = state === undefined ? "" : ["0", "1", "?"][state];
  if (counts !== null) mark = counts[k] ? shortVotes(counts[k]) : "";
  return make("span", { class: `line${state === 1 ? " positive" : ""}` },
    make("span", {}, mark), make("span", { class: "label", title: data.labels[label] }, data.labels[label]), track, numbers);
}

/** The scores of a row, that by which rows are sorted first. */
function figures(row, sort) {
  const known = scores.map(({ name, values }, k) => [name, values[row], k]).filter(([name, value]) => name !== "votes" && !Number.isNaN(value));
  known.sort(([, , a], [, , b]) => (String(b) === sort) - (String(a) === sort));
  return known.flatMap(([name, value, k], place) => [
    place ? " · " : "", make("span", { class: String(k) === sort ? "sorted" : null }, `${name} ${short(value)}`)]);
}

/** Cells with many decimals in three digits; the opened row and the export have all. */
const brief = (text) => (/^-?\d*\.\d{5,}(e[+-]?\d+)?$/.test(text) ? short(Number(text)) : text);

function makeRow(row, place) {
  const cells = data.columns.flatMap((name, k) => [
    ...(data.columns.length > 1 ? [make("b", {}, `${k ? " · " : ""}${name} `)] : []), brief(data.cells[k][row])]);
  const labels = labelsOf(row);
  const lines = Math.floor((Math.max(7.7, 1.3 * labels.length + 2.8) - 4.8) / 1.33); // of text that fit, see the style sheet
  return make("div", {
    class: "row", role: "option", id: `row-${place}`, "aria-selected": selected.has(row), "aria-setsize": shown.length,
    "aria-posinset": place + 1, "data-place": place, style: `--lines: ${lines}; --labels: ${labels.length}`,
  },
  make("span", { class: "mark" }),
  make("div", { class: "about" },
    make("div", { class: "name" }, data.names[row]),
    make("div", { class: "cells" }, ...cells),
    make("div", { class: "figures" }, ...figures(row, one("#sort").value))),
  make("div", { class: "bars" }, head(row, labels), ...labels.map((label) => bar(row, label))));
}

function select(rows, on) {
  for (const row of rows) if (on) selected.add(row); else selected.delete(row);
  for (const [place, element] of drawn) element.setAttribute("aria-selected", selected.has(shown[place]));
  report();
}

const toggle = (place) => select([shown[place]], !selected.has(shown[place]));

/** Make a row the active one, and scroll to it. */
function moveTo(place) {
  active = Math.min(Math.max(place, 0), shown.length - 1);
  const tools = one(".tools").offsetHeight;
  const { top } = list.getBoundingClientRect();
  const start = top + window.scrollY;
  const offset = top > 0 ? -top : offsetAt(-top);
  let wanted = null;
  if (active * height < offset + tools) wanted = active * height - tools;
  if ((active + 1) * height > offset + room()) wanted = (active + 1) * height - room();
  if (wanted !== null) window.scrollTo({ top: start + (wanted < 0 ? wanted : wanted / rate()), behavior: "instant" });
  drawRows();
}

function openRow(row) {
  one("#detail-title").textContent = data.names[row];
  const votes = votesOf(row);
  const states = counts === null ? "0/1" : "votes (share)";
  const heads = ["Label", ...(given ? [states] : []), ...series.map(({ name }) => name)];
  const cell = ({ values, low, high }, k) => {
    const has = low !== null && low[k] !== UNKNOWN && high[k] > low[k];
    return [shownDegree(values[k]), ...(has ? [make("small", {}, ` (${shownDegree(low[k])}–${shownDegree(high[k])})`)] : [])];
  };
  const lines = data.labels.map((label, j) => {
    const k = row * c + j;
    let state = given ? [make("td", {}, ["0", "1", "?"][given[k]])] : [];
    if (votes) state = [make("td", {}, counts[k].toLocaleString("en"), make("small", {}, ` (${(counts[k] / votes).toFixed(2)})`))];
    else if (counts !== null) state = [make("td", {}, "–")];
    return make("tr", {}, make("th", { scope: "row" }, label), ...state, ...series.map((each) => make("td", {}, ...cell(each, k))));
  });
  const cells = data.columns.map((name, k) => make("div", {}, make("dt", {}, name), make("dd", {}, data.cells[k][row])));
  one("#detail-body").replaceChildren(
    make("dl", {}, ...cells),
    make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Degrees" },
      make("table", {}, make("thead", {}, make("tr", {}, ...heads.map((head) => make("th", { scope: "col" }, head)))),
        make("tbody", {}, ...lines))),
    make("p", { class: "legend" }, ...figures(row, "")));
  one("#detail").showModal();
}

const quoted = (value) => (/[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
/** As guard in tables/formulas.py: a text that a spreadsheet would run as a formula gets an apostrophe. */
const formula = /^'*(?:[\t\r\n]|[\s\x00-\x1f\ufeff]*[=+\-@＝＋－＠])/;
const numeric = /^\s*[+-]?[.,]?\d[\d.,]*(?:[eE][+-]?\d+)?\s*%?\s*$/;
const guarded = (value) => (formula.test(value) && !numeric.test(value) ? `'${value}` : value);

function csv(rows) {
  const heads = [data.id, ...data.columns, ...(given ? data.labels : []), ...(counts ? data.labels.map((label) => `${label}_share`) : [])];
  for (const { name, low } of series) {
    for (const label of data.labels) heads.push(`${label}_${name}`, ...(low ? [`${label}_${name}_low`, `${label}_${name}_high`] : []));
  }
  const number = (value) => (value === UNKNOWN ? "" : String(value / 1e4));
  const lines = rows.map((row) => {
    const fields = [data.names[row], ...data.cells.map((column) => column[row])];
    const states = given === null ? [] : [...given.subarray(row * c, (row + 1) * c)].map((state) => ["0", "1", ""][state]);
    if (counts === null) fields.push(...states);
    else {
      const votes = votesOf(row);
      const ofRow = [...counts.subarray(row * c, (row + 1) * c)];
      fields.push(...ofRow.map(String), ...ofRow.map((count) => (votes ? String(count / votes) : "")));
    }
    for (const { values, low, high } of series) {
      for (let k = row * c; k < (row + 1) * c; k++) fields.push(number(values[k]), ...(low ? [number(low[k]), number(high[k])] : []));
    }
    return [...fields, ...scores.map(({ values }) => (Number.isNaN(values[row]) ? "" : String(values[row])))];
  });
  return [[...heads, ...scores.map(({ name }) => name)], ...lines].map((fields) => `${fields.map(guarded).map(quoted).join(",")}\r\n`).join("");
}

function download() {
  const rows = selected.size ? [...selected].sort((a, b) => a - b) : shown;
  const url = URL.createObjectURL(new Blob([csv(rows)], { type: "text/csv" }));
  make("a", { href: url, download: "rows.csv" }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

const keys = {
  ArrowDown: () => moveTo(active + 1),
  ArrowUp: () => moveTo(active - 1),
  PageDown: () => moveTo(active + Math.max(1, Math.floor(room() / height) - 1)),
  PageUp: () => moveTo(active - Math.max(1, Math.floor(room() / height) - 1)),
  Home: () => moveTo(0),
  End: () => moveTo(shown.length - 1),
  " ": () => toggle(active),
  Enter: () => openRow(shown[active]),
};

list.addEventListener("keydown", (event) => {
  if (!shown.length || !(event.key in keys) || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  keys[event.key]();
});
list.addEventListener("click", (event) => {
  const element = event.target.closest(".row");
  if (!element) return;
  active = Number(element.dataset.place);
  drawRows();
  if (event.target.closest(".mark")) toggle(active);
  else openRow(shown[active]);
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.target.closest("input, select, dialog")) return;
  event.preventDefault();
  one("#search").focus();
});
let waiting = 0;
one("#search").addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(update, 80);
});
for (const control of all(".tools select")) control.addEventListener("change", update);
one(".tools").addEventListener("submit", (event) => event.preventDefault());
one("#order").addEventListener("click", (event) => {
  const { currentTarget: button } = event;
  button.setAttribute("aria-pressed", button.getAttribute("aria-pressed") !== "true");
  update();
});
one("#select-shown").addEventListener("click", () => select(shown, true));
one("#clear").addEventListener("click", () => select([...selected], false));
one("#export").addEventListener("click", download);
for (const event of ["scroll", "toggle"]) window.addEventListener(event, () => requestAnimationFrame(drawRows), { passive: true, capture: true });
window.addEventListener("resize", () => requestAnimationFrame(layOut));
update();
