// Written by scripts/generate-types.mjs from docs/openapi.json: change nothing here.

export interface components {
    schemas: {
        /** An API key, without its secret. */
        ApiKey: {
            /** When it was created, in Unix seconds. */
            created_at: number;
            /** Most millisats that it may send within 24 hours. */
            daily_budget_millisats?: number;
            /** That time has come. */
            expired: boolean;
            /** From when on it is not accepted, in Unix seconds. */
            expires_at?: number;
            /** Its id. */
            id: string;
            /** When its secret was used last, in Unix seconds. */
            last_used_at?: number;
            /** What you call it. */
            name: string;
            /** The networks from which it is accepted; all if there are none. */
            networks: string[];
            /** Whether it sees only the streams that it has started. */
            own_streams_only: boolean;
            /** After a rotation: the former secret, while it is accepted. */
            previous?: components["schemas"]["PreviousSecret"];
            /** Most requests per second. */
            requests_per_second?: number;
            /** What it may do. */
            scopes: components["schemas"]["Scope"][];
        };
        /** The keys, and the secrets of the configuration. */
        ApiKeyList: {
            /** The tokens, which may do everything, and the secrets that sign webhooks. */
            configured: components["schemas"]["ConfiguredSecret"][];
            /** The keys, the oldest first. */
            keys: components["schemas"]["ApiKey"][];
        };
        /** The key is revoked. */
        ApiKeyRevoked: {
            /** Its id. */
            id: string;
            /** `revoked`. */
            status: string;
        };
        /** A key with its new secret. */
        ApiKeyWithSecret: {
            key: components["schemas"]["ApiKey"];
            /** The secret: send it as `Authorization: Bearer`. It is shown this once, and left out of a repeated response (`Idempotency-Key`). */
            secret?: string;
        };
        /** The exchange rate at which an amount was fixed. */
        AppliedRate: {
            /** When it was read there, in Unix seconds; the oldest time of several. */
            at: number;
            /** Where it comes from. */
            source: string;
            /** The price of one bitcoin in the currency's major unit: a decimal number as text, so that nothing rounds it. */
            value: string;
        };
        /** A payment by the service that waits for an approval. */
        Approval: {
            /** Of a payment on chain: where the money goes. */
            address?: string;
            /** Millisats. */
            amount_millisats: number;
            /** Of an invoice, what the payee wrote; of a refund, what the payment was for. Without it the purpose is unknown: an invoice says nothing, or has only a hash of it. */
            description?: string;
            /** Unix seconds until which it can be approved; then it ends unpaid. */
            expires_at: number;
            /** `invoice`, `refund` or `on_chain`, as `GET /payments` has it. */
            kind: string;
            /** The largest fee, in millisats, that comes on top. */
            max_fee_millisats: number;
            /** Of an invoice: the public key of the payee's node. */
            payee?: string;
            /** Of a refund: the stream of the payment that it pays back. */
            refund_of?: string;
            /** When it was asked for, in Unix seconds. */
            requested_at: number;
            /** Who asked for it: `token`, the id of an API key, or `revoked_key` if that was revoked since. */
            requested_by: string;
            /** Its stream. */
            stream_id: string;
        };
        /** A decision that was taken. */
        ApprovalDecided: {
            /** `approve` or `decline`. */
            decision: string;
            /** The payment's stream. */
            stream_id: string;
        };
        /** Decides about a payment that waits for an approval. */
        ApprovalDecision: {
            /** `approve`: the payment begins. `decline`: it ends unpaid. */
            decision: string;
        };
        /** Payments that wait for an approval. */
        ApprovalList: {
            /** The payments, in the order in which they were requested. */
            approvals: components["schemas"]["Approval"][];
            /** The `after` for the next page; `null` if this is the last one. */
            next?: string | null;
        };
        /** An entry of the audit log. */
        AuditEntry: {
            /** What was done: an `operationId` of this document. */
            action: string;
            /** Who: `token`, or the id of a key. */
            actor: string;
            /** The address of the connection; empty if unknown. */
            address: string;
            /** When, in Unix seconds. */
            at: number;
            /** On what: `stream_id`, `amount_millisats`, and others, as text. */
            details: {
                [key: string]: string;
            };
            /** The hash that chains it to the entries before it, in hex. */
            hash: string;
            /** What came of it: `ok`, `begun` (the entry with what came of it follows), or the `code` of an error. */
            outcome: string;
            /** The `X-Request-Id` of the request. */
            request_id: string;
            /** Its number, from 1 without gaps. */
            sequence: number;
        };
        /** Who changed what. */
        AuditLog: {
            /** The entries, the oldest first. */
            entries: components["schemas"]["AuditEntry"][];
            /** The newest entry of the log: note it elsewhere; `usher audit verify --head` compares. `null`: the log is empty. */
            head?: string | null;
            /** The `after` for the next page; `null` if this is the last one. */
            next?: string | null;
        };
        /** Asks a user to prove that they hold a key. */
        AuthenticateKeyRequest: {
            /** The key to prove: 64 hex characters, from the `KeyHandshake` event. */
            main_key: string;
            /** Keys that may respond for it without a proof of delegation; usually none, at most 8. A repeated key counts once. */
            subkeys: string[];
        };
        /** When, and how often, a subscription is paid. */
        AuthorizedRecurrence: {
            /** One of the eight words, or the wallet's expansion of it in systemd's calendar form. */
            calendar: string;
            /** Unix seconds of the first payment. */
            first_payment_due: number;
            /** After how many payments it ends. */
            max_payments?: number | null;
            /** Unix seconds after which no payment is due. */
            until?: number | null;
        };
        /** A Bitcoin address of the node. */
        BitcoinAddress: {
            /** The address, on `wallet.network`. */
            address: string;
        };
        /** A payment that the service received or made. */
        BookedPayment: {
            /** The price in the minor unit of `currency`. Missing, with `currency` and `rate`, if it was requested in millisats. */
            amount?: number;
            /** What was requested, in millisats. */
            amount_millisats: number;
            /** When it last changed, in Unix seconds; of a payment that is `paid`, when it was. */
            changed_at: number;
            /** When it was requested, in Unix seconds. */
            created_at: number;
            /** The currency (ISO 4217). */
            currency?: string;
            /** What it is for; of a payment on chain the address. */
            description: string;
            /** `in`: to the service. `out`: by the service's Lightning backend. */
            direction: string;
            /** What the liquidity provider kept of a payment that arrived, or what routing or the miners cost. Missing if there is none, or it is not known. */
            fee_millisats?: number;
            /** `payment`: `POST /payments/single`. `charge`: a due date of a subscription. `invoice`: an invoice that the Lightning backend pays, for `POST /invoices/pay` or for tickets. `refund`: `POST /payments/{stream_id}/refund`. `on_chain`: `POST /wallet/send`. */
            kind: string;
            /** The payment hash of its invoice. Missing before there is one. */
            payment_hash?: string;
            /** The rate at which it was priced. */
            rate?: components["schemas"]["AppliedRate"];
            /** The stream of the payment that it pays back. */
            refund_of?: string;
            /** Your own reference. */
            request_id?: string;
            /** What has arrived, or was paid without `fee_millisats`. Missing unless it is `paid`. */
            settled_millisats?: number;
            /** `open`; `paid`; `not_paid`: it has ended, and may still become `paid` while money can arrive; `unknown`: it has ended, and nobody knows whether it was paid. */
            status: string;
            /** Its stream. */
            stream_id: string;
            /** The id of the transaction of a payment on chain. Missing before there is one. */
            txid?: string;
        };
        /** Redeems a ticket. */
        BurnTicketRequest: {
            /** The mint that the token must be of: an `http` or `https` URL. */
            mint_url: string;
            /** Another name for `static_token`. */
            static_auth_token?: string;
            /** The token by which the mint knows who may use it (header `Clear-auth`), if it wants one. */
            static_token?: string;
            /** The token: version 3 (`cashuA…`) or 4 (`cashuB…`), also as a `cashu:` URI. */
            token: string;
            /** The unit that it must be in. */
            unit: string;
        };
        /** The next occurrence of a calendar. */
        CalendarNextOccurrence: {
            /** Unix seconds, always after `from`; `null` if there is no occurrence before the year 2200. */
            next_occurrence: number | null;
        };
        /** A calendar, and a time. */
        CalendarNextOccurrenceRequest: {
            /** One of `minutely`, `hourly`, `daily`, `weekly`, `monthly`, `quarterly`, `semiannually`, `yearly`; or the systemd form to which wallets expand them, `[weekdays ]year-month-day hour:minute:second[ timezone]`, for example `Mon..Fri *-*-01,15 09:00:00 Europe/Rome`. The default time zone is UTC. */
            calendar: string;
            /** Unix seconds. */
            from: number;
        };
        /** Data of `CashuResponse`: the result of a ticket request, of a verification or of a ticket that was sent. */
        CashuResponseData: {
            /** With `success` of a request: what you get in `unit`, after the mint's fees: with `redeem` you have it, without it `POST /cashu/burn` gives it. With `success` of a verification: what the proof contains. */
            amount?: number;
            /** The mint. */
            mint_url?: string;
            /** Of a verification session: whether the user has passed, also when no proof could be issued. */
            passed?: boolean;
            /** The reason; in the user's words with `rejected`. */
            reason?: string;
            /** Your own reference. */
            request_id?: string;
            /** `success` is reported only for a token that the mint has confirmed, or, for a ticket that was sent, when the mint says that it is spent. */
            status: string;
            /** With `success` of a request without `redeem`, and of a verification: the token (NUT-00). Anybody who has it can spend it: redeem it at once. */
            token?: string;
            /** The unit. */
            unit?: string;
        };
        /** Data of `StatusUpdate` on streams of tickets: they ended without a result. */
        CashuStatusData: {
            /** Why. */
            reason?: string;
            /** Your own reference. */
            request_id?: string;
            /** `timeout`: nobody answered, or redeemed the ticket, in time. `error`: the reason says why. A `CashuResponse` `success` may still follow. */
            status: string;
            /** With `error`: a token that the user has given away, that was not confirmed, and that may be worth something. Return it, or try to redeem it later. */
            token?: string;
        };
        /** A channel. All amounts are millisats. */
        Channel: {
            /** What both sides hold together. */
            capacity: number;
            /** Its id. */
            channel_id: string;
            /** The output that holds its money: `<transaction id>:<index>`; `null` before its funding transaction is made. */
            funding: string | null;
            /** What can be received over it. */
            inbound: number;
            /** Whether the service opened it; otherwise the peer did. */
            opened_by_service: boolean;
            /** What can be sent over it. */
            outbound: number;
            /** The peer's public key. */
            peer: string;
            /** Where the peer was last reached. */
            peer_address: string | null;
            /** Whether its funding transaction is confirmed, or the service trusts the peer not to take it back. */
            ready: boolean;
            /** Whether payments can pass now. */
            usable: boolean;
        };
        /** A channel that is being closed. */
        ChannelClosing: {
            /** `closing`: its money is in the node's on-chain balance once the closing transaction is confirmed. */
            status: string;
        };
        /** A channel that was requested. */
        ChannelOpening: {
            /** The peer's public key. */
            peer: string;
            /** `opening` until the funding transaction is confirmed, then `open`; `closed` if it was closed again, or the peer refused it. */
            status: string;
        };
        /** The channels of the node. */
        Channels: {
            channels: components["schemas"]["Channel"][];
        };
        /** How to close a channel. */
        CloseChannelRequest: {
            /**
             * Without the peer's agreement. The money is locked for days, and the fees are higher: only for a peer that does not come back.
             * @default false
             */
            force?: boolean;
        };
        /** Closes a subscription. */
        CloseSubscriptionRequest: {
            /** Whose subscription it is: 64 hex characters. */
            main_key: string;
            /** Keys of the user's devices, at most 8. The wallets that agreed are notified in any case. */
            subkeys: string[];
            /** The subscription. */
            subscription_id: string;
        };
        /** A secret of the configuration. */
        ConfiguredSecret: {
            /** When it was used last since the service started, in Unix seconds; of a webhook's secret also since it was read anew (`SIGHUP`). */
            last_used_at?: number;
            /** Its setting: `auth.auth_token`, `webhook.secret`, and during a rotation `auth.previous_token`, `webhook.previous_secret`. */
            setting: string;
        };
        /** Has no fields. */
        CreateAddressRequest: Record<string, never>;
        /** The price of one bitcoin. */
        CurrentRate: {
            /** When it was read there, in Unix seconds; the oldest time of several. */
            at: number;
            /** The code of the currency (ISO 4217). */
            currency: string;
            /** Where it comes from. */
            source: string;
            /** The price of one bitcoin in the currency's major unit: a decimal number as text, so that nothing rounds it. */
            value: string;
        };
        /** A row of the database that cannot be read. */
        DamagedRow: {
            /** A stream, an event or delivery as `<stream>:<index>`, or a user's public key. */
            id: string;
            /** `operations`, `events`, `outbox`, `deliveries` or `user_relays`. */
            table: string;
        };
        /** What was removed of a user. */
        ErasedOfUser: {
            /** Apps that the user had agreed to give something (OpenID Connect). */
            oidc_consents: number;
            /** Sessions, codes and tokens (OpenID Connect). */
            oidc_records: number;
            /** Passkeys. */
            passkeys: number;
            /** The user's relays: 1 if they were known. */
            relays: number;
            /** Sessions with remote signers: 0 or 1. */
            remote_signers: number;
            /** Finished streams, with their events and deliveries. */
            streams: number;
        };
        /**
         * The `code` of an error: stable, for programs to branch on.
         * @enum {string}
         */
        ErrorCode: "malformed_json" | "malformed_request" | "jwt_invalid" | "jwt_expired" | "unauthorized" | "scope_missing" | "network_not_allowed" | "own_streams_only" | "budget_not_counted" | "own_request" | "token_required" | "key_not_found" | "route_not_found" | "stream_not_found" | "events_removed" | "delivery_not_found" | "profile_not_found" | "session_not_found" | "subscription_not_found" | "relay_not_found" | "channel_not_found" | "consent_not_found" | "signing_key_not_found" | "remote_signer_not_found" | "passkey_not_found" | "receipt_not_found" | "method_not_allowed" | "body_timeout" | "idempotency_key_reused" | "token_already_spent" | "token_pending" | "session_decided" | "session_expired" | "login_code_invalid" | "approval_not_found" | "approval_required" | "payment_not_paid" | "payment_refunded" | "login_code_redeemed" | "login_code_expired" | "body_too_large" | "unsupported_media_type" | "invalid_request" | "upgrade_required" | "rate_limited" | "budget_exhausted" | "internal_error" | "overloaded" | "storage_unavailable" | "no_relay_connected" | "no_active_instance" | "wallet_not_configured" | "verification_not_configured" | "oidc_not_configured" | "rate_unavailable" | "wallet_error" | "wallet_timeout" | "mint_error" | "mint_timeout" | "deadline_exceeded";
        /** An event of a stream; it never changes once it has been read. */
        Event: {
            data: components["schemas"]["EventData"];
            /** Position in the stream, from 0, without gaps. */
            index: number;
            /** When it happened, in Unix seconds. */
            timestamp: number;
            /** What kind of event it is: `KeyHandshake`, `StatusUpdate`, `Subscription`, `SubscriptionClosed`, `SubscriptionPayment`, `InvoiceResponse` or `CashuResponse`. */
            type: string;
        };
        /** What happened. Its form depends on the event's `type` and on the request that started the stream. Missing values are left out. Later versions may add members. */
        EventData: components["schemas"]["KeyHandshakeData"] | components["schemas"]["LoginData"] | components["schemas"]["PaymentData"] | components["schemas"]["SubscriptionData"] | components["schemas"]["SubscriptionPaymentData"] | components["schemas"]["SubscriptionClosedData"] | components["schemas"]["InvoiceData"] | components["schemas"]["CashuResponseData"] | components["schemas"]["CashuStatusData"];
        /** Consecutive events of a stream. */
        EventPage: {
            /** The operation has ended, and these are its last events. Only a payment that ended unpaid may get one more, a late `paid`. */
            done: boolean;
            /** The events, oldest first. */
            events: components["schemas"]["Event"][];
            /** The first index that is left, if earlier events were removed after `streams.retention_days`. Only where `after` is 0. */
            first?: number;
            /** The `after` for the next request. */
            next: number;
            /** With `done`, if `paid` may still follow because money may still arrive: until when, in Unix seconds. While the Lightning backend cannot be reached, it may follow later. */
            paid_late_until?: number;
        };
        /** An invalid field of a request. */
        FieldError: {
            /** The invalid fields. */
            detail: string;
            /** Where: a JSON Pointer (RFC 6901) into the body; for a query parameter or header, `/` and its name. */
            pointer: string;
        };
        /** Data of `InvoiceResponse`: a verified invoice from a user's wallet. */
        InvoiceData: {
            /** As you requested: millisats, or the minor unit of `currency`. */
            amount: number;
            /** If requested in another currency than millisats: the amount of the invoice, in millisats. */
            amount_millisats?: number;
            /** If requested in another currency than millisats: the currency. */
            currency?: string;
            /** The invoice (BOLT 11). */
            invoice: string;
            /** Its payment hash. */
            payment_hash: string;
            /** If requested in another currency than millisats: at which rate. */
            rate?: components["schemas"]["AppliedRate"];
            /** Your own reference. */
            request_id?: string;
        };
        /** Asks a user for an invoice. */
        InvoiceRequest: {
            /** What the invoice is for. */
            content: components["schemas"]["InvoiceRequestContent"];
            /** Whose wallet makes the invoice: 64 hex characters. */
            recipient_key: string;
            /** Keys that may respond for it without a proof of delegation; usually none, at most 8. */
            subkeys: string[];
        };
        /** What the invoice is for. */
        InvoiceRequestContent: {
            /** In millisats, or in the minor unit of `currency`, such as cents. It may come to at most `limits.max_amount_millisats`. */
            amount: number;
            /** `millisats`, or the code of a currency (ISO 4217) that `rates.currencies` lists; in either case. What `amount` comes to in millisats is fixed now, and rounded up to a whole sat: the invoice must be for that. */
            currency: string;
            /** At most 639 bytes of UTF-8. */
            description?: string;
            /** Unix seconds until which the user can respond: at most 24 hours ahead, by default five minutes. */
            expires_at?: number;
            /** Your own reference, repeated in the events. */
            request_id?: string;
        };
        /** The key and the validity of a JWT. */
        JwtIssueRequest: {
            /** For how many hours it is valid. */
            duration_hours: number;
            /** The key that the JWT is about: 64 hex characters. */
            target_key: string;
        };
        /** A JWT. */
        JwtIssued: {
            /** The JWT. Anybody who has it can use it. */
            token: string;
        };
        /** A valid JWT. */
        JwtVerified: {
            /** The key that the JWT is about. */
            target_key: string;
        };
        /** A JWT, and the key that must have signed it. */
        JwtVerifyRequest: {
            /** The key that must have signed it: 64 hex characters. The service's own key for a JWT of `POST /jwt/issue`, the user's key for a session token from their wallet. */
            public_key: string;
            /** The JWT. */
            token: string;
        };
        /** Something that names the user and was kept. */
        KeptOfUser: {
            /** What the stream is of, as in the metrics; `subscriptions` is the stream of that name. */
            kind?: string | null;
            /** Why. `open`: the stream is open; erase the user again after it has ended. `late_payment`: it has ended, and money may still arrive. `pending_delivery`: events of the stream are still to be posted to the webhook. `shared_stream`: the stream has events of others too. `mentioned`: the stream is not about the user, but the key is in it: in a text of the app, or as another user's subkey. `damaged`: the stream's row has the key and cannot be read. `stored_response`: the response to a request with an `Idempotency-Key` has the key. `relays`: the user's relays, because a stream of theirs is open. */
            reason: string;
            /** The stream. */
            stream_id?: string | null;
            /** Until when it is kept, in Unix seconds, if that is known: then it is removed without another request, within the hour. The newest event of a stream that does not end stays until there is another. */
            until?: number | null;
        };
        /** A closed handshake. */
        KeyHandshakeClosed: {
            /** `closed`. */
            status: string;
            /**
             */
            stream_id: string;
        };
        /** Data of `KeyHandshake`: a user has told their key. It is not proven yet. */
        KeyHandshakeData: {
            /** The user's key. */
            main_key: string;
            /** The relays at which the user wants to be reached, at most 8. */
            preferred_relays: string[];
        };
        /** Reusable handshakes and logins. */
        KeyHandshakeList: {
            /** The handshakes, oldest first. */
            handshakes: components["schemas"]["ReusableHandshake"][];
            /** The `after` for the next page; `null` if this is the last one. A page may have fewer entries than `limit`, even none, and still have a `next`. */
            next?: string | null;
        };
        /** The kind of handshake URL. Every field is optional, and so is the body. */
        KeyHandshakeRequest: {
            /**
             * Handshake only: tells the wallet that no authentication challenge follows.
             * @default false
             */
            no_request?: boolean | null;
            /** Where the page leads the user's browser at the end, with `stream_id` in the query. It must be under one of `pages.return_urls`. Not with `static_token`, whose page never ends. */
            return_url?: string | null;
            /** Makes the URL reusable: every user who opens it is an event on the same stream, and the same token always has the same stream and URL. Anybody who knows the token can make the URL: choose it like a name on a poster, or at random if only those who see the code may use it. */
            static_token?: string | null;
        };
        /** A handshake that has started. */
        KeyHandshakeStarted: {
            /** A page for the user's browser that shows the URL as a QR code and link. */
            page_url: string;
            /** Where to read who completed it: `GET /events/{stream_id}`. */
            stream_id: string;
            /** The URL to show to the user as a QR code or link. Anybody who has it can respond in the user's place. */
            url: string;
        };
        /** Rotates the secret of a key. */
        KeyRotation: {
            /** How long the secret that the key has now is accepted beside the new one, in seconds; by default not at all. */
            overlap_seconds?: number;
        };
        /** The state of the Lightning node that the service runs itself. All amounts are millisats. */
        LightningNode: {
            /** Its channels (`GET /wallet/channels`). */
            channels: components["schemas"]["LightningNodeChannels"];
            /** How many channels were closed, in all. */
            closures: components["schemas"]["LightningNodeClosures"];
            /** The height of the last block that it has processed. */
            height: number;
            /** The largest payment that it can receive without a new channel. */
            inbound: number;
            /** Its public key. */
            node_id: string;
            /** Its balance on the chain. */
            on_chain: components["schemas"]["LightningNodeOnChain"];
            /** What is on its way. */
            pending: components["schemas"]["LightningNodePending"];
            /** What liquidity providers have kept for opening channels, in all. */
            skimmed_fees: number;
            /** When it last processed the chain, in Unix seconds; `null` before the first time. */
            synced_at: number | null;
            /** What the operator should know. */
            warnings: components["schemas"]["LightningNodeWarning"][];
        };
        /** How many channels there are. */
        LightningNodeChannels: {
            /** What all channels hold on both sides. */
            capacity: number;
            /** The others: not confirmed yet, or without a connection to the peer. */
            unusable: number;
            /** Those that can be used now. */
            usable: number;
        };
        /** How many channels were closed. */
        LightningNodeClosures: {
            /** Of those: because the service was killed between two writes. */
            after_kill: number;
            /** With the peer's agreement. */
            cooperative: number;
            /** By one side alone. */
            forced: number;
        };
        /** A balance on the chain. */
        LightningNodeOnChain: {
            /** What the node keeps for closing channels. */
            reserved: number;
            /** What the node can spend. */
            spendable: number;
            /** All of it, unconfirmed transactions included. */
            total: number;
        };
        /** What is on its way. */
        LightningNodePending: {
            /** Millisats on their way from closed channels to the chain. */
            closing: number;
            /** How many payments by the service are under way. */
            payments: number;
            /** Millisats, fees included, that are sent on chain by transactions in no block yet: no part of the balance any more. */
            sending: number;
        };
        /** What the operator should know. */
        LightningNodeWarning: {
            /** For programs: `not_running`, `not_synced`, `provider_away`, `cannot_receive`, `low_inbound`, `forced_closure` or `cannot_close`. Later versions may add codes. */
            code: string;
            /** For people. */
            text: string;
        };
        /** Data of `StatusUpdate` on streams of `POST /login` and `POST /authenticate-key`, and of `POST /key-handshake` (only `timeout`). */
        LoginData: {
            /** The permissions that the wallet grants, in its own words; with `approved`. */
            granted_permissions?: string[];
            /** The key that responded, itself or through a subkey; with `approved` and `declined`, and on streams of reusable logins always but with `user_approved`. */
            main_key?: string;
            /** What the user has proven the key with, or was asked with; with `user_approved` and `approved` on streams of `POST /login`, and always on those of reusable logins: `wallet`, `extension` (NIP-07), `signer` (NIP-46) or `passkey` (WebAuthn). */
            method?: string;
            /** The reason; in the user's words with `declined`. */
            reason?: string;
            /** The session token of the wallet, possibly a JWT (`POST /jwt/verify`); with `approved`. */
            session_token?: string;
            /** Grant access only on `approved`. `user_approved` is intermediate, on streams of `POST /login` with `return_url`: who the user is becomes known when your app redeems the code (`POST /login/{stream_id}/redeem`). */
            status: string;
        };
        /** Who has logged in. */
        LoginRedeemed: {
            /** The user's key, which they have proven: their id in your app. */
            main_key: string;
            /** What they have proven it with: `wallet`, `extension` (NIP-07), `signer` (NIP-46) or `passkey` (WebAuthn). */
            method: string;
        };
        /** Starts a login. Every field is optional, and so is the body. */
        LoginRequest: {
            /** Where the login page leads the user's browser at the end, with `stream_id` in the query, and with the `code` that you redeem (`POST /login/{stream_id}/redeem`). It must be under one of `pages.return_urls`, and have no fragment and no `stream_id` or `code` in its query. */
            return_url?: string | null;
            /** Makes the login reusable, for a poster, a table or a door: `url` and `page_url` are for any number of users, the same token always has the same stream and URLs, and the stream never ends. Anybody who knows the token can make `url`: choose it like a name on a poster, or at random if only those who see the code may use it. */
            static_token?: string | null;
        };
        /** A login that has started. */
        LoginStarted: {
            /** The login page: redirect the user's browser there instead of showing `url`. The page belongs to the first browser that opens it. That of a reusable login gives each browser a page of its own. */
            page_url: string;
            /** Where to read the result: `GET /events/{stream_id}`. */
            stream_id: string;
            /** The URL for a wallet, to show as a QR code or link. Anybody who has it can log in in the user's place. */
            url: string;
        };
        /** Mints a ticket. */
        MintTicketRequest: {
            /** How much, in the unit. */
            amount: number;
            /** For the mint's records. At most 639 bytes of UTF-8. */
            description?: string;
            /** The mint: an `http` or `https` URL. */
            mint_url: string;
            /** Another name for `static_token`. */
            static_auth_token?: string;
            /** The token by which the mint knows who may mint (header `Clear-auth`), if it wants one. */
            static_token?: string;
            /** The unit: `sat`, or one of the mint's own, such as `multi`. Upper and lower case are the same. */
            unit: string;
        };
        /** Creates an API key. */
        NewKeyRequest: {
            /** Most millisats that it may send within 24 hours, fees included, beside `wallet.daily_budget_millisats`. By default, only that limits it. */
            daily_budget_millisats?: number;
            /** Unix seconds from which it is not accepted any more. By default it does not expire. */
            expires_at?: number;
            /** What you call it, on one line. */
            name: string;
            /** The networks from which it is accepted, at most 32, in CIDR notation or as single addresses, as the service sees its clients (`info.trusted_proxies`). By default all. */
            networks?: string[];
            /**
             * Whether it sees only the streams that it has started. By default it sees all.
             * @default false
             */
            own_streams_only?: boolean;
            /** Most requests per second, in a burst of as many. By default only `limits.requests_per_second` limits it. */
            requests_per_second?: number;
            /** What it may do: at most 100 scopes (docs/keys.md says which endpoint needs which). */
            scopes: ("login" | "payments:receive" | "payments:send" | "subscriptions" | "tickets" | "verification" | "events:read" | "approvals" | "relays" | "admin")[];
        };
        /** The key of a NIP-05 identifier. */
        Nip05: {
            /** The key. */
            pubkey: string;
            /** The user's relays according to the domain. */
            relays: string[];
        };
        /** What a user agreed to give an app. */
        OidcConsent: {
            /** When the user last agreed, in Unix seconds. */
            agreed_at: number;
            /** The app, as in `oidc.clients`. It may have been removed there. */
            client_id: string;
            /** The user. */
            main_key: string;
            /** What the app may learn. */
            scopes: string[];
        };
        /** What users agreed to give apps. */
        OidcConsentList: {
            /** The consents, in the order of `client_id` and `main_key`. */
            consents: components["schemas"]["OidcConsent"][];
            /** The `after` for the next page; `null` if this is the last one. */
            next?: string | null;
        };
        /** A consent that was revoked. */
        OidcConsentRevoked: {
            /** `revoked`. */
            status: string;
        };
        /** A key that signs ID tokens. */
        OidcKey: {
            /** `RS256` or `ES256`. */
            algorithm: string;
            /** When it was made, in Unix seconds. */
            created_at: number;
            /** Its id: the `kid` of the ID tokens that it has signed, and in `/oauth/jwks`. */
            kid: string;
            /** When another key took its place, in Unix seconds. */
            retired_at: number | null;
            /** `current`: it signs. `retired`: it signs no more, and is published for a day after `retired_at`. */
            status: string;
        };
        /** The keys that sign ID tokens. */
        OidcKeys: {
            /** The keys, the newest first. */
            keys: components["schemas"]["OidcKey"][];
        };
        /** A channel to open. */
        OpenChannelRequest: {
            /** Its capacity in millisats, a multiple of 1,000. All of it is on the service's side at first. */
            amount: number;
            /** With whom: `<node id>@<host>:<port>`. The default is `wallet.embedded.liquidity_provider`. */
            peer?: string;
        };
        /** A ticket that was sent and is not known to be redeemed. */
        OutgoingTicket: {
            /** Its value in the unit, as the token states it. */
            amount: number;
            /** When it was first sent, in Unix seconds. */
            created_at: number;
            /** Until when it is sent, in Unix seconds. */
            expires_at: number;
            /** The user. */
            main_key: string;
            /** The mint. */
            mint_url: string;
            /** `queued`: not sent yet. `sent`: it is sent again and again. `timeout`: not redeemed in time, and not sent any more. `reclaiming`: being taken back. */
            status: string;
            /** Its stream. */
            stream_id: string;
            /** The unit. */
            unit: string;
        };
        /** Tickets that were sent. */
        OutgoingTicketList: {
            /** The `after` for the next page; `null` if this is the last one. A page may have fewer entries than `limit`, even none, and still have a `next`. */
            next?: string | null;
            /** The tickets, oldest first. */
            outgoing: components["schemas"]["OutgoingTicket"][];
        };
        /** Passkeys that were forgotten. */
        PasskeysForgotten: {
            /** The user. */
            main_key: string;
            /** How many. */
            passkeys: number;
            /** `forgotten`. */
            status: string;
        };
        /** Has an invoice paid. */
        PayInvoiceRequest: {
            /** Millisats; must be the amount of the invoice. */
            amount?: number;
            /** `millisats`, in either case. */
            currency?: string;
            /** What the payment is for, as the user sees it; by default the description in the invoice. At most 639 bytes of UTF-8. */
            description?: string;
            /** Unix seconds until which the user can pay, or until which the Lightning backend is asked to: at most 24 hours ahead, by default five minutes, and never later than the expiry of the invoice. */
            expires_at?: number;
            /** A BOLT 11 invoice with an amount that has not expired, was not paid before, and is for `wallet.network`; also as wallets copy it: `lightning:…`, `bitcoin:…?lightning=…`, in upper case, with line breaks. */
            invoice: string;
            /** The user who is asked to pay: 64 hex characters. Without it, the service's Lightning backend pays. */
            main_key?: string;
            /** Your own reference, repeated in the events. */
            request_id?: string;
            /** Keys that may respond for `main_key` without a proof of delegation; at most 8. */
            subkeys?: string[];
        };
        /** Data of `StatusUpdate` on streams of payments, and of requests for invoices and subscriptions that failed. */
        PaymentData: {
            /** If requested in another currency than millisats, or at a payment link: the amount, in the currency's minor unit. */
            amount?: number;
            /** If requested in another currency than millisats, or at a payment link: what was asked for, in millisats. With `txid`: what the payee gets. */
            amount_millisats?: number;
            /** With `skimmed_fee`: millisats that the service received. */
            amount_received?: number;
            /** On the stream of a payment link: what the payer wrote. */
            comment?: string;
            /** If requested in another currency than millisats, or at a payment link: the currency. */
            currency?: string;
            /** With `paid` by the Lightning backend, and with `sending`: fees in millisats. */
            fees_paid?: number;
            /** With `error`, if the Lightning backend may have paid, or been paid: whether it is certain that nothing was paid. */
            outcome?: string;
            /** If `paid` may still follow, because money may still arrive: until when, in Unix seconds. */
            paid_late_until?: number;
            /** On the stream of a payment link: the payment, as `GET /payments` lists it. */
            payment_id?: string;
            /** With `paid`: the proof, whose hash is the payment hash of the invoice; if the Lightning backend tells it. */
            preimage?: string;
            /** If requested in another currency than millisats: at which rate. */
            rate?: components["schemas"]["AppliedRate"];
            /** The reason; in the user's words with `user_rejected` and `user_failed`. */
            reason?: string;
            /** Your own reference. */
            request_id?: string;
            /** With `paid`: millisats that a liquidity provider kept, for example for a channel that it opened. The user paid both. */
            skimmed_fee?: number;
            /** `approval_required`, `user_approved`, `user_failed` and `sending` are intermediate, the others final; `paid` may still follow them. */
            status: string;
            /** The subscription that the payment is for. */
            subscription_id?: string;
            /** With `sending` and `paid` on chain: the transaction's id. */
            txid?: string;
        };
        /** A payment link. */
        PaymentLink: {
            /** What each payer pays, in millisats or in the minor unit of `currency`. */
            amount?: number;
            /** When it was created, in Unix seconds. */
            created_at: number;
            /** `millisats`, or the currency. */
            currency: string;
            /** What the payments are for. */
            description: string;
            /** Unix seconds from which no more invoices are given out. */
            expires_at?: number;
            /** The same for wallets (LNURL-pay). */
            lnurl: string;
            /** The most that a payer may choose. */
            max?: number;
            /** After how many payments no more invoices are given out. */
            max_payments?: number;
            /** The least that a payer may choose. */
            min?: number;
            /** Its page. */
            page_url: string;
            /** How many payments were made. */
            payments: number;
            /** Your own reference. */
            request_id?: string;
            /** `open`, `closed`, `expired` (`expires_at`) or `completed` (`max_payments`). */
            status: string;
            /** Where to read its events: `GET /events/{stream_id}`. */
            stream_id: string;
        };
        /** A closed payment link. */
        PaymentLinkClosed: {
            /** `closed`. */
            status: string;
            /**
             */
            stream_id: string;
        };
        /** A payment link. */
        PaymentLinkCreated: {
            /** The same for wallets (LNURL-pay), for a QR code: in upper case the code is smaller. */
            lnurl: string;
            /** A page at which anybody who has its address can pay, as often as they like. */
            page_url: string;
            /** Where to read its events: `GET /events/{stream_id}`. */
            stream_id: string;
        };
        /** Payment links. */
        PaymentLinkList: {
            /** The links, oldest first. */
            links: components["schemas"]["PaymentLink"][];
            /** The `after` for the next page; `null` if this is the last one. A page may have fewer entries than `limit`, even none, and still have a `next`. */
            next?: string | null;
        };
        /** Creates a payment link: either with `amount`, or with `min` and `max`. */
        PaymentLinkRequest: {
            /** What each payer pays, in millisats or in the minor unit of `currency`, such as cents. */
            amount?: number;
            /** `millisats` (default), or the code of a currency (ISO 4217) that `rates.currencies` lists; in either case. What a payment comes to in millisats is fixed when its payer asks for the invoice, and rounded up to a whole sat. */
            currency?: string;
            /** What the payments are for; payers and their wallets show it. At most 639 bytes of UTF-8 (BOLT 11). */
            description: string;
            /** Unix seconds from which no more invoices are given out. By default, the link is open until it is closed. */
            expires_at?: number;
            /** The most that a payer may choose, as `amount` counts; with `min`. A payment may come to at most `limits.max_amount_millisats`. */
            max?: number;
            /** After how many payments no more invoices are given out. */
            max_payments?: number;
            /** The least that a payer may choose, as `amount` counts; with `max`. */
            min?: number;
            /** Your own reference, repeated in the events. */
            request_id?: string;
            /** Where the page of a payment leads the payer's browser at the end, with the link's `stream_id` and the payment's `payment_id` in the query. It must be under one of `pages.return_urls`. */
            return_url?: string;
        };
        /** Payments. */
        PaymentList: {
            /** The `after` for the next page; `null` if this is the last one. */
            next?: string | null;
            /** The payments, in the order in which they were requested. */
            payments: components["schemas"]["BookedPayment"][];
        };
        /** A payment that has started. */
        PaymentStarted: {
            /** If requested in another currency than millisats: the amount, in the currency's minor unit. */
            amount?: number;
            /** If requested in another currency than millisats: what the invoice is for, in millisats. */
            amount_millisats?: number;
            /** If requested in another currency than millisats: the currency. */
            currency?: string;
            /** A page for the payer's browser, on which the invoice can be paid with any Lightning wallet. Anybody who has it can pay. */
            page_url: string;
            /** If requested in another currency than millisats: at which rate. */
            rate?: components["schemas"]["AppliedRate"];
            /** Where to read its events: `GET /events/{stream_id}`. */
            stream_id: string;
        };
        /** The former secret of a key that was rotated. */
        PreviousSecret: {
            /** Until when it is accepted, in Unix seconds. */
            accepted_until: number;
            /** When it was used last, in Unix seconds. */
            last_used_at?: number;
        };
        /** An operation that has started, with its price. */
        PricedStreamStarted: {
            /** If requested in another currency than millisats: the amount, in the currency's minor unit. */
            amount?: number;
            /** If requested in another currency than millisats: what it came to now, in millisats. */
            amount_millisats?: number;
            /** If requested in another currency than millisats: the currency. */
            currency?: string;
            /** If requested in another currency than millisats: at which rate. */
            rate?: components["schemas"]["AppliedRate"];
            /** Where to read its events: `GET /events/{stream_id}`. */
            stream_id: string;
        };
        /** The body of every error: RFC 9457 problem details. */
        Problem: {
            code: components["schemas"]["ErrorCode"];
            /** What happened, for people. */
            detail: string;
            /** All invalid fields; only with `invalid_request`. */
            errors?: components["schemas"]["FieldError"][];
            /** The `X-Request-Id` of the request: quote it when you report a problem. */
            request_id: string;
            /** The HTTP status. */
            status: number;
            /** The kind of error for people; the same for every occurrence. */
            title: string;
            /** The kind of error: `urn:usher:error:` and the `code`. */
            type: string;
        };
        /** A profile. Its texts come from an untrusted source: they have one line each, no control characters, and a limited length. */
        Profile: {
            /** A short description. */
            about: string | null;
            /** The name to display. */
            display_name: string | null;
            /** The id of the Nostr event with the profile. */
            id: string;
            /** User name, without spaces. */
            name: string | null;
            /** Identifier `name@domain`, only if the domain confirms it. */
            nip05: string | null;
            /** `https` or `http` URL of a picture. It is untrusted. */
            picture: string | null;
            /** The key of the user. */
            pubkey: string;
        };
        /** The service's own profile. A field that is missing or `null` is removed from it. */
        ProfileRequest: {
            /** A short description, on one line. */
            about?: string | null;
            /** The name to display, on one line. */
            display_name?: string | null;
            /** User name, without spaces. */
            name?: string | null;
            /** Identifier `name@domain`. The domain must serve the response of `GET /.well-known/nostr.json` of this service. */
            nip05?: string | null;
            /** `https` or `http` URL of a picture. */
            picture?: string | null;
        };
        /** Whether the service, and each of its parts, can work. */
        Ready: {
            /** `active`, or `standby` when another instance is active and has answered: docs/instances.md. */
            instance: string;
            /** The exchange rates. Without one only requests with amounts in its currency fail, so they do not affect `ready` of the service. */
            rates: components["schemas"]["ReadyRates"];
            /** Whether the service can work. */
            ready: boolean;
            /** The operator's relays: one connected relay is enough. */
            relays: components["schemas"]["ReadyRelays"];
            /** The database: it was read and written for this response. */
            store: components["schemas"]["ReadyStore"];
            /** The mints. A mint that is away holds up only its own tickets, so it does not affect `ready` of the service. */
            tickets: components["schemas"]["ReadyTickets"];
            /** The Lightning backend. Without it only payments fail, so it does not affect `ready` of the service. `none` is always ready. */
            wallet: components["schemas"]["ReadyWallet"];
        };
        /** A mint. It is not asked for this response. */
        ReadyMint: {
            /** Its address. */
            mint_url: string;
            /** Whether it responded to the last request, other than with a server error; `null` when none was sent since the start. */
            responds?: boolean | null;
            /** How many jobs (to mint, redeem, verify or withdraw) are not finished. They continue on their own. */
            unfinished_jobs: number;
        };
        /** The exchange rate of a currency. */
        ReadyRate: {
            /** The code of the currency. */
            currency: string;
            /** Why there is no rate now. */
            problem?: string | null;
            /** The sources that may have it. */
            sources: components["schemas"]["ReadyRateSource"][];
        };
        /** A source of an exchange rate. It is not asked for this response. */
        ReadyRateSource: {
            /** How many seconds ago its last price was read; `null` if it has had none since the start. */
            age_seconds?: number | null;
            /** Its name: that of the preset, or the host. */
            name: string;
            /** Why its last response was of no use, or why it is left out. */
            problem?: string | null;
        };
        /** The exchange rates. */
        ReadyRates: {
            /** The configured currencies (`rates.currencies`). */
            currencies: components["schemas"]["ReadyRate"][];
            /** Whether there is a rate of every configured currency. */
            ready: boolean;
        };
        /** The operator's relays. */
        ReadyRelays: {
            /** How many are connected. */
            connected: number;
            ready: boolean;
            /** How many relays there are. */
            total: number;
        };
        /** The database. */
        ReadyStore: {
            /** The first 100 damaged rows. */
            damaged: components["schemas"]["DamagedRow"][];
            /** How many rows are damaged and were set aside. Nothing else is affected, so they do not affect `ready`. */
            damaged_rows: number;
            ready: boolean;
        };
        /** The mints. */
        ReadyTickets: {
            /** The first 100 mints at which the service has a balance or unfinished jobs, those that do not respond first. */
            mints: components["schemas"]["ReadyMint"][];
            /** Whether no mint failed to respond to the last request. */
            ready: boolean;
        };
        /** The Lightning backend. */
        ReadyWallet: {
            /** Which one. */
            backend: string;
            ready: boolean;
            /** What its operator should know: `disputed_settlements` while it reports payments as received whose proof or amount is wrong; if the service runs it itself, also the codes of the `warnings` of `GET /wallet/info`. */
            warnings: string[];
        };
        /** The receipt of a payment. */
        Receipt: {
            /** The price in the minor unit of `currency`. Missing, with `currency` and `rate`, if it was requested in millisats. */
            amount?: number;
            /** What was requested and paid, in millisats. */
            amount_millisats: number;
            /** The currency (ISO 4217). */
            currency?: string;
            /** What it was for. */
            description: string;
            /** When it was paid, in Unix seconds. */
            paid_at: number;
            /** The payment hash of the invoice. The payer's wallet has its preimage as proof. */
            payment_hash?: string;
            /** The rate at which it was priced. */
            rate?: components["schemas"]["AppliedRate"];
            /** Your own reference. */
            request_id?: string;
            /** The payment's stream: the number of the receipt. */
            stream_id: string;
        };
        /** What it costs to receive a payment. */
        ReceivingCost: {
            /** What the provider would keep of the payment for that, in millisats. */
            opening_fee: number;
            /** Whether the liquidity provider would open a channel for it. */
            opens_channel: boolean;
        };
        /** A payment to receive. */
        ReceivingCostRequest: {
            /** Millisats. */
            amount: number;
        };
        /** Takes back a ticket that was sent. */
        ReclaimTicketRequest: {
            /** Another name for `static_token`. */
            static_auth_token?: string;
            /** The token by which the mint knows who may use it (header `Clear-auth`), if it wants one. */
            static_token?: string;
        };
        /** When, and how often, a subscription is paid. */
        Recurrence: {
            /** When the payments after the first are due. */
            calendar: string;
            /** Unix seconds of the first payment; may be now. */
            first_payment_due: number;
            /** After how many payments the subscription ends. */
            max_payments?: number;
            /** Unix seconds after which no payment is due. */
            until?: number;
        };
        /** Asks a user to agree to a subscription. */
        RecurringPaymentRequest: {
            /** Of each payment: in millisats, or in the minor unit of `currency`, such as cents. It may come to at most `limits.max_amount_millisats`. */
            amount: number;
            /**
             * Whether the service asks for each due payment, from `first_payment_due` on, or from the last due date before the user agreed. It reports each on the stream `subscriptions`. Needs a Lightning backend.
             * @default false
             */
            auto_charge?: boolean;
            /** `millisats`, or the code of a currency (ISO 4217) that `rates.currencies` lists; in either case. What `amount` comes to in millisats is then fixed anew for each payment, and rounded up to a whole sat. */
            currency: string;
            /** What the subscription is for. At most 639 bytes of UTF-8. */
            description: string;
            /** Unix seconds until which the user can respond: in the future, within a year, and not after `recurrence.until`. */
            expires_at: number;
            /** Who pays: 64 hex characters. */
            main_key: string;
            /** Only with another `currency` than millisats: the most that each payment may come to, in millisats. This is what the user is asked to authorize; an automatic charge that comes to more fails. By default twice what `amount` comes to now. */
            max_amount_millisats?: number;
            /** The least that the user must authorize for each payment, in millisats; by default what `amount` comes to now. A subscription for less is closed at once, and the stream gets `user_rejected` with the reason. */
            minimum_amount?: number;
            /** When, and how often, the user pays. */
            recurrence: components["schemas"]["Recurrence"];
            /** Your own reference, repeated in the events. */
            request_id?: string;
            /** Keys that may respond for it without a proof of delegation; usually none, at most 8. */
            subkeys: string[];
        };
        /** Redeems the code of a login. */
        RedeemLoginRequest: {
            /** `code` in the query with which the login page has led the user's browser to your `return_url`. Any text may be sent; one that is not the code of this login is a 409. */
            code: string;
        };
        /** Pays a payment back. */
        RefundRequest: {
            /** Millisats. By default all that was paid and is not refunded yet. */
            amount?: number;
            /** Unix seconds until which the payer can name an invoice: at most 30 days ahead, by default seven days. */
            expires_at?: number;
            /** Your own reference, repeated in the events. */
            request_id?: string;
        };
        /** A refund that has started. */
        RefundStarted: {
            /** A page for the payer's browser, on which they name an invoice. Anybody who has it can have the money paid to themselves. */
            page_url: string;
            /** Where to read its events: `GET /events/{stream_id}`. */
            stream_id: string;
        };
        /** A relay and the state of its connection. */
        Relay: {
            /** Why it is connected: `configured` or `added` (at run time) by the operator; `user` while the service waits for that user's reply. */
            origin: string;
            /** Events waiting to be sent to it. */
            queued: number;
            /** Why it is disconnected, or what it refuses, in the relay's own words. API keys learn no more of an added relay than that it cannot be reached. */
            reason: string | null;
            /** Its address, normalised: scheme and host in lower case, no default port, no slash for an empty path. */
            relay: string;
            /** Since when it has this status, in Unix seconds. */
            since: number | null;
            /** `connecting` (the first time), `connected`, or `disconnected` (with further attempts at growing intervals). */
            status: string;
            /** Whether it has confirmed the service's relay subscription: what wallets send there arrives. */
            subscribed: boolean;
        };
        /** A relay that was removed. */
        RelayRemoved: {
            /** Its address, normalised. */
            relay: string;
            /** `removed`. */
            status: string;
        };
        /** Names a relay. */
        RelayRequest: {
            /** Its address: `wss://…`, or `ws://…` in a network of your own. */
            relay: string;
        };
        /** All relays to which the service is or wants to be connected. */
        Relays: {
            /** The service's own relays in the order of handshake URLs, then those of users. */
            relays: components["schemas"]["Relay"][];
        };
        /** A remote signer that was forgotten. */
        RemoteSignerForgotten: {
            /** The user. */
            main_key: string;
            /** `forgotten`. */
            status: string;
        };
        /** A reusable handshake or login. */
        ReusableHandshake: {
            /** How many scans of `url` were accepted. Of a handshake, these are the events of its stream. */
            accepted: number;
            /** When it was opened, in Unix seconds. */
            created_at: number;
            /** Whether it is a login (`POST /login`): users who scan it are challenged. */
            login: boolean;
            /** Whether it tells wallets that no authentication challenge follows. */
            no_request: boolean;
            /** How many scans, and logins begun on a reusable login's page, its limits refused since the service started. */
            refused: number;
            /** The token it was opened with. */
            static_token: string;
            /** Where to read who completed it: `GET /events/{stream_id}`. */
            stream_id: string;
            /** The URL that users scan. It names the service's current relays. */
            url: string;
        };
        /** Names a consent. */
        RevokeOidcConsentRequest: {
            /** The app, as in `oidc.clients`. */
            client_id: string;
            /** The user. */
            main_key: string;
        };
        /** Has no fields. */
        RotateOidcKeysRequest: Record<string, never>;
        /**
         * What a key may do. Each allows exactly what it says: none includes another.
         * @enum {string}
         */
        Scope: "login" | "payments:receive" | "payments:send" | "subscriptions" | "tickets" | "verification" | "events:read" | "approvals" | "relays" | "admin";
        /** Sends money on chain. */
        SendOnChainRequest: {
            /** A Bitcoin address on `wallet.network`. */
            address: string;
            /** Millisats that arrive there, a multiple of 1,000; the miner fee comes on top. Or `all`: all that the node can spend, less the fee. */
            amount: number | string;
            /** Sats per virtual byte. By default what the chain source names for a block within an hour. */
            fee_rate?: number;
            /** Your own reference, repeated in the events. */
            request_id?: string;
        };
        /** Sends a ticket to a user. */
        SendTicketRequest: {
            /** Who gets it: 64 hex characters. Required, here or as `recipient_key`. */
            main_key?: string;
            /** Another name for `main_key`. */
            recipient_key?: string;
            /** Your own reference, repeated in the events. */
            request_id?: string;
            /** Keys of the user's devices that get it, too; usually none, at most 8. */
            subkeys: string[];
            /** The token, of any mint and unit. A message has room for 40,000 bytes. */
            token: string;
        };
        /** Asks for a payment. */
        SinglePaymentRequest: {
            /** In millisats, or in the minor unit of `currency`, such as cents. It may come to at most `limits.max_amount_millisats`. */
            amount: number;
            /** `millisats`, or the code of a currency (ISO 4217) that `rates.currencies` lists; in either case. What `amount` comes to in millisats is fixed now, and rounded up to a whole sat. */
            currency: string;
            /** What the payment is for; the invoice contains it. At most 639 bytes of UTF-8 (BOLT 11). */
            description: string;
            /** Unix seconds until which the user can pay: at most 24 hours ahead, by default five minutes. */
            expires_at?: number;
            /** The user who is asked to pay: 64 hex characters. Without it no wallet is asked: anybody who opens the page or has the invoice can pay. */
            main_key?: string;
            /** Your own reference, repeated in the events. */
            request_id?: string;
            /** Where the payment page leads the user's browser at the end, with `stream_id` in the query. It must be under one of `pages.return_urls`. */
            return_url?: string;
            /** Keys that may respond for `main_key` without a proof of delegation; usually none, at most 8. */
            subkeys?: string[];
            /** An active subscription of the same `main_key`: the payment is checked against what the user authorized, and counted. */
            subscription_id?: string;
        };
        /** An operation that has started. */
        StreamStarted: {
            /** Where to read its events: `GET /events/{stream_id}`. */
            stream_id: string;
        };
        /** A closed subscription. */
        SubscriptionClosed: {
            /** `closed`. */
            status: string;
            /** @example 0b9c8a53-2d5f-4c5e-9d1c-0f3f9a8d2f10 */
            subscription_id: string;
        };
        /** Data of `SubscriptionClosed`, on the stream `subscriptions`: the user has closed a subscription. */
        SubscriptionClosedData: {
            /** The user. */
            main_key: string;
            /** Why, in the user's words. */
            reason?: string;
            /** Which one. */
            subscription_id: string;
        };
        /** Data of `Subscription`: the user has agreed to a subscription. */
        SubscriptionData: {
            /** If requested in another currency than millisats: the amount of each payment, in the currency's minor unit. */
            amount?: number;
            /** If requested in another currency than millisats: what the amount came to when you requested it, in millisats. */
            amount_millisats?: number;
            /** The most of each payment in millisats, as the user authorized: requests for more are refused. */
            authorized_amount: number;
            /** `millisats`. */
            authorized_currency: string;
            /** When, and how often, it is paid. */
            authorized_recurrence: components["schemas"]["AuthorizedRecurrence"];
            /** Whether the service asks for each due payment. */
            auto_charge: boolean;
            /** If requested in another currency than millisats: the currency. */
            currency?: string;
            /** Who pays. */
            main_key: string;
            /** If requested in another currency than millisats: at which rate. */
            rate?: components["schemas"]["AppliedRate"];
            /** Your own reference. */
            request_id?: string;
            /** `approved`. */
            status: string;
            /** Its id, chosen by the user's wallet. */
            subscription_id: string;
        };
        /** A subscription. */
        SubscriptionInfo: {
            /** Of each payment, as you requested: millisats, or the minor unit of `currency`. */
            amount: number;
            /** The most of each payment in millisats, as the user authorized: requests for more are refused. */
            authorized_amount: number;
            authorized_recurrence: components["schemas"]["AuthorizedRecurrence"];
            /** Whether the service asks for each due payment. */
            auto_charge: boolean;
            /** When the user agreed, in Unix seconds. */
            created_at: number;
            /** `millisats`, or the code of a currency (ISO 4217). */
            currency: string;
            /** What it is for. */
            description: string;
            /** When it ended, in Unix seconds. */
            ended_at?: number | null;
            /** Who pays. */
            main_key: string;
            /** With `auto_charge`: the due date that is charged next or now, in Unix seconds. */
            next_payment_due?: number | null;
            /** How many payments were made. */
            payments_made: number;
            /** Why it was closed, in the words of the user's wallet. */
            reason?: string | null;
            /** Your own reference. */
            request_id?: string | null;
            /** `active`, `closed_by_user`, `closed_by_provider`, `completed` (all agreed payments were made) or `ended` (no further payment is due). */
            state: string;
            /** Its id, chosen by the user's wallet. */
            subscription_id: string;
        };
        /** Subscriptions. */
        SubscriptionList: {
            /** The `after` for the next page; `null` if this is the last one. A page may have fewer entries than `limit`, even none, and still have a `next`. */
            next?: string | null;
            /** The subscriptions, oldest first. */
            subscriptions: components["schemas"]["SubscriptionInfo"][];
        };
        /** Data of `SubscriptionPayment`, on the stream `subscriptions`: an automatic charge succeeded or failed. */
        SubscriptionPaymentData: {
            /** Millisats, or the minor unit of `currency`. */
            amount: number;
            /** If requested in another currency than millisats: what the charge came to, in millisats; missing if there was no rate. */
            amount_millisats?: number;
            /** The number of the attempt at this due date, from 1. */
            attempt: number;
            /** If requested in another currency than millisats: the currency. */
            currency?: string;
            /** The due date, in Unix seconds. */
            due: number;
            /** Who pays. */
            main_key: string;
            /** When this due date is tried again, in Unix seconds; if missing, it is skipped. */
            next_attempt_at?: number;
            /** The number of the due date, from 1. */
            number: number;
            /** With `paid`: the proof. */
            preimage?: string;
            /** If requested in another currency than millisats: at which rate. */
            rate?: components["schemas"]["AppliedRate"];
            /** Why not. */
            reason?: string;
            /** The outcome. */
            status: string;
            /** Which subscription. */
            subscription_id: string;
        };
        /** A new ticket. */
        Ticket: {
            /** A Cashu token (NUT-00, version 4). Anybody who has it can spend it. */
            token: string;
        };
        /** What the service's own ticket wallet holds of one mint and unit. */
        TicketBalance: {
            /** How much can be spent, in the unit. */
            amount: number;
            /** The mint. */
            mint_url: string;
            /** How much is set aside, in the unit: the mint says that it is spent, and the service has not spent it. It is not in `amount`, and comes back when the mint says that it is unspent. Left out when it is 0. */
            set_aside?: number | null;
            /** The unit. */
            unit: string;
        };
        /** What the service's own ticket wallet holds. */
        TicketBalances: {
            /** One entry for each mint and unit that is not empty. */
            balances: components["schemas"]["TicketBalance"][];
        };
        /** A ticket that was redeemed. */
        TicketBurned: {
            /** What the service received, in the token's unit: the token's value without the mint's fee. */
            amount: number;
        };
        /** A ticket that was taken back. */
        TicketReclaimed: {
            /** What the service received, in the ticket's unit: its value without the mint's fee. */
            amount: number;
            /** `reclaimed`. */
            status: string;
            /**
             */
            stream_id: string;
        };
        /** Asks a user for a ticket. */
        TicketRequest: {
            /** What must be left of it, in the unit, when it is redeemed, after the mint's fee. A token of less is refused. */
            amount: number;
            /** Unix seconds until which the user can respond: at most 24 hours ahead, by default five minutes. */
            expires_at?: number;
            /** Who is asked: 64 hex characters. Required, here or as `recipient_key`. */
            main_key?: string;
            /** The mint that the ticket must be of: an `http` or `https` URL. */
            mint_url: string;
            /** Another name for `main_key`. */
            recipient_key?: string;
            /**
             * Whether the ticket is redeemed at once: then `success` means that nobody else can use it any more, and there is no `token` in the event.
             * @default false
             */
            redeem?: boolean;
            /** Your own reference, repeated in the events. */
            request_id?: string;
            /** Another name for `static_token`. */
            static_auth_token?: string;
            /** The token by which the mint knows who may use it (header `Clear-auth`), if it wants one. */
            static_token?: string;
            /** Keys that may respond for it without a proof of delegation; usually none, at most 8. */
            subkeys: string[];
            /** The unit that it must be in: `sat`, or one of the mint's own, such as `multi`. */
            unit: string;
        };
        /** A ticket that is on its way. */
        TicketSent: {
            /** `sent`: it is being sent. `queued`: it is stored, and will be sent as soon as a relay is connected. */
            status: string;
            /** Where to read what becomes of it: `GET /events/{stream_id}`. */
            stream_id: string;
        };
        /** What was erased of a user, and what was kept. */
        UserErasure: {
            /** What was removed by this request. */
            erased: components["schemas"]["ErasedOfUser"];
            /** What still names the user, and why; at most about 2,000 entries. */
            kept: components["schemas"]["KeptOfUser"][];
            /** The user. */
            main_key: string;
            /** The `after` with which to continue; `null` if everything was searched. */
            next?: string | null;
        };
        /** A session that was decided. */
        VerificationDecided: {
            /**
             */
            session_id: string;
            /** `approved` or `rejected`. */
            status: string;
        };
        /** Decides an age verification session. */
        VerificationDecision: {
            /** `approve`: the user is old enough. `reject`: the user is not, or has not shown it. */
            decision: string;
            /** With `reject`: why, for the app; at most 639 bytes of UTF-8. Do not name the user or the date of birth. */
            reason?: string;
        };
        /** An age verification session that is open. */
        VerificationSession: {
            /** The session's own Nostr key (NIP-19), which replies with the result. */
            ephemeral_npub: string;
            /** Unix seconds until which the session can be decided. */
            expires_at: number;
            /** Its id, for `POST /verification/sessions/{session_id}/decision`. */
            session_id: string;
            /** Redirect the user to this page. Anybody who has the URL can act in the user's place: do not log it. */
            session_url: string;
            /** Where to read the result: `GET /events/{stream_id}`. */
            stream_id: string;
        };
        /** Opens an age verification session. Every field is optional, and so is the body. */
        VerificationSessionRequest: {
            /** Where the page leads the user's browser at the end, with `stream_id` in the query. It must be under one of `pages.return_urls`. Who has passed goes there at once, others by a button. */
            return_url?: string | null;
        };
        /** Asks a user for a proof of age. */
        VerificationTokenRequest: {
            /** The mint that the proof must be of; by default `verification.mint_url`. */
            mint_url?: string;
            /** Who is asked: 64 hex characters. */
            recipient_key: string;
            /** Keys that may respond for it without a proof of delegation; usually none, at most 8. */
            subkeys: string[];
        };
        /** The version of the service. */
        Version: {
            /** The commit it was built from. */
            commit: string;
            /** The version (SemVer). A client library works with a service of the same major.minor. */
            version: string;
        };
        /** The service's Lightning backend. */
        WalletInfo: {
            /** Its name. */
            alias?: string | null;
            /** Which backend it is: `wallet.ln_backend`. */
            backend: string;
            /** What it can spend, in millisats; `null` if it does not tell. Of a node of the service: what its channels can send. */
            balance?: number | null;
            /** Its network, if it tells: `bitcoin`, `testnet`, `signet` or `regtest`. */
            network?: string | null;
            /** The state of the node, if the service runs it itself (`embedded`). */
            node?: components["schemas"]["LightningNode"];
            /** Whether it sends notifications of settlements; otherwise invoices are looked up. */
            notifications: boolean;
        };
        /** Webhook deliveries. */
        WebhookDeliveries: {
            /** The deliveries, ordered by the start of their streams and, within a stream, by index. */
            deliveries: components["schemas"]["WebhookDelivery"][];
            /** The `after` for the next page; `null` if this is the last one. */
            next?: string | null;
        };
        /** The delivery of an event to `webhook.url`. It identifies the event and does not contain its data: read that from the stream. */
        WebhookDelivery: {
            /** How many attempts were made since it became pending. */
            attempts: number;
            /** Its id, which the receiver gets as `webhook-id`. */
            id: string;
            /** The event's index. */
            index: number;
            /** The time of the last attempt, in Unix seconds. */
            last_attempt_at?: number | null;
            /** Why the last attempt failed. */
            last_error?: string | null;
            /** The HTTP status of the last attempt; `null` if there was no response. */
            last_status?: number | null;
            /** The time of the next attempt, in Unix seconds; `null` if it is not pending. Earlier pending events of its stream go first. */
            next_attempt_at?: number | null;
            /** When it became pending, in Unix seconds: with the event, or when it was sent again by hand. */
            since: number;
            /** `pending`, `delivered` (the receiver responded 2xx), or `failed` (given up). */
            status: string;
            /** The event's stream. */
            stream_id: string;
            /** When the event happened, in Unix seconds. */
            timestamp: number;
            /** The event's type. */
            type: string;
        };
        /** An event and its stream: the same bytes at every attempt. */
        WebhookEvent: {
            data: components["schemas"]["EventData"];
            /** Position in the stream, from 0, without gaps. */
            index: number;
            /** The event's stream: a UUID, or `subscriptions`. */
            stream_id: string;
            /** When it happened, in Unix seconds. */
            timestamp: number;
            /** What kind of event it is, as in `Event`. */
            type: string;
        };
        /** Names and keys (NIP-05): the service itself, and nobody else. */
        WellKnown: {
            /** Name to key. */
            names: {
                [key: string]: string;
            };
            /** Key to relays. */
            relays: {
                [key: string]: string[];
            };
        };
        /** Takes a token out of the service's own balance. */
        WithdrawTicketRequest: {
            /** What the token is worth, in the unit. The balance must also cover the mint's fee. */
            amount: number;
            /** The mint: an `http` or `https` URL. */
            mint_url: string;
            /** Another name for `static_token`. */
            static_auth_token?: string;
            /** The token by which the mint knows who may use it (header `Clear-auth`), if it wants one. */
            static_token?: string;
            /** The unit. */
            unit: string;
        };
    };
}
