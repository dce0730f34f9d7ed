"""The servers' files lie where their account can reach them, and no foreign folder is opened for it."""

from __future__ import annotations

import json
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.launch.account import server_account
from app.launch.errors import LaunchError
from app.launch.home import Home, prepare_home
from app.launch.place import remove_place, server_place


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    home = prepare_home(closed / "checkout" / ".warmline")
    yield home
    remove_place(home)


def modes(path: Path) -> dict[str, tuple[int, int]]:
    return {
        str(folder): (folder.stat().st_mode, folder.stat().st_uid)
        for folder in (path, *path.parents, Path("/var/tmp"))
    }


def test_no_folder_above_is_changed(home: Home) -> None:
    before = modes(home.path)
    server_place(home)
    assert modes(home.path) == before


def test_the_place_belongs_to_the_account_alone(home: Home) -> None:
    place = server_place(home)
    found = place.path.stat()
    assert stat.S_IMODE(found.st_mode) == 0o700
    assert found.st_uid == (place.account.uid if place.account else os.geteuid())
    if place.account:
        assert place.account.can_enter(place.path)


def test_it_lies_in_the_home_wherever_the_account_can_go_there(home: Home) -> None:
    account = server_account()
    in_home = home.path in server_place(home).path.parents
    assert in_home == (account is None or account.can_enter(home.path))


def test_every_call_gives_the_same_place(home: Home) -> None:
    assert server_place(home) == server_place(home)


def test_a_copied_home_does_not_share_the_place(home: Home, tmp_path: Path) -> None:
    first = server_place(home)
    shutil.copytree(home.path, tmp_path / "closed" / "copy")
    copy = prepare_home(tmp_path / "closed" / "copy")
    try:
        assert server_place(copy).path != first.path
    finally:
        remove_place(copy)


def test_a_place_that_others_may_enter_is_refused(home: Home) -> None:
    place = server_place(home)
    home.place_file.write_text(json.dumps({"home": str(home.path), "place": str(place.path)}))
    place.path.chmod(0o755)
    if place.account:
        with pytest.raises(LaunchError, match="must belong to"):
            server_place(home)
    else:
        assert server_place(home).path == home.path / "servers"


def test_a_home_made_anew_takes_the_orphaned_place_away(home: Home) -> None:
    first = server_place(home)
    (first.path / "old").write_text("of the earlier checkout")
    shutil.rmtree(home.path)
    second = server_place(prepare_home(home.path))
    assert not (second.path / "old").exists()
    assert not (first.path / "old").exists()
