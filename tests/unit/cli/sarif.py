"""What SARIF 2.1.0 (OASIS, errata 01) asks of the parts that we write, as a JSON schema.

Every object is closed: a property that the standard does not have is an error there too.
"""

from typing import Any

_TEXT = {"type": "string", "minLength": 1}
_MESSAGE = {
    "type": "object",
    "required": ["text"],
    "properties": {"text": _TEXT},
    "additionalProperties": False,
}
_MULTIFORMAT = {**_MESSAGE, "properties": {"text": _TEXT, "markdown": _TEXT}}
_LEVEL = {"enum": ["none", "note", "warning", "error"]}
_FROM_1 = {"type": "integer", "minimum": 1}
_ARTIFACT = {
    "type": "object",
    "required": ["uri"],
    "properties": {
        "uri": {"type": "string", "pattern": r"^[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=%-]+$"}
    },
    "additionalProperties": False,
}
_REGION = {
    "type": "object",
    "required": ["startLine"],
    "properties": dict.fromkeys(("startLine", "startColumn", "endLine", "endColumn"), _FROM_1),
    "additionalProperties": False,
}
_RULE = {
    "type": "object",
    "required": ["id"],
    "properties": {
        "id": _TEXT,
        "name": {"type": "string", "pattern": "^[A-Z][A-Za-z0-9]*$"},
        "shortDescription": _MULTIFORMAT,
        "fullDescription": _MULTIFORMAT,
        "help": _MULTIFORMAT,
        "defaultConfiguration": {
            "type": "object",
            "properties": {"level": _LEVEL},
            "additionalProperties": False,
        },
    },
    "additionalProperties": False,
}
_FIX = {
    "type": "object",
    "required": ["artifactChanges"],
    "properties": {
        "description": _MESSAGE,
        "artifactChanges": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "required": ["artifactLocation", "replacements"],
                "properties": {
                    "artifactLocation": _ARTIFACT,
                    "replacements": {
                        "type": "array",
                        "minItems": 1,
                        "items": {
                            "type": "object",
                            "required": ["deletedRegion"],
                            "properties": {
                                "deletedRegion": _REGION,
                                "insertedContent": {
                                    "type": "object",
                                    "properties": {"text": {"type": "string"}},
                                    "additionalProperties": False,
                                },
                            },
                            "additionalProperties": False,
                        },
                    },
                },
                "additionalProperties": False,
            },
        },
    },
    "additionalProperties": False,
}
_RESULT = {
    "type": "object",
    "required": ["message"],
    "properties": {
        "ruleId": _TEXT,
        "ruleIndex": {"type": "integer", "minimum": 0},
        "level": _LEVEL,
        "message": _MESSAGE,
        "locations": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "physicalLocation": {
                        "type": "object",
                        "required": ["artifactLocation"],
                        "properties": {"artifactLocation": _ARTIFACT, "region": _REGION},
                        "additionalProperties": False,
                    }
                },
                "additionalProperties": False,
            },
        },
        "fixes": {"type": "array", "minItems": 1, "uniqueItems": True, "items": _FIX},
    },
    "additionalProperties": False,
}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["version", "runs"],
    "properties": {
        "$schema": {"type": "string", "format": "uri"},
        "version": {"const": "2.1.0"},
        "runs": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "required": ["tool"],
                "properties": {
                    "tool": {
                        "type": "object",
                        "required": ["driver"],
                        "properties": {
                            "driver": {
                                "type": "object",
                                "required": ["name"],
                                "properties": {
                                    "name": _TEXT,
                                    "semanticVersion": {"pattern": r"^\d+\.\d+\.\d+"},
                                    "rules": {
                                        "type": "array",
                                        "uniqueItems": True,
                                        "items": _RULE,
                                    },
                                },
                                "additionalProperties": False,
                            }
                        },
                        "additionalProperties": False,
                    },
                    "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
                    "results": {"type": "array", "items": _RESULT},
                },
                "additionalProperties": False,
            },
        },
    },
    "additionalProperties": False,
}
