"""Blocks in, a judgement out: effects, bottlenecks, bounds, doubts. Pure."""
