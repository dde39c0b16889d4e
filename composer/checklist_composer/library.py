"""The library of domains: data files beside this module, read when they are first needed, once.

A head is read for every domain, because a query may ask for any of them; a body only for the domain that was asked for.
"""

from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

import yaml

from .domain_types import Domain, DomainBody, DomainHead

# The reader in C is ten times faster; where PyYAML was built without it, the other one gives the same.
_Loader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@cache
def domain_files() -> dict[str, Traversable]:
    """The files of all domains by id, in the order of their ids."""
    folder = files(__package__).joinpath("domains")
    found = {file.name.removesuffix(".yaml"): file for file in folder.iterdir() if file.name.endswith(".yaml")}
    return {domain_id: found[domain_id] for domain_id in sorted(found)}


@cache
def heads() -> tuple[DomainHead, ...]:
    """How people ask for each of the domains, in the order of their ids."""
    return tuple(_head(file) for file in domain_files().values())


@cache
def domain(domain_id: str) -> Domain:
    """A whole domain. Raises KeyError for an id that no file has."""
    head, body = yaml.load_all(domain_files()[domain_id].read_text("utf-8"), Loader=_Loader)
    return Domain(head=DomainHead.model_validate(head), body=DomainBody.model_validate(body))


def _head(file: Traversable) -> DomainHead:
    # The second document stays unread: this is most of the file.
    return DomainHead.model_validate(next(yaml.load_all(file.read_text("utf-8"), Loader=_Loader)))
