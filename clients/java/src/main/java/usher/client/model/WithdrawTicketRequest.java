// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import org.jspecify.annotations.Nullable;

/**
 * Takes a token out of the service's own balance.
 *
 * @param mintUrl The mint: an {@code http} or {@code https} URL.
 * @param unit The unit.
 * @param amount What the token is worth, in the unit. The balance must also cover the mint's fee.
 * @param staticToken The token by which the mint knows who may use it (header {@code Clear-auth}), if it wants one.
 */
public record WithdrawTicketRequest(String mintUrl, String unit, long amount, @Nullable String staticToken) {
    /**
     * Creates it from what is required.
     *
     * @param mintUrl The mint: an {@code http} or {@code https} URL.
     * @param unit The unit.
     * @param amount What the token is worth, in the unit. The balance must also cover the mint's fee.
     * @return a new {@code WithdrawTicketRequest}
     */
    public static WithdrawTicketRequest of(String mintUrl, String unit, long amount) {
        return new WithdrawTicketRequest(mintUrl, unit, amount, null);
    }

    /**
     * Returns a copy with another {@code staticToken}.
     *
     * @param staticToken The token by which the mint knows who may use it (header {@code Clear-auth}), if it wants
     *     one.
     * @return the copy
     */
    public WithdrawTicketRequest withStaticToken(@Nullable String staticToken) {
        return new WithdrawTicketRequest(mintUrl, unit, amount, staticToken);
    }

    /** Leaves out what nobody may read in a log. */
    @Override
    public String toString() {
        return "WithdrawTicketRequest[mintUrl=" + mintUrl
                + ", unit=" + unit
                + ", amount=" + amount
                + ", staticToken=…"
                + "]";
    }
}
