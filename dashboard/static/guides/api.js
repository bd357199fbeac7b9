/* The API reference: Swagger UI in the place of the plain list, and a menu that opens its operations. */
const place = document.getElementById("reference");
const reference = document.createElement("div");
const menu = document.querySelector(".guides-menu");
const order = [...menu.querySelectorAll("a")].map((link) => link.hash.split("/")[2]);
const rank = (operation) => order.indexOf(operation.getIn(["operation", "operationId"]));

const ui = SwaggerUIBundle({
  url: place.dataset.schema,
  domNode: reference,
  deepLinking: true,
  docExpansion: "list",
  operationsSorter: (one, other) => rank(one) - rank(other),
  defaultModelsExpandDepth: -1,
  displayRequestDuration: true,
  validatorUrl: null, // would be another host
  syntaxHighlight: { activated: false },
  onComplete() {
    place.replaceWith(reference);
    open(location.hash);
  },
});

menu.addEventListener("click", (event) => {
  const link = event.target.closest("a");
  if (!link) return;
  event.preventDefault();
  history.pushState(null, "", link.hash);
  open(link.hash);
});
addEventListener("popstate", () => open(location.hash));

// "#/Forms/listForms"
function open(hash) {
  const [, tag, operation] = hash.split("/").map(decodeURIComponent);
  if (!operation) return;
  ui.layoutActions.show(["operations-tag", tag.replaceAll("_", " ")], true);
  ui.layoutActions.show(["operations", tag.replaceAll("_", " "), operation], true);
  requestAnimationFrame(() =>
    setTimeout(() => document.getElementById(`operations-${tag}-${operation}`)?.scrollIntoView(), 50),
  );
}
