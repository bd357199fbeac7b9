/* Says on the page why a passkey was not made or not taken; allauth's scripts only tell the console. */
const REASONS = {
  NotAllowedError: "Nothing happened: it was cancelled, or took too long. Try again.",
  InvalidStateError: "This device has a passkey for this account already.",
  SecurityError: `Passkeys need a host name, and https unless it is localhost. This page came from ${location.origin}.`,
  NotSupportedError: "This device cannot make such a passkey.",
};

document.addEventListener("allauth.error", (event) => {
  event.preventDefault();
  let notice = document.getElementById("passkey-error");
  if (!notice) {
    notice = document.createElement("div");
    notice.id = "passkey-error";
    notice.className = "notice error";
    notice.setAttribute("role", "alert");
    document.querySelector("main h1").after(notice);
  }
  const text = document.createElement("p");
  text.textContent = REASONS[event.detail.exception.name] || "That did not work. Try again, or use your password.";
  notice.replaceChildren(text);
});
