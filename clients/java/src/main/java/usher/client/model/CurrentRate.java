// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

/**
 * The price of one bitcoin.
 *
 * @param currency The code of the currency (ISO 4217).
 * @param value The price of one bitcoin in the currency's major unit: a decimal number as text, so that nothing rounds
 *     it.
 * @param source Where it comes from.
 * @param at When it was read there, in Unix seconds; the oldest time of several.
 */
public record CurrentRate(String currency, String value, String source, long at) {}
