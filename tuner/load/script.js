// What k6 runs. `LOAD`, which `tuner.load.k6` writes above these lines, holds the whole workload:
//   options                                    k6's own
//   order                                      "journey", or "mix"
//   length_ms                                  how long to send; null: every user goes through once
//   timeout                                    of one request
//   urls, methods, bodies, expects, shapes     one value a request, in its order
//   headers                                    those that a request's shape stands for
//   weights                                    of a mix, added up
//
// Every request leaves one line of the console's file, with times in ms since k6 began to send:
//   request, as expected, sent, answered, connecting, from then to the answer, status, error, words

import exec from 'k6/execution';
import http from 'k6/http';

export const options = LOAD.options;

const params = LOAD.headers.map((headers) => ({
  headers,
  redirects: 0, // a redirect is an answer of the app
  responseCallback: null, // what is expected is judged here
  timeout: LOAD.timeout,
}));

let seed = null;

export default function () {
  if (seed === null) {
    seed = exec.vu.idInInstance;
    if (seed === 1) console.log(`began,${exec.scenario.startTime}`);
  }
  if (LOAD.order === 'mix') {
    send(drawn());
    return;
  }
  for (let request = 0; request < LOAD.urls.length; request++) {
    if (LOAD.length_ms !== null && exec.instance.currentTestRunDuration >= LOAD.length_ms) return;
    send(request);
  }
}

export function teardown() {
  console.log('ended');
}

function send(request) {
  const sent = exec.instance.currentTestRunDuration;
  const answer = http.request(
    LOAD.methods[request],
    LOAD.urls[request],
    LOAD.bodies[request],
    params[LOAD.shapes[request]],
  );
  const answered = exec.instance.currentTestRunDuration;
  const { connecting, duration } = answer.timings;
  const wanted = LOAD.expects[request];
  const status = answer.status;
  const ok = wanted === null ? status >= 200 && status < 300 : status === wanted;
  const code = answer.error_code;
  const words = code === 0 ? '' : answer.error.replace(/\s+/g, ' ');
  console.log(
    `${request},${ok ? 1 : 0},${sent},${answered},${connecting},${duration},${status},${code},${words}`,
  );
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
