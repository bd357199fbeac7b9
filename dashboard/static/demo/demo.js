/* Fetches the newest submissions: after a form was sent, and every second, for submissions by curl. */
const list = document.getElementById("latest");
let shown;
const refresh = async () => {
  const answer = await fetch(list.dataset.address).catch(() => null);
  const text = answer?.ok ? await answer.text() : shown;
  if (text !== shown) list.innerHTML = text; // escaped by the service's templates
  shown = text;
};
document.addEventListener("fieldpost:success", refresh);
setInterval(() => document.hidden || refresh(), 1000);
