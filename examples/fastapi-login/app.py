"""A site with a login by Nostr key, over plain HTTP: no client of Usher. Set USHER_TOKEN, then `uvicorn app:app --port 8080`.

`usher dev` leads users back here; for a service of your own, set pages.return_urls = ["http://127.0.0.1:8080/"]
"""

import os
import secrets

import httpx
from fastapi import Cookie, FastAPI, Header, HTTPException
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse

# The token can do everything in your name: it stays on the server, and no browser ever gets it.
usher = httpx.AsyncClient(
    base_url=os.environ.get("USHER_URL", "http://127.0.0.1:3000"),
    headers={"Authorization": f"Bearer {os.environ['USHER_TOKEN']}"},
    timeout=60,
)
HOME = f"http://127.0.0.1:{os.environ.get('PORT', '8080')}"
COOKIE = {"httponly": True, "samesite": "lax"}  # And `secure=True` behind TLS.
app = FastAPI()

# A real app keeps these in its database.
sessions: dict[str, str] = {}  # session cookie → main_key, the user's id


async def post(path: str, body: dict, idempotency_key: str) -> dict:
    """With one key for one intention, a repeated request does nothing twice."""
    response = await usher.post(path, json=body, headers={"Idempotency-Key": idempotency_key})
    if response.is_error:  # The body says what is wrong, and in which field.
        raise RuntimeError(f"Usher answers {response.status_code} to POST {path}: {response.text}")
    return response.json()


@app.get("/", response_class=HTMLResponse)
async def home(session: str = Cookie("")) -> str:
    return f"<!doctype html><title>Hello</title><p>Hello {sessions[session]}" if session in sessions else PAGE


@app.post("/login")
async def login(x_requested_by: str = Header("")) -> JSONResponse:
    """1. The browser asks for a login, and goes to its page. A real app limits how often each address may ask."""
    if x_requested_by != "app":  # Forms of other sites cannot set this header.
        raise HTTPException(403)
    started = await post("/login", {"return_url": f"{HOME}/login/done"}, secrets.token_urlsafe())
    response = JSONResponse({"page_url": started["page_url"]})
    # Only the browser that asked for this login is logged in by it.
    response.set_cookie("login", started["stream_id"], **COOKIE)
    return response


@app.get("/login/done")
async def done(stream_id: str = "", code: str = "", login: str = Cookie("")) -> RedirectResponse:
    """2. The page leads the browser back here, with a code if the user has approved."""
    response = RedirectResponse("/", 303)
    if code and login and stream_id == login:
        user = await post(f"/login/{stream_id}/redeem", {"code": code}, stream_id)
        session = secrets.token_urlsafe()  # The session begins now, with a new id.
        sessions[session] = user["main_key"]
        response.delete_cookie("login", **COOKIE)
        response.set_cookie("session", session, **COOKIE)
    return response


PAGE = """<!doctype html><title>Log in</title><button>Log in</button><script>
document.querySelector("button").onclick = async () => {
  const asked = await fetch("/login", { method: "POST", headers: { "x-requested-by": "app" } });
  location.href = (await asked.json()).page_url;
};</script>"""
