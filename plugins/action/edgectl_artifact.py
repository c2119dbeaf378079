"""Controller's half of edgectl_artifact: checks the digest here, transfers only what the host lacks."""

from __future__ import annotations

import hashlib
from pathlib import Path

from ansible.plugins.action import ActionBase


def digest_of(path: Path) -> str:
    """The sha256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class ActionModule(ActionBase):
    """Asks the host first, so that a file already in place costs no transfer."""

    _VALID_ARGS = frozenset(("src", "dest", "sha256", "mode", "record", "state"))

    def run(self, tmp=None, task_vars=None):
        super().run(tmp, task_vars)
        answer = self._execute_module("edgectl_artifact", task_vars=task_vars)
        if answer.get("failed") or not answer.get("needed") or self._task.check_mode:
            return answer

        source = Path(self._task.args["src"])
        refusal = self._refusal(source)
        if refusal:
            return {"failed": True, "msg": refusal}
        self._make_tmp_path()
        uploaded = self._connection._shell.join_path(self._connection._shell.tmpdir, "artifact")
        self._transfer_file(str(source), uploaded)
        self._fixup_perms2((self._connection._shell.tmpdir, uploaded))
        return self._execute_module(
            "edgectl_artifact", module_args={**self._task.args, "uploaded": uploaded}, task_vars=task_vars
        )

    def _refusal(self, source: Path) -> str:
        dest = self._task.args["dest"]
        if not source.is_file():
            return f"{source} is named by the manifest and is not there; {dest} is left as it was"
        seen, expected = digest_of(source), self._task.args["sha256"].lower()
        if seen != expected:
            return (
                f"{source} is not the file that the manifest names (sha256 {seen}, expected {expected}); "
                f"{dest} is left as it was"
            )
        return ""
