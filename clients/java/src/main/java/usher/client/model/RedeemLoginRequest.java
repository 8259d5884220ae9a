// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

/**
 * Redeems the code of a login.
 *
 * @param code {@code code} in the query with which the login page has led the user's browser to your {@code
 *     return_url}. Any text may be sent; one that is not the code of this login is a 409.
 */
public record RedeemLoginRequest(String code) {
    /**
     * Creates it from what is required.
     *
     * @param code {@code code} in the query with which the login page has led the user's browser to your {@code
     *     return_url}. Any text may be sent; one that is not the code of this login is a 409.
     * @return a new {@code RedeemLoginRequest}
     */
    public static RedeemLoginRequest of(String code) {
        return new RedeemLoginRequest(code);
    }

    /** Leaves out what nobody may read in a log. */
    @Override
    public String toString() {
        return "RedeemLoginRequest[code=…"
                + "]";
    }
}
