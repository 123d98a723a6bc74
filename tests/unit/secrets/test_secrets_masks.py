from __future__ import annotations

import errno
import stat
from typing import TYPE_CHECKING

import pytest

from agentmem_cli.errors import UsageError
from agentmem_cli.operations.secrets.masks import MASK, AllowList, Masks, blanked, mask_key
from tests.secrets_made import KEY, token

if TYPE_CHECKING:
    from pathlib import Path


def test_a_mask_tells_the_same_value_again_and_nothing_else() -> None:
    masks = Masks(KEY)

    first, again, other = (masks.mask(token(seed), "vendor-token") for seed in (1, 1, 2))

    assert first == again
    assert first != other
    assert MASK.fullmatch(first.encode())
    assert Masks(bytes(32)).mask(token(1), "vendor-token") != first


def test_a_mask_without_a_key_has_no_digits() -> None:
    assert Masks(None).mask(token(), "Vendor Token!") == "[REDACTED:vendor-token]"


def test_the_users_key_is_made_once_and_for_nobody_else(tmp_path: Path) -> None:
    folder = tmp_path / "config" / "agentmem"

    first, again = mask_key(folder), mask_key(folder)

    assert first == again
    assert len(first) == 32
    assert stat.S_IMODE((folder / "mask.key").stat().st_mode) == 0o600
    assert [each.name for each in folder.iterdir()] == ["mask.key"]


def test_a_key_is_made_on_a_disk_without_hard_links_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def link(*_: object, **__: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr("os.link", link)
    made = mask_key(tmp_path)

    assert mask_key(tmp_path) == made
    assert [path.name for path in tmp_path.iterdir()] == ["mask.key"]
    assert stat.S_IMODE((tmp_path / "mask.key").stat().st_mode) == 0o600


def test_a_file_that_is_no_key_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "mask.key").write_text("not one")

    with pytest.raises(UsageError, match="not a key"):
        mask_key(tmp_path)
    assert (tmp_path / "mask.key").read_text() == "not one"


def test_an_allow_list_holds_what_was_added_and_no_value(tmp_path: Path) -> None:
    path = tmp_path / "allowed.json"
    AllowList.fresh().adding(frozenset({token(1)})).write(path)

    there = AllowList.read(path)

    assert there.holds(token(1))
    assert not there.holds(token(2))
    assert token(1) not in path.read_text()
    assert Masks(bytes(32), allowed=there).stays(token(1))


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"salt":1,"allowed":[]}', '{"salt":"zz","allowed":[]}']
)
def test_another_file_is_no_allow_list(tmp_path: Path, text: str) -> None:
    path = tmp_path / "allowed.json"
    path.write_text(text)

    with pytest.raises(UsageError, match="no allow-list"):
        AllowList.read(path)


def test_a_value_is_kept_by_its_fingerprint() -> None:
    kept = Masks(KEY, keep=frozenset({Masks(KEY).fingerprint(token(1))}))

    assert kept.stays(token(1))
    assert not kept.stays(token(2))


def test_masks_are_blanked_to_the_same_length() -> None:
    mask = Masks(KEY).mask(token(), "vendor-token").encode()
    text = b"a " + mask + b" b [REDACTED:not closed"

    blank = blanked(text)

    assert len(blank) == len(text)
    assert blank.startswith(b"a \n,\n,")
    assert blank.endswith(b" b [REDACTED:not closed")
    assert b"vendor" not in blank
