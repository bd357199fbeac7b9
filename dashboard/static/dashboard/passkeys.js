/* Shows on the page why a passkey was not created or not accepted; allauth's scripts only log to the console. */
const reasons = JSON.parse(document.getElementById("passkey-words").textContent);

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
  const reason = reasons[event.detail.exception.name] ?? reasons[""];
  text.textContent = reason.replace("{origin}", location.origin);
  notice.replaceChildren(text);
});
