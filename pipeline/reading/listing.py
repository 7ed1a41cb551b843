"""Listing of a root in a process of its own, so that a file which ends that process costs its own scenes alone."""

import gc
import os
import signal
import warnings
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NoReturn

from pipeline.core.budget import WorkerLimits, ended_error, lowered, may_end, renew_processor_time
from pipeline.core.errors import ConfigError, RawDataError, StoreError, unexpected
from pipeline.core.files import watch_files
from pipeline.core.mirrors import mirror_of
from pipeline.reading.files import Listing, SceneRef
from pipeline.reading.folders import SAFE, SAFE_NAME
from pipeline.reading.reader import Reader

Refused = dict[Path, RawDataError]

_BLOCKED = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}  # whoever is sent one ends its children


def list_within(reader: Reader, root: Path, limits: WorkerLimits) -> Listing:
    """The scenes of a root (`Reader.scenes`), listed within limits.

    A file at which the process ends is left out, and the rest listed again. Roots in an object store are listed in this
    process: their client does not survive a fork.

    Raises:
        ConfigError: as `Reader.scenes`; and where the process ends at no file.
    """
    if mirror_of(root) is not None:
        return _safely_named(reader.scenes(root), root)
    refused: Refused = {}
    while True:
        path, listing, exit_code = _list_in_fork(reader, root, limits, refused)
        if isinstance(listing, Listing):
            return _safely_named(listing, root)
        if isinstance(listing, Exception) and (path is None or path in refused):
            raise listing
        fault = unexpected(listing or ended_error(exit_code, path or root, setting="listing_s"), path or root)
        if path is None or path in refused:
            raise ConfigError(f"{root}: its scenes cannot be listed: {fault.message}")
        refused[path] = fault


def _safely_named(listing: Listing, root: Path) -> Listing:
    """The listing, without scenes whose id cannot be part of file names, whatever their reader let through."""
    unsafe = [ref for ref in listing.scenes if not _is_safe(ref)]
    if not unsafe:
        return listing
    message = f"its id is not dataset/name, each {SAFE}"
    broken = [
        RawDataError(root / ref.files[0], "unsafe_scene_name", message, "rename it, or let the reader name it", ref.id)
        for ref in unsafe
    ]
    return Listing(tuple(filter(_is_safe, listing.scenes)), (*listing.broken, *broken))


def _is_safe(ref: SceneRef) -> bool:
    return all(SAFE_NAME.fullmatch(part) for part in ref.id.partition("/")[::2])


def _list_in_fork(
    reader: Reader, root: Path, limits: WorkerLimits, refused: Refused
) -> tuple[Path | None, Listing | Exception | None, int]:
    """The file that was opened last, the listing or what was raised instead, None if neither; and the exit code."""
    receiving, sending = Pipe(duplex=False)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _BLOCKED)
    gc.disable()  # an open video that the child collected would wait for its decoder's threads, which no fork has
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of threads, whose locks listing does not take
            child = os.fork()
        if child == 0:
            _list(reader, root, limits, refused, sending)
    except OSError as error:
        raise StoreError(f"no process can be started to list {root}: {error.strerror}") from error
    finally:
        gc.enable()
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        sending.close()
    path: Path | None = None
    listing: Listing | Exception | None = None
    with receiving, suppress(EOFError):
        while listing is None:
            outcome = receiving.recv()
            if isinstance(outcome, Path):
                path = outcome
            else:
                listing = outcome
    return path, listing, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _list(reader: Reader, root: Path, limits: WorkerLimits, refused: Refused, sending: Connection) -> NoReturn:
    """Lists, sends what is opened and what was found, and ends this process."""
    opened = root

    def watch(path: Path) -> None:
        nonlocal opened
        opened = path
        sending.send(path)
        renew_processor_time(limits.listing_s)
        if path in refused:
            raise refused[path]

    try:
        gc.freeze()  # else it would write to memory that is shared with the parent
        gc.enable()
        may_end(lambda _: None)
        watch_files(watch)
        renew_processor_time(limits.listing_s)
        try:
            with lowered(limits):
                found: Listing | Exception = reader.scenes(root)
        except (ConfigError, StoreError) as error:
            found = error
        except Exception as error:  # told here: not every error can be sent, and none with its traceback
            found = unexpected(error, opened)
        sending.send(found)
    finally:
        os._exit(1)  # which is looked at where nothing was sent
