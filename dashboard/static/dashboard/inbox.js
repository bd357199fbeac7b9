/* Submissions: a row opens at a click, on wide screens next to the list; columns move; long actions continue. The
   address says which row is open (`open=`), so that it can be shared and Back closes it. */
const WIDE = matchMedia("(min-width: 80rem)");
const inbox = document.getElementById("inbox");
const side = document.getElementById("side");
const LINK = "a[data-opens]";

const rows = () => [...inbox.querySelectorAll("#list tbody tr")];
const current = () => inbox.querySelector("#list tr[aria-current]");
const idOf = (row) => row.querySelector("input[name=id]").value;
const opened = () => new URL(location).searchParams.get("open");

function addressWith(id) {
  const address = new URL(location);
  if (id) address.searchParams.set("open", id);
  else address.searchParams.delete("open");
  return address.href;
}

// One entry of the history for the panel, however many rows are looked at in it.
function open(row, remembers = true) {
  const link = row.querySelector(LINK);
  current()?.removeAttribute("aria-current");
  row.setAttribute("aria-current", "true");
  row.scrollIntoView({ block: "nearest" });
  if (remembers && opened()) history.replaceState(history.state, "", addressWith(idOf(row)));
  else if (remembers) {
    history.replaceState({ inbox: true }, ""); // or htmx would load the list again when Back closes the panel
    history.pushState({ inbox: true, pushed: true }, "", addressWith(idOf(row)));
  }
  const address = new URL(link.href);
  address.searchParams.set("part", "panel");
  inbox.classList.add("opened");
  side.setAttribute("aria-busy", "true");
  htmx.ajax("GET", address.href, { target: "#side", swap: "innerHTML" }).then(() => {
    side.removeAttribute("aria-busy");
    if (current() !== row) return;
    if (row.classList.contains("unread")) countRead(row);
    side.scrollTop = 0;
    side.querySelector("h2")?.focus({ preventScroll: true });
  });
}

function countRead(row) {
  row.classList.remove("unread");
  const count = inbox.querySelector("[data-unread]");
  const left = Number(count.textContent) - 1;
  if (left >= 0) count.textContent = left; // "99+" stays
  count.hidden = left === 0;
}

function close() {
  const row = current();
  row?.removeAttribute("aria-current");
  inbox.classList.remove("opened");
  side.replaceChildren();
  row?.querySelector(LINK).focus();
}

function leave() {
  if (history.state?.pushed) history.back();
  else {
    history.replaceState({ inbox: true }, "", addressWith(""));
    close();
  }
}

function step(by) {
  const all = rows();
  const next = all[all.indexOf(current()) + by];
  if (next) open(next);
}

function start() {
  // The row's link, and everything in the row that is nothing else to click at.
  inbox.addEventListener("click", (event) => {
    const row = event.target.closest("#list tbody tr");
    const link = row?.querySelector(LINK);
    const isPlain = !(event.ctrlKey || event.metaKey || event.shiftKey || event.altKey || event.button);
    if (!link || !isPlain || getSelection().toString()) return;
    if (event.target.closest("input, label, button, summary, a") && !event.target.closest(LINK)) return;
    if (WIDE.matches) {
      event.preventDefault();
      open(row);
    } else if (!event.target.closest("a")) link.click();
  });
  side.addEventListener("click", (event) => {
    const mover = event.target.closest("[data-step]");
    if (mover) step(Number(mover.dataset.step));
    if (event.target.closest("[data-closes-side]") && WIDE.matches) {
      event.preventDefault();
      leave();
    }
  });
  document.addEventListener("list:step", (event) => {
    if (!current()) return;
    event.preventDefault();
    step(event.detail);
  });
  // Before the listeners that close a menu, so that one press closes one thing.
  addEventListener(
    "keydown",
    (event) => {
      const isFree = !document.querySelector("details.menu[open], dialog[open], :popover-open");
      if (event.key === "Escape" && current() && isFree) leave();
    },
    true,
  );
  addEventListener("popstate", (event) => {
    if (!event.state?.inbox) return;
    const row = rows().find((one) => idOf(one) === opened());
    if (row) open(row, false);
    else if (opened()) location.reload();
    else close();
  });
  // Whatever it is, the whole page can show it.
  side.addEventListener("htmx:responseError", () => location.assign(current().querySelector(LINK).href));
  // A filter has replaced the list.
  document.addEventListener("htmx:afterSwap", (event) => {
    if (event.detail.target.id !== "list") return;
    inbox.classList.remove("opened");
    side.replaceChildren();
  });
  document.addEventListener("change", (event) => {
    const form = event.target.form;
    // Out of sight, the tick for the whole list must not count.
    if (event.target.name === "id" && !event.target.checked && form.elements.all) form.elements.all.checked = false;
  });
}

// Columns are saved together. The focus stays on the button.
document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-orders] button[name=up], [data-orders] button[name=down]");
  if (!button) return;
  event.preventDefault();
  const one = button.closest(".column-choice");
  const other = button.name === "up" ? one.previousElementSibling : one.nextElementSibling;
  if (!other?.matches(".column-choice")) return;
  if (button.name === "up") other.before(one);
  else other.after(one);
  button.focus();
});

if (inbox) start();
document.querySelector("form[data-continues]")?.requestSubmit();
