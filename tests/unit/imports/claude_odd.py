"""Odd Claude Code transcripts, all invented, with the conversation that each of them tells.

A conversation is written down part by part: ``> text`` what the user typed,
``[title] text`` what the program wrote in the user's name, ``text`` the
model's, ``~ text`` a thought, ``call id`` and ``id = text`` a call and its
result, ``{type}`` another part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.session.codec import dumps
from tests.unit.imports.building import stamp
from tests.unit.imports.claude_building import (
    OTHER,
    SID,
    call,
    piece,
    prompt,
    record,
    result,
    text,
)

if TYPE_CHECKING:
    from agentmem_cli.session.codec import JSON, Object

PIXEL: Final = "iVBORw0KGgo="


class Odd(NamedTuple):
    """A transcript and what it tells."""

    records: list[bytes]
    told: list[str]
    """The main agent's conversation."""
    sides: dict[str, list[str]] = {}  # noqa: RUF012 - never changed
    """The other agents' conversations."""
    unanswered: tuple[str, ...] = ()
    """Calls that have no result, here and there."""


def usage(output: int) -> Object:
    return {"input_tokens": 4, "output_tokens": output, "cache_read_input_tokens": 900}


def thinking(words: str) -> Object:
    return {"type": "thinking", "thinking": words, "signature": "c2ln"}


def loose(kind: str, **more: JSON) -> bytes:
    return dumps({"type": kind, "sessionId": SID, **more})


def without(line: bytes, *keys: str) -> bytes:
    from agentmem_cli.session.codec import loads

    value = loads(line)
    assert isinstance(value, dict)
    return dumps({key: field for key, field in value.items() if key not in keys})


def attached(uuid: str, parent: str, second: int, **attachment: JSON) -> bytes:
    return record("attachment", uuid, parent, second, attachment={**attachment})


# -- replies ----------------------------------------------------------------

STREAMED = Odd(
    [
        prompt("u1", None, "How high is the tide?"),
        piece("a1", "u1", "m1", thinking("Hm"), second=2, usage=usage(1)),
        piece("a2", "a1", "m1", text("It"), second=3, usage=usage(2)),
        piece("a3", "a2", "m1", text("It is 5.1 m"), second=4, usage=usage(7)),
        piece("a4", "a3", "m1", call("t1", "Bash", command="tide"), second=5, usage=usage(40)),
        result("r1", "a4", "t1", "5.1", 6, toolUseResult={"stdout": "5.1", "stderr": ""}),
        piece("a5", "r1", "m2", text("Yes: 5.1 m."), second=7, stop_reason="end_turn"),
    ],
    [
        "> How high is the tide?",
        "~ Hm",
        "It is 5.1 m",
        "call t1",
        "t1 = 5.1",
        "Yes: 5.1 m.",
    ],
)

HIDDEN = Odd(
    [
        prompt("u1", None, "Why?"),
        piece("a1", "u1", "m1", {"type": "redacted_thinking", "data": "ZW5jcnlwdGVk"}),
        piece("a2", "a1", "m1", thinking(""), second=2),
        piece("a3", "a2", "m1", thinking("The moon."), second=3),
        piece("a4", "a3", "m1", text("The moon."), second=3),
        prompt("u2", "a4", "ultrathink: and the sun?", 4),
        piece("a5", "u2", "m2", {"type": "redacted_thinking", "data": "bW9yZQ=="}, second=5),
        piece("a6", "a5", "m2", text("Half as much."), second=6),
    ],
    [
        "> Why?",
        "{redacted_thinking}",
        "~ ",
        "~ The moon.",
        "The moon.",
        "> ultrathink: and the sun?",
        "{redacted_thinking}",
        "Half as much.",
    ],
)

SEARCHED = Odd(
    [
        prompt("u1", None, "Look it up"),
        piece(
            "a1",
            "u1",
            "m1",
            {
                "type": "server_tool_use",
                "id": "srvtoolu_1",
                "name": "web_search",
                "input": {"query": "tides"},
            },
            second=2,
        ),
        piece(
            "a2",
            "a1",
            "m1",
            {
                "type": "web_search_tool_result",
                "tool_use_id": "srvtoolu_1",
                "content": [{"type": "web_search_result", "url": "https://tide.example/x"}],
            },
            second=3,
        ),
        piece(
            "a3",
            "a2",
            "m1",
            {"type": "text", "text": "High at five.", "citations": [{"cited_text": "five"}]},
            second=4,
        ),
        piece("a4", "a3", "m1", {"type": "advisor_tool_result", "content": {"ok": True}}),
        prompt("u2", "a4", "Thanks", 6),
    ],
    [
        "> Look it up",
        "{server_tool_use}",
        "{web_search_tool_result}",
        "High at five.",
        "{advisor_tool_result}",
        "> Thanks",
    ],
)

FAILED = Odd(
    [
        prompt("u1", None, "Go"),
        record(
            "system",
            "e1",
            "u1",
            2,
            subtype="api_error",
            level="error",
            error={"status": 529},
            retryInMs=512.25,
            retryAttempt=1,
            maxRetries=10,
        ),
        piece(
            "a1",
            "e1",
            "msg-err",
            text("API Error: 529 overloaded"),
            second=3,
            model="<synthetic>",
            usage=usage(0),
            stop_reason="stop_sequence",
            isApiErrorMessage=True,
            error="overloaded",
        ),
        prompt("u2", "a1", "continue", 60),
        piece("a2", "u2", None, text("No response requested."), second=61, model="<synthetic>"),
        piece("a3", "a2", "m2", text("Here I am."), second=62),
    ],
    [
        "> Go",
        "API Error: 529 overloaded",
        "> continue",
        "No response requested.",
        "Here I am.",
    ],
)

INTERRUPTED = Odd(
    [
        prompt("u1", None, "Run it"),
        piece("a1", "u1", "m1", text("Running."), second=2),
        piece("a2", "a1", "m1", call("t1"), second=2),
        piece("a3", "a2", "m1", call("t2"), second=2),
        result(
            "r1",
            "a2",
            "t1",
            "The user doesn't want to proceed with this tool use.",
            3,
            toolUseResult="User rejected tool use",
        ),
        prompt("i1", "r1", [text("[Request interrupted by user for tool use]")], 3),
        prompt("u2", "i1", "Only the first", 4),
        piece("a4", "u2", "m2", text("Then"), second=5),
        prompt("i2", "a4", [text("[Request interrupted by user]")], 6),
        prompt("u3", "i2", "[Request interrupted by user] is what it printed", 7),
    ],
    [
        "> Run it",
        "Running.",
        "call t1",
        "call t2",
        "t1 = The user doesn't want to proceed with this tool use.",
        "[interrupted] [Request interrupted by user for tool use]",
        "> Only the first",
        "Then",
        "[interrupted] [Request interrupted by user]",
        "> [Request interrupted by user] is what it printed",
    ],
    unanswered=("t2",),
)

# -- results ----------------------------------------------------------------

PICTURED = Odd(
    [
        prompt("u1", None, "Take a picture"),
        piece("a1", "u1", "m1", call("t1", "mcp__browser__screenshot"), second=2),
        result(
            "r1",
            "a1",
            "t1",
            [
                text("Taken."),
                {
                    "type": "image",
                    "source": {"type": "base64", "media_type": "image/png", "data": PIXEL},
                },
                {"type": "resource", "resource": {"uri": "mcp://x/1", "text": "more"}},
                {"type": "tool_reference", "tool_name": "mcp__x__y"},
            ],
            3,
            toolUseResult=[
                {"type": "text", "text": "Taken."},
                {"type": "image", "source": {"type": "base64", "data": PIXEL}},
            ],
            mcpMeta={"structuredContent": {"ok": True}},
        ),
        prompt("u2", "r1", [{"type": "tool_result", "tool_use_id": "t1"}, text("and?")], 4),
    ],
    [
        "> Take a picture",
        "call t1",
        "t1 = Taken.{image}{json}{json}",
        "t1 = ",
        "> and?",
    ],
)

SHUFFLED = Odd(
    [
        prompt("u1", None, "All at once"),
        piece("a1", "u1", "m1", call("t1"), second=2),
        piece("a2", "a1", "m1", call("t2"), second=2),
        piece("a3", "a2", "m1", call("t3"), second=2),
        result("r3", "a3", "t3", "three", 5),
        result("r1", "a1", "t1", "one", 6),
        prompt("q1", "r1", "Hurry", 7),
        piece("a4", "q1", "m2", text("I do."), second=8),
        *(
            line
            for i in range(20)
            for line in (
                prompt(f"p{i}", "a4", f"again {i}", 10 + i),
                piece(f"b{i}", f"p{i}", f"n{i}", text(f"yes {i}"), second=10 + i),
            )
        ),
        result("r2", "a2", "t2", "two", 50),
    ],
    [
        "> All at once",
        "call t1",
        "call t2",
        "call t3",
        "t3 = three",
        "t1 = one",
        "> Hurry",
        "I do.",
        *(line for i in range(20) for line in (f"> again {i}", f"yes {i}")),
        "t2 = two",
    ],
    unanswered=("t2",),
)

DOUBLED = Odd(
    [
        prompt("u1", None, "Twice"),
        piece("a1", "u1", "m1", call("t1", "Read", file_path="a"), second=2),
        result("r1", "a1", "t1", "first", 3),
        piece("a2", "r1", "m2", call("t1", "Read", file_path="b"), second=4),
        result("r2", "a2", "t1", "second", 5),
        result("r2", "a2", "t1", "second", 5),
        piece("a3", "r2", "m3", call(None, "Grep"), call(None, "Glob"), second=6),
        result("r3", "a3", None, "grepped", 7),
        result("r4", "r3", None, "globbed", 8),
        piece("a4", "r4", "m4", text("Done."), second=9),
    ],
    [
        "> Twice",
        "call t1",
        "t1 = first",
        "call t1",
        "t1 = second",
        "call line-7-0",
        "call line-7-1",
        "line-7-0 = grepped",
        "line-7-1 = globbed",
        "Done.",
    ],
)

# -- what the program writes ------------------------------------------------

COMMANDED = Odd(
    [
        loose("mode", mode="normal"),
        prompt("c0", None, "Caveat: not for you", isMeta=True),
        prompt("c1", "c0", "<command-name>/model</command-name>\n<command-args></command-args>", 2),
        prompt("c2", "c1", "<local-command-stdout>Set model</local-command-stdout>", 2),
        prompt("b1", "c2", "<bash-input>ls</bash-input>", 3),
        prompt("b2", "b1", "<bash-stdout>a.txt</bash-stdout><bash-stderr></bash-stderr>", 3),
        record(
            "system",
            "s1",
            "b2",
            4,
            subtype="local_command",
            content="<command-name>/cost</command-name>",
        ),
        record(
            "system",
            "s2",
            "s1",
            4,
            subtype="local_command",
            content="<local-command-stdout>$0.12</local-command-stdout>",
        ),
        prompt("h1", "s2", "<user-prompt-submit-hook>be kind</user-prompt-submit-hook>", 5),
        prompt("u1", "h1", "<b>bold</b> question", 6),
        piece("a1", "u1", "m1", text("Answer"), second=7),
        record(
            "system",
            "s3",
            "a1",
            8,
            subtype="stop_hook_summary",
            hookCount=1,
            hookInfos=[{"command": "lint"}],
            preventedContinuation=False,
        ),
        record("system", "s4", "s3", 8, subtype="turn_duration", durationMs=1200, messageCount=4),
    ],
    [
        "[meta] Caveat: not for you",
        "[command] <command-name>/model</command-name>\n<command-args></command-args>",
        "[local-command] <local-command-stdout>Set model</local-command-stdout>",
        "[bash] <bash-input>ls</bash-input>",
        "[bash] <bash-stdout>a.txt</bash-stdout><bash-stderr></bash-stderr>",
        "[command] <command-name>/cost</command-name>",
        "[local-command] <local-command-stdout>$0.12</local-command-stdout>",
        "[hook] <user-prompt-submit-hook>be kind</user-prompt-submit-hook>",
        "> <b>bold</b> question",
        "Answer",
    ],
)

PLANNED = Odd(
    [
        loose("permission-mode", permissionMode="plan"),
        prompt("u1", None, "Plan it", permissionMode="plan"),
        attached("at1", "u1", 1, type="plan_mode", reminderType="full", isSubAgent=False),
        piece("a1", "at1", "m1", call("t1", "ExitPlanMode", plan="1. Dig"), second=2),
        result(
            "r1",
            "a1",
            "t1",
            "User has approved your plan.",
            3,
            toolUseResult={"plan": "1. Dig", "isAgent": False},
        ),
        attached("at2", "r1", 4, type="todo_reminder", content=[], itemCount=0),
        attached("at3", "at2", 4, type="plan_mode_exit", planFilePath="/p"),
        piece("a2", "at3", "m2", call("t2", "TodoWrite", todos=[]), second=5),
        result("r2", "a2", "t2", "Todos have been modified", 6, toolUseResult={"newTodos": []}),
        prompt("p1", "r2", "Implement the following plan: 1. Dig", 7, planContent="1. Dig"),
        piece("a3", "p1", "m3", text("Dug."), second=8),
    ],
    [
        "> Plan it",
        "call t1",
        "t1 = User has approved your plan.",
        "call t2",
        "t2 = Todos have been modified",
        "> Implement the following plan: 1. Dig",
        "Dug.",
    ],
)

QUEUED = Odd(
    [
        loose("queue-operation", operation="enqueue", content="also eat", timestamp=stamp(2)),
        prompt("u1", None, "Work"),
        piece("a1", "u1", "m1", call("t1"), second=2),
        result("r1", "a1", "t1", "ok", 3),
        loose("queue-operation", operation="remove", timestamp=stamp(4)),
        attached("q1", "r1", 4, type="queued_command", prompt="also eat", commandMode="prompt"),
        attached(
            "q2",
            "q1",
            4,
            type="queued_command",
            prompt=[
                text("and see"),
                {
                    "type": "image",
                    "source": {"type": "base64", "media_type": "image/png", "data": PIXEL},
                },
            ],
            commandMode="prompt",
            imagePasteIds=[1],
        ),
        attached(
            "q3",
            "q2",
            5,
            type="queued_command",
            prompt="<task-notification>\n<task-id>b1</task-id>\n</task-notification>",
            commandMode="task-notification",
        ),
        piece("a2", "q3", "m2", text("Eaten."), second=6),
    ],
    [
        "> Work",
        "call t1",
        "t1 = ok",
        "> also eat",
        "> and see",
        "{image}",
        "[task-notification] <task-notification>\n<task-id>b1</task-id>\n</task-notification>",
        "Eaten.",
    ],
)

# -- the tree ---------------------------------------------------------------

_OLD: list[bytes] = [
    prompt("u1", None, "one", 1),
    piece("a1", "u1", "m1", text("kept"), second=2),
    piece("a2", "a1", "m1", call("t1"), second=2),
    result("r1", "a2", "t1", "kept too", 3),
]

COMPACTED = Odd(
    [
        *_OLD,
        record(
            "system",
            "c1",
            None,
            9,
            subtype="compact_boundary",
            content="Conversation compacted",
            logicalParentUuid="r1",
            compactMetadata={
                "trigger": "auto",
                "preTokens": 150_000,
                "preservedSegment": {"headUuid": "a1", "anchorUuid": "s1", "tailUuid": "r1"},
            },
        ),
        prompt(
            "s1",
            "c1",
            "This session is being continued. One was said.",
            9,
            isCompactSummary=True,
            isVisibleInTranscriptOnly=True,
        ),
        piece("a1", "s1", "m1", text("kept"), second=2),
        piece("a2", "a1", "m1", call("t1"), second=2),
        result("r1", "a2", "t1", "kept too", 3),
        attached("f1", "r1", 9, type="file", filename="/x", content={"type": "text"}),
        prompt("u2", "f1", "on", 10),
        piece("a3", "u2", "m2", text("On."), second=11),
        record(
            "system",
            "c2",
            "a3",
            12,
            subtype="microcompact_boundary",
            content="Context microcompacted",
            microcompactMetadata={"tokensSaved": 900, "compactedToolIds": ["t1"]},
        ),
        prompt("u3", "c2", "and on", 13),
    ],
    [
        "> one",
        "kept",
        "call t1",
        "t1 = kept too",
        "[compact-summary] This session is being continued. One was said.",
        "> on",
        "On.",
        "> and on",
    ],
)

RENEWED = Odd(
    [
        *_OLD,
        record("system", "c1", None, 9, subtype="compact_boundary", logicalParentUuid="r1"),
        prompt("s1", "c1", "So far: one.", 9, isCompactSummary=True),
        # Some versions give what they write again ids of its own.
        prompt("n0", "s1", "one", 1),
        piece("n1", "n0", "m1", text("kept"), second=2),
        piece("n2", "n1", "m1", call("t1"), second=2),
        result("n3", "n2", "t1", "kept too", 3),
        prompt("u2", "n3", "on", 10),
        piece("a3", "u2", "m2", text("On."), second=11),
    ],
    [
        "> one",
        "kept",
        "call t1",
        "t1 = kept too",
        "[compact-summary] So far: one.",
        "> on",
        "On.",
    ],
)

RESUMED = Odd(
    [
        loose("summary", summary="Old title", leafUuid="a1"),
        prompt("u1", None, "one", 1, sessionId=OTHER),
        piece("a1", "u1", "m1", text("two"), second=2, sessionId=OTHER),
        prompt("u2", "a1", "three", 3, cwd="/home/ada/tides/.claude/worktrees/w1"),
        loose("worktree-state", worktreeSession={"worktreePath": "/w", "branch": "w1"}),
        piece("a2", "u2", "m2", text("four"), second=4, gitBranch="w1"),
        loose("last-prompt", lastPrompt="three"),
        loose("agent-name", agentName="tidy"),
        loose("pr-link", prNumber=3, prUrl="https://git.example/3", timestamp=stamp(5)),
        prompt("u3", "a2", "five", 6, teamName="crew", agentName="lead"),
        prompt("u4", "u3", '<teammate-message teammate_id="mate">six</teammate-message>', 7),
    ],
    [
        "> one",
        "two",
        "> three",
        "four",
        "> five",
        '[teammate] <teammate-message teammate_id="mate">six</teammate-message>',
    ],
)

_SIDE: Object = {"isSidechain": True}

SIDELONG = Odd(
    [
        prompt("u1", None, "Ask two"),
        piece("a1", "u1", "m1", call("t1", "Task"), second=2),
        piece("a2", "a1", "m1", call("t2", "Task"), second=2),
        prompt("11111111-x", None, "Left?", 3, **_SIDE),
        prompt("22222222-x", None, "Right?", 3, **_SIDE),
        piece("l1", "11111111-x", "k1", call("t9"), second=4, **_SIDE),
        piece("r1", "22222222-x", "k2", text("Right."), second=5, **_SIDE),
        result("l2", "l1", "t9", "looked", 6, **_SIDE),
        piece("l3", "l2", "k3", text("Left."), second=7, **_SIDE),
        result("x2", "a2", "t2", "Right.", 8),
        result("x1", "x2", "t1", "Left.", 9),
        piece("a3", "x1", "m2", text("Both."), second=10),
    ],
    [
        "> Ask two",
        "call t1",
        "call t2",
        "t2 = Right.",
        "t1 = Left.",
        "Both.",
    ],
    {
        "side-11111111": ["> Left?", "call t9", "t9 = looked", "Left."],
        "side-22222222": ["> Right?", "Right."],
    },
)

# -- fields that are not there, or stand elsewhere --------------------------

BARE = Odd(
    [
        without(prompt("u1", None, "Hi"), "uuid", "timestamp", "parentUuid"),
        without(piece("a1", "u1", None, text("Ho")), "uuid", "timestamp", "cwd"),
        without(prompt("u2", None, "Hi"), "uuid", "timestamp", "parentUuid", "type"),
        dumps({"message": {"role": "assistant", "content": "Ho", "id": "m1"}, "type": "assistant"}),
        dumps({"message": {"content": [text("again")], "role": "user"}, "type": "user"}),
        dumps({"type": "user", "content": "flat", "sessionId": SID}),
        dumps({"type": "user", "message": "plain", "sessionId": SID}),
        without(piece("a2", "x", "m2", text("late")), "message", "type")[:-1]
        + b',"message":{"id":"m2","content":[{"text":"late","type":"text"}],"role":"assistant"}'
        b',"type":"assistant"}',
    ],
    ["> Hi", "Ho", "> Hi", "Ho", "> again", "> flat", "> plain", "late"],
)

NEWER = Odd(
    [
        prompt("u1", None, "Hi"),
        record("progress", "p1", "u1", 2, data={"type": "hook_progress"}, toolUseID="t0"),
        record("hologram", "x1", "p1", 2, beam=True),
        dumps({"type": "atis-latch", "state": {"deep": [1, 2.50, 10**30]}}),
        record("system", "s1", "x1", 2, subtype="never_seen", content="?"),
        record("system", "s2", "s1", 2),
        attached("at", "s2", 2, type="never_seen"),
        record("attachment", "at2", "at", 2),
        piece("a1", "at2", "m1", {"type": "hologram", "beam": "x"}, text("Ho"), second=3),
        prompt("u2", "a1", [{"type": "container_upload", "file_id": "f"}, text("see")], 4),
        dumps({"type": 7, "message": {"role": "user", "content": "numbered"}, "sessionId": SID}),
    ],
    ["> Hi", "{hologram}", "Ho", "> {container_upload}", "> see", "> numbered"],
)

REMINDED = Odd(
    [
        prompt(
            "u1",
            None,
            [text("<system-reminder>\nBe kind.\n</system-reminder>"), text("Why?")],
        ),
        piece("a1", "u1", "m1", text("So."), second=2),
        prompt("u2", "a1", "<ide_opened_file>x.py</ide_opened_file>\nAnd here?", 3),
        piece("a2", "u2", "m2", text("Too."), second=4),
        prompt("u3", "a2", [text("<ide_selection>x</ide_selection>"), text("<b>this</b>")], 5),
        prompt("u4", "u3", "<system-reminder>Only me</system-reminder>\n", 6),
        prompt(
            "u5",
            "u4",
            "<system-reminder>a</system-reminder><session-start-hook>b</session-start-hook> ",
            7,
        ),
        prompt("u6", "u5", "<system-reminder>never ended, and a question", 8),
    ],
    [
        "> <system-reminder>\nBe kind.\n</system-reminder>",
        "> Why?",
        "So.",
        "> <ide_opened_file>x.py</ide_opened_file>\nAnd here?",
        "Too.",
        "> <ide_selection>x</ide_selection>",
        "> <b>this</b>",
        "[system-reminder] <system-reminder>Only me</system-reminder>\n",
        "[hook] <system-reminder>a</system-reminder><session-start-hook>b</session-start-hook> ",
        "[system-reminder] <system-reminder>never ended, and a question",
    ],
)

HANGING = Odd(
    [
        prompt("u1", None, "Ask two, one after the other"),
        piece("a1", "u1", "m1", call("t1", "Task"), second=2),
        prompt("11111111-x", "a1", "First?", 3, **_SIDE),
        piece("11111111-y", "11111111-x", "k1", text("One."), second=4, **_SIDE),
        result("x1", "a1", "t1", "One.", 5),
        piece("a2", "x1", "m2", call("t2", "Task"), second=6),
        prompt("22222222-x", "a2", "Second?", 7, **_SIDE),
        piece("22222222-y", "22222222-x", "k2", text("Two."), second=8, **_SIDE),
        prompt("22222222-z", "nowhere", "More?", 9, **_SIDE),
        result("x2", "a2", "t2", "Two.", 10),
    ],
    ["> Ask two, one after the other", "call t1", "t1 = One.", "call t2", "t2 = Two."],
    {"side-11111111": ["> First?", "One."], "side-22222222": ["> Second?", "Two.", "> More?"]},
)

_FROM: Object = {"forkedFrom": {"sessionId": OTHER, "messageUuid": "x"}}

BRANCHED = Odd(
    [
        prompt("u1", None, "one", 1, **_FROM),
        piece("a1", "u1", "m1", text("two"), second=2, **_FROM),
        prompt("u2", "a1", "mine", 3),
        piece("a2", "u2", "m2", text("yours"), second=4),
    ],
    ["> one", "two", "> mine", "yours"],
)

_MANY: list[bytes] = [
    line
    for i in range(40)
    for line in (
        prompt(f"u{i}", f"r{i - 1}" if i else None, f"ask {i}", 4 * i),
        piece(f"a{i}", f"u{i}", f"m{i}", text(f"say {i}"), second=4 * i + 1, usage=usage(i)),
        piece(f"b{i}", f"a{i}", f"m{i}", call(f"t{i}"), second=4 * i + 2, usage=usage(i)),
        result(f"r{i}", f"b{i}", f"t{i}", f"out {i}", 4 * i + 3),
    )
]

PRESERVED = Odd(
    [
        *_MANY,
        record("system", "c1", None, 300, subtype="compact_boundary", logicalParentUuid="r39"),
        prompt("s1", "c1", "So far: much.", 300, isCompactSummary=True),
        *_MANY[-60:],
        prompt("z1", "r39", "ask 39", 301),
        record("system", "c2", None, 302, subtype="compact_boundary", logicalParentUuid="z1"),
        prompt("s2", "c2", "So far: more.", 302, isCompactSummary=True),
        *_MANY[-8:],
        prompt("z1", "r39", "ask 39", 301),
        piece("z2", "z1", "y1", text("Well."), second=303),
    ],
    [
        *(
            line
            for i in range(40)
            for line in (f"> ask {i}", f"say {i}", f"call t{i}", f"t{i} = out {i}")
        ),
        "[compact-summary] So far: much.",
        "> ask 39",
        "[compact-summary] So far: more.",
        "Well.",
    ],
)

EMPTY = Odd(
    [
        prompt("u0", None, ""),
        prompt("u1", "u0", " \n"),
        prompt("u2", "u1", []),
        prompt("u3", "u2", None),
        prompt("u4", "u3", ["bare", 7, None, [text("deep")]]),
        prompt("u5", "u4", text("an object")),
        piece("a1", "u5", "m1", second=2),
        piece("a2", "a1", "m2", text(""), second=3),
        piece("a3", "a2", "m3", call("t1"), {"type": "tool_use", "id": {"n": 1}}, second=4),
        result("r1", "a3", "t1", None, 5),
        result("r2", "r1", "t1", [], 5, toolUseResult=""),
        result("r3", "r2", "tx", {"odd": 1}, 6, toolUseResult=[1, None, "x"]),
        result("r4", "r3", "ty", [None, 5, ["x"], "plain"], 6, toolUseResult=True),
    ],
    [
        "> ",
        ">  \n",
        "> bare",
        "> {json}",
        "> {json}",
        "> {json}",
        "> an object",
        "",
        "call t1",
        "call {'n': 1}",
        "t1 = ",
        "t1 = ",
        "tx = {json}",
        "ty = {json}{json}{json}plain",
    ],
)

WILD = Odd(
    [
        prompt("u1", None, "\ud800 half, \x00 nul, \u202e back, \u2028 line"),
        piece("a1", "u1", "m1", call("t1", "Write", n=2**70, f=1e300), second=2)[:-1]
        + b',"huge":1e999,"zero":-0,"price":1.10}',
        result("r1", "a1", "t1", "ok" * 70_000, 3),
        piece("a2", "r1", "m2", text("</system-reminder>\x1b[31m red"), second=4),
        prompt("u2", "a2", '{"type":"user","message":1}\\n', 5),
        prompt("u2 ", "a2", "x", 5, sessionId="../../etc", cwd="\x00", agentId="../up"),
        prompt("u3", "u2", "y", 6, isSidechain=True, agentId="../up"),
    ],
    [
        "> \ud800 half, \x00 nul, \u202e back, \u2028 line",
        "call t1",
        "t1 = " + "ok" * 70_000,
        "</system-reminder>\x1b[31m red",
        '> {"type":"user","message":1}\\n',
        "> x",
    ],
    {"up-8c722b8ae2": ["> y"]},
)

ODD: Final[dict[str, Odd]] = {
    "a reply that streams": STREAMED,
    "thoughts that are sealed or empty": HIDDEN,
    "a search by the provider": SEARCHED,
    "errors of the api": FAILED,
    "interrupted requests": INTERRUPTED,
    "results of mcp with pictures": PICTURED,
    "results in another order and far later": SHUFFLED,
    "ids twice, and none": DOUBLED,
    "commands, a shell, hooks": COMMANDED,
    "plans and todos": PLANNED,
    "prompts that waited": QUEUED,
    "a compaction that writes again what it keeps": COMPACTED,
    "one that gives it new ids": RENEWED,
    "a resumed session, a worktree, a team": RESUMED,
    "two agents inside the file": SIDELONG,
    "missing fields": BARE,
    "a prompt with what the program adds": REMINDED,
    "agents that hang on their calls": HANGING,
    "a fork that has its own id": BRANCHED,
    "much that is kept by two compactions": PRESERVED,
    "contents that are nothing": EMPTY,
    "characters, numbers and names": WILD,
    "records of a newer version": NEWER,
}
