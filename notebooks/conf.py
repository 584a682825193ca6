"""Settings of the pages: ``python -m sphinx -W notebooks build/pages`` builds them."""

from __future__ import annotations

import functools
import pydoc
import re

from docutils import nodes
from pygments.formatters import HtmlFormatter
from sphinx.domains.python import PythonDomain
from sphinx.highlighting import PygmentsBridge
from sphinx.util import logging

import privrank_jax
from privrank_jax import _types

project = "privrank_jax"
author = "privrank_jax developers"
release = version = privrank_jax.__version__
copyright = "privrank_jax developers, Apache-2.0"

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["build", "**.ipynb_checkpoints"]

html_theme = "furo"
html_title = "privrank_jax"
html_show_sphinx = False
html_show_sourcelink = False
html_copy_source = False
html_static_path = ["pages.css"]
html_css_files = ["pages.css"]

myst_enable_extensions = ["deflist", "dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = "off"  # notebooks are stored with their outputs, which the tests compare

# Types of signatures have their short names: data have Comparisons and Choices, and so have the estimators.
suppress_warnings = ["ref.python"]
autodoc_typehints = "signature"
autodoc_member_order = "groupwise"
autodoc_default_options = {"members": True}
napoleon_numpy_docstring = False
napoleon_attr_annotations = False
napoleon_use_ivar = True
autodoc_type_aliases = {name: name for name in vars(_types) if name[0].isupper()}


def _short(app, what, name, obj, options, signature, returned):
    """Names of types without their modules, and without Sphinx's word for an alias beside another type."""
    return tuple(text and _LONG.sub(r"\1", text) for text in (signature, returned))


_LONG = re.compile(r"TypeAliasForwardRef\('(\w+)'\)|\b(?:\w+\.)+(?=[A-Za-z_])")


class _Domain(PythonDomain):
    """Remember what a name in a signature leads to: Sphinx goes through all objects for each of them."""

    find_obj = functools.cache(PythonDomain.find_obj)


class _Lines(HtmlFormatter):
    """Code with an element for each line and each option, so that pages.css can say where commands break."""

    def wrap(self, source):
        lines = (
            (code, f'<span class="line">{_OPTION.sub(_WHOLE, text)}</span>' if code else text)
            for code, text in source
        )
        return super().wrap(lines)


_OPTION, _WHOLE = re.compile(r"(?<![\w-])--[a-z][\w-]*"), r'<span class="option">\g<0></span>'
PygmentsBridge.html_formatter = _Lines


class _Names:
    """What the API reference describes, by the names that pages call it by."""

    def __init__(self, domain):
        found = {name: entry for name, entry in domain.objects.items() if not entry.aliased}
        self.known = {name.partition(".")[2]: entry for name, entry in found.items()}
        self.packages = {name for name, entry in self.known.items() if entry.objtype == "module"}
        self.ends = {}
        for name, entry in self.known.items():
            parts = {"function": 1, "class": 1, "method": 2}.get(entry.objtype)
            if parts is not None:
                self.ends.setdefault(".".join(name.split(".")[-parts:]), []).append(name)

    def find(self, text, package):
        """The name, behind that of the library, of what inline code names; "" if it names nothing of ours.

        Args:
            text: inline code, such as ``pr.pairwise.mle(wins, gamma=1)`` or ``mle``.
            package: the package of the name before it in the same paragraph or cell; None if there was none.

        Raises:
            LookupError: it names something of ours that does not exist.
        """
        match = _NAMED.fullmatch(text)
        if match is None:
            return ""
        whole, name = match[1], match[2]
        first, dot, _ = name.partition(".")
        if name in self.known and (whole or dot or name not in self.packages):
            return name
        if whole or (dot and first in self.packages):
            if pydoc.locate(f"{project}.{name}") is None:
                raise LookupError(name)
            return ""
        if f"{package}.{name}" in self.known:
            return f"{package}.{name}"
        # Words such as `user` are columns and options: only what has the form of a name of ours is taken for one.
        found = self.ends.get(name, ())
        return found[0] if len(found) == 1 and ("_" in name or name[0].isupper()) else ""


_NAMED = re.compile(r"(pr\.|privrank_jax\.)?([A-Za-z]\w*(?:\.[A-Za-z]\w*)*)(?:\(.*\))?", re.DOTALL)
_OF_OLD_NAMES = "not_shipped"  # the page that speaks of what is gone


def _link_names(app, tree, page):
    """Make links to the API reference of the functions and classes that a page names as inline code."""
    if page.startswith("api/") and page != "api/index":
        return
    names, packages = _Names(app.env.get_domain("py")), {}
    for literal in list(tree.findall(nodes.literal)):
        within = literal.parent
        if isinstance(within, nodes.title | nodes.reference):
            continue
        try:
            name = names.find(literal.astext(), packages.get(within))
        except LookupError:
            if page != _OF_OLD_NAMES:
                said = "there is no %s in the library"
                logging.getLogger(__name__).warning(said, literal.astext(), location=literal)
            continue
        if name:
            entry = names.known[name]
            packages[within] = name.partition(".")[0]
            address = f"{app.builder.get_relative_uri(page, entry.docname)}#{entry.node_id}"
            within.replace(
                literal, nodes.reference("", "", literal.deepcopy(), internal=True, refuri=address)
            )


def setup(app):
    """Connect what autodoc and the builder call."""
    app.connect("autodoc-process-signature", _short)
    app.connect("doctree-resolved", _link_names)
    app.add_domain(_Domain, override=True)
