"""Reads metrics with the official Python client of Prometheus, which knows nothing of ours (observability.rs).

The text on standard input, on standard output a list of {"name", "type", "help", "samples": [{"name", "labels", "value"}]}.
"""

import json
import sys

from prometheus_client.parser import text_string_to_metric_families

families = [
    {
        "name": family.name,
        "type": family.type,
        "help": family.documentation,
        "samples": [{"name": each.name, "labels": each.labels, "value": each.value} for each in family.samples],
    }
    for family in text_string_to_metric_families(sys.stdin.read())
]
json.dump(families, sys.stdout)
