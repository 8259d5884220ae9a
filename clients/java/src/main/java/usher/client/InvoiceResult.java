package usher.client;

import org.jspecify.annotations.Nullable;
import usher.client.model.InvoiceData;

/** How the request for an invoice ended. */
public sealed interface InvoiceResult {
    /**
     * The user's wallet has sent an invoice, which the service has verified.
     *
     * @param invoice the invoice: pay it with {@link Usher#payInvoice}
     */
    record Received(InvoiceData invoice) implements InvoiceResult {}

    /**
     * The user refused.
     *
     * @param reason why, in the user's words
     */
    record Rejected(@Nullable String reason) implements InvoiceResult {}
}
