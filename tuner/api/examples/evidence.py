"""How job 7 came to its answer."""

from typing import Any

LOOKS = [
    {
        "blocks": 8,
        "z": 3.61,
        "bound": 4.08,
        "estimate": 0.121,
        "low": 0.079,
        "high": 0.165,
        "unit": "relative",
    },
    {
        "blocks": 16,
        "z": 5.72,
        "bound": 2.89,
        "estimate": 0.118,
        "low": 0.094,
        "high": 0.143,
        "unit": "relative",
    },
]
EVIDENCE: dict[str, Any] = {
    "rounds": [
        {
            "standings": [
                {
                    "number": 3,
                    "gain": 0.121,
                    "low": 0.081,
                    "high": 0.162,
                    "blocks": 4,
                    "is_unstable": False,
                },
                {
                    "number": 9,
                    "gain": 0.043,
                    "low": -0.012,
                    "high": 0.101,
                    "blocks": 4,
                    "is_unstable": True,
                },
            ],
            "survivors": 1,
        }
    ],
    "ablation": {
        "factors": [
            {
                "parameters": ["processes", "threads"],
                "effect": 0.112,
                "low": 0.098,
                "high": 0.127,
                "p": 0.0001,
                "is_kept": True,
            },
            {
                "parameters": ["thunder-lock"],
                "effect": 0.003,
                "low": -0.009,
                "high": 0.015,
                "p": 0.31,
                "is_kept": False,
            },
        ],
        "runs": 48,
        "sd": 0.041,
    },
    "importances": [{"parameter": "processes", "share": 0.71, "low": 0.55, "high": 0.83}],
    "slices": [
        {
            "parameter": "processes",
            "points": [
                {"value": 2, "gain": 0.0, "low": -0.02, "high": 0.02},
                {"value": 6, "gain": 0.11, "low": 0.07, "high": 0.15},
            ],
        }
    ],
    "front": [
        {"number": 3, "gains": {"throughput_rps": 0.121, "memory_mb": -0.31}, "is_chosen": True}
    ],
    "optimistic_gain": 0.162,
    "optimistic_gain_note": "optimistic, not evidence: the luckiest of many noisy figures is above "
    "its own truth; effect is what fresh blocks say",
    "ended_because": "all trials of the budget were measured",
    "chosen_because": "",
    "skipped": ["no second day was measured: what differs from day to day is not in the interval"],
    "not_tried": ["processes above 14: the fitted memory line says that they need 530 MB"],
    "unit": "relative",
}
TRIALS: dict[str, Any] = {
    "by_state": {"complete": 1},
    "trials": [
        {
            "number": 3,
            "origin": "sampler",
            "state": "complete",
            "params": {"processes": 6, "threads": 2, "listen": "user", "logging": "errors-only"},
            "gain": 0.12,
            "blocks": 1,
            "is_feasible": True,
            "error": None,
        }
    ],
}
MARKDOWN = """\
## uWSGI tuning of `checkout`: better

**Deploy the new file** for `checkout`: +11.8 % requests per second (95 % CI +9.4 % .. +14.3 %), \
from 16 fresh blocks, P(better) over 99.9 %.
"""
HTML = '<!doctype html>\n<html lang="en">\n<head><title>checkout: better</title></head>\n</html>\n'
