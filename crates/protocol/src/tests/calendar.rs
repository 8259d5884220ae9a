//! Calendars: the eight keywords in all their spellings, and all other calendars in one.

use usher_protocol::calendar::{Calendar, MAX_CALENDAR_BYTES};

fn read(text: &str) -> Option<String> {
    text.parse::<Calendar>().ok().map(|calendar| calendar.to_string())
}

#[test]
fn every_spelling_of_a_keyword_is_recognized() {
    for (word, spellings) in [
        ("minutely", vec!["*-*-* *:*:00", "*-*-* *:*:0", "*-*-* *:0..59:00", "*-1..12-* *:*:00 UTC"]),
        ("hourly", vec!["*-*-* *:00:00", "*-*-* *:0:0", "*-*-* 0..23:00:00", "*-*-* 0..23/1:00:00 utc"]),
        ("daily", vec!["*-*-* 00:00:00", "*-*-* 0:0:0", "Mon..Sun *-*-* 00:00:00", "*-*-1..31 00:00:00"]),
        ("weekly", vec!["Mon *-*-* 00:00:00", "mon *-*-* 0:0:0", "Monday *-*-* 00:00:00", "Mon,Mon *-*-* 0:00:0 UTC"]),
        ("monthly", vec!["*-*-01 00:00:00", "*-*-1 0:0:0", "1970..2199-*-01 00:00:00", "  *-*-01   00:00:00 UTC "]),
        (
            "quarterly",
            vec!["*-01,04,07,10-01 00:00:00", "*-1,4,7,10-1 0:0:0", "*-1..10/3-1 0:0:0", "*-10,7,1..4/3-01 00:00:00"],
        ),
        ("semiannually", vec!["*-01,07-01 00:00:00", "*-1,7-1 0:0:0", "*-1..7/6-01 00:00:00", "*-7,1-01 00:00:00"]),
        ("yearly", vec!["*-01-01 00:00:00", "*-1-1 0:0:0", "*-1..2/5-1 00:00:00"]),
    ] {
        let calendar = Calendar::from_word(word).unwrap();
        assert_eq!(calendar.word(), Some(word));
        assert_eq!(calendar.to_string(), word);
        assert_eq!(serde_json::to_string(&calendar).unwrap(), format!("\"{word}\""));
        for spelling in spellings.into_iter().chain([word, calendar.expanded()]) {
            assert_eq!(spelling.parse(), Ok(calendar.clone()), "{spelling}");
        }
    }
}

#[test]
fn other_calendars_are_normalized() {
    for (text, normal) in [
        ("*-*-15 0:0:0", "*-*-15 00:00:00"),
        ("Mon,Tue,Wed *-*-* 9:30:0", "Mon..Wed *-*-* 09:30:00"),
        ("sun,SAT *-*-* 00:00:00", "Sat,Sun *-*-* 00:00:00"),
        ("Tue..Thu,Monday *-*-* 00:00:00", "Mon..Thu *-*-* 00:00:00"),
        ("Mon..Sun/2 *-*-* 00:00:00", "Mon,Wed,Fri,Sun *-*-* 00:00:00"),
        ("*-*-* *:0..59/15:00", "*-*-* *:00,15,30,45:00"),
        ("*-*-* *:0,10,20,30,40,50:00", "*-*-* *:00..50/10:00"),
        ("*-*-* *:0..59/10:00", "*-*-* *:00..50/10:00"),
        ("*-*-1,2,3,5,6 0:0:0", "*-*-01..03,05,06 00:00:00"),
        ("*-*-*,5 *:*:*", "*-*-* *:*:*"),
        ("2026-1-1 0:0:0", "2026-01-01 00:00:00"),
        ("2026,2027,2028,2030-1-1 0:0:0", "2026..2028,2030-01-01 00:00:00"),
        ("*-*-01 00:00:00 Europe/Rome", "*-*-01 00:00:00 Europe/Rome"),
        ("*-*-01 00:00:00 Etc/GMT+5", "*-*-01 00:00:00 Etc/GMT+5"),
    ] {
        assert_eq!(read(text).as_deref(), Some(normal), "{text}");
        assert_eq!(text.parse::<Calendar>().unwrap().word(), None, "{text}");
    }
}

#[test]
fn invalid_calendars_are_refused() {
    for (form, wrong) in [
        ("_", &["", " ", "Monthly ", "*", "*-*", "*-*-*", "*:*:*", "fortnightly", "monthly monthly"][..]),
        ("*-*-* _", &["*:*", "*:*:*:*", "24:00:00", "00:60:00", "00:00:60"]),
        ("_-*-* 00:00:00", &["*-*", "1969", "2200", "99999"]),
        ("*-_-01 00:00:00", &["0", "13"]),
        ("*-*-_ 00:00:00", &["00", "32", "5..3", "1..5/0", "1..5/", "1..5/1000", "1...", "..5", "1,", ",1", "*/2"]),
        ("*-*-_ 00:00:00", &["1/2", "-1", "+1", "1.5", "٣"]),
        ("_ *-*-* 00:00:00", &["Mo", "Sun..Mon", "Mon,", "Mon..Fri..Sun"]),
        ("*-*-* 00:00:00 _", &["5", "UTC x", "Europe/Rome\u{1b}", "a'; drop"]),
    ] {
        for text in wrong {
            assert_eq!(read(&form.replace('_', text)), None, "{form} {text}");
        }
    }
    assert_eq!(read(&format!("*-*-{} 00:00:00", vec!["1"; MAX_CALENDAR_BYTES].join(","))), None);
    assert_eq!(Calendar::from_word("Monthly"), None);
    assert_eq!(Calendar::from_word("*-*-01 00:00:00"), None);
}
