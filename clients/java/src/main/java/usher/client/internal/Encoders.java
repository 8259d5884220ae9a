// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.internal;

import java.util.Map;
import usher.client.model.*;

/** Writes requests as JSON. */
public final class Encoders {
    private Encoders() {}

    public static Map<String, Object> approvalDecision(ApprovalDecision value) {
        Members members = new Members();
        members.put("decision", value.decision());
        return members.map();
    }

    public static Map<String, Object> authenticateKeyRequest(AuthenticateKeyRequest value) {
        Members members = new Members();
        members.put("main_key", value.mainKey());
        members.put("subkeys", value.subkeys());
        return members.map();
    }

    public static Map<String, Object> burnTicketRequest(BurnTicketRequest value) {
        Members members = new Members();
        members.put("mint_url", value.mintUrl());
        members.put("unit", value.unit());
        members.put("token", value.token());
        members.put("static_token", value.staticToken());
        return members.map();
    }

    public static Map<String, Object> calendarNextOccurrenceRequest(CalendarNextOccurrenceRequest value) {
        Members members = new Members();
        members.put("calendar", value.calendar());
        members.put("from", value.from());
        return members.map();
    }

    public static Map<String, Object> closeChannelRequest(CloseChannelRequest value) {
        Members members = new Members();
        members.put("force", value.force());
        return members.map();
    }

    public static Map<String, Object> closeSubscriptionRequest(CloseSubscriptionRequest value) {
        Members members = new Members();
        members.put("main_key", value.mainKey());
        members.put("subkeys", value.subkeys());
        members.put("subscription_id", value.subscriptionId());
        return members.map();
    }

    public static Map<String, Object> createAddressRequest(CreateAddressRequest value) {
        Members members = new Members();
        return members.map();
    }

    public static Map<String, Object> invoiceRequest(InvoiceRequest value) {
        Members members = new Members();
        members.put("recipient_key", value.recipientKey());
        members.put("subkeys", value.subkeys());
        members.put("content", invoiceRequestContent(value.content()));
        return members.map();
    }

    public static Map<String, Object> invoiceRequestContent(InvoiceRequestContent value) {
        Members members = new Members();
        members.put("amount", value.amount());
        members.put("currency", value.currency());
        members.put("description", value.description());
        members.put("expires_at", value.expiresAt());
        members.put("request_id", value.requestId());
        return members.map();
    }

    public static Map<String, Object> jwtIssueRequest(JwtIssueRequest value) {
        Members members = new Members();
        members.put("target_key", value.targetKey());
        members.put("duration_hours", value.durationHours());
        return members.map();
    }

    public static Map<String, Object> jwtVerifyRequest(JwtVerifyRequest value) {
        Members members = new Members();
        members.put("public_key", value.publicKey());
        members.put("token", value.token());
        return members.map();
    }

    public static Map<String, Object> keyHandshakeRequest(KeyHandshakeRequest value) {
        Members members = new Members();
        members.put("no_request", value.noRequest());
        members.put("return_url", value.returnUrl());
        members.put("static_token", value.staticToken());
        return members.map();
    }

    public static Map<String, Object> keyRotation(KeyRotation value) {
        Members members = new Members();
        members.put("overlap_seconds", value.overlapSeconds());
        return members.map();
    }

    public static Map<String, Object> loginRequest(LoginRequest value) {
        Members members = new Members();
        members.put("return_url", value.returnUrl());
        members.put("static_token", value.staticToken());
        return members.map();
    }

    public static Map<String, Object> mintTicketRequest(MintTicketRequest value) {
        Members members = new Members();
        members.put("mint_url", value.mintUrl());
        members.put("unit", value.unit());
        members.put("amount", value.amount());
        members.put("description", value.description());
        members.put("static_token", value.staticToken());
        return members.map();
    }

    public static Map<String, Object> newKeyRequest(NewKeyRequest value) {
        Members members = new Members();
        members.put("name", value.name());
        members.put("scopes", value.scopes());
        members.put("daily_budget_millisats", value.dailyBudgetMillisats());
        members.put("expires_at", value.expiresAt());
        members.put("networks", value.networks());
        members.put("own_streams_only", value.ownStreamsOnly());
        members.put("requests_per_second", value.requestsPerSecond());
        return members.map();
    }

    public static Map<String, Object> openChannelRequest(OpenChannelRequest value) {
        Members members = new Members();
        members.put("amount", value.amount());
        members.put("peer", value.peer());
        return members.map();
    }

    public static Map<String, Object> payInvoiceRequest(PayInvoiceRequest value) {
        Members members = new Members();
        members.put("invoice", value.invoice());
        members.put("amount", value.amount());
        members.put("currency", value.currency());
        members.put("description", value.description());
        members.put("expires_at", value.expiresAt());
        members.put("main_key", value.mainKey());
        members.put("request_id", value.requestId());
        members.put("subkeys", value.subkeys());
        return members.map();
    }

    public static Map<String, Object> paymentLinkRequest(PaymentLinkRequest value) {
        Members members = new Members();
        members.put("description", value.description());
        members.put("amount", value.amount());
        members.put("currency", value.currency());
        members.put("expires_at", value.expiresAt());
        members.put("max", value.max());
        members.put("max_payments", value.maxPayments());
        members.put("min", value.min());
        members.put("request_id", value.requestId());
        members.put("return_url", value.returnUrl());
        return members.map();
    }

    public static Map<String, Object> profileRequest(ProfileRequest value) {
        Members members = new Members();
        members.put("about", value.about());
        members.put("display_name", value.displayName());
        members.put("name", value.name());
        members.put("nip05", value.nip05());
        members.put("picture", value.picture());
        return members.map();
    }

    public static Map<String, Object> receivingCostRequest(ReceivingCostRequest value) {
        Members members = new Members();
        members.put("amount", value.amount());
        return members.map();
    }

    public static Map<String, Object> reclaimTicketRequest(ReclaimTicketRequest value) {
        Members members = new Members();
        members.put("static_token", value.staticToken());
        return members.map();
    }

    public static Map<String, Object> recurrence(Recurrence value) {
        Members members = new Members();
        members.put("calendar", value.calendar());
        members.put("first_payment_due", value.firstPaymentDue());
        members.put("max_payments", value.maxPayments());
        members.put("until", value.until());
        return members.map();
    }

    public static Map<String, Object> recurringPaymentRequest(RecurringPaymentRequest value) {
        Members members = new Members();
        members.put("main_key", value.mainKey());
        members.put("subkeys", value.subkeys());
        members.put("description", value.description());
        members.put("amount", value.amount());
        members.put("currency", value.currency());
        members.put("recurrence", recurrence(value.recurrence()));
        members.put("expires_at", value.expiresAt());
        members.put("auto_charge", value.autoCharge());
        members.put("max_amount_millisats", value.maxAmountMillisats());
        members.put("minimum_amount", value.minimumAmount());
        members.put("request_id", value.requestId());
        return members.map();
    }

    public static Map<String, Object> redeemLoginRequest(RedeemLoginRequest value) {
        Members members = new Members();
        members.put("code", value.code());
        return members.map();
    }

    public static Map<String, Object> refundRequest(RefundRequest value) {
        Members members = new Members();
        members.put("amount", value.amount());
        members.put("expires_at", value.expiresAt());
        members.put("request_id", value.requestId());
        return members.map();
    }

    public static Map<String, Object> relayRequest(RelayRequest value) {
        Members members = new Members();
        members.put("relay", value.relay());
        return members.map();
    }

    public static Map<String, Object> revokeOidcConsentRequest(RevokeOidcConsentRequest value) {
        Members members = new Members();
        members.put("client_id", value.clientId());
        members.put("main_key", value.mainKey());
        return members.map();
    }

    public static Map<String, Object> rotateOidcKeysRequest(RotateOidcKeysRequest value) {
        Members members = new Members();
        return members.map();
    }

    public static Map<String, Object> sendOnChainRequest(SendOnChainRequest value) {
        Members members = new Members();
        members.put("address", value.address());
        members.put("amount", value.amount());
        members.put("fee_rate", value.feeRate());
        members.put("request_id", value.requestId());
        return members.map();
    }

    public static Map<String, Object> sendTicketRequest(SendTicketRequest value) {
        Members members = new Members();
        members.put("main_key", value.mainKey());
        members.put("subkeys", value.subkeys());
        members.put("token", value.token());
        members.put("request_id", value.requestId());
        return members.map();
    }

    public static Map<String, Object> singlePaymentRequest(SinglePaymentRequest value) {
        Members members = new Members();
        members.put("description", value.description());
        members.put("amount", value.amount());
        members.put("currency", value.currency());
        members.put("expires_at", value.expiresAt());
        members.put("main_key", value.mainKey());
        members.put("request_id", value.requestId());
        members.put("return_url", value.returnUrl());
        members.put("subkeys", value.subkeys());
        members.put("subscription_id", value.subscriptionId());
        return members.map();
    }

    public static Map<String, Object> ticketRequest(TicketRequest value) {
        Members members = new Members();
        members.put("main_key", value.mainKey());
        members.put("subkeys", value.subkeys());
        members.put("mint_url", value.mintUrl());
        members.put("unit", value.unit());
        members.put("amount", value.amount());
        members.put("expires_at", value.expiresAt());
        members.put("redeem", value.redeem());
        members.put("request_id", value.requestId());
        members.put("static_token", value.staticToken());
        return members.map();
    }

    public static Map<String, Object> verificationDecision(VerificationDecision value) {
        Members members = new Members();
        members.put("decision", value.decision());
        members.put("reason", value.reason());
        return members.map();
    }

    public static Map<String, Object> verificationSessionRequest(VerificationSessionRequest value) {
        Members members = new Members();
        members.put("return_url", value.returnUrl());
        return members.map();
    }

    public static Map<String, Object> verificationTokenRequest(VerificationTokenRequest value) {
        Members members = new Members();
        members.put("recipient_key", value.recipientKey());
        members.put("subkeys", value.subkeys());
        members.put("mint_url", value.mintUrl());
        return members.map();
    }

    public static Map<String, Object> withdrawTicketRequest(WithdrawTicketRequest value) {
        Members members = new Members();
        members.put("mint_url", value.mintUrl());
        members.put("unit", value.unit());
        members.put("amount", value.amount());
        members.put("static_token", value.staticToken());
        return members.map();
    }

    public static Map<String, Object> listKeyHandshakesQuery(ListKeyHandshakesQuery value) {
        Members members = new Members();
        members.put("after", value.after());
        members.put("limit", value.limit());
        return members.map();
    }

    public static Map<String, Object> eraseUserQuery(EraseUserQuery value) {
        Members members = new Members();
        members.put("after", value.after());
        return members.map();
    }

    public static Map<String, Object> listPaymentsQuery(ListPaymentsQuery value) {
        Members members = new Members();
        members.put("from", value.from());
        members.put("to", value.to());
        members.put("status", value.status());
        members.put("after", value.after());
        members.put("limit", value.limit());
        return members.map();
    }

    public static Map<String, Object> listPaymentLinksQuery(ListPaymentLinksQuery value) {
        Members members = new Members();
        members.put("after", value.after());
        members.put("limit", value.limit());
        return members.map();
    }

    public static Map<String, Object> listApprovalsQuery(ListApprovalsQuery value) {
        Members members = new Members();
        members.put("after", value.after());
        members.put("limit", value.limit());
        return members.map();
    }

    public static Map<String, Object> listSubscriptionsQuery(ListSubscriptionsQuery value) {
        Members members = new Members();
        members.put("state", value.state());
        members.put("main_key", value.mainKey());
        members.put("after", value.after());
        members.put("limit", value.limit());
        return members.map();
    }

    public static Map<String, Object> listOutgoingTicketsQuery(ListOutgoingTicketsQuery value) {
        Members members = new Members();
        members.put("after", value.after());
        members.put("limit", value.limit());
        return members.map();
    }

    public static Map<String, Object> readEventsQuery(ReadEventsQuery value) {
        Members members = new Members();
        members.put("after", value.after());
        members.put("limit", value.limit());
        members.put("wait", value.waitSeconds());
        return members.map();
    }

    public static Map<String, Object> listWebhookDeliveriesQuery(ListWebhookDeliveriesQuery value) {
        Members members = new Members();
        members.put("status", value.status());
        members.put("after", value.after());
        members.put("limit", value.limit());
        return members.map();
    }

    public static Map<String, Object> listAuditEntriesQuery(ListAuditEntriesQuery value) {
        Members members = new Members();
        members.put("after", value.after());
        members.put("limit", value.limit());
        return members.map();
    }

    public static Map<String, Object> listOidcConsentsQuery(ListOidcConsentsQuery value) {
        Members members = new Members();
        members.put("after", value.after());
        members.put("limit", value.limit());
        return members.map();
    }

    public static Map<String, Object> getNostrJsonQuery(GetNostrJsonQuery value) {
        Members members = new Members();
        members.put("name", value.name());
        return members.map();
    }
}
