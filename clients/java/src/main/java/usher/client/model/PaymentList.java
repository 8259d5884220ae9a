// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Payments.
 *
 * @param payments The payments, in the order in which they were requested.
 * @param next The {@code after} for the next page; {@code null} if this is the last one.
 */
public record PaymentList(List<BookedPayment> payments, @Nullable String next) {
    /**
     * Keeps unchangeable copies of lists.
     *
     * @param payments The payments, in the order in which they were requested.
     * @param next The {@code after} for the next page; {@code null} if this is the last one.
     */
    public PaymentList {
        payments = List.copyOf(payments);
    }
}
