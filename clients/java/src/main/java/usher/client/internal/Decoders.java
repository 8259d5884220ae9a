// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.internal;

import usher.client.model.*;

/** Reads records from JSON. */
public final class Decoders {
    private Decoders() {}

    public static ApiKey apiKey(JsonObject json) {
        return new ApiKey(
                json.string("id"),
                json.string("name"),
                json.strings("scopes"),
                json.integer("created_at"),
                json.flag("expired"),
                json.strings("networks"),
                json.flag("own_streams_only"),
                json.optionalInteger("daily_budget_millisats"),
                json.optionalInteger("expires_at"),
                json.optionalInteger("last_used_at"),
                json.optionalObject("previous", Decoders::previousSecret),
                json.optionalInteger("requests_per_second"));
    }

    public static ApiKeyList apiKeyList(JsonObject json) {
        return new ApiKeyList(
                json.list("keys", Decoders::apiKey),
                json.list("configured", Decoders::configuredSecret));
    }

    public static ApiKeyRevoked apiKeyRevoked(JsonObject json) {
        return new ApiKeyRevoked(
                json.string("id"),
                json.string("status"));
    }

    public static ApiKeyWithSecret apiKeyWithSecret(JsonObject json) {
        return new ApiKeyWithSecret(
                json.object("key", Decoders::apiKey),
                json.optionalString("secret"));
    }

    public static AppliedRate appliedRate(JsonObject json) {
        return new AppliedRate(
                json.string("value"),
                json.string("source"),
                json.integer("at"));
    }

    public static Approval approval(JsonObject json) {
        return new Approval(
                json.string("stream_id"),
                json.string("kind"),
                json.integer("amount_millisats"),
                json.integer("max_fee_millisats"),
                json.string("requested_by"),
                json.integer("requested_at"),
                json.integer("expires_at"),
                json.optionalString("address"),
                json.optionalString("description"),
                json.optionalString("payee"),
                json.optionalString("refund_of"));
    }

    public static ApprovalDecided approvalDecided(JsonObject json) {
        return new ApprovalDecided(
                json.string("stream_id"),
                json.string("decision"));
    }

    public static ApprovalList approvalList(JsonObject json) {
        return new ApprovalList(
                json.list("approvals", Decoders::approval),
                json.optionalString("next"));
    }

    public static AuditEntry auditEntry(JsonObject json) {
        return new AuditEntry(
                json.integer("sequence"),
                json.integer("at"),
                json.string("actor"),
                json.string("address"),
                json.string("action"),
                json.stringMap("details"),
                json.string("outcome"),
                json.string("request_id"),
                json.string("hash"));
    }

    public static AuditLog auditLog(JsonObject json) {
        return new AuditLog(
                json.list("entries", Decoders::auditEntry),
                json.optionalString("head"),
                json.optionalString("next"));
    }

    public static AuthorizedRecurrence authorizedRecurrence(JsonObject json) {
        return new AuthorizedRecurrence(
                json.string("calendar"),
                json.integer("first_payment_due"),
                json.optionalInteger("max_payments"),
                json.optionalInteger("until"));
    }

    public static BitcoinAddress bitcoinAddress(JsonObject json) {
        return new BitcoinAddress(
                json.string("address"));
    }

    public static BookedPayment bookedPayment(JsonObject json) {
        return new BookedPayment(
                json.string("stream_id"),
                json.string("direction"),
                json.string("kind"),
                json.string("status"),
                json.integer("amount_millisats"),
                json.string("description"),
                json.integer("created_at"),
                json.integer("changed_at"),
                json.optionalInteger("amount"),
                json.optionalString("currency"),
                json.optionalInteger("fee_millisats"),
                json.optionalString("payment_hash"),
                json.optionalObject("rate", Decoders::appliedRate),
                json.optionalString("refund_of"),
                json.optionalString("request_id"),
                json.optionalInteger("settled_millisats"),
                json.optionalString("txid"));
    }

    public static CalendarNextOccurrence calendarNextOccurrence(JsonObject json) {
        return new CalendarNextOccurrence(
                json.optionalInteger("next_occurrence"));
    }

    public static CashuResponseData cashuResponseData(JsonObject json) {
        return new CashuResponseData(
                json.string("status"),
                json.optionalInteger("amount"),
                json.optionalString("mint_url"),
                json.optionalFlag("passed"),
                json.optionalString("reason"),
                json.optionalString("request_id"),
                json.optionalString("token"),
                json.optionalString("unit"));
    }

    public static Channel channel(JsonObject json) {
        return new Channel(
                json.string("channel_id"),
                json.string("peer"),
                json.optionalString("peer_address"),
                json.optionalString("funding"),
                json.integer("capacity"),
                json.integer("outbound"),
                json.integer("inbound"),
                json.flag("opened_by_service"),
                json.flag("ready"),
                json.flag("usable"));
    }

    public static ChannelClosing channelClosing(JsonObject json) {
        return new ChannelClosing(
                json.string("status"));
    }

    public static ChannelOpening channelOpening(JsonObject json) {
        return new ChannelOpening(
                json.string("peer"),
                json.string("status"));
    }

    public static Channels channels(JsonObject json) {
        return new Channels(
                json.list("channels", Decoders::channel));
    }

    public static ConfiguredSecret configuredSecret(JsonObject json) {
        return new ConfiguredSecret(
                json.string("setting"),
                json.optionalInteger("last_used_at"));
    }

    public static CurrentRate currentRate(JsonObject json) {
        return new CurrentRate(
                json.string("currency"),
                json.string("value"),
                json.string("source"),
                json.integer("at"));
    }

    public static DamagedRow damagedRow(JsonObject json) {
        return new DamagedRow(
                json.string("table"),
                json.string("id"));
    }

    public static ErasedOfUser erasedOfUser(JsonObject json) {
        return new ErasedOfUser(
                json.integer("streams"),
                json.integer("passkeys"),
                json.integer("remote_signers"),
                json.integer("relays"),
                json.integer("oidc_consents"),
                json.integer("oidc_records"));
    }

    public static InvoiceData invoiceData(JsonObject json) {
        return new InvoiceData(
                json.string("invoice"),
                json.string("payment_hash"),
                json.integer("amount"),
                json.optionalInteger("amount_millisats"),
                json.optionalString("currency"),
                json.optionalObject("rate", Decoders::appliedRate),
                json.optionalString("request_id"));
    }

    public static JwtIssued jwtIssued(JsonObject json) {
        return new JwtIssued(
                json.string("token"));
    }

    public static JwtVerified jwtVerified(JsonObject json) {
        return new JwtVerified(
                json.string("target_key"));
    }

    public static KeptOfUser keptOfUser(JsonObject json) {
        return new KeptOfUser(
                json.string("reason"),
                json.optionalString("kind"),
                json.optionalString("stream_id"),
                json.optionalInteger("until"));
    }

    public static KeyHandshakeClosed keyHandshakeClosed(JsonObject json) {
        return new KeyHandshakeClosed(
                json.string("stream_id"),
                json.string("status"));
    }

    public static KeyHandshakeData keyHandshakeData(JsonObject json) {
        return new KeyHandshakeData(
                json.string("main_key"),
                json.strings("preferred_relays"));
    }

    public static KeyHandshakeList keyHandshakeList(JsonObject json) {
        return new KeyHandshakeList(
                json.list("handshakes", Decoders::reusableHandshake),
                json.optionalString("next"));
    }

    public static KeyHandshakeStarted keyHandshakeStarted(JsonObject json) {
        return new KeyHandshakeStarted(
                json.string("stream_id"),
                json.string("url"),
                json.string("page_url"));
    }

    public static LightningNode lightningNode(JsonObject json) {
        return new LightningNode(
                json.string("node_id"),
                json.optionalInteger("synced_at"),
                json.integer("height"),
                json.object("channels", Decoders::lightningNodeChannels),
                json.integer("inbound"),
                json.object("on_chain", Decoders::lightningNodeOnChain),
                json.object("pending", Decoders::lightningNodePending),
                json.integer("skimmed_fees"),
                json.object("closures", Decoders::lightningNodeClosures),
                json.list("warnings", Decoders::lightningNodeWarning));
    }

    public static LightningNodeChannels lightningNodeChannels(JsonObject json) {
        return new LightningNodeChannels(
                json.integer("usable"),
                json.integer("unusable"),
                json.integer("capacity"));
    }

    public static LightningNodeClosures lightningNodeClosures(JsonObject json) {
        return new LightningNodeClosures(
                json.integer("cooperative"),
                json.integer("forced"),
                json.integer("after_kill"));
    }

    public static LightningNodeOnChain lightningNodeOnChain(JsonObject json) {
        return new LightningNodeOnChain(
                json.integer("total"),
                json.integer("spendable"),
                json.integer("reserved"));
    }

    public static LightningNodePending lightningNodePending(JsonObject json) {
        return new LightningNodePending(
                json.integer("payments"),
                json.integer("closing"),
                json.integer("sending"));
    }

    public static LightningNodeWarning lightningNodeWarning(JsonObject json) {
        return new LightningNodeWarning(
                json.string("code"),
                json.string("text"));
    }

    public static LoginRedeemed loginRedeemed(JsonObject json) {
        return new LoginRedeemed(
                json.string("main_key"),
                json.string("method"));
    }

    public static LoginStarted loginStarted(JsonObject json) {
        return new LoginStarted(
                json.string("stream_id"),
                json.string("url"),
                json.string("page_url"));
    }

    public static Nip05 nip05(JsonObject json) {
        return new Nip05(
                json.string("pubkey"),
                json.strings("relays"));
    }

    public static OidcConsent oidcConsent(JsonObject json) {
        return new OidcConsent(
                json.string("client_id"),
                json.string("main_key"),
                json.strings("scopes"),
                json.integer("agreed_at"));
    }

    public static OidcConsentList oidcConsentList(JsonObject json) {
        return new OidcConsentList(
                json.list("consents", Decoders::oidcConsent),
                json.optionalString("next"));
    }

    public static OidcConsentRevoked oidcConsentRevoked(JsonObject json) {
        return new OidcConsentRevoked(
                json.string("status"));
    }

    public static OidcKey oidcKey(JsonObject json) {
        return new OidcKey(
                json.string("kid"),
                json.string("algorithm"),
                json.string("status"),
                json.integer("created_at"),
                json.optionalInteger("retired_at"));
    }

    public static OidcKeys oidcKeys(JsonObject json) {
        return new OidcKeys(
                json.list("keys", Decoders::oidcKey));
    }

    public static OutgoingTicket outgoingTicket(JsonObject json) {
        return new OutgoingTicket(
                json.string("stream_id"),
                json.string("main_key"),
                json.string("mint_url"),
                json.string("unit"),
                json.integer("amount"),
                json.string("status"),
                json.integer("created_at"),
                json.integer("expires_at"));
    }

    public static OutgoingTicketList outgoingTicketList(JsonObject json) {
        return new OutgoingTicketList(
                json.list("outgoing", Decoders::outgoingTicket),
                json.optionalString("next"));
    }

    public static PasskeysForgotten passkeysForgotten(JsonObject json) {
        return new PasskeysForgotten(
                json.string("main_key"),
                json.string("status"),
                json.integer("passkeys"));
    }

    public static PaymentLink paymentLink(JsonObject json) {
        return new PaymentLink(
                json.string("stream_id"),
                json.string("status"),
                json.string("currency"),
                json.string("description"),
                json.integer("payments"),
                json.string("page_url"),
                json.string("lnurl"),
                json.integer("created_at"),
                json.optionalInteger("amount"),
                json.optionalInteger("expires_at"),
                json.optionalInteger("max"),
                json.optionalInteger("max_payments"),
                json.optionalInteger("min"),
                json.optionalString("request_id"));
    }

    public static PaymentLinkClosed paymentLinkClosed(JsonObject json) {
        return new PaymentLinkClosed(
                json.string("stream_id"),
                json.string("status"));
    }

    public static PaymentLinkCreated paymentLinkCreated(JsonObject json) {
        return new PaymentLinkCreated(
                json.string("stream_id"),
                json.string("page_url"),
                json.string("lnurl"));
    }

    public static PaymentLinkList paymentLinkList(JsonObject json) {
        return new PaymentLinkList(
                json.list("links", Decoders::paymentLink),
                json.optionalString("next"));
    }

    public static PaymentList paymentList(JsonObject json) {
        return new PaymentList(
                json.list("payments", Decoders::bookedPayment),
                json.optionalString("next"));
    }

    public static PaymentStarted paymentStarted(JsonObject json) {
        return new PaymentStarted(
                json.string("stream_id"),
                json.string("page_url"),
                json.optionalInteger("amount"),
                json.optionalInteger("amount_millisats"),
                json.optionalString("currency"),
                json.optionalObject("rate", Decoders::appliedRate));
    }

    public static PreviousSecret previousSecret(JsonObject json) {
        return new PreviousSecret(
                json.integer("accepted_until"),
                json.optionalInteger("last_used_at"));
    }

    public static PricedStreamStarted pricedStreamStarted(JsonObject json) {
        return new PricedStreamStarted(
                json.string("stream_id"),
                json.optionalInteger("amount"),
                json.optionalInteger("amount_millisats"),
                json.optionalString("currency"),
                json.optionalObject("rate", Decoders::appliedRate));
    }

    public static Profile profile(JsonObject json) {
        return new Profile(
                json.string("id"),
                json.string("pubkey"),
                json.optionalString("name"),
                json.optionalString("display_name"),
                json.optionalString("picture"),
                json.optionalString("about"),
                json.optionalString("nip05"));
    }

    public static Ready ready(JsonObject json) {
        return new Ready(
                json.flag("ready"),
                json.string("instance"),
                json.object("relays", Decoders::readyRelays),
                json.object("store", Decoders::readyStore),
                json.object("wallet", Decoders::readyWallet),
                json.object("tickets", Decoders::readyTickets),
                json.object("rates", Decoders::readyRates));
    }

    public static ReadyMint readyMint(JsonObject json) {
        return new ReadyMint(
                json.string("mint_url"),
                json.integer("unfinished_jobs"),
                json.optionalFlag("responds"));
    }

    public static ReadyRate readyRate(JsonObject json) {
        return new ReadyRate(
                json.string("currency"),
                json.list("sources", Decoders::readyRateSource),
                json.optionalString("problem"));
    }

    public static ReadyRateSource readyRateSource(JsonObject json) {
        return new ReadyRateSource(
                json.string("name"),
                json.optionalInteger("age_seconds"),
                json.optionalString("problem"));
    }

    public static ReadyRates readyRates(JsonObject json) {
        return new ReadyRates(
                json.flag("ready"),
                json.list("currencies", Decoders::readyRate));
    }

    public static ReadyRelays readyRelays(JsonObject json) {
        return new ReadyRelays(
                json.flag("ready"),
                json.integer("connected"),
                json.integer("total"));
    }

    public static ReadyStore readyStore(JsonObject json) {
        return new ReadyStore(
                json.flag("ready"),
                json.integer("damaged_rows"),
                json.list("damaged", Decoders::damagedRow));
    }

    public static ReadyTickets readyTickets(JsonObject json) {
        return new ReadyTickets(
                json.flag("ready"),
                json.list("mints", Decoders::readyMint));
    }

    public static ReadyWallet readyWallet(JsonObject json) {
        return new ReadyWallet(
                json.flag("ready"),
                json.string("backend"),
                json.strings("warnings"));
    }

    public static Receipt receipt(JsonObject json) {
        return new Receipt(
                json.string("stream_id"),
                json.integer("amount_millisats"),
                json.string("description"),
                json.integer("paid_at"),
                json.optionalInteger("amount"),
                json.optionalString("currency"),
                json.optionalString("payment_hash"),
                json.optionalObject("rate", Decoders::appliedRate),
                json.optionalString("request_id"));
    }

    public static ReceivingCost receivingCost(JsonObject json) {
        return new ReceivingCost(
                json.flag("opens_channel"),
                json.integer("opening_fee"));
    }

    public static RefundStarted refundStarted(JsonObject json) {
        return new RefundStarted(
                json.string("stream_id"),
                json.string("page_url"));
    }

    public static Relay relay(JsonObject json) {
        return new Relay(
                json.string("relay"),
                json.string("status"),
                json.string("origin"),
                json.optionalInteger("since"),
                json.optionalString("reason"),
                json.flag("subscribed"),
                json.integer("queued"));
    }

    public static RelayRemoved relayRemoved(JsonObject json) {
        return new RelayRemoved(
                json.string("relay"),
                json.string("status"));
    }

    public static Relays relays(JsonObject json) {
        return new Relays(
                json.list("relays", Decoders::relay));
    }

    public static RemoteSignerForgotten remoteSignerForgotten(JsonObject json) {
        return new RemoteSignerForgotten(
                json.string("main_key"),
                json.string("status"));
    }

    public static ReusableHandshake reusableHandshake(JsonObject json) {
        return new ReusableHandshake(
                json.string("stream_id"),
                json.string("static_token"),
                json.string("url"),
                json.flag("no_request"),
                json.flag("login"),
                json.integer("created_at"),
                json.integer("accepted"),
                json.integer("refused"));
    }

    public static StreamStarted streamStarted(JsonObject json) {
        return new StreamStarted(
                json.string("stream_id"));
    }

    public static SubscriptionClosed subscriptionClosed(JsonObject json) {
        return new SubscriptionClosed(
                json.string("subscription_id"),
                json.string("status"));
    }

    public static SubscriptionClosedData subscriptionClosedData(JsonObject json) {
        return new SubscriptionClosedData(
                json.string("subscription_id"),
                json.string("main_key"),
                json.optionalString("reason"));
    }

    public static SubscriptionData subscriptionData(JsonObject json) {
        return new SubscriptionData(
                json.string("status"),
                json.string("subscription_id"),
                json.string("main_key"),
                json.integer("authorized_amount"),
                json.string("authorized_currency"),
                json.object("authorized_recurrence", Decoders::authorizedRecurrence),
                json.flag("auto_charge"),
                json.optionalInteger("amount"),
                json.optionalInteger("amount_millisats"),
                json.optionalString("currency"),
                json.optionalObject("rate", Decoders::appliedRate),
                json.optionalString("request_id"));
    }

    public static SubscriptionInfo subscriptionInfo(JsonObject json) {
        return new SubscriptionInfo(
                json.string("subscription_id"),
                json.string("main_key"),
                json.string("state"),
                json.string("description"),
                json.integer("amount"),
                json.string("currency"),
                json.integer("authorized_amount"),
                json.object("authorized_recurrence", Decoders::authorizedRecurrence),
                json.flag("auto_charge"),
                json.integer("payments_made"),
                json.integer("created_at"),
                json.optionalInteger("ended_at"),
                json.optionalInteger("next_payment_due"),
                json.optionalString("reason"),
                json.optionalString("request_id"));
    }

    public static SubscriptionList subscriptionList(JsonObject json) {
        return new SubscriptionList(
                json.list("subscriptions", Decoders::subscriptionInfo),
                json.optionalString("next"));
    }

    public static SubscriptionPaymentData subscriptionPaymentData(JsonObject json) {
        return new SubscriptionPaymentData(
                json.string("subscription_id"),
                json.string("main_key"),
                json.integer("number"),
                json.integer("due"),
                json.integer("attempt"),
                json.integer("amount"),
                json.string("status"),
                json.optionalInteger("amount_millisats"),
                json.optionalString("currency"),
                json.optionalInteger("next_attempt_at"),
                json.optionalString("preimage"),
                json.optionalObject("rate", Decoders::appliedRate),
                json.optionalString("reason"));
    }

    public static Ticket ticket(JsonObject json) {
        return new Ticket(
                json.string("token"));
    }

    public static TicketBalance ticketBalance(JsonObject json) {
        return new TicketBalance(
                json.string("mint_url"),
                json.string("unit"),
                json.integer("amount"),
                json.optionalInteger("set_aside"));
    }

    public static TicketBalances ticketBalances(JsonObject json) {
        return new TicketBalances(
                json.list("balances", Decoders::ticketBalance));
    }

    public static TicketBurned ticketBurned(JsonObject json) {
        return new TicketBurned(
                json.integer("amount"));
    }

    public static TicketReclaimed ticketReclaimed(JsonObject json) {
        return new TicketReclaimed(
                json.string("stream_id"),
                json.string("status"),
                json.integer("amount"));
    }

    public static TicketSent ticketSent(JsonObject json) {
        return new TicketSent(
                json.string("stream_id"),
                json.string("status"));
    }

    public static UserErasure userErasure(JsonObject json) {
        return new UserErasure(
                json.string("main_key"),
                json.object("erased", Decoders::erasedOfUser),
                json.list("kept", Decoders::keptOfUser),
                json.optionalString("next"));
    }

    public static VerificationDecided verificationDecided(JsonObject json) {
        return new VerificationDecided(
                json.string("session_id"),
                json.string("status"));
    }

    public static VerificationSession verificationSession(JsonObject json) {
        return new VerificationSession(
                json.string("session_id"),
                json.string("session_url"),
                json.string("ephemeral_npub"),
                json.integer("expires_at"),
                json.string("stream_id"));
    }

    public static Version version(JsonObject json) {
        return new Version(
                json.string("version"),
                json.string("commit"));
    }

    public static WalletInfo walletInfo(JsonObject json) {
        return new WalletInfo(
                json.string("backend"),
                json.flag("notifications"),
                json.optionalString("alias"),
                json.optionalInteger("balance"),
                json.optionalString("network"),
                json.optionalObject("node", Decoders::lightningNode));
    }

    public static WebhookDeliveries webhookDeliveries(JsonObject json) {
        return new WebhookDeliveries(
                json.list("deliveries", Decoders::webhookDelivery),
                json.optionalString("next"));
    }

    public static WebhookDelivery webhookDelivery(JsonObject json) {
        return new WebhookDelivery(
                json.string("id"),
                json.string("stream_id"),
                json.integer("index"),
                json.string("type"),
                json.integer("timestamp"),
                json.string("status"),
                json.integer("attempts"),
                json.integer("since"),
                json.optionalInteger("last_attempt_at"),
                json.optionalString("last_error"),
                json.optionalInteger("last_status"),
                json.optionalInteger("next_attempt_at"));
    }

    public static WellKnown wellKnown(JsonObject json) {
        return new WellKnown(
                json.stringMap("names"),
                json.listMap("relays"));
    }

    public static StatusUpdateData statusUpdateData(JsonObject json) {
        return new StatusUpdateData(
                json.string("status"),
                json.optionalStrings("granted_permissions"),
                json.optionalString("main_key"),
                json.optionalString("method"),
                json.optionalString("reason"),
                json.optionalString("session_token"),
                json.optionalInteger("amount"),
                json.optionalInteger("amount_millisats"),
                json.optionalInteger("amount_received"),
                json.optionalString("comment"),
                json.optionalString("currency"),
                json.optionalInteger("fees_paid"),
                json.optionalString("outcome"),
                json.optionalInteger("paid_late_until"),
                json.optionalString("payment_id"),
                json.optionalString("preimage"),
                json.optionalObject("rate", Decoders::appliedRate),
                json.optionalString("request_id"),
                json.optionalInteger("skimmed_fee"),
                json.optionalString("subscription_id"),
                json.optionalString("txid"),
                json.optionalString("token"));
    }

    public static EventData eventData(String type, JsonObject json) {
        return switch (type) {
            case "CashuResponse" -> cashuResponseData(json);
            case "InvoiceResponse" -> invoiceData(json);
            case "KeyHandshake" -> keyHandshakeData(json);
            case "StatusUpdate" -> statusUpdateData(json);
            case "Subscription" -> subscriptionData(json);
            case "SubscriptionClosed" -> subscriptionClosedData(json);
            case "SubscriptionPayment" -> subscriptionPaymentData(json);
            default -> new OtherData(json.members());
        };
    }
}
