"""How changes and blocks of core memory are told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentmem_cli.cli.clock import screen_time, utc_time
from agentmem_cli.cli.output import talk, warn
from agentmem_cli.cli.render import count
from agentmem_cli.cli.text import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentmem_cli.cli.core_options import Open
    from agentmem_cli.cli.output import Output
    from agentmem_cli.cli.settings import Settings
    from agentmem_cli.operations.core.changing import Changed
    from agentmem_cli.operations.core.history import Edit
    from agentmem_cli.operations.core.looking import Size
    from agentmem_cli.operations.core.planning import BlockChange, OtherChange, Plan
    from agentmem_cli.session.codec import JSON, Object
    from agentmem_cli.session.core_values import StoredBlock


def tell_passed(passed: Sequence[Edit]) -> None:
    """Tell which newer changes an undo left, and why."""
    from agentmem_cli.operations.core.history import action_of

    for edit in passed:
        told = ", ".join(
            f"{each.key.removeprefix('core_memory.')} {action_of(each)}" for each in edit.versions
        )
        warn(f"passed by: n {edit.n} ({told})")
    if passed:
        warn("an undo changes no read-only block, and makes or lifts no protection")


def tell_change(opened: Open, changed: Changed, *, dry_run: bool, json: bool) -> int:
    """Tell what a change came to; return the exit status."""
    _warn(opened.id, changed)
    tell_passed(changed.passed)
    if json:
        with opened.settings.output() as out:
            out.object("agentmem.core-change/1", _change(opened, changed, dry_run=dry_run))
    elif dry_run:
        with opened.settings.output() as out:
            for line in lines_of(changed.plan):
                out.line(line)
    else:
        talk(*lines_of(changed.plan))
    if changed.refused is None:
        return 0
    warn(f"it would be refused: {changed.refused}")
    return changed.refused.exit_code


def _warn(session: str, changed: Changed) -> None:
    torn = changed.torn
    if torn is not None:
        warn(
            f"{session}/logs/{torn.log}.jsonl: {torn.cut} torn bytes at byte {torn.kept} "
            f"were set aside in files/{torn.set_aside}"
        )
    if changed.meta_error is not None:
        warn(f"{session}: the meta was not written ({changed.meta_error}); list goes by the logs")


def lines_of(plan: Plan) -> list[str]:
    """Return what a plan does, a line each, and the room that is left."""
    if plan.changes_nothing:
        undone = f"; what was changed from {plan.told.undoes} on is undone"
        return ["nothing changes" + (undone if plan.mark is not None else "")]
    lines = [_line(change) for change in plan.changes]
    if plan.changes_config:
        lines.append(f"bound: {count(plan.before.max_bytes)} -> {count(plan.max_bytes)} bytes")
    lines += [_other_line(change) for change in plan.others]
    told = f"{count(plan.used_after)} of {count(plan.max_bytes)} bytes used"
    if plan.over_bytes:
        return [*lines, f"{told}, {count(plan.over_bytes)} too many"]
    return [*lines, f"{told}, room for {count(plan.room_bytes)} more"]


def _other_line(change: OtherChange) -> str:
    kind = one_line(change.key.removeprefix("core_memory."))
    if change.after is None:
        return f"{kind}: removed, it was no block"
    return f"{kind}: back as it was, which is no block"


def _line(change: BlockChange) -> str:
    old, new = change.size_before, change.size_after
    kind = change.block_type.value
    if change.after is None:
        return f"{kind}: removed, {count(old)} -> 0 bytes ({-old:+,})"
    told = f"{kind}: {count(old)} -> {count(new)} bytes ({new - old:+,})"
    if change.before is None:
        return f"{told}, new"
    if change.before.content != change.after.content:
        return told
    return f"{told}, the content stays"


def _change(opened: Open, changed: Changed, *, dry_run: bool) -> Object:
    plan = changed.plan
    refused = changed.refused
    return {
        "session": opened.id,
        "agent": opened.agent,
        "log": changed.log,
        "dry_run": dry_run,
        "changed": not plan.changes_nothing,
        "first_n": changed.first_n,
        "last_n": changed.last_n,
        "blocks": [
            {
                "type": each.block_type.value,
                "before_bytes": None if each.before is None else each.size_before,
                "after_bytes": None if each.after is None else each.size_after,
                "difference_bytes": each.size_after - each.size_before,
                "hash": None if each.after is None else each.after.digest(),
            }
            for each in plan.changes
        ],
        "others": [each.key for each in plan.others],
        "used_before_bytes": plan.before.used_bytes,
        "used_bytes": plan.used_after,
        "max_bytes": plan.max_bytes,
        "room_bytes": plan.room_bytes,
        "over_bytes": plan.over_bytes,
        "undoes": plan.told.undoes,
        "refused": None if refused is None else {"kind": refused.kind, "message": str(refused)},
        "set_aside": None if changed.torn is None else changed.torn.set_aside,
    }


def block_object(stored: StoredBlock) -> Object:
    """Return a block as JSON shows it."""
    block = stored.block
    return {
        "type": block.block_type.value,
        "label": block.label,
        "content": block.content,
        "size_bytes": block.size_bytes,
        "id": str(block.id),
        "created": time_or_null(block.created_at_ms),
        "modified": time_or_null(block.modified_at_ms),
        "by": stored.by,
        "reason": stored.reason,
        "undoes": stored.undoes,
        "read_only": stored.read_only,
        "description": stored.description,
        "hash": stored.digest(),
    }


def time_or_null(t_ms: int) -> JSON:
    """Return a time for a program; null where it is 0, which is none."""
    return utc_time(t_ms) if t_ms else None


def when(settings: Settings, t_ms: int) -> str:
    """Return a time for a person; ``-`` where it is 0, which is none."""
    return screen_time(t_ms, settings.zone).strip() if t_ms else "-"


def size_object(size: Size) -> Object:
    """Return a size as JSON shows it."""
    return {"bytes": size.bytes, "characters": size.characters, "tokens": size.tokens}


def put_text(out: Output, data: bytes) -> None:
    """Write *data* byte for byte, or where a person looks on, made safe and with an end."""
    if not out.is_terminal:
        out.write_bytes(data)
        return
    from agentmem_cli.cli.text import visible

    out.line(visible(data.decode("utf-8", "surrogatepass")))


def head_of(stored: StoredBlock) -> str:
    """Return a block's type and label, and whether it is read-only."""
    label = f' "{one_line(stored.label)}"' if stored.label is not None else ""
    held = " [read-only]" if stored.read_only else ""
    return f"{stored.block.block_type.value}{label}{held}"
