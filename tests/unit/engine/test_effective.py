"""The options that uWSGI says it runs with."""

from tuner.bench.engine import failures

BEFORE = "[uWSGI] getting INI configuration from /tuner/uwsgi.ini\n"
SECTION = ";uWSGI instance configuration\n[uwsgi]\nprocesses = 2\nlog-ioerror = true\n"
END = ";end of configuration\n\n"
AFTER = "*** Starting uWSGI 2.0.31 ***\nbind(): Permission denied\n"


def test_the_printed_section_is_a_file_again() -> None:
    printed = failures.printed(BEFORE + SECTION + END + AFTER)
    assert printed == "[uwsgi]\nprocesses = 2\nlog-ioerror = true\n"


def test_a_log_without_the_section_has_none() -> None:
    assert failures.printed(BEFORE + AFTER) == ""
    assert failures.printed(BEFORE + SECTION) == ""


def test_the_targets_own_words_are_what_is_left() -> None:
    assert failures.without(BEFORE + SECTION + END + AFTER) == (BEFORE + AFTER).strip()
    assert failures.without(AFTER) == AFTER


def test_of_a_section_that_a_tail_cuts_nothing_is_left() -> None:
    cut = SECTION.split("\n", 2)[2] + END + AFTER
    assert failures.without(cut) == AFTER.strip()
