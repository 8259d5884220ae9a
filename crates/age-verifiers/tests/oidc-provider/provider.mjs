// An OpenID Connect provider for the tests of age verification (crates/age-verifiers/tests/oidc.rs). Typing a name of USERS
// into its login form logs in as that user. It prints its port, then reads the client's redirect URI.
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

// scripts/test installs the package elsewhere.
const require = createRequire(`${process.env.USHER_TEST_OIDC_PROVIDER}/package.json`);
const { Provider } = await import(pathToFileURL(require.resolve("oidc-provider")).href);

const USERS = {
  adult: { birthdate: "1970-01-02", given_name: "Zacharias", family_name: "Nobodyknows" },
  minor: { birthdate: "2020-03-04", given_name: "Wilhelmina", family_name: "Nobodyknows" },
};

const server = createServer();
await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
const { port } = server.address();
console.log(port);
const [client_id, client_secret] = process.argv.slice(2);
const lines = createInterface({ input: process.stdin });
const redirect_uri = (await lines[Symbol.asyncIterator]().next()).value;

const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [{ client_id, client_secret, redirect_uris: [redirect_uri], grant_types: ["authorization_code"] }],
  claims: { openid: ["sub"], profile: ["birthdate", "given_name", "family_name"] },
  pkce: { required: () => true },
  findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, ...USERS[id] }) }),
  cookies: { keys: ["a test"] },
});
server.on("request", provider.callback());
// Ends with the test.
lines.on("close", () => process.exit());
