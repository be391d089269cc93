"""Report pages, taken apart for the tests of them."""

import os
import re
from html.parser import HTMLParser

#: Parts of the page of a model in gradient boosting, in their order.
SECTIONS = [
    "metrics",
    "curves",
    "figures",
    "importances",
    "data",
    "tree",
    "parameters",
    "model",
]
VOID = {"meta", "br", "hr", "img", "link", "input"}


class Page(HTMLParser):
    """A page as a browser sees it: text, tables, titles of figures, ids.

    Complains if tags do not match.
    """

    def __init__(self, html):
        super().__init__()
        self.html, self.open, self.text, self.ids, self.tags, self.references = (
            html,
            [],
            [],
            [],
            [],
            [],
        )
        self.rows, self.figures = [], []
        self.feed(html)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        values = dict(attributes)
        self.ids += [values["id"]] if "id" in values else []
        self.references += [
            values[name]
            for name in ("href", "src", "xlink:href", "action", "data")
            if name in values
        ]
        if tag not in VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, text):
        if self.open and self.open[-1] == "style":
            return
        self.text.append(text)
        if self.open and self.open[-1] == "title" and "svg" in self.open:
            self.figures.append(text)
        elif (
            self.rows
            and self.rows[-1]
            and ("td" in self.open or "th" in self.open)
            and "small" not in self.open
        ):
            self.rows[-1][-1] += text.strip()

    def value(self, name, column=1):
        """A cell of the first row that begins with a name."""
        return next(row[column] for row in self.rows if row and row[0] == name)

    def sections(self):
        return [name for name in self.ids if name in SECTIONS]


def report(model, folder, *data, **options):
    path = folder / "report.html"
    model.report(path, *data, **options)
    page = Page(path.read_text("utf-8"))
    assert page.html.startswith("<!DOCTYPE html>") and os.listdir(folder) == ["report.html"]
    # nothing is loaded from anywhere, and no two elements have the same id
    assert all(
        reference.startswith(("#", "data:image/png;base64,")) for reference in page.references
    )
    assert (
        not re.search(r"url\((?!#)|@import|<script|<link|<iframe", page.html)
        and "://" not in page.html
    )
    assert len(page.ids) == len(set(page.ids))
    assert {reference[1:] for reference in page.references if reference.startswith("#")} <= set(
        page.ids
    )
    return page
