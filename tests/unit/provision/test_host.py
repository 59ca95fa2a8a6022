from pathlib import Path

from tuner.provision.host import detect


def machine(root: Path, *, release: str = "ID=debian\nVERSION_CODENAME=bookworm\n") -> Path:
    (root / "etc" / "apt" / "sources.list.d").mkdir(parents=True)
    (root / "etc" / "os-release").write_text(release)
    return root


def test_a_derivative_counts_as_what_it_is_like(tmp_path: Path) -> None:
    root = machine(tmp_path, release='ID=linuxmint\nID_LIKE="ubuntu debian"\n')

    assert detect({}, root).is_debian


def test_only_the_distributions_own_source_list_is_used(tmp_path: Path) -> None:
    root = machine(tmp_path)
    (root / "etc/apt/sources.list").write_text("# moved to sources.list.d\n")
    (root / "etc/apt/sources.list.d/third-party.sources").write_text("Types: deb\n")
    assert detect({}, root).apt_sources is None

    own = root / "etc/apt/sources.list.d/debian.sources"
    own.write_text("Types: deb\n")
    assert detect({}, root).apt_sources == own


def test_the_bundle_that_the_user_names_wins(tmp_path: Path) -> None:
    root = machine(tmp_path)
    named = tmp_path / "mine.crt"
    named.write_text("x")

    assert detect({"SSL_CERT_FILE": str(named)}, root).ca_bundle == named
    assert detect({}, root).ca_bundle is None


def test_the_cache_is_outside_the_checkout(tmp_path: Path) -> None:
    host = detect({"XDG_CACHE_HOME": str(tmp_path)}, machine(tmp_path / "root"))

    assert host.cache == tmp_path / "uwsgi-tuner"
