// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Data of {@code StatusUpdate}: how an operation goes on, or ends without a result of its own.
 *
 * @param status What happened: on a login {@code approved}, {@code declined}, {@code timeout} or {@code error}; on a
 *     payment {@code approval_required}, {@code user_approved}, {@code user_failed}, {@code sending}, {@code paid},
 *     {@code user_rejected}, {@code timeout} or {@code error}; elsewhere {@code user_rejected}, {@code timeout} or
 *     {@code error}.
 * @param grantedPermissions The permissions that the wallet grants, in its own words; with {@code approved}.
 * @param mainKey On a login: the key that responded, itself or through a subkey; with {@code approved} and {@code
 *     declined}.
 * @param method What the user has proven the key with, or was asked with; with {@code user_approved} and {@code
 *     approved} on streams of {@code POST /login}, and always on those of reusable logins: {@code wallet}, {@code
 *     extension} (NIP-07), {@code signer} (NIP-46) or {@code passkey} (WebAuthn).
 * @param reason Why; in the user's words if the user refused.
 * @param sessionToken The session token of the wallet, possibly a JWT ({@code POST /jwt/verify}); with {@code
 *     approved}.
 * @param amount If requested in another currency than millisats, or at a payment link: the amount, in the currency's
 *     minor unit.
 * @param amountMillisats If requested in another currency than millisats, or at a payment link: what was asked for, in
 *     millisats. With {@code txid}: what the payee gets.
 * @param amountReceived With {@code skimmed_fee}: millisats that the service received.
 * @param comment On the stream of a payment link: what the payer wrote.
 * @param currency If requested in another currency than millisats, or at a payment link: the currency.
 * @param feesPaid With {@code paid} by the Lightning backend, and with {@code sending}: fees in millisats.
 * @param outcome With {@code error}, if the Lightning backend may have paid, or been paid: whether it is certain that
 *     nothing was paid.
 * @param paidLateUntil If {@code paid} may still follow, because money may still arrive: until when, in Unix seconds.
 * @param paymentId On the stream of a payment link: the payment, as {@code GET /payments} lists it.
 * @param preimage With {@code paid}: the proof, whose hash is the payment hash of the invoice; if the Lightning
 *     backend tells it.
 * @param rate If requested in another currency than millisats: at which rate.
 * @param requestId Your own reference.
 * @param skimmedFee With {@code paid}: millisats that a liquidity provider kept, for example for a channel that it
 *     opened. The user paid both.
 * @param subscriptionId The subscription that the payment is for.
 * @param txid With {@code sending} and {@code paid} on chain: the transaction's id.
 * @param token On a ticket request, with {@code error}: a token that the user has given away, that was not confirmed,
 *     and that may be worth something.
 */
public record StatusUpdateData(
        String status,
        @Nullable List<String> grantedPermissions,
        @Nullable String mainKey,
        @Nullable String method,
        @Nullable String reason,
        @Nullable String sessionToken,
        @Nullable Long amount,
        @Nullable Long amountMillisats,
        @Nullable Long amountReceived,
        @Nullable String comment,
        @Nullable String currency,
        @Nullable Long feesPaid,
        @Nullable String outcome,
        @Nullable Long paidLateUntil,
        @Nullable String paymentId,
        @Nullable String preimage,
        @Nullable AppliedRate rate,
        @Nullable String requestId,
        @Nullable Long skimmedFee,
        @Nullable String subscriptionId,
        @Nullable String txid,
        @Nullable String token) implements EventData {
    /**
     * Keeps unchangeable copies of lists.
     *
     * @param status What happened: on a login {@code approved}, {@code declined}, {@code timeout} or {@code error}; on
     *     a payment {@code approval_required}, {@code user_approved}, {@code user_failed}, {@code sending}, {@code
     *     paid}, {@code user_rejected}, {@code timeout} or {@code error}; elsewhere {@code user_rejected}, {@code
     *     timeout} or {@code error}.
     * @param grantedPermissions The permissions that the wallet grants, in its own words; with {@code approved}.
     * @param mainKey On a login: the key that responded, itself or through a subkey; with {@code approved} and {@code
     *     declined}.
     * @param method What the user has proven the key with, or was asked with; with {@code user_approved} and {@code
     *     approved} on streams of {@code POST /login}, and always on those of reusable logins: {@code wallet}, {@code
     *     extension} (NIP-07), {@code signer} (NIP-46) or {@code passkey} (WebAuthn).
     * @param reason Why; in the user's words if the user refused.
     * @param sessionToken The session token of the wallet, possibly a JWT ({@code POST /jwt/verify}); with {@code
     *     approved}.
     * @param amount If requested in another currency than millisats, or at a payment link: the amount, in the
     *     currency's minor unit.
     * @param amountMillisats If requested in another currency than millisats, or at a payment link: what was asked
     *     for, in millisats. With {@code txid}: what the payee gets.
     * @param amountReceived With {@code skimmed_fee}: millisats that the service received.
     * @param comment On the stream of a payment link: what the payer wrote.
     * @param currency If requested in another currency than millisats, or at a payment link: the currency.
     * @param feesPaid With {@code paid} by the Lightning backend, and with {@code sending}: fees in millisats.
     * @param outcome With {@code error}, if the Lightning backend may have paid, or been paid: whether it is certain
     *     that nothing was paid.
     * @param paidLateUntil If {@code paid} may still follow, because money may still arrive: until when, in Unix
     *     seconds.
     * @param paymentId On the stream of a payment link: the payment, as {@code GET /payments} lists it.
     * @param preimage With {@code paid}: the proof, whose hash is the payment hash of the invoice; if the Lightning
     *     backend tells it.
     * @param rate If requested in another currency than millisats: at which rate.
     * @param requestId Your own reference.
     * @param skimmedFee With {@code paid}: millisats that a liquidity provider kept, for example for a channel that it
     *     opened. The user paid both.
     * @param subscriptionId The subscription that the payment is for.
     * @param txid With {@code sending} and {@code paid} on chain: the transaction's id.
     * @param token On a ticket request, with {@code error}: a token that the user has given away, that was not
     *     confirmed, and that may be worth something.
     */
    public StatusUpdateData {
        grantedPermissions = grantedPermissions == null ? null : List.copyOf(grantedPermissions);
    }

    /** Leaves out what nobody may read in a log. */
    @Override
    public String toString() {
        return "StatusUpdateData[status=" + status
                + ", grantedPermissions=" + grantedPermissions
                + ", mainKey=" + mainKey
                + ", method=" + method
                + ", reason=" + reason
                + ", sessionToken=…"
                + ", amount=" + amount
                + ", amountMillisats=" + amountMillisats
                + ", amountReceived=" + amountReceived
                + ", comment=" + comment
                + ", currency=" + currency
                + ", feesPaid=" + feesPaid
                + ", outcome=" + outcome
                + ", paidLateUntil=" + paidLateUntil
                + ", paymentId=" + paymentId
                + ", preimage=…"
                + ", rate=" + rate
                + ", requestId=" + requestId
                + ", skimmedFee=" + skimmedFee
                + ", subscriptionId=" + subscriptionId
                + ", txid=" + txid
                + ", token=…"
                + "]";
    }
}
