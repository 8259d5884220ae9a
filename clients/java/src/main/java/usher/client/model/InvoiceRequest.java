// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import java.util.List;

/**
 * Asks a user for an invoice.
 *
 * @param recipientKey Whose wallet makes the invoice: 64 hex characters.
 * @param subkeys Keys that may respond for it without a proof of delegation; usually none, at most 8.
 * @param content What the invoice is for.
 */
public record InvoiceRequest(String recipientKey, List<String> subkeys, InvoiceRequestContent content) {
    /**
     * Keeps unchangeable copies of lists.
     *
     * @param recipientKey Whose wallet makes the invoice: 64 hex characters.
     * @param subkeys Keys that may respond for it without a proof of delegation; usually none, at most 8.
     * @param content What the invoice is for.
     */
    public InvoiceRequest {
        subkeys = List.copyOf(subkeys);
    }

    /**
     * Creates it from what is required.
     *
     * @param recipientKey Whose wallet makes the invoice: 64 hex characters.
     * @param content What the invoice is for.
     * @return a new {@code InvoiceRequest}
     */
    public static InvoiceRequest of(String recipientKey, InvoiceRequestContent content) {
        return new InvoiceRequest(recipientKey, List.of(), content);
    }

    /**
     * Returns a copy with another {@code subkeys}.
     *
     * @param subkeys Keys that may respond for it without a proof of delegation; usually none, at most 8.
     * @return the copy
     */
    public InvoiceRequest withSubkeys(List<String> subkeys) {
        return new InvoiceRequest(recipientKey, subkeys, content);
    }
}
