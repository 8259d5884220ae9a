// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Asks a user for a proof of age.
 *
 * @param recipientKey Who is asked: 64 hex characters.
 * @param subkeys Keys that may respond for it without a proof of delegation; usually none, at most 8.
 * @param mintUrl The mint that the proof must be of; by default {@code verification.mint_url}.
 */
public record VerificationTokenRequest(String recipientKey, List<String> subkeys, @Nullable String mintUrl) {
    /**
     * Keeps unchangeable copies of lists.
     *
     * @param recipientKey Who is asked: 64 hex characters.
     * @param subkeys Keys that may respond for it without a proof of delegation; usually none, at most 8.
     * @param mintUrl The mint that the proof must be of; by default {@code verification.mint_url}.
     */
    public VerificationTokenRequest {
        subkeys = List.copyOf(subkeys);
    }

    /**
     * Creates it from what is required.
     *
     * @param recipientKey Who is asked: 64 hex characters.
     * @return a new {@code VerificationTokenRequest}
     */
    public static VerificationTokenRequest of(String recipientKey) {
        return new VerificationTokenRequest(recipientKey, List.of(), null);
    }

    /**
     * Returns a copy with another {@code subkeys}.
     *
     * @param subkeys Keys that may respond for it without a proof of delegation; usually none, at most 8.
     * @return the copy
     */
    public VerificationTokenRequest withSubkeys(List<String> subkeys) {
        return new VerificationTokenRequest(recipientKey, subkeys, mintUrl);
    }

    /**
     * Returns a copy with another {@code mintUrl}.
     *
     * @param mintUrl The mint that the proof must be of; by default {@code verification.mint_url}.
     * @return the copy
     */
    public VerificationTokenRequest withMintUrl(@Nullable String mintUrl) {
        return new VerificationTokenRequest(recipientKey, subkeys, mintUrl);
    }
}
