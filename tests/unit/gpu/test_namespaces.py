"""What namespaces get: quotas for GPUs, and the key of NVIDIA's registry as kubelet reads it."""

from __future__ import annotations

import base64
import json
from typing import Any

from edgectl.run.redact import Redactor
from tests.unit.kubeadm.conftest import plugin

filters = plugin("filter/edgectl_gpu_namespaces.py")
KEY = "nvapi-0123456789abcdefghijklmnop_-"


def decoded(text: str) -> str:
    return base64.b64decode(text).decode()


def test_a_quota_counts_gpus_by_both_their_names() -> None:
    demo, research = filters.quotas({"research": 2, "demo": "0"})
    assert demo["metadata"]["namespace"] == "demo"
    assert demo["spec"]["hard"] == {"requests.nvidia.com/gpu": "0", "requests.nvidia.com/gpu.shared": "0"}
    assert research["spec"]["hard"]["requests.nvidia.com/gpu"] == "2"


def test_the_key_becomes_a_login_of_nvcr_io_that_kubelet_can_read() -> None:
    secrets = filters.pull_secrets(["vision", "default", "vision"], KEY)
    assert [secret["metadata"]["namespace"] for secret in secrets] == ["default", "vision"]
    secret: dict[str, Any] = secrets[0]
    assert secret["type"] == "kubernetes.io/dockerconfigjson"
    ((registry, login),) = json.loads(decoded(secret["data"][".dockerconfigjson"]))["auths"].items()
    assert registry == "nvcr.io"
    assert decoded(login["auth"]) == f"{login['username']}:{login['password']}" == f"$oauthtoken:{KEY}"


def test_everything_carries_the_labels_by_which_it_is_found_again() -> None:
    for one in [*filters.namespaces(["a"]), *filters.quotas({"a": 1}), *filters.pull_secrets(["a"], KEY)]:
        assert one["metadata"]["labels"]["app.kubernetes.io/part-of"] == "edgectl-device-plugin"


def test_a_namespace_that_is_named_twice_is_made_once() -> None:
    assert [one["metadata"]["name"] for one in filters.namespaces(["b", "a", "b"])] == ["a", "b"]


def test_a_key_is_masked_wherever_it_is_logged() -> None:
    assert KEY not in Redactor()(f"password: {KEY}")
