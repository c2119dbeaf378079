"""A language model with its page: a person signs in with the password that was shown once, and gets an answer.

Both programs are the real ones; the model has random weights, so what it says has no meaning: docs/lab.md.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect, sync_playwright

from tests.e2e.cluster import EDGECTL, Cluster, edgectl, run

# A word that only lab-tiny has (edgectl/lab/gguf.py).
WORD = re.compile(r"word\d+")
# `EDGECTL_E2E_PICTURE=docs/screens/chat.png` takes the guide's picture.
PICTURE = "EDGECTL_E2E_PICTURE"


@pytest.fixture(scope="module")
def said(cluster: Cluster) -> str:
    """What the first deploy prints."""
    return edgectl("deploy", "chat", str(cluster.inventory), "--set", "model=lab-tiny").stdout


@pytest.fixture(scope="module")
def account(said: str) -> tuple[str, str]:
    """User and password, as they were shown."""
    found = re.search(r"^Sign in +(\S+), password (\S+)$", said, re.MULTILINE)
    assert found, said
    return found[1], found[2]


@contextmanager
def opened(cluster: Cluster) -> Iterator[str]:
    """The page's address on this machine."""
    process = subprocess.Popen([EDGECTL, "open", "chat", str(cluster.inventory)], stdout=subprocess.PIPE, text=True)
    assert process.stdout
    try:
        yield process.stdout.readline().strip()
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(timeout=30)
        process.stdout.close()


@contextmanager
def browser(url: str) -> Iterator[Page]:
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = chromium.new_page(viewport={"width": 1000, "height": 560})
        page.set_default_timeout(60_000)
        news = page.get_by_role("button", name="Okay, Let's Go!")
        page.add_locator_handler(news, lambda: news.click())
        page.goto(url)
        yield page
        chromium.close()


def test_the_deploy_signs_in_and_gets_an_answer_through_the_page(said: str) -> None:
    assert "signed in, and lab-tiny:latest answered through it" in said


def test_nobody_else_can_sign_up(cluster: Cluster, account: tuple[str, str]) -> None:
    stranger = {"name": "Eve", "email": "eve@example.org", "password": "me-first-please"}
    headers = {"Content-Type": "application/json"}
    with opened(cluster) as url:
        ask = urllib.request.Request(f"{url}/api/v1/auths/signup", json.dumps(stranger).encode(), headers)  # noqa: S310
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(ask, timeout=30)  # noqa: S310 - a port of this machine
    assert refused.value.code == 403
    refused.value.close()


def test_a_person_signs_in_chooses_the_model_and_reads_its_answer(cluster: Cluster, account: tuple[str, str]) -> None:
    with opened(cluster) as url, browser(url) as page:
        page.get_by_label("Email").fill(account[0])
        page.locator("input[type=password]").fill(account[1])
        page.get_by_role("button", name="Sign in", exact=True).click()
        page.get_by_role("button", name=re.compile("Select(ed)? a? ?model")).click()
        page.get_by_role("option", name="lab-tiny:latest").first.click()
        page.locator("#chat-input").click()
        page.keyboard.type("Why is the sky blue?")
        page.keyboard.press("Enter")
        answer = page.locator(".chat-assistant").last
        expect(answer).to_contain_text(WORD, timeout=60_000)
        if PICTURE in os.environ:
            expect(answer).to_contain_text(re.compile(r"(\S+\s+){30}"), timeout=60_000)
            page.screenshot(path=os.environ[PICTURE])


def test_the_password_is_kept_and_the_command_that_was_told_shows_it_again(
    cluster: Cluster, said: str, account: tuple[str, str]
) -> None:
    shows = next(line for line in said.splitlines() if line.strip().startswith("edgectl kubectl"))
    assert run([EDGECTL, *shlex.split(shows)[1:]]).stdout == account[1]


def test_its_log_and_the_run_directories_have_no_password(
    cluster: Cluster, said: str, account: tuple[str, str]
) -> None:
    log = Path(next(line for line in said.splitlines() if line.startswith("Log: ")).removeprefix("Log: "))
    for file in log.parent.rglob("*"):
        assert not file.is_file() or account[1].encode() not in file.read_bytes(), file


def test_a_purge_leaves_nothing_of_it(cluster: Cluster) -> None:
    edgectl("undeploy", "chat", str(cluster.inventory), "--purge", "--yes")
    assert "workloads" not in cluster.kubectl("get", "namespaces")
    for node in ("nuc1", "orin1"):
        assert cluster.ssh(node, "ls -A /var/lib/edgectl/workloads 2>/dev/null || true").strip() == ""
        assert "open-webui" not in cluster.ssh(node, "ctr --namespace k8s.io images list --quiet")
