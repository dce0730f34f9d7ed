"""Signing in and out, making people, and the audit log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from zoneinfo import available_timezones

from app.accounts import repository
from app.accounts.domain import (
    Brake,
    SignInRefused,
    TooManyTries,
    brakes_for,
    check_password,
    hash_secret,
    new_secret,
    wait_after,
)
from app.accounts.passwords import Passwords
from app.accounts.queries import open_session
from app.db.session import Database, UnitOfWork
from app.kernel.emails import normalise_email
from app.kernel.errors import Invalid
from app.kernel.roles import Role
from app.web.csrf import session_token
from app.web.viewer import Viewer


@dataclass(frozen=True, slots=True)
class NewSession:
    """A session just begun. `secret` goes into the cookie and nowhere else."""

    secret: str
    user_id: int


async def sign_in(
    *, database: Database, passwords: Passwords, email: str, password: str, address: str
) -> NewSession:
    """Begin a session for the right e-mail and password.

    Every try is counted before the password is looked at and taken back when it was right, so that many at
    once
    cannot slip past the brake. Raises `TooManyTries` (also for the right password) and `SignInRefused`,
    which is the same, after the same time, for an unknown name and a wrong password.
    """
    name = email.strip().casefold()[:320]
    brakes = brakes_for(email=name, address=address)
    async with database.transaction() as uow:
        tries = await _count_try(uow, brakes)
    async with database.reading() as uow:
        found = await repository.find_credentials(uow, email=name) if "\x00" not in name else None
    is_right = await passwords.is_right(found.password_hash if found else None, password)
    if found is None or not is_right:
        await _note_refusal(database, user_id=found.user_id if found else None)
        raise SignInRefused
    newer = await passwords.hash(password) if passwords.is_outdated(found.password_hash) else None
    async with database.transaction() as uow:
        if newer:
            await repository.replace_hash(uow, user_id=found.user_id, old=found.password_hash, new=newer)
        by_name = [brake.key for brake in brakes if brake.key.startswith("email:")]
        await repository.forget_failures(uow, ids=tries, keys=by_name)
        return await begin_session(uow, user_id=found.user_id, action="signed_in")


async def sign_in_demo_person(uow: UnitOfWork, *, email: str) -> NewSession:
    """Begin a session for a demo person, without a password. The caller makes sure that this is a demo."""
    user_id = await repository.find_demo_person(uow, email=email) if "\x00" not in email else None
    if user_id is None:
        raise SignInRefused
    return await begin_session(uow, user_id=user_id, action="signed_in_demo")


async def begin_session(uow: UnitOfWork, *, user_id: int, action: str) -> NewSession:
    """Store a session under a secret that did not exist before (nobody can have planted it)."""
    secret = new_secret()
    await repository.insert_session(
        uow, token_hash=hash_secret(secret), user_id=user_id, csrf_secret=new_secret()
    )
    await record_audit(uow, user_id=user_id, action=action)
    return NewSession(secret=secret, user_id=user_id)


async def sign_out(uow: UnitOfWork, *, session_hash: str) -> None:
    """End a session. Ending it twice changes nothing."""
    user_id = await repository.end_session(uow, token_hash=session_hash)
    if user_id is not None:
        await record_audit(uow, user_id=user_id, action="signed_out")


async def recognise(*, database: Database, secret: str) -> Viewer | None:
    """Return the person of a session's secret, or None. Writes down that the session is in use, once a
    minute.
    """
    token_hash = hash_secret(secret)
    async with database.reading() as uow:
        found = await open_session(uow, token_hash=token_hash)
    if found is None:
        return None
    if found.is_due_touch:
        async with database.transaction() as uow:
            await repository.touch_session(uow, token_hash=token_hash)
    return Viewer(
        user_id=found.user_id,
        name=found.name,
        role=found.role,
        time_zone=found.time_zone,
        csrf_token=session_token(csrf_secret=found.csrf_secret, session_hash=token_hash),
        session_hash=token_hash,
    )


async def add_user(
    uow: UnitOfWork,
    *,
    passwords: Passwords,
    email: str,
    name: str,
    role: Role,
    password: str,
    time_zone: str,
    demo: bool = False,
) -> int:
    """Make a person who can sign in and return their id. Raises `Invalid` and `EmailTaken`."""
    address = normalise_email(email).address
    if address is None:
        raise Invalid("This is not an e-mail address.", field="email")
    if not name.strip():
        raise Invalid("A person needs a name.", field="name")
    if time_zone not in available_timezones():
        raise Invalid(f"There is no time zone {time_zone}.", field="time_zone")
    check_password(password)
    user_id = await repository.insert_user(
        uow,
        email=address,
        name=name.strip(),
        role=role,
        password_hash=await passwords.hash(password),
        time_zone=time_zone,
        demo=demo,
    )
    await record_audit(
        uow, user_id=None, action="user_added", subject_kind="user", subject_id=user_id, role=role.value
    )
    return user_id


async def record_audit(
    uow: UnitOfWork,
    *,
    user_id: int | None,
    action: str,
    subject_kind: str | None = None,
    subject_id: int | str | None = None,
    refused: bool = False,
    **data: object,
) -> None:
    """Append to the audit log: who did (or was refused) what, to what. `data` holds ids and words, no
    secrets.
    """
    await repository.insert_audit(
        uow,
        user_id=user_id,
        action=action,
        subject_kind=subject_kind,
        subject_id=None if subject_id is None else str(subject_id),
        refused=refused,
        data=data,
    )


async def _count_try(uow: UnitOfWork, brakes: Sequence[Brake]) -> list[int]:
    await repository.lock_brakes(uow, brakes)
    for brake in brakes:
        failures, now = await repository.recent_failures(uow, brake)
        wait = wait_after(failures, free=brake.free, now=now)
        if wait:
            raise TooManyTries(wait)
    return [await repository.insert_failure(uow, brake) for brake in brakes]


async def _note_refusal(database: Database, *, user_id: int | None) -> None:
    async with database.transaction() as uow:
        await record_audit(uow, user_id=user_id, action="signed_in", refused=True)
