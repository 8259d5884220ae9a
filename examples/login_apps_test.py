#!/usr/bin/env python3
"""Logs in to the example apps as a browser would, with the real service and the real reference wallet.

    login_apps_test.py APP...

APP is `fastapi-login`, `java-login` or `oidc`. USHER_BINARY is the program; FASTAPI_PYTHON and OIDC_PYTHON are Pythons that
have the requirements of fastapi-login and of oidc. java-login runs twice, with its jars on the class path and as modules.
"""

import html
import http.client
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
USHER = os.environ["USHER_BINARY"]
TIMEOUT = 90
LONGEST = 100


class Program:
    """A program in the background; `wait_for` finds a pattern in what it prints."""

    def __init__(self, *command, folder=None, **variables):
        self.process = subprocess.Popen(command, cwd=folder, env={**os.environ, **variables}, text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.printed, self.news = "", threading.Condition()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            with self.news:
                self.printed += line
                self.news.notify_all()

    def wait_for(self, pattern):
        find = lambda: re.search(pattern, self.printed, re.MULTILINE)
        with self.news:
            assert self.news.wait_for(find, TIMEOUT), f"{pattern} is not in: {self.printed}"
            return find().group(1)

    def stop(self):
        self.process.kill()
        self.process.wait()


class Browser:
    """Keeps cookies, and looks at everything that it gets."""

    def __init__(self, url, token):
        self.address, self.token, self.cookies = url.removeprefix("http://"), token, {}

    def visit(self, method, path, **headers):
        connection = http.client.HTTPConnection(self.address, timeout=TIMEOUT)
        cookie = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        connection.request(method, path, headers={"Cookie": cookie, **headers})
        response = connection.getresponse()
        body = response.read().decode()
        for value in response.headers.get_all("Set-Cookie") or []:
            assert "httponly" in value.lower() and "samesite=lax" in value.lower(), value
            self.cookies.update([value.split(";")[0].split("=", 1)])
        connection.close()
        assert self.token not in body + str(response.headers), "the token reached a browser"
        return response.status, body

    def start_login(self):
        status, body = self.visit("POST", "/login", **{"X-Requested-By": "app"})
        assert status == 200, (status, body)
        return LoginPage(json.loads(body)["page_url"], self.token)


class LoginPage:
    """The page of a login, in a browser without JavaScript."""

    def __init__(self, address, token):
        parts = urllib.parse.urlsplit(address)
        self.path, self.browser = parts.path, Browser(f"http://{parts.netloc}", token)
        status, self.body = self.browser.visit("GET", self.path, **{"Sec-Fetch-Dest": "document"})
        assert status == 200, self.body

    def wallet_url(self):
        return html.unescape(re.search('href="(nostr[^"]*)"', self.body).group(1))

    def leads_to(self):
        """The path at which the app gets the browser back."""
        end = time.monotonic() + TIMEOUT
        while not (found := re.search('content="0;url=([^"]*)"', self.body)):
            assert time.monotonic() < end, self.body
            time.sleep(0.1)
            self.body = self.browser.visit("GET", self.path, **{"Sec-Fetch-Dest": "document"})[1]
        parts = urllib.parse.urlsplit(html.unescape(found.group(1)))
        return f"{parts.path}?{parts.query}"


def check(url, token, wallet):
    """What must be right in an app with a login."""
    user = Browser(url, token)
    assert "Log in" in user.visit("GET", "/")[1]
    assert user.visit("POST", "/login")[0] == 403, "a form of another site starts no login"
    page = user.start_login()
    wallet("open", page.wallet_url())
    wallet("approve")
    back = page.leads_to()
    assert "code=" in back and "session" not in user.cookies, "nobody is logged in before the code is redeemed"
    other = Browser(url, token)
    other.start_login()
    for stranger in [Browser(url, token), other]:
        assert stranger.visit("GET", "/login/done?code=x")[0] == 303
        stranger.visit("GET", back)
        assert "session" not in stranger.cookies, "another browser is not logged in"
    assert user.visit("GET", back)[0] == 303
    key = re.search("[0-9a-f]{64}", wallet("show")).group()
    assert key in user.visit("GET", "/")[1], "the key is the user's id"
    assert user.cookies["session"] not in back
    refused = Browser(url, token)
    page = refused.start_login()
    wallet("open", page.wallet_url())
    wallet("decline", "--reason", "no")
    back = page.leads_to()
    assert "code=" not in back
    refused.visit("GET", back)
    assert "session" not in refused.cookies and "Log in" in refused.visit("GET", "/")[1]


def check_oidc(url, token, wallet):
    """What must be right in an app that logs users in with OpenID Connect: login page, wallet, consent, and back."""
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())

    def visit(address, form=None):
        with opener.open(address, form and urllib.parse.urlencode(form).encode(), timeout=TIMEOUT) as response:
            body = response.read().decode()
            assert token not in body + str(response.headers), "the token reached a browser"
            return response.url, body

    def found(pattern, body):
        match = re.search(pattern, body)
        assert match, f"{pattern} is not in: {body}"
        return html.unescape(match.group(1))

    assert "Log in" in visit(url)[1]
    page, body = visit(f"{url}/login")
    wallet("open", found('href="(nostr[^"]*)"', body))
    wallet("approve")
    end = time.monotonic() + TIMEOUT
    leads_on = 'content="0;url=([^"]*)"'
    while not re.search(leads_on, body):
        assert time.monotonic() < end, body
        time.sleep(0.1)
        body = visit(page)[1]
    asked, body = visit(found(leads_on, body))
    answer = {"request": found('name="request" value="([^"]*)"', body), "decision": "allow"}
    body = visit(urllib.parse.urljoin(asked, found('action="([^"]*)"', body)), answer)[1]
    key = re.search("[0-9a-f]{64}", wallet("show")).group()
    assert key in visit(found(leads_on, body))[1], "the key is the user's id"
    assert key in visit(f"{url}/login")[1], "who is logged in and has agreed is asked nothing"


def free_port():
    return int(subprocess.check_output([HERE.parent / "scripts/free-port"]))


def commands(app, port):
    """How to start an app, and its source."""
    folder = HERE / app
    if app == "oidc":
        yield folder / "app.py", [os.environ["OIDC_PYTHON"], "-m", "flask", "run", "--port", str(port)]
        return
    if app == "fastapi-login":
        yield folder / "app.py", [os.environ["FASTAPI_PYTHON"], "-m", "uvicorn", "app:app", "--port", str(port)]
    else:
        source = folder / "src/main/java/login/App.java"
        yield source, ["java", "-cp", "target/classes:target/lib/*", "login.App"]
        yield source, ["java", "-p", "target/classes:target/lib", "-m", "login/login.App"]


def main():
    with tempfile.TemporaryDirectory(prefix="usher-examples-") as folder:
        port = free_port()
        dev = Program(USHER, "dev", "--data-dir", folder, "--port", "0", "--relay-port", "0")
        try:
            base = dev.wait_for(r"^ +base URL +(\S+)$")
            token = dev.wait_for(r"^ +token +(\S+)$")
            dev.wait_for("(Open the start page)")

            def wallet(*arguments):
                command = [USHER, "wallet", "--wallet", f"{folder}/wallet.json", *arguments]
                done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=TIMEOUT)
                assert done.returncode == 0, done.stdout
                return done.stdout

            for app in sys.argv[1:]:
                for source, command in commands(app, port):
                    assert len(source.read_text().splitlines()) < LONGEST, f"{source} is too long for an example"
                    program = Program(*command, folder=HERE / app, USHER_URL=base, USHER_TOKEN=token, PORT=str(port),
                                      CLIENT_SECRET="demo-secret-that-everybody-may-know")
                    try:
                        (check_oidc if app == "oidc" else check)(program.wait_for(r"(http://127\.0\.0\.1:[0-9]+)"), token, wallet)
                    finally:
                        program.stop()
                    print(f"{app}: {' '.join(command[:2])} … passed")
        finally:
            dev.stop()


main()
