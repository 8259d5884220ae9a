// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

/**
 * A closed payment link.
 *
 * @param streamId Its stream.
 * @param status {@code closed}.
 */
public record PaymentLinkClosed(String streamId, String status) {}
