// Written by scripts/generate-types.mjs from docs/openapi.json: change nothing here.

export interface components {
    schemas: {
        /**
         * @description An API key, without its secret.
         */
        ApiKey: {
            /**
             * Format: int64
             * @description When it was created, in Unix seconds.
             */
            created_at: number;
            /**
             * Format: int64
             * @description Most millisats that it may send within 24 hours.
             */
            daily_budget_millisats?: number;
            /**
             * @description That time has come.
             */
            expired: boolean;
            /**
             * Format: int64
             * @description From when on it is not accepted, in Unix seconds.
             */
            expires_at?: number;
            /**
             * Format: uuid
             * @description Its id.
             */
            id: string;
            /**
             * Format: int64
             * @description When its secret was used last, in Unix seconds.
             */
            last_used_at?: number;
            /**
             * @description What you call it.
             */
            name: string;
            /**
             * @description The networks from which it is accepted; all if there are none.
             */
            networks: string[];
            /**
             * @description Whether it sees only the streams that it has started.
             */
            own_streams_only: boolean;
            /** @description After a rotation: the former secret, while it is accepted. */
            previous?: components["schemas"]["PreviousSecret"];
            /**
             * Format: int32
             * @description Most requests per second.
             */
            requests_per_second?: number;
            /** @description What it may do. */
            scopes: components["schemas"]["Scope"][];
        };
        /**
         * @description The keys, and the secrets of the configuration.
         */
        ApiKeyList: {
            /** @description The tokens, which may do everything, and the secrets that sign webhooks. */
            configured: components["schemas"]["ConfiguredSecret"][];
            /** @description The keys, the oldest first. */
            keys: components["schemas"]["ApiKey"][];
        };
        /**
         * @description The key is revoked.
         */
        ApiKeyRevoked: {
            /**
             * Format: uuid
             * @description Its id.
             */
            id: string;
            /**
             * @description `revoked`.
             */
            status: string;
        };
        /**
         * @description A key with its new secret.
         */
        ApiKeyWithSecret: {
            key: components["schemas"]["ApiKey"];
            /**
             * @description The secret: send it as `Authorization: Bearer`. It is shown this once, and left out of a repeated response (`Idempotency-Key`).
             */
            secret?: string;
        };
        /**
         * @description The exchange rate at which an amount was fixed.
         */
        AppliedRate: {
            /**
             * Format: int64
             * @description When it was read there, in Unix seconds; the oldest time of several.
             */
            at: number;
            /**
             * @description Where it comes from.
             */
            source: string;
            /**
             * @description The price of one bitcoin in the currency's major unit: a decimal number as text, so that nothing rounds it.
             */
            value: string;
        };
        /**
         * @description A payment by the service that waits for an approval.
         */
        Approval: {
            /**
             * @description Of a payment on chain: where the money goes.
             */
            address?: string;
            /**
             * Format: int64
             * @description Millisats.
             */
            amount_millisats: number;
            /**
             * @description Of an invoice, what the payee wrote; of a refund, what the payment was for. Without it the purpose is unknown: an invoice says nothing, or has only a hash of it.
             */
            description?: string;
            /**
             * Format: int64
             * @description Unix seconds until which it can be approved; then it ends unpaid.
             */
            expires_at: number;
            /**
             * @description `invoice`, `refund` or `on_chain`, as `GET /payments` has it.
             */
            kind: string;
            /**
             * Format: int64
             * @description The largest fee, in millisats, that comes on top.
             */
            max_fee_millisats: number;
            /**
             * @description Of an invoice: the public key of the payee's node.
             */
            payee?: string;
            /**
             * Format: uuid
             * @description Of a refund: the stream of the payment that it pays back.
             */
            refund_of?: string;
            /**
             * Format: int64
             * @description When it was asked for, in Unix seconds.
             */
            requested_at: number;
            /**
             * @description Who asked for it: `token`, the id of an API key, or `revoked_key` if that was revoked since.
             */
            requested_by: string;
            /**
             * Format: uuid
             * @description Its stream.
             */
            stream_id: string;
        };
        /**
         * @description A decision that was taken.
         */
        ApprovalDecided: {
            /**
             * @description `approve` or `decline`.
             */
            decision: string;
            /**
             * Format: uuid
             * @description The payment's stream.
             */
            stream_id: string;
        };
        /**
         * @description Decides about a payment that waits for an approval.
         */
        ApprovalDecision: {
            /**
             * @description `approve`: the payment begins. `decline`: it ends unpaid.
             */
            decision: string;
        };
        /**
         * @description Payments that wait for an approval.
         */
        ApprovalList: {
            /** @description The payments, in the order in which they were requested. */
            approvals: components["schemas"]["Approval"][];
            /** @description The `after` for the next page; `null` if this is the last one. */
            next?: string | null;
        };
        /**
         * @description An entry of the audit log.
         */
        AuditEntry: {
            /** @description What was done: an `operationId` of this document. */
            action: string;
            /** @description Who: `token`, or the id of a key. */
            actor: string;
            /** @description The address of the connection; empty if unknown. */
            address: string;
            /**
             * Format: int64
             * @description When, in Unix seconds.
             */
            at: number;
            /** @description On what: `stream_id`, `amount_millisats`, and others, as text. */
            details: {
                [key: string]: string;
            };
            /** @description The hash that chains it to the entries before it, in hex. */
            hash: string;
            /** @description What came of it: `ok`, `begun` (the entry with what came of it follows), or the `code` of an error. */
            outcome: string;
            /** @description The `X-Request-Id` of the request. */
            request_id: string;
            /**
             * Format: int64
             * @description Its number, from 1 without gaps.
             */
            sequence: number;
        };
        /**
         * @description Who changed what.
         */
        AuditLog: {
            /** @description The entries, the oldest first. */
            entries: components["schemas"]["AuditEntry"][];
            /**
             * @description The newest entry of the log: note it elsewhere; `usher audit verify --head` compares. `null`: the log is empty.
             */
            head?: string | null;
            /** @description The `after` for the next page; `null` if this is the last one. */
            next?: string | null;
        };
        /**
         * @description Asks a user to prove that they hold a key.
         */
        AuthenticateKeyRequest: {
            /**
             * Format: nostr-public-key
             * @description The key to prove: 64 hex characters, from the `KeyHandshake` event.
             */
            main_key: string;
            /** @description Keys that may respond for it without a proof of delegation; usually none, at most 8. A repeated key counts once. */
            subkeys: string[];
        };
        /**
         * @description When, and how often, a subscription is paid.
         */
        AuthorizedRecurrence: {
            /**
             * @description One of the eight words, or the wallet's expansion of it in systemd's calendar form.
             */
            calendar: string;
            /**
             * Format: int64
             * @description Unix seconds of the first payment.
             */
            first_payment_due: number;
            /**
             * Format: int32
             * @description After how many payments it ends.
             */
            max_payments?: number | null;
            /**
             * Format: int64
             * @description Unix seconds after which no payment is due.
             */
            until?: number | null;
        };
        /**
         * @description A Bitcoin address of the node.
         */
        BitcoinAddress: {
            /**
             * @description The address, on `wallet.network`.
             */
            address: string;
        };
        /**
         * @description A payment that the service received or made.
         */
        BookedPayment: {
            /**
             * Format: int64
             * @description The price in the minor unit of `currency`. Missing, with `currency` and `rate`, if it was requested in millisats.
             */
            amount?: number;
            /**
             * Format: int64
             * @description What was requested, in millisats.
             */
            amount_millisats: number;
            /**
             * Format: int64
             * @description When it last changed, in Unix seconds; of a payment that is `paid`, when it was.
             */
            changed_at: number;
            /**
             * Format: int64
             * @description When it was requested, in Unix seconds.
             */
            created_at: number;
            /**
             * @description The currency (ISO 4217).
             */
            currency?: string;
            /**
             * @description What it is for; of a payment on chain the address.
             */
            description: string;
            /**
             * @description `in`: to the service. `out`: by the service's Lightning backend.
             */
            direction: string;
            /**
             * Format: int64
             * @description What the liquidity provider kept of a payment that arrived, or what routing or the miners cost. Missing if there is none, or it is not known.
             */
            fee_millisats?: number;
            /**
             * @description `payment`: `POST /payments/single`. `charge`: a due date of a subscription. `invoice`: an invoice that the Lightning backend pays, for `POST /invoices/pay` or for tickets. `refund`: `POST /payments/{stream_id}/refund`. `on_chain`: `POST /wallet/send`.
             */
            kind: string;
            /**
             * @description The payment hash of its invoice. Missing before there is one.
             */
            payment_hash?: string;
            /** @description The rate at which it was priced. */
            rate?: components["schemas"]["AppliedRate"];
            /**
             * Format: uuid
             * @description The stream of the payment that it pays back.
             */
            refund_of?: string;
            /**
             * @description Your own reference.
             */
            request_id?: string;
            /**
             * Format: int64
             * @description What has arrived, or was paid without `fee_millisats`. Missing unless it is `paid`.
             */
            settled_millisats?: number;
            /**
             * @description `open`; `paid`; `not_paid`: it has ended, and may still become `paid` while money can arrive; `unknown`: it has ended, and nobody knows whether it was paid.
             */
            status: string;
            /**
             * Format: uuid
             * @description Its stream.
             */
            stream_id: string;
            /**
             * @description The id of the transaction of a payment on chain. Missing before there is one.
             */
            txid?: string;
        };
        /**
         * @description Redeems a ticket.
         */
        BurnTicketRequest: {
            /**
             * Format: mint-url
             * @description The mint that the token must be of: an `http` or `https` URL.
             */
            mint_url: string;
            /** @description Another name for `static_token`. */
            static_auth_token?: string;
            /** @description The token by which the mint knows who may use it (header `Clear-auth`), if it wants one. */
            static_token?: string;
            /**
             * Format: cashu-token
             * @description The token: version 3 (`cashuA…`) or 4 (`cashuB…`), also as a `cashu:` URI.
             */
            token: string;
            /**
             * @description The unit that it must be in.
             */
            unit: string;
        };
        /**
         * @description The next occurrence of a calendar.
         */
        CalendarNextOccurrence: {
            /**
             * Format: int64
             * @description Unix seconds, always after `from`; `null` if there is no occurrence before the year 2200.
             */
            next_occurrence: number | null;
        };
        /**
         * @description A calendar, and a time.
         */
        CalendarNextOccurrenceRequest: {
            /**
             * Format: calendar
             * @description One of `minutely`, `hourly`, `daily`, `weekly`, `monthly`, `quarterly`, `semiannually`, `yearly`; or the systemd form to which wallets expand them, `[weekdays ]year-month-day hour:minute:second[ timezone]`, for example `Mon..Fri *-*-01,15 09:00:00 Europe/Rome`. The default time zone is UTC.
             */
            calendar: string;
            /**
             * Format: int64
             * @description Unix seconds.
             */
            from: number;
        };
        /**
         * @description Data of `CashuResponse`: the result of a ticket request, of a verification or of a ticket that was sent.
         */
        CashuResponseData: {
            /**
             * Format: int64
             * @description With `success` of a request: what you get in `unit`, after the mint's fees: with `redeem` you have it, without it `POST /cashu/burn` gives it. With `success` of a verification: what the proof contains.
             */
            amount?: number;
            /**
             * @description The mint.
             */
            mint_url?: string;
            /**
             * @description Of a verification session: whether the user has passed, also when no proof could be issued.
             */
            passed?: boolean;
            /** @description The reason; in the user's words with `rejected`. */
            reason?: string;
            /** @description Your own reference. */
            request_id?: string;
            /**
             * @description `success` is reported only for a token that the mint has confirmed, or, for a ticket that was sent, when the mint says that it is spent.
             */
            status: string;
            /** @description With `success` of a request without `redeem`, and of a verification: the token (NUT-00). Anybody who has it can spend it: redeem it at once. */
            token?: string;
            /**
             * @description The unit.
             */
            unit?: string;
        };
        /**
         * @description Data of `StatusUpdate` on streams of tickets: they ended without a result.
         */
        CashuStatusData: {
            /** @description Why. */
            reason?: string;
            /** @description Your own reference. */
            request_id?: string;
            /**
             * @description `timeout`: nobody answered, or redeemed the ticket, in time. `error`: the reason says why. A `CashuResponse` `success` may still follow.
             */
            status: string;
            /** @description With `error`: a token that the user has given away, that was not confirmed, and that may be worth something. Return it, or try to redeem it later. */
            token?: string;
        };
        /**
         * @description A channel. All amounts are millisats.
         */
        Channel: {
            /**
             * Format: int64
             * @description What both sides hold together.
             */
            capacity: number;
            /** @description Its id. */
            channel_id: string;
            /** @description The output that holds its money: `<transaction id>:<index>`; `null` before its funding transaction is made. */
            funding: string | null;
            /**
             * Format: int64
             * @description What can be received over it.
             */
            inbound: number;
            /** @description Whether the service opened it; otherwise the peer did. */
            opened_by_service: boolean;
            /**
             * Format: int64
             * @description What can be sent over it.
             */
            outbound: number;
            /** @description The peer's public key. */
            peer: string;
            /** @description Where the peer was last reached. */
            peer_address: string | null;
            /** @description Whether its funding transaction is confirmed, or the service trusts the peer not to take it back. */
            ready: boolean;
            /** @description Whether payments can pass now. */
            usable: boolean;
        };
        /**
         * @description A channel that is being closed.
         */
        ChannelClosing: {
            /**
             * @description `closing`: its money is in the node's on-chain balance once the closing transaction is confirmed.
             */
            status: string;
        };
        /**
         * @description A channel that was requested.
         */
        ChannelOpening: {
            /**
             * @description The peer's public key.
             */
            peer: string;
            /**
             * @description `opening` until the funding transaction is confirmed, then `open`; `closed` if it was closed again, or the peer refused it.
             */
            status: string;
        };
        /**
         * @description The channels of the node.
         */
        Channels: {
            channels: components["schemas"]["Channel"][];
        };
        /**
         * @description How to close a channel.
         */
        CloseChannelRequest: {
            /**
             * @description Without the peer's agreement. The money is locked for days, and the fees are higher: only for a peer that does not come back.
             * @default false
             */
            force?: boolean;
        };
        /**
         * @description Closes a subscription.
         */
        CloseSubscriptionRequest: {
            /**
             * Format: nostr-public-key
             * @description Whose subscription it is: 64 hex characters.
             */
            main_key: string;
            /** @description Keys of the user's devices, at most 8. The wallets that agreed are notified in any case. */
            subkeys: string[];
            /**
             * Format: identifier
             * @description The subscription.
             */
            subscription_id: string;
        };
        /**
         * @description A secret of the configuration.
         */
        ConfiguredSecret: {
            /**
             * Format: int64
             * @description When it was used last since the service started, in Unix seconds; of a webhook's secret also since it was read anew (`SIGHUP`).
             */
            last_used_at?: number;
            /**
             * @description Its setting: `auth.auth_token`, `webhook.secret`, and during a rotation `auth.previous_token`, `webhook.previous_secret`.
             */
            setting: string;
        };
        /**
         * @description Has no fields.
         */
        CreateAddressRequest: Record<string, never>;
        /**
         * @description The price of one bitcoin.
         */
        CurrentRate: {
            /**
             * Format: int64
             * @description When it was read there, in Unix seconds; the oldest time of several.
             */
            at: number;
            /**
             * @description The code of the currency (ISO 4217).
             */
            currency: string;
            /**
             * @description Where it comes from.
             */
            source: string;
            /**
             * @description The price of one bitcoin in the currency's major unit: a decimal number as text, so that nothing rounds it.
             */
            value: string;
        };
        /**
         * @description A row of the database that cannot be read.
         */
        DamagedRow: {
            /**
             * @description A stream, an event or delivery as `<stream>:<index>`, or a user's public key.
             */
            id: string;
            /**
             * @description `operations`, `events`, `outbox`, `deliveries` or `user_relays`.
             */
            table: string;
        };
        /** @description What was removed of a user. */
        ErasedOfUser: {
            /** @description Apps that the user had agreed to give something (OpenID Connect). */
            oidc_consents: number;
            /** @description Sessions, codes and tokens (OpenID Connect). */
            oidc_records: number;
            /** @description Passkeys. */
            passkeys: number;
            /** @description The user's relays: 1 if they were known. */
            relays: number;
            /** @description Sessions with remote signers: 0 or 1. */
            remote_signers: number;
            /** @description Finished streams, with their events and deliveries. */
            streams: number;
        };
        /**
         * @description The `code` of an error: stable, for programs to branch on.
         * @enum {string}
         */
        ErrorCode: "malformed_json" | "malformed_request" | "jwt_invalid" | "jwt_expired" | "unauthorized" | "scope_missing" | "network_not_allowed" | "own_streams_only" | "budget_not_counted" | "own_request" | "token_required" | "key_not_found" | "route_not_found" | "stream_not_found" | "events_removed" | "delivery_not_found" | "profile_not_found" | "session_not_found" | "subscription_not_found" | "relay_not_found" | "channel_not_found" | "consent_not_found" | "signing_key_not_found" | "remote_signer_not_found" | "passkey_not_found" | "receipt_not_found" | "method_not_allowed" | "body_timeout" | "idempotency_key_reused" | "token_already_spent" | "token_pending" | "session_decided" | "session_expired" | "login_code_invalid" | "approval_not_found" | "approval_required" | "payment_not_paid" | "payment_refunded" | "login_code_redeemed" | "login_code_expired" | "body_too_large" | "unsupported_media_type" | "invalid_request" | "upgrade_required" | "rate_limited" | "budget_exhausted" | "internal_error" | "overloaded" | "storage_unavailable" | "no_relay_connected" | "no_active_instance" | "wallet_not_configured" | "verification_not_configured" | "oidc_not_configured" | "rate_unavailable" | "wallet_error" | "wallet_timeout" | "mint_error" | "mint_timeout" | "deadline_exceeded";
        /**
         * @description An event of a stream; it never changes once it has been read.
         */
        Event: {
            data: components["schemas"]["EventData"];
            /**
             * Format: int64
             * @description Position in the stream, from 0, without gaps.
             */
            index: number;
            /**
             * Format: int64
             * @description When it happened, in Unix seconds.
             */
            timestamp: number;
            /**
             * @description What kind of event it is: `KeyHandshake`, `StatusUpdate`, `Subscription`, `SubscriptionClosed`, `SubscriptionPayment`, `InvoiceResponse` or `CashuResponse`.
             */
            type: string;
        };
        /** @description What happened. Its form depends on the event's `type` and on the request that started the stream. Missing values are left out. Later versions may add members. */
        EventData: components["schemas"]["KeyHandshakeData"] | components["schemas"]["LoginData"] | components["schemas"]["PaymentData"] | components["schemas"]["SubscriptionData"] | components["schemas"]["SubscriptionPaymentData"] | components["schemas"]["SubscriptionClosedData"] | components["schemas"]["InvoiceData"] | components["schemas"]["CashuResponseData"] | components["schemas"]["CashuStatusData"];
        /**
         * @description Consecutive events of a stream.
         */
        EventPage: {
            /**
             * @description The operation has ended, and these are its last events. Only a payment that ended unpaid may get one more, a late `paid`.
             */
            done: boolean;
            /** @description The events, oldest first. */
            events: components["schemas"]["Event"][];
            /**
             * Format: int64
             * @description The first index that is left, if earlier events were removed after `streams.retention_days`. Only where `after` is 0.
             */
            first?: number;
            /**
             * Format: int64
             * @description The `after` for the next request.
             */
            next: number;
            /**
             * Format: int64
             * @description With `done`, if `paid` may still follow because money may still arrive: until when, in Unix seconds. While the Lightning backend cannot be reached, it may follow later.
             */
            paid_late_until?: number;
        };
        /**
         * @description An invalid field of a request.
         */
        FieldError: {
            /**
             * @description The invalid fields.
             */
            detail: string;
            /**
             * @description Where: a JSON Pointer (RFC 6901) into the body; for a query parameter or header, `/` and its name.
             */
            pointer: string;
        };
        /**
         * @description Data of `InvoiceResponse`: a verified invoice from a user's wallet.
         */
        InvoiceData: {
            /**
             * Format: int64
             * @description As you requested: millisats, or the minor unit of `currency`.
             */
            amount: number;
            /**
             * Format: int64
             * @description If requested in another currency than millisats: the amount of the invoice, in millisats.
             */
            amount_millisats?: number;
            /** @description If requested in another currency than millisats: the currency. */
            currency?: string;
            /**
             * @description The invoice (BOLT 11).
             */
            invoice: string;
            /**
             * @description Its payment hash.
             */
            payment_hash: string;
            /** @description If requested in another currency than millisats: at which rate. */
            rate?: components["schemas"]["AppliedRate"];
            /** @description Your own reference. */
            request_id?: string;
        };
        /**
         * @description Asks a user for an invoice.
         */
        InvoiceRequest: {
            /** @description What the invoice is for. */
            content: components["schemas"]["InvoiceRequestContent"];
            /**
             * Format: nostr-public-key
             * @description Whose wallet makes the invoice: 64 hex characters.
             */
            recipient_key: string;
            /** @description Keys that may respond for it without a proof of delegation; usually none, at most 8. */
            subkeys: string[];
        };
        /** @description What the invoice is for. */
        InvoiceRequestContent: {
            /**
             * Format: millisats
             * @description In millisats, or in the minor unit of `currency`, such as cents. It may come to at most `limits.max_amount_millisats`.
             */
            amount: number;
            /**
             * Format: currency
             * @description `millisats`, or the code of a currency (ISO 4217) that `rates.currencies` lists; in either case. What `amount` comes to in millisats is fixed now, and rounded up to a whole sat: the invoice must be for that.
             */
            currency: string;
            /**
             * Format: text
             * @description At most 639 bytes of UTF-8.
             */
            description?: string;
            /**
             * Format: unix-time
             * @description Unix seconds until which the user can respond: at most 24 hours ahead, by default five minutes.
             */
            expires_at?: number;
            /**
             * Format: identifier
             * @description Your own reference, repeated in the events.
             */
            request_id?: string;
        };
        /**
         * @description The key and the validity of a JWT.
         */
        JwtIssueRequest: {
            /**
             * Format: int64
             * @description For how many hours it is valid.
             */
            duration_hours: number;
            /**
             * Format: nostr-public-key
             * @description The key that the JWT is about: 64 hex characters.
             */
            target_key: string;
        };
        /**
         * @description A JWT.
         */
        JwtIssued: {
            /**
             * @description The JWT. Anybody who has it can use it.
             */
            token: string;
        };
        /**
         * @description A valid JWT.
         */
        JwtVerified: {
            /**
             * @description The key that the JWT is about.
             */
            target_key: string;
        };
        /**
         * @description A JWT, and the key that must have signed it.
         */
        JwtVerifyRequest: {
            /**
             * Format: nostr-public-key
             * @description The key that must have signed it: 64 hex characters. The service's own key for a JWT of `POST /jwt/issue`, the user's key for a session token from their wallet.
             */
            public_key: string;
            /**
             * Format: jwt
             * @description The JWT.
             */
            token: string;
        };
        /**
         * @description Something that names the user and was kept.
         */
        KeptOfUser: {
            /**
             * @description What the stream is of, as in the metrics; `subscriptions` is the stream of that name.
             */
            kind?: string | null;
            /**
             * @description Why. `open`: the stream is open; erase the user again after it has ended. `late_payment`: it has ended, and money may still arrive. `pending_delivery`: events of the stream are still to be posted to the webhook. `shared_stream`: the stream has events of others too. `mentioned`: the stream is not about the user, but the key is in it: in a text of the app, or as another user's subkey. `damaged`: the stream's row has the key and cannot be read. `stored_response`: the response to a request with an `Idempotency-Key` has the key. `relays`: the user's relays, because a stream of theirs is open.
             */
            reason: string;
            /**
             * Format: uuid
             * @description The stream.
             */
            stream_id?: string | null;
            /**
             * Format: int64
             * @description Until when it is kept, in Unix seconds, if that is known: then it is removed without another request, within the hour. The newest event of a stream that does not end stays until there is another.
             */
            until?: number | null;
        };
        /**
         * @description A closed handshake.
         */
        KeyHandshakeClosed: {
            /**
             * @description `closed`.
             */
            status: string;
            /**
             * Format: uuid
             */
            stream_id: string;
        };
        /**
         * @description Data of `KeyHandshake`: a user has told their key. It is not proven yet.
         */
        KeyHandshakeData: {
            /**
             * @description The user's key.
             */
            main_key: string;
            /**
             * @description The relays at which the user wants to be reached, at most 8.
             */
            preferred_relays: string[];
        };
        /**
         * @description Reusable handshakes and logins.
         */
        KeyHandshakeList: {
            /** @description The handshakes, oldest first. */
            handshakes: components["schemas"]["ReusableHandshake"][];
            /** @description The `after` for the next page; `null` if this is the last one. A page may have fewer entries than `limit`, even none, and still have a `next`. */
            next?: string | null;
        };
        /**
         * @description The kind of handshake URL. Every field is optional, and so is the body.
         */
        KeyHandshakeRequest: {
            /**
             * @description Handshake only: tells the wallet that no authentication challenge follows.
             * @default false
             */
            no_request?: boolean | null;
            /**
             * Format: web-url
             * @description Where the page leads the user's browser at the end, with `stream_id` in the query. It must be under one of `pages.return_urls`. Not with `static_token`, whose page never ends.
             */
            return_url?: string | null;
            /** @description Makes the URL reusable: every user who opens it is an event on the same stream, and the same token always has the same stream and URL. Anybody who knows the token can make the URL: choose it like a name on a poster, or at random if only those who see the code may use it. */
            static_token?: string | null;
        };
        /**
         * @description A handshake that has started.
         */
        KeyHandshakeStarted: {
            /**
             * @description A page for the user's browser that shows the URL as a QR code and link.
             */
            page_url: string;
            /**
             * Format: uuid
             * @description Where to read who completed it: `GET /events/{stream_id}`.
             */
            stream_id: string;
            /**
             * @description The URL to show to the user as a QR code or link. Anybody who has it can respond in the user's place.
             */
            url: string;
        };
        /**
         * @description Rotates the secret of a key.
         */
        KeyRotation: {
            /**
             * Format: int64
             * @description How long the secret that the key has now is accepted beside the new one, in seconds; by default not at all.
             */
            overlap_seconds?: number;
        };
        /**
         * @description The state of the Lightning node that the service runs itself. All amounts are millisats.
         */
        LightningNode: {
            /** @description Its channels (`GET /wallet/channels`). */
            channels: components["schemas"]["LightningNodeChannels"];
            /** @description How many channels were closed, in all. */
            closures: components["schemas"]["LightningNodeClosures"];
            /**
             * Format: int32
             * @description The height of the last block that it has processed.
             */
            height: number;
            /**
             * Format: int64
             * @description The largest payment that it can receive without a new channel.
             */
            inbound: number;
            /**
             * @description Its public key.
             */
            node_id: string;
            /** @description Its balance on the chain. */
            on_chain: components["schemas"]["LightningNodeOnChain"];
            /** @description What is on its way. */
            pending: components["schemas"]["LightningNodePending"];
            /**
             * Format: int64
             * @description What liquidity providers have kept for opening channels, in all.
             */
            skimmed_fees: number;
            /**
             * Format: int64
             * @description When it last processed the chain, in Unix seconds; `null` before the first time.
             */
            synced_at: number | null;
            /** @description What the operator should know. */
            warnings: components["schemas"]["LightningNodeWarning"][];
        };
        /**
         * @description How many channels there are.
         */
        LightningNodeChannels: {
            /**
             * Format: int64
             * @description What all channels hold on both sides.
             */
            capacity: number;
            /**
             * @description The others: not confirmed yet, or without a connection to the peer.
             */
            unusable: number;
            /**
             * @description Those that can be used now.
             */
            usable: number;
        };
        /**
         * @description How many channels were closed.
         */
        LightningNodeClosures: {
            /**
             * Format: int64
             * @description Of those: because the service was killed between two writes.
             */
            after_kill: number;
            /**
             * Format: int64
             * @description With the peer's agreement.
             */
            cooperative: number;
            /**
             * Format: int64
             * @description By one side alone.
             */
            forced: number;
        };
        /**
         * @description A balance on the chain.
         */
        LightningNodeOnChain: {
            /**
             * Format: int64
             * @description What the node keeps for closing channels.
             */
            reserved: number;
            /**
             * Format: int64
             * @description What the node can spend.
             */
            spendable: number;
            /**
             * Format: int64
             * @description All of it, unconfirmed transactions included.
             */
            total: number;
        };
        /**
         * @description What is on its way.
         */
        LightningNodePending: {
            /**
             * Format: int64
             * @description Millisats on their way from closed channels to the chain.
             */
            closing: number;
            /**
             * Format: int64
             * @description How many payments by the service are under way.
             */
            payments: number;
            /**
             * Format: int64
             * @description Millisats, fees included, that are sent on chain by transactions in no block yet: no part of the balance any more.
             */
            sending: number;
        };
        /**
         * @description What the operator should know.
         */
        LightningNodeWarning: {
            /**
             * @description For programs: `not_running`, `not_synced`, `provider_away`, `cannot_receive`, `low_inbound`, `forced_closure` or `cannot_close`. Later versions may add codes.
             */
            code: string;
            /**
             * @description For people.
             */
            text: string;
        };
        /**
         * @description Data of `StatusUpdate` on streams of `POST /login` and `POST /authenticate-key`, and of `POST /key-handshake` (only `timeout`).
         */
        LoginData: {
            /**
             * @description The permissions that the wallet grants, in its own words; with `approved`.
             */
            granted_permissions?: string[];
            /**
             * @description The key that responded, itself or through a subkey; with `approved` and `declined`, and on streams of reusable logins always but with `user_approved`.
             */
            main_key?: string;
            /**
             * @description What the user has proven the key with, or was asked with; with `user_approved` and `approved` on streams of `POST /login`, and always on those of reusable logins: `wallet`, `extension` (NIP-07), `signer` (NIP-46) or `passkey` (WebAuthn).
             */
            method?: string;
            /** @description The reason; in the user's words with `declined`. */
            reason?: string;
            /** @description The session token of the wallet, possibly a JWT (`POST /jwt/verify`); with `approved`. */
            session_token?: string;
            /**
             * @description Grant access only on `approved`. `user_approved` is intermediate, on streams of `POST /login` with `return_url`: who the user is becomes known when your app redeems the code (`POST /login/{stream_id}/redeem`).
             */
            status: string;
        };
        /**
         * @description Who has logged in.
         */
        LoginRedeemed: {
            /**
             * @description The user's key, which they have proven: their id in your app.
             */
            main_key: string;
            /**
             * @description What they have proven it with: `wallet`, `extension` (NIP-07), `signer` (NIP-46) or `passkey` (WebAuthn).
             */
            method: string;
        };
        /**
         * @description Starts a login. Every field is optional, and so is the body.
         */
        LoginRequest: {
            /**
             * Format: web-url
             * @description Where the login page leads the user's browser at the end, with `stream_id` in the query, and with the `code` that you redeem (`POST /login/{stream_id}/redeem`). It must be under one of `pages.return_urls`, and have no fragment and no `stream_id` or `code` in its query.
             */
            return_url?: string | null;
            /** @description Makes the login reusable, for a poster, a table or a door: `url` and `page_url` are for any number of users, the same token always has the same stream and URLs, and the stream never ends. Anybody who knows the token can make `url`: choose it like a name on a poster, or at random if only those who see the code may use it. */
            static_token?: string | null;
        };
        /**
         * @description A login that has started.
         */
        LoginStarted: {
            /**
             * @description The login page: redirect the user's browser there instead of showing `url`. The page belongs to the first browser that opens it. That of a reusable login gives each browser a page of its own.
             */
            page_url: string;
            /**
             * Format: uuid
             * @description Where to read the result: `GET /events/{stream_id}`.
             */
            stream_id: string;
            /**
             * @description The URL for a wallet, to show as a QR code or link. Anybody who has it can log in in the user's place.
             */
            url: string;
        };
        /**
         * @description Mints a ticket.
         */
        MintTicketRequest: {
            /**
             * Format: int64
             * @description How much, in the unit.
             */
            amount: number;
            /**
             * Format: text
             * @description For the mint's records. At most 639 bytes of UTF-8.
             */
            description?: string;
            /**
             * Format: mint-url
             * @description The mint: an `http` or `https` URL.
             */
            mint_url: string;
            /** @description Another name for `static_token`. */
            static_auth_token?: string;
            /** @description The token by which the mint knows who may mint (header `Clear-auth`), if it wants one. */
            static_token?: string;
            /**
             * @description The unit: `sat`, or one of the mint's own, such as `multi`. Upper and lower case are the same.
             */
            unit: string;
        };
        /**
         * @description Creates an API key.
         */
        NewKeyRequest: {
            /**
             * Format: millisats
             * @description Most millisats that it may send within 24 hours, fees included, beside `wallet.daily_budget_millisats`. By default, only that limits it.
             */
            daily_budget_millisats?: number;
            /**
             * Format: unix-time
             * @description Unix seconds from which it is not accepted any more. By default it does not expire.
             */
            expires_at?: number;
            /**
             * Format: one-line
             * @description What you call it, on one line.
             */
            name: string;
            /** @description The networks from which it is accepted, at most 32, in CIDR notation or as single addresses, as the service sees its clients (`info.trusted_proxies`). By default all. */
            networks?: string[];
            /**
             * @description Whether it sees only the streams that it has started. By default it sees all.
             * @default false
             */
            own_streams_only?: boolean;
            /**
             * Format: int64
             * @description Most requests per second, in a burst of as many. By default only `limits.requests_per_second` limits it.
             */
            requests_per_second?: number;
            /** @description What it may do: at most 100 scopes (docs/keys.md says which endpoint needs which). */
            scopes: ("login" | "payments:receive" | "payments:send" | "subscriptions" | "tickets" | "verification" | "events:read" | "approvals" | "relays" | "admin")[];
        };
        /**
         * @description The key of a NIP-05 identifier.
         */
        Nip05: {
            /** @description The key. */
            pubkey: string;
            /** @description The user's relays according to the domain. */
            relays: string[];
        };
        /**
         * @description What a user agreed to give an app.
         */
        OidcConsent: {
            /**
             * Format: int64
             * @description When the user last agreed, in Unix seconds.
             */
            agreed_at: number;
            /** @description The app, as in `oidc.clients`. It may have been removed there. */
            client_id: string;
            /** @description The user. */
            main_key: string;
            /** @description What the app may learn. */
            scopes: string[];
        };
        /**
         * @description What users agreed to give apps.
         */
        OidcConsentList: {
            /** @description The consents, in the order of `client_id` and `main_key`. */
            consents: components["schemas"]["OidcConsent"][];
            /** @description The `after` for the next page; `null` if this is the last one. */
            next?: string | null;
        };
        /**
         * @description A consent that was revoked.
         */
        OidcConsentRevoked: {
            /** @description `revoked`. */
            status: string;
        };
        /**
         * @description A key that signs ID tokens.
         */
        OidcKey: {
            /** @description `RS256` or `ES256`. */
            algorithm: string;
            /**
             * Format: int64
             * @description When it was made, in Unix seconds.
             */
            created_at: number;
            /** @description Its id: the `kid` of the ID tokens that it has signed, and in `/oauth/jwks`. */
            kid: string;
            /**
             * Format: int64
             * @description When another key took its place, in Unix seconds.
             */
            retired_at: number | null;
            /** @description `current`: it signs. `retired`: it signs no more, and is published for a day after `retired_at`. */
            status: string;
        };
        /**
         * @description The keys that sign ID tokens.
         */
        OidcKeys: {
            /** @description The keys, the newest first. */
            keys: components["schemas"]["OidcKey"][];
        };
        /**
         * @description A channel to open.
         */
        OpenChannelRequest: {
            /**
             * Format: millisats
             * @description Its capacity in millisats, a multiple of 1,000. All of it is on the service's side at first.
             */
            amount: number;
            /**
             * Format: one-line
             * @description With whom: `<node id>@<host>:<port>`. The default is `wallet.embedded.liquidity_provider`.
             */
            peer?: string;
        };
        /**
         * @description A ticket that was sent and is not known to be redeemed.
         */
        OutgoingTicket: {
            /**
             * Format: int64
             * @description Its value in the unit, as the token states it.
             */
            amount: number;
            /**
             * Format: int64
             * @description When it was first sent, in Unix seconds.
             */
            created_at: number;
            /**
             * Format: int64
             * @description Until when it is sent, in Unix seconds.
             */
            expires_at: number;
            /**
             * @description The user.
             */
            main_key: string;
            /**
             * @description The mint.
             */
            mint_url: string;
            /**
             * @description `queued`: not sent yet. `sent`: it is sent again and again. `timeout`: not redeemed in time, and not sent any more. `reclaiming`: being taken back.
             */
            status: string;
            /**
             * Format: uuid
             * @description Its stream.
             */
            stream_id: string;
            /**
             * @description The unit.
             */
            unit: string;
        };
        /**
         * @description Tickets that were sent.
         */
        OutgoingTicketList: {
            /** @description The `after` for the next page; `null` if this is the last one. A page may have fewer entries than `limit`, even none, and still have a `next`. */
            next?: string | null;
            /** @description The tickets, oldest first. */
            outgoing: components["schemas"]["OutgoingTicket"][];
        };
        /**
         * @description Passkeys that were forgotten.
         */
        PasskeysForgotten: {
            /**
             * @description The user.
             */
            main_key: string;
            /**
             * @description How many.
             */
            passkeys: number;
            /**
             * @description `forgotten`.
             */
            status: string;
        };
        /**
         * @description Has an invoice paid.
         */
        PayInvoiceRequest: {
            /**
             * Format: millisats
             * @description Millisats; must be the amount of the invoice.
             */
            amount?: number;
            /**
             * @description `millisats`, in either case.
             */
            currency?: string;
            /**
             * Format: text
             * @description What the payment is for, as the user sees it; by default the description in the invoice. At most 639 bytes of UTF-8.
             */
            description?: string;
            /**
             * Format: unix-time
             * @description Unix seconds until which the user can pay, or until which the Lightning backend is asked to: at most 24 hours ahead, by default five minutes, and never later than the expiry of the invoice.
             */
            expires_at?: number;
            /**
             * Format: bolt11
             * @description A BOLT 11 invoice with an amount that has not expired, was not paid before, and is for `wallet.network`; also as wallets copy it: `lightning:…`, `bitcoin:…?lightning=…`, in upper case, with line breaks.
             */
            invoice: string;
            /**
             * Format: nostr-public-key
             * @description The user who is asked to pay: 64 hex characters. Without it, the service's Lightning backend pays.
             */
            main_key?: string;
            /**
             * Format: identifier
             * @description Your own reference, repeated in the events.
             */
            request_id?: string;
            /** @description Keys that may respond for `main_key` without a proof of delegation; at most 8. */
            subkeys?: string[];
        };
        /**
         * @description Data of `StatusUpdate` on streams of payments, and of requests for invoices and subscriptions that failed.
         */
        PaymentData: {
            /**
             * Format: int64
             * @description If requested in another currency than millisats, or at a payment link: the amount, in the currency's minor unit.
             */
            amount?: number;
            /**
             * Format: int64
             * @description If requested in another currency than millisats, or at a payment link: what was asked for, in millisats. With `txid`: what the payee gets.
             */
            amount_millisats?: number;
            /**
             * Format: int64
             * @description With `skimmed_fee`: millisats that the service received.
             */
            amount_received?: number;
            /**
             * @description On the stream of a payment link: what the payer wrote.
             */
            comment?: string;
            /** @description If requested in another currency than millisats, or at a payment link: the currency. */
            currency?: string;
            /**
             * Format: int64
             * @description With `paid` by the Lightning backend, and with `sending`: fees in millisats.
             */
            fees_paid?: number;
            /** @description With `error`, if the Lightning backend may have paid, or been paid: whether it is certain that nothing was paid. */
            outcome?: string;
            /**
             * Format: int64
             * @description If `paid` may still follow, because money may still arrive: until when, in Unix seconds.
             */
            paid_late_until?: number;
            /**
             * Format: uuid
             * @description On the stream of a payment link: the payment, as `GET /payments` lists it.
             */
            payment_id?: string;
            /**
             * @description With `paid`: the proof, whose hash is the payment hash of the invoice; if the Lightning backend tells it.
             */
            preimage?: string;
            /** @description If requested in another currency than millisats: at which rate. */
            rate?: components["schemas"]["AppliedRate"];
            /** @description The reason; in the user's words with `user_rejected` and `user_failed`. */
            reason?: string;
            /** @description Your own reference. */
            request_id?: string;
            /**
             * Format: int64
             * @description With `paid`: millisats that a liquidity provider kept, for example for a channel that it opened. The user paid both.
             */
            skimmed_fee?: number;
            /**
             * @description `approval_required`, `user_approved`, `user_failed` and `sending` are intermediate, the others final; `paid` may still follow them.
             */
            status: string;
            /** @description The subscription that the payment is for. */
            subscription_id?: string;
            /**
             * @description With `sending` and `paid` on chain: the transaction's id.
             */
            txid?: string;
        };
        /**
         * @description A payment link.
         */
        PaymentLink: {
            /**
             * Format: int64
             * @description What each payer pays, in millisats or in the minor unit of `currency`.
             */
            amount?: number;
            /**
             * Format: int64
             * @description When it was created, in Unix seconds.
             */
            created_at: number;
            /**
             * @description `millisats`, or the currency.
             */
            currency: string;
            /**
             * @description What the payments are for.
             */
            description: string;
            /**
             * Format: int64
             * @description Unix seconds from which no more invoices are given out.
             */
            expires_at?: number;
            /**
             * @description The same for wallets (LNURL-pay).
             */
            lnurl: string;
            /**
             * Format: int64
             * @description The most that a payer may choose.
             */
            max?: number;
            /**
             * Format: int32
             * @description After how many payments no more invoices are given out.
             */
            max_payments?: number;
            /**
             * Format: int64
             * @description The least that a payer may choose.
             */
            min?: number;
            /**
             * @description Its page.
             */
            page_url: string;
            /**
             * Format: int64
             * @description How many payments were made.
             */
            payments: number;
            /**
             * @description Your own reference.
             */
            request_id?: string;
            /**
             * @description `open`, `closed`, `expired` (`expires_at`) or `completed` (`max_payments`).
             */
            status: string;
            /**
             * Format: uuid
             * @description Where to read its events: `GET /events/{stream_id}`.
             */
            stream_id: string;
        };
        /**
         * @description A closed payment link.
         */
        PaymentLinkClosed: {
            /**
             * @description `closed`.
             */
            status: string;
            /**
             * Format: uuid
             */
            stream_id: string;
        };
        /**
         * @description A payment link.
         */
        PaymentLinkCreated: {
            /**
             * @description The same for wallets (LNURL-pay), for a QR code: in upper case the code is smaller.
             */
            lnurl: string;
            /**
             * @description A page at which anybody who has its address can pay, as often as they like.
             */
            page_url: string;
            /**
             * Format: uuid
             * @description Where to read its events: `GET /events/{stream_id}`.
             */
            stream_id: string;
        };
        /**
         * @description Payment links.
         */
        PaymentLinkList: {
            /** @description The links, oldest first. */
            links: components["schemas"]["PaymentLink"][];
            /** @description The `after` for the next page; `null` if this is the last one. A page may have fewer entries than `limit`, even none, and still have a `next`. */
            next?: string | null;
        };
        /**
         * @description Creates a payment link: either with `amount`, or with `min` and `max`.
         */
        PaymentLinkRequest: {
            /**
             * Format: millisats
             * @description What each payer pays, in millisats or in the minor unit of `currency`, such as cents.
             */
            amount?: number;
            /**
             * Format: currency
             * @description `millisats` (default), or the code of a currency (ISO 4217) that `rates.currencies` lists; in either case. What a payment comes to in millisats is fixed when its payer asks for the invoice, and rounded up to a whole sat.
             */
            currency?: string;
            /**
             * Format: text
             * @description What the payments are for; payers and their wallets show it. At most 639 bytes of UTF-8 (BOLT 11).
             */
            description: string;
            /**
             * Format: unix-time
             * @description Unix seconds from which no more invoices are given out. By default, the link is open until it is closed.
             */
            expires_at?: number;
            /**
             * Format: millisats
             * @description The most that a payer may choose, as `amount` counts; with `min`. A payment may come to at most `limits.max_amount_millisats`.
             */
            max?: number;
            /**
             * Format: int64
             * @description After how many payments no more invoices are given out.
             */
            max_payments?: number;
            /**
             * Format: millisats
             * @description The least that a payer may choose, as `amount` counts; with `max`.
             */
            min?: number;
            /**
             * Format: identifier
             * @description Your own reference, repeated in the events.
             */
            request_id?: string;
            /**
             * Format: web-url
             * @description Where the page of a payment leads the payer's browser at the end, with the link's `stream_id` and the payment's `payment_id` in the query. It must be under one of `pages.return_urls`.
             */
            return_url?: string;
        };
        /**
         * @description Payments.
         */
        PaymentList: {
            /** @description The `after` for the next page; `null` if this is the last one. */
            next?: string | null;
            /** @description The payments, in the order in which they were requested. */
            payments: components["schemas"]["BookedPayment"][];
        };
        /**
         * @description A payment that has started.
         */
        PaymentStarted: {
            /**
             * Format: int64
             * @description If requested in another currency than millisats: the amount, in the currency's minor unit.
             */
            amount?: number;
            /**
             * Format: int64
             * @description If requested in another currency than millisats: what the invoice is for, in millisats.
             */
            amount_millisats?: number;
            /**
             * @description If requested in another currency than millisats: the currency.
             */
            currency?: string;
            /**
             * @description A page for the payer's browser, on which the invoice can be paid with any Lightning wallet. Anybody who has it can pay.
             */
            page_url: string;
            /** @description If requested in another currency than millisats: at which rate. */
            rate?: components["schemas"]["AppliedRate"];
            /**
             * Format: uuid
             * @description Where to read its events: `GET /events/{stream_id}`.
             */
            stream_id: string;
        };
        /**
         * @description The former secret of a key that was rotated.
         */
        PreviousSecret: {
            /**
             * Format: int64
             * @description Until when it is accepted, in Unix seconds.
             */
            accepted_until: number;
            /**
             * Format: int64
             * @description When it was used last, in Unix seconds.
             */
            last_used_at?: number;
        };
        /**
         * @description An operation that has started, with its price.
         */
        PricedStreamStarted: {
            /**
             * Format: int64
             * @description If requested in another currency than millisats: the amount, in the currency's minor unit.
             */
            amount?: number;
            /**
             * Format: int64
             * @description If requested in another currency than millisats: what it came to now, in millisats.
             */
            amount_millisats?: number;
            /**
             * @description If requested in another currency than millisats: the currency.
             */
            currency?: string;
            /** @description If requested in another currency than millisats: at which rate. */
            rate?: components["schemas"]["AppliedRate"];
            /**
             * Format: uuid
             * @description Where to read its events: `GET /events/{stream_id}`.
             */
            stream_id: string;
        };
        /**
         * @description The body of every error: RFC 9457 problem details.
         */
        Problem: {
            code: components["schemas"]["ErrorCode"];
            /**
             * @description What happened, for people.
             */
            detail: string;
            /** @description All invalid fields; only with `invalid_request`. */
            errors?: components["schemas"]["FieldError"][];
            /**
             * @description The `X-Request-Id` of the request: quote it when you report a problem.
             */
            request_id: string;
            /**
             * Format: int32
             * @description The HTTP status.
             */
            status: number;
            /**
             * @description The kind of error for people; the same for every occurrence.
             */
            title: string;
            /**
             * @description The kind of error: `urn:usher:error:` and the `code`.
             */
            type: string;
        };
        /**
         * @description A profile. Its texts come from an untrusted source: they have one line each, no control characters, and a limited length.
         */
        Profile: {
            /** @description A short description. */
            about: string | null;
            /** @description The name to display. */
            display_name: string | null;
            /** @description The id of the Nostr event with the profile. */
            id: string;
            /** @description User name, without spaces. */
            name: string | null;
            /** @description Identifier `name@domain`, only if the domain confirms it. */
            nip05: string | null;
            /** @description `https` or `http` URL of a picture. It is untrusted. */
            picture: string | null;
            /** @description The key of the user. */
            pubkey: string;
        };
        /**
         * @description The service's own profile. A field that is missing or `null` is removed from it.
         */
        ProfileRequest: {
            /**
             * Format: one-line
             * @description A short description, on one line.
             */
            about?: string | null;
            /**
             * Format: one-line
             * @description The name to display, on one line.
             */
            display_name?: string | null;
            /**
             * Format: one-line
             * @description User name, without spaces.
             */
            name?: string | null;
            /**
             * Format: nip05
             * @description Identifier `name@domain`. The domain must serve the response of `GET /.well-known/nostr.json` of this service.
             */
            nip05?: string | null;
            /**
             * Format: web-url
             * @description `https` or `http` URL of a picture.
             */
            picture?: string | null;
        };
        /**
         * @description Whether the service, and each of its parts, can work.
         */
        Ready: {
            /** @description `active`, or `standby` when another instance is active and has answered: docs/instances.md. */
            instance: string;
            /** @description The exchange rates. Without one only requests with amounts in its currency fail, so they do not affect `ready` of the service. */
            rates: components["schemas"]["ReadyRates"];
            /** @description Whether the service can work. */
            ready: boolean;
            /** @description The operator's relays: one connected relay is enough. */
            relays: components["schemas"]["ReadyRelays"];
            /** @description The database: it was read and written for this response. */
            store: components["schemas"]["ReadyStore"];
            /** @description The mints. A mint that is away holds up only its own tickets, so it does not affect `ready` of the service. */
            tickets: components["schemas"]["ReadyTickets"];
            /** @description The Lightning backend. Without it only payments fail, so it does not affect `ready` of the service. `none` is always ready. */
            wallet: components["schemas"]["ReadyWallet"];
        };
        /** @description A mint. It is not asked for this response. */
        ReadyMint: {
            /**
             * @description Its address.
             */
            mint_url: string;
            /** @description Whether it responded to the last request, other than with a server error; `null` when none was sent since the start. */
            responds?: boolean | null;
            /** @description How many jobs (to mint, redeem, verify or withdraw) are not finished. They continue on their own. */
            unfinished_jobs: number;
        };
        /**
         * @description The exchange rate of a currency.
         */
        ReadyRate: {
            /**
             * @description The code of the currency.
             */
            currency: string;
            /** @description Why there is no rate now. */
            problem?: string | null;
            /** @description The sources that may have it. */
            sources: components["schemas"]["ReadyRateSource"][];
        };
        /**
         * @description A source of an exchange rate. It is not asked for this response.
         */
        ReadyRateSource: {
            /**
             * Format: int64
             * @description How many seconds ago its last price was read; `null` if it has had none since the start.
             */
            age_seconds?: number | null;
            /**
             * @description Its name: that of the preset, or the host.
             */
            name: string;
            /** @description Why its last response was of no use, or why it is left out. */
            problem?: string | null;
        };
        /**
         * @description The exchange rates.
         */
        ReadyRates: {
            /** @description The configured currencies (`rates.currencies`). */
            currencies: components["schemas"]["ReadyRate"][];
            /** @description Whether there is a rate of every configured currency. */
            ready: boolean;
        };
        /** @description The operator's relays. */
        ReadyRelays: {
            /** @description How many are connected. */
            connected: number;
            ready: boolean;
            /** @description How many relays there are. */
            total: number;
        };
        /** @description The database. */
        ReadyStore: {
            /** @description The first 100 damaged rows. */
            damaged: components["schemas"]["DamagedRow"][];
            /** @description How many rows are damaged and were set aside. Nothing else is affected, so they do not affect `ready`. */
            damaged_rows: number;
            ready: boolean;
        };
        /** @description The mints. */
        ReadyTickets: {
            /** @description The first 100 mints at which the service has a balance or unfinished jobs, those that do not respond first. */
            mints: components["schemas"]["ReadyMint"][];
            /** @description Whether no mint failed to respond to the last request. */
            ready: boolean;
        };
        /** @description The Lightning backend. */
        ReadyWallet: {
            /** @description Which one. */
            backend: string;
            ready: boolean;
            /** @description What its operator should know: `disputed_settlements` while it reports payments as received whose proof or amount is wrong; if the service runs it itself, also the codes of the `warnings` of `GET /wallet/info`. */
            warnings: string[];
        };
        /**
         * @description The receipt of a payment.
         */
        Receipt: {
            /**
             * Format: int64
             * @description The price in the minor unit of `currency`. Missing, with `currency` and `rate`, if it was requested in millisats.
             */
            amount?: number;
            /**
             * Format: int64
             * @description What was requested and paid, in millisats.
             */
            amount_millisats: number;
            /**
             * @description The currency (ISO 4217).
             */
            currency?: string;
            /**
             * @description What it was for.
             */
            description: string;
            /**
             * Format: int64
             * @description When it was paid, in Unix seconds.
             */
            paid_at: number;
            /**
             * @description The payment hash of the invoice. The payer's wallet has its preimage as proof.
             */
            payment_hash?: string;
            /** @description The rate at which it was priced. */
            rate?: components["schemas"]["AppliedRate"];
            /**
             * @description Your own reference.
             */
            request_id?: string;
            /**
             * Format: uuid
             * @description The payment's stream: the number of the receipt.
             */
            stream_id: string;
        };
        /**
         * @description What it costs to receive a payment.
         */
        ReceivingCost: {
            /**
             * Format: int64
             * @description What the provider would keep of the payment for that, in millisats.
             */
            opening_fee: number;
            /**
             * @description Whether the liquidity provider would open a channel for it.
             */
            opens_channel: boolean;
        };
        /**
         * @description A payment to receive.
         */
        ReceivingCostRequest: {
            /**
             * Format: millisats
             * @description Millisats.
             */
            amount: number;
        };
        /**
         * @description Takes back a ticket that was sent.
         */
        ReclaimTicketRequest: {
            /** @description Another name for `static_token`. */
            static_auth_token?: string;
            /** @description The token by which the mint knows who may use it (header `Clear-auth`), if it wants one. */
            static_token?: string;
        };
        /** @description When, and how often, a subscription is paid. */
        Recurrence: {
            /**
             * @description When the payments after the first are due.
             */
            calendar: string;
            /**
             * Format: unix-time
             * @description Unix seconds of the first payment; may be now.
             */
            first_payment_due: number;
            /**
             * Format: int64
             * @description After how many payments the subscription ends.
             */
            max_payments?: number;
            /**
             * Format: unix-time
             * @description Unix seconds after which no payment is due.
             */
            until?: number;
        };
        /**
         * @description Asks a user to agree to a subscription.
         */
        RecurringPaymentRequest: {
            /**
             * Format: millisats
             * @description Of each payment: in millisats, or in the minor unit of `currency`, such as cents. It may come to at most `limits.max_amount_millisats`.
             */
            amount: number;
            /**
             * @description Whether the service asks for each due payment, from `first_payment_due` on, or from the last due date before the user agreed. It reports each on the stream `subscriptions`. Needs a Lightning backend.
             * @default false
             */
            auto_charge?: boolean;
            /**
             * Format: currency
             * @description `millisats`, or the code of a currency (ISO 4217) that `rates.currencies` lists; in either case. What `amount` comes to in millisats is then fixed anew for each payment, and rounded up to a whole sat.
             */
            currency: string;
            /**
             * Format: text
             * @description What the subscription is for. At most 639 bytes of UTF-8.
             */
            description: string;
            /**
             * Format: unix-time
             * @description Unix seconds until which the user can respond: in the future, within a year, and not after `recurrence.until`.
             */
            expires_at: number;
            /**
             * Format: nostr-public-key
             * @description Who pays: 64 hex characters.
             */
            main_key: string;
            /**
             * Format: millisats
             * @description Only with another `currency` than millisats: the most that each payment may come to, in millisats. This is what the user is asked to authorize; an automatic charge that comes to more fails. By default twice what `amount` comes to now.
             */
            max_amount_millisats?: number;
            /**
             * Format: millisats
             * @description The least that the user must authorize for each payment, in millisats; by default what `amount` comes to now. A subscription for less is closed at once, and the stream gets `user_rejected` with the reason.
             */
            minimum_amount?: number;
            /** @description When, and how often, the user pays. */
            recurrence: components["schemas"]["Recurrence"];
            /**
             * Format: identifier
             * @description Your own reference, repeated in the events.
             */
            request_id?: string;
            /** @description Keys that may respond for it without a proof of delegation; usually none, at most 8. */
            subkeys: string[];
        };
        /**
         * @description Redeems the code of a login.
         */
        RedeemLoginRequest: {
            /** @description `code` in the query with which the login page has led the user's browser to your `return_url`. Any text may be sent; one that is not the code of this login is a 409. */
            code: string;
        };
        /**
         * @description Pays a payment back.
         */
        RefundRequest: {
            /**
             * Format: millisats
             * @description Millisats. By default all that was paid and is not refunded yet.
             */
            amount?: number;
            /**
             * Format: unix-time
             * @description Unix seconds until which the payer can name an invoice: at most 30 days ahead, by default seven days.
             */
            expires_at?: number;
            /**
             * Format: identifier
             * @description Your own reference, repeated in the events.
             */
            request_id?: string;
        };
        /**
         * @description A refund that has started.
         */
        RefundStarted: {
            /**
             * @description A page for the payer's browser, on which they name an invoice. Anybody who has it can have the money paid to themselves.
             */
            page_url: string;
            /**
             * Format: uuid
             * @description Where to read its events: `GET /events/{stream_id}`.
             */
            stream_id: string;
        };
        /**
         * @description A relay and the state of its connection.
         */
        Relay: {
            /** @description Why it is connected: `configured` or `added` (at run time) by the operator; `user` while the service waits for that user's reply. */
            origin: string;
            /** @description Events waiting to be sent to it. */
            queued: number;
            /** @description Why it is disconnected, or what it refuses, in the relay's own words. API keys learn no more of an added relay than that it cannot be reached. */
            reason: string | null;
            /** @description Its address, normalised: scheme and host in lower case, no default port, no slash for an empty path. */
            relay: string;
            /**
             * Format: int64
             * @description Since when it has this status, in Unix seconds.
             */
            since: number | null;
            /** @description `connecting` (the first time), `connected`, or `disconnected` (with further attempts at growing intervals). */
            status: string;
            /** @description Whether it has confirmed the service's relay subscription: what wallets send there arrives. */
            subscribed: boolean;
        };
        /**
         * @description A relay that was removed.
         */
        RelayRemoved: {
            /** @description Its address, normalised. */
            relay: string;
            /** @description `removed`. */
            status: string;
        };
        /**
         * @description Names a relay.
         */
        RelayRequest: {
            /**
             * Format: relay-url
             * @description Its address: `wss://…`, or `ws://…` in a network of your own.
             */
            relay: string;
        };
        /**
         * @description All relays to which the service is or wants to be connected.
         */
        Relays: {
            /** @description The service's own relays in the order of handshake URLs, then those of users. */
            relays: components["schemas"]["Relay"][];
        };
        /**
         * @description A remote signer that was forgotten.
         */
        RemoteSignerForgotten: {
            /**
             * @description The user.
             */
            main_key: string;
            /**
             * @description `forgotten`.
             */
            status: string;
        };
        /**
         * @description A reusable handshake or login.
         */
        ReusableHandshake: {
            /**
             * Format: int64
             * @description How many scans of `url` were accepted. Of a handshake, these are the events of its stream.
             */
            accepted: number;
            /**
             * Format: int64
             * @description When it was opened, in Unix seconds.
             */
            created_at: number;
            /**
             * @description Whether it is a login (`POST /login`): users who scan it are challenged.
             */
            login: boolean;
            /**
             * @description Whether it tells wallets that no authentication challenge follows.
             */
            no_request: boolean;
            /**
             * Format: int64
             * @description How many scans, and logins begun on a reusable login's page, its limits refused since the service started.
             */
            refused: number;
            /**
             * @description The token it was opened with.
             */
            static_token: string;
            /**
             * Format: uuid
             * @description Where to read who completed it: `GET /events/{stream_id}`.
             */
            stream_id: string;
            /**
             * @description The URL that users scan. It names the service's current relays.
             */
            url: string;
        };
        /**
         * @description Names a consent.
         */
        RevokeOidcConsentRequest: {
            /** @description The app, as in `oidc.clients`. */
            client_id: string;
            /**
             * Format: nostr-public-key
             * @description The user.
             */
            main_key: string;
        };
        /**
         * @description Has no fields.
         */
        RotateOidcKeysRequest: Record<string, never>;
        /**
         * @description What a key may do. Each allows exactly what it says: none includes another.
         * @enum {string}
         */
        Scope: "login" | "payments:receive" | "payments:send" | "subscriptions" | "tickets" | "verification" | "events:read" | "approvals" | "relays" | "admin";
        /**
         * @description Sends money on chain.
         */
        SendOnChainRequest: {
            /**
             * Format: one-line
             * @description A Bitcoin address on `wallet.network`.
             */
            address: string;
            /** @description Millisats that arrive there, a multiple of 1,000; the miner fee comes on top. Or `all`: all that the node can spend, less the fee. */
            amount: number | string;
            /**
             * Format: int64
             * @description Sats per virtual byte. By default what the chain source names for a block within an hour.
             */
            fee_rate?: number;
            /**
             * Format: identifier
             * @description Your own reference, repeated in the events.
             */
            request_id?: string;
        };
        /**
         * @description Sends a ticket to a user.
         */
        SendTicketRequest: {
            /**
             * Format: nostr-public-key
             * @description Who gets it: 64 hex characters. Required, here or as `recipient_key`.
             */
            main_key?: string;
            /**
             * Format: nostr-public-key
             * @description Another name for `main_key`.
             */
            recipient_key?: string;
            /**
             * Format: identifier
             * @description Your own reference, repeated in the events.
             */
            request_id?: string;
            /** @description Keys of the user's devices that get it, too; usually none, at most 8. */
            subkeys: string[];
            /**
             * Format: cashu-token
             * @description The token, of any mint and unit. A message has room for 40,000 bytes.
             */
            token: string;
        };
        /**
         * @description Asks for a payment.
         */
        SinglePaymentRequest: {
            /**
             * Format: millisats
             * @description In millisats, or in the minor unit of `currency`, such as cents. It may come to at most `limits.max_amount_millisats`.
             */
            amount: number;
            /**
             * Format: currency
             * @description `millisats`, or the code of a currency (ISO 4217) that `rates.currencies` lists; in either case. What `amount` comes to in millisats is fixed now, and rounded up to a whole sat.
             */
            currency: string;
            /**
             * Format: text
             * @description What the payment is for; the invoice contains it. At most 639 bytes of UTF-8 (BOLT 11).
             */
            description: string;
            /**
             * Format: unix-time
             * @description Unix seconds until which the user can pay: at most 24 hours ahead, by default five minutes.
             */
            expires_at?: number;
            /**
             * Format: nostr-public-key
             * @description The user who is asked to pay: 64 hex characters. Without it no wallet is asked: anybody who opens the page or has the invoice can pay.
             */
            main_key?: string;
            /**
             * Format: identifier
             * @description Your own reference, repeated in the events.
             */
            request_id?: string;
            /**
             * Format: web-url
             * @description Where the payment page leads the user's browser at the end, with `stream_id` in the query. It must be under one of `pages.return_urls`.
             */
            return_url?: string;
            /** @description Keys that may respond for `main_key` without a proof of delegation; usually none, at most 8. */
            subkeys?: string[];
            /**
             * Format: identifier
             * @description An active subscription of the same `main_key`: the payment is checked against what the user authorized, and counted.
             */
            subscription_id?: string;
        };
        /**
         * @description An operation that has started.
         */
        StreamStarted: {
            /**
             * Format: uuid
             * @description Where to read its events: `GET /events/{stream_id}`.
             */
            stream_id: string;
        };
        /**
         * @description A closed subscription.
         */
        SubscriptionClosed: {
            /**
             * @description `closed`.
             */
            status: string;
            /** @example 0b9c8a53-2d5f-4c5e-9d1c-0f3f9a8d2f10 */
            subscription_id: string;
        };
        /**
         * @description Data of `SubscriptionClosed`, on the stream `subscriptions`: the user has closed a subscription.
         */
        SubscriptionClosedData: {
            /**
             * @description The user.
             */
            main_key: string;
            /** @description Why, in the user's words. */
            reason?: string;
            /**
             * @description Which one.
             */
            subscription_id: string;
        };
        /**
         * @description Data of `Subscription`: the user has agreed to a subscription.
         */
        SubscriptionData: {
            /**
             * Format: int64
             * @description If requested in another currency than millisats: the amount of each payment, in the currency's minor unit.
             */
            amount?: number;
            /**
             * Format: int64
             * @description If requested in another currency than millisats: what the amount came to when you requested it, in millisats.
             */
            amount_millisats?: number;
            /**
             * Format: int64
             * @description The most of each payment in millisats, as the user authorized: requests for more are refused.
             */
            authorized_amount: number;
            /**
             * @description `millisats`.
             */
            authorized_currency: string;
            /** @description When, and how often, it is paid. */
            authorized_recurrence: components["schemas"]["AuthorizedRecurrence"];
            /**
             * @description Whether the service asks for each due payment.
             */
            auto_charge: boolean;
            /** @description If requested in another currency than millisats: the currency. */
            currency?: string;
            /**
             * @description Who pays.
             */
            main_key: string;
            /** @description If requested in another currency than millisats: at which rate. */
            rate?: components["schemas"]["AppliedRate"];
            /** @description Your own reference. */
            request_id?: string;
            /**
             * @description `approved`.
             */
            status: string;
            /**
             * @description Its id, chosen by the user's wallet.
             */
            subscription_id: string;
        };
        /**
         * @description A subscription.
         */
        SubscriptionInfo: {
            /**
             * Format: int64
             * @description Of each payment, as you requested: millisats, or the minor unit of `currency`.
             */
            amount: number;
            /**
             * Format: int64
             * @description The most of each payment in millisats, as the user authorized: requests for more are refused.
             */
            authorized_amount: number;
            authorized_recurrence: components["schemas"]["AuthorizedRecurrence"];
            /**
             * @description Whether the service asks for each due payment.
             */
            auto_charge: boolean;
            /**
             * Format: int64
             * @description When the user agreed, in Unix seconds.
             */
            created_at: number;
            /**
             * @description `millisats`, or the code of a currency (ISO 4217).
             */
            currency: string;
            /**
             * @description What it is for.
             */
            description: string;
            /**
             * Format: int64
             * @description When it ended, in Unix seconds.
             */
            ended_at?: number | null;
            /**
             * @description Who pays.
             */
            main_key: string;
            /**
             * Format: int64
             * @description With `auto_charge`: the due date that is charged next or now, in Unix seconds.
             */
            next_payment_due?: number | null;
            /**
             * Format: int32
             * @description How many payments were made.
             */
            payments_made: number;
            /** @description Why it was closed, in the words of the user's wallet. */
            reason?: string | null;
            /** @description Your own reference. */
            request_id?: string | null;
            /**
             * @description `active`, `closed_by_user`, `closed_by_provider`, `completed` (all agreed payments were made) or `ended` (no further payment is due).
             */
            state: string;
            /**
             * @description Its id, chosen by the user's wallet.
             */
            subscription_id: string;
        };
        /**
         * @description Subscriptions.
         */
        SubscriptionList: {
            /** @description The `after` for the next page; `null` if this is the last one. A page may have fewer entries than `limit`, even none, and still have a `next`. */
            next?: string | null;
            /** @description The subscriptions, oldest first. */
            subscriptions: components["schemas"]["SubscriptionInfo"][];
        };
        /**
         * @description Data of `SubscriptionPayment`, on the stream `subscriptions`: an automatic charge succeeded or failed.
         */
        SubscriptionPaymentData: {
            /**
             * Format: int64
             * @description Millisats, or the minor unit of `currency`.
             */
            amount: number;
            /**
             * Format: int64
             * @description If requested in another currency than millisats: what the charge came to, in millisats; missing if there was no rate.
             */
            amount_millisats?: number;
            /**
             * Format: int64
             * @description The number of the attempt at this due date, from 1.
             */
            attempt: number;
            /** @description If requested in another currency than millisats: the currency. */
            currency?: string;
            /**
             * Format: int64
             * @description The due date, in Unix seconds.
             */
            due: number;
            /**
             * @description Who pays.
             */
            main_key: string;
            /**
             * Format: int64
             * @description When this due date is tried again, in Unix seconds; if missing, it is skipped.
             */
            next_attempt_at?: number;
            /**
             * Format: int64
             * @description The number of the due date, from 1.
             */
            number: number;
            /** @description With `paid`: the proof. */
            preimage?: string;
            /** @description If requested in another currency than millisats: at which rate. */
            rate?: components["schemas"]["AppliedRate"];
            /** @description Why not. */
            reason?: string;
            /**
             * @description The outcome.
             */
            status: string;
            /**
             * @description Which subscription.
             */
            subscription_id: string;
        };
        /**
         * @description A new ticket.
         */
        Ticket: {
            /**
             * @description A Cashu token (NUT-00, version 4). Anybody who has it can spend it.
             */
            token: string;
        };
        /**
         * @description What the service's own ticket wallet holds of one mint and unit.
         */
        TicketBalance: {
            /**
             * Format: int64
             * @description How much can be spent, in the unit.
             */
            amount: number;
            /**
             * @description The mint.
             */
            mint_url: string;
            /**
             * Format: int64
             * @description How much is set aside, in the unit: the mint says that it is spent, and the service has not spent it. It is not in `amount`, and comes back when the mint says that it is unspent. Left out when it is 0.
             */
            set_aside?: number | null;
            /**
             * @description The unit.
             */
            unit: string;
        };
        /**
         * @description What the service's own ticket wallet holds.
         */
        TicketBalances: {
            /** @description One entry for each mint and unit that is not empty. */
            balances: components["schemas"]["TicketBalance"][];
        };
        /**
         * @description A ticket that was redeemed.
         */
        TicketBurned: {
            /**
             * Format: int64
             * @description What the service received, in the token's unit: the token's value without the mint's fee.
             */
            amount: number;
        };
        /**
         * @description A ticket that was taken back.
         */
        TicketReclaimed: {
            /**
             * Format: int64
             * @description What the service received, in the ticket's unit: its value without the mint's fee.
             */
            amount: number;
            /**
             * @description `reclaimed`.
             */
            status: string;
            /**
             * Format: uuid
             */
            stream_id: string;
        };
        /**
         * @description Asks a user for a ticket.
         */
        TicketRequest: {
            /**
             * Format: int64
             * @description What must be left of it, in the unit, when it is redeemed, after the mint's fee. A token of less is refused.
             */
            amount: number;
            /**
             * Format: unix-time
             * @description Unix seconds until which the user can respond: at most 24 hours ahead, by default five minutes.
             */
            expires_at?: number;
            /**
             * Format: nostr-public-key
             * @description Who is asked: 64 hex characters. Required, here or as `recipient_key`.
             */
            main_key?: string;
            /**
             * Format: mint-url
             * @description The mint that the ticket must be of: an `http` or `https` URL.
             */
            mint_url: string;
            /**
             * Format: nostr-public-key
             * @description Another name for `main_key`.
             */
            recipient_key?: string;
            /**
             * @description Whether the ticket is redeemed at once: then `success` means that nobody else can use it any more, and there is no `token` in the event.
             * @default false
             */
            redeem?: boolean;
            /**
             * Format: identifier
             * @description Your own reference, repeated in the events.
             */
            request_id?: string;
            /** @description Another name for `static_token`. */
            static_auth_token?: string;
            /** @description The token by which the mint knows who may use it (header `Clear-auth`), if it wants one. */
            static_token?: string;
            /** @description Keys that may respond for it without a proof of delegation; usually none, at most 8. */
            subkeys: string[];
            /**
             * @description The unit that it must be in: `sat`, or one of the mint's own, such as `multi`.
             */
            unit: string;
        };
        /**
         * @description A ticket that is on its way.
         */
        TicketSent: {
            /**
             * @description `sent`: it is being sent. `queued`: it is stored, and will be sent as soon as a relay is connected.
             */
            status: string;
            /**
             * Format: uuid
             * @description Where to read what becomes of it: `GET /events/{stream_id}`.
             */
            stream_id: string;
        };
        /**
         * @description What was erased of a user, and what was kept.
         */
        UserErasure: {
            /** @description What was removed by this request. */
            erased: components["schemas"]["ErasedOfUser"];
            /** @description What still names the user, and why; at most about 2,000 entries. */
            kept: components["schemas"]["KeptOfUser"][];
            /** @description The user. */
            main_key: string;
            /** @description The `after` with which to continue; `null` if everything was searched. */
            next?: string | null;
        };
        /**
         * @description A session that was decided.
         */
        VerificationDecided: {
            /**
             * Format: uuid
             */
            session_id: string;
            /**
             * @description `approved` or `rejected`.
             */
            status: string;
        };
        /**
         * @description Decides an age verification session.
         */
        VerificationDecision: {
            /**
             * @description `approve`: the user is old enough. `reject`: the user is not, or has not shown it.
             */
            decision: string;
            /**
             * Format: text
             * @description With `reject`: why, for the app; at most 639 bytes of UTF-8. Do not name the user or the date of birth.
             */
            reason?: string;
        };
        /**
         * @description An age verification session that is open.
         */
        VerificationSession: {
            /**
             * @description The session's own Nostr key (NIP-19), which replies with the result.
             */
            ephemeral_npub: string;
            /**
             * Format: int64
             * @description Unix seconds until which the session can be decided.
             */
            expires_at: number;
            /**
             * Format: uuid
             * @description Its id, for `POST /verification/sessions/{session_id}/decision`.
             */
            session_id: string;
            /**
             * @description Redirect the user to this page. Anybody who has the URL can act in the user's place: do not log it.
             */
            session_url: string;
            /**
             * Format: uuid
             * @description Where to read the result: `GET /events/{stream_id}`.
             */
            stream_id: string;
        };
        /**
         * @description Opens an age verification session. Every field is optional, and so is the body.
         */
        VerificationSessionRequest: {
            /**
             * Format: web-url
             * @description Where the page leads the user's browser at the end, with `stream_id` in the query. It must be under one of `pages.return_urls`. Who has passed goes there at once, others by a button.
             */
            return_url?: string | null;
        };
        /**
         * @description Asks a user for a proof of age.
         */
        VerificationTokenRequest: {
            /**
             * Format: mint-url
             * @description The mint that the proof must be of; by default `verification.mint_url`.
             */
            mint_url?: string;
            /**
             * Format: nostr-public-key
             * @description Who is asked: 64 hex characters.
             */
            recipient_key: string;
            /** @description Keys that may respond for it without a proof of delegation; usually none, at most 8. */
            subkeys: string[];
        };
        /**
         * @description The version of the service.
         */
        Version: {
            /**
             * @description The commit it was built from.
             */
            commit: string;
            /**
             * @description The version (SemVer). A client library works with a service of the same major.minor.
             */
            version: string;
        };
        /**
         * @description The service's Lightning backend.
         */
        WalletInfo: {
            /**
             * @description Its name.
             */
            alias?: string | null;
            /**
             * @description Which backend it is: `wallet.ln_backend`.
             */
            backend: string;
            /**
             * Format: int64
             * @description What it can spend, in millisats; `null` if it does not tell. Of a node of the service: what its channels can send.
             */
            balance?: number | null;
            /**
             * @description Its network, if it tells: `bitcoin`, `testnet`, `signet` or `regtest`.
             */
            network?: string | null;
            /** @description The state of the node, if the service runs it itself (`embedded`). */
            node?: components["schemas"]["LightningNode"];
            /**
             * @description Whether it sends notifications of settlements; otherwise invoices are looked up.
             */
            notifications: boolean;
        };
        /**
         * @description Webhook deliveries.
         */
        WebhookDeliveries: {
            /** @description The deliveries, ordered by the start of their streams and, within a stream, by index. */
            deliveries: components["schemas"]["WebhookDelivery"][];
            /** @description The `after` for the next page; `null` if this is the last one. */
            next?: string | null;
        };
        /**
         * @description The delivery of an event to `webhook.url`. It identifies the event and does not contain its data: read that from the stream.
         */
        WebhookDelivery: {
            /**
             * Format: int32
             * @description How many attempts were made since it became pending.
             */
            attempts: number;
            /**
             * @description Its id, which the receiver gets as `webhook-id`.
             */
            id: string;
            /**
             * Format: int64
             * @description The event's index.
             */
            index: number;
            /**
             * Format: int64
             * @description The time of the last attempt, in Unix seconds.
             */
            last_attempt_at?: number | null;
            /**
             * @description Why the last attempt failed.
             */
            last_error?: string | null;
            /**
             * Format: int32
             * @description The HTTP status of the last attempt; `null` if there was no response.
             */
            last_status?: number | null;
            /**
             * Format: int64
             * @description The time of the next attempt, in Unix seconds; `null` if it is not pending. Earlier pending events of its stream go first.
             */
            next_attempt_at?: number | null;
            /**
             * Format: int64
             * @description When it became pending, in Unix seconds: with the event, or when it was sent again by hand.
             */
            since: number;
            /**
             * @description `pending`, `delivered` (the receiver responded 2xx), or `failed` (given up).
             */
            status: string;
            /**
             * @description The event's stream.
             */
            stream_id: string;
            /**
             * Format: int64
             * @description When the event happened, in Unix seconds.
             */
            timestamp: number;
            /**
             * @description The event's type.
             */
            type: string;
        };
        /**
         * @description An event and its stream: the same bytes at every attempt.
         */
        WebhookEvent: {
            data: components["schemas"]["EventData"];
            /**
             * Format: int64
             * @description Position in the stream, from 0, without gaps.
             */
            index: number;
            /**
             * @description The event's stream: a UUID, or `subscriptions`.
             */
            stream_id: string;
            /**
             * Format: int64
             * @description When it happened, in Unix seconds.
             */
            timestamp: number;
            /**
             * @description What kind of event it is, as in `Event`.
             */
            type: string;
        };
        /**
         * @description Names and keys (NIP-05): the service itself, and nobody else.
         */
        WellKnown: {
            /** @description Name to key. */
            names: {
                [key: string]: string;
            };
            /** @description Key to relays. */
            relays: {
                [key: string]: string[];
            };
        };
        /**
         * @description Takes a token out of the service's own balance.
         */
        WithdrawTicketRequest: {
            /**
             * Format: int64
             * @description What the token is worth, in the unit. The balance must also cover the mint's fee.
             */
            amount: number;
            /**
             * Format: mint-url
             * @description The mint: an `http` or `https` URL.
             */
            mint_url: string;
            /** @description Another name for `static_token`. */
            static_auth_token?: string;
            /** @description The token by which the mint knows who may use it (header `Clear-auth`), if it wants one. */
            static_token?: string;
            /**
             * @description The unit.
             */
            unit: string;
        };
    };
}
