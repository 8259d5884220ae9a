package usher.client;

import org.jspecify.annotations.Nullable;

/** How the request for a ticket ended. */
public sealed interface TicketResult {
    /**
     * The user has given a ticket, which the mint has confirmed.
     *
     * @param amount its value in the unit; if it was redeemed, what was received
     * @param unit the unit
     * @param mintUrl the mint
     * @param token the token, which you redeem at once; null if the request was to redeem it
     */
    record Received(long amount, @Nullable String unit, @Nullable String mintUrl, @Nullable String token)
            implements TicketResult {
        /** Leaves out the token: whoever has it can spend it. */
        @Override
        public String toString() {
            return "Received[amount=" + amount + ", unit=" + unit + ", mintUrl=" + mintUrl + "]";
        }
    }

    /**
     * The user does not hold enough; for an age verification: the user has passed, but no proof could be issued.
     *
     * @param reason why
     */
    record InsufficientFunds(@Nullable String reason) implements TicketResult {}

    /**
     * The user refused; for an age verification: the user has not passed.
     *
     * @param reason why
     */
    record Rejected(@Nullable String reason) implements TicketResult {}
}
