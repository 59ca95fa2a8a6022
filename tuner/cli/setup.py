"""`tuner setup`: what this machine lacks to measure; `make setup` takes the same steps."""

from typing import Annotated

import typer


def setup(
    remove: Annotated[
        bool, typer.Option("--remove", help="Remove the images and the kept programs again.")
    ] = False,
    journeys: Annotated[
        bool,
        typer.Option("--journeys", help="Also have k6: for bursts, journeys and unlike requests."),
    ] = False,
) -> None:
    """Set up what is missing: Docker Engine, the base image and the load generator's."""
    from tuner.provision import recipes
    from tuner.targets.catalogue import own_data

    code = (
        recipes.take_away()
        if remove
        else recipes.set_up(own_data("target_apps"), journeys=journeys)
    )
    if code:
        raise typer.Exit(code)
