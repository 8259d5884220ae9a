package usher.client;

import org.jspecify.annotations.Nullable;

/** How a payment ended. Deliver on {@link Paid} and on nothing else. */
public sealed interface PaymentResult {
    /**
     * The money has arrived.
     *
     * @param preimage the proof, whose hash is the payment hash of the invoice; if the Lightning backend tells it
     * @param feesPaid fees in millisats, if the service's own Lightning backend has paid
     */
    record Paid(@Nullable String preimage, @Nullable Long feesPaid) implements PaymentResult {
        /** Leaves out the preimage. */
        @Override
        public String toString() {
            return "Paid[feesPaid=" + feesPaid + "]";
        }
    }

    /**
     * The user refused.
     *
     * @param reason why, in the user's words
     */
    record Rejected(@Nullable String reason) implements PaymentResult {}
}
