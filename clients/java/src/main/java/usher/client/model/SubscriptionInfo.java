// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import org.jspecify.annotations.Nullable;

/**
 * A subscription.
 *
 * @param subscriptionId Its id, chosen by the user's wallet.
 * @param mainKey Who pays.
 * @param state {@code active}, {@code closed_by_user}, {@code closed_by_provider}, {@code completed} (all agreed
 *     payments were made) or {@code ended} (no further payment is due).
 * @param description What it is for.
 * @param amount Of each payment, as you requested: millisats, or the minor unit of {@code currency}.
 * @param currency {@code millisats}, or the code of a currency (ISO 4217).
 * @param authorizedAmount The most of each payment in millisats, as the user authorized: requests for more are
 *     refused.
 * @param authorizedRecurrence See the type.
 * @param autoCharge Whether the service asks for each due payment.
 * @param paymentsMade How many payments were made.
 * @param createdAt When the user agreed, in Unix seconds.
 * @param endedAt When it ended, in Unix seconds.
 * @param nextPaymentDue With {@code auto_charge}: the due date that is charged next or now, in Unix seconds.
 * @param reason Why it was closed, in the words of the user's wallet.
 * @param requestId Your own reference.
 */
public record SubscriptionInfo(
        String subscriptionId,
        String mainKey,
        String state,
        String description,
        long amount,
        String currency,
        long authorizedAmount,
        AuthorizedRecurrence authorizedRecurrence,
        boolean autoCharge,
        long paymentsMade,
        long createdAt,
        @Nullable Long endedAt,
        @Nullable Long nextPaymentDue,
        @Nullable String reason,
        @Nullable String requestId) {}
