"""The option tables of uWSGI's C source, from an excerpt in their style."""

import io
import tarfile
from pathlib import Path

import pytest

from tests import option_tables
from tuner.uwsgi.options import Kind, Option, Takes
from tuner.uwsgi.options.lookup import rows_of

CORE = """
struct uwsgi_option *not_a_table;
static struct uwsgi_option uwsgi_base_options[] = {
    {"alpha", required_argument, 'a', "how many, at most {3}", uwsgi_opt_set_int, &uwsgi.alpha, 0},
    {"alpha-too", required_argument, 'a', "how many", uwsgi_opt_set_int, &uwsgi.alpha, 0},
    /* {"gone", no_argument, 0, "gone", uwsgi_opt_true, &uwsgi.gone, 0}, */
    // {"gone2", no_argument, 0, "gone", uwsgi_opt_true, &uwsgi.gone, 0},
#if defined(UWSGI_PCRE) || defined(UWSGI_PCRE2)
    {"beta", required_argument, 0, "match", uwsgi_opt_add_regexp_list, &uwsgi.beta,
        UWSGI_OPT_MASTER | UWSGI_OPT_LOG_MASTER},
#endif
#ifdef __linux__
#ifdef UWSGI_SSL
    {"gamma", no_argument, 0, "say \\"yes\\", or no", uwsgi_opt_true, &uwsgi.gamma, 0},
#endif
#endif
#ifdef __APPLE__
    {"delta", no_argument, 0, "for others", uwsgi_opt_true, &uwsgi.delta, 0},
#else
    {"delta", required_argument, 0, "for us", uwsgi_opt_set_str, &uwsgi.delta, 0},
#endif
    {"epsilon", required_argument, 0, "load it", uwsgi_opt_load_plugin, NULL, UWSGI_OPT_IMMEDIATE},
    {"need-epsilon", required_argument, 0, "or end",
        uwsgi_opt_load_plugin, NULL, UWSGI_OPT_IMMEDIATE},
    {"need-epsilons", required_argument, 0, "or end",
        uwsgi_opt_load_plugin, NULL, UWSGI_OPT_IMMEDIATE},
    {"zeta", no_argument, 0, "off", uwsgi_opt_false, &uwsgi.zeta, 0},
    {0, 0, 0, 0, 0, 0, 0}
};
"""
PLUGIN = """
struct uwsgi_option some_options[] = {
        {"eta", required_argument, 0,
                "on two lines",
                uwsgi_opt_set_64bit, &some.eta, 0},
        {(char *)"theta", required_argument, 0, (char *)"listen", uwsgi_opt_corerouter, &some, 0},
        {"iota", required_argument, 0, "no flags", uwsgi_opt_add_string_list, &some.iota},
        {"alpha", no_argument, 0, "too late", uwsgi_opt_true, &some.alpha, 0},
        { 0, 0, 0, 0, 0, 0, 0 }
};
"""


def row(
    names: tuple[str, ...],
    kind: Kind,
    needs: str = "",
    forces: tuple[str, ...] = (),
    *,
    is_immediate: bool = False,
    takes: Takes = Takes.VALUE,
    letter: str = "",
) -> Option:
    """What one row of the table says."""
    return Option(
        name=names[0],
        names=names,
        kind=kind,
        needs=needs,
        forces=forces,
        is_immediate=is_immediate,
        takes=takes,
        letter=letter,
    )


@pytest.fixture
def rows(tmp_path: Path) -> dict[str, Option]:
    path = tmp_path / "uwsgi-2.0.0.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name, text in {
            "plugins/some/some.c": PLUGIN,
            "core/uwsgi.c": CORE,
            "core/other.c": "int nothing;",
            "t/ignored.c": PLUGIN.replace("eta", "nowhere"),
        }.items():
            data = text.encode()
            member = tarfile.TarInfo(f"uwsgi-2.0.0/{name}")
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return {found.name: found for found in rows_of(option_tables.of_archive(path))}


def test_each_entry_becomes_a_row_that_reads_back(rows: dict[str, Option]) -> None:
    assert rows == {
        "alpha": row(("alpha", "alpha-too"), Kind.INTEGER, letter="a"),
        "beta": row(("beta",), Kind.LIST, "pcre", ("master", "log-master")),
        "gamma": row(("gamma",), Kind.FLAG, "ssl", takes=Takes.NOTHING),
        "delta": row(("delta",), Kind.TEXT),
        "epsilon": row(("epsilon",), Kind.LIST, is_immediate=True),
        "need-epsilon": row(("need-epsilon", "need-epsilons"), Kind.LIST, is_immediate=True),
        "zeta": row(("zeta",), Kind.FLAG, takes=Takes.NOTHING),
        "eta": row(("eta",), Kind.INTEGER, "plugin some"),
        "theta": row(("theta",), Kind.LIST, "plugin some"),
        "iota": row(("iota",), Kind.LIST, "plugin some"),
    }


def test_the_table_of_the_package_is_sorted_and_says_where_it_is_from() -> None:
    lines = Path("tuner/uwsgi/options/known.tsv").read_text().splitlines()
    head = [line for line in lines if line.startswith("#")]
    assert "2.0.31" in head[0]
    assert "python -m tests.option_tables" in head[1]
    body = lines[len(head) :]
    assert body == sorted(body)
    assert len(body) > 1000
