// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

/**
 * A Bitcoin address of the node.
 *
 * @param address The address, on {@code wallet.network}.
 */
public record BitcoinAddress(String address) {}
