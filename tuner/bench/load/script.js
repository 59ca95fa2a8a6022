// What k6 runs. `LOAD`, which `tuner.load.k6` writes above these lines, holds the whole workload:
//   options                                    k6's own
//   order                                      "journey", or "mix"
//   arrivals                                   rate, seed and users of Poisson arrivals; null: none
//   length_ms                                  how long to send; null: every user goes through once
//   timeout                                    of one request
//   rows                                       JSON with the values of each user; null: none
//   urls, methods, bodies, expects, shapes     one value a request, in its order
//   takes                                      name, kind and place of values; null: none
//   headers, reads                             of a request's shape; whether its body is read
//   weights                                    of a mix, added up
// A url, a body or a header is a text, or a list of pieces: see `tuner.load.contents`.
//
// Every request leaves one line of the console's file, with times in ms since k6 began to send:
//   request, as expected, sent, answered, connecting, from then to the answer, status, error, words

import { SharedArray } from 'k6/data';
import exec from 'k6/execution';
import http from 'k6/http';
import { sleep } from 'k6';

export const options = LOAD.options;

const NOT_TAKEN = 1;
const rows = LOAD.rows && new SharedArray('rows', () => JSON.parse(LOAD.rows));
const named = LOAD.headers.map((headers) => Object.values(headers).some(Array.isArray));
const params = LOAD.headers.map((headers, shape) => ({
  headers,
  redirects: 0, // a redirect is an answer of the app
  responseCallback: null, // what is expected is judged here
  responseType: LOAD.reads[shape] ? 'text' : 'none',
  timeout: LOAD.timeout,
}));

let seed = null;
let row = {};
const due = LOAD.arrivals && new SharedArray('due', drawnArrivals);

export default function () {
  if (seed === null) {
    seed = exec.vu.idInInstance;
    if (seed === 1) console.log(`began,${exec.scenario.startTime}`);
    if (rows) row = rows[(seed - 1) % rows.length];
  }
  if (due) {
    sendWhenDue();
    return;
  }
  if (LOAD.order === 'mix') {
    send(drawn(), row);
    return;
  }
  const values = { ...row };
  for (let request = 0; request < LOAD.urls.length; request++) {
    if (LOAD.length_ms !== null && exec.instance.currentTestRunDuration >= LOAD.length_ms) return;
    if (!send(request, values)) return;
  }
}

export function teardown() {
  console.log('ended');
}

// Each user takes every nth request, so that one which waits for its answer does not hold up the next.
function sendWhenDue() {
  for (let n = exec.vu.idInInstance - 1; n < due.length; n += LOAD.arrivals.users) {
    const wait_ms = due[n] - exec.instance.currentTestRunDuration;
    if (wait_ms > 0) sleep(wait_ms / 1000);
    send(drawn(), row, due[n]);
  }
}

// Times in ms at which requests fall due; the same for each seed and rate.
function drawnArrivals() {
  seed = LOAD.arrivals.seed;
  const times = [];
  let at = 0;
  for (;;) {
    at -= (1000 * Math.log(1 - random())) / LOAD.arrivals.rate_rps;
    if (at >= LOAD.length_ms) break;
    times.push(at);
  }
  seed = null;
  return times;
}

// Whether the values are there that later requests need. The time from `due` to sending counts.
function send(request, values, due_ms = null) {
  const url = filled(LOAD.urls[request], values);
  const body = filled(LOAD.bodies[request], values);
  const param = paramsOf(LOAD.shapes[request], values);
  const sent = exec.instance.currentTestRunDuration;
  const answer = http.request(LOAD.methods[request], url, body, param);
  const answered = exec.instance.currentTestRunDuration;
  const { connecting, duration } = answer.timings;
  const took = duration + (due_ms === null ? 0 : Math.max(0, sent - due_ms));
  const wanted = LOAD.expects[request];
  const status = answer.status;
  const takes = LOAD.takes[request];
  let ok = wanted === null ? status >= 200 && status < 300 : status === wanted;
  let code = answer.error_code;
  let words = code === 0 ? '' : answer.error.replace(/\s+/g, ' ');
  const isWhole = code === 0 || (code >= 1400 && code < 1600); // these stand for a status
  const missing = takes && ok && isWhole ? takeAll(takes, answer, url, values) : null;
  if (missing !== null) [ok, code, words] = [false, NOT_TAKEN, missing];
  console.log(
    `${request},${ok ? 1 : 0},${due_ms === null ? sent : due_ms},${answered},${connecting},${took},${status},${code},${words}`,
  );
  return takes === null || (ok && isWhole);
}

function filled(pieces, values) {
  if (!Array.isArray(pieces)) return pieces;
  return pieces.map((piece) => written(piece, values)).join('');
}

function written(piece, values) {
  if (typeof piece === 'string') return piece;
  if (typeof piece === 'number') return 'x'.repeat(piece);
  const [name, isEncoded] = piece;
  return isEncoded ? encodeURIComponent(values[name]).replace(/%2F/g, '/') : values[name];
}

function paramsOf(shape, values) {
  if (!named[shape]) return params[shape];
  const headers = {};
  for (const name in LOAD.headers[shape]) headers[name] = filled(LOAD.headers[shape][name], values);
  return { ...params[shape], headers };
}

// The name of the first value that the answer does not hold; null: all are taken.
function takeAll(takes, answer, url, values) {
  for (const [name, kind, place] of takes) {
    const value = taken(kind, place, answer, url);
    if (value === null || value === undefined || typeof value === 'object') return name;
    values[name] = String(value);
  }
  return null;
}

function taken(kind, place, answer, url) {
  if (kind === 'header') return answer.headers[place];
  if (kind === 'regex') return (new RegExp(place).exec(answer.body) || [])[1];
  if (kind === 'json') {
    try {
      return place.reduce((part, key) => part[key], JSON.parse(answer.body));
    } catch (error) {
      return null; // no JSON, or without these keys
    }
  }
  const own = answer.cookies[place]; // a Secure cookie is in no request over plain HTTP
  return own ? own[own.length - 1].value : (http.cookieJar().cookiesForURL(url)[place] || [])[0];
}

// A request of the mix by its weight; each user draws the same ones in every run.
function drawn() {
  const at = random() * LOAD.weights[LOAD.weights.length - 1];
  let low = 0;
  let high = LOAD.weights.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (at < LOAD.weights[middle]) high = middle;
    else low = middle + 1;
  }
  return low;
}

// mulberry32: k6's own numbers cannot be seeded by user
function random() {
  seed = (seed + 0x6d2b79f5) | 0;
  let word = Math.imul(seed ^ (seed >>> 15), 1 | seed);
  word = (word + Math.imul(word ^ (word >>> 7), 61 | word)) ^ word;
  return ((word ^ (word >>> 14)) >>> 0) / 4294967296;
}
