// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import org.jspecify.annotations.Nullable;

/**
 * Mints a ticket.
 *
 * @param mintUrl The mint: an {@code http} or {@code https} URL.
 * @param unit The unit: {@code sat}, or one of the mint's own, such as {@code multi}. Upper and lower case are the
 *     same.
 * @param amount How much, in the unit.
 * @param description For the mint's records. At most 639 bytes of UTF-8.
 * @param staticToken The token by which the mint knows who may mint (header {@code Clear-auth}), if it wants one.
 */
public record MintTicketRequest(
        String mintUrl,
        String unit,
        long amount,
        @Nullable String description,
        @Nullable String staticToken) {
    /**
     * Creates it from what is required.
     *
     * @param mintUrl The mint: an {@code http} or {@code https} URL.
     * @param unit The unit: {@code sat}, or one of the mint's own, such as {@code multi}. Upper and lower case are the
     *     same.
     * @param amount How much, in the unit.
     * @return a new {@code MintTicketRequest}
     */
    public static MintTicketRequest of(String mintUrl, String unit, long amount) {
        return new MintTicketRequest(mintUrl, unit, amount, null, null);
    }

    /**
     * Returns a copy with another {@code description}.
     *
     * @param description For the mint's records. At most 639 bytes of UTF-8.
     * @return the copy
     */
    public MintTicketRequest withDescription(@Nullable String description) {
        return new MintTicketRequest(mintUrl, unit, amount, description, staticToken);
    }

    /**
     * Returns a copy with another {@code staticToken}.
     *
     * @param staticToken The token by which the mint knows who may mint (header {@code Clear-auth}), if it wants one.
     * @return the copy
     */
    public MintTicketRequest withStaticToken(@Nullable String staticToken) {
        return new MintTicketRequest(mintUrl, unit, amount, description, staticToken);
    }

    /** Leaves out what nobody may read in a log. */
    @Override
    public String toString() {
        return "MintTicketRequest[mintUrl=" + mintUrl
                + ", unit=" + unit
                + ", amount=" + amount
                + ", description=" + description
                + ", staticToken=…"
                + "]";
    }
}
