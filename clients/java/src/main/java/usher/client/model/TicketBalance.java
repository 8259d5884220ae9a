// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

/**
 * What the service's own ticket wallet holds of one mint and unit.
 *
 * @param mintUrl The mint.
 * @param unit The unit.
 * @param amount How much can be spent, in the unit.
 */
public record TicketBalance(String mintUrl, String unit, long amount) {}
