"""`--step` and `--vary` become the files that were meant, or every mistake in them."""

from pathlib import Path

import pytest

from tuner.cli.measure import check_one_way, grid_of, levels_of, own_ini, steps_of
from tuner.nouns.errors import InvalidInput

BASE = "[uwsgi]\n; our file\nprocesses = 4\nthunder-lock = true\n"


@pytest.fixture
def base(tmp_path: Path) -> str:
    file = tmp_path / "base.ini"
    file.write_text(BASE)
    return str(file)


def refused(call: object, *arguments: object) -> list[str]:
    assert callable(call)
    with pytest.raises(InvalidInput) as caught:
        call(*arguments)
    return [str(mistake) for mistake in caught.value.mistakes]


def test_each_step_is_the_file_before_it_with_its_changes(base: str) -> None:
    first, second, third = steps_of(
        [base, "+disable-logging=true", "+processes = 10, thunder-lock=false"]
    )
    assert first == {"name": "base.ini", "ini": BASE}
    assert second == {"name": "disable-logging-true", "ini": f"{BASE}disable-logging = true\n"}
    changed = BASE.replace("= 4", "= 10").replace("lock = true", "lock = false")
    assert third["ini"] == f"{changed}disable-logging = true\n"
    assert third["name"] == "processes-10-thunder-lock-false"


def test_a_step_may_be_another_file(base: str, tmp_path: Path) -> None:
    other = tmp_path / "other" / "base.ini"
    other.parent.mkdir()
    other.write_text("[uwsgi]\n")
    files = steps_of([base, str(other), "+threads=2"])
    assert [file["name"] for file in files[1:]] == ["other-base.ini", "threads-2"]
    assert files[2]["ini"] == "[uwsgi]\nthreads = 2\n"


def test_all_mistakes_of_all_steps_are_named(base: str) -> None:
    steps = ["+threads=2", base, "/nowhere.ini", "+treads=2,processes", "+threads=2"]
    assert refused(steps_of, steps) == [
        "--step +threads=2: has no file before it: begin with a file",
        "/nowhere.ini: No such file or directory",
        "--step +treads=2: uWSGI 2.0.31 has no option treads; did you mean threads?",
        "--step +processes: is not OPTION=VALUE",
        "--step +threads=2: is there twice: two steps named threads-2",
    ]


def test_a_name_of_the_files_own_may_be_changed(base: str) -> None:
    Path(base).write_text("[uwsgi]\nslots = 4\nprocesses = %(slots)\n")
    assert steps_of([base, "+slots=8"])[1]["ini"] == "[uwsgi]\nslots = 8\nprocesses = %(slots)\n"


def test_a_grid_has_every_combination_in_its_box() -> None:
    levels = levels_of(["cpus=1,0.5", "processes=2,8"])
    files = grid_of(levels, BASE, {"cpus": 4.0, "memory_mb": 256})
    assert [file["name"] for file in files] == [
        *("cpus-1-processes-2", "cpus-1-processes-8"),
        *("cpus-0.5-processes-2", "cpus-0.5-processes-8"),
    ]
    assert files[3]["ini"] == BASE.replace("= 4", "= 8")
    assert files[3]["limits"] == {"cpus": 0.5, "memory_mb": 256}


def test_a_grid_of_options_alone_leaves_the_box_to_the_job() -> None:
    files = grid_of(levels_of(["thunder-lock=true,false"]), BASE, {"cpus": 4.0})
    assert [set(file) for file in files] == [{"name", "ini"}] * 2


def test_all_mistakes_of_a_grid_are_named() -> None:
    vary = ["processes=2", "cpus=1,nan", "threds=1,2", "threads=1,1", "workers=2,4", "=1,2"]
    assert refused(levels_of, vary) == [
        "--vary processes=2: has one value: give two or more, as in processes=2,4,8",
        "--vary cpus=1,nan: 'nan' is no number",
        "--vary threds=1,2: uWSGI 2.0.31 has no option threds; did you mean threads?",
        "--vary threads=1,1: has a value twice: 1",
        "--vary workers=2,4: varies workers a second time",
        "--vary =1,2: is not NAME=VALUE,VALUE",
    ]
    assert refused(levels_of, ["threads=1,2,3,4,5", "processes=1,2,3,4"]) == [
        "--vary: makes 20 files; at most 16 are measured"
    ]


def test_a_value_that_no_line_can_hold_is_refused() -> None:
    (mistake,) = refused(levels_of, ["threads=2,%"])
    assert mistake.startswith("--vary threads=2,%: ends in a single %")


@pytest.mark.parametrize(
    ("inis", "steps", "vary", "why"),
    [
        ([Path("a")], ["b"], [], "--step: excludes --ini"),
        ([], ["b"], ["processes=1,2"], "--step: excludes --vary"),
        ([Path("a"), Path("b")], [], ["processes=1,2"], "--vary: varies one file"),
    ],
)
def test_files_are_named_in_one_way(
    inis: list[Path], steps: list[str], vary: list[str], why: str
) -> None:
    (mistake,) = refused(check_one_way, inis, steps, vary)
    assert mistake.startswith(why)


def test_a_grid_of_an_image_needs_its_file() -> None:
    assert own_ini({"uwsgi_ini": BASE}) == BASE
    assert refused(own_ini, {}) == ["--vary: an image does not tell what its file is: give --ini"]
