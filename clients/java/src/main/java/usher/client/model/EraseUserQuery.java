// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import org.jspecify.annotations.Nullable;

/**
 * The query of {@code DELETE /users/{main_key}}.
 *
 * @param after Continues after this: the {@code next} of the last response.
 */
public record EraseUserQuery(@Nullable String after) {
    /**
     * Creates it with nothing set.
     *
     * @return a new {@code EraseUserQuery}
     */
    public static EraseUserQuery of() {
        return new EraseUserQuery(null);
    }

    /**
     * Returns a copy with another {@code after}.
     *
     * @param after Continues after this: the {@code next} of the last response.
     * @return the copy
     */
    public EraseUserQuery withAfter(@Nullable String after) {
        return new EraseUserQuery(after);
    }
}
