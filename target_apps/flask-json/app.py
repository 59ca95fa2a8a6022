"""A health check in Flask: no I/O, one small JSON reply."""

from flask import Flask, jsonify

app = Flask(__name__)


@app.get("/")
def health():
    return jsonify(status="ok", service="timetable")
