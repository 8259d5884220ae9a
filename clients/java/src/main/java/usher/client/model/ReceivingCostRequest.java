// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

/**
 * A payment to receive.
 *
 * @param amount Millisats.
 */
public record ReceivingCostRequest(long amount) {
    /**
     * Creates it from what is required.
     *
     * @param amount Millisats.
     * @return a new {@code ReceivingCostRequest}
     */
    public static ReceivingCostRequest of(long amount) {
        return new ReceivingCostRequest(amount);
    }
}
