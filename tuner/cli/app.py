"""`tuner app`: the folder of a target app, made from what there is."""

import os
from pathlib import Path
from typing import Annotated

import typer

from tuner.cli.arguments import FolderOrApp
from tuner.cli.output import print_lines, say
from tuner.service.settings import Settings

app = typer.Typer(help="Make a target app.", no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def group() -> None:
    """Make a target app."""


@app.command()
def init(
    folder: Annotated[
        Path, typer.Argument(metavar="[FOLDER]", help="The folder to make; its name is the app's.")
    ] = Path(),
    compose: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A compose file [default: that of this folder]."),
    ] = None,
    service: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The service to tune [default: the one with uwsgi]."),
    ] = None,
    ini: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The present uwsgi.ini, if it is elsewhere.")
    ] = None,
    image: Annotated[
        str | None, typer.Option(metavar="NAME", help="The image of the app, instead of a build.")
    ] = None,
    copy_data: Annotated[
        bool,
        typer.Option("--copy-data", help="Start with copies of the folders that hold data."),
    ] = False,
) -> None:
    """Make target.yaml and uwsgi.ini from a compose file, or from an image and a file.

    Prints the paths of the new files, and what was left out, with a reason for each.
    """
    from tuner.targets import compose as composed

    def read(image: str, path: str) -> str | None:
        from tuner.service import bootstrap

        return bootstrap.file_in_image(Settings.from_environ(os.environ), image, path)

    def entry(image: str) -> dict[str, list[str]] | None:
        from tuner.service import bootstrap

        return bootstrap.entry_of_image(Settings.from_environ(os.environ), image)

    wanted = composed.Wanted(
        folder=folder,
        compose=compose,
        service=service,
        ini=ini,
        image=image,
        copy_data=copy_data,
        environ=os.environ,
        read=read,
        entry=entry,
    )
    draft = composed.draft(wanted)
    written = composed.write(draft, folder)
    for line in draft.findings.lines():
        say(line)
    print_lines(map(str, written))


@app.command()
def check(
    name: FolderOrApp,
    wait_s: Annotated[
        float, typer.Option(min=1, help="Seconds that each service may take to get ready.")
    ] = 40.0,
) -> None:
    """Start an app once with its services and its file, and say what does not work.

    Needs Docker, and no service. Exits with 1 if the app does not work.
    """
    from tuner.cli.checking import checked

    checked(name, wait_s)
