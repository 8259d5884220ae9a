"""Talks over /ws with the `websockets` library, which knows nothing of ours (sockets/independent_client.rs).

Reads {"url", "token", "stream_id", "last"} from standard input and writes what came of it.
"""

import asyncio
import json
import sys

import websockets

asked = json.load(sys.stdin)


async def ask(socket, cmd, **params):
    await socket.send(json.dumps({"id": cmd, "cmd": cmd, "params": params}))
    return json.loads(await socket.recv())


async def status_of(token):
    try:
        async with websockets.connect(asked["url"], additional_headers={"Authorization": f"Bearer {token}"}):
            return 101
    except websockets.InvalidStatus as error:
        return error.response.status_code


async def code_after(message, **options):
    """The close code with which the service answers a message."""
    async with websockets.connect(asked["url"], **options) as socket:
        await socket.send(message)
        try:
            while True:
                await socket.recv()
        except websockets.ConnectionClosed as closed:
            return closed.rcvd.code


async def main():
    header = {"additional_headers": {"Authorization": f"Bearer {asked['token']}"}}
    said = {"right": await status_of(asked["token"]), "wrong": await status_of("wrong")}
    said["binary"] = await code_after(b"{}", **header)
    said["stranger"] = await code_after(json.dumps({"id": "1", "cmd": "ping"}))
    # Without what browsers would offer, too: no compression is spoken here, whoever offers it.
    async with websockets.connect(asked["url"], compression="deflate") as socket:
        said["auth"] = await ask(socket, "auth", token=asked["token"])
        await (await socket.ping(b"are you there?"))
        said["version"] = await ask(socket, "request", method="GET", path="/version")
        said["subscribed"] = await ask(socket, "subscribe", stream_id=asked["stream_id"], after=1)
        said["events"] = []
        while not said["events"] or said["events"][-1]["index"] < asked["last"]:
            said["events"].append(json.loads(await socket.recv()))
    # In pieces, as a library sends what it is given piece by piece.
    async with websockets.connect(asked["url"], **header) as socket:
        await socket.send(['{"id":"in pieces",', '"cmd":', '"ping"}'])
        said["pieces"] = json.loads(await socket.recv())
    json.dump(said, sys.stdout)


asyncio.run(asyncio.wait_for(main(), 60))
