/* Pages that say how hosted pages look: the preview follows the inputs, and a palette fills in a color. */
const PAUSE = 300; // milliseconds without typing
const LONGEST = 30_000; // characters of an address; the service takes 64 KiB of request line and headers

for (const form of document.querySelectorAll("form[data-look]")) {
  const frame = document.getElementById(form.dataset.look);
  let shown = frame.src;
  let waiting;
  const show = () => {
    const address = new URL(shown);
    for (const [name, value] of new FormData(form)) {
      if (name !== "csrfmiddlewaretoken") address.searchParams.set(name, value);
    }
    // Replaced, so that the browser's Back button leaves the page instead of undoing letters.
    if (address.href.length <= LONGEST) frame.contentWindow.location.replace(address);
  };
  form.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(show, PAUSE);
  });
  for (const link of document.querySelectorAll(`a[target="${frame.name}"]`)) {
    link.addEventListener("click", (event) => {
      event.preventDefault();
      shown = link.href;
      show();
    });
  }
}

for (const picker of document.querySelectorAll("[data-fills]")) {
  const input = document.getElementById(picker.dataset.fills);
  picker.addEventListener("input", () => {
    input.value = picker.value;
  });
  input.addEventListener("input", () => {
    if (/^#[0-9a-f]{6}$/i.test(input.value)) picker.value = input.value;
  });
}
