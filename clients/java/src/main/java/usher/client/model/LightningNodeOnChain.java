// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

/**
 * A balance on the chain.
 *
 * @param total All of it, unconfirmed transactions included.
 * @param spendable What the node can spend.
 * @param reserved What the node keeps for closing channels.
 */
public record LightningNodeOnChain(long total, long spendable, long reserved) {}
