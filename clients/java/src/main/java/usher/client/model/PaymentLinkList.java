// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Payment links.
 *
 * @param links The links, oldest first.
 * @param next The {@code after} for the next page; {@code null} if this is the last one. A page may have fewer entries
 *     than {@code limit}, even none, and still have a {@code next}.
 */
public record PaymentLinkList(List<PaymentLink> links, @Nullable String next) {
    /**
     * Keeps unchangeable copies of lists.
     *
     * @param links The links, oldest first.
     * @param next The {@code after} for the next page; {@code null} if this is the last one. A page may have fewer
     *     entries than {@code limit}, even none, and still have a {@code next}.
     */
    public PaymentLinkList {
        links = List.copyOf(links);
    }
}
