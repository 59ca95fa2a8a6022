// What a page cannot do without a script: the reader's own time zone, charts that move, and parts
// that stay as the reader left them. Without it, all figures are still there.
"use strict";

const SECOND = 1000;
const UNITS = [["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];
const clock = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const spans = new Intl.RelativeTimeFormat("en", { numeric: "auto" });

function age(moment) {
  const seconds = (moment - Date.now()) / SECOND;
  const [unit, length] = UNITS.find(([, size]) => Math.abs(seconds) >= size) ?? UNITS.at(-1);
  return spans.format(Math.round(seconds / length), unit);
}

function showTimes(root) {
  for (const time of root.querySelectorAll("time[datetime]")) {
    time.title ||= time.textContent; // in UTC, as it was sent
    const moment = new Date(time.dateTime);
    time.textContent = "age" in time.dataset ? age(moment) : clock.format(moment);
  }
}

// ---- charts

const drawn = new Map(); // figures with a chart

const ink = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function whiskers(chart) {
  const [x, , , , low, high] = chart.data;
  const { ctx } = chart;
  ctx.save();
  ctx.strokeStyle = ink("--soft");
  ctx.lineWidth = devicePixelRatio;
  ctx.beginPath();
  for (let at = 0; at < x.length; at++) {
    if (low[at] === null || high[at] === null) continue;
    const across = chart.valToPos(x[at], "x", true);
    ctx.moveTo(across, chart.valToPos(low[at], "y", true));
    ctx.lineTo(across, chart.valToPos(high[at], "y", true));
  }
  ctx.stroke();
  ctx.restore();
}

function options(plot, place, say) {
  const axis = { stroke: ink("--ink"), grid: { stroke: ink("--faint") }, ticks: { stroke: ink("--faint") } };
  const point = { size: 9, width: 2 };
  const unseen = { paths: () => null, points: { show: false } };
  return {
    width: place.clientWidth,
    height: 300,
    legend: { show: false },
    cursor: { drag: { x: false, y: false }, points: { show: false } },
    scales: { x: { time: false, range: (_, low, high) => [low - 0.5, high + 0.5] } },
    axes: [
      { ...axis, label: "trial", incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500] },
      { ...axis, label: plot.label, size: 60 },
    ],
    series: [
      {},
      { stroke: ink("--series-0"), paths: () => null, points: { ...point, show: true, fill: ink("--series-0") } },
      { stroke: ink("--series-1"), paths: () => null, points: { ...point, show: true, fill: ink("--paper") } },
      { stroke: ink("--series-5"), width: 2, dash: [8, 4], paths: uPlot.paths.stepped({ align: 1 }), points: { show: false } },
      unseen,
      unseen,
    ],
    hooks: {
      drawAxes: [whiskers],
      setCursor: [({ cursor }) => { if (cursor.idx !== null && cursor.idx !== undefined) say(plot.words[cursor.idx]); }],
    },
  };
}

function draw(figure) {
  const plot = JSON.parse(figure.dataset.plot);
  const place = figure.querySelector(".canvas");
  const line = figure.querySelector(".pointed");
  const columns = [plot.x, plot.gain, plot.broken, plot.best, plot.low, plot.high];
  drawn.get(figure)?.destroy();
  place.replaceChildren();
  drawn.set(figure, new uPlot(options(plot, place, (words) => { line.textContent = words; }), columns, place));
}

function drawAll(root) {
  if (!window.uPlot) return;
  for (const figure of root.querySelectorAll(".plot")) if (!drawn.has(figure)) draw(figure);
  for (const [figure, chart] of drawn) {
    if (figure.isConnected) continue;
    chart.destroy();
    drawn.delete(figure);
  }
}

function fit() {
  for (const [figure, chart] of drawn) {
    chart.setSize({ width: figure.querySelector(".canvas").clientWidth, height: 300 });
  }
}

// ---- parts that come again

const BETWEEN = 300; // ms from one request for a part to the next one
const WITHOUT_EVENTS = 5 * SECOND;
const WITH_EVENTS = 20 * SECOND; // time that passes changes things too, and sends no event

const away = document.getElementById("away");
const asked = new Map(); // the last answer for each address
const looks = new Map(); // by part: whether something has changed since its request that is out
let open = [];
let focused = ""; // the element that the keyboard was at

const parts = () => document.querySelectorAll("[data-live]");
const pause = (time) => new Promise((done) => { setTimeout(done, time); });

/** Ask for a part at once, or once more when the request that is out has its answer. */
async function look(id) {
  if (looks.has(id)) {
    looks.set(id, true);
    return;
  }
  do {
    looks.set(id, false);
    const part = document.getElementById(id);
    if (!part?.dataset.live) break; // the job has ended
    const answered = htmx.ajax("GET", part.dataset.from, { source: part }).catch(() => {});
    await Promise.all([answered, pause(BETWEEN)]);
  } while (looks.get(id));
  looks.delete(id);
}

function concerns({ dataset }, { kind, job, pool }) {
  if (kind === "reset" || kind === "lost") return true;
  if (dataset.job) return String(job) === dataset.job || pool === dataset.pool;
  return dataset.live.split(" ").includes(kind);
}

function onEvents() {
  if (parts().length === 0) return;
  let areLost = true;
  let looked = Date.now();
  function all() {
    looked = Date.now();
    for (const part of parts()) look(part.id);
  }
  events.listen((event) => {
    const wereLost = areLost;
    areLost = event.kind === "lost";
    if (wereLost && areLost) return;
    if (document.hidden) return; // it looks as soon as somebody sees it
    for (const part of parts()) if (concerns(part, event)) look(part.id);
  });
  document.addEventListener("visibilitychange", () => { if (!document.hidden) all(); });
  setInterval(() => {
    const every = areLost || !away.hidden ? WITHOUT_EVENTS : WITH_EVENTS;
    if (!document.hidden && Date.now() - looked >= every) all();
  }, SECOND);
}

function onParts() {
  const opened = (root) => [...root.querySelectorAll("details[open]")].map(nameOf);
  document.addEventListener("htmx:configRequest", ({ detail }) => {
    const tag = detail.elt.dataset.etag;
    if (tag) detail.headers["If-None-Match"] = tag;
  });
  document.addEventListener("htmx:beforeSwap", ({ detail }) => {
    const address = detail.requestConfig.elt.dataset.from;
    if (address && asked.get(address) === detail.serverResponse) detail.shouldSwap = false;
    if (!detail.shouldSwap) return;
    if (address) asked.set(address, detail.serverResponse);
    open = opened(detail.target);
    focused = detail.target.contains(document.activeElement) ? document.activeElement.id : "";
    for (const part of detail.target.querySelectorAll("[data-hash]")) {
      const same = `id="${part.id}" data-hash="${part.dataset.hash}"`;
      detail.serverResponse = detail.serverResponse.replace(same, `${same} hx-preserve`);
    }
  });
  document.addEventListener("htmx:afterRequest", ({ detail }) => {
    const status = detail.xhr.status;
    away.hidden = status > 0 && status < 500;
    if (status === 401 || status === 404) location.reload(); // it says how to sign in, or what is gone
  });
  document.addEventListener("htmx:afterSwap", ({ target }) => { // htmx:load comes too late for the next key
    for (const details of target.querySelectorAll("details")) {
      if (open.includes(nameOf(details))) details.open = true;
    }
    if (focused && document.activeElement === document.body) document.getElementById(focused)?.focus();
  });
  document.addEventListener("htmx:load", ({ detail }) => ready(detail.elt));
}

/** The same for the same details of a later answer. */
function nameOf(details) {
  const part = details.closest("[data-hash], section")?.id ?? "";
  return `${part} ${details.querySelector("summary").textContent}`;
}

// ---- all of it

function ready(root) {
  showTimes(root);
  drawAll(root);
}

function retry(seconds) {
  setInterval(async () => {
    const answer = await fetch(location.href, { headers: { Accept: "text/html" } }).catch(() => null);
    if (answer && answer.status !== 503) location.reload();
  }, seconds * SECOND);
}

onParts();
onEvents();
ready(document.body);
setInterval(() => showTimes(document.body), 30 * SECOND);
addEventListener("resize", fit);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  for (const figure of drawn.keys()) draw(figure);
});
if (document.body.dataset.retryS) retry(Number(document.body.dataset.retryS));
