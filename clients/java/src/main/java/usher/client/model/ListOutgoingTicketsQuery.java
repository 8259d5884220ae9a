// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import org.jspecify.annotations.Nullable;

/**
 * The query of {@code GET /cashu/outgoing}.
 *
 * @param after Continues after this entry: the {@code next} of the last response.
 * @param limit Most entries in the response. Default 100.
 */
public record ListOutgoingTicketsQuery(@Nullable String after, @Nullable Long limit) {
    /**
     * Creates it with nothing set.
     *
     * @return a new {@code ListOutgoingTicketsQuery}
     */
    public static ListOutgoingTicketsQuery of() {
        return new ListOutgoingTicketsQuery(null, null);
    }

    /**
     * Returns a copy with another {@code after}.
     *
     * @param after Continues after this entry: the {@code next} of the last response.
     * @return the copy
     */
    public ListOutgoingTicketsQuery withAfter(@Nullable String after) {
        return new ListOutgoingTicketsQuery(after, limit);
    }

    /**
     * Returns a copy with another {@code limit}.
     *
     * @param limit Most entries in the response. Default 100.
     * @return the copy
     */
    public ListOutgoingTicketsQuery withLimit(@Nullable Long limit) {
        return new ListOutgoingTicketsQuery(after, limit);
    }
}
