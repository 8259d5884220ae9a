// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

/**
 * The exchange rate at which an amount was fixed.
 *
 * @param value The price of one bitcoin in the currency's major unit: a decimal number as text, so that nothing rounds
 *     it.
 * @param source Where it comes from.
 * @param at When it was read there, in Unix seconds; the oldest time of several.
 */
public record AppliedRate(String value, String source, long at) {}
