"""Install the package with one of its extras into this environment: ``python tools/install.py
dev``.

uv takes seconds where pip takes most of a minute. pip installs uv, which gets the index settings of
pip. If uv is unavailable or fails, pip installs the package.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

MODULE = [sys.executable, "-m"]
# Settings of pip: the corresponding environment variable of uv, and the separator of several values
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
        with ThreadPoolExecutor() as executor:
            listing = executor.submit(run, *pip, "config", "list")
            run(*pip, "install", *versions, "--only-binary", "uv", "uv")
        settings = pip_settings(listing.result())
        where = ["--python", sys.executable, *no_index_option(settings)]
        run(
            *MODULE,
            "uv",
            "pip",
            "install",
            *versions,
            *where,
            *package,
            env={**to_uv_variables(settings), **os.environ},
        )
    except Exception as error:  # pip is the fallback for any error
        print(
            f"uv cannot install ({error_reason(error)}), so pip does, which takes a minute.",
            flush=True,
        )
        install = [*MODULE, "pip", "install", "--no-compile", *versions, *package]
        sys.exit(subprocess.call([*MODULE, "ensurepip"]) or subprocess.call(install))


def find_pip() -> list[str]:
    """The pip of the base interpreter if it has one, since adding pip to the environment takes
    seconds."""
    outside = sys._base_executable
    try:
        run(outside, "-c", "import pip")
    except subprocess.CalledProcessError:
        run(*MODULE, "ensurepip")
        return [*MODULE, "pip"]
    return [outside, "-m", "pip", "--python", sys.executable]


def run(*command: str, env: dict[str, str] | None = None) -> str:
    return subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout


def error_reason(error: Exception) -> str:
    stderr_lines = (getattr(error, "stderr", None) or "").splitlines()
    return next((line.strip() for line in stderr_lines if "error" in line.lower()), str(error))


def pip_settings(listing: str) -> dict[str, str]:
    """The settings of `pip install` in the output of `pip config list`, whose lines read
    ``global.cert='a.pem'``."""
    entries = dict(line.split("=", 1) for line in listing.splitlines() if "=" in line)
    return {
        name.removeprefix(f"{section}."): ast.literal_eval(value)
        for section in ("global", "install", ":env:")  # the last has precedence
        for name, value in entries.items()
        if name.startswith(f"{section}.")
    }


def to_uv_variables(settings: dict[str, str]) -> dict[str, str]:
    uv_variables = {
        variable: separator.join(settings.get(name, "").split())
        for name, (variable, separator) in SETTINGS.items()
    }
    # pip takes the best version in all its indexes; uv would take that of the first index that
    # knows the package.
    uv_variables["UV_INDEX_STRATEGY"] = "unsafe-best-match"
    return {variable: value for variable, value in uv_variables.items() if value}


def no_index_option(settings: dict[str, str]) -> list[str]:
    return (
        ["--no-index"] if settings.get("no-index", "").lower() in ("1", "true", "yes", "on") else []
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
