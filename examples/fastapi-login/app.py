"""A site with a login by Nostr key, over plain HTTP: no client of Usher. Set USHER_TOKEN, then `uvicorn app:app`."""

import asyncio
import os
import secrets

import httpx
from fastapi import Cookie, FastAPI, Header, HTTPException, Response
from fastapi.responses import HTMLResponse

# The token can do everything in your name: it stays on the server, and no browser ever gets it.
usher = httpx.AsyncClient(
    base_url=os.environ.get("USHER_URL", "http://127.0.0.1:3000"),
    headers={"Authorization": f"Bearer {os.environ['USHER_TOKEN']}"},
    timeout=60,
    limits=httpx.Limits(max_connections=None),  # Each login that is waited for needs one.
)
app = FastAPI()

# A real app keeps these in its database.
sessions: dict[str, str] = {}  # session cookie → main_key, the user's id
logins: dict[str, asyncio.Task] = {}  # login cookie → the outcome that this browser waits for


async def start(path: str, body: dict, idempotency_key: str) -> dict:
    """Starts an operation. With one key for one intention, a repeated request starts nothing twice."""
    response = await usher.post(path, json=body, headers={"Idempotency-Key": idempotency_key})
    return response.raise_for_status().json()


async def last_event(stream_id: str) -> dict:
    """Waits for the end of an operation. Long polls: each keeps the request open until an event arrives."""
    after, event = 0, {}
    while True:
        response = await usher.get(f"/events/{stream_id}", params={"after": after, "wait": 30})
        page = response.raise_for_status().json()
        after, event = page["next"], (page["events"] or [event])[-1]
        if page["done"]:
            return event


@app.get("/", response_class=HTMLResponse)
async def home(session: str = Cookie("")) -> str:
    return f"<!doctype html><title>Hello</title><p>Hello {sessions[session]}" if session in sessions else PAGE


@app.post("/login")
async def login(response: Response, x_requested_by: str = Header("")) -> dict:
    """1. The browser asks for a login, and shows its URL to the user."""
    if x_requested_by != "app":  # Forms of other sites cannot set this header.
        raise HTTPException(403)
    if len(logins) >= 1000:  # Anybody can ask: this bounds the memory. A real app also limits each address.
        raise HTTPException(503)
    login_id = secrets.token_urlsafe()  # Only the browser that asked for this login is logged in by it.
    handshake = await start("/key-handshake", {}, login_id)
    logins[login_id] = asyncio.create_task(proof_of_key(handshake["stream_id"], login_id))
    asyncio.get_running_loop().call_later(1200, logins.pop, login_id, None)
    response.set_cookie("login", login_id, httponly=True, samesite="lax", max_age=1200)  # And `secure=True` behind TLS.
    return {"url": handshake["url"]}


async def proof_of_key(handshake: str, login_id: str) -> dict:
    """2. Waits until the user has opened the URL, and has then approved in their wallet."""
    if (event := await last_event(handshake)).get("type") != "KeyHandshake":
        return {"status": "timeout"}  # Nobody opened it in time.
    # A handshake is not a login: it tells which key the user has. Now they prove it.
    key = {"main_key": event["data"]["main_key"], "subkeys": []}
    operation = await start("/authenticate-key", key, f"{login_id}-challenge")
    return (await last_event(operation["stream_id"]))["data"]


@app.get("/login/result")
async def result(response: Response, login: str = Cookie("")) -> dict:
    """3. The browser waits for that, however often it asks."""
    if login not in logins:
        raise HTTPException(404)
    proof = await asyncio.shield(logins[login])
    if proof["status"] == "approved" and logins.pop(login, None):
        session = secrets.token_urlsafe()  # The session begins after `approved`, with a new id.
        sessions[session] = proof["main_key"]
        response.set_cookie("session", session, httponly=True, samesite="lax")
    return {"status": proof["status"]}


PAGE = """<!doctype html><title>Log in</title><button>Log in</button><p id="out"></p><script>
document.querySelector("button").onclick = async () => {
  const asked = await fetch("/login", { method: "POST", headers: { "x-requested-by": "app" } });
  out.textContent = "Open this in your wallet: " + (await asked.json()).url; // A real app shows a QR code.
  const { status } = await (await fetch("/login/result")).json();
  status === "approved" ? location.reload() : (out.textContent = status);
};</script>"""
