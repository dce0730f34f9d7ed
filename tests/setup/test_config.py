"""The environment is read in one place, and what cannot be run with is refused in plain words."""

from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from app.config import (
    DEMO_ACCOUNT_SID,
    ConfigError,
    LaunchSettings,
    Settings,
    plain_database_url,
    secret_of,
    sqlalchemy_url,
)

SERVERS = {"DATABASE_URL": "postgresql://u:p@db.example/w", "REDIS_URL": "redis://r.example"}
ACCOUNT = {"TWILIO_ACCOUNT_SID": "AC1", "TWILIO_AUTH_TOKEN": "first"}


@pytest.fixture
def production(tmp_path: Path) -> dict[str, str]:
    return {**SERVERS, **ACCOUNT, "WARMLINE_HOME": str(tmp_path / "home")}


def test_without_addresses_the_embedded_servers_carry_a_demo() -> None:
    launch = LaunchSettings.from_env({})
    assert launch.demo
    assert launch.database_url is None
    assert launch.redis_url is None


def test_a_foreign_database_is_no_demo_unless_said() -> None:
    assert not LaunchSettings.from_env(SERVERS).demo
    assert LaunchSettings.from_env({**SERVERS, "WARMLINE_DEMO": "1"}).demo
    assert not LaunchSettings.from_env({"WARMLINE_DEMO": "0"}).demo


def test_arguments_win_over_the_environment(tmp_path: Path) -> None:
    environment = {"WARMLINE_PORT": "9000", "WARMLINE_HOME": "/nowhere", "WARMLINE_DEMO": "1"}
    launch = LaunchSettings.from_env(environment, port=9100, home=tmp_path, demo=False)
    assert (launch.port, launch.simulator_port, launch.home, launch.demo) == (9100, 9101, tmp_path, False)


def test_U05_without_a_token_it_refuses_to_start(production: dict[str, str]) -> None:
    for missing in ("TWILIO_AUTH_TOKEN", "TWILIO_ACCOUNT_SID"):
        with pytest.raises(ConfigError, match=r"TWILIO_ACCOUNT_SID and TWILIO_AUTH_TOKEN are not set"):
            Settings.from_env({**production, missing: " "})


def test_U05_two_tokens_are_valid_while_one_is_being_changed(production: dict[str, str]) -> None:
    settings = Settings.from_env({**production, "TWILIO_AUTH_TOKEN_SECONDARY": "second"})
    assert settings.twilio_auth_tokens == ("first", "second")


def test_U05_trusted_proxies_are_a_list_and_nobody_by_default(production: dict[str, str]) -> None:
    assert Settings.from_env(production).trusted_proxies == ()
    given = Settings.from_env({**production, "WARMLINE_TRUSTED_PROXIES": "10.0.0.1, 192.168.0.0/16,"})
    assert given.trusted_proxies == ("10.0.0.1", "192.168.0.0/16")
    with pytest.raises(ConfigError, match="'all' is neither an address nor a network"):
        Settings.from_env({**production, "WARMLINE_TRUSTED_PROXIES": "all"})


def test_a_demo_never_uses_the_real_account(production: dict[str, str]) -> None:
    settings = Settings.from_env({**production, "WARMLINE_DEMO": "1"})
    assert settings.twilio_account_sid == DEMO_ACCOUNT_SID
    assert "first" not in settings.twilio_auth_tokens
    assert settings.twilio_api_base_url == settings.simulator_url


def test_outside_a_demo_messages_go_to_the_provider_itself(production: dict[str, str]) -> None:
    assert Settings.from_env(production).twilio_api_base_url is None


@pytest.mark.parametrize(
    "address", ["http://api.example.org", "http://127.0.0.1.example.org", "http://10.0.0.1"]
)
def test_only_this_machine_may_stand_in_for_the_provider(production: dict[str, str], address: str) -> None:
    with pytest.raises(ConfigError, match="may only name this machine"):
        Settings.from_env({**production, "TWILIO_API_BASE_URL": address})
    local = Settings.from_env({**production, "TWILIO_API_BASE_URL": "http://127.0.0.1:8001/"})
    assert local.twilio_api_base_url == "http://127.0.0.1:8001"


@pytest.mark.parametrize("port", ["0", "65536", "-1", "eighty", "8 000"])
def test_a_port_that_is_none_is_said(port: str) -> None:
    with pytest.raises(ConfigError, match="WARMLINE_PORT must be a port number"):
        LaunchSettings.from_env({"WARMLINE_PORT": port})


def test_a_public_address_has_no_path_tricks(production: dict[str, str]) -> None:
    given = Settings.from_env({**production, "WARMLINE_PUBLIC_BASE_URL": "https://warm.example/"})
    assert given.public_base_url == "https://warm.example"
    with pytest.raises(ConfigError, match="is not an address"):
        Settings.from_env({**production, "WARMLINE_PUBLIC_BASE_URL": "warm.example"})


def test_a_database_of_another_kind_is_refused() -> None:
    assert plain_database_url("postgres://h/d") == "postgresql://h/d"
    assert plain_database_url("postgresql+asyncpg://h/d") == "postgresql://h/d"
    with pytest.raises(ConfigError, match="address of a PostgreSQL"):
        plain_database_url("mysql://h/d")


def test_sqlalchemy_gets_the_tls_wish_under_its_own_name() -> None:
    assert (
        sqlalchemy_url("postgresql://u:p%40@h:1/d?sslmode=require")
        == "postgresql+asyncpg://u:p%40@h:1/d?ssl=require"
    )


def test_secrets_do_not_show_in_a_printed_settings(production: dict[str, str]) -> None:
    printed = repr(Settings.from_env({**production, "WARMLINE_SECRET_KEY": "hush"}))
    assert "hush" not in printed
    assert "first" not in printed
    assert "u:p@" not in printed


def test_the_secret_is_made_once_though_many_start_together(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with ThreadPoolExecutor(8) as pool:
        secrets = set(pool.map(lambda _: secret_of(home), range(32)))
    assert len(secrets) == 1
    assert stat.S_IMODE((home / "secret").stat().st_mode) == 0o600
    assert [path.name for path in home.iterdir()] == ["secret"]


def test_child_processes_read_the_same_settings(tmp_path: Path) -> None:
    launch = LaunchSettings.from_env({"PATH": "/bin"}, port=9100, home=tmp_path)
    child = Settings.from_env(
        launch.child_environment(database_url="postgresql://h/d", redis_url="redis://h")
    )
    assert (child.port, child.simulator_port, child.home, child.demo) == (9100, 9101, tmp_path, True)


def test_a_call_that_goes_on_outlasts_no_lease(production: dict[str, str]) -> None:
    quick = {"WARMLINE_PROVIDER_ANSWER_SECONDS": "3", "WARMLINE_SEND_LEASE_SECONDS": "8.5"}
    settings = Settings.from_env({**production, **quick})
    assert (settings.provider_answer_timeout_seconds, settings.send_lease_seconds) == (3.0, 8.5)
    with pytest.raises(ConfigError, match="must be longer than"):
        Settings.from_env({**production, **quick, "WARMLINE_SEND_LEASE_SECONDS": "3"})


@pytest.mark.parametrize("wrong", ["0", "-1", "soon", "nan", "inf"])
def test_seconds_are_a_number_above_nothing(production: dict[str, str], wrong: str) -> None:
    with pytest.raises(ConfigError, match="WARMLINE_LOOK_UP_AFTER_SECONDS"):
        Settings.from_env({**production, "WARMLINE_LOOK_UP_AFTER_SECONDS": wrong})


def test_the_organisations_zone_has_one_source_and_a_wrong_one_is_refused(production: dict[str, str]) -> None:
    assert Settings.from_env(production).default_time_zone == "Asia/Kuala_Lumpur"
    assert (
        Settings.from_env({**production, "WARMLINE_TIME_ZONE": "Europe/Berlin"}).default_time_zone
        == "Europe/Berlin"
    )
    for wrong in ("Mars/Olympus", "../etc/passwd"):
        with pytest.raises(ConfigError, match="WARMLINE_TIME_ZONE"):
            Settings.from_env({**production, "WARMLINE_TIME_ZONE": wrong})
