// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Payments that wait for an approval.
 *
 * @param approvals The payments, in the order in which they were requested.
 * @param next The {@code after} for the next page; {@code null} if this is the last one.
 */
public record ApprovalList(List<Approval> approvals, @Nullable String next) {
    /**
     * Keeps unchangeable copies of lists.
     *
     * @param approvals The payments, in the order in which they were requested.
     * @param next The {@code after} for the next page; {@code null} if this is the last one.
     */
    public ApprovalList {
        approvals = List.copyOf(approvals);
    }
}
