// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import org.jspecify.annotations.Nullable;

/**
 * Creates a payment link: either with {@code amount}, or with {@code min} and {@code max}.
 *
 * @param description What the payments are for; payers and their wallets show it. At most 639 bytes of UTF-8 (BOLT
 *     11).
 * @param amount What each payer pays, in millisats or in the minor unit of {@code currency}, such as cents.
 * @param currency {@code millisats} (default), or the code of a currency (ISO 4217) that {@code rates.currencies}
 *     lists; in either case. What a payment comes to in millisats is fixed when its payer asks for the invoice, and
 *     rounded up to a whole sat.
 * @param expiresAt Unix seconds from which no more invoices are given out. By default, the link is open until it is
 *     closed.
 * @param max The most that a payer may choose, as {@code amount} counts; with {@code min}. A payment may come to at
 *     most {@code limits.max_amount_millisats}.
 * @param maxPayments After how many payments no more invoices are given out.
 * @param min The least that a payer may choose, as {@code amount} counts; with {@code max}.
 * @param requestId Your own reference, repeated in the events.
 * @param returnUrl Where the page of a payment leads the payer's browser at the end, with the link's {@code stream_id}
 *     and the payment's {@code payment_id} in the query. It must be under one of {@code pages.return_urls}.
 */
public record PaymentLinkRequest(
        String description,
        @Nullable Long amount,
        @Nullable String currency,
        @Nullable Long expiresAt,
        @Nullable Long max,
        @Nullable Long maxPayments,
        @Nullable Long min,
        @Nullable String requestId,
        @Nullable String returnUrl) {
    /**
     * Creates it from what is required.
     *
     * @param description What the payments are for; payers and their wallets show it. At most 639 bytes of UTF-8 (BOLT
     *     11).
     * @return a new {@code PaymentLinkRequest}
     */
    public static PaymentLinkRequest of(String description) {
        return new PaymentLinkRequest(description, null, null, null, null, null, null, null, null);
    }

    /**
     * Returns a copy with another {@code amount}.
     *
     * @param amount What each payer pays, in millisats or in the minor unit of {@code currency}, such as cents.
     * @return the copy
     */
    public PaymentLinkRequest withAmount(@Nullable Long amount) {
        return new PaymentLinkRequest(description, amount, currency, expiresAt, max, maxPayments, min, requestId,
                returnUrl);
    }

    /**
     * Returns a copy with another {@code currency}.
     *
     * @param currency {@code millisats} (default), or the code of a currency (ISO 4217) that {@code rates.currencies}
     *     lists; in either case. What a payment comes to in millisats is fixed when its payer asks for the invoice,
     *     and rounded up to a whole sat.
     * @return the copy
     */
    public PaymentLinkRequest withCurrency(@Nullable String currency) {
        return new PaymentLinkRequest(description, amount, currency, expiresAt, max, maxPayments, min, requestId,
                returnUrl);
    }

    /**
     * Returns a copy with another {@code expiresAt}.
     *
     * @param expiresAt Unix seconds from which no more invoices are given out. By default, the link is open until it
     *     is closed.
     * @return the copy
     */
    public PaymentLinkRequest withExpiresAt(@Nullable Long expiresAt) {
        return new PaymentLinkRequest(description, amount, currency, expiresAt, max, maxPayments, min, requestId,
                returnUrl);
    }

    /**
     * Returns a copy with another {@code max}.
     *
     * @param max The most that a payer may choose, as {@code amount} counts; with {@code min}. A payment may come to
     *     at most {@code limits.max_amount_millisats}.
     * @return the copy
     */
    public PaymentLinkRequest withMax(@Nullable Long max) {
        return new PaymentLinkRequest(description, amount, currency, expiresAt, max, maxPayments, min, requestId,
                returnUrl);
    }

    /**
     * Returns a copy with another {@code maxPayments}.
     *
     * @param maxPayments After how many payments no more invoices are given out.
     * @return the copy
     */
    public PaymentLinkRequest withMaxPayments(@Nullable Long maxPayments) {
        return new PaymentLinkRequest(description, amount, currency, expiresAt, max, maxPayments, min, requestId,
                returnUrl);
    }

    /**
     * Returns a copy with another {@code min}.
     *
     * @param min The least that a payer may choose, as {@code amount} counts; with {@code max}.
     * @return the copy
     */
    public PaymentLinkRequest withMin(@Nullable Long min) {
        return new PaymentLinkRequest(description, amount, currency, expiresAt, max, maxPayments, min, requestId,
                returnUrl);
    }

    /**
     * Returns a copy with another {@code requestId}.
     *
     * @param requestId Your own reference, repeated in the events.
     * @return the copy
     */
    public PaymentLinkRequest withRequestId(@Nullable String requestId) {
        return new PaymentLinkRequest(description, amount, currency, expiresAt, max, maxPayments, min, requestId,
                returnUrl);
    }

    /**
     * Returns a copy with another {@code returnUrl}.
     *
     * @param returnUrl Where the page of a payment leads the payer's browser at the end, with the link's {@code
     *     stream_id} and the payment's {@code payment_id} in the query. It must be under one of {@code
     *     pages.return_urls}.
     * @return the copy
     */
    public PaymentLinkRequest withReturnUrl(@Nullable String returnUrl) {
        return new PaymentLinkRequest(description, amount, currency, expiresAt, max, maxPayments, min, requestId,
                returnUrl);
    }
}
