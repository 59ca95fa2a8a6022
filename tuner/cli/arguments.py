"""Arguments and options that several commands take, each declared once."""

from pathlib import Path
from typing import Annotated

import typer

from tuner.nouns.model import Priority

JobNumber = Annotated[int, typer.Argument(metavar="JOB", min=1, help="The number of the job.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Target = Annotated[str, typer.Argument(metavar="APP", help="The name of a target app.")]
FolderOrApp = Annotated[
    str, typer.Argument(metavar="APP", help="A folder with a target.yaml, or a target app.")
]
AppName = Annotated[str, typer.Argument(metavar="APP", help="The app's name in its jobs.")]
Image = Annotated[
    str | None, typer.Option(help="Read the options and the command of this Docker image.")
]
Pool = Annotated[str | None, typer.Option(help="The pool of benchmark hosts that measures.")]
PriorityOption = Annotated[
    Priority | None, typer.Option("--priority", help="Nightly jobs wait for interactive ones.")
]
Cpus = Annotated[float | None, typer.Option(min=0.01, help="CPU limit, in cores.")]
MemoryMb = Annotated[int | None, typer.Option("--memory", min=1, help="Memory limit, in MB.")]
Somaxconn = Annotated[int | None, typer.Option(min=1, help="net.core.somaxconn of the container.")]
Nofile = Annotated[int | None, typer.Option(min=1, help="Open files, as of ulimit -n.")]
Sysctl = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=VALUE", help="A kernel setting of the container. Repeatable."),
]
Blocks = Annotated[
    int, typer.Option(help="Blocks: fresh starts of each file. Effects need 4 or more.")
]
WindowS = Annotated[float | None, typer.Option(help="Seconds of load in one window.")]
WarmupS = Annotated[float | None, typer.Option(help="Seconds of load before the first window.")]
Cycles = Annotated[int | None, typer.Option(help="Windows of each file in one block.")]
MaxAgeDays = Annotated[
    float | None, typer.Option(help="Exit with 3 if the newest recommendation is older.")
]
Check = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="The deployed file. Exit with 1 and print a diff if its effect differs.",
    ),
]
Fresh = Annotated[
    bool, typer.Option("--fresh", help="Start anew, even if this command was stopped before.")
]
Svg = Annotated[Path | None, typer.Option(help="Write two charts to this file.")]
ReportFile = Annotated[
    Path | None, typer.Option("--report", help="Write the report to a .html, .md or .json file.")
]
CsvFile = Annotated[
    Path | None,
    typer.Option("--csv", help="Write a row for each arm, rung and block to this file."),
]
