"""The real `herm` as a client of the suite: a written configuration, ordinary commands.

    herm-client.py HERM URL

Only scenarios that the command line can express; the others are conformance-client's.
"""

import json
import os
import subprocess
import sys
import tempfile


def main():
    herm, url = sys.argv[1:]
    scenario = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
    # `auto` opens with a handshake, whose headers the suite's stateless servers count as a fault.
    stateless = os.environ.get("MCP_CONFORMANCE_PROTOCOL_VERSION") == "2026-07-28"
    protocol = "stateless" if stateless else "auto"
    with tempfile.TemporaryDirectory() as home:
        with open(os.path.join(home, "config.yaml"), "w", encoding="utf-8") as file:
            file.write(f"mcp_servers:\n  suite:\n    url: {url}\n    protocol: {protocol}\n")
        run = Runner(herm, home)
        if scenario == "tools_call":
            run("call", "suite.add_numbers", "a=2", "b=3")
        elif scenario == "sse-retry":
            run("call", "suite.test_reconnection")
        elif scenario == "http-invalid-tool-headers":
            for tool in run.list("tools", "--schema")["tools"]:
                run("call", tool["name"], "--args", smallest(tool["definition"]))
        elif scenario == "http-standard-headers":
            for tool in run.list("tools", "--schema")["tools"]:
                run("call", tool["name"], "--args", smallest(tool["definition"]))
            for resource in run.list("resources")["resources"]:
                run("read", "--server", "suite", resource["id"])
            for prompt in run.list("prompts")["prompts"]:
                run("prompt", f"suite.{prompt['id']}")
        else:
            sys.exit(f"no commands are known for {scenario!r}")


class Runner:
    def __init__(self, herm, home):
        self.herm = herm
        self.environment = {"PATH": os.environ["PATH"], "HOME": home, "HERM_HOME": home}

    def __call__(self, *arguments):
        command = [self.herm, "--json", *arguments]
        done = subprocess.run(command, env=self.environment, capture_output=True, timeout=60, check=False)
        sys.stderr.write(done.stderr.decode())
        if done.returncode:
            sys.exit(f"{' '.join(command)} ended with {done.returncode}: {done.stdout.decode()}")
        return done.stdout

    def list(self, *arguments):
        return json.loads(self(*arguments))


def smallest(definition):
    schema = definition.get("inputSchema") or {}
    values = {"integer": 1, "number": 1, "boolean": True, "object": {}, "array": []}
    types = {key: schema["properties"][key].get("type") for key in schema.get("required", [])}
    return json.dumps({key: values.get(kind, "us-west1") for key, kind in types.items()})


main()
