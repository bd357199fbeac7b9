/* The form builder with scripts: buttons act without a reload, fields can be dragged. */
const words = JSON.parse(document.getElementById("words").textContent);
const builder = () => document.getElementById("builder");
const rowsOf = (list) => [...list.querySelectorAll(".row-card:not(.row-removed)")];
const labelOf = (row) => row?.querySelector("input.form-control");
const say = (text) => {
  document.getElementById("announcement").textContent = text;
};
const isField = (input) => input.closest("#builder-form") && input.id !== "new-type";

document.documentElement.classList.add("builds"); // the bar shows Save only with changes; without scripts always

// Buttons that change the list are plain submit buttons; here htmx sends them and swaps in the response. One after the
// other: each sends the page as the one before left it.
let last = Promise.resolve();
let typedMeanwhile = null; // inputs by id, while a response is awaited

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-swaps]");
  if (!button) return;
  event.preventDefault();
  last = last.then(() => send(button.id));
});

async function send(id) {
  const button = document.getElementById(id);
  if (!button || button.getAttribute("aria-disabled") === "true") return;
  const values = { [button.name]: button.value };
  typedMeanwhile = new Map();
  // Settled immediately: until then an element has the attributes of the one with its id before, which may be hidden.
  const swap = "outerHTML settle:0ms";
  await htmx.ajax("POST", button.form.action, { source: button, values, target: "#builder", swap });
  for (const [input, { value, checked }] of typedMeanwhile) {
    const same = document.getElementById(input);
    if (same) Object.assign(same, { value, checked });
  }
  typedMeanwhile = null;
  focusAfter(id);
}

function name(row) {
  labelOf(row)?.focus();
  labelOf(row)?.select();
}

function focusAfter(id) {
  const [verb, key] = [id.slice(0, id.indexOf("-")), id.slice(id.indexOf("-") + 1)];
  const row = builder().querySelector(`[data-key="${CSS.escape(key)}"]`);
  if (id === "add") name(rowsOf(builder()).at(-1));
  else if (verb === "copy") name(row?.nextElementSibling);
  else if (verb === "remove") document.getElementById(`restore-${key}`)?.focus();
  else if (verb === "restore") labelOf(row)?.focus();
  else {
    const same = document.getElementById(id);
    const other = document.getElementById(`${verb === "up" ? "down" : "up"}-${key}`);
    (same?.getAttribute("aria-disabled") === "true" ? other : same)?.focus();
  }
}

document.addEventListener("keydown", (event) => {
  const row = event.altKey && event.target.closest?.(".row-card:not(.row-removed)");
  if (!row || !["ArrowUp", "ArrowDown"].includes(event.key)) return;
  event.preventDefault();
  const rows = rowsOf(row.parentElement);
  const other = rows[rows.indexOf(row) + (event.key === "ArrowUp" ? -1 : 1)];
  if (!other) return;
  place(row, event.key === "ArrowUp" ? other : other.nextElementSibling);
  event.target.focus();
  announcePlace(row);
});

function place(row, before) {
  row.parentElement.insertBefore(row, before);
  const rows = rowsOf(row.parentElement);
  for (const one of rows) {
    one.querySelector("[id^=up-]").ariaDisabled = one === rows[0] ? "true" : null;
    one.querySelector("[id^=down-]").ariaDisabled = one === rows.at(-1) ? "true" : null;
  }
}

function announcePlace(row) {
  const rows = rowsOf(row.parentElement);
  const values = { label: labelOf(row).value || words.field, place: rows.indexOf(row) + 1, count: rows.length };
  say(words.moved.replace(/\{(\w+)\}/g, (_, name) => values[name]));
  labelOf(row).dispatchEvent(new Event("change", { bubbles: true }));
}

// Dragging by pointer events: the same for mouse, pen and finger. The document listens, because a row that moves in the
// DOM loses its pointer capture.
document.addEventListener("pointerdown", (event) => {
  const handle = event.target.closest(".handle");
  if (!handle || event.button) return;
  event.preventDefault();
  const row = handle.closest(".row-card");
  const start = row.nextElementSibling;
  const listening = new AbortController();
  row.classList.add("dragged");
  const move = ({ pointerId, clientY }) => {
    if (pointerId !== event.pointerId) return;
    const others = [...row.parentElement.children].filter((one) => one !== row);
    const below = others.find((one) => clientY < one.getBoundingClientRect().top + one.offsetHeight / 2);
    if ((below ?? null) !== row.nextElementSibling) place(row, below ?? null);
  };
  const end = ({ pointerId }) => {
    if (pointerId !== event.pointerId) return;
    listening.abort();
    row.classList.remove("dragged");
    if (row.nextElementSibling !== start) announcePlace(row);
  };
  document.addEventListener("pointermove", move, { signal: listening.signal });
  for (const name of ["pointerup", "pointercancel"]) {
    document.addEventListener(name, end, { signal: listening.signal });
  }
});

for (const name of ["input", "change"]) {
  document.addEventListener(name, (event) => {
    if (!isField(event.target)) return;
    builder().toggleAttribute("data-changed", true);
    typedMeanwhile?.set(event.target.id, event.target);
  });
}
