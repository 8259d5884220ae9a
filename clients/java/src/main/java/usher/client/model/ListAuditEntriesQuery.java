// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import org.jspecify.annotations.Nullable;

/**
 * The query of {@code GET /audit}.
 *
 * @param after Continues after this entry: the {@code next} of the last response.
 * @param limit Most entries in the response. Default 100.
 */
public record ListAuditEntriesQuery(@Nullable String after, @Nullable Long limit) {
    /**
     * Creates it with nothing set.
     *
     * @return a new {@code ListAuditEntriesQuery}
     */
    public static ListAuditEntriesQuery of() {
        return new ListAuditEntriesQuery(null, null);
    }

    /**
     * Returns a copy with another {@code after}.
     *
     * @param after Continues after this entry: the {@code next} of the last response.
     * @return the copy
     */
    public ListAuditEntriesQuery withAfter(@Nullable String after) {
        return new ListAuditEntriesQuery(after, limit);
    }

    /**
     * Returns a copy with another {@code limit}.
     *
     * @param limit Most entries in the response. Default 100.
     * @return the copy
     */
    public ListAuditEntriesQuery withLimit(@Nullable Long limit) {
        return new ListAuditEntriesQuery(after, limit);
    }
}
