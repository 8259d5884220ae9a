// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Sends a ticket to a user.
 *
 * @param mainKey Who gets it: 64 hex characters. Required, here or as {@code recipient_key}.
 * @param subkeys Keys of the user's devices that get it, too; usually none, at most 8.
 * @param token The token, of any mint and unit. A message has room for 40,000 bytes.
 * @param requestId Your own reference, repeated in the events.
 */
public record SendTicketRequest(String mainKey, List<String> subkeys, String token, @Nullable String requestId) {
    /**
     * Keeps unchangeable copies of lists.
     *
     * @param mainKey Who gets it: 64 hex characters. Required, here or as {@code recipient_key}.
     * @param subkeys Keys of the user's devices that get it, too; usually none, at most 8.
     * @param token The token, of any mint and unit. A message has room for 40,000 bytes.
     * @param requestId Your own reference, repeated in the events.
     */
    public SendTicketRequest {
        subkeys = List.copyOf(subkeys);
    }

    /**
     * Creates it from what is required.
     *
     * @param mainKey Who gets it: 64 hex characters. Required, here or as {@code recipient_key}.
     * @param token The token, of any mint and unit. A message has room for 40,000 bytes.
     * @return a new {@code SendTicketRequest}
     */
    public static SendTicketRequest of(String mainKey, String token) {
        return new SendTicketRequest(mainKey, List.of(), token, null);
    }

    /**
     * Returns a copy with another {@code subkeys}.
     *
     * @param subkeys Keys of the user's devices that get it, too; usually none, at most 8.
     * @return the copy
     */
    public SendTicketRequest withSubkeys(List<String> subkeys) {
        return new SendTicketRequest(mainKey, subkeys, token, requestId);
    }

    /**
     * Returns a copy with another {@code requestId}.
     *
     * @param requestId Your own reference, repeated in the events.
     * @return the copy
     */
    public SendTicketRequest withRequestId(@Nullable String requestId) {
        return new SendTicketRequest(mainKey, subkeys, token, requestId);
    }

    /** Leaves out what nobody may read in a log. */
    @Override
    public String toString() {
        return "SendTicketRequest[mainKey=" + mainKey
                + ", subkeys=" + subkeys
                + ", token=…"
                + ", requestId=" + requestId
                + "]";
    }
}
