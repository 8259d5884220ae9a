"""Logs users in with OpenID Connect: nothing here knows Nostr or Usher. `pip install -r requirements.txt`, `flask run`.

`usher dev` has the client `demo`. For a service of your own, in its config.toml:

    [[oidc.clients]]
    id = "demo"
    secret = "<openssl rand -hex 32>"   # the same in CLIENT_SECRET
    name = "The App"
    redirect_uris = ["http://127.0.0.1:5000/callback"]
"""

import os
import secrets

from authlib.integrations.flask_client import OAuth
from flask import Flask, redirect, session, url_for

app = Flask(__name__)
# A real app keeps its key, so that its sessions outlive a restart.
app.config.update(SECRET_KEY=secrets.token_hex(32), SESSION_COOKIE_SAMESITE="Lax")
usher = OAuth(app).register(
    "usher",
    client_id="demo",
    client_secret=os.environ["CLIENT_SECRET"],
    server_metadata_url=os.environ.get("USHER_URL", "http://127.0.0.1:3000") + "/.well-known/openid-configuration",
    client_kwargs={"scope": "openid", "code_challenge_method": "S256"},
)


@app.get("/login")
def login():
    return usher.authorize_redirect(url_for("callback", _external=True))


@app.get("/callback")
def callback():
    session["user"] = usher.authorize_access_token()["userinfo"]["sub"]  # The user's public key.
    return redirect("/")


@app.get("/")
def home():
    return f"You are {session['user']}." if "user" in session else '<a href="/login">Log in with Nostr</a>'
