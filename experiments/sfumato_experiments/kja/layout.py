"""What the figures have in common: which curves stand where, titles and notes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sfumato_experiments.figure import Series, ratios
from sfumato_experiments.kja.runs import (
    MONDRIAN,
    TOPDOWN,
    WIDEST,
    DataName,
    Family,
    Part,
    last_ratio,
)
from sfumato_experiments.kja.tables import scale_of
from sfumato_experiments.paper import Options

_LABELS = ("alone", "Direct", "Refinement")


def families(algorithm: str) -> tuple[Family, Family]:
    """The algorithm as the paper has it, and another one beside it."""
    return (TOPDOWN, MONDRIAN) if algorithm == "TopDown" else (MONDRIAN, WIDEST)


def panels(shown: tuple[Family, Family]) -> dict[str, dict[str, str]]:
    """A panel per family."""
    titles = (
        ("TopDown", "for comparison: Mondrian")
        if shown[0].name == "TopDown"
        else ("Mondrian as in the paper", "our default: widest range first")
    )
    return {
        title: dict(zip(_LABELS, family.methods, strict=True))
        for title, family in zip(titles, shown, strict=True)
    }


def title(subject: str, part: Part, data: DataName, options: Options) -> str:
    """The subject, and the parameters that this part keeps."""
    scale = scale_of(options)
    kept = {
        "a": f"k = {scale.k}, d = {scale.d}",
        "b": f"d = {scale.d}, |PD|/|MT| = {last_ratio(data, options)}",
        "c": f"k = {scale.k}, |PD|/|MT| = {last_ratio(data, options)}",
    }
    return f"{subject} ({kept[part]})"


def draws(options: Options) -> str:
    """How the points came about."""
    return (
        f"|MT| = {scale_of(options).microdata:,}; mean and standard deviation over "
        f"{options.seeds} random draws of MT and PD"
    )


def gains(shown: Sequence[Family], series: Series, *, last: bool) -> Iterator[str]:
    """How many times lower the KJA methods lie: at the last place, or from where to where."""
    for family in shown:
        told = []
        for method in family.methods[1:]:
            found = ratios(series[family.name], series[method])
            low, high = (found[-1], found[-1]) if last else (min(found), max(found))
            told.append(f"{method} {low:.3g}" + (f" to {high:.3g}" if high > low else ""))
        where = " at the largest ratio" if last else ""
        yield f"times lower than {family.name}{where}: {', '.join(told)}"
