"""The catalogue of options, what one build has of it, and the option that was meant."""

from itertools import chain

import pytest

from tuner.uwsgi.knowledge import mapping
from tuner.uwsgi.options import (
    Advice,
    Catalogue,
    Danger,
    Kind,
    Option,
    elsewhere,
    known,
    nearest,
    of_build,
)
from tuner.uwsgi.options.lookup import danger_of, dangers, notes

SPELLINGS = sorted(known().spellings)


def option(name: str) -> Option:
    found = known().find(name)
    assert found is not None, name
    return found


def test_no_spelling_belongs_to_two_options() -> None:
    names = list(chain.from_iterable(option.names for option in known().options))
    assert len(names) == len(set(names)) > 1200
    assert all(option.name == option.names[0] for option in known().options)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("thunder-lock", Kind.FLAG),
        ("disable-logging", Kind.FLAG),  # C sets it by the opposite function
        ("log-ioerror", Kind.FLAG),  # C says it takes an argument
        ("so-send-timeout", Kind.INTEGER),  # C says it takes none
        ("processes", Kind.INTEGER),
        ("buffer-size", Kind.INTEGER),
        ("reload-on-rss", Kind.INTEGER),
        ("gevent", Kind.INTEGER),
        ("http-keepalive", Kind.INTEGER),
        ("max-vars", Kind.INTEGER),
        ("cheaper-algo", Kind.TEXT),
        ("uid", Kind.TEXT),
        ("chmod-socket", Kind.TEXT),
        ("module", Kind.TEXT),
        ("socket", Kind.LIST),
        ("http", Kind.LIST),
        ("env", Kind.LIST),
        ("static-map", Kind.LIST),
        ("attach-daemon", Kind.LIST),
        ("logger", Kind.LIST),
        ("plugins", Kind.LIST),
        ("ini", Kind.ACTION),
        ("if-env", Kind.ACTION),
        ("endif", Kind.ACTION),
        ("set-placeholder", Kind.ACTION),
        ("help", Kind.ACTION),
    ],
)
def test_each_option_is_read_in_its_own_way(name: str, kind: Kind) -> None:
    assert option(name).kind is kind


@pytest.mark.parametrize(
    ("name", "others"),
    [
        ("processes", ("workers",)),
        ("offload-threads", ("offload-thread",)),
        ("http-processes", ("http-workers",)),
        ("tcp-fast-open", ("tcp-fastopen",)),
        ("log-format", ("logformat",)),
        (
            "thread-stacksize",
            ("threads-stacksize", "thread-stack-size", "threads-stack-size"),
        ),
        ("home", ("virtualenv", "venv", "pyhome")),
        ("wsgi-file", ("file",)),
        ("module", ("wsgi",)),
        ("stats", ("stats-server",)),
    ],
)
def test_spellings_of_one_option_are_one_option(name: str, others: tuple[str, ...]) -> None:
    assert option(name).names == (name, *others)
    assert all(option(other) is option(name) for other in others)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("socket", "http-socket"),
        ("attach-daemon", "smart-attach-daemon"),
        ("include", "inherit"),
        ("route", "final-route"),
        ("gevent", "async"),
        ("cron", "unique-cron"),
        ("plugins", "need-plugins"),
    ],
)
def test_what_one_function_sets_in_two_ways_are_two_options(one: str, other: str) -> None:
    assert option(one) is not option(other)


def test_what_a_build_needs_for_an_option_is_named() -> None:
    assert option("route").needs == "pcre"
    assert option("https-socket").needs == "ssl"
    assert option("gevent").needs == "plugin gevent"
    assert option("https").needs == "plugin http, ssl"
    assert option("processes").needs == ""


def test_only_what_the_facts_say_is_tuned() -> None:
    assert {o.name for o in known().options if o.advice is Advice.TUNE} == {
        "processes",
        "threads",
        "thunder-lock",
        "listen",
        "offload-threads",
        "http-processes",
    }


def test_nothing_dangerous_is_for_a_tuner_to_touch() -> None:
    assert {o.advice for o in known().options if o.danger} == {Advice.NEVER}


@pytest.mark.parametrize(
    ("danger", "names"),
    [
        (Danger.COMMANDS, "exec-asap exec-as-user hook-post-app attach-daemon cron cron2 emperor"),
        (Danger.COMMANDS, "smart-attach-daemon2 touch-exec worker-exec2 unique-cron hook-touch"),
        (Danger.FILES, "pidfile safe-pidfile2 file-write daemonize master-fifo cache-store"),
        (Danger.NETWORK, "shared-socket subscribe st subscribe2 carbon http-to zerg alarm"),
        (Danger.NETWORK, "http-subscription-server fastrouter legion snmp stats-push"),
        (Danger.PRIVILEGES, "unshare chroot mount-asap umount-in-jail cap namespace cgroup"),
        (Danger.CODE, "plugin need-plugins dlopen autoload"),
    ],
)
def test_what_a_trial_goes_without_is_marked(danger: Danger, names: str) -> None:
    for name in names.split():
        assert option(name).danger is danger, name


@pytest.mark.parametrize(
    "name",
    [
        *("wsgi-file", "module", "mount", "chdir", "env", "static-map", "import", "py-autoreload"),
        *("socket", "http-socket", "http", "https", "stats", "logto", "logger", "uid", "gid"),
        *("mule", "spooler", "touch-reload", "wait-for-socket", "mount-check", "harakiri"),
    ],
)
def test_what_the_app_is_made_of_is_no_danger(name: str) -> None:
    assert option(name).danger is None


def test_every_danger_is_about_an_option_by_its_canonical_name() -> None:
    named = list(chain.from_iterable(mapping("options/danger.yaml").values()))
    assert len(named) == len(set(named)) == len(dangers())
    named = [name for name in named if not name.endswith("-")]
    assert [name for name in named if option(name).name != name] == []


def test_an_unknown_hook_is_as_dangerous_as_those_that_are_known() -> None:
    assert danger_of("hook-of-tomorrow") is Danger.COMMANDS
    assert danger_of("processes") is None


def test_what_is_immediate_says_that_variables_are_not_replaced() -> None:
    assert option("listen").is_immediate
    assert any("not replaced" in rule for rule in option("listen").rules)
    assert not option("processes").is_immediate
    assert not any("not replaced" in rule for rule in option("processes").rules)


def test_what_an_option_switches_on_is_a_rule() -> None:
    assert "Switches on master." in option("stats").rules
    assert "Switches on master and log-master." in option("log-maxsize").rules


def test_every_note_is_about_an_option_by_its_canonical_name() -> None:
    assert [name for name in notes() if option(name).name != name] == []


def test_notes_are_short_sentences() -> None:
    for name, note in notes().items():
        assert note["sentence"], name
        for sentence in (note["sentence"], *note.get("rules", ())):
            assert sentence.endswith("."), name
            assert sentence[0].isupper() or sentence.startswith(("uWSGI", "`", "%", "0")), name
        assert len(note["sentence"]) <= 80, name


def test_defaults_are_written_as_a_file_would_say_them() -> None:
    for found in known().options:
        if found.default is None:
            continue
        if found.kind is Kind.INTEGER:
            assert found.default.isdigit(), found.name
        if found.kind is Kind.FLAG:
            assert found.default in {"true", "false"}, found.name


def test_a_build_has_what_it_says_and_nothing_else() -> None:
    build = of_build("2.0.31", ("workers", "http11-socket", "venv", "home"))
    assert build.is_of_build
    assert set(build.spellings) == {"workers", "http11-socket", "venv", "home"}
    workers = build.find("workers")
    assert workers
    assert (workers.name, workers.names) == ("workers", ("workers",))
    assert workers.sentence == option("processes").sentence
    assert build.find("processes") is None
    home = build.find("venv")
    assert home
    assert (home.name, home.names) == ("home", ("home", "venv"))


def test_options_of_a_build_that_nobody_knows_are_text() -> None:
    build = of_build("2.1", ("processes", "of-tomorrow", "exec-tomorrow"))
    tomorrow = build.find("of-tomorrow")
    assert tomorrow
    assert (tomorrow.kind, tomorrow.advice, tomorrow.danger) == (Kind.TEXT, Advice.NEVER, None)
    command = build.find("exec-tomorrow")
    assert command
    assert command.danger is Danger.COMMANDS


def test_options_of_other_releases_are_known_but_not_as_ours() -> None:
    watchdog = elsewhere("thunder-lock-watchdog")
    assert watchdog
    assert watchdog.since == "2.1"
    assert known().find("thunder-lock-watchdog") is None
    assert of_build("2.1", ("thunder-lock-watchdog",)).find("thunder-lock-watchdog") is watchdog
    assert elsewhere("processes") is None


def test_all_is_read_once() -> None:
    assert known() is known()


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("process", "processes"),
        ("vaccum", "vacuum"),
        ("py-callos-afterfork", "py-call-osafterfork"),
        ("thunder_lock", "thunder-lock"),
        ("Processes", "processes"),
        ("exec-pre", "exec-pre-app"),
        ("proces", "processes"),
        ("worker", "workers"),
        ("workres", "workers"),
        ("harakri", "harakiri"),
        ("max-request", "max-requests"),
        ("enable-thread", "enable-threads"),
        ("reload-on-rs", "reload-on-rss"),
        ("touch-relaod", "touch-reload"),
        ("lazy_app", "lazy-apps"),
        ("die_on_term", "die-on-term"),
        ("wsgifile", "wsgi-file"),
        ("timeout-http", "http-timeout"),
        ("so-sndbuf", "socket-sndbuf"),
        ("timeout", "harakiri"),
        ("max_requests_jitter", "max-requests-delta"),
        ("p", "processes"),
        ("-M", "master"),
        ("s", "socket"),
        ("C", "chmod-socket"),
    ],
)
def test_the_option_that_was_meant_is_found(written: str, meant: str) -> None:
    assert nearest(known(), written) == meant


@pytest.mark.parametrize(
    "written",
    ["log-buffering", "base", "project_name", "x", "S", "q", "", "-", "é" * 9, "a" * 5000],
)
def test_what_is_like_nothing_is_told_nothing(written: str) -> None:
    assert nearest(known(), written) is None


@pytest.mark.parametrize("name", SPELLINGS[::7])
def test_one_slip_leads_back_or_to_something_as_near(name: str) -> None:
    slip = f"{name[:-2]}{name[-1]}{name[-2]}"  # the last two letters swapped
    if len(name) < 6 or slip in SPELLINGS:
        return
    found = nearest(known(), slip)
    assert found in SPELLINGS
    assert sorted(found) == sorted(name) or abs(len(found) - len(name)) <= 1


def test_a_name_that_exists_is_never_its_own_correction() -> None:
    assert nearest(known(), "processes") != "processes"


def test_only_what_the_build_has_is_offered() -> None:
    small = Catalogue.of("2.0.31", [option("master"), option("socket")], is_of_build=True)
    assert nearest(small, "mastr") == "master"
    assert nearest(small, "process") is None
    assert nearest(small, "timeout") is None
