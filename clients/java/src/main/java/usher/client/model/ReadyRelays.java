// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

/**
 * The operator's relays.
 *
 * @param ready Whether it is ready.
 * @param connected How many are connected.
 * @param total How many relays there are.
 */
public record ReadyRelays(boolean ready, long connected, long total) {}
