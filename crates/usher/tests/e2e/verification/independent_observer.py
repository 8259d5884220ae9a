"""Watches verification sessions at a relay (verification/observer.rs). Knows the protocol, and nothing of ours.

Reads {"relay", "base", "token", "service_secret"} from standard input. Opens one session for each decision over HTTP, and
writes what went over the relay meanwhile: the events, opened with the service's secret key, which is an end of every
conversation.
"""

import asyncio
import base64
import hashlib
import hmac
import json
import sys
import urllib.request

import websockets
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms

asked = json.load(sys.stdin)
SECRET = int(asked["service_secret"], 16)
P = 2**256 - 2**32 - 977
N = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
CURVE = ec.SECP256K1()
GENERATOR = ec.derive_private_key(1, CURVE).public_key().public_numbers()


def lift(key):
    """The point with this x coordinate and an even y (BIP-340)."""
    x = int(key, 16)
    y = pow((pow(x, 3, P) + 7) % P, (P + 1) // 4, P)
    return x, y if y % 2 == 0 else P - y


def add(one, other):
    if one is None or other is None:
        return one or other
    if one[0] == other[0]:
        if one[1] != other[1]:
            return None
        slope = 3 * one[0] * one[0] * pow(2 * one[1], -1, P)
    else:
        slope = (other[1] - one[1]) * pow(other[0] - one[0], -1, P)
    x = (slope * slope - one[0] - other[0]) % P
    return x, (slope * (one[0] - x) - one[1]) % P


def multiply(point, number):
    result = None
    while number:
        if number & 1:
            result = add(result, point)
        point = add(point, point)
        number >>= 1
    return result


def is_signed(event):
    """NIP-01 and BIP-340."""
    parts = [0, event["pubkey"], event["created_at"], event["kind"], event["tags"], event["content"]]
    text = json.dumps(parts, separators=(",", ":"), ensure_ascii=False)
    if hashlib.sha256(text.encode()).hexdigest() != event["id"]:
        return False
    r, s = event["sig"][:64], int(event["sig"][64:], 16)
    tag = hashlib.sha256(b"BIP0340/challenge").digest()
    digest = hashlib.sha256(tag + tag + bytes.fromhex(r + event["pubkey"] + event["id"])).digest()
    challenge = int.from_bytes(digest, "big") % N
    point = add(multiply((GENERATOR.x, GENERATOR.y), s), multiply(lift(event["pubkey"]), N - challenge))
    return point is not None and point[1] % 2 == 0 and point[0] == int(r, 16)


def opened(payload, other):
    """The text of a NIP-44 v2 payload between the service and another key."""
    x, y = lift(other)
    shared = ec.derive_private_key(SECRET, CURVE).exchange(ec.ECDH(), ec.EllipticCurvePublicNumbers(x, y, CURVE).public_key())
    conversation = hmac.digest(b"nip44-v2", shared, "sha256")
    data = base64.b64decode(payload)
    assert data[0] == 2, "version"
    nonce, ciphertext, mac = data[1:33], data[33:-32], data[-32:]
    keys, block = b"", b""
    for counter in (1, 2, 3):
        block = hmac.digest(conversation, block + nonce + bytes([counter]), "sha256")
        keys += block
    cipher_key, cipher_nonce, mac_key = keys[:32], keys[32:44], keys[44:76]
    assert hmac.compare_digest(mac, hmac.digest(mac_key, nonce + ciphertext, "sha256")), "authentic"
    cipher = Cipher(algorithms.ChaCha20(cipher_key, bytes(4) + cipher_nonce), mode=None).decryptor()
    padded = cipher.update(ciphertext)
    length = int.from_bytes(padded[:2], "big")
    return padded[2 : 2 + length].decode()


def npub(key):
    """NIP-19 (BIP-173)."""
    alphabet = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
    bits = "".join(f"{byte:08b}" for byte in bytes.fromhex(key)).ljust(260, "0")
    data = [int(bits[start : start + 5], 2) for start in range(0, 260, 5)]
    check = 1
    prefix = "npub"
    values = [ord(char) >> 5 for char in prefix] + [0] + [ord(char) & 31 for char in prefix] + data + [0] * 6
    for value in values:
        top = check >> 25
        check = (check & 0x1FFFFFF) << 5 ^ value
        for place, generator in enumerate((0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)):
            check ^= generator if top >> place & 1 else 0
    checksum = [(check ^ 1) >> 5 * (5 - place) & 31 for place in range(6)]
    return "npub1" + "".join(alphabet[value] for value in data + checksum)


def call(method, path, body=None):
    request = urllib.request.Request(asked["base"] + path, method=method)
    request.add_header("Authorization", f"Bearer {asked['token']}")
    request.add_header("Content-Type", "application/json")
    with urllib.request.urlopen(request, None if body is None else json.dumps(body).encode(), timeout=60) as response:
        return json.load(response)


async def main():
    service = f"{ec.derive_private_key(SECRET, CURVE).public_key().public_numbers().x:064x}"
    results = []
    async with websockets.connect(asked["relay"]) as socket:
        await socket.send(json.dumps(["REQ", "watch", {"kinds": [29500, 29501]}]))
        while json.loads(await socket.recv())[0] != "EOSE":
            pass
        for decision in ({"decision": "approve"}, {"decision": "reject", "reason": "no document"}):
            session = await asyncio.to_thread(call, "POST", "/verification/sessions", {})
            path = f"/verification/sessions/{session['session_id']}/decision"
            messages, decided, expected = {}, None, {29500, 29501}
            while set(messages) != expected:
                kind, *rest = json.loads(await asyncio.wait_for(socket.recv(), 60))
                event = rest[-1]
                if kind != "EVENT":
                    continue
                far = [tag[1] for tag in event["tags"] if tag[0] == "p"]
                other = far[0] if event["pubkey"] == service else event["pubkey"]
                # Copies are allowed, and those of an earlier session may still come.
                if npub(other) != session["ephemeral_npub"] or event["kind"] in messages:
                    continue
                messages[event["kind"]] = {
                    "signed": is_signed(event),
                    "from_service": event["pubkey"] == service,
                    "to": far,
                    "content": json.loads(opened(event["content"], other)),
                    "clear": event["content"],
                }
                if event["kind"] == 29500:
                    decided = await asyncio.to_thread(call, "POST", path, decision)
            events = await asyncio.to_thread(call, "GET", f"/events/{session['stream_id']}?after=0&wait=60")
            results.append({
                "decided": decided["status"],
                "key": other,
                "asked": messages[29500],
                "replied": messages[29501],
                "events": events["events"],
            })
    json.dump({"service": service, "sessions": results}, sys.stdout)


asyncio.run(main())
