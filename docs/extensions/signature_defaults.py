"""Defaults in the reference come from signatures: numpydoc takes the first of {"a", "b"} for one, and shares others."""

from __future__ import annotations

from typing import Any

import griffe


class SignatureDefaults(griffe.Extension):
    """Corrects the defaults of parameters once a package is read."""

    def on_package(self, *, pkg: griffe.Module, **_more: Any) -> None:
        """Go through all classes and functions of the package."""
        self._correct(pkg)

    def _correct(self, thing: griffe.Object | griffe.Alias) -> None:
        if thing.is_alias:
            return
        if isinstance(thing, griffe.Class | griffe.Function) and thing.docstring:
            members = thing.members.items()  # those of a dataclass are its parameters
            fields = {name: each.value for name, each in members if isinstance(each, griffe.Attribute)}
            actual = fields | {parameter.name: parameter.default for parameter in thing.parameters}
            for section in thing.docstring.parsed:
                if section.kind is griffe.DocstringSectionKind.parameters:
                    for parameter in section.value:
                        parameter.value = actual.get(parameter.name, parameter.value)
        for member in thing.members.values():
            self._correct(member)
