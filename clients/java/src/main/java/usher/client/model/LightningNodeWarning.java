// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

/**
 * What the operator should know.
 *
 * @param code For programs: {@code not_running}, {@code not_synced}, {@code provider_away}, {@code cannot_receive},
 *     {@code low_inbound}, {@code forced_closure} or {@code cannot_close}. Later versions may add codes.
 * @param text For people.
 */
public record LightningNodeWarning(String code, String text) {}
