// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

/**
 * A calendar, and a time.
 *
 * @param calendar One of {@code minutely}, {@code hourly}, {@code daily}, {@code weekly}, {@code monthly}, {@code
 *     quarterly}, {@code semiannually}, {@code yearly}; or the systemd form to which wallets expand them, {@code
 *     [weekdays ]year-month-day hour:minute:second[ timezone]}, for example {@code Mon..Fri *-*-01,15 09:00:00
 *     Europe/Rome}. The default time zone is UTC.
 * @param from Unix seconds.
 */
public record CalendarNextOccurrenceRequest(String calendar, long from) {
    /**
     * Creates it from what is required.
     *
     * @param calendar One of {@code minutely}, {@code hourly}, {@code daily}, {@code weekly}, {@code monthly}, {@code
     *     quarterly}, {@code semiannually}, {@code yearly}; or the systemd form to which wallets expand them, {@code
     *     [weekdays ]year-month-day hour:minute:second[ timezone]}, for example {@code Mon..Fri *-*-01,15 09:00:00
     *     Europe/Rome}. The default time zone is UTC.
     * @param from Unix seconds.
     * @return a new {@code CalendarNextOccurrenceRequest}
     */
    public static CalendarNextOccurrenceRequest of(String calendar, long from) {
        return new CalendarNextOccurrenceRequest(calendar, from);
    }
}
