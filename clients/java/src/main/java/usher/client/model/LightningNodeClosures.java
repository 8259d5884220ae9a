// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

/**
 * How many channels were closed.
 *
 * @param cooperative With the peer's agreement.
 * @param forced By one side alone.
 * @param afterKill Of those: because the service was killed between two writes.
 */
public record LightningNodeClosures(long cooperative, long forced, long afterKill) {}
