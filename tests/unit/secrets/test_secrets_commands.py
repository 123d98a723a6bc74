"""Passwords on command lines, of wireless networks and in files of clients; ids beside secrets.

Every value is made at run time; each form is tried with a plain word, too.
"""

from __future__ import annotations

import pytest

from agentmem_cli.operations.secrets.engine import Detector
from tests.secrets_made import made


@pytest.fixture(scope="session")
def detector(tmp_path_factory: pytest.TempPathFactory) -> Detector:
    return Detector(cache_dir=tmp_path_factory.getbasetemp().parent / "agentmem-rules")


def sure(detector: Detector, text: str) -> list[str]:
    """Return what is found in *text*, without what is weak."""
    data = text.encode()
    spans = [each for each in detector.scan(data) if each.confidence != "low"]
    return [data[each.start : each.end].decode() for each in spans]


FORMS = (
    "unzip -P {} backup.zip",
    "unzip -o -P{} backup.zip",
    "cd /tmp && zip -r -P {} out.zip notes",
    "7z x -p{} backup.7z",
    "7z a -p{} -mhe=on out.7z notes",
    "rar a -hp{} out.rar notes",
    "unrar x -p{} out.rar",
    "openssl enc -aes-256-cbc -in notes -out n.enc -k {}",
    "openssl enc -d -aes-256-cbc -K {} -iv 00",
    "openssl rsa -in k.pem -passin pass:{}",
    "openssl pkcs12 -export -passout pass:{} -in a.pem",
    "openssl enc -aes-256-cbc -pass pass:{}",
    "curl -u ann:{} https://h.invalid/x",
    "curl -sSu ann:{} https://h.invalid/x",
    "wget --http-password={} https://h.invalid",
    "mysql -u root -p{} shop",
    "mysqldump -uroot -p{} shop > dump.sql",
    "sshpass -p {} ssh ann@h.invalid",
    "sshpass -p'{}' ssh ann@h.invalid",
    "docker login -u ann -p {} registry.invalid",
    "docker login --password {} registry.invalid",
    "podman login -p {} registry.invalid",
    "helm registry login -u ann -p {} registry.invalid",
    "wpa_passphrase Attic {}",
    'nmcli dev wifi connect Attic password "{}"',
    'network={{\n  ssid="Attic"\n  psk={}\n}}',
    'psk="{}"',
    "wpa_passphrase={}",
    "machine h.invalid login ann password {}",
    "machine h.invalid\n  login ann\n  password {}",
    "default login ann password {}",
    "db.invalid:5432:shop:ann:{}",
    "*:*:*:ann:{}",
    "smbclient //h/s -U ann%{}",
    "ssh-keygen -t ed25519 -N {} -f k",
    "ipmitool -H h -U ann -P {} chassis status",
    "mosquitto_pub -h h -u ann -P {} -t x",
    "xfreerdp /u:ann /p:{} /v:h",
    "htpasswd -b users ann {}",
    "sqlplus ann/{}@shop",
    "lftp -u ann,{} ftp://h.invalid",
    "net use Z: \\\\h\\s {} /user:ann",
    "REDISCLI_AUTH={} redis-cli ping",
    "mount -t cifs //h/s /mnt -o username=ann,password={}",
    'psql "host=h.invalid user=ann password={} dbname=shop"',
    "ansible all -e ansible_become_pass={}",
    "kinit ann <<< {}",
    "gpg --batch --passphrase {} -d a.gpg",
)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("word", ["mixed", "plain"])
def test_a_password_of_a_command_or_a_client_is_found_alone(
    form: str, word: str, detector: Detector
) -> None:
    value = "Rk7" + made(len(form), 8) if word == "mixed" else "harbourtiger"

    assert sure(detector, form.format(value)) == [value]


@pytest.mark.parametrize(
    "text",
    [
        "With unzip -P you can give a password.",
        "Use unzip -P <password> file.zip, or zip -P $ZIP_PASSWORD out.zip notes",
        "zip -r out.zip notes && grep -P 'foobarbaz' notes",
        "find . -name '*.zip' -exec grep -P 'foobarbaz' {} +",
        "7z x -p backup.7z",
        "openssl req -newkey rsa:2048 -keyout key.pem -out cert.pem",
        "openssl rsa -in k.pem -passin env:KEY_PASSWORD -passout file:words",
        "openssl rsa -passin pass:$PASSWORD -in k.pem",
        "curl -u ann https://h.invalid",
        "docker login asks for your password before it goes on",
        "docker login --password-stdin registry.invalid",
        "gpg --passphrase-fd 0 --passphrase-file words -d a.gpg",
        "Use wpa_passphrase to generate the file.",
        "psk = derive_key(ssid)",
        "psk=pre_shared_key",
        "the default is shown; login and password commands are gone",
        "New settings replace the login and passwd commands. They go.",
        "Display information related to login by password (see also passwd).",
        "mkdir -p harbour/tiger && docker build -t x .",
        "ssh-keygen -t ed25519 -N '' -f k",
        "net use Z: \\\\h\\s /user:ann",
    ],
)
def test_what_only_looks_like_such_a_command_is_left(text: str, detector: Detector) -> None:
    assert sure(detector, text) == []


DIGITS = "0123456789"


def _uuid(seed: int) -> str:
    digits = made(seed, 32, "0123456789abcdef")
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def helpers() -> list[tuple[str, str]]:
    """Return names of vendors' things, each with a value of its form."""
    return [
        ("AZURE_TENANT_ID", _uuid(3)),
        ("PLIVO_AUTH_ID", "MA" + made(4, 18, "ABCDEFGHIJKLMNOPQRSTUVWXYZ" + DIGITS)),
        ("LARK_APP_ID", "cli_" + made(5, 16)),
        ("RAMP_CLIENT_ID", "ramp_id_" + made(6, 40)),
        ("SNOWFLAKE_HOST", f"{made(7, 8, 'abcdefgh' + DIGITS)}.eu-1.snowflakecomputing.com"),
    ]


@pytest.mark.parametrize("row", helpers(), ids=lambda row: row[0])
@pytest.mark.parametrize("form", ["{}={}", '{} = "{}"', "{}: {}", "export {}='{}'"])
def test_an_id_or_a_host_that_settings_give_to_its_vendor_is_found(
    row: tuple[str, str], form: str, detector: Detector
) -> None:
    name, value = row

    assert sure(detector, form.format(name, value)) == [value]


@pytest.mark.parametrize("row", helpers(), ids=lambda row: row[0])
@pytest.mark.parametrize("form", ["It is at {} now", "GET https://x.invalid/{}/info", "- {}\n- b"])
def test_an_id_or_a_host_elsewhere_is_left(
    row: tuple[str, str], form: str, detector: Detector
) -> None:
    assert sure(detector, form.format(row[1])) == []


@pytest.mark.parametrize(
    "text",
    [
        f"tenant_id={_uuid(9)}",
        f"session id: {_uuid(10)}",
        'tableau_pat_name="production_service"',
        "AZURE_TENANT_ID=${TENANT}",
        "SNOWFLAKE_HOST=<account>.snowflakecomputing.com",
    ],
)
def test_an_id_without_its_vendor_and_a_word_are_left(text: str, detector: Detector) -> None:
    assert sure(detector, text) == []
