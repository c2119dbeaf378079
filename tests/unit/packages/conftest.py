import importlib.util
from pathlib import Path

import pytest

MODULE_UTILS = Path(__file__).parents[3] / "plugins" / "module_utils"


@pytest.fixture(scope="session")
def apt():
    spec = importlib.util.spec_from_file_location("edgectl_apt", MODULE_UTILS / "edgectl_apt.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
