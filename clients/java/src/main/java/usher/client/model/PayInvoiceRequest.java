// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Has an invoice paid.
 *
 * @param invoice A BOLT 11 invoice with an amount that has not expired, was not paid before, and is for {@code
 *     wallet.network}; also as wallets copy it: {@code lightning:…}, {@code bitcoin:…?lightning=…}, in upper case,
 *     with line breaks.
 * @param amount Millisats; must be the amount of the invoice.
 * @param currency {@code millisats}, in either case.
 * @param description What the payment is for, as the user sees it; by default the description in the invoice. At most
 *     639 bytes of UTF-8.
 * @param expiresAt Unix seconds until which the user can pay, or until which the Lightning backend is asked to: at
 *     most 24 hours ahead, by default five minutes, and never later than the expiry of the invoice.
 * @param mainKey The user who is asked to pay: 64 hex characters. Without it, the service's Lightning backend pays.
 * @param requestId Your own reference, repeated in the events.
 * @param subkeys Keys that may respond for {@code main_key} without a proof of delegation; at most 8.
 */
public record PayInvoiceRequest(
        String invoice,
        @Nullable Long amount,
        @Nullable String currency,
        @Nullable String description,
        @Nullable Long expiresAt,
        @Nullable String mainKey,
        @Nullable String requestId,
        @Nullable List<String> subkeys) {
    /**
     * Keeps unchangeable copies of lists.
     *
     * @param invoice A BOLT 11 invoice with an amount that has not expired, was not paid before, and is for {@code
     *     wallet.network}; also as wallets copy it: {@code lightning:…}, {@code bitcoin:…?lightning=…}, in upper case,
     *     with line breaks.
     * @param amount Millisats; must be the amount of the invoice.
     * @param currency {@code millisats}, in either case.
     * @param description What the payment is for, as the user sees it; by default the description in the invoice. At
     *     most 639 bytes of UTF-8.
     * @param expiresAt Unix seconds until which the user can pay, or until which the Lightning backend is asked to: at
     *     most 24 hours ahead, by default five minutes, and never later than the expiry of the invoice.
     * @param mainKey The user who is asked to pay: 64 hex characters. Without it, the service's Lightning backend
     *     pays.
     * @param requestId Your own reference, repeated in the events.
     * @param subkeys Keys that may respond for {@code main_key} without a proof of delegation; at most 8.
     */
    public PayInvoiceRequest {
        subkeys = subkeys == null ? null : List.copyOf(subkeys);
    }

    /**
     * Creates it from what is required.
     *
     * @param invoice A BOLT 11 invoice with an amount that has not expired, was not paid before, and is for {@code
     *     wallet.network}; also as wallets copy it: {@code lightning:…}, {@code bitcoin:…?lightning=…}, in upper case,
     *     with line breaks.
     * @return a new {@code PayInvoiceRequest}
     */
    public static PayInvoiceRequest of(String invoice) {
        return new PayInvoiceRequest(invoice, null, null, null, null, null, null, null);
    }

    /**
     * Returns a copy with another {@code amount}.
     *
     * @param amount Millisats; must be the amount of the invoice.
     * @return the copy
     */
    public PayInvoiceRequest withAmount(@Nullable Long amount) {
        return new PayInvoiceRequest(invoice, amount, currency, description, expiresAt, mainKey, requestId, subkeys);
    }

    /**
     * Returns a copy with another {@code description}.
     *
     * @param description What the payment is for, as the user sees it; by default the description in the invoice. At
     *     most 639 bytes of UTF-8.
     * @return the copy
     */
    public PayInvoiceRequest withDescription(@Nullable String description) {
        return new PayInvoiceRequest(invoice, amount, currency, description, expiresAt, mainKey, requestId, subkeys);
    }

    /**
     * Returns a copy with another {@code expiresAt}.
     *
     * @param expiresAt Unix seconds until which the user can pay, or until which the Lightning backend is asked to: at
     *     most 24 hours ahead, by default five minutes, and never later than the expiry of the invoice.
     * @return the copy
     */
    public PayInvoiceRequest withExpiresAt(@Nullable Long expiresAt) {
        return new PayInvoiceRequest(invoice, amount, currency, description, expiresAt, mainKey, requestId, subkeys);
    }

    /**
     * Returns a copy with another {@code mainKey}.
     *
     * @param mainKey The user who is asked to pay: 64 hex characters. Without it, the service's Lightning backend
     *     pays.
     * @return the copy
     */
    public PayInvoiceRequest withMainKey(@Nullable String mainKey) {
        return new PayInvoiceRequest(invoice, amount, currency, description, expiresAt, mainKey, requestId, subkeys);
    }

    /**
     * Returns a copy with another {@code requestId}.
     *
     * @param requestId Your own reference, repeated in the events.
     * @return the copy
     */
    public PayInvoiceRequest withRequestId(@Nullable String requestId) {
        return new PayInvoiceRequest(invoice, amount, currency, description, expiresAt, mainKey, requestId, subkeys);
    }

    /**
     * Returns a copy with another {@code subkeys}.
     *
     * @param subkeys Keys that may respond for {@code main_key} without a proof of delegation; at most 8.
     * @return the copy
     */
    public PayInvoiceRequest withSubkeys(@Nullable List<String> subkeys) {
        return new PayInvoiceRequest(invoice, amount, currency, description, expiresAt, mainKey, requestId, subkeys);
    }
}
