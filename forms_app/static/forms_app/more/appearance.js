/* Messages that a theme hides, or that have nearly the color of their background. */
import { adopter } from "./sheets.js";

const READABLE = 4.5; // contrast of normal text (WCAG 2.2, 1.4.3)
const SHOWN = "data-fieldpost-shown";
const TONE = "data-fieldpost-tone";
// Attributes and an adopted style sheet: a page's policy may forbid inline styles. Tripled, to win over `!important`.
const important = (selector, rule) => `${selector.repeat(3)}:not([hidden]) { ${rule} !important }`;
const RULES = [
  important(`[${SHOWN}]`, "visibility: visible"),
  important(`[${SHOWN}="display"]`, "display: block"),
  important(`[${TONE}="dark"]`, "color: #000"),
  important(`[${TONE}="light"]`, "color: #fff"),
].join("\n");
const adopt = adopter(RULES);

const parentOf = (node) => node.parentElement || node.getRootNode().host;

/** Yields an element and those around it, out of shadow roots too. */
function* chain(element) {
  for (let at = element; at; at = parentOf(at)) yield at;
}

/** Returns any CSS color as [red, green, blue, alpha], each from 0 to 255. */
const pixelOf = (color) => {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 1;
  const context = canvas.getContext("2d");
  context.fillStyle = color;
  context.fillRect(0, 0, 1, 1);
  return context.getImageData(0, 0, 1, 1).data;
};

/** Returns the relative luminance of a color (WCAG 2.2). */
const luminance = (color) => {
  const [red, green, blue] = [...pixelOf(color)].map((part) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
};

const contrast = (one, other) => (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);

/** Returns the nearest background that covers what is behind it. */
const backgroundOf = (element) => {
  for (const at of chain(element)) {
    const color = getComputedStyle(at).backgroundColor;
    if (pixelOf(color)[3] > 127) return color;
  }
  return matchMedia("(prefers-color-scheme: dark)").matches &&
    getComputedStyle(document.documentElement).colorScheme.includes("dark")
    ? "#000"
    : "#fff";
};

/** Shows a message whose theme hides it, or what is around it, by `display` or `visibility`. */
const unhide = (message) => {
  for (const at of chain(message)) {
    const { display, visibility } = getComputedStyle(at);
    if (display === "none") at.setAttribute(SHOWN, "display");
    else if (visibility === "hidden" && !at.hasAttribute(SHOWN)) at.setAttribute(SHOWN, "");
  }
};

/** Gives an element black or white text where its color is too close to its background. */
export const tint = (element) => {
  adopt(element.getRootNode());
  element.removeAttribute(TONE);
  const background = luminance(backgroundOf(element));
  if (contrast(luminance(getComputedStyle(element).color), background) < READABLE)
    element.setAttribute(TONE, contrast(background, 0) > contrast(background, 1) ? "dark" : "light");
};

/** Brings a message into view, in a color that can be read. A field in error that has the focus stays in view. */
export const reveal = (message) => {
  adopt(message.getRootNode());
  unhide(message);
  // A form directly inside a table has no box, so its children are not drawn either.
  const table = !message.getClientRects().length && message.closest("table");
  if (table) table.after(message);
  tint(message);
  const { activeElement } = message.getRootNode();
  if (!activeElement?.matches("[aria-invalid=true]")) message.scrollIntoView({ block: "nearest" });
};
