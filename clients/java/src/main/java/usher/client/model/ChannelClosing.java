// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

/**
 * A channel that is being closed.
 *
 * @param status {@code closing}: its money is in the node's on-chain balance once the closing transaction is
 *     confirmed.
 */
public record ChannelClosing(String status) {}
