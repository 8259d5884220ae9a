"""What schemathesis cannot know of the interface by its description alone (main.rs beside this).

It calls the running service with values that the OpenAPI document allows and with values that it does not. Here is
said, without naming an operation, how values of our formats look, what a finding is not, and that no call leaves this
machine.
"""

import json
import re
import urllib.parse

import schemathesis
from hypothesis import strategies as st
from schemathesis.core.failures import AcceptedNegativeData, ServerError
from schemathesis.openapi.checks import RejectedPositiveData

# Where nobody listens: the discard port of this machine.
NOWHERE = "127.0.0.1:9"
# The longest a call may wait on purpose, in seconds; the service takes 60.
LONGEST_WAIT = 1

# Formats of JSON Schema and OpenAPI whose rules generators know. Any other is a name of ours for a rule that a schema
# cannot say (crates/engine/src/request_body/field_types.rs), and then a value that the schema allows may be refused.
KNOWN_FORMATS = {"uuid", "int32", "int64", "double", "float"}

# Answers of a service that is well and lacks something its operator may leave out.
LACKS = {"wallet_not_configured", "verification_not_configured", "oidc_not_configured"}

PRIME = 2**256 - 2**32 - 977


def on_the_curve(x):
    """Whether a point of secp256k1 has this x."""
    return pow(x**3 + 7, (PRIME - 1) // 2, PRIME) == 1


KEYS = st.integers(1, PRIME - 1).filter(on_the_curve).map(lambda x: f"{x:064x}")
NAMES = st.from_regex(r"[a-z0-9._-]{1,20}", fullmatch=True)
PRINTABLE = st.characters(min_codepoint=33, max_codepoint=126)

schemathesis.openapi.format("nostr-public-key", KEYS)
schemathesis.openapi.format("nip05", NAMES.map(lambda name: f"{name}@localhost:9"))
schemathesis.openapi.format("relay-url", st.integers(1024, 65535).map(lambda port: f"ws://127.0.0.1:{port}"))
schemathesis.openapi.format("ip-network", st.sampled_from(["127.0.0.0/8", "192.0.2.7", "2001:db8::/32"]))
schemathesis.openapi.format("web-url", NAMES.map(lambda name: f"https://localhost/{name}"))
schemathesis.openapi.format("mint-url", NAMES.map(lambda name: f"https://localhost/{name}"))
schemathesis.openapi.format("cashu-token", st.from_regex(r"cashu[AB][A-Za-z0-9_-]{4,60}", fullmatch=True))
schemathesis.openapi.format("one-line", st.text(PRINTABLE, min_size=1, max_size=64))
schemathesis.openapi.format("text", st.text(max_size=100))
schemathesis.openapi.format("identifier", st.text(PRINTABLE, min_size=1, max_size=64))
schemathesis.openapi.format("calendar", st.sampled_from(["monthly", "Mon..Fri *-*-01,15 09:00:00 Europe/Rome"]))
schemathesis.openapi.format("currency", st.sampled_from(["millisats", "Millisats", "sats", "EUR"]))
schemathesis.openapi.format("currency-code", st.sampled_from(["EUR", "usd"]))
schemathesis.openapi.format("event-id", st.integers(0, 2**53 - 1).map(str))
schemathesis.openapi.format("delivery-id", st.integers(0, 9).map(lambda index: f"subscriptions:{index}"))


@schemathesis.hook
def before_call(context, case, kwargs):
    """Bounds what is waited for, and lets no call make the service reach beyond this machine."""
    wait = (case.query or {}).get("wait")
    if str(wait).isdigit() and LONGEST_WAIT < int(str(wait)) <= 60:
        case.query["wait"] = LONGEST_WAIT
    path = case.path_parameters or {}
    if isinstance(path.get("identifier"), str):
        path["identifier"] = re.sub(r"@[A-Za-z0-9.-]+", "@localhost", path["identifier"])
    if isinstance(case.body, (dict, list)):
        case.body = at_home(case.body)
    kwargs["hooks"] = {"response": hang_up_after_upgrade}


def at_home(value):
    """The same with every address in it leading nowhere."""
    if isinstance(value, dict):
        return {name: at_home(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [at_home(inner) for inner in value]
    if isinstance(value, str) and re.match(r"(?i)(wss?|https?)://[^/]", value):
        return re.sub(r"^([A-Za-z]+)://[^/?#]+", rf"\1://{NOWHERE}", value)
    return value


def hang_up_after_upgrade(response, *_args, **_kwargs):
    """A connection that became a WebSocket is none for the next call."""
    if response.status_code == 101:
        response._content, response._content_consumed = b"", True
        connection = getattr(response.raw, "_connection", None) or getattr(response.raw, "connection", None)
        if connection is not None:
            connection.close()
        response.close()
    return response


@schemathesis.hook
def filter_failure(context, failure, case, response):
    """Whether a finding is one."""
    problem = problem_of(response)
    if isinstance(failure, ServerError):
        return not (response.status_code == 503 and problem.get("code") in LACKS)
    if isinstance(failure, AcceptedNegativeData):
        return not has_null(case.body)
    if isinstance(failure, RejectedPositiveData) and response.status_code in (400, 422):
        return not is_beyond_the_schema(case, response.status_code, problem)
    return True


def has_null(body):
    """Whether a field is null, which is the same as if it were absent."""
    return isinstance(body, dict) and any(value is None for value in body.values())


def problem_of(response):
    try:
        problem = json.loads(response.content)
    except ValueError:
        return {}
    return problem if isinstance(problem, dict) else {}


def is_beyond_the_schema(case, status, problem):
    """Whether a value that the schema allows was refused by a rule that is documented otherwise.

    Either by a code of its own (`jwt_expired`), or because each of the fields that were refused has a format of ours or
    is a second name of another field with another value, or because two of its items exclude each other.
    """
    code = problem.get("code")
    if code == "malformed_json":
        return False
    if code != "invalid_request":
        documented = case.operation.definition.raw["responses"].get(str(status), {})
        return f"`{code}`" in documented.get("description", "")
    errors = problem.get("errors", [])
    return bool(errors) and all(
        error["detail"].startswith("must be the same as ")
        or " do not go together: " in error["detail"]
        or has_format_of_ours(case, error["pointer"])
        for error in errors
    )


def has_format_of_ours(case, pointer):
    names = [urllib.parse.unquote(part).replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]
    document = case.operation.schema.raw_schema
    roots = [body_schema(case)] if names else []
    for parameter in case.operation.definition.raw.get("parameters", []):
        if names == [parameter["name"]]:
            roots.append({"properties": {names[0]: parameter["schema"]}})
    return any(is_ours(find(document, root, names)) for root in roots if root)


def body_schema(case):
    body = case.operation.definition.raw.get("requestBody", {})
    return body.get("content", {}).get("application/json", {}).get("schema")


def is_ours(schema):
    """Whether the value, or each item of it, has a format of ours."""
    if not isinstance(schema, dict):
        return False
    return schema.get("format", "uuid") not in KNOWN_FORMATS or is_ours(schema.get("items"))


def find(document, schema, names):
    """The schema of the value to which the names lead; none when they lead nowhere."""
    while isinstance(schema, dict) and "$ref" in schema:
        schema = lookup(document, schema["$ref"])
    if not names or not isinstance(schema, dict):
        return schema
    if names[0].isdigit() and "items" in schema:
        return find(document, schema["items"], names[1:])
    return find(document, schema.get("properties", {}).get(names[0]), names[1:])


def lookup(document, reference):
    for part in reference.removeprefix("#/").split("/"):
        document = document[part]
    return document
