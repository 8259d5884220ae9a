// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import org.jspecify.annotations.Nullable;

/**
 * The query of {@code GET /payments}.
 *
 * @param from Only those requested at this time or later, in Unix seconds.
 * @param to Only those requested before this time, in Unix seconds.
 * @param status Only those with this status: {@code open}, {@code paid}, {@code not_paid} or {@code unknown}.
 * @param after Continues after this entry: the {@code next} of the last response.
 * @param limit Most entries in the response. Default 100.
 */
public record ListPaymentsQuery(
        @Nullable Long from,
        @Nullable Long to,
        @Nullable String status,
        @Nullable String after,
        @Nullable Long limit) {
    /**
     * Creates it with nothing set.
     *
     * @return a new {@code ListPaymentsQuery}
     */
    public static ListPaymentsQuery of() {
        return new ListPaymentsQuery(null, null, null, null, null);
    }

    /**
     * Returns a copy with another {@code from}.
     *
     * @param from Only those requested at this time or later, in Unix seconds.
     * @return the copy
     */
    public ListPaymentsQuery withFrom(@Nullable Long from) {
        return new ListPaymentsQuery(from, to, status, after, limit);
    }

    /**
     * Returns a copy with another {@code to}.
     *
     * @param to Only those requested before this time, in Unix seconds.
     * @return the copy
     */
    public ListPaymentsQuery withTo(@Nullable Long to) {
        return new ListPaymentsQuery(from, to, status, after, limit);
    }

    /**
     * Returns a copy with another {@code status}.
     *
     * @param status Only those with this status: {@code open}, {@code paid}, {@code not_paid} or {@code unknown}.
     * @return the copy
     */
    public ListPaymentsQuery withStatus(@Nullable String status) {
        return new ListPaymentsQuery(from, to, status, after, limit);
    }

    /**
     * Returns a copy with another {@code after}.
     *
     * @param after Continues after this entry: the {@code next} of the last response.
     * @return the copy
     */
    public ListPaymentsQuery withAfter(@Nullable String after) {
        return new ListPaymentsQuery(from, to, status, after, limit);
    }

    /**
     * Returns a copy with another {@code limit}.
     *
     * @param limit Most entries in the response. Default 100.
     * @return the copy
     */
    public ListPaymentsQuery withLimit(@Nullable Long limit) {
        return new ListPaymentsQuery(from, to, status, after, limit);
    }
}
