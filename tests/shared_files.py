"""Files that take long to make: the first process that needs them makes them, the others wait for it and take them."""

import fcntl
import getpass
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

UNUSED_S: Final = 86_400.0  # after which what nobody has taken goes


def written_once(shared: Path, name: str, write: Callable[[Path], object]) -> Path:
    """A folder of a name in a shared one; what a process that was ended left of it is written again."""
    folder, whole = shared / name, shared / f"{name}.whole"
    with (shared / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not whole.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            write(folder)
        whole.touch()
    return folder


def kept(name: str, digest: str, write: Callable[[Path], object]) -> Path:
    """A folder that stays for the next run of the tests, while the digest of what writes it is the same."""
    place = Path(tempfile.gettempdir()) / f"scan2qa-tests-of-{getpass.getuser()}"
    place.mkdir(mode=0o700, exist_ok=True)
    for whole in place.glob("*.whole"):
        if time.time() - whole.stat().st_mtime > UNUSED_S:
            whole.unlink(missing_ok=True)
            shutil.rmtree(whole.with_suffix(""), ignore_errors=True)
    return written_once(place, f"{name}-{digest}", write)
