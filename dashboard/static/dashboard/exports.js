/* Shows the progress of the service while the browser downloads. The download itself is a plain form post. */
const form = document.getElementById("export");
form?.addEventListener("submit", () => {
  htmx.ajax("GET", form.dataset.progress, { target: "#progress", swap: "outerHTML" });
});
