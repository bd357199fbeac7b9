/* On a hosted page that asks for proof of work: compute it when the form is sent, then send it on. */
const SOLVER = "/forms.proof.js";
// The only script that the page may add: its policy requires trusted types, where the browser has them.
const trusted = globalThis.trustedTypes?.createPolicy("fieldpost", { createScriptURL: () => SOLVER });
for (const form of document.querySelectorAll("form[data-proof-of-work]")) {
  const proof = form.elements.namedItem("_altcha");
  const working = form.querySelector(".working");
  const button = form.querySelector("button");
  const busy = (is) => {
    button.disabled = is;
    working.hidden = !is;
    form.setAttribute("aria-busy", is);
  };
  const challenge = new URL(`/f/challenge?formId=${form.dataset.proofOfWork}`, location.href);
  const solve = () =>
    new Promise((done, failed) => {
      const tag = document.createElement("script");
      tag.onload = () => tag.solve(challenge).then(done, failed);
      tag.onerror = failed;
      document.head.append(Object.assign(tag, { src: trusted ? trusted.createScriptURL(SOLVER) : SOLVER }));
    });
  form.addEventListener("submit", async (event) => {
    if (proof.value) return;
    event.preventDefault();
    if (button.disabled) return;
    busy(true);
    try {
      proof.value = await solve();
    } catch {
      // Sent without it: the service says that the proof is missing, and keeps the typed values.
    }
    busy(false);
    HTMLFormElement.prototype.submit.call(form);
  });
  // Back to this page by the browser's button: a proof is good for one submission.
  addEventListener("pageshow", () => {
    proof.value = "";
    busy(false);
  });
}
