/* While the browser downloads, the page shows how far the service is: the download itself stays a plain form post. */
const form = document.getElementById("export");
form?.addEventListener("submit", () => {
  htmx.ajax("GET", form.dataset.progress, { target: "#progress", swap: "outerHTML" });
});
