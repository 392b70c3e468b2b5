// Live parts: the server says which topics have changed, and the elements that show them are taken
// from the page as it is now. Without this script the pages work too; they only stand still.
"use strict";

const connection = document.getElementById("connection");
let topics = new Set();
let isFetching = false;

function tell(text) {
  connection.textContent = text;
  connection.hidden = !text;
  document.body.classList.toggle("is-disconnected", Boolean(text));
}

function shows(element, wanted) {
  return element.dataset.live.split(" ").some((topic) => wanted.has(topic));
}

function replaceParts(page, wanted) {
  for (const old of document.querySelectorAll("[data-live]")) {
    const fresh = page.getElementById(old.id);
    // Nothing moves below a person's hands: neither an open command nor the focus.
    const isInUse = old.contains(document.activeElement) || old.querySelector("details[open]");
    if (fresh && shows(old, wanted) && !isInUse && fresh.outerHTML !== old.outerHTML) {
      old.replaceWith(document.importNode(fresh, true));
    }
  }
}

async function refresh() {
  if (isFetching || topics.size === 0) return;
  const wanted = topics;
  topics = new Set();
  const parts = [...document.querySelectorAll("[data-live]")];
  if (!parts.some((element) => shows(element, wanted))) return;
  isFetching = true;
  try {
    const answer = await fetch(location.href, { headers: { accept: "text/html" } });
    if (answer.status === 403) {
      tell("This console was started again: open the address that it has printed.");
    } else if (answer.ok) {
      replaceParts(new DOMParser().parseFromString(await answer.text(), "text/html"), wanted);
    }
  } catch {
    // The stream of events notices it too, and tells it.
  } finally {
    isFetching = false;
    if (topics.size) refresh();
  }
}

function connect() {
  // What has changed since this page was made is told at once, also after a broken connection.
  const seen = encodeURIComponent(document.body.dataset.seen);
  const events = new EventSource(`/events?seen=${seen}`);
  let lostAt = null;
  events.addEventListener("open", () => {
    lostAt = null;
    tell("");
  });
  events.addEventListener("changed", (event) => {
    event.data.split(" ").forEach((topic) => topics.add(topic));
    refresh();
  });
  events.addEventListener("error", () => {
    lostAt = lostAt || new Date();
    tell(`Disconnected since ${lostAt.toLocaleTimeString()}: this is what was known then. Trying again.`);
    if (events.readyState === EventSource.CLOSED) {
      events.close();
      setTimeout(connect, 2000);
    }
  });
  addEventListener("pagehide", () => events.close());
}

const keys = document.getElementById("keys");
let isGoing = false;

function pressed(event) {
  const isTyping = event.target.matches("input, select, textarea");
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  if (isGoing) {
    isGoing = false;
    const links = [...document.querySelectorAll("[data-key]")];
    const link = links.find((one) => one.dataset.key === event.key);
    if (link) location.assign(link.href);
  } else if (event.key === "g") {
    isGoing = true;
  } else if (event.key === "?") {
    keys.showModal();
  } else if (event.key === "/") {
    event.preventDefault();
    const field = document.getElementById("query");
    if (field) field.focus();
    else location.assign("/search");
  }
}

addEventListener("keydown", pressed);
document.getElementById("keys-button").addEventListener("click", () => keys.showModal());
// A slow answer is seen to be on its way; an export leaves the page where it is.
addEventListener("submit", (event) => {
  const isExport = event.target.action.includes("/export");
  document.body.classList.toggle("is-waiting", !isExport && event.target.method !== "dialog");
});
addEventListener("pageshow", () => document.body.classList.remove("is-waiting"));
document.getElementById("back")?.addEventListener("click", (event) => {
  if (history.length > 1) {
    event.preventDefault();
    history.back();
  }
});
connect();
