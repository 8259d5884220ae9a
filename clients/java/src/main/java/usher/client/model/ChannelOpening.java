// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

/**
 * A channel that was requested.
 *
 * @param peer The peer's public key.
 * @param status {@code opening} until the funding transaction is confirmed, then {@code open}; {@code closed} if it
 *     was closed again, or the peer refused it.
 */
public record ChannelOpening(String peer, String status) {}
