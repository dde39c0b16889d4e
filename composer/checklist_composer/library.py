"""The library of domains: data files in `domains/`, read once when first needed.

The head of every domain is read for searching, a body only for the requested domain.
"""

from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

import yaml

from .domain_types import Domain, DomainBody, DomainHead

# The C loader is ten times faster, but missing in some builds of PyYAML.
_Loader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@cache
def domain_files() -> dict[str, Traversable]:
    """The files of all domains by id, sorted by id."""
    folder = files(__package__).joinpath("domains")
    found = {file.name.removesuffix(".yaml"): file for file in folder.iterdir() if file.name.endswith(".yaml")}
    return {domain_id: found[domain_id] for domain_id in sorted(found)}


@cache
def heads() -> tuple[DomainHead, ...]:
    """The heads of all domains, sorted by id."""
    return tuple(_head(file) for file in domain_files().values())


@cache
def domain(domain_id: str) -> Domain:
    """A complete domain. Raises KeyError for an unknown id."""
    head, body = yaml.load_all(domain_files()[domain_id].read_text("utf-8"), Loader=_Loader)
    return Domain(head=DomainHead.model_validate(head), body=DomainBody.model_validate(body))


def _head(file: Traversable) -> DomainHead:
    # The second document, most of the file, is not read.
    return DomainHead.model_validate(next(yaml.load_all(file.read_text("utf-8"), Loader=_Loader)))
