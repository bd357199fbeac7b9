// Adds counters to the script on standard input: which branches ran is then in window.__coverage__.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const require = createRequire(`${process.cwd()}/`);
const { createInstrumenter } = require("istanbul-lib-instrument");
// No `new Function`, which istanbul would use to find the global object: pages forbid eval.
const instrumenter = createInstrumenter({ coverageGlobalScopeFunc: false, coverageGlobalScope: "window" });
process.stdout.write(instrumenter.instrumentSync(readFileSync(0, "utf8"), "forms.js"));
