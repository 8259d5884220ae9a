package usher.client.model;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Consecutive events of a stream.
 *
 * @param events the events, oldest first
 * @param next the {@code after} for the next request
 * @param done whether the operation has ended; a payment that ended unpaid may still get a late {@code paid}
 * @param first the first index that is left, if earlier events were removed; only where {@code after} was 0
 */
public record EventPage(List<Event> events, long next, boolean done, @Nullable Long first) {
    /**
     * Keeps an unchangeable copy of the list.
     *
     * @param events the events, oldest first
     * @param next the {@code after} for the next request
     * @param done whether the operation has ended; a payment that ended unpaid may still get a late {@code paid}
     * @param first the first index that is left, if earlier events were removed; only where {@code after} was 0
     */
    public EventPage {
        events = List.copyOf(events);
    }
}
