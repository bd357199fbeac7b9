/* Buttons that copy a block of code. Without this script they stay hidden, and the text can be selected. */
for (const button of document.querySelectorAll(".code button")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    const code = button.closest(".code").querySelector("code");
    try {
      await navigator.clipboard.writeText(code.textContent);
      say(button, "Copied");
    } catch {
      // No permission, or plain http: select the text, so that the keyboard can copy it.
      getSelection().selectAllChildren(code);
      say(button, "Press Ctrl+C");
    }
  });
}

function say(button, text) {
  button.textContent = text;
  button.setAttribute("aria-live", "polite");
  setTimeout(() => {
    button.textContent = "Copy";
  }, 2000);
}
