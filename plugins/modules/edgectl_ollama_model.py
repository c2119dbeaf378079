#!/usr/bin/python
"""See to it that an Ollama server has a model."""

from __future__ import annotations

import urllib.parse

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.edgectl_ollama import Ollama, OllamaError
from ansible.module_utils.edgectl_service import wait_for

DOCUMENTATION = r"""
module: edgectl_ollama_model
short_description: Sees to it that an Ollama server has a model
description:
  - Fetches a model by its name, for some seconds a call; meant for C(until), so that each try tells how far it is. Or
    makes a GGUF file of this host into one.
options:
  url: {type: str, required: true, description: "Where the server answers, such as http://10.96.0.7:11434."}
  model: {type: str, required: true, description: Name of the model.}
  file: {type: path, description: A GGUF file on this host.}
  seconds: {type: int, default: 20, description: How long one call may take to fetch.}
attributes:
  check_mode: {support: full}
author: edgectl
"""

EXAMPLES = r"""
- name: The model is there
  edgectl_ollama_model:
    url: http://10.96.0.7:11434
    model: deepseek-r1:1.5b
  register: model
  until: model is failed or model.there
  retries: 1000
  delay: 0
"""

RETURN = r"""
there: {description: Whether all of it is there., type: bool, returned: always}
msg: {description: How far it is., type: str, returned: always}
"""


def main():
    module = AnsibleModule(
        argument_spec={
            "url": {"type": "str", "required": True},
            "model": {"type": "str", "required": True},
            "file": {"type": "path"},
            "seconds": {"type": "int", "default": 20},
        },
        supports_check_mode=True,
    )
    options, server = module.params, Ollama(module.params["url"])
    place = urllib.parse.urlsplit(options["url"])
    wait_for(place.hostname, place.port or 80)
    try:
        if server.has(options["model"]):
            module.exit_json(changed=False, there=True, msg="{} is there".format(options["model"]))
        if module.check_mode:
            module.exit_json(changed=True, there=False, msg="{} would be fetched".format(options["model"]))
        if options["file"]:
            server.load(options["model"], options["file"])
            module.exit_json(changed=True, there=True, msg="{} is there".format(options["model"]))
        there, said = server.pull(options["model"], options["seconds"])
    except OllamaError as error:
        module.fail_json(msg=str(error), there=False)
    module.exit_json(changed=True, there=there, msg=said)


if __name__ == "__main__":
    main()
