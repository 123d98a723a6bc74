"""Saved sessions of AI agents, as a library: the public names, loaded when asked for.

Importing this package imports nothing else. A name of the table below is
fetched from its module when it is first used, so that a program (and the
command line, whose start is measured) pays for what it uses only.
"""

from __future__ import annotations

__version__ = "0.1.0"

# Public name -> the module it lives in. Type checkers do not see through this
# table: a name that is to be typed for users also stands under TYPE_CHECKING.
_EXPORTS: dict[str, str] = {}


def __getattr__(name: str) -> object:
    """Fetch a public name from its module, once.

    Raises:
        AttributeError: The package has no such public name.
    """
    module_name = _EXPORTS.get(name)
    if module_name is None:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    from importlib import import_module

    value: object = getattr(import_module(module_name), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List what is loaded and what can be."""
    return sorted({*globals(), *_EXPORTS})
