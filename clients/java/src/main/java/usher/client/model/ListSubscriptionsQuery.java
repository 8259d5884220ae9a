// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import org.jspecify.annotations.Nullable;

/**
 * The query of {@code GET /subscriptions}.
 *
 * @param state Only those in this state: {@code active}, {@code closed_by_user}, {@code closed_by_provider}, {@code
 *     completed} or {@code ended}.
 * @param mainKey Only those of this user: 64 hex characters.
 * @param after Continues after this entry: the {@code next} of the last response.
 * @param limit Most entries in the response. Default 100.
 */
public record ListSubscriptionsQuery(
        @Nullable String state,
        @Nullable String mainKey,
        @Nullable String after,
        @Nullable Long limit) {
    /**
     * Creates it with nothing set.
     *
     * @return a new {@code ListSubscriptionsQuery}
     */
    public static ListSubscriptionsQuery of() {
        return new ListSubscriptionsQuery(null, null, null, null);
    }

    /**
     * Returns a copy with another {@code state}.
     *
     * @param state Only those in this state: {@code active}, {@code closed_by_user}, {@code closed_by_provider},
     *     {@code completed} or {@code ended}.
     * @return the copy
     */
    public ListSubscriptionsQuery withState(@Nullable String state) {
        return new ListSubscriptionsQuery(state, mainKey, after, limit);
    }

    /**
     * Returns a copy with another {@code mainKey}.
     *
     * @param mainKey Only those of this user: 64 hex characters.
     * @return the copy
     */
    public ListSubscriptionsQuery withMainKey(@Nullable String mainKey) {
        return new ListSubscriptionsQuery(state, mainKey, after, limit);
    }

    /**
     * Returns a copy with another {@code after}.
     *
     * @param after Continues after this entry: the {@code next} of the last response.
     * @return the copy
     */
    public ListSubscriptionsQuery withAfter(@Nullable String after) {
        return new ListSubscriptionsQuery(state, mainKey, after, limit);
    }

    /**
     * Returns a copy with another {@code limit}.
     *
     * @param limit Most entries in the response. Default 100.
     * @return the copy
     */
    public ListSubscriptionsQuery withLimit(@Nullable Long limit) {
        return new ListSubscriptionsQuery(state, mainKey, after, limit);
    }
}
