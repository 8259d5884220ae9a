// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

/**
 * The Lightning backend.
 *
 * @param ready Whether it is ready.
 * @param backend Which one.
 */
public record ReadyWallet(boolean ready, String backend) {}
