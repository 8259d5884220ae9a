"""Verifies webhooks as a receiver would: Standard Webhooks with the library of that name, X-Service-Signature with Python's hmac.

Reads a JSON array of {"body" (base64), "headers", "standard_secret", "service_secret"} and writes an array of
{"standard", "service"}: null when the signature holds, else why it does not.
"""

import base64
import hashlib
import hmac
import json
import sys

from standardwebhooks import Webhook, WebhookVerificationError


def standard(case, body):
    try:
        read = Webhook(case["standard_secret"]).verify(body, case["headers"])
    except WebhookVerificationError as error:
        return str(error)
    return None if read == json.loads(body) else "the body reads otherwise"


def service(case, body):
    expected = hmac.new(case["service_secret"].encode(), body, hashlib.sha256).hexdigest()
    found = case["headers"].get("x-service-signature", "")
    return None if hmac.compare_digest(expected, found) else "No matching signature found"


answers = []
for case in json.load(sys.stdin):
    body = base64.b64decode(case["body"])
    answers.append({"standard": standard(case, body), "service": service(case, body)})
json.dump(answers, sys.stdout)
