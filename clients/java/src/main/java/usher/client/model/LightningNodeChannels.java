// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

/**
 * How many channels there are.
 *
 * @param usable Those that can be used now.
 * @param unusable The others: not confirmed yet, or without a connection to the peer.
 * @param capacity What all channels hold on both sides.
 */
public record LightningNodeChannels(long usable, long unusable, long capacity) {}
