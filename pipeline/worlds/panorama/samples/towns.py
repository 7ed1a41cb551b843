"""The towns in which the sample panoramas are taken: where they lie, how they look, and the words on their signs.

The towns are made up, the countries are not: a town's language, its paint and its trees are those of the country that
it lies in, so that what a panorama shows says something about where it was taken.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from pipeline.core.schema import Origin
from pipeline.sampling.city_plan import Color, Plan


class Town(NamedTuple):
    """One town.

    Attributes:
        plan: its blocks and houses.
        name: as maps have it.
        country: as maps have it.
        code: ISO 3166-1 of the country.
        language: of its signs.
        streets: names of its streets: first those that run north, from the west, then those that run east, from the
            south.
        highway: of its streets, as OpenStreetMap has it, in the same order.
        words: by kind of shop, as OpenStreetMap has it: what stands on its sign. Capitals have no accents there, which
            the font of the samples lacks.
        names: what may stand behind that.
        walls: of its houses, by name.
        surface: of its roads.
        line: of the middle of its roads.
        tree: most of its trees are of this kind.
        drives: on which side.
        lamp: colour of its street lamps.
        post_box: colour of its post boxes.
    """

    plan: Plan
    name: str
    country: str
    code: str
    language: str
    streets: tuple[str, ...]
    highway: tuple[str, ...]
    words: tuple[str, ...]
    names: tuple[str, ...]
    walls: tuple[str, ...]
    surface: str
    line: str
    tree: str
    drives: str
    lamp: str
    post_box: str


# Kind as OpenStreetMap has it, its key there, and what one calls it.
KINDS: Final[tuple[tuple[str, str, str], ...]] = (
    ("bakery", "shop", "bakery"),
    ("pharmacy", "amenity", "pharmacy"),
    ("cafe", "amenity", "café"),
    ("restaurant", "amenity", "restaurant"),
    ("supermarket", "shop", "supermarket"),
    ("books", "shop", "bookshop"),
    ("florist", "shop", "flower shop"),
    ("bank", "amenity", "bank"),
    ("hairdresser", "shop", "hairdresser's"),
    ("optician", "shop", "optician's"),
    ("butcher", "shop", "butcher's"),
    ("hotel", "tourism", "hotel"),
    ("post_office", "amenity", "post office"),
    ("cinema", "amenity", "cinema"),
    ("bicycle", "shop", "bicycle shop"),
    ("bar", "amenity", "bar"),
    ("convenience", "shop", "corner shop"),
    ("hostel", "tourism", "hostel"),
)
# Kinds that serve one need: of each group one place has two, or one.
ALIKE: Final[tuple[tuple[str, ...], ...]] = (("cafe", "bar", "convenience"), ("hotel", "hostel"))
COLORS: Final[dict[str, Color]] = {
    "red": (178, 44, 38), "white": (238, 238, 232), "blue": (44, 84, 160), "black": (34, 34, 36),
    "yellow": (236, 196, 52), "green": (44, 108, 62), "orange": (226, 122, 40), "grey": (132, 134, 138),
    "brown": (118, 78, 52), "beige": (216, 200, 168), "pink": (226, 168, 168), "ochre": (206, 158, 84),
    "brick red": (156, 78, 62), "light blue": (150, 184, 206), "silver": (186, 190, 196),
}  # fmt: skip
_TWO_LANES: Final = ("residential", "secondary", "tertiary", "residential", "residential", "primary", "residential",
                     "tertiary")  # fmt: skip

TOWNS: Final = (
    Town(
        Plan("waterveen", 3, 3, Origin(lat_deg=52.31, lon_deg=5.62, alt_m=2.0)),
        "Waterveen", "Netherlands", "NL", "Dutch",
        ("Molenstraat", "Kerkstraat", "Havenweg", "Nieuwe Gracht", "Dorpsstraat", "Stationsweg", "Lindelaan",
         "Schoolstraat"), _TWO_LANES,
        ("BAKKERIJ", "APOTHEEK", "KOFFIEHUIS", "EETHUIS", "SUPERMARKT", "BOEKHANDEL", "BLOEMEN", "SPAARBANK", "KAPPER",
         "OPTICIEN", "SLAGERIJ", "HOTEL", "POSTKANTOOR", "BIOSCOOP", "FIETSEN",
         "BAR", "AVONDWINKEL", "JEUGDHERBERG"),
        ("DE ZON", "VAN DAM", "DE HAAN", "JANSEN", "DE LINDE", "OOST", "DE BRUG"),
        ("brick red", "brown", "white", "grey"), "brick", "white", "broadleaf", "right", "black", "orange",
    ),
    Town(
        Plan("valdoro", 3, 3, Origin(lat_deg=40.05, lon_deg=-3.2, alt_m=640.0)),
        "Valdoro", "Spain", "ES", "Spanish",
        ("Calle Mayor", "Calle del Sol", "Avenida de la Fuente", "Calle Real", "Calle de la Iglesia",
         "Avenida del Puente", "Calle Nueva", "Calle de los Olivos"), _TWO_LANES,
        ("PANADERIA", "FARMACIA", "CAFETERIA", "COMEDOR", "SUPERMERCADO", "LIBRERIA", "FLORISTERIA", "BANCO",
         "PELUQUERIA", "OPTICA", "CARNICERIA", "HOTEL", "CORREOS", "CINE", "BICICLETAS",
         "BAR", "ALIMENTACION", "ALBERGUE"),
        ("DEL SOL", "GARCIA", "LA PLAZA", "REAL", "SAN JUAN", "EL PUENTE", "LUNA"),
        ("white", "ochre", "yellow", "pink"), "asphalt", "white", "palm", "right", "green", "yellow",
    ),
    Town(
        Plan("elderfurt", 3, 3, Origin(lat_deg=53.2, lon_deg=11.9, alt_m=40.0)),
        "Elderfurt", "Germany", "DE", "German",
        ("Lindenallee", "Bahnhofsweg", "Am Markt", "Schulweg", "Marktallee", "Gartenweg", "Am Wehr",
         "Rosenweg"), _TWO_LANES,
        ("BACKSTUBE", "APOTHEKE", "KAFFEEHAUS", "GASTHAUS", "SUPERMARKT", "BUCHHANDLUNG", "BLUMEN", "SPARKASSE",
         "FRISEUR", "OPTIKER", "METZGEREI", "HOTEL", "POST", "KINO", "ZWEIRAD",
         "BAR", "LEBENSMITTEL", "JUGENDHERBERGE"),
        ("SONNE", "WEBER", "AM TOR", "SCHMIDT", "ZUR EICHE", "NORD", "KRAUSE"),
        ("beige", "grey", "ochre", "light blue"), "asphalt", "white", "conifer", "right", "grey", "yellow",
    ),
    Town(
        Plan("saint-aubert", 3, 3, Origin(lat_deg=47.1, lon_deg=1.6, alt_m=120.0)),
        "Saint-Aubert", "France", "FR", "French",
        ("Rue de la Gare", "Rue Pasteur", "Avenue du Moulin", "Rue des Lilas", "Grande Rue", "Boulevard Carnot",
         "Rue du Lavoir", "Rue Victor Hugo"), _TWO_LANES,
        ("BOULANGERIE", "PHARMACIE", "CAFE", "RESTAURANT", "SUPERMARCHE", "LIBRAIRIE", "FLEURISTE", "BANQUE",
         "COIFFEUR", "OPTIQUE", "BOUCHERIE", "HOTEL", "LA POSTE", "CINEMA", "CYCLES",
         "BAR", "EPICERIE", "AUBERGE"),
        ("DU PONT", "DUVAL", "DE LA GARE", "LEROY", "CENTRALE", "DES ARTS", "MOREAU"),
        ("beige", "white", "grey", "ochre"), "asphalt", "white", "broadleaf", "right", "green", "yellow",
    ),
    Town(
        Plan("corvale", 3, 3, Origin(lat_deg=-34.6, lon_deg=149.6, alt_m=610.0)),
        "Corvale", "Australia", "AU", "English",
        ("Railway Parade", "Church Street", "Goldfields Road", "Wattle Street", "High Street", "Macarthur Avenue",
         "Station Street", "Creek Road"), _TWO_LANES,
        ("BAKERY", "PHARMACY", "COFFEE HOUSE", "DINING ROOM", "SUPERMARKET", "BOOKS", "FLOWERS", "SAVINGS BANK",
         "HAIRDRESSER", "OPTICIAN", "BUTCHER", "HOTEL", "POST OFFICE", "CINEMA", "BICYCLES",
         "BAR", "CORNER STORE", "HOSTEL"),
        ("ROYAL", "HARRIS", "CORNER", "SOUTHERN", "O'BRIEN", "VALLEY", "WATTLE"),
        ("brick red", "beige", "white", "brown"), "asphalt", "yellow", "broadleaf", "left", "silver", "red",
    ),
    Town(
        Plan("montelisa", 3, 3, Origin(lat_deg=43.2, lon_deg=11.6, alt_m=310.0)),
        "Montelisa", "Italy", "IT", "Italian",
        ("Via Roma", "Via Garibaldi", "Corso Italia", "Via delle Rose", "Via Dante", "Viale dei Pini",
         "Via del Mercato", "Via San Marco"), _TWO_LANES,
        ("PANETTERIA", "FARMACIA", "CAFFETTERIA", "TRATTORIA", "SUPERMERCATO", "LIBRERIA", "FIORI", "BANCA",
         "PARRUCCHIERE", "OTTICA", "MACELLERIA", "ALBERGO", "UFFICIO POSTALE", "CINEMA", "BICICLETTE",
         "BAR", "ALIMENTARI", "OSTELLO"),
        ("DEL CORSO", "ROSSI", "CENTRALE", "BIANCHI", "LA TORRE", "AURORA", "CONTI"),
        ("ochre", "pink", "yellow", "beige"), "cobblestone", "white", "conifer", "right", "black", "red",
    ),
)  # fmt: skip
