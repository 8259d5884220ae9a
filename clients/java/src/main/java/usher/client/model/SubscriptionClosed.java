// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

/**
 * A closed subscription.
 *
 * @param subscriptionId See the type.
 * @param status {@code closed}.
 */
public record SubscriptionClosed(String subscriptionId, String status) {}
