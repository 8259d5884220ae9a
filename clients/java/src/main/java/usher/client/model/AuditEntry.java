// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import java.util.Map;

/**
 * An entry of the audit log.
 *
 * @param sequence Its number, from 1 without gaps.
 * @param at When, in Unix seconds.
 * @param actor Who: {@code token}, or the id of a key.
 * @param address The address of the connection; empty if unknown.
 * @param action What was done: an {@code operationId} of this document.
 * @param details On what: {@code stream_id}, {@code amount_millisats}, and others, as text.
 * @param outcome What came of it: {@code ok}, {@code begun} (the entry with what came of it follows), or the {@code
 *     code} of an error.
 * @param requestId The {@code X-Request-Id} of the request.
 * @param hash The hash that chains it to the entries before it, in hex.
 */
public record AuditEntry(
        long sequence,
        long at,
        String actor,
        String address,
        String action,
        Map<String, String> details,
        String outcome,
        String requestId,
        String hash) {
    /**
     * Keeps unchangeable copies of lists.
     *
     * @param sequence Its number, from 1 without gaps.
     * @param at When, in Unix seconds.
     * @param actor Who: {@code token}, or the id of a key.
     * @param address The address of the connection; empty if unknown.
     * @param action What was done: an {@code operationId} of this document.
     * @param details On what: {@code stream_id}, {@code amount_millisats}, and others, as text.
     * @param outcome What came of it: {@code ok}, {@code begun} (the entry with what came of it follows), or the
     *     {@code code} of an error.
     * @param requestId The {@code X-Request-Id} of the request.
     * @param hash The hash that chains it to the entries before it, in hex.
     */
    public AuditEntry {
        details = Map.copyOf(details);
    }
}
