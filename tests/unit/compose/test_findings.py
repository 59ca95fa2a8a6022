"""The order and the width of what `init` says."""

from tuner.targets.compose.findings import WIDTH, Findings, Weight


def several() -> Findings:
    found = Findings()
    found.left_out("web.restart", "a service starts once")
    found.changed("web.command", "its options are in uwsgi.ini now")
    found.changed("db.runs", "elsewhere", Weight.FIGURES)
    found.todo("limits.cpus", "give that of production", Weight.FIGURES)
    found.todo("web.env_file own.env", "it is not there")
    return found


def test_what_stops_the_start_comes_first_and_then_what_changes_the_figures() -> None:
    assert [*several().lines()] == [
        "to do:",
        "  - web.env_file own.env: it is not there",
        "  - limits.cpus: give that of production",
        "changed:",
        "  - db.runs: elsewhere",
        "  - web.command: its options are in uwsgi.ini now",
        "left out:",
        "  - web.restart: a service starts once",
    ]


def test_short_notes_are_the_same_on_the_terminal() -> None:
    assert [*several().on_terminal()] == [*several().lines()]


def test_long_notes_are_cut_on_the_terminal_and_whole_in_the_file() -> None:
    found = Findings()
    names = [f"service-{number}.memory_mb" for number in range(40)]
    for name in names:
        found.changed(name, "512, as the compose file has no limit " + "and so on " * 20)
    lines = [*found.on_terminal()]
    assert max(map(len, lines)) <= WIDTH
    assert "service-0.memory_mb" in lines[1]
    assert "and 37 more (see target.yaml)" in " ".join(map(str.strip, lines))
    (whole,) = [*found.lines()][1:]
    assert all(name in whole for name in names)
