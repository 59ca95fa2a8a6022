"""An identity provider for tests: a real one in Node, with a person for each name."""

import json
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import environ
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from tests.service import free_port
from tuner.provision.for_tests import provider_folder
from tuner.provision.host import detect

CLIENT, SECRET = "uwsgi-tuner", "the secret of the client"
STARTS_WITHIN_S = 60

_PROGRAM = """
import Provider from 'oidc-provider';
const {port, back, people} = JSON.parse(process.argv[1]);
const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [{client_id: '%(client)s', client_secret: '%(secret)s', redirect_uris: [back]}],
  claims: {openid: ['sub', 'email', 'groups']},
  conformIdTokenClaims: false,
  cookies: {keys: ['a key of the test']},
  findAccount: (ctx, id) => ({
    accountId: id,
    claims: () => ({sub: id, email: `${id}@example.com`, groups: people[id] || []}),
  }),
  pkce: {required: () => true},
});
provider.listen(port, '127.0.0.1');
"""


@contextmanager
def provider(back: str, people: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """The issuer; `people` are in these groups, and any password is theirs."""
    port = free_port()
    options = json.dumps({"port": port, "back": back, "people": people})
    program = _PROGRAM % {"client": CLIENT, "secret": SECRET}
    command = ["node", "--no-warnings", "--input-type=module", "--eval", program, "--", options]
    folder = provider_folder(detect(environ).cache)
    issuer = f"http://127.0.0.1:{port}"
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as process:
        try:
            _wait(issuer, process)
            yield issuer
        finally:
            process.kill()


def _wait(issuer: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + STARTS_WITHIN_S
    while True:
        try:
            urlopen(f"{issuer}/.well-known/openid-configuration", timeout=5).close()  # noqa: S310
            return
        except URLError:
            said = process.stderr.read() if process.poll() is not None and process.stderr else b""
            assert process.poll() is None, said.decode()
            assert time.monotonic() < deadline, "the provider does not answer"
            time.sleep(0.1)


def write_settings(folder: Path, issuer: str) -> Path:
    """A file for `TUNER_OIDC_FILE`: `ops` are admins, `shop` reads its own apps."""
    file = folder / "oidc.yaml"
    groups = {"ops": {"scope": "admin"}, "shop": {"scope": "read", "reads": ["shop*"]}}
    settings = {"issuer": issuer, "client_id": CLIENT, "client_secret": SECRET, "groups": groups}
    file.write_text(json.dumps({**settings, "name": "your Example account"}))
    return file
