"""What is said of a file before it is measured, on a host without containers."""

from dataclasses import replace

import pytest

from tests.builders import FACTS, INI, spec
from tests.fake_bench import KNOWN_OPTIONS, FakeLauncher, FakeWorld
from tuner.bench.measurement import (
    ArmSpec,
    Bench,
    Checked,
    arm_of,
    completed,
    left_out,
    strict_copy,
)
from tuner.bench.measurement.preparing import MOST_FINDINGS
from tuner.nouns.errors import TargetFailed
from tuner.nouns.model import (
    Danger,
    FailureCode,
    JobSpec,
    LeftOut,
    Preflight,
    PreflightFinding,
    Variant,
    options_of,
)
from tuner.service.worker import prepared
from tuner.uwsgi.ini import IniFile

CRON = "cron = 1 1 1 1 1 report\n"


class Telling(FakeLauncher):
    """A host whose uWSGI says what a test wants to hear."""

    checked = Checked()
    refused = ""
    asked: list[ArmSpec]

    def check(self, arm: ArmSpec) -> Checked:
        return self.checked

    def strict(self, arm: ArmSpec) -> str:
        self.asked.append(arm)
        return self.refused


def telling(checked: Checked | None = None, refused: str = "") -> Telling:
    host = Telling(FakeWorld())
    object.__setattr__(host, "checked", checked or Checked(somaxconn=4096))
    object.__setattr__(host, "refused", refused)
    object.__setattr__(host, "asked", [])
    return host


def preflight(job: JobSpec, host: FakeLauncher | None = None) -> Preflight:
    world = host.world if host else FakeWorld()
    facts = prepared(job, Bench(launcher=host or world.launcher, load=world.load)).facts
    assert facts is not None
    assert facts.preflight is not None
    return facts.preflight


def test_an_arm_runs_without_what_the_job_does_not_allow() -> None:
    assert arm_of(spec(), 0, INI).ini == INI
    assert IniFile.parse(arm_of(spec(), 0, INI + CRON).ini).get("cron") is None
    assert arm_of(spec(allow=(Danger.COMMANDS,)), 0, INI + CRON).ini == INI + CRON


def test_every_file_of_a_comparison_goes_without_and_is_named() -> None:
    files = (Variant(name="a", ini=INI), Variant(name="b", ini=INI + CRON))
    found = left_out(spec(variants=files))
    assert found == (LeftOut(option="cron", line=4, danger=Danger.COMMANDS, file="b"),)
    assert left_out(spec(baseline_ini=INI + CRON))[0].file == ""


def test_what_is_left_out_is_named_once_each() -> None:
    found = [LeftOut(option=name, line=1, danger=Danger.CODE) for name in ("a", "b", "a", "c")]
    assert options_of(found) == "a, b and c"
    assert options_of(found[:1]) == "a"
    assert options_of([]) == ""


def test_unknown_keys_of_the_file_are_placeholders_to_a_strict_uwsgi() -> None:
    text = "[uwsgi]\r\n  base = /srv\r\nchdir = %(base)\r\nalone\r\nset = odd=1\r\n; note = 1\r\n"
    copy = strict_copy(IniFile.parse(text), {"chdir", "set", "set-placeholder"})
    assert copy == (
        "[uwsgi]\r\nset-placeholder = base=/srv\r\nchdir = %(base)\r\n"
        "set-placeholder = alone=\r\nset-placeholder = odd=1\r\n; note = 1\r\n"
    )


def test_a_placeholder_that_goes_on_below_is_declared_as_a_whole() -> None:
    copy = strict_copy(IniFile.parse("[uwsgi]\nbase = /a%\n/b\nchdir = %(base)\n"), {"chdir"})
    assert copy == "[uwsgi]\nset-placeholder = base=/a/b\nchdir = %(base)\n"


def test_a_strict_uwsgi_is_asked_about_the_file_that_runs_and_placeholders_are_no_finding() -> None:
    host = telling()
    job = spec(baseline_ini=f"{INI}base = /srv\nchdir = %(base)\n{CRON}")
    assert "strict" not in {finding.rule for finding in preflight(job, host).findings}
    (asked,) = host.asked
    assert "set-placeholder = base=/srv\n" in asked.ini
    assert IniFile.parse(asked.ini).get("cron") is None
    assert "processes" in KNOWN_OPTIONS


def test_what_a_strict_uwsgi_refuses_elsewhere_is_a_finding() -> None:
    host = telling(refused="[strict-mode] unknown config directive: vaccum")
    found = [finding for finding in preflight(spec(), host).findings if finding.rule == "strict"]
    assert [(finding.severity, finding.line) for finding in found] == [("warning", None)]
    assert "vaccum" in found[0].message


def test_other_words_of_a_strict_uwsgi_are_of_its_command_and_no_finding() -> None:
    host = telling(refused="realpath() of base.ini failed: No such file or directory")
    assert "strict" not in {finding.rule for finding in preflight(spec(), host).findings}


@pytest.mark.parametrize(
    "merged", ["[uwsgi]\nlisten = 200\n", "[uwsgi]\nlisten = 100\nini = /more.ini\nlisten = 200\n"]
)
def test_a_listen_queue_beyond_what_the_container_has_fails_the_baseline(merged: str) -> None:
    host = telling(Checked(somaxconn=128, effective_ini=merged))
    with pytest.raises(TargetFailed, match=r"listen = 200 .* 128 in the container") as failed:
        preflight(spec(), host)
    assert (failed.value.code, failed.value.arm) == (FailureCode.BAD_OPTIONS, 0)


@pytest.mark.parametrize("somaxconn", [200, None])
def test_a_listen_queue_that_fits_or_cannot_be_judged_is_let_pass(somaxconn: int | None) -> None:
    host = telling(Checked(somaxconn=somaxconn, effective_ini="[uwsgi]\nlisten = 200\n"))
    assert preflight(spec(), host).somaxconn == somaxconn


def test_without_a_listen_the_queue_is_uwsgis_own_100() -> None:
    with pytest.raises(TargetFailed, match="listen = 100 is above"):
        preflight(spec(), telling(Checked(somaxconn=64, effective_ini="[uwsgi]\n")))


def anyway(effective_ini: str, *allow: Danger) -> list[PreflightFinding]:
    facts = replace(FACTS, effective_ini=effective_ini, preflight=Preflight())
    found = completed(spec(allow=allow), facts).preflight
    assert found is not None
    return [finding for finding in found.findings if finding.rule == "runs-anyway"]


def test_what_comes_from_the_command_runs_and_that_is_said() -> None:
    merged = f"[uwsgi]\nini = /tuner/uwsgi.ini\n{CRON}{CRON}stats = 127.0.0.1:1\n"
    (found,) = anyway(merged)
    assert found.message.startswith("cron comes from the command")
    assert anyway(merged, Danger.COMMANDS) == []


def test_the_rules_look_at_the_file_as_this_build_and_this_box_read_it() -> None:
    job = spec(baseline_ini=f"{INI}vaccum = true\nroute = ^/a redirect:/b\n{CRON}")
    found = {finding.line: finding for finding in preflight(job).findings}
    assert (found[4].severity, "vacuum" in found[4].message) == ("error", True)
    assert "route" in found[5].message
    assert all(finding.file == "" for finding in found.values())


def test_findings_of_several_files_say_which_and_are_no_more_than_can_be_mended() -> None:
    odd = INI + "".join(f"odd-{number} = 1\n" for number in range(90))
    files = tuple(Variant(name=name, ini=odd) for name in ("a", "b", "c"))
    found = preflight(spec(variants=files, baseline_ini=odd)).findings
    assert len(found) == MOST_FINDINGS
    assert [finding.file for finding in found][:2] == ["a", "a"]
    assert {"a", "b"} <= {finding.file for finding in found}


def test_the_rules_know_of_each_arm_whether_its_clients_keep_connections() -> None:
    router = "[uwsgi]\nhttp = :8000\nmodule = app\n"
    arms = (
        Variant(name="anew", ini=router),
        Variant(name="kept", ini=router, keep_alive=True),
    )
    found = preflight(spec(variants=arms, baseline_ini=router)).findings
    assert {each.file for each in found if each.rule == "U145"} == {"kept"}


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (("uwsgi", "--ini", "/etc/app.ini", "--processes", "4"), ["processes 4"]),
        (("/start.sh",), []),
        (("uwsgi",), []),
    ],
)
def test_the_images_own_command_is_held_against_the_file(
    command: tuple[str, ...], told: list[str]
) -> None:
    target = spec().target.model_copy(update={"ini_path": "/etc/app.ini", "command": ()})
    found = completed(spec(target=target), replace(FACTS, command=command)).preflight
    assert found is not None
    about = [each.message for each in found.findings if "command" in each.message]
    assert len(about) == len(told)
    assert all(words in message for words, message in zip(told, about, strict=True))
