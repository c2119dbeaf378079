"""Becoming root, with a stand-in for sudo in front of PATH that records what it was given."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgectl.errors import Problems, UsageError
from edgectl.inventory.vault import Vault
from edgectl.ssh import everywhere, secrets
from edgectl.ssh.result import Result
from edgectl.ssh.secrets import Secrets
from edgectl.ssh.target import Target

# Asks for a password unless `passwordless` lies beside it, exactly as sudo does with -n, -k, -S and -p.
_SUDO = """#!/bin/sh
here=$(dirname "$0")
stdin=no
while :; do case $1 in
  -n) now=yes; shift;; -k) shift;; -S) stdin=yes; shift;; -p) shift 2;; *) break;; esac; done
if [ ! -e "$here/passwordless" ]; then
  [ "$now" = yes ] && { echo "sudo: a password is required" >&2; exit 1; }
  [ "$stdin" = yes ] && IFS= read -r answer
  [ "$answer" = 'p"a$s s' ] || { echo "sudo: 1 incorrect password attempt" >&2; exit 1; }
fi
exec "$@"
"""


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory in front of PATH where the user is not root and sudo wants a password."""
    (tmp_path / "sudo").write_text(_SUDO)
    (tmp_path / "id").write_text("#!/bin/sh\necho 1000\n")
    for name in ("sudo", "id"):
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return tmp_path


def host(password: str | None = None, name: str = "here") -> Target:
    return Target(name=name, address=name, known_hosts=Path("none"), local=True, become_password=password)


def as_root(target: Target, command: str = "cat", stdin: str = "input") -> Result:
    return everywhere.run_everywhere([target], command, stdin=stdin, as_root=True)[target.name]


def test_the_password_reaches_sudo_and_only_the_rest_the_command(machine: Path) -> None:
    assert as_root(host('p"a$s s')).stdout == "input"


def test_a_sudo_that_needs_no_password_passes_none_to_the_command(machine: Path) -> None:
    (machine / "passwordless").touch()
    assert as_root(host('p"a$s s')).stdout == "input"
    assert as_root(host()).stdout == "input"


def test_the_exit_code_is_the_commands(machine: Path) -> None:
    assert as_root(host('p"a$s s'), "exit 7").rc == 7


def test_the_password_is_in_no_argument(machine: Path) -> None:
    arguments = as_root(host('p"a$s s'), "cat /proc/*/cmdline 2>/dev/null | tr '\\0' ' '; true").stdout
    assert 'p"a$s' not in arguments


def test_a_sudo_that_wants_a_password_is_recognised(machine: Path) -> None:
    assert secrets.wants_password(as_root(host()))
    assert secrets.wants_password(as_root(host("wrong")))
    (machine / "passwordless").touch()
    assert not secrets.wants_password(as_root(host()))


def test_the_password_is_asked_once_for_all_hosts(machine: Path) -> None:
    prompts: list[str] = []

    def ask(prompt: str) -> str:
        prompts.append(prompt)
        return 'p"a$s s'

    assert secrets.ask_for_sudo([host(name="a"), host(name="b")], ask) == 'p"a$s s'
    assert prompts == ["sudo password for a, b: "]


def test_a_wrong_password_is_asked_again_and_then_given_up(machine: Path) -> None:
    answers = iter(["wrong", "worse", "worst", "never asked"])
    with pytest.raises(Problems) as refusal:
        secrets.ask_for_sudo([host()], lambda _: next(answers))
    assert "here" in refusal.value.problems[0].what
    assert list(answers) == ["never asked"]


def test_where_nobody_can_be_asked_the_file_is_named() -> None:
    with pytest.raises(UsageError) as refusal:
        secrets.ask_for_sudo([host()], None)
    assert "EDGECTL_BECOME_PASSWORD_FILE" in refusal.value.fix


def test_the_password_file_is_read_up_to_its_first_line(tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text(" with spaces \nsecond\n")
    assert secrets.find_become_password({"EDGECTL_BECOME_PASSWORD_FILE": str(file)}) == " with spaces "
    with pytest.raises(UsageError):
        secrets.find_become_password({"EDGECTL_BECOME_PASSWORD_FILE": str(tmp_path / "missing")})


def test_who_wants_to_be_asked_is_asked_unless_the_file_has_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(secrets.BECOME_FILE_VARIABLE, raising=False)
    assert secrets.become_password(lambda _: "asked", ask_first=True) == "asked"
    assert secrets.become_password(lambda _: "asked", ask_first=False) is None
    with pytest.raises(UsageError, match="needs a terminal"):
        secrets.become_password(None, ask_first=True)
    (tmp_path / "password").write_text("in the file\n")
    monkeypatch.setenv(secrets.BECOME_FILE_VARIABLE, str(tmp_path / "password"))
    assert secrets.become_password(lambda _: "asked", ask_first=True) == "in the file"


def test_the_inventorys_own_password_wins() -> None:
    assert [t.become_password for t in secrets.with_password([host("own"), host()], "asked")] == ["own", "asked"]


def test_secrets_show_nothing_of_themselves() -> None:
    held = Secrets("s3cret", Vault(password="v4ult"))
    assert "s3cret" not in repr(held)
    assert "v4ult" not in repr(held)
    assert list(held.values()) == ["s3cret", "v4ult"]


def test_the_vault_password_is_asked_only_when_something_is_encrypted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANSIBLE_VAULT_PASSWORD_FILE", raising=False)
    (tmp_path / "hosts.yml").write_text("all: {}\n")
    assert secrets.find_vault(tmp_path, None, None) is None
    (tmp_path / "hosts.yml").write_text("all:\n  vars:\n    x: !vault |\n      $ANSIBLE_VAULT;1.1;AES256\n      61\n")
    vault = secrets.find_vault(tmp_path, None, lambda _: "v4ult")
    assert vault is not None
    assert vault.password == "v4ult"
    with pytest.raises(UsageError):
        secrets.find_vault(tmp_path, None, None)
