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

const asked = new Map(); // the last answer for each address
let open = [];

function onParts() {
  const away = document.getElementById("away");
  const opened = (root) => [...root.querySelectorAll("details[open]")].map(nameOf);
  document.addEventListener("htmx:configRequest", ({ detail }) => {
    const tag = detail.elt.dataset.etag;
    if (tag) detail.headers["If-None-Match"] = tag;
  });
  document.addEventListener("htmx:beforeSwap", ({ detail }) => {
    const address = detail.pathInfo.requestPath;
    if (asked.get(address) === detail.serverResponse) detail.shouldSwap = false;
    if (!detail.shouldSwap) return;
    asked.set(address, detail.serverResponse);
    open = opened(detail.target);
    for (const part of detail.target.querySelectorAll("[data-hash]")) {
      const same = `id="${part.id}" data-hash="${part.dataset.hash}"`;
      detail.serverResponse = detail.serverResponse.replace(same, `${same} hx-preserve`);
    }
  });
  document.addEventListener("htmx:afterRequest", ({ detail }) => {
    const status = detail.xhr.status;
    away.hidden = status > 0 && status < 500;
  });
  document.addEventListener("htmx:load", ({ detail }) => {
    ready(detail.elt);
    for (const details of detail.elt.querySelectorAll("details")) {
      if (open.includes(nameOf(details))) details.open = true;
    }
  });
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
ready(document.body);
setInterval(() => showTimes(document.body), 30 * SECOND);
addEventListener("resize", fit);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  for (const figure of drawn.keys()) draw(figure);
});
if (document.body.dataset.retryS) retry(Number(document.body.dataset.retryS));
