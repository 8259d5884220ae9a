// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

/**
 * What is on its way.
 *
 * @param payments How many payments by the service are under way.
 * @param closing Millisats on their way from closed channels to the chain.
 * @param sending Millisats, fees included, that are sent on chain by transactions in no block yet: no part of the
 *     balance any more.
 */
public record LightningNodePending(long payments, long closing, long sending) {}
