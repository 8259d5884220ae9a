// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

/**
 * Decides about a payment that waits for an approval.
 *
 * @param decision {@code approve}: the payment begins. {@code decline}: it ends unpaid.
 */
public record ApprovalDecision(String decision) {
    /**
     * Creates it from what is required.
     *
     * @param decision {@code approve}: the payment begins. {@code decline}: it ends unpaid.
     * @return a new {@code ApprovalDecision}
     */
    public static ApprovalDecision of(String decision) {
        return new ApprovalDecision(decision);
    }
}
