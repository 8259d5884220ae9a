// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import org.jspecify.annotations.Nullable;

/**
 * The query of {@code GET /events/{stream_id}}.
 *
 * @param after The first index to return: 0 for all events, then {@code next} of the last response. Default 0.
 * @param limit Most events in the response. Default 1000. Not for event streams.
 * @param waitSeconds How long to wait for an event, in seconds. Default 0. Not for event streams.
 */
public record ReadEventsQuery(@Nullable Long after, @Nullable Long limit, @Nullable Long waitSeconds) {
    /**
     * Creates it with nothing set.
     *
     * @return a new {@code ReadEventsQuery}
     */
    public static ReadEventsQuery of() {
        return new ReadEventsQuery(null, null, null);
    }

    /**
     * Returns a copy with another {@code after}.
     *
     * @param after The first index to return: 0 for all events, then {@code next} of the last response. Default 0.
     * @return the copy
     */
    public ReadEventsQuery withAfter(@Nullable Long after) {
        return new ReadEventsQuery(after, limit, waitSeconds);
    }

    /**
     * Returns a copy with another {@code limit}.
     *
     * @param limit Most events in the response. Default 1000. Not for event streams.
     * @return the copy
     */
    public ReadEventsQuery withLimit(@Nullable Long limit) {
        return new ReadEventsQuery(after, limit, waitSeconds);
    }

    /**
     * Returns a copy with another {@code waitSeconds}.
     *
     * @param waitSeconds How long to wait for an event, in seconds. Default 0. Not for event streams.
     * @return the copy
     */
    public ReadEventsQuery withWaitSeconds(@Nullable Long waitSeconds) {
        return new ReadEventsQuery(after, limit, waitSeconds);
    }
}
