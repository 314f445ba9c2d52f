"""Install the package with one of its extras into this environment: ``python tools/install.py dev``.

uv does in seconds what takes pip most of a minute. pip fetches it, and it is told to look where pip would look. Where
it cannot be had or fails, pip does the work.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

MODULE = [sys.executable, "-m"]
# What pip's settings are called in the environment of uv, and what is put between several values
SETTINGS = {
    "index-url": ("UV_INDEX_URL", " "),
    "extra-index-url": ("UV_EXTRA_INDEX_URL", " "),
    "find-links": ("UV_FIND_LINKS", ","),
    "trusted-host": ("UV_INSECURE_HOST", " "),
    "cert": ("SSL_CERT_FILE", " "),
    "proxy": ("ALL_PROXY", " "),
}


def main(extra: str) -> None:
    versions, package = ["-q", "-c", "constraints.txt"], ["-e", f".[{extra}]"]
    try:
        pip = find_pip()
        with ThreadPoolExecutor() as meanwhile:
            listing = meanwhile.submit(run, *pip, "config", "list")
            run(*pip, "install", *versions, "--only-binary", "uv", "uv")
        settings = pip_settings(listing.result())
        where = ["--python", sys.executable, *no_index(settings)]
        run(*MODULE, "uv", "pip", "install", *versions, *where, *package, env={**for_uv(settings), **os.environ})
    except Exception as error:  # whatever it was, pip may still manage
        print(f"uv cannot install ({reason(error)}), so pip does, which takes a minute.", flush=True)
        install = [*MODULE, "pip", "install", "--no-compile", *versions, *package]
        sys.exit(subprocess.call([*MODULE, "ensurepip"]) or subprocess.call(install))


def find_pip() -> list[str]:
    """That of the interpreter which the environment was made from, if it has one: its own takes seconds to make."""
    outside = sys._base_executable
    try:
        run(outside, "-c", "import pip")
    except subprocess.CalledProcessError:
        run(*MODULE, "ensurepip")
        return [*MODULE, "pip"]
    return [outside, "-m", "pip", "--python", sys.executable]


def run(*command: str, env: dict[str, str] | None = None) -> str:
    return subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout


def reason(error: Exception) -> str:
    said = (getattr(error, "stderr", None) or "").splitlines()
    return next((line.strip() for line in said if "error" in line.lower()), str(error))


def pip_settings(listing: str) -> dict[str, str]:
    """What holds for `pip install` in the listing of `pip config list`, whose lines read ``global.cert='a.pem'``."""
    said = dict(line.split("=", 1) for line in listing.splitlines() if "=" in line)
    return {
        name.removeprefix(f"{section}."): ast.literal_eval(value)
        for section in ("global", "install", ":env:")  # the strongest last
        for name, value in said.items()
        if name.startswith(f"{section}.")
    }


def for_uv(settings: dict[str, str]) -> dict[str, str]:
    told = {variable: between.join(settings.get(name, "").split()) for name, (variable, between) in SETTINGS.items()}
    # pip takes the best version in all its indexes; uv would take that of the first index that knows the package.
    told["UV_INDEX_STRATEGY"] = "unsafe-best-match"
    return {variable: value for variable, value in told.items() if value}


def no_index(settings: dict[str, str]) -> list[str]:
    return ["--no-index"] if settings.get("no-index", "").lower() in ("1", "true", "yes", "on") else []


if __name__ == "__main__":
    main(*sys.argv[1:])
