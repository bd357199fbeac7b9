// Makes the page of a recipe: `node build.mjs KIND ENTRY`, in the folder of our tools, prints HTML and script as JSON.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const require = createRequire(`${process.cwd()}/`);
const esbuild = require("esbuild");
const [kind, entry] = process.argv.slice(2);
const MOUNTS = {
  react: `import { createRoot } from "react-dom/client"; import { createElement } from "react";
    createRoot(document.querySelector("#app")).render(createElement(Recipe));`,
  next: `import { hydrateRoot } from "react-dom/client"; import { createElement } from "react";
    hydrateRoot(document.querySelector("#app"), createElement(Recipe));`,
  vue: `import { createApp } from "vue"; createApp(Recipe).mount("#app");`,
};
const SERVER = `import { renderToString } from "react-dom/server"; import { createElement } from "react";
  module.exports = renderToString(createElement(Recipe));`;
// Of Astro's renderer, as much as a page without components needs.
const ASTRO = `const escaped = (value) => String(value).replaceAll("&", "&amp;").replaceAll('"', "&quot;");
  export const render = (strings, ...parts) => String.raw({ raw: strings }, ...parts);
  export const createComponent = (make) => make;
  export const addAttribute = (value, name) => \` \${name}="\${escaped(value)}"\`;
  export const renderHead = () => "";
  export const createMetadata = () => ({});`;

const vue = {
  name: "vue",
  setup(build) {
    build.onLoad({ filter: /\.vue$/ }, ({ path }) => {
      const { parse, compileScript } = require("@vue/compiler-sfc");
      const { descriptor, errors } = parse(readFileSync(path, "utf8"), { filename: path });
      if (errors.length) throw errors[0];
      return { contents: compileScript(descriptor, { id: "recipe", inlineTemplate: true }).content, loader: "js" };
    });
  },
};

async function bundle(contents, options) {
  const built = await esbuild.build({
    stdin: { contents: `import Recipe from ${JSON.stringify(entry)};\n${contents}`, resolveDir: dirname(entry) },
    bundle: true,
    write: false,
    jsx: "automatic",
    define: { "process.env.NODE_ENV": '"production"', __VUE_OPTIONS_API__: "true", __VUE_PROD_DEVTOOLS__: "false" },
    nodePaths: [resolve("node_modules")],
    plugins: [vue],
    logLevel: "error",
    ...options,
  });
  return built.outputFiles[0].text;
}

function run(code) {
  const made = { exports: {} };
  new Function("require", "module", "exports", code)(require, made, made.exports);
  return made.exports;
}

async function astro() {
  const { transform } = await import(pathToFileURL(require.resolve("@astrojs/compiler")));
  const { code, diagnostics } = await transform(readFileSync(entry, "utf8"), { internalURL: "renderer" });
  if (diagnostics.length) throw new Error(JSON.stringify(diagnostics));
  const renderer = {
    name: "renderer",
    setup(build) {
      build.onResolve({ filter: /^renderer$/ }, () => ({ path: "renderer", namespace: "renderer" }));
      build.onLoad({ filter: /.*/, namespace: "renderer" }, () => ({ contents: ASTRO }));
      build.onLoad({ filter: /\.astro$/ }, () => ({ contents: code, loader: "ts" }));
    },
  };
  return run(await bundle("module.exports = Recipe({}, {}, {});", { platform: "node", plugins: [renderer] }));
}

if (kind === "astro") {
  show(await astro(), "");
} else {
  const html = kind === "next" ? run(await bundle(SERVER, { platform: "node" })) : "";
  show(html, await bundle(MOUNTS[kind], {}));
}

function show(html, script) {
  // The compiler's WebAssembly would keep the process.
  process.stdout.write(JSON.stringify({ html, script }), () => process.exit(0));
}
