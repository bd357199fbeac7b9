/* The live list: new submissions appear at its top. A token opens the stream for a limited time. When the stream or the
   connection ends, a new token continues after the last received submission. */
const words = JSON.parse(document.getElementById("words").textContent);
const PAUSES = [1000, 2000, 5000, 10000, 30000];
const PAGE_ROWS = 25;
const MAX_ROWS = 100;
const MAX_ASKED = 25;
const MOST_UNREAD = 99;
const GATHER = 50; // milliseconds
const MIN_RELOAD = 30000; // milliseconds
const waiting = new Set(); // ids of submissions that are not shown yet
let gathering = 0;
let stream = null;
let failures = 0;
let timer = 0;

async function connect(live) {
  clearTimeout(timer);
  stream?.close();
  try {
    const answer = await fetch(live.dataset.token, { headers: { Accept: "application/json" }, redirect: "error" });
    if (!answer.ok) throw new Error(answer.status);
    const { url } = await answer.json();
    open(live, live.dataset.after ? `${url}&after=${encodeURIComponent(live.dataset.after)}` : url);
  } catch {
    again(live);
  }
}

function open(live, url) {
  if (!live.isConnected) return;
  stream = new EventSource(url);
  stream.addEventListener("open", () => {
    failures = 0;
    showState(live, words.live, true);
  });
  stream.addEventListener("submission", (event) => {
    live.dataset.after = event.lastEventId;
    announce(live, JSON.parse(event.data).id);
  });
  // Too many submissions were missed: reload the list. Not within MIN_RELOAD, or a page could reload forever.
  stream.addEventListener("reset", () => {
    if (performance.now() > MIN_RELOAD) location.reload();
    else {
      delete live.dataset.after;
      again(live);
    }
  });
  // It sends its position, so that a list without new submissions does not have to be reloaded.
  stream.addEventListener("end", (event) => {
    if (event.lastEventId) live.dataset.after = event.lastEventId;
    connect(live);
  });
  stream.addEventListener("error", () => {
    showState(live, words.reconnecting, false);
    // The browser reconnects by itself unless the response was an error: an expired token, or too many viewers.
    if (stream.readyState === EventSource.CLOSED) again(live);
  });
}

function again(live) {
  if (!live.isConnected) return;
  showState(live, words.reconnecting, false);
  timer = setTimeout(() => connect(live), PAUSES[Math.min(failures++, PAUSES.length - 1)]);
}

function showState(live, text, on) {
  const state = live.querySelector(".live-state");
  live.hidden = false;
  state.classList.toggle("on", on);
  if (state.textContent !== text) state.textContent = text;
}

// The service draws the rows, so that they are those of the list. It is asked once for all that arrive together.
function announce(live, id) {
  waiting.add(id);
  clearTimeout(gathering);
  gathering = setTimeout(() => fetchRows(live), waiting.size < MAX_ASKED ? GATHER : 0);
}

async function fetchRows(live) {
  const list = live.parentElement;
  const form = list.querySelector("form");
  const body = form.querySelector("tbody");
  const ids = [...waiting].slice(0, MAX_ASKED);
  if (!live.isConnected || !ids.length) return;
  if (form.hidden) {
    waiting.clear();
    // Its columns are not known yet.
    await htmx.ajax("GET", location.href, { target: "#list", select: "#list", swap: "outerHTML" });
    showUnread(document.querySelectorAll("#list tr.unread").length); // the list was empty: these are all
    return;
  }
  const address = new URL(live.dataset.rows, location);
  for (const id of ids) address.searchParams.append("row", id);
  for (const cell of form.querySelectorAll("thead [data-name]"))
    address.searchParams.append("column", cell.dataset.name);
  try {
    const answer = await fetch(address, { redirect: "error" });
    if (!answer.ok) throw new Error(answer.status);
    const template = document.createElement("template");
    template.innerHTML = await answer.text();
    for (const id of ids) waiting.delete(id);
    for (const row of template.content.querySelectorAll("tr")) insert(live, form, body, row);
  } catch {
    gathering = setTimeout(() => fetchRows(live), PAUSES[1]);
    return;
  }
  if (waiting.size) fetchRows(live);
}

function insert(live, form, body, row) {
  const { value: id } = row.querySelector("input[name=id]");
  if (body.querySelector(`input[value="${id}"]`)) return;
  count(live, form, id);
  // Ids are in order of arrival; a submission that was committed late goes to its position, or to an older page.
  const ids = [...body.querySelectorAll("input[name=id]")].map((box) => box.value);
  const place = ids.findIndex((other) => other < id);
  if (place < 0 && ids.length >= PAGE_ROWS) return;
  body.insertBefore(row, place < 0 ? null : body.rows[place]);
  while (body.rows.length > MAX_ROWS) body.deleteRow(-1);
  form.elements.rows.value = body.rows.length;
  if (id > form.elements.newest.value) form.elements.newest.value = id;
}

// The footer goes on from the number of the page. A submission can be sent again after a reconnect, and counts once.
function count(live, form, id) {
  const pages = form.querySelector(".pages");
  const where = pages.querySelector(".where[data-total]");
  live.counted ??= new Set();
  if (!where || live.counted.has(id)) return;
  live.counted.add(id);
  const total = Number(where.dataset.total) + 1;
  const last = Math.ceil(total / PAGE_ROWS);
  where.dataset.total = total;
  form.elements.total.value = total;
  const values = { total: written(total), page: "1", pages: written(last) };
  where.textContent = words.where.replace(/\{(\w+)\}/g, (_, name) => values[name]);
  showUnread(Number(document.querySelector("[data-unread]").textContent) + 1);
  if (last < 2) return;
  for (const link of pages.querySelectorAll("a")) link.hidden = false;
  const oldest = pages.querySelector(".oldest");
  oldest.href = oldest.getAttribute("href").replace(/page=\d+$/, `page=${last}`);
}

function showUnread(count) {
  const unread = document.querySelector("[data-unread]");
  if (count >= 0) unread.textContent = count > MOST_UNREAD ? `${MOST_UNREAD}+` : count; // NaN: it is "99+"
  unread.hidden = count === 0;
}

// As the service writes it.
function written(number) {
  return String(number).replace(/\B(?=(\d{3})+$)/g, words.thousands);
}

function start(root) {
  const live = root.querySelector?.("#live");
  if (live) connect(live);
  else if (!document.getElementById("live")) {
    clearTimeout(timer);
    stream?.close(); // the list is filtered now, and new submissions may not belong to it
  }
}

start(document);
document.addEventListener("htmx:load", (event) => {
  if (event.detail.elt !== document.body) start(event.detail.elt.parentElement ?? document);
});
addEventListener("pagehide", () => stream?.close());
addEventListener("pageshow", (event) => event.persisted && start(document));
