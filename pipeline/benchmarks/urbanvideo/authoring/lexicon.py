"""Words for the checks of texts: those that carry no meaning, that mean the same, that are of other tongues."""

from __future__ import annotations

from typing import Final


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


FUNCTION_WORDS: Final = _words(
    """the is are was were be been being has have had having does did and but that this these those it its of to with
    at by for from into onto over under after before while when where which who what why how because since then than
    there their they them he she his her you we our not if can could would will should may might must about as or
    during until through between near next some any all both each other another same so such only"""
)
# Function words of other tongues that are no English ones, by the tongue.
FOREIGN_WORDS: Final[dict[str, frozenset[str]]] = {
    "Dutch": _words("het een van voor naar niet werd omdat waarom welke wat zijn haar aan bij ook maar wordt naast"),
    "French": _words(
        "le les des une est dans pour pourquoi parce qu'il que qui vers avec sur aux du pas était elle et"
    ),
    "German": _words(
        "der das und ist weil um zu nach nicht warum wird wurde ein eine dem den auf mit sich es vor hinter"
    ),
    "Italian": _words("il lo gli una perché per che è nel della di sopra verso con non stato sul dopo alla"),
    "Portuguese": _words("o os uma por que não é para da em com ele ela foi depois porque ao"),
    "Spanish": _words("el los las una por qué que para del es en con no porque está hacia después el dron se al"),
    "Polish": _words("nie jest się dlaczego ponieważ przed aby na był który gdzie nad obok"),
    "Indonesian": _words("yang dan di ke dari untuk karena tidak dengan mengapa itu ini adalah ada"),
}
# Words without which a text says as much.
EMPTY: Final = _words(
    """a an the this that these those its it their his her there is are was were be been being has have had having do
    does did will would can could of to in on at by for from with as and or but so then because since while when where
    which who whom whose what why how drone drones uav agent quadcopter aircraft camera's order therefore thus just
    simply merely only really very quite rather clearly directly currently actually hand side
    itself himself own some any such thing one here also too even still course something somebody someone anything"""
)
NEGATIONS: Final = _words("not never no without cannot nothing none neither nor n't fail lack")
# Each line is one meaning.
_SAME: Final = """
    block obstruct bar close impede hinder obscure shut barricade
    avoid evade dodge bypass sidestep circumvent skirt prevent
    see view observe spot notice watch look sight visible glimpse
    building structure edifice block-of-flats
    tall high towering lofty
    harbour harbor port
    near nearby close-to adjacent beside alongside next neighbouring neighboring adjoining
    reach arrive attain get
    approach nearing
    start begin commence initial outset beginning
    end finish conclude final last
    large big huge sizeable massive giant enormous gigantic vast great
    small little tiny
    fast quick quickly rapid rapidly speedy
    slow slowly gradual gradually
    pass traverse cross overfly
    land touchdown alight
    mall shopping-center shopping-centre shopping-mall
    lot carpark car-park parking-lot parking
    road street avenue
    river stream waterway
    way path route track trail footpath flight journey trip
    find locate discover search seek
    collide crash hit collision strike
    keep maintain retain hold
    lose lost
    area region zone
    park garden gardens
    goal target objective destination
    inspect examine survey check
    ground floor earth
    open empty free unobstructed
    center centre middle
    follow trace chase pursue tail track shadow accompany escort
    people person pedestrian man woman
    car automobile vehicle
    show display reveal
    altitude height elevation
    boat ship vessel
    shop store
    forest wood woods woodland
    lake pond
    house home
    truck lorry
    bike bicycle
    plane aircraft airplane aeroplane
    fog mist
    sea ocean
    beach shore
    wait pause patient linger
    stop halt
    return back
    hide conceal cover
    flee escape getaway
    rescue save
    repair mend fix
    frighten scare startle
    deliver bring drop
    fetch collect pick
    meet encounter join
    quay wharf jetty pier dock
    square plaza
    church chapel
    monument memorial
    cabin hut
    cliff precipice
    crowd throng mob
    fire blaze flame
    police cop
    child kid
    sheep lamb
    photo picture image
    signal signalled signaled
    gap opening
    glance peek
    shelter refuge cover
    rain downpour shower
    tired exhausted
    cool chill
    help assist aid
    guide lead direct
    measure gauge
    count tally
    test try
    choose select pick
    rest recover
    recharge charge
    save conserve spare
    rooftop roof
    pasture meadow field
    sailboat sailing-boat yacht
    bus coach
    steeple spire
    warehouse depot storehouse
    factory plant works
    hospital clinic
    playground play-area
    cemetery graveyard churchyard
    film photograph record shoot
    danger hazard risk
    push blow shove drive
    strong powerful heavy fierce
    weak feeble faint
    nearly almost
    under beneath below underneath
    over above
    storm gale
    wind gust
    direction heading bearing
    front ahead before-it
    behind rear
"""
SAME_AS: Final[dict[str, str]] = {
    word: line.split()[0] for line in _SAME.strip().splitlines() for word in line.split()[1:]
}
# A right option of these words alone says what is so in any flight.
EVERYWHERE: Final = _words(
    """sky air ground earth world fly flight move movement moving go going travel continue change position place
    somewhere direction video picture image camera rotor propeller battery pilot fuel yes something thing city town
    forward on film record footage controller remote wing engine motor"""
)
PLACEHOLDERS: Final = _words(
    """lorem ipsum foo bar baz qux asdf asdfgh qwerty qwertz placeholder todo tbd null undefined nan xxx yyy zzz dummy
    blah distractor n/a string text option answer choice wrong incorrect example test unknown idk"""
)
# What options about a flight over a town may speak of, beside its things and movements.
TOPICS: Final = _words(
    """view sight camera route path way goal target height altitude ground obstacle land sky wind signal area space
    destination direction side left right ahead behind above below start end distance time late early dark rain storm
    traffic collision crash landmark scene landscape neighborhood neighbourhood district block corner edge facade
    entrance surface water shore horizon line row line gap corridor open top shot survey search flight course turn
    detour grow shrink larger smaller size hidden same closer nearer farther longer
    shorter lower higher faster slower blocked yes no impossible possible complete task mission find
    reach overview vegetation flat sunlight shadow glare fog battery pilot nothing residential commercial industrial
    urban rural green built-up construction site lot parking city town waterfront sign lane junction
    zone market crowd cloud sun moon star smoke dust weather snow ice water parcel speed flock people tour circle loop
    red blue green yellow white black gray brown orange purple"""
)
