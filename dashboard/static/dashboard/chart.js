/* The numbers of one day of a chart, at the pointer, at the finger, or with the arrow keys. */
const words = JSON.parse(document.getElementById("words").textContent);
const days = (chart) => [...chart.querySelectorAll(".day")];

function prepare(root) {
  for (const chart of root.querySelectorAll("[data-chart]:not([tabindex])")) {
    for (const title of chart.querySelectorAll(".day > title")) title.remove(); // a second tip, later and in gray
    chart.tabIndex = 0;
    chart.setAttribute("role", "group");
    chart.setAttribute("aria-label", words.chart);
    const tip = document.createElement("div");
    tip.className = "tip";
    tip.role = "status";
    tip.hidden = true;
    chart.append(tip);
    chart.addEventListener("pointermove", (event) => show(chart, under(chart, event)));
    chart.addEventListener("pointerdown", (event) => show(chart, under(chart, event)));
    chart.addEventListener("pointerleave", (event) => event.pointerType !== "touch" && hide(chart));
    chart.addEventListener("blur", () => hide(chart));
    chart.addEventListener("keydown", (event) => walk(chart, event));
  }
}

// The whole height of a day counts, and the room below it, where a finger covers no bar.
function under(chart, event) {
  const plot = chart.querySelector(".plot").getBoundingClientRect();
  const all = days(chart);
  const place = Math.floor(((event.clientX - plot.left) / plot.width) * all.length);
  return all[Math.min(Math.max(place, 0), all.length - 1)];
}

function walk(chart, event) {
  const all = days(chart);
  const last = all.length - 1;
  const at = all.findIndex((day) => day.classList.contains("shown"));
  const from = at < 0 ? last + 1 : at;
  const next = { ArrowLeft: from - 1, ArrowRight: at < 0 ? 0 : at + 1, Home: 0, End: last }[event.key];
  if (event.key === "Escape") hide(chart);
  if (next === undefined) return;
  event.preventDefault();
  show(chart, all[Math.min(Math.max(next, 0), last)]);
}

function show(chart, day) {
  const tip = chart.querySelector(".tip");
  if (day.classList.contains("shown")) return;
  hide(chart);
  day.classList.add("shown");
  const { day: name, kept, spam } = day.dataset;
  tip.replaceChildren(line("strong", name), line("span", kept), line("span", spam));
  tip.hidden = false;
  const bar = day.querySelector(".slot").getBoundingClientRect();
  const frame = chart.getBoundingClientRect();
  const middle = bar.left + bar.width / 2 - frame.left - tip.offsetWidth / 2;
  tip.style.left = `${Math.min(Math.max(middle, 0), frame.width - tip.offsetWidth)}px`;
}

function line(element, textContent) {
  return Object.assign(document.createElement(element), { textContent });
}

function hide(chart) {
  chart.querySelector(".shown")?.classList.remove("shown");
  chart.querySelector(".tip").hidden = true;
}

prepare(document);
document.addEventListener("htmx:load", (event) => prepare(event.detail.elt.parentElement ?? document));
