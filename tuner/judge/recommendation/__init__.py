"""Comparison, bounds and doubts to an answer: deploy this file, or keep yours, and why.

answer    the file, its lines, the reason
verdict   fresh blocks → better, worse, no difference, inconclusive
standing  what doubts, conditions and scenes leave of a gain
lines     which options the file changes, each with its own effect
gate      whether a recommended file holds on a new image
"""

from tuner.judge.recommendation.answer import (
    checked,
    confirmed,
    keep_untested,
    recommend,
    so_far,
)
from tuner.judge.recommendation.lines import changed_lines
from tuner.judge.recommendation.standing import blocks_missing, is_lost
from tuner.judge.recommendation.verdict import compare_blocks, is_decided
