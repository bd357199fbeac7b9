/* Style sheets of ours in a page that may forbid inline styles. */

/** Returns a function that gives the rules to a document or a shadow root, once. */
export const adopter = (rules) => {
  const sheeted = new WeakSet(); // those that have them
  return (root) => {
    if (sheeted.has(root)) return;
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(rules);
    root.adoptedStyleSheets = [...root.adoptedStyleSheets, sheet];
    sheeted.add(root);
  };
};
