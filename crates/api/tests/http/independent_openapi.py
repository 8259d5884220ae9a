"""Checks an OpenAPI 3.1 document against the standards, which know nothing of ours (openapi_document.rs).

Reads the document from standard input and writes {"schemas": number, "examples": number, "faults": [text]}. The schema of
OpenAPI 3.1 is the one that schemathesis carries; JSON Schema (2020-12) is that of jsonschema-rs.
"""

import json
import sys

import jsonschema_rs
from schemathesis.specs.openapi import definitions

document = json.load(sys.stdin)
counts = {"schemas": 0, "examples": 0}
faults = []


def fault(at, error):
    faults.append(f"{'/'.join(map(str, at))}: {error.message}")


def check_example(schema, example, at):
    """An example is what the schema beside it says."""
    counts["examples"] += 1
    # References lead into the document; which the schema therefore has within it.
    whole = {"components": document["components"], "allOf": [schema]}
    for error in jsonschema_rs.Draft202012Validator(whole).iter_errors(example):
        fault(at, error)


def check_schema(schema, at):
    """A schema, and all of those within it."""
    counts["schemas"] += 1
    try:
        jsonschema_rs.meta.validate({"$schema": "https://json-schema.org/draft/2020-12/schema", **schema})
    except jsonschema_rs.ValidationError as error:
        fault(at, error)
        return
    without = {name: value for name, value in schema.items() if name not in ("example", "examples")}
    if "example" in schema:
        check_example(without, schema["example"], at)
    for example in schema.get("examples", []):
        check_example(without, example, at)
    for name, inner in schema.get("properties", {}).items():
        check_schema(inner, [*at, name])
    if isinstance(schema.get("items"), dict):
        check_schema(schema["items"], [*at, "items"])
    for word in ("oneOf", "anyOf", "allOf"):
        for index, inner in enumerate(schema.get(word, [])):
            check_schema(inner, [*at, word, index])


def walk(value, at):
    """Every place that has a schema, but for schemas themselves."""
    if isinstance(value, list):
        for index, inner in enumerate(value):
            walk(inner, [*at, index])
    if not isinstance(value, dict):
        return
    schema = value.get("schema")
    if isinstance(schema, dict):
        check_schema(schema, [*at, "schema"])
        if "example" in value and at[-1] != "text/event-stream":
            check_example(schema, value["example"], [*at, "example"])
        for name, example in value.get("examples", {}).items():
            check_example(schema, example["value"], [*at, "examples", name])
    for name, inner in value.items():
        if name not in ("schema", "schemas", "example", "examples"):
            walk(inner, [*at, name])


for error in definitions.OPENAPI_31_VALIDATOR.iter_errors(document):
    fault(error.instance_path, error)
for name, schema in document["components"]["schemas"].items():
    check_schema(schema, ["components", "schemas", name])
for part in ("paths", "webhooks"):
    walk(document[part], [part])
walk(document["components"]["responses"], ["components", "responses"])
json.dump({**counts, "faults": faults}, sys.stdout)
