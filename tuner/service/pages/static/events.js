// What changes in the service, as it happens. All tabs of a browser share one stream, because a
// browser opens six connections to a service: this file is also the worker that they share.
"use strict";

const events = (() => {
  const KINDS = ["job", "block", "trial", "verdict", "queue", "host", "reset"];
  const AGAIN_AFTER = 5000; // ms, where the service refuses the stream
  const PATIENCE = 3000; // ms, with a worker that says nothing
  const HERE = self.document?.currentScript.src ?? self.location.href;
  const STREAM = new URL("../v1/events", HERE);

  /** Say every event; of kind `lost` where none come any more. Returns what ends it. */
  function follow(say) {
    let source;
    let later;
    let hasCome = false; // a proxy may open a stream and hold back all that is in it
    function open() {
      source = new EventSource(STREAM);
      source.onopen = () => { if (hasCome) say({ kind: "reset" }); };
      source.onerror = () => {
        say({ kind: "lost" });
        if (source.readyState === EventSource.CLOSED) later = setTimeout(open, AGAIN_AFTER);
      };
      for (const kind of KINDS) {
        source.addEventListener(kind, ({ data }) => {
          hasCome = true;
          say(JSON.parse(data));
        });
      }
    }
    open();
    return () => {
      clearTimeout(later);
      source.close();
    };
  }

  /** In the worker: one stream for all tabs that are there. */
  function share() {
    const tabs = new Set();
    let first = { kind: "lost" }; // what a new tab has to know
    let end = null;
    function tell(event) {
      first = { kind: event.kind === "lost" ? "lost" : "reset" };
      for (const tab of tabs) tab.postMessage(event);
    }
    self.onconnect = ({ ports: [tab] }) => {
      tabs.add(tab);
      tab.onmessage = () => { // its page goes
        tabs.delete(tab);
        if (tabs.size > 0) return;
        end();
        end = null;
        first = { kind: "lost" };
      };
      end ??= follow(tell);
      tab.postMessage(first);
    };
  }

  /** Without the worker: a stream of this tab, while somebody sees it. */
  function alone(say) {
    let end = null;
    function turn() {
      end?.();
      end = document.hidden ? null : follow(say);
    }
    document.addEventListener("visibilitychange", turn);
    turn();
  }

  /** In a page: say every event, by the worker or without it. */
  function listen(say) {
    let port;
    function join() {
      const worker = new SharedWorker(HERE, "events");
      port = worker.port;
      const late = setTimeout(fail, PATIENCE);
      worker.onerror = fail;
      port.onmessage = ({ data }) => {
        clearTimeout(late);
        say(data);
      };
      function fail() {
        clearTimeout(late);
        if (port === null) return;
        port.close();
        port = null;
        alone(say);
      }
    }
    try {
      join();
    } catch {
      alone(say);
      return;
    }
    addEventListener("pagehide", () => port?.postMessage("gone"));
    addEventListener("pageshow", ({ persisted }) => { if (persisted && port) join(); });
  }

  if (!self.document) share();
  return { listen };
})();
