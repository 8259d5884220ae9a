"""An app that logs users in with OpenID Connect, of another implementation: PyPI Authlib.

relying_party.py <client id> <client secret, or - for a public client> <scopes>
Prints its port. Then each line of its input is a command as JSON, and each line of its output the result:
{"issuer": "…"}: discovers the provider. {"refresh": "…"}: uses a refresh token.
In the browser: /login begins a login and /callback ends it; its result is printed and shown.
"""

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit

import requests
from authlib.common.security import generate_token
from authlib.integrations.requests_client import OAuth2Session
from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.jwk import KeySet

client_id, secret, scope = sys.argv[1:4]
found, login = {}, {}


def say(value):
    print(json.dumps(value), flush=True)


def session():
    method = "none" if secret == "-" else "client_secret_post"
    return OAuth2Session(
        client_id,
        None if secret == "-" else secret,
        scope=scope,
        redirect_uri=f"http://127.0.0.1:{server.server_port}/callback",
        code_challenge_method="S256",
        token_endpoint_auth_method=method,
    )


def verified(tokens):
    keys = KeySet.import_key_set(requests.get(found["jwks_uri"], timeout=30).json())
    token = jwt.decode(tokens["id_token"], keys, algorithms=["RS256", "ES256"])
    options = {"iss": {"value": found["issuer"]}, "aud": {"value": client_id}}
    params = {"nonce": login.get("nonce"), "client_id": client_id, "access_token": tokens["access_token"]}
    claims = CodeIDToken(token.claims, token.header, options, params)
    claims.validate()
    return dict(claims)


class App(BaseHTTPRequestHandler):
    def do_GET(self):
        url = urlsplit(self.path)
        try:
            if url.path == "/login":
                login.update(verifier=generate_token(48), nonce=generate_token(20))
                target, login["state"] = session().create_authorization_url(
                    found["authorization_endpoint"],
                    code_verifier=login["verifier"],
                    nonce=login["nonce"],
                    **dict(parse_qsl(url.query)),
                )
                self.send_response(303)
                self.send_header("location", target)
                self.end_headers()
                return
            if url.path == "/callback":
                answer = dict(parse_qsl(url.query))
                assert answer.get("iss") == found["issuer"], "mix-up"
                app = session()
                tokens = app.fetch_token(
                    found["token_endpoint"],
                    authorization_response=f"http://127.0.0.1:{server.server_port}{self.path}",
                    state=login["state"],
                    code_verifier=login["verifier"],
                )
                claims = verified(tokens)
                user = app.get(found["userinfo_endpoint"], timeout=30).json()
                say({"claims": claims, "user": user, "tokens": dict(tokens)})
                self.page("done")
                return
            self.send_response(204)
            self.end_headers()
        except Exception as error:
            say({"error": getattr(error, "error", None) or repr(error)})
            self.page("failed")

    def page(self, name):
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(f"<!doctype html><title>app</title><p id={name}>{name}".encode())

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), App)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.server_port, flush=True)
for line in sys.stdin:
    command = json.loads(line)
    try:
        if "issuer" in command:
            found = requests.get(f"{command['issuer']}/.well-known/openid-configuration", timeout=30).json()
            say({"discovered": found["issuer"]})
        elif "refresh" in command:
            login.pop("nonce", None)
            tokens = session().refresh_token(found["token_endpoint"], refresh_token=command["refresh"])
            say({"claims": verified(tokens), "tokens": dict(tokens)})
    except Exception as error:
        say({"error": getattr(error, "error", None) or repr(error)})
