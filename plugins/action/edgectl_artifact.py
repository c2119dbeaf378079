"""Controller's half of edgectl_artifact: transfers only what the host lacks."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

from ansible.plugins.action import ActionBase

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "module_utils"))

from edgectl_fetch import FetchError, fetch


def digest_of(path: Path) -> str:
    """The sha256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class ActionModule(ActionBase):
    """Asks the host first, so that files already in place cost no transfer, and no download."""

    _VALID_ARGS = frozenset(("files", "record", "state"))
    # The option that lists the files, and the key by which host and controller call one.
    items, key = "files", "dest"

    def run(self, tmp=None, task_vars=None):
        super().run(tmp, task_vars)
        answer = self._execute_module(task_vars=task_vars)
        if answer.get("failed") or not answer.get("needed") or self._task.check_mode:
            return answer

        files = {file[self.key]: file for file in self._task.args[self.items]}
        try:
            for file in (files[one] for one in answer["needed"]):
                if file.get("url"):
                    fetch(file["url"], file["sha256"].lower(), file["src"])
        except (FetchError, OSError) as error:
            return {"failed": True, "msg": f"cannot fetch {error}; {self.left(file)}"}
        absent = [files[one] for one in answer["needed"] if not Path(files[one]["src"]).is_file()]
        if absent:
            words = f"is named by the manifest and is not there; {self.left(absent[0])}"
            return {"failed": True, "msg": f"{absent[0]['src']} {words}"}
        self._make_tmp_path()
        uploaded = {}
        for number, one in enumerate(answer["needed"]):
            uploaded[one] = self._connection._shell.join_path(self._connection._shell.tmpdir, f"artifact-{number}")
            self._transfer_file(files[one]["src"], uploaded[one])
        self._fixup_perms2((self._connection._shell.tmpdir, *uploaded.values()))
        answer = self._execute_module(module_args={**self._task.args, "uploaded": uploaded}, task_vars=task_vars)
        return self._with_the_source_blamed(answer, files) if answer.get("damaged") else answer

    def _with_the_source_blamed(self, answer, files):
        """A digest that does not fit is the transfer's fault, or that of the file here."""
        file = next(file for file in files.values() if file["src"] == answer["damaged"])
        seen, expected = digest_of(Path(file["src"])), file["sha256"].lower()
        if seen == expected:
            return answer
        words = f"is not the file that the manifest names (sha256 {seen}, expected {expected})"
        return {**answer, "msg": f"{file['src']} {words}; {self.left(file)}"}

    @staticmethod
    def left(file) -> str:
        """What has become of the host."""
        return f"{file['dest']} is left as it was"
