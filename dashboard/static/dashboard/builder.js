/* The form builder with scripts: buttons act without a reload, fields can be dragged, leaving asks for confirmation. */
let changed = false;

const builder = () => document.getElementById("builder");
const say = (text) => {
  document.getElementById("announcement").textContent = text;
};

// Buttons that change the list are plain submit buttons; here htmx sends them and swaps in the response.
document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-swaps]");
  if (!button) return;
  event.preventDefault();
  if (button.getAttribute("aria-disabled") === "true") return;
  const values = { [button.name]: button.value };
  htmx
    .ajax("POST", button.form.action, { source: button, values, target: "#builder", swap: "outerHTML" })
    .then(() => focusAfter(button.id));
});

function focusAfter(id) {
  changed = true;
  const [verb, key] = [id.slice(0, id.indexOf("-")), id.slice(id.indexOf("-") + 1)];
  const rows = [...builder().querySelectorAll(".row-card")];
  if (id === "add") rows.at(-1)?.querySelector("input.form-control").select();
  else if (verb === "remove") document.getElementById("add").focus();
  else {
    const same = document.getElementById(id);
    const other = document.getElementById(`${verb === "up" ? "down" : "up"}-${key}`);
    (same?.getAttribute("aria-disabled") === "true" ? other : same)?.focus();
  }
}

document.addEventListener("keydown", (event) => {
  const row = event.altKey && event.target.closest?.(".row-card");
  if (!row || !["ArrowUp", "ArrowDown"].includes(event.key)) return;
  event.preventDefault();
  const sibling = event.key === "ArrowUp" ? row.previousElementSibling : row.nextElementSibling;
  if (!sibling) return;
  place(row, event.key === "ArrowUp" ? sibling : sibling.nextElementSibling);
  event.target.focus();
  announcePlace(row);
});

function place(row, before) {
  row.parentElement.insertBefore(row, before);
  const rows = [...row.parentElement.children];
  for (const one of rows) {
    one.querySelector("[id^=up-]").ariaDisabled = one === rows[0] ? "true" : null;
    one.querySelector("[id^=down-]").ariaDisabled = one === rows.at(-1) ? "true" : null;
  }
}

function announcePlace(row) {
  const rows = [...row.parentElement.children];
  const label = row.querySelector("input.form-control").value || "Field";
  say(`${label}, now ${rows.indexOf(row) + 1} of ${rows.length}.`);
  row.querySelector("input.form-control").dispatchEvent(new Event("change", { bubbles: true }));
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

document.addEventListener("change", (event) => {
  if (event.target.closest("#builder-form") && event.target.id !== "new-type") changed = true;
});
document.addEventListener("input", (event) => {
  if (event.target.closest("#builder-form") && event.target.id !== "new-type") changed = true;
});
document.addEventListener("submit", (event) => {
  if (event.target.id !== "builder-form") return;
  changed = false;
  builder().removeAttribute("data-changed");
});
addEventListener("beforeunload", (event) => {
  if (changed || builder()?.hasAttribute("data-changed")) event.preventDefault();
});
