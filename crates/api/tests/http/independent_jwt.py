"""Signs and verifies JWTs with PyJWT, which knows nothing of ours (jwt.rs).

Reads {"sign": [{"secret", "algorithm", "claims"}], "verify": [{"public", "token"}]} from standard input and writes
{"signed": [token], "claims": [claims or the error's name], "target_keys": [key or the error's name]}: the last by the
example of docs/profiles.md.
"""

import json
import pathlib
import re
import sys

import jwt
from cryptography.hazmat.primitives.asymmetric import ec

ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141


def secret_key(text):
    """BIP-340: of a secret and its negation, the one whose point has even Y."""
    key = ec.derive_private_key(int(text, 16), ec.SECP256K1())
    if key.public_key().public_numbers().y % 2:
        key = ec.derive_private_key(ORDER - int(text, 16), ec.SECP256K1())
    return key


def public_key(text):
    return ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256K1(), b"\x02" + bytes.fromhex(text))


def signing_key(case):
    algorithm = case["algorithm"]
    if algorithm == "ES256K":
        return secret_key(case["secret"])
    if algorithm == "ES256":
        return ec.derive_private_key(int(case["secret"], 16), ec.SECP256R1())
    return None if algorithm == "none" else bytes.fromhex(case["secret"])


def sign(case):
    return jwt.encode(case["claims"], signing_key(case), algorithm=case["algorithm"])


def verify(case):
    try:
        return jwt.decode(
            case["token"],
            public_key(case["public"]),
            algorithms=["ES256K"],
            options={"require": ["exp", "iat", "nbf", "target_key"]},
        )
    except jwt.InvalidTokenError as error:
        return type(error).__name__


def example():
    """The function that the documentation shows."""
    document = pathlib.Path(__file__).parents[4] / "docs" / "profiles.md"
    names = {}
    exec(re.search(r"```python\n(.*?)```", document.read_text("utf-8"), re.DOTALL)[1], names)
    return names["target_key"]


def verify_as_documented(target_key, case):
    try:
        return target_key(case["public"], case["token"])
    except jwt.InvalidTokenError as error:
        return type(error).__name__


asked = json.load(sys.stdin)
target_key = example()
json.dump(
    {
        "signed": [sign(case) for case in asked["sign"]],
        "claims": [verify(case) for case in asked["verify"]],
        "target_keys": [verify_as_documented(target_key, case) for case in asked["verify"]],
    },
    sys.stdout,
)
