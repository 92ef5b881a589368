"""How a person goes on with a session in the agent it was had with."""

import shlex

# The agents that take the id of a session on their command line.
_COMMANDS = {"claude-code": ("claude", "--resume"), "codex": ("codex", "resume")}


def resume_command(source: str, session_id: str, directory: str) -> str:
    """Return the shell command that resumes a session, or the empty string where the agent has none.

    A sub-agent's session cannot be resumed; its parent's is. Agents look for a session in the directory it began in.
    """
    command = _COMMANDS.get(source)
    if command is None:
        return ""
    native = session_id.removeprefix(f"{source}:").partition("/")[0]
    there = f"cd {shlex.quote(directory)} && " if directory else ""
    return there + shlex.join([*command, native])
