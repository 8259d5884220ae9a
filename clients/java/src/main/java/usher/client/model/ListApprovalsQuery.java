// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import org.jspecify.annotations.Nullable;

/**
 * The query of {@code GET /approvals}.
 *
 * @param after Continues after this entry: the {@code next} of the last response.
 * @param limit Most entries in the response. Default 100.
 */
public record ListApprovalsQuery(@Nullable String after, @Nullable Long limit) {
    /**
     * Creates it with nothing set.
     *
     * @return a new {@code ListApprovalsQuery}
     */
    public static ListApprovalsQuery of() {
        return new ListApprovalsQuery(null, null);
    }

    /**
     * Returns a copy with another {@code after}.
     *
     * @param after Continues after this entry: the {@code next} of the last response.
     * @return the copy
     */
    public ListApprovalsQuery withAfter(@Nullable String after) {
        return new ListApprovalsQuery(after, limit);
    }

    /**
     * Returns a copy with another {@code limit}.
     *
     * @param limit Most entries in the response. Default 100.
     * @return the copy
     */
    public ListApprovalsQuery withLimit(@Nullable Long limit) {
        return new ListApprovalsQuery(after, limit);
    }
}
