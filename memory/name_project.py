"""The owner gives a project another name."""

from memory.actor import Actor
from memory.errors import Denied, InvalidInput
from memory.mutation import mutation
from memory.records import log
from memory.records.bodies import Alias
from memory.text import one_line

_NAME_LIMIT = 200


def name_project(name: str, target: str, actor: Actor) -> None:
    """Let the project `name` go by `target` from now on; giving it its own name takes that back.

    Raises `Denied` for anybody but the owner, and `InvalidInput`.
    """
    if not actor.is_owner:
        raise Denied("Only the owner names projects.")
    for field, text in (("name", name), ("target", target)):
        if not text.strip() or one_line(text, _NAME_LIMIT) != text:
            raise InvalidInput(field, f"A project's name is one line of at most {_NAME_LIMIT} characters.")
    with mutation("alias", actor) as change:
        record = log.write(Alias(name=name, target=target), actor.author)
        change.targets.append(f"record:{record.oseq}")
