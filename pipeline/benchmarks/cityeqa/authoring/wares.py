"""What is had, or done, in places of some sorts: words that tell a sort, and that no other sort has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from pipeline.questions.open_items import stems

_MEALS: Final = "restaurant, fast-food restaurant"
_DRINKS: Final = "bar, pub, nightclub, café, casino, hotel, restaurant, theatre, cinema, coffee shop, tea shop"
_ALL_SORTS: Final = "supermarket, convenience store, department store, mall, kiosk, market"
_INNS: Final = "hostel, guest house"
_LEARNED: Final = "school, university, kindergarten, library"
_CLEANERS: Final = "dry cleaner's, laundry"
_CAFES: Final = "café, coffee shop"
_SICK: Final = "hospital, clinic, doctor's surgery"

# Words (any of them) | sorts that surely have it | those that perhaps do; surely no other.
_TABLE: Final = f"""
bread loaf loaves roll baguette croissant dough | bakery | pastry shop, deli, café, {_ALL_SORTS}, {_MEALS}, sweet shop
cake pastry pastries bun tart | bakery, pastry shop | sweet shop, deli, café, coffee shop, {_ALL_SORTS}, {_MEALS}
medicine medicament drug prescription pill ointment remedy pharmacist | pharmacy | drugstore, {_SICK}, {_ALL_SORTS}
cash loan mortgage savings banking deposit withdraw banknote | bank | exchange office, post office, casino, town hall
haircut hair barber trim beard | hairdresser's | beauty salon, drugstore, cosmetics shop
overnight bed lodging accommodation sleep | hotel, hostel, guest house | hospital, clinic, furniture shop, travel agency
flower bouquet rose florist | flower shop | garden centre, garden shop, {_ALL_SORTS}, cemetery, park, garden
book novel reading | library, bookshop | {_LEARNED}, newsagent's, kiosk, {_ALL_SORTS}, stationery shop, museum
borrow lend | library | bank, {_LEARNED}
shoe boot sandal sneaker footwear | shoe shop | sports shop, clothes shop, boutique, department store, mall
meal dine diner dinner lunch waiter cuisine cook chef | {_MEALS} | {_DRINKS}, {_ALL_SORTS}, {_INNS}, bakery, deli
petrol fuel refuel gasoline diesel | petrol station | car repair shop, car rental office
parcel stamp postage mail postcard | post office | newsagent's, kiosk, stationery shop, gift shop, {_ALL_SORTS}
pray prayer worship worshipper mass congregation believer baptism priest | church, mosque | cemetery
meat sausage steak butcher | butcher's | deli, {_MEALS}, {_ALL_SORTS}
fish seafood | seafood shop | {_MEALS}, {_ALL_SORTS}, pet shop, deli
fruit apple carrot | greengrocer's | {_ALL_SORTS}, deli
jewel jewelry jewellery necklace bracelet earring engagement | jeweller's | boutique, gift shop, department store, mall
spectacles glasses eyesight lens eye | optician's | photo shop, {_SICK}, {_DRINKS}
clothes clothing dress shirt trousers garment | clothes shop, boutique | sports shop, {_ALL_SORTS}, {_CLEANERS}
film movie screen | cinema | theatre, photo shop, electronics shop
actor stage drama | theatre | cinema
painting exhibit exhibition sculpture | gallery, museum | art shop
tooth teeth dental dentist toothache | dentist's | drugstore, {_SICK}
beer cocktail pint | bar, pub | {_DRINKS}, off-licence, drinks shop, wine shop, {_ALL_SORTS}
coffee espresso cappuccino | {_CAFES} | bakery, {_DRINKS}, {_ALL_SORTS}, {_MEALS}, ice-cream parlour, pastry shop
pupil teacher lesson homework | school | {_LEARNED}, music shop
lecture student degree professor | university | {_LEARNED}
toy doll | toy shop | gift shop, {_ALL_SORTS}, kindergarten
bicycle bike cyclist | bicycle shop | sports shop, {_ALL_SORTS}
laundry washing ironing | {_CLEANERS} | hotel, hostel
passport marriage mayor council citizen | town hall | police station
crime policeman officer burglary theft stolen | police station | town hall
fire firefighter blaze | fire station |
patient surgery operation nurse ambulance doctor | hospital, clinic, doctor's surgery | dentist's, pharmacy
gamble gambling roulette casino bet | casino | lottery shop
house flat apartment rent estate tenant | estate agent's | insurance office, hotel, bank
insurance policy insure | insurance office | bank, travel agency, estate agent's
journey holiday trip flight | travel agency | hotel
newspaper magazine press | newsagent's | kiosk, {_ALL_SORTS}, bookshop, library
cigarette tobacco smoker | tobacco shop | kiosk, newsagent's, {_ALL_SORTS}
toddler nursery | kindergarten | playground, toy shop
swing slide sandpit play playing | playground | park, kindergarten, school
swim swimmer swimming | swimming pool | beach, body of water, sports shop
grave burial funeral mourner buried | cemetery | church
ice icecream gelato | ice-cream parlour | {_ALL_SORTS}, {_MEALS}, café
groceries grocery | supermarket, convenience store | {_ALL_SORTS}, greengrocer's, deli
wine bottle | wine shop, off-licence | {_DRINKS}, {_MEALS}, {_ALL_SORTS}, drinks shop, deli
dog cat puppy pet | pet shop | park
sport athlete football tennis | sports shop, sports field, stadium | school, park, bicycle shop
phone telephone smartphone | mobile phone shop | electronics shop, computer shop, {_ALL_SORTS}
computer laptop | computer shop, electronics shop | {_LEARNED}, {_ALL_SORTS}
makeup lipstick manicure nail facial | beauty salon, cosmetics shop | drugstore, perfumery, hairdresser's, {_ALL_SORTS}
perfume fragrance scent | perfumery | cosmetics shop, drugstore, {_ALL_SORTS}
souvenir gift present | gift shop | museum, {_ALL_SORTS}, toy shop, jeweller's, bookshop, flower shop, boutique
"""


class Ware(NamedTuple):
    """Sorts that surely have something, and sorts that perhaps do."""

    has: frozenset[str]
    may: frozenset[str]


def _read() -> dict[str, list[Ware]]:
    found: dict[str, list[Ware]] = {}
    for row in _TABLE.strip().splitlines():
        words, has, may = (part.strip() for part in row.split("|"))
        ware = Ware(*(frozenset(sort.strip() for sort in sorts.split(",") if sort.strip()) for sorts in (has, may)))
        for stem in stems(words):
            found.setdefault(stem, []).append(ware)
    return found


WARES: Final[Mapping[str, list[Ware]]] = _read()
SORTS: Final = frozenset(sort for wares in WARES.values() for ware in wares for sort in (*ware.has, *ware.may))


def had(text: str, sort: str) -> list[str]:
    """Words of a text, as stems, that name what a sort surely has."""
    return sorted(stem for stem in stems(text) if any(sort in ware.has for ware in WARES.get(stem, ())))


def foreign(text: str, sort: str) -> list[str]:
    """Words of a text, as stems, that name what a sort surely has not, be it of a known sort."""
    if sort not in SORTS:
        return []
    return sorted(
        stem for stem in stems(text) if stem in WARES and not any(sort in ware.has | ware.may for ware in WARES[stem])
    )


def is_had_alone(texts: Iterable[str], sort: str) -> int:
    """How many texts name something that a sort surely has, and nothing that it has not."""
    return sum(bool(had(text, sort)) and not foreign(text, sort) for text in texts)
