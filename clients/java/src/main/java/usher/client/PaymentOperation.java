package usher.client;

import usher.client.model.PaymentStarted;

/** A payment requested from a user, with a page on which any Lightning wallet can pay. */
public final class PaymentOperation extends Operation<PaymentResult> {
    private final PaymentStarted started;

    PaymentOperation(Usher usher, PaymentStarted started) {
        super(usher, started.streamId(), OperationKind.PAYMENT);
        this.started = started;
    }

    /**
     * The payment page: redirect the user's browser there. Anybody who has it can pay.
     *
     * @return the URL
     */
    public String pageUrl() {
        return started.pageUrl();
    }
}
