// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import org.jspecify.annotations.Nullable;

/**
 * Data of {@code CashuResponse}: the result of a ticket request, of a verification or of a ticket that was sent.
 *
 * @param status {@code success} is reported only for a token that the mint has confirmed, or, for a ticket that was
 *     sent, when the mint says that it is spent.
 * @param amount With {@code success} of a request: what you get in {@code unit}, after the mint's fees: with {@code
 *     redeem} you have it, without it {@code POST /cashu/burn} gives it. With {@code success} of a verification: what
 *     the proof contains.
 * @param mintUrl The mint.
 * @param passed Of a verification session: whether the user has passed, also when no proof could be issued.
 * @param reason The reason; in the user's words with {@code rejected}.
 * @param requestId Your own reference.
 * @param token With {@code success} of a request without {@code redeem}, and of a verification: the token (NUT-00).
 *     Anybody who has it can spend it: redeem it at once.
 * @param unit The unit.
 */
public record CashuResponseData(
        String status,
        @Nullable Long amount,
        @Nullable String mintUrl,
        @Nullable Boolean passed,
        @Nullable String reason,
        @Nullable String requestId,
        @Nullable String token,
        @Nullable String unit) implements EventData {
    /** Leaves out what nobody may read in a log. */
    @Override
    public String toString() {
        return "CashuResponseData[status=" + status
                + ", amount=" + amount
                + ", mintUrl=" + mintUrl
                + ", passed=" + passed
                + ", reason=" + reason
                + ", requestId=" + requestId
                + ", token=…"
                + ", unit=" + unit
                + "]";
    }
}
