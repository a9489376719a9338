"""sfumato reproduce: run the experiments of a paper again.

The experiments are a package of their own beside sfumato; this file shows and stores what they
return.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import click
from rich.console import Console
from rich.text import Text

from sfumato.cli import show
from sfumato.errors import MissingExtra
from sfumato.io.owner_state import VARIABLE as STATE
from sfumato_experiments.figure import Figure
from sfumato_experiments.paper import Options, Paper, find_paper, papers
from sfumato_experiments.parts import chosen
from sfumato_experiments.plot import draw

_SEEDS, _QUICK_SEEDS = 5, 2
_MARKS = {"yes": Text("yes ", "green"), "no": Text("no  ", "red"), "open": Text("open", "yellow")}


@click.command(epilog=f"Papers: {', '.join(papers())}.")
@click.argument("paper", type=click.Choice(papers()), metavar="PAPER")
@click.option(
    "--figure",
    "numbers",
    multiple=True,
    metavar="NUMBER",
    help="This figure only (10, or its part 10a); may be repeated.",
)
@click.option(
    "--data",
    type=click.Path(file_okay=False, exists=True, path_type=Path),
    metavar="FOLDER",
    help="Where the real tables are; else SFUMATO_DATA, else generated stand-ins.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Where files are written.  [default: reproduced/PAPER]",
)
@click.option(
    "--seeds",
    type=click.IntRange(min=1),
    metavar="N",
    help=f"Generated tables per point.  [default: {_SEEDS}, quick: {_QUICK_SEEDS}]",
)
@click.option(
    "--queries",
    type=click.IntRange(min=1),
    metavar="N",
    help="Queries per point, where a figure asks queries.  [default: the figure's]",
)
@click.option("--quick", is_flag=True, help="Fewer rows and points: the trend in seconds.")
@click.option("--full", is_flag=True, help="As many queries as the paper where we take fewer.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def reproduce(
    paper: str,
    numbers: tuple[str, ...],
    data: Path | None,
    output: Path | None,
    seeds: int | None,
    queries: int | None,
    quick: bool,
    full: bool,
    as_json: bool,
) -> None:
    """Run the experiments of PAPER: a table, the data (CSV) and a plot (PNG) per figure.

    After each figure come the paper's claims, and whether our curves show them.
    """
    if full and (quick or queries is not None):
        raise click.UsageError(
            "--full is the paper's number of queries; leave --quick and --queries out"
        )
    os.environ[STATE] = ""  # what experiments publish is nobody's to remember
    found = find_paper(paper)
    wanted = chosen(found, numbers)
    folder = output or Path("reproduced") / paper
    folder.mkdir(parents=True, exist_ok=True)
    draws = seeds or (_QUICK_SEEDS if quick else _SEEDS)
    options = Options(data=data, seeds=draws, quick=quick, queries=queries, full=full)
    page = show.console()
    if not as_json:
        show.say(page, show.bold(found.title))
    results = []
    for number in wanted:
        figure = _run(found, number, options, quiet=as_json)
        files, lacking = _write(figure, folder)
        results.append({**figure.to_dict(), "files": [str(path) for path in files]})
        if not as_json:
            _print(page, figure, files, lacking)
    if as_json:
        show.print_json({"paper": found.name, "title": found.title, "figures": results})


def _run(paper: Paper, number: str, options: Options, *, quiet: bool) -> Figure:
    with show.stages(quiet=quiet) as tell:
        stage = f"figure {number}"
        tell(stage, 0.0)
        return paper.run(number)(replace(options, progress=lambda share: tell(stage, share)))


def _write(figure: Figure, folder: Path) -> tuple[list[Path], str]:
    """Write the files; without the plotting library, say what is lacking instead of the plot."""
    data, plot = folder / f"{figure.stem}.csv", folder / f"{figure.stem}.png"
    figure.write_csv(data)
    try:
        draw(figure, plot)
    except MissingExtra as error:
        return [data], str(error)
    return [data, plot], ""


def _print(page: Console, figure: Figure, files: list[Path], lacking: str) -> None:
    header, lines = figure.rows()
    page.print()
    page.print(
        show.table(f"Figure {figure.number}. {figure.title}: {figure.y_label}", header, lines)
    )
    for note in figure.notes:
        show.say(page, f"  {note}", wrap=False)
    for claim, said in figure.verdicts():
        missing = ", ".join(claim.missing(figure.series))
        needs = f"{missing and '; needs: '}{missing}"
        show.say(page, _MARKS[said], f" {claim.text} ({claim.where}{needs})", wrap=False)
    for path in files:
        show.say(page, f"  wrote {path}", wrap=False)
    if lacking:
        show.say(page, f"  no plot: {lacking}", wrap=False)
