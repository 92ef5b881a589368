#!/usr/bin/env bash
# Real MCP clients against `origin mcp`, none of which needs a login: `bash tests/clients/run.sh [python]`.
# Outside the suite: it fetches the clients with npm, about 1 GB, into $CLIENTS (default: a folder under $TMPDIR).
set -euo pipefail
cd "$(dirname "$0")/../.."

root="$PWD"
python="$(command -v "${1:-python}")"
clients="${CLIENTS:-${TMPDIR:-/tmp}/origin-clients}"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

# No client may see, or write to, the settings and the store of whoever runs this.
export HOME="$work/home" ORIGIN_HOME="$work/origin" CODEX_HOME="$work/home/.codex"
mkdir -p "$CODEX_HOME" "$work/project" "$clients/node20" "$clients/node22"
server=("$python" "$root/manage.py" mcp)

fetch() { npm install --prefix "$@" --no-fund --no-audit --loglevel=error >/dev/null; }
fetch "$clients/node20" @modelcontextprotocol/inspector@0.22.0 @modelcontextprotocol/sdk@1 @anthropic-ai/claude-code @openai/codex
fetch "$clients/node22" node@22 @modelcontextprotocol/inspector@2
old="$clients/node20/node_modules/.bin"
new="$clients/node22/node_modules/.bin"

failed=0
check() { # check NAME PATTERN COMMAND…: the command must succeed and print the pattern
    local name="$1" pattern="$2" output="$work/output"
    shift 2
    if timeout 120 "$@" >"$output" 2>&1 </dev/null && grep -qE -- "$pattern" "$output"; then
        printf 'ok      %s\n' "$name"
    else
        printf 'FAILED  %s\n' "$name"
        tail -20 "$output" | sed 's/^/        /'
        failed=1
    fi
}

check "Inspector 0.22.0 tools/list" '"openWorldHint": false' "$old/mcp-inspector" --cli "${server[@]}" --method tools/list
check "Inspector 0.22.0 tools/call" '"isError": false' \
    "$old/mcp-inspector" --cli "${server[@]}" --method tools/call --tool-name search --tool-arg query=hello
check "Inspector 2 tools/list --strict" '"openWorldHint": false' \
    "$new/node" "$new/mcp-inspector" --cli "${server[@]}" --method tools/list --strict
cp tests/clients/typescript_sdk.mjs "$clients/node20/"
check "TypeScript SDK 1" 'search timeline get sources' node "$clients/node20/typescript_sdk.mjs" "${server[@]}"

cd "$work/project"
"$old/claude" mcp add origin -e ORIGIN_HOME="$ORIGIN_HOME" -- "${server[@]}" >/dev/null
check "$("$old/claude" --version): claude mcp list" 'origin: .*Connected' "$old/claude" mcp list
"$old/codex" mcp add origin --env ORIGIN_HOME="$ORIGIN_HOME" -- "${server[@]}" >/dev/null 2>&1
check "$("$old/codex" --version 2>/dev/null): codex app-server" 'calls search' \
    "$python" "$root/tests/clients/codex_app_server.py" "$old/codex"
exit "$failed"
