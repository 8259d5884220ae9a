// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import org.jspecify.annotations.Nullable;

/**
 * Decides an age verification session.
 *
 * @param decision {@code approve}: the user is old enough. {@code reject}: the user is not, or has not shown it.
 * @param reason With {@code reject}: why, for the app; at most 639 bytes of UTF-8. Do not name the user or the date of
 *     birth.
 */
public record VerificationDecision(String decision, @Nullable String reason) {
    /**
     * Creates it from what is required.
     *
     * @param decision {@code approve}: the user is old enough. {@code reject}: the user is not, or has not shown it.
     * @return a new {@code VerificationDecision}
     */
    public static VerificationDecision of(String decision) {
        return new VerificationDecision(decision, null);
    }

    /**
     * Returns a copy with another {@code reason}.
     *
     * @param reason With {@code reject}: why, for the app; at most 639 bytes of UTF-8. Do not name the user or the
     *     date of birth.
     * @return the copy
     */
    public VerificationDecision withReason(@Nullable String reason) {
        return new VerificationDecision(decision, reason);
    }
}
