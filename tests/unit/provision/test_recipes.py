from tuner.provision.recipes import COMMANDS


def test_k6_is_needed_by_nothing_but_journeys_tests_and_benchmarks() -> None:
    needing = {name for name, command in COMMANDS.items() if command.journeys}

    assert {"journeys", "test"} <= needing
    assert needing.isdisjoint({"setup", "demo", "serve", "images", "check", "bench-host"})
