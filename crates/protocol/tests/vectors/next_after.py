"""Makes next_after.txt: occurrences of calendars by another calculation than ours.

Python's `zoneinfo` with the time zones of the system, and every wall-clock time tried in turn. Run it as
`python3 next_after.py > next_after.txt`; the cases are the same each time.
"""

import random
from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo

DAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
ZONES = [
    "UTC", "Europe/Rome", "America/New_York", "Australia/Lord_Howe", "Asia/Beirut", "Pacific/Apia",
    "America/St_Johns", "Africa/Casablanca", "Antarctica/Troll", "Asia/Kathmandu", "America/Sao_Paulo", "Asia/Tehran",
]
# Clocks were changed in some of the zones within a day of these.
CHANGES = [
    datetime(2011, 12, 30), datetime(2015, 3, 29), datetime(2015, 10, 25), datetime(2016, 3, 13), datetime(2016, 11, 6),
    datetime(2017, 4, 2), datetime(2018, 10, 7), datetime(2018, 11, 4), datetime(2021, 3, 22), datetime(2024, 3, 31),
]


def field(some, first, last, chance):
    """A field's text and its numbers."""
    if some.random() >= chance:
        return "*", set(range(first, last + 1))
    numbers = {some.randint(first, last) for _ in range(some.randint(1, 3))}
    return ",".join(map(str, sorted(numbers))), numbers


def occurrence(weekdays, months, days, hours, minutes, zone, start):
    """The first instant after `start` at which the clock shows an allowed time that it shows for the first time."""
    day = datetime.fromtimestamp(start, zone).date() - timedelta(days=2)
    while day.year < 2040:
        if day.month in months and day.day in days and day.weekday() in weekdays:
            for hour in sorted(hours):
                for minute in sorted(minutes):
                    wall = datetime(day.year, day.month, day.day, hour, minute, tzinfo=zone, fold=0)
                    instant = wall.astimezone(timezone.utc)
                    left_out = instant.astimezone(zone).replace(tzinfo=None) != wall.replace(tzinfo=None)
                    if not left_out and instant.timestamp() > start:
                        return int(instant.timestamp())
        day += timedelta(days=1)
    return None


def main():
    some = random.Random(47)
    count = 0
    while count < 400:
        near = some.choice(CHANGES).replace(tzinfo=timezone.utc).timestamp()
        start = int(near) + some.randint(-129_600, 129_600)
        zone = some.choice(ZONES)
        picked = [day for day in range(7) if some.random() < 0.2]
        months, days = field(some, 1, 12, 0.2), field(some, 1, 31, 0.2)
        hours, minutes = field(some, 0, 4, 0.7), field(some, 0, 59, 0.6)
        weekdays = set(picked) or set(range(7))
        found = occurrence(weekdays, months[1], days[1], hours[1], minutes[1], ZoneInfo(zone), start)
        if found is None:
            continue
        names = ",".join(DAYS[day] for day in picked)
        hour = hours[0] if hours[0] != "*" else "0..4"
        calendar = f"{names} *-{months[0]}-{days[0]} {hour}:{minutes[0]}:00 {zone}".strip()
        print(f"{start} {found} {calendar}")
        count += 1


main()
