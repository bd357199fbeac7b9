// The OpenID provider of npm's oidc-provider, which the OpenID Foundation has certified. It runs in build/node and
// reads from standard input: {port, redirectUri, client, secret, accounts: {login: claims}, keys, published}. The last
// are other keys than those that sign, or null.
// `POST /tamper {how}` makes the answers that follow wrong in one way; an empty body makes them right again.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(`${process.cwd()}/`);
const load = (name) => import(pathToFileURL(require.resolve(name)));
const [{ Provider }, jose] = await Promise.all([load("oidc-provider"), load("jose")]);
const { port, redirectUri, client, secret, accounts, keys, published } = JSON.parse(readFileSync(0, "utf8"));

const own = await jose.importJWK(keys[0], "RS256");
const foreign = await jose.generateKeyPair("RS256");
let how = "";

// Signs the claims of a token again, with a key of the same name.
async function signAgain(token, key, changes = {}) {
  const claims = { ...jose.decodeJwt(token), ...changes };
  return new jose.SignJWT(claims).setProtectedHeader(jose.decodeProtectedHeader(token)).sign(key);
}

const tampering = {
  "foreign signature": async (body) => ({ ...body, id_token: await signAgain(body.id_token, foreign.privateKey) }),
  "another client": async (body) => ({
    ...body,
    id_token: await signAgain(body.id_token, own, { aud: "another-client" }),
  }),
  "a session of then": async (body) => ({
    ...body,
    id_token: await signAgain(body.id_token, own, { auth_time: Math.floor(Date.now() / 1000) - 3600 }),
  }),
};

const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [{ client_id: client, client_secret: secret, redirect_uris: [redirectUri] }],
  claims: { openid: ["sub", "fieldpost_role"], email: ["email", "email_verified"], profile: ["name"] },
  findAccount: (_context, id) => ({ accountId: id, claims: () => ({ sub: id, ...accounts[id] }) }),
  cookies: { keys: ["of tests"] },
  jwks: { keys },
  pkce: { required: () => true },
});

provider.use(async (context, next) => {
  if (how === "a session of then" && context.path === "/auth") {
    const query = { ...context.query }; // as an issuer does that knows neither parameter
    delete query.prompt;
    delete query.max_age;
    context.query = query;
  }
  await next();
  if (how in tampering && context.path === "/token") {
    context.body = await tampering[how](context.body);
  }
  if (published && context.path === "/jwks") {
    context.body = { keys: published };
  }
  if (how === "another sub" && context.path === "/me") {
    context.body = { ...context.body, sub: "somebody else" };
  }
});

const answer = provider.callback();
createServer((request, response) => {
  if (request.url !== "/tamper") {
    answer(request, response);
    return;
  }
  let body = "";
  request.on("data", (part) => {
    body += part;
  });
  request.on("end", () => {
    how = body;
    response.end();
  });
}).listen(port, "127.0.0.1");
