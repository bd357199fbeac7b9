/* Replies: a press on a value inserts its placeholder where the cursor is, in the subject or the text. */
const texts = [...document.querySelectorAll("#replies [name=subject], #replies [name=text]")];
let last = texts.at(-1);

for (const text of texts) {
  text.addEventListener("focus", () => {
    last = text;
  });
}
document.addEventListener("click", (event) => {
  const chip = event.target.closest("[data-inserts]");
  if (!chip) return;
  last.setRangeText(chip.dataset.inserts, last.selectionStart, last.selectionEnd, "end");
  last.focus();
  last.dispatchEvent(new Event("input", { bubbles: true }));
});
