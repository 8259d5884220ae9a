// An app that logs users in with OpenID Connect, of another implementation: npm openid-client.
//
// node relying-party.mjs <client id> <client secret, or - for a public client> <scopes>
// Prints its port. Then each line of its input is a command as JSON, and each line of its output the result:
// {"issuer": "…"}: discovers the provider. {"refresh": "…"}: uses a refresh token. {"end_session": "<id token>"}: the address.
// In the browser: /login begins a login and /callback ends it; its result is printed and shown.
import { webcrypto } from "node:crypto";
import { createServer } from "node:http";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

// Node.js 18, which is Debian's, has it under another name.
globalThis.crypto ??= webcrypto;

const package_ = `${process.env.USHER_TEST_OPENID_CLIENT}/node_modules/openid-client/build/index.js`;
const oidc = await import(pathToFileURL(package_));
const [clientId, secret, scope] = process.argv.slice(2);
let config;
// One browser at a time.
let login;

const say = (value) => console.log(JSON.stringify(value));

const server = createServer(async (request, response) => {
  const origin = `http://127.0.0.1:${server.address().port}`;
  const url = new URL(request.url, origin);
  try {
    if (url.pathname === "/login") {
      const verifier = oidc.randomPKCECodeVerifier();
      login = { verifier, state: oidc.randomState(), nonce: oidc.randomNonce() };
      const target = oidc.buildAuthorizationUrl(config, {
        redirect_uri: `${origin}/callback`,
        scope,
        state: login.state,
        nonce: login.nonce,
        code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
        code_challenge_method: "S256",
        ...Object.fromEntries(url.searchParams),
      });
      response.writeHead(303, { location: target.href }).end();
    } else if (url.pathname === "/callback") {
      let answer = url;
      if (request.method === "POST") {
        const chunks = [];
        for await (const chunk of request) chunks.push(chunk);
        const headers = { "content-type": request.headers["content-type"] };
        answer = new Request(url, { method: "POST", headers, body: Buffer.concat(chunks) });
      }
      const tokens = await oidc.authorizationCodeGrant(config, answer, {
        pkceCodeVerifier: login.verifier,
        expectedState: login.state,
        expectedNonce: login.nonce,
        idTokenExpected: true,
      });
      const claims = tokens.claims();
      const user = await oidc.fetchUserInfo(config, tokens.access_token, claims.sub);
      say({ claims, user, tokens });
      response.writeHead(200, { "content-type": "text/html" }).end("<!doctype html><title>app</title><p id=done>logged in");
    } else if (url.pathname === "/bye") {
      response.writeHead(200, { "content-type": "text/html" }).end("<!doctype html><title>app</title><p id=bye>logged out");
    } else {
      response.writeHead(204).end();
    }
  } catch (error) {
    say({ error: error.error ?? error.code ?? String(error) });
    response.writeHead(200, { "content-type": "text/html" }).end("<!doctype html><title>app</title><p id=failed>failed");
  }
});

server.listen(0, "127.0.0.1", () => console.log(server.address().port));

createInterface({ input: process.stdin }).on("line", async (line) => {
  try {
    const command = JSON.parse(line);
    if (command.issuer) {
      const authentication = secret === "-" ? oidc.None() : oidc.ClientSecretBasic(secret);
      const options = { execute: [oidc.allowInsecureRequests] };
      config = await oidc.discovery(new URL(command.issuer), clientId, command.metadata ?? {}, authentication, options);
      say({ discovered: config.serverMetadata().issuer });
    } else if (command.refresh) {
      const tokens = await oidc.refreshTokenGrant(config, command.refresh);
      say({ claims: tokens.claims(), tokens });
    } else if (command.end_session) {
      const parameters = {
        id_token_hint: command.end_session,
        post_logout_redirect_uri: `http://127.0.0.1:${server.address().port}/bye`,
      };
      say({ address: oidc.buildEndSessionUrl(config, parameters).href });
    }
  } catch (error) {
    say({ error: error.error ?? error.code ?? String(error) });
  }
}).on("close", () => process.exit(0));
