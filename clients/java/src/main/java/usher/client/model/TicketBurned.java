// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

/**
 * A ticket that was redeemed.
 *
 * @param amount What the service received, in the token's unit: the token's value without the mint's fee.
 */
public record TicketBurned(long amount) {}
