/* Submissions per day, drawn by uPlot in the colors of the page. The table below shows the same numbers. */
const place = document.getElementById("chart");
const columns = JSON.parse(document.getElementById("chart-data").textContent);
const scheme = matchMedia("(prefers-color-scheme: dark)");
const DAY = 86400; // seconds
let chart = null;

// Tokens are `light-dark(…)`, which a canvas does not understand; the computed color of an element is resolved.
function color(token) {
  place.style.color = `var(${token})`;
  const found = getComputedStyle(place).color;
  place.style.color = "";
  return found;
}

function draw() {
  chart?.destroy();
  const [ink, line, accent, spam] = ["--quiet", "--hairline", "--accent", "--line"].map(color);
  const font = `12px ${getComputedStyle(place).fontFamily}`;
  const axis = { stroke: ink, font, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 } };
  const whole = (_, ticks) => ticks.map((tick) => (Number.isInteger(tick) ? tick.toLocaleString() : ""));
  const bars = uPlot.paths.bars({ size: [0.7, 40] });
  const options = {
    width: place.clientWidth,
    height: 220,
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC"),
    // Half a day more at both ends: a bar is centered on its day, and would be cut.
    scales: {
      x: { range: (_, min, max) => [min - DAY / 2, max + DAY / 2] },
      y: { range: (_, _min, max) => [0, Math.max(4, max * 1.1)] },
    },
    legend: { live: true },
    cursor: { y: false },
    axes: [
      { ...axis, values: [[DAY, "{MMM} {D}", null, null, null, null, null, null, 1]] },
      { ...axis, values: whole, size: 60 },
    ],
    series: [
      { value: (_, seconds) => (seconds ? new Date(seconds * 1000).toISOString().slice(0, 10) : "") },
      { label: "Received", width: 0, stroke: accent, fill: accent, paths: bars, points: { show: false } },
      { label: "Spam", width: 0, stroke: spam, fill: spam, paths: bars, points: { show: false } },
    ],
  };
  chart = new uPlot(options, columns, place);
}

draw();
scheme.addEventListener("change", draw);
new ResizeObserver(() => chart.setSize({ width: place.clientWidth, height: 220 })).observe(place);
