"""Codex without a login: its app server lists and calls Origin's tools. Argument: a codex that knows of Origin."""

import json
import subprocess
import sys
from typing import Any

Message = dict[str, Any]


def main(codex: str) -> None:
    """Talk to the app server as an editor would."""
    server = subprocess.Popen([codex, "app-server"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert server.stdin
    assert server.stdout
    numbers = iter(range(1, 100))

    def send(**message: object) -> None:
        assert server.stdin
        server.stdin.write(json.dumps(message) + "\n")
        server.stdin.flush()

    def request(method: str, **params: object) -> Message:
        assert server.stdout
        number = next(numbers)
        send(id=number, method=method, params=params)
        for line in server.stdout:
            message: Message = json.loads(line)
            if message.get("id") == number and "method" not in message:
                assert "result" in message, message
                result: Message = message["result"]
                return result
        raise AssertionError(f"the app server ended before it answered {method}")

    request("initialize", clientInfo={"name": "origin-check", "version": "1"})
    send(method="initialized")
    (origin,) = [found for found in request("mcpServerStatus/list")["data"] if found["name"] == "origin"]
    print("lists", *sorted(origin["tools"]))
    thread = request("thread/start")["thread"]["id"]
    called = request(
        "mcpServer/tool/call", threadId=thread, server="origin", tool="search", arguments={"query": "hello"}
    )
    answer = json.loads(called["content"][0]["text"])
    assert answer["footer"]["freshness"]
    print("calls search:", answer["footer"])
    server.stdin.close()
    server.terminate()
    server.wait()


if __name__ == "__main__":
    main(sys.argv[1])
