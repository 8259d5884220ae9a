// An OpenID Connect provider for the tests of age verification (crates/testing/src/oidc_provider.rs). Typing a name of
// USERS into its login form logs in as that user. It prints its port, reads the client's redirect URI, and prints what it
// sends to the client, one JSON object a line.
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

// scripts/test installs the package elsewhere.
const require = createRequire(`${process.env.USHER_TEST_OIDC_PROVIDER}/package.json`);
const { Provider } = await import(pathToFileURL(require.resolve("oidc-provider")).href);

const FAMILY = {
  family_name: "Nobodyknows",
  address: { street_address: "Hiddenlane 77", locality: "Nowhereville", postal_code: "QX-90417" },
  phone_number: "+49-151-55501234",
  picture: "https://pictures.example/face-of-a-nobodyknows.png",
  zoneinfo: "Europe/Nowhereville",
};
const USERS = {
  adult: {
    ...FAMILY,
    birthdate: "1970-01-02",
    name: "Zacharias Q. Nobodyknows",
    given_name: "Zacharias",
    nickname: "zachyboy",
    preferred_username: "zq-nobodyknows",
    email: "zacharias@nobodyknows.example",
  },
  minor: {
    ...FAMILY,
    birthdate: "2020-03-04",
    name: "Wilhelmina Nobodyknows",
    given_name: "Wilhelmina",
    email: "wilhelmina@nobodyknows.example",
  },
};
const profile = [...new Set(Object.values(USERS).flatMap(Object.keys))];

const server = createServer();
await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
const { port } = server.address();
console.log(port);
const [client_id, client_secret] = process.argv.slice(2);
const lines = createInterface({ input: process.stdin });
const redirect_uri = (await lines[Symbol.asyncIterator]().next()).value;

const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [{ client_id, client_secret, redirect_uris: [redirect_uri], grant_types: ["authorization_code"] }],
  claims: { openid: ["sub"], profile },
  // A careless provider: it sends all it knows, and in the ID token too.
  conformIdTokenClaims: false,
  pkce: { required: () => true },
  findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: `subject-${id}-52c1`, ...USERS[id] }) }),
  cookies: { keys: ["a test"] },
});
provider.use(async (context, next) => {
  const referer = context.get("referer");
  if (referer && !referer.startsWith(provider.issuer)) {
    console.log(JSON.stringify({ referer }));
  }
  await next();
  const location = context.response.get("location");
  if (location.startsWith(redirect_uri)) {
    console.log(JSON.stringify({ code: new URL(location).searchParams.get("code") }));
  }
  const { id_token, access_token } = context.body ?? {};
  if (id_token) {
    const claims = JSON.parse(Buffer.from(id_token.split(".")[1], "base64url"));
    console.log(JSON.stringify({ claims, id_token, access_token }));
  } else if (context.oidc?.route === "userinfo") {
    console.log(JSON.stringify({ claims: context.body }));
  }
});
server.on("request", provider.callback());
// Ends with the test.
lines.on("close", () => process.exit());
