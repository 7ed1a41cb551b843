"""The limits of the toy benchmark."""

from typing import Final

from pydantic import Field

from pipeline.worlds.indoor.view import IndoorRules, IndoorView


class Rules(IndoorRules):
    """Metres and objects. Any of them can be set in a build's configuration."""

    rise_min_m: float = Field(default=0.12, gt=0, le=3, description="higher: between the tops of the two objects")
    lead_min: int = Field(default=1, ge=1, description="most common: how many more than of any other kind")


RoomView = IndoorView[Rules]  # a scan as the tasks see it
PROFILES: Final = {"strict": Rules(distance="exact", refuse_doubts=True, refuse_lookalikes=True, refuse_unseen=True)}
