/* Shows on the page why a passkey was not created or not accepted; allauth's scripts only log to the console. */
const REASONS = {
  NotAllowedError: "Nothing happened: the request was canceled or took too long. Try again.",
  InvalidStateError: "This device already has a passkey for this account.",
  SecurityError: `Passkeys need a host name, and https unless it is localhost. This page came from ${location.origin}.`,
  NotSupportedError: "This device cannot create such a passkey.",
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
