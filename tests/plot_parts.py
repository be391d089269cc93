"""Parts of plots, for the tests of them."""


def inside_and_apart(ax):
    """Every text is inside the figure and no two names overlap."""
    ax.figure.canvas.draw()
    renderer = ax.figure.canvas.get_renderer()
    boxes = [label.get_window_extent(renderer) for label in ax.get_yticklabels()]
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])
    texts = [*boxes, ax.xaxis.label.get_window_extent(renderer)]
    if ax.get_legend() is not None:
        texts += [text.get_window_extent(renderer) for text in ax.get_legend().get_texts()]
    whole = ax.figure.bbox
    for box in texts:
        assert (
            whole.x0 <= box.x0 and box.x1 <= whole.x1 and whole.y0 <= box.y0 and box.y1 <= whole.y1
        )
