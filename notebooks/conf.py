"""Settings of the pages: ``python -m sphinx -W notebooks build/pages`` builds them."""

from __future__ import annotations

import functools
import re

from sphinx.domains.python import PythonDomain

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

autodoc_typehints = "signature"
autodoc_member_order = "groupwise"
autodoc_default_options = {"members": True}
napoleon_numpy_docstring = False
napoleon_attr_annotations = False
napoleon_use_ivar = True
autodoc_type_aliases = {name: name for name in vars(_types) if name[0].isupper()}


def _short(app, what, name, obj, options, signature, returned):
    """Names of types without their modules."""
    return tuple(
        text and re.sub(r"\b(?:\w+\.)+(?=[A-Za-z_])", "", text) for text in (signature, returned)
    )


class _Domain(PythonDomain):
    """Remember what a name in a signature leads to: Sphinx goes through all objects for each of them."""

    find_obj = functools.cache(PythonDomain.find_obj)


def setup(app):
    """Connect what autodoc calls."""
    app.connect("autodoc-process-signature", _short)
    app.add_domain(_Domain, override=True)
