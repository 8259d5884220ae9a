// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

/**
 * A relay that was removed.
 *
 * @param relay Its address, normalised.
 * @param status {@code removed}.
 */
public record RelayRemoved(String relay, String status) {}
