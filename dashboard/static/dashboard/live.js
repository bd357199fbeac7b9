/* The live list: new submissions appear at its top. A token opens the stream for a limited time. When the stream or the
   connection ends, a new token continues after the last received submission. Values are set as text, never as HTML. */
const PAUSES = [1000, 2000, 5000, 10000, 30000];
const PAGE_ROWS = 25;
const MAX_ROWS = 100;
const MIN_RELOAD = 30000; // milliseconds
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
    showState(live, "Live", true);
  });
  stream.addEventListener("submission", (event) => {
    live.dataset.after = event.lastEventId;
    show(live, JSON.parse(event.data));
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
    showState(live, "Reconnecting", false);
    // The browser reconnects by itself unless the response was an error: an expired token, or too many viewers.
    if (stream.readyState === EventSource.CLOSED) again(live);
  });
}

function again(live) {
  if (!live.isConnected) return;
  showState(live, "Reconnecting", false);
  timer = setTimeout(() => connect(live), PAUSES[Math.min(failures++, PAUSES.length - 1)]);
}

function showState(live, text, on) {
  const state = live.querySelector(".live-state");
  live.hidden = false;
  state.classList.toggle("on", on);
  if (state.textContent !== text) state.textContent = text;
}

function show(live, submission) {
  const list = live.parentElement;
  const form = list.querySelector("form");
  const body = form.querySelector("tbody");
  if (body.querySelector(`input[value="${submission.id}"]`)) return;
  count(live, form.querySelector(".pages"), submission.id);
  list.querySelector("#nothing")?.remove();
  form.hidden = false;
  const names = [...form.querySelectorAll("thead [data-name]")].map((cell) => cell.dataset.name);
  const oneForm = !form.querySelector("thead th:nth-child(3)") || names.length > 0;
  // Ids are in order of arrival; a submission that was committed late goes to its position, or to an older page.
  const ids = [...body.querySelectorAll("input[name=id]")].map((box) => box.value);
  const place = ids.findIndex((id) => id < submission.id);
  if (place < 0 && ids.length >= PAGE_ROWS) return;
  const row = body.insertRow(place);
  row.className = "fresh";
  const box = element("input", { type: "checkbox", className: "form-check-input", name: "id", value: submission.id });
  box.setAttribute("aria-label", `Select the submission of ${submission.createdAt}`);
  cell(row, "tick").append(box);
  const link = element("a", { href: live.dataset.address.replace("SUBMISSION", submission.id) });
  link.append(
    element("time", { dateTime: submission.createdAt, title: submission.createdAt, textContent: "just now" }),
  );
  const received = cell(row, "nowrap");
  received.append(link);
  if (submission.held) received.append(" ", element("span", { className: "state warn", textContent: "Held" }));
  if (oneForm) {
    for (const name of names) cell(row, "clip", name).textContent = submission.values[name] ?? "";
    const more = Object.keys(submission.values).filter((name) => !names.includes(name)).length;
    cell(row, "quiet small nowrap").textContent = more ? `${more} more` : "";
  } else {
    cell(row, "clip", "Form").textContent = submission.formName ?? "";
    const glance = cell(row, "glance");
    for (const [name, text] of Object.entries(submission.values).slice(0, 3)) {
      const pair = element("span", { className: "pair" });
      pair.append(element("span", { className: "quiet", textContent: name }), ` ${text}`);
      glance.append(pair);
    }
  }
  while (body.rows.length > MAX_ROWS) body.deleteRow(-1);
}

// The footer goes on from the number of the page. A submission can be sent again after a reconnect, and counts once.
function count(live, pages, id) {
  const where = pages.querySelector(".where[data-total]");
  live.counted ??= new Set();
  if (!where || live.counted.has(id)) return;
  live.counted.add(id);
  const total = Number(where.dataset.total) + 1;
  const last = Math.ceil(total / PAGE_ROWS);
  where.dataset.total = total;
  where.textContent = `${total.toLocaleString("en-US")} · page 1 of ${last.toLocaleString("en-US")}`;
  if (last < 2) return;
  for (const link of pages.querySelectorAll("a")) link.hidden = false;
  const oldest = pages.querySelector(".oldest");
  oldest.href = oldest.getAttribute("href").replace(/page=\d+$/, `page=${last}`);
}

function cell(row, className, label) {
  const made = row.insertCell();
  made.className = className;
  if (label) made.dataset.label = label; // the heading of the column, where a row is a card
  return made;
}

function element(name, properties) {
  return Object.assign(document.createElement(name), properties);
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
