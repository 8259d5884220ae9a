// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client;

import java.util.Map;
import usher.client.internal.Decoders;
import usher.client.internal.Encoders;
import usher.client.internal.Events;
import usher.client.internal.JsonObject;
import usher.client.internal.Request;
import usher.client.model.*;

/**
 * Every endpoint of the HTTP API, one method each: a request, and its response as a record.
 * {@link Usher} has what a login, a payment or a ticket takes from beginning to end.
 */
public final class UsherApi {
    private final Transport transport;

    UsherApi(Transport transport) {
        this.transport = transport;
    }

    /**
     * Logs a user in: handshake and authentication in one operation.
     *
     * <p>{@code POST /login}
     *
     * @param request Starts a login. Every field is optional, and so is the body.
     * @return the response; fails with {@link UsherException}
     */
    public Call<LoginStarted> startLogin(LoginRequest request) {
        return startLogin(request, CallOptions.DEFAULT);
    }

    /**
     * Logs a user in: handshake and authentication in one operation.
     *
     * <p>Redirect the user's browser to {@code page_url}, or show {@code url} as a QR code yourself. On the page the
     * user logs in with a wallet, with a browser extension (NIP-07), with a remote signer (NIP-46) or with a passkey
     * (WebAuthn). The stream gets a {@code KeyHandshake} event {@code {main_key, preferred_relays}} and then a {@code
     * StatusUpdate} {@code {status: "approved", main_key, method}}, or {@code declined}, or {@code timeout}. Grant
     * access only on {@code approved}. A wallet that opens {@code url} is challenged at once.
     *
     * <p>With {@code return_url}, {@code approved} follows only when your app redeems the code that the page gives to
     * the user's browser ({@code POST /login/{stream_id}/redeem}); before that the stream has {@code user_approved}
     * without a key. Use it for sessions in browsers: without it, nobody knows whether the browser that has begun the
     * login is that of the user who has approved it.
     *
     * <p>With a {@code static_token} the login is reusable: everything happens as events on its one stream, a {@code
     * KeyHandshake} for each user and then a {@code StatusUpdate}, with {@code main_key} and {@code method}, because
     * users interleave. It tells you *who* logged in, not in which browser: use it where the place decides, such as a
     * door, and a login without it for sessions in browsers. {@code GET /key-handshake} lists it, and {@code DELETE
     * /key-handshake/{stream_id}} closes it.
     *
     * <p>An API key needs the scope {@code login}.
     *
     * <p>{@code POST /login}
     *
     * @param request Starts a login. Every field is optional, and so is the body.
     * @param options how to call
     * @return the response; fails with {@link UsherException}
     */
    public Call<LoginStarted> startLogin(LoginRequest request, CallOptions options) {
        return transport.call(Request.of("POST", "/login").body(Encoders.loginRequest(request)), options,
                Decoders::loginStarted);
    }

    /**
     * Redeems the code that a login page has given to the user's browser.
     *
     * <p>{@code POST /login/{stream_id}/redeem}
     *
     * @param streamId The {@code stream_id} of {@code POST /login}, which is in the query next to the code.
     * @param request Redeems the code of a login.
     * @return the response; fails with {@link UsherException}
     */
    public Call<LoginRedeemed> redeemLogin(String streamId, RedeemLoginRequest request) {
        return redeemLogin(streamId, request, CallOptions.DEFAULT);
    }

    /**
     * Redeems the code that a login page has given to the user's browser.
     *
     * <p>For logins with {@code return_url}: the page leads the browser to your app with {@code stream_id} and {@code
     * code} in the query. First check that this browser has begun the login {@code stream_id}, by your own session;
     * then redeem the code, and start the session of this browser for {@code main_key}. The stream gets {@code
     * approved} at the same moment. The code is good for one redemption, within five minutes of the user's approval; a
     * wrong one changes nothing. A repeated request with the same {@code Idempotency-Key} gets the same response.
     *
     * <p>An API key needs the scope {@code login}.
     *
     * <p>{@code POST /login/{stream_id}/redeem}
     *
     * @param streamId The {@code stream_id} of {@code POST /login}, which is in the query next to the code.
     * @param request Redeems the code of a login.
     * @param options how to call
     * @return the response; fails with {@link UsherException}
     */
    public Call<LoginRedeemed> redeemLogin(String streamId, RedeemLoginRequest request, CallOptions options) {
        return transport.call(Request.of("POST", "/login/{stream_id}/redeem",
                streamId).body(Encoders.redeemLoginRequest(request)), options, Decoders::loginRedeemed);
    }

    /**
     * Lists the open reusable handshakes and logins.
     *
     * <p>{@code GET /key-handshake}
     *
     * @param query which part of it
     * @return the response; fails with {@link UsherException}
     */
    public Call<KeyHandshakeList> listKeyHandshakes(ListKeyHandshakesQuery query) {
        return listKeyHandshakes(query, CallOptions.DEFAULT);
    }

    /**
     * Lists the open reusable handshakes and logins.
     *
     * <p>These are the handshakes and logins with a {@code static_token}, each with the number of its scans: accepted
     * and refused. A handshake that was closed with {@code DELETE /key-handshake/{stream_id}} is not listed.
     *
     * <p>An API key needs the scope {@code login}.
     *
     * <p>{@code GET /key-handshake}
     *
     * @param query which part of it
     * @param options how to call
     * @return the response; fails with {@link UsherException}
     */
    public Call<KeyHandshakeList> listKeyHandshakes(ListKeyHandshakesQuery query, CallOptions options) {
        return transport.call(Request.of("GET", "/key-handshake").query(Encoders.listKeyHandshakesQuery(query)),
                options, Decoders::keyHandshakeList);
    }

    /**
     * Creates a handshake URL, with which a user tells the service their key.
     *
     * <p>{@code POST /key-handshake}
     *
     * @param request The kind of handshake URL. Every field is optional, and so is the body.
     * @return the response; fails with {@link UsherException}
     */
    public Call<KeyHandshakeStarted> createKeyHandshake(KeyHandshakeRequest request) {
        return createKeyHandshake(request, CallOptions.DEFAULT);
    }

    /**
     * Creates a handshake URL, with which a user tells the service their key.
     *
     * <p>Show the URL to the user as a QR code or a link. When the user opens it with their wallet, the stream gets a
     * {@code KeyHandshake} event {@code {main_key, preferred_relays}}. A single-use URL (without {@code static_token})
     * is done after the first user, or ends with a {@code StatusUpdate} {@code timeout} after {@code
     * handshake.ttl_seconds}. The key alone is not a login yet: ask for a proof with {@code POST /authenticate-key}.
     *
     * <p>An API key needs the scope {@code login}.
     *
     * <p>{@code POST /key-handshake}
     *
     * @param request The kind of handshake URL. Every field is optional, and so is the body.
     * @param options how to call
     * @return the response; fails with {@link UsherException}
     */
    public Call<KeyHandshakeStarted> createKeyHandshake(KeyHandshakeRequest request, CallOptions options) {
        return transport.call(Request.of("POST", "/key-handshake").body(Encoders.keyHandshakeRequest(request)),
                options, Decoders::keyHandshakeStarted);
    }

    /**
     * Asks a user's wallet to prove that the user holds a key.
     *
     * <p>{@code POST /authenticate-key}
     *
     * @param request Asks a user to prove that they hold a key.
     * @return the response; fails with {@link UsherException}
     */
    public Call<StreamStarted> authenticateKey(AuthenticateKeyRequest request) {
        return authenticateKey(request, CallOptions.DEFAULT);
    }

    /**
     * Asks a user's wallet to prove that the user holds a key.
     *
     * <p>If the user has logged in with a remote signer ({@code POST /login}), that signer is asked too, and the first
     * reply decides.
     *
     * <p>The stream gets one {@code StatusUpdate} event: {@code {status: "approved", main_key, granted_permissions,
     * session_token?}}, {@code {status: "declined", reason?}}, {@code {status: "timeout"}} if nobody responded, or
     * {@code {status: "error", reason}}. Grant access only on {@code approved}. A remote signer that refuses, or signs
     * something else, is asked no more until its user logs in with it again.
     *
     * <p>An API key needs the scope {@code login}.
     *
     * <p>{@code POST /authenticate-key}
     *
     * @param request Asks a user to prove that they hold a key.
     * @param options how to call
     * @return the response; fails with {@link UsherException}
     */
    public Call<StreamStarted> authenticateKey(AuthenticateKeyRequest request, CallOptions options) {
        return transport.call(Request.of("POST", "/authenticate-key").body(Encoders.authenticateKeyRequest(request)),
                options, Decoders::streamStarted);
    }

    /**
     * Closes a key handshake or a reusable login.
     *
     * <p>{@code DELETE /key-handshake/{stream_id}}
     *
     * @param streamId The {@code stream_id} of {@code POST /key-handshake}, or of {@code POST /login} with a {@code
     *     static_token}.
     * @return the response; fails with {@link UsherException}
     */
    public Call<KeyHandshakeClosed> closeKeyHandshake(String streamId) {
        return closeKeyHandshake(streamId, CallOptions.DEFAULT);
    }

    /**
     * Closes a key handshake or a reusable login.
     *
     * <p>Its URL stops working at once, and its stream is done; there is no event for this. Its events can be read for
     * {@code streams.retention_days}, and the URL stays invalid for that time: the same {@code static_token}, opened
     * again, gets a new stream and another URL. A handshake that is already closed gets the same response.
     *
     * <p>The page of a reusable login stops working, too, and logins that are under way there end without an event.
     *
     * <p>An API key needs the scope {@code login}.
     *
     * <p>{@code DELETE /key-handshake/{stream_id}}
     *
     * @param streamId The {@code stream_id} of {@code POST /key-handshake}, or of {@code POST /login} with a {@code
     *     static_token}.
     * @param options how to call
     * @return the response; fails with {@link UsherException}
     */
    public Call<KeyHandshakeClosed> closeKeyHandshake(String streamId, CallOptions options) {
        return transport.call(Request.of("DELETE", "/key-handshake/{stream_id}", streamId), options,
                Decoders::keyHandshakeClosed);
    }

    /**
     * Forgets a user's remote signer.
     *
     * <p>{@code DELETE /remote-signers/{main_key}}
     *
     * @param mainKey The user's key: 64 hex characters.
     * @return the response; fails with {@link UsherException}
     */
    public Call<RemoteSignerForgotten> forgetRemoteSigner(String mainKey) {
        return forgetRemoteSigner(mainKey, CallOptions.DEFAULT);
    }

    /**
     * Forgets a user's remote signer.
     *
     * <p>Usher keeps how to reach the remote signer (NIP-46) that a user has logged in with, so that {@code POST
     * /authenticate-key} reaches it again. After this response, no new authentication asks it, until the user logs in
     * with it again on the login page.
     *
     * <p>An API key needs the scope {@code login}.
     *
     * <p>{@code DELETE /remote-signers/{main_key}}
     *
     * @param mainKey The user's key: 64 hex characters.
     * @param options how to call
     * @return the response; fails with {@link UsherException}
     */
    public Call<RemoteSignerForgotten> forgetRemoteSigner(String mainKey, CallOptions options) {
        return transport.call(Request.of("DELETE", "/remote-signers/{main_key}", mainKey), options,
                Decoders::remoteSignerForgotten);
    }

    /**
     * Forgets a user's passkeys.
     *
     * <p>{@code DELETE /passkeys/{main_key}}
     *
     * @param mainKey The user's key: 64 hex characters.
     * @return the response; fails with {@link UsherException}
     */
    public Call<PasskeysForgotten> forgetPasskeys(String mainKey) {
        return forgetPasskeys(mainKey, CallOptions.DEFAULT);
    }

    /**
     * Forgets a user's passkeys.
     *
     * <p>After this response, none of the passkeys with which this user has logged in opens the login page any more:
     * for a user whose device was stolen, or who wants to be forgotten. Their key is not Usher's to forget: a user
     * with a recovery file can log in with it and gets a new passkey.
     *
     * <p>An API key needs the scope {@code login}.
     *
     * <p>{@code DELETE /passkeys/{main_key}}
     *
     * @param mainKey The user's key: 64 hex characters.
     * @param options how to call
     * @return the response; fails with {@link UsherException}
     */
    public Call<PasskeysForgotten> forgetPasskeys(String mainKey, CallOptions options) {
        return transport.call(Request.of("DELETE", "/passkeys/{main_key}", mainKey), options,
                Decoders::passkeysForgotten);
    }

    /**
     * Erases a user.
     *
     * <p>{@code DELETE /users/{main_key}}
     *
     * @param mainKey The user's key: 64 hex characters.
     * @param query which part of it
     * @return the response; fails with {@link UsherException}
     */
    public Call<UserErasure> eraseUser(String mainKey, EraseUserQuery query) {
        return eraseUser(mainKey, query, CallOptions.DEFAULT);
    }

    /**
     * Erases a user.
     *
     * <p>Removes what Usher keeps of a user: the session with their remote signer, their passkeys, the relays at which
     * they are reached, what they agreed to give apps with all sessions and tokens (OpenID Connect), and the finished
     * streams that are about them, with their events and deliveries: these streams then respond with 404, as after
     * their retention. What has to stay is listed in {@code kept}, with the reason: nothing that money depends on is
     * removed. The books name no user.
     *
     * <p>A request searches for about 10 seconds. While {@code next} is not {@code null}, continue with it as {@code
     * after}. A request that is repeated removes what is left, so an interrupted one can be repeated. After the
     * erasure, a login of the same key is that of a new user.
     *
     * <p>An API key needs the scope {@code admin}.
     *
     * <p>{@code DELETE /users/{main_key}}
     *
     * @param mainKey The user's key: 64 hex characters.
     * @param query which part of it
     * @param options how to call
     * @return the response; fails with {@link UsherException}
     */
    public Call<UserErasure> eraseUser(String mainKey, EraseUserQuery query, CallOptions options) {
        return transport.call(Request.of("DELETE", "/users/{main_key}",
                mainKey).query(Encoders.eraseUserQuery(query)), options, Decoders::userErasure);
    }

    /**
     * Issues a JWT about a key, signed with the service's key.
     *
     * <p>{@code POST /jwt/issue}
     *
     * @param request The key and the validity of a JWT.
     * @return the response; fails with {@link UsherException}
     */
    public Call<JwtIssued> issueJwt(JwtIssueRequest request) {
        return issueJwt(request, CallOptions.DEFAULT);
    }

    /**
     * Issues a JWT about a key, signed with the service's key.
     *
     * <p>ES256K with the service's Nostr key (the BIP-340 key, with even Y), with the claims {@code iat}, {@code nbf},
     * {@code exp} and {@code target_key}. The service does not check that the user holds the key: use {@code POST
     * /authenticate-key} first. An issued JWT cannot be revoked.
     *
     * <p>An API key needs the scope {@code login}.
     *
     * <p>{@code POST /jwt/issue}
     *
     * @param request The key and the validity of a JWT.
     * @param options how to call
     * @return the response; fails with {@link UsherException}
     */
    public Call<JwtIssued> issueJwt(JwtIssueRequest request, CallOptions options) {
        return transport.call(Request.of("POST", "/jwt/issue").body(Encoders.jwtIssueRequest(request)), options,
                Decoders::jwtIssued);
    }

    /**
     * Verifies that a JWT is signed by a key and valid now.
     *
     * <p>{@code POST /jwt/verify}
     *
     * @param request A JWT, and the key that must have signed it.
     * @return the response; fails with {@link UsherException}
     */
    public Call<JwtVerified> verifyJwt(JwtVerifyRequest request) {
        return verifyJwt(request, CallOptions.DEFAULT);
    }

    /**
     * Verifies that a JWT is signed by a key and valid now.
     *
     * <p>The algorithm must be ES256K and {@code exp} must be present. {@code nbf}, if present, may be at most 30
     * seconds in the future. {@code docs/api.md} has all rules.
     *
     * <p>An API key needs the scope {@code login}.
     *
     * <p>{@code POST /jwt/verify}
     *
     * @param request A JWT, and the key that must have signed it.
     * @param options how to call
     * @return the response; fails with {@link UsherException}
     */
    public Call<JwtVerified> verifyJwt(JwtVerifyRequest request, CallOptions options) {
        return transport.call(Request.of("POST", "/jwt/verify").body(Encoders.jwtVerifyRequest(request)), options,
                Decoders::jwtVerified);
    }

    /**
     * Fetches a user's profile.
     *
     * <p>{@code GET /profile/{main_key}}
     *
     * @param mainKey The user's key: 64 hex characters.
     * @return the response; fails with {@link UsherException}
     */
    public Call<Profile> getProfile(String mainKey) {
        return getProfile(mainKey, CallOptions.DEFAULT);
    }

    /**
     * Fetches a user's profile.
     *
     * <p>Usher queries its own relays, the relays that the user named, and those of the user's relay list (NIP-65),
     * and uses the newest valid event. This takes at most 8 seconds. A profile is cached for 10 minutes, and the
     * absence of one for 1 minute.
     *
     * <p>An API key needs the scope {@code login}.
     *
     * <p>{@code GET /profile/{main_key}}
     *
     * @param mainKey The user's key: 64 hex characters.
     * @param options how to call
     * @return the response; fails with {@link UsherException}
     */
    public Call<Profile> getProfile(String mainKey, CallOptions options) {
        return transport.call(Request.of("GET", "/profile/{main_key}", mainKey), options, Decoders::profile);
    }

    /**
     * Resolves a NIP-05 identifier to a key.
     *
     * <p>{@code GET /nip05/{identifier}}
     *
     * @param identifier {@code name@domain}; {@code _@domain} names the domain itself.
     * @return the response; fails with {@link UsherException}
     */
    public Call<Nip05> resolveNip05(String identifier) {
        return resolveNip05(identifier, CallOptions.DEFAULT);
    }

    /**
     * Resolves a NIP-05 identifier to a key.
     *
     * <p>Usher queries the domain of the identifier over HTTPS for at most 5 seconds. It follows no redirects and
     * connects to no private address. A result is cached for 10 minutes, and the absence of one for 1 minute.
     *
     * <p>An API key needs the scope {@code login}.
     *
     * <p>{@code GET /nip05/{identifier}}
     *
     * @param identifier {@code name@domain}; {@code _@domain} names the domain itself.
     * @param options how to call
     * @return the response; fails with {@link UsherException}
     */
    public Call<Nip05> resolveNip05(String identifier, CallOptions options) {
        return transport.call(Request.of("GET", "/nip05/{identifier}", identifier), options, Decoders::nip05);
    }

    /**
     * Asks for a Lightning payment to the service.
     *
     * <p>{@code POST /payments/single}
     *
     * @param request Asks for a payment.
     * @return the response; fails with {@link UsherException}
     */
    public Call<PaymentStarted> requestPayment(SinglePaymentRequest request) {
        return requestPayment(request, CallOptions.DEFAULT);
    }

    /**
     * Asks for a Lightning payment to the service.
     *
     * <p>With {@code main_key}, the user's wallet is asked; any other Lightning wallet can pay on {@code page_url}, to
     * which you can redirect the user's browser. Without it, no wallet is asked: anybody who opens {@code page_url}
     * can pay.
     *
     * <p>The response comes at once; the invoice is created, and sent to the user's wallet, afterwards. The stream
     * gets {@code StatusUpdate} events: {@code {status: "user_approved"}} and {@code {status: "user_failed", reason?}}
     * while the payment is in progress, and finally one of {@code {status: "paid", preimage}}, {@code {status:
     * "user_rejected", reason?}}, {@code {status: "timeout", reason}} and {@code {status: "error", reason}}. If the
     * money arrives after that, a later {@code paid} reports it. Each event contains your {@code request_id}.
     *
     * <p>An {@code amount} in another {@code currency} than millisats is converted now, rounded up to a whole sat. The
     * response and each event have {@code amount}, {@code currency}, {@code amount_millisats} and {@code rate}.
     *
     * <p>An API key needs the scope {@code payments:receive}.
     *
     * <p>{@code POST /payments/single}
     *
     * @param request Asks for a payment.
     * @param options how to call
     * @return the response; fails with {@link UsherException}
     */
    public Call<PaymentStarted> requestPayment(SinglePaymentRequest request, CallOptions options) {
        return transport.call(Request.of("POST", "/payments/single").body(Encoders.singlePaymentRequest(request)),
                options, Decoders::paymentStarted);
    }

    /**
     * Pays an invoice, from a user's wallet or from the service's Lightning backend.
     *
     * <p>{@code POST /invoices/pay}
     *
     * @param request Has an invoice paid.
     * @return the response; fails with {@link UsherException}
     */
    public Call<StreamStarted> payInvoice(PayInvoiceRequest request) {
        return payInvoice(request, CallOptions.DEFAULT);
    }

    /**
     * Pays an invoice, from a user's wallet or from the service's Lightning backend.
     *
     * <p>With {@code main_key}, the user's wallet is asked to pay, and the stream gets the events that {@code POST
     * /payments/single} describes; Usher reports {@code paid} when the wallet shows the preimage. Without {@code
     * main_key}, the Lightning backend pays: {@code {status: "paid", preimage, fees_paid?}} or {@code {status:
     * "error", reason, outcome}}. {@code outcome} is {@code not_paid}, or {@code unknown} if the backend cannot tell;
     * if the payment turns out to have been made, a later {@code paid} reports it.
     *
     * <p>An invoice is never paid twice: the same invoice always gets the stream of the first request. Another invoice
     * with the same payment hash is refused (422).
     *
     * <p>The Lightning backend pays at most {@code wallet.daily_budget_millisats} within 24 hours. Amount and the
     * largest allowed fee ({@code wallet.max_fee_percent}) must fit into what is left. If they are together more than
     * {@code wallet.approval_above_millisats}, the stream first gets {@code {status: "approval_required"}}, and the
     * payment begins when somebody else approves it ({@code POST /approvals/{stream_id}}).
     *
     * <p>An API key needs the scope {@code payments:send}.
     *
     * <p>{@code POST /invoices/pay}
     *
     * @param request Has an invoice paid.
     * @param options how to call
     * @return the response; fails with {@link UsherException}
     */
    public Call<StreamStarted> payInvoice(PayInvoiceRequest request, CallOptions options) {
        return transport.call(Request.of("POST", "/invoices/pay").body(Encoders.payInvoiceRequest(request)), options,
                Decoders::streamStarted);
    }

    /**
     * Asks a user's wallet for an invoice.
     *
     * <p>{@code POST /invoices/request}
     *
     * @param request Asks a user for an invoice.
     * @return the response; fails with {@link UsherException}
     */
    public Call<PricedStreamStarted> requestInvoice(InvoiceRequest request) {
        return requestInvoice(request, CallOptions.DEFAULT);
    }

    /**
     * Asks a user's wallet for an invoice.
     *
     * <p>The stream gets one event: {@code InvoiceResponse} {@code {invoice, payment_hash, amount}}, with a verified
     * invoice (signature, amount, network, expiry), or {@code StatusUpdate} {@code {status: "timeout"}} or {@code
     * {status: "error", reason}}. Pay the invoice with {@code POST /invoices/pay}.
     *
     * <p>An {@code amount} in another {@code currency} than millisats is converted now, rounded up to a whole sat, and
     * the wallet is asked for an invoice of so many millisats. The response and each event have {@code amount}, {@code
     * currency}, {@code amount_millisats} and {@code rate}.
     *
     * <p>An API key needs the scope {@code payments:send}.
     *
     * <p>{@code POST /invoices/request}
     *
     * @param request Asks a user for an invoice.
     * @param options how to call
     * @return the response; fails with {@link UsherException}
     */
    public Call<PricedStreamStarted> requestInvoice(InvoiceRequest request, CallOptions options) {
        return transport.call(Request.of("POST", "/invoices/request").body(Encoders.invoiceRequest(request)), options,
                Decoders::pricedStreamStarted);
    }

    /**
     * Lists the payments that the service received or made: its books.
     *
     * <p>{@code GET /payments}
     *
     * @param query which part of it
     * @return the response; fails with {@link UsherException}
     */
    public Call<PaymentList> listPayments(ListPaymentsQuery query) {
        return listPayments(query, CallOptions.DEFAULT);
    }

    /**
     * Lists the payments that the service received or made: its books.
     *
     * <p>They stay for {@code payments.records_days} after their end, longer than their streams, and name no user.
     * Over any time in which no payment was {@code open} or {@code unknown}, the balance of the Lightning backend has
     * changed by the {@code settled_millisats} of {@code in}, less {@code settled_millisats} and {@code fee_millisats}
     * of {@code out}; what was paid from the same wallet in other ways, and the fees of channels, come on top.
     * Invoices that users pay to others are not in it.
     *
     * <p>An API key needs the scope {@code payments:receive}.
     *
     * <p>{@code GET /payments}
     *
     * @param query which part of it
     * @param options how to call
     * @return the response; fails with {@link UsherException}
     */
    public Call<PaymentList> listPayments(ListPaymentsQuery query, CallOptions options) {
        return transport.call(Request.of("GET", "/payments").query(Encoders.listPaymentsQuery(query)), options,
                Decoders::paymentList);
    }

    /**
     * Shows the receipt of a payment.
     *
     * <p>{@code GET /payments/{stream_id}/receipt}
     *
     * @param streamId The payment's stream.
     * @return the response; fails with {@link UsherException}
     */
    public Call<Receipt> getReceipt(String streamId) {
        return getReceipt(streamId, CallOptions.DEFAULT);
    }

    /**
     * Shows the receipt of a payment.
     *
     * <p>There is one for each payment that was paid, for {@code payments.records_days}.
     *
     * <p>An API key needs the scope {@code payments:receive}.
     *
     * <p>{@code GET /payments/{stream_id}/receipt}
     *
     * @param streamId The payment's stream.
     * @param options how to call
     * @return the response; fails with {@link UsherException}
     */
    public Call<Receipt> getReceipt(String streamId, CallOptions options) {
        return transport.call(Request.of("GET", "/payments/{stream_id}/receipt", streamId), options, Decoders::receipt);
    }

    /**
     * Pays a payment back, in full or in part.
     *
     * <p>{@code POST /payments/{stream_id}/refund}
     *
     * @param streamId The stream of the payment: of {@code POST /payments/single}, or as {@code GET /payments} lists
     *     it.
     * @param request Pays a payment back.
     * @return the response; fails with {@link UsherException}
     */
    public Call<RefundStarted> refundPayment(String streamId, RefundRequest request) {
        return refundPayment(streamId, request, CallOptions.DEFAULT);
    }

    /**
     * Pays a payment back, in full or in part.
     *
     * <p>The money goes to an invoice of the payer's. The wallet that was asked to pay is asked for one, and the payer
     * can name one on {@code page_url}: send them there if they paid with another wallet. Give the address to nobody
     * else. The service's Lightning backend pays the first invoice that fits, within {@code
     * wallet.daily_budget_millisats}; the refund takes its share of the budget when it starts. All refunds of a
     * payment together never exceed what was paid for it. Above {@code wallet.approval_above_millisats} the stream
     * first gets {@code {status: "approval_required"}}, and the payer is asked when somebody else approves ({@code
     * POST /approvals/{stream_id}}).
     *
     * <p>The stream gets {@code StatusUpdate} events: {@code {status: "user_failed", reason}} for an invoice that
     * cannot be used, or that is proven not to have been paid, after which another is asked for; {@code {status:
     * "user_approved"}} when there is one; and finally one of {@code {status: "paid", preimage}}, {@code {status:
     * "timeout", reason}} and {@code {status: "error", reason, outcome}}, as for a payment by the Lightning backend.
     * After {@code timeout}, and after {@code error} with the outcome {@code not_paid}, the payment can be refunded
     * again.
     *
     * <p>An API key needs the scope {@code payments:send}.
     *
     * <p>{@code POST /payments/{stream_id}/refund}
     *
     * @param streamId The stream of the payment: of {@code POST /payments/single}, or as {@code GET /payments} lists
     *     it.
     * @param request Pays a payment back.
     * @param options how to call
     * @return the response; fails with {@link UsherException}
     */
    public Call<RefundStarted> refundPayment(String streamId, RefundRequest request, CallOptions options) {
        return transport.call(Request.of("POST", "/payments/{stream_id}/refund",
                streamId).body(Encoders.refundRequest(request)), options, Decoders::refundStarted);
    }

    /**
     * Lists payment links.
     *
     * <p>{@code GET /payment-links}
     *
     * @param query which part of it
     * @return the response; fails with {@link UsherException}
     */
    public Call<PaymentLinkList> listPaymentLinks(ListPaymentLinksQuery query) {
        return listPaymentLinks(query, CallOptions.DEFAULT);
    }

    /**
     * Lists payment links.
     *
     * <p>Those that are open, and those that have ended within the last 61 days: as long as an invoice of theirs may
     * still be paid.
     *
     * <p>An API key needs the scope {@code payments:receive}.
     *
     * <p>{@code GET /payment-links}
     *
     * @param query which part of it
     * @param options how to call
     * @return the response; fails with {@link UsherException}
     */
    public Call<PaymentLinkList> listPaymentLinks(ListPaymentLinksQuery query, CallOptions options) {
        return transport.call(Request.of("GET", "/payment-links").query(Encoders.listPaymentLinksQuery(query)),
                options, Decoders::paymentLinkList);
    }

    /**
     * Creates a payment link, at which many people can pay.
     *
     * <p>{@code POST /payment-links}
     *
     * @param request Creates a payment link: either with {@code amount}, or with {@code min} and {@code max}.
     * @return the response; fails with {@link UsherException}
     */
    public Call<PaymentLinkCreated> createPaymentLink(PaymentLinkRequest request) {
        return createPaymentLink(request, CallOptions.DEFAULT);
    }

    /**
     * Creates a payment link, at which many people can pay.
     *
     * <p>Give out {@code page_url} as a link, or {@code lnurl} as a QR code: any wallet can scan it, also from paper.
     * Each payer gets an invoice of their own when they ask for it, which can be paid for five minutes. All pay {@code
     * amount}, or each what they choose from {@code min} to {@code max}.
     *
     * <p>The stream gets a {@code StatusUpdate} {@code {status: "paid", payment_id, amount, currency,
     * amount_millisats, preimage, …}} for each payment that was made, and nothing for invoices that nobody pays.
     * {@code payment_id} names the payment: {@code GET /payments} lists it, and {@code POST
     * /payments/{payment_id}/refund} pays it back. {@code comment} is what the payer wrote with their wallet:
     * untrusted text.
     *
     * <p>The link gives out no more invoices after {@code expires_at}, after {@code max_payments}, or once it is
     * closed ({@code DELETE /payment-links/{stream_id}}). An invoice that was given out before can still be paid, and
     * the payment is an event as any other: at most so many people pay more than {@code max_payments} as have an
     * invoice when the last of these is made.
     *
     * <p>An API key needs the scope {@code payments:receive}.
     *
     * <p>{@code POST /payment-links}
     *
     * @param request Creates a payment link: either with {@code amount}, or with {@code min} and {@code max}.
     * @param options how to call
     * @return the response; fails with {@link UsherException}
     */
    public Call<PaymentLinkCreated> createPaymentLink(PaymentLinkRequest request, CallOptions options) {
        return transport.call(Request.of("POST", "/payment-links").body(Encoders.paymentLinkRequest(request)),
                options, Decoders::paymentLinkCreated);
    }

    /**
     * Closes a payment link.
     *
     * <p>{@code DELETE /payment-links/{stream_id}}
     *
     * @param streamId The {@code stream_id} of {@code POST /payment-links}.
     * @return the response; fails with {@link UsherException}
     */
    public Call<PaymentLinkClosed> closePaymentLink(String streamId) {
        return closePaymentLink(streamId, CallOptions.DEFAULT);
    }

    /**
     * Closes a payment link.
     *
     * <p>It gives out no more invoices, and its stream is done; there is no event for this. An invoice that was given
     * out before can still be paid, and the payment is an event as any other. A link that is already closed gets the
     * same response.
     *
     * <p>An API key needs the scope {@code payments:receive}.
     *
     * <p>{@code DELETE /payment-links/{stream_id}}
     *
     * @param streamId The {@code stream_id} of {@code POST /payment-links}.
     * @param options how to call
     * @return the response; fails with {@link UsherException}
     */
    public Call<PaymentLinkClosed> closePaymentLink(String streamId, CallOptions options) {
        return transport.call(Request.of("DELETE", "/payment-links/{stream_id}", streamId), options,
                Decoders::paymentLinkClosed);
    }

    /**
     * Describes the service's Lightning backend and its balance.
     *
     * <p>{@code GET /wallet/info}
     *
     * @return the response; fails with {@link UsherException}
     */
    public Call<WalletInfo> getWalletInfo() {
        return getWalletInfo(CallOptions.DEFAULT);
    }

    /**
     * Describes the service's Lightning backend and its balance.
     *
     * <p>A wallet of somebody else is asked, and the request waits for its reply; a node of the service itself is
     * described also while it waits for its chain source. Use it to check whether the backend works, not every second.
     *
     * <p>An API key needs the scope {@code payments:receive}.
     *
     * <p>{@code GET /wallet/info}
     *
     * @param options how to call
     * @return the response; fails with {@link UsherException}
     */
    public Call<WalletInfo> getWalletInfo(CallOptions options) {
        return transport.call(Request.of("GET", "/wallet/info"), options, Decoders::walletInfo);
    }

    /**
     * Returns the exchange rate of a currency.
     *
     * <p>{@code GET /rates/{currency}}
     *
     * @param currency One of {@code rates.currencies}, in either case.
     * @return the response; fails with {@link UsherException}
     */
    public Call<CurrentRate> getRate(String currency) {
        return getRate(currency, CallOptions.DEFAULT);
    }

    /**
     * Returns the exchange rate of a currency.
     *
     * <p>It is the rate at which a request that comes now is priced: the median of the configured sources ({@code
     * rates.sources}), without those that are more than 2 % away from it.
     *
     * <p>An API key needs the scope {@code payments:receive}.
     *
     * <p>{@code GET /rates/{currency}}
     *
     * @param currency One of {@code rates.currencies}, in either case.
     * @param options how to call
     * @return the response; fails with {@link UsherException}
     */
    public Call<CurrentRate> getRate(String currency, CallOptions options) {
        return transport.call(Request.of("GET", "/rates/{currency}", currency), options, Decoders::currentRate);
    }

    /**
     * Lists the payments by the service that wait for an approval.
     *
     * <p>{@code GET /approvals}
     *
     * @param query which part of it
     * @return the response; fails with {@link UsherException}
     */
    public Call<ApprovalList> listApprovals(ListApprovalsQuery query) {
        return listApprovals(query, CallOptions.DEFAULT);
    }

    /**
     * Lists the payments by the service that wait for an approval.
     *
     * <p>A payment whose amount and largest fee are more than {@code wallet.approval_above_millisats} waits until
     * somebody else than who asked for it approves ({@code POST /approvals/{stream_id}}).
     *
     * <p>An API key needs the scope {@code approvals}.
     *
     * <p>{@code GET /approvals}
     *
     * @param query which part of it
     * @param options how to call
     * @return the response; fails with {@link UsherException}
     */
    public Call<ApprovalList> listApprovals(ListApprovalsQuery query, CallOptions options) {
        return transport.call(Request.of("GET", "/approvals").query(Encoders.listApprovalsQuery(query)), options,
                Decoders::approvalList);
    }

    /**
     * Approves or declines a payment by the service that waits for an approval.
     *
     * <p>{@code POST /approvals/{stream_id}}
     *
     * @param streamId The payment's stream, as {@code GET /approvals} lists it.
     * @param request Decides about a payment that waits for an approval.
     * @return the response; fails with {@link UsherException}
     */
    public Call<ApprovalDecided> decideApproval(String streamId, ApprovalDecision request) {
        return decideApproval(streamId, request, CallOptions.DEFAULT);
    }

    /**
     * Approves or declines a payment by the service that waits for an approval.
     *
     * <p>Approved, the payment goes on as if it had been started now; of two decisions at once the first counts.
     * Declined, its stream gets {@code {status: "error", reason, outcome: "not_paid"}}. Who asked for a payment cannot
     * approve it, but can decline it. A key approves with its current secret only.
     *
     * <p>An API key needs the scope {@code approvals}.
     *
     * <p>{@code POST /approvals/{stream_id}}
     *
     * @param streamId The payment's stream, as {@code GET /approvals} lists it.
     * @param request Decides about a payment that waits for an approval.
     * @param options how to call
     * @return the response; fails with {@link UsherException}
     */
    public Call<ApprovalDecided> decideApproval(String streamId, ApprovalDecision request, CallOptions options) {
        return transport.call(Request.of("POST", "/approvals/{stream_id}",
                streamId).body(Encoders.approvalDecision(request)), options, Decoders::approvalDecided);
    }

    /**
     * Asks a user to agree to a subscription.
     *
     * <p>{@code POST /payments/recurring}
     *
     * @param request Asks a user to agree to a subscription.
     * @return the response; fails with {@link UsherException}
     */
    public Call<PricedStreamStarted> requestSubscription(RecurringPaymentRequest request) {
        return requestSubscription(request, CallOptions.DEFAULT);
    }

    /**
     * Asks a user to agree to a subscription.
     *
     * <p>The stream gets one event: {@code Subscription} {@code {status: "approved", subscription_id, main_key,
     * authorized_amount, authorized_recurrence, …}} if the user agrees, otherwise {@code StatusUpdate} {@code {status:
     * "user_rejected", reason?}}, {@code {status: "timeout"}} or {@code {status: "error", reason}}. With {@code
     * minimum_amount} the user may authorize less than {@code amount}: then request no more than what was authorized.
     * With {@code auto_charge} the service requests each due payment and reports it on the stream {@code
     * subscriptions}.
     *
     * <p>An {@code amount} in another {@code currency} than millisats is converted again for each payment, rounded up
     * to a whole sat. The user is asked to authorize {@code max_amount_millisats}; a charge that comes to more, or for
     * which there is no exchange rate, fails.
     *
     * <p>An API key needs the scope {@code subscriptions}.
     *
     * <p>{@code POST /payments/recurring}
     *
     * @param request Asks a user to agree to a subscription.
     * @param options how to call
     * @return the response; fails with {@link UsherException}
     */
    public Call<PricedStreamStarted> requestSubscription(RecurringPaymentRequest request, CallOptions options) {
        return transport.call(Request.of("POST",
                "/payments/recurring").body(Encoders.recurringPaymentRequest(request)), options,
                Decoders::pricedStreamStarted);
    }

    /**
     * Closes a subscription and notifies the user's wallet.
     *
     * <p>{@code POST /payments/recurring/close}
     *
     * @param request Closes a subscription.
     * @return the response; fails with {@link UsherException}
     */
    public Call<SubscriptionClosed> closeSubscription(CloseSubscriptionRequest request) {
        return closeSubscription(request, CallOptions.DEFAULT);
    }

    /**
     * Closes a subscription and notifies the user's wallet.
     *
     * <p>A subscription that has already ended gets the same response.
     *
     * <p>An API key needs the scope {@code subscriptions}.
     *
     * <p>{@code POST /payments/recurring/close}
     *
     * @param request Closes a subscription.
     * @param options how to call
     * @return the response; fails with {@link UsherException}
     */
    public Call<SubscriptionClosed> closeSubscription(CloseSubscriptionRequest request, CallOptions options) {
        return transport.call(Request.of("POST",
                "/payments/recurring/close").body(Encoders.closeSubscriptionRequest(request)), options,
                Decoders::subscriptionClosed);
    }

    /**
     * Lists subscriptions.
     *
     * <p>{@code GET /subscriptions}
     *
     * @param query which part of it
     * @return the response; fails with {@link UsherException}
     */
    public Call<SubscriptionList> listSubscriptions(ListSubscriptionsQuery query) {
        return listSubscriptions(query, CallOptions.DEFAULT);
    }

    /**
     * Lists subscriptions.
     *
     * <p>Subscriptions that have ended stay in the list for {@code streams.retention_days}.
     *
     * <p>An API key needs the scope {@code subscriptions}.
     *
     * <p>{@code GET /subscriptions}
     *
     * @param query which part of it
     * @param options how to call
     * @return the response; fails with {@link UsherException}
     */
    public Call<SubscriptionList> listSubscriptions(ListSubscriptionsQuery query, CallOptions options) {
        return transport.call(Request.of("GET", "/subscriptions").query(Encoders.listSubscriptionsQuery(query)),
                options, Decoders::subscriptionList);
    }

    /**
     * Shows a subscription.
     *
     * <p>{@code GET /subscriptions/{subscription_id}}
     *
     * @param subscriptionId The {@code subscription_id} of the {@code Subscription} event.
     * @return the response; fails with {@link UsherException}
     */
    public Call<SubscriptionInfo> getSubscription(String subscriptionId) {
        return getSubscription(subscriptionId, CallOptions.DEFAULT);
    }

    /**
     * Shows a subscription.
     *
     * <p>A subscription that has ended can be read for {@code streams.retention_days}.
     *
     * <p>An API key needs the scope {@code subscriptions}.
     *
     * <p>{@code GET /subscriptions/{subscription_id}}
     *
     * @param subscriptionId The {@code subscription_id} of the {@code Subscription} event.
     * @param options how to call
     * @return the response; fails with {@link UsherException}
     */
    public Call<SubscriptionInfo> getSubscription(String subscriptionId, CallOptions options) {
        return transport.call(Request.of("GET", "/subscriptions/{subscription_id}", subscriptionId), options,
                Decoders::subscriptionInfo);
    }

    /**
     * Computes the next occurrence of a calendar.
     *
     * <p>{@code POST /calendar/next-occurrence}
     *
     * @param request A calendar, and a time.
     * @return the response; fails with {@link UsherException}
     */
    public Call<CalendarNextOccurrence> getNextOccurrence(CalendarNextOccurrenceRequest request) {
        return getNextOccurrence(request, CallOptions.DEFAULT);
    }

    /**
     * Computes the next occurrence of a calendar.
     *
     * <p>The due dates of a subscription are computed like this: after {@code first_payment_due}, each due date is the
     * next occurrence after the previous one. A day that a month does not have is skipped, and so is a time that does
     * not exist because clocks are put forward. A time that exists twice because clocks are put back is used once, the
     * first time.
     *
     * <p>An API key needs the scope {@code subscriptions}.
     *
     * <p>{@code POST /calendar/next-occurrence}
     *
     * @param request A calendar, and a time.
     * @param options how to call
     * @return the response; fails with {@link UsherException}
     */
    public Call<CalendarNextOccurrence> getNextOccurrence(CalendarNextOccurrenceRequest request, CallOptions options) {
        return transport.call(Request.of("POST",
                "/calendar/next-occurrence").body(Encoders.calendarNextOccurrenceRequest(request)), options,
                Decoders::calendarNextOccurrence);
    }

    /**
     * Asks a user's wallet for a ticket.
     *
     * <p>{@code POST /cashu/request}
     *
     * @param request Asks a user for a ticket.
     * @return the response; fails with {@link UsherException}
     */
    public Call<StreamStarted> requestTicket(TicketRequest request) {
        return requestTicket(request, CallOptions.DEFAULT);
    }

    /**
     * Asks a user's wallet for a ticket.
     *
     * <p>The response comes at once. The stream gets one event: {@code CashuResponse} {@code {status: "success",
     * token, amount}} with a token that the mint has confirmed to be unspent, of this mint and unit, and worth at
     * least {@code amount}; or {@code CashuResponse} {@code {status: "insufficient_funds" | "rejected", reason?}}; or
     * {@code StatusUpdate} {@code {status: "timeout"}} or {@code {status: "error", reason, token?}}. With {@code
     * redeem} the ticket is redeemed before {@code success} is reported; without it, redeem the {@code token}
     * yourself, at once, with {@code POST /cashu/burn}.
     *
     * <p>An API key needs the scope {@code tickets}.
     *
     * <p>{@code POST /cashu/request}
     *
     * @param request Asks a user for a ticket.
     * @param options how to call
     * @return the response; fails with {@link UsherException}
     */
    public Call<StreamStarted> requestTicket(TicketRequest request, CallOptions options) {
        return transport.call(Request.of("POST", "/cashu/request").body(Encoders.ticketRequest(request)), options,
                Decoders::streamStarted);
    }

    /**
     * Mints a ticket and returns it.
     *
     * <p>{@code POST /cashu/mint}
     *
     * @param request Mints a ticket.
     * @return the response; fails with {@link UsherException}
     */
    public Call<Ticket> mintTicket(MintTicketRequest request) {
        return mintTicket(request, CallOptions.DEFAULT);
    }

    /**
     * Mints a ticket and returns it.
     *
     * <p>The request waits for the mint, up to 25 seconds. If the mint wants its quote paid, the Lightning backend
     * pays it, for the token and for keys that have {@code payments:send} too. Send an {@code Idempotency-Key}: the
     * same request with the same key never mints twice, and returns the same token, also after {@code mint_timeout}
     * and after a crash. Without a key, a token that comes too late joins the service's own balance ({@code GET
     * /cashu/balances}).
     *
     * <p>An API key needs the scope {@code tickets}.
     *
     * <p>{@code POST /cashu/mint}
     *
     * @param request Mints a ticket.
     * @param options how to call
     * @return the response; fails with {@link UsherException}
     */
    public Call<Ticket> mintTicket(MintTicketRequest request, CallOptions options) {
        return transport.call(Request.of("POST", "/cashu/mint").body(Encoders.mintTicketRequest(request)), options,
                Decoders::ticket);
    }

    /**
     * Redeems a ticket: from then on nobody can use it.
     *
     * <p>{@code POST /cashu/burn}
     *
     * @param request Redeems a ticket.
     * @return the response; fails with {@link UsherException}
     */
    public Call<TicketBurned> burnTicket(BurnTicketRequest request) {
        return burnTicket(request, CallOptions.DEFAULT);
    }

    /**
     * Redeems a ticket: from then on nobody can use it.
     *
     * <p>The value joins the service's own balance ({@code GET /cashu/balances}). Burn what users give you at once,
     * before you let them in: until then, copies of the token are as good as the token. Send an {@code
     * Idempotency-Key}: if the response is lost, the same request with the same key returns it, whereas a new request
     * gets {@code token_already_spent}.
     *
     * <p>An API key needs the scope {@code tickets}.
     *
     * <p>{@code POST /cashu/burn}
     *
     * @param request Redeems a ticket.
     * @param options how to call
     * @return the response; fails with {@link UsherException}
     */
    public Call<TicketBurned> burnTicket(BurnTicketRequest request, CallOptions options) {
        return transport.call(Request.of("POST", "/cashu/burn").body(Encoders.burnTicketRequest(request)), options,
                Decoders::ticketBurned);
    }

    /**
     * Sends a ticket to a user's wallet.
     *
     * <p>{@code POST /cashu/send-direct}
     *
     * @param request Sends a ticket to a user.
     * @return the response; fails with {@link UsherException}
     */
    public Call<TicketSent> sendTicket(SendTicketRequest request) {
        return sendTicket(request, CallOptions.DEFAULT);
    }

    /**
     * Sends a ticket to a user's wallet.
     *
     * <p>The token is stored before the response, and then sent again and again, less and less often, until the mint
     * says that it is spent: the user has redeemed it, and the stream gets {@code CashuResponse} {@code {status:
     * "success"}}. After {@code cashu.send_ttl_hours} (a week) the stream gets {@code StatusUpdate} {@code {status:
     * "timeout"}}. The token is not lost then: it stays in the list of {@code GET /cashu/outgoing}, and {@code POST
     * /cashu/outgoing/{stream_id}/reclaim} takes it back. While a token is being sent, the same request gets the same
     * stream.
     *
     * <p>An API key needs the scope {@code tickets}.
     *
     * <p>{@code POST /cashu/send-direct}
     *
     * @param request Sends a ticket to a user.
     * @param options how to call
     * @return the response; fails with {@link UsherException}
     */
    public Call<TicketSent> sendTicket(SendTicketRequest request, CallOptions options) {
        return transport.call(Request.of("POST", "/cashu/send-direct").body(Encoders.sendTicketRequest(request)),
                options, Decoders::ticketSent);
    }

    /**
     * Lists tickets that were sent and that are not known to be redeemed.
     *
     * <p>{@code GET /cashu/outgoing}
     *
     * @param query which part of it
     * @return the response; fails with {@link UsherException}
     */
    public Call<OutgoingTicketList> listOutgoingTickets(ListOutgoingTicketsQuery query) {
        return listOutgoingTickets(query, CallOptions.DEFAULT);
    }

    /**
     * Lists tickets that were sent and that are not known to be redeemed.
     *
     * <p>A ticket leaves the list when the mint says that it is spent, and when it is reclaimed.
     *
     * <p>An API key needs the scope {@code tickets}.
     *
     * <p>{@code GET /cashu/outgoing}
     *
     * @param query which part of it
     * @param options how to call
     * @return the response; fails with {@link UsherException}
     */
    public Call<OutgoingTicketList> listOutgoingTickets(ListOutgoingTicketsQuery query, CallOptions options) {
        return transport.call(Request.of("GET", "/cashu/outgoing").query(Encoders.listOutgoingTicketsQuery(query)),
                options, Decoders::outgoingTicketList);
    }

    /**
     * Takes back a ticket that was sent and not redeemed.
     *
     * <p>{@code POST /cashu/outgoing/{stream_id}/reclaim}
     *
     * @param streamId The {@code stream_id} of {@code POST /cashu/send-direct}.
     * @param request Takes back a ticket that was sent.
     * @return the response; fails with {@link UsherException}
     */
    public Call<TicketReclaimed> reclaimTicket(String streamId, ReclaimTicketRequest request) {
        return reclaimTicket(streamId, request, CallOptions.DEFAULT);
    }

    /**
     * Takes back a ticket that was sent and not redeemed.
     *
     * <p>The service redeems the ticket itself: the user's copy becomes worthless, and the value joins the service's
     * own balance ({@code GET /cashu/balances}). The stream is done. A ticket that was reclaimed already gets the same
     * response.
     *
     * <p>A ticket that is no longer listed, because the mint says that it is spent, can be reclaimed until its stream
     * is removed: the mint may have been wrong. It is redeemed if the mint agrees.
     *
     * <p>An API key needs the scope {@code tickets}.
     *
     * <p>{@code POST /cashu/outgoing/{stream_id}/reclaim}
     *
     * @param streamId The {@code stream_id} of {@code POST /cashu/send-direct}.
     * @param request Takes back a ticket that was sent.
     * @param options how to call
     * @return the response; fails with {@link UsherException}
     */
    public Call<TicketReclaimed> reclaimTicket(String streamId, ReclaimTicketRequest request, CallOptions options) {
        return transport.call(Request.of("POST", "/cashu/outgoing/{stream_id}/reclaim",
                streamId).body(Encoders.reclaimTicketRequest(request)), options, Decoders::ticketReclaimed);
    }

    /**
     * Lists what the service's own ticket wallet holds.
     *
     * <p>{@code GET /cashu/balances}
     *
     * @return the response; fails with {@link UsherException}
     */
    public Call<TicketBalances> listTicketBalances() {
        return listTicketBalances(CallOptions.DEFAULT);
    }

    /**
     * Lists what the service's own ticket wallet holds.
     *
     * <p>It holds what you burned and took back, and tokens that were minted without an {@code Idempotency-Key} and
     * that nobody got. {@code POST /cashu/withdraw} takes value out. No mint is asked.
     *
     * <p>An API key needs the scope {@code tickets}.
     *
     * <p>{@code GET /cashu/balances}
     *
     * @param options how to call
     * @return the response; fails with {@link UsherException}
     */
    public Call<TicketBalances> listTicketBalances(CallOptions options) {
        return transport.call(Request.of("GET", "/cashu/balances"), options, Decoders::ticketBalances);
    }

    /**
     * Takes a token out of the service's own balance.
     *
     * <p>{@code POST /cashu/withdraw}
     *
     * @param request Takes a token out of the service's own balance.
     * @return the response; fails with {@link UsherException}
     */
    public Call<Ticket> withdrawTicket(WithdrawTicketRequest request) {
        return withdrawTicket(request, CallOptions.DEFAULT);
    }

    /**
     * Takes a token out of the service's own balance.
     *
     * <p>The balance is what you burned or took back ({@code GET /cashu/balances}). Use this to move it to another
     * wallet. Send an {@code Idempotency-Key}: the same request with the same key returns the same token. Without a
     * key, a token whose response is lost returns to the balance only if the service was interrupted before the token
     * was made.
     *
     * <p>An API key needs the scope {@code payments:send}.
     *
     * <p>{@code POST /cashu/withdraw}
     *
     * @param request Takes a token out of the service's own balance.
     * @param options how to call
     * @return the response; fails with {@link UsherException}
     */
    public Call<Ticket> withdrawTicket(WithdrawTicketRequest request, CallOptions options) {
        return transport.call(Request.of("POST", "/cashu/withdraw").body(Encoders.withdrawTicketRequest(request)),
                options, Decoders::ticket);
    }

    /**
     * Opens an age verification session.
     *
     * <p>{@code POST /verification/sessions}
     *
     * @param request Opens an age verification session. Every field is optional, and so is the body.
     * @return the response; fails with {@link UsherException}
     */
    public Call<VerificationSession> createVerificationSession(VerificationSessionRequest request) {
        return createVerificationSession(request, CallOptions.DEFAULT);
    }

    /**
     * Opens an age verification session.
     *
     * <p>Redirect the user to {@code session_url}. The stream gets one event: {@code CashuResponse} with {@code
     * status} {@code success} and the proof as {@code token}, {@code rejected} with a {@code reason}, or {@code
     * insufficient_funds} when the user has passed but no proof could be issued ({@code passed} is true or false in
     * each); or {@code StatusUpdate} {@code {status: "timeout"}} when nobody decides before {@code expires_at}. Redeem
     * the proof at once with {@code POST /cashu/burn}, so that nobody can use it again.
     *
     * <p>With {@code return_url} the page leads the user's browser back to your app at the end. It only says that the
     * user is back: read the result from the stream.
     *
     * <p>Who decides is configured as {@code verification.provider}. The service keeps nothing about the user but the
     * result.
     *
     * <p>An API key needs the scope {@code verification}.
     *
     * <p>{@code POST /verification/sessions}
     *
     * @param request Opens an age verification session. Every field is optional, and so is the body.
     * @param options how to call
     * @return the response; fails with {@link UsherException}
     */
    public Call<VerificationSession> createVerificationSession(VerificationSessionRequest request, CallOptions
            options) {
        return transport.call(Request.of("POST",
                "/verification/sessions").body(Encoders.verificationSessionRequest(request)), options,
                Decoders::verificationSession);
    }

    /**
     * Decides an open age verification session.
     *
     * <p>{@code POST /verification/sessions/{session_id}/decision}
     *
     * @param sessionId The {@code session_id} of {@code POST /verification/sessions}.
     * @param request Decides an age verification session.
     * @return the response; fails with {@link UsherException}
     */
    public Call<VerificationDecided> decideVerificationSession(String sessionId, VerificationDecision request) {
        return decideVerificationSession(sessionId, request, CallOptions.DEFAULT);
    }

    /**
     * Decides an open age verification session.
     *
     * <p>For your staff, with {@code verification.provider = "manual"}; with another provider, they can decide in its
     * place while the session is open. A session is decided once. Its stream then gets the result.
     *
     * <p>An API key needs the scope {@code verification}.
     *
     * <p>{@code POST /verification/sessions/{session_id}/decision}
     *
     * @param sessionId The {@code session_id} of {@code POST /verification/sessions}.
     * @param request Decides an age verification session.
     * @param options how to call
     * @return the response; fails with {@link UsherException}
     */
    public Call<VerificationDecided> decideVerificationSession(String sessionId, VerificationDecision request,
            CallOptions options) {
        return transport.call(Request.of("POST", "/verification/sessions/{session_id}/decision",
                sessionId).body(Encoders.verificationDecision(request)), options, Decoders::verificationDecided);
    }

    /**
     * Asks a user's wallet for a proof of age that the user holds already, without a page.
     *
     * <p>{@code POST /verification/token}
     *
     * @param request Asks a user for a proof of age.
     * @return the response; fails with {@link UsherException}
     */
    public Call<StreamStarted> requestVerificationToken(VerificationTokenRequest request) {
        return requestVerificationToken(request, CallOptions.DEFAULT);
    }

    /**
     * Asks a user's wallet for a proof of age that the user holds already, without a page.
     *
     * <p>The proof has the unit and amount of {@code verification.unit} and {@code verification.amount}. The stream
     * gets one event, as that of {@code POST /cashu/request}. Redeem the {@code token} of {@code success} at once with
     * {@code POST /cashu/burn}. The user has five minutes.
     *
     * <p>An API key needs the scope {@code verification}.
     *
     * <p>{@code POST /verification/token}
     *
     * @param request Asks a user for a proof of age.
     * @param options how to call
     * @return the response; fails with {@link UsherException}
     */
    public Call<StreamStarted> requestVerificationToken(VerificationTokenRequest request, CallOptions options) {
        return transport.call(Request.of("POST",
                "/verification/token").body(Encoders.verificationTokenRequest(request)), options,
                Decoders::streamStarted);
    }

    /**
     * Reads the events of a stream.
     *
     * <p>{@code GET /events/{stream_id}}
     *
     * @param streamId The {@code stream_id} of the request that started the operation, or {@code subscriptions}.
     * @param query which part of it
     * @return the response; fails with {@link UsherException}
     */
    public Call<EventPage> readEvents(String streamId, ReadEventsQuery query) {
        return readEvents(streamId, query, CallOptions.DEFAULT);
    }

    /**
     * Reads the events of a stream.
     *
     * <p>Returns the events with {@code index >= after}, oldest first. In the next request, set {@code after} to
     * {@code next} of the response; stop when {@code done} is true. (A payment that ended unpaid may get one late
     * {@code paid} after that.) Events never change, so a request can be repeated freely.
     *
     * <p>There are three ways to get the same events. A plain request returns at once. With {@code wait}, the request
     * stays open until an event arrives (long polling). With {@code Accept: text/event-stream}, events are sent as
     * they happen: {@code id} is the index, {@code event} the type, {@code data} the event as JSON; comments keep the
     * connection alive, and the response ends when the stream is done. To resume, send {@code Last-Event-ID}, which
     * takes precedence over {@code after}; 204 means that the stream is done and you have its events, so that an
     * {@code EventSource} must not reconnect.
     *
     * <p>An API key needs the scope {@code events:read}.
     *
     * <p>{@code GET /events/{stream_id}}
     *
     * @param streamId The {@code stream_id} of the request that started the operation, or {@code subscriptions}.
     * @param query which part of it
     * @param options how to call
     * @return the response; fails with {@link UsherException}
     */
    public Call<EventPage> readEvents(String streamId, ReadEventsQuery query, CallOptions options) {
        return transport.call(Request.of("GET", "/events/{stream_id}",
                streamId).query(Encoders.readEventsQuery(query)), options, Events::eventPage);
    }

    /**
     * Lists webhook deliveries.
     *
     * <p>{@code GET /webhooks/deliveries}
     *
     * @param query which part of it
     * @return the response; fails with {@link UsherException}
     */
    public Call<WebhookDeliveries> listWebhookDeliveries(ListWebhookDeliveriesQuery query) {
        return listWebhookDeliveries(query, CallOptions.DEFAULT);
    }

    /**
     * Lists webhook deliveries.
     *
     * <p>{@code failed} deliveries were given up after three days of attempts; {@code POST
     * /webhooks/deliveries/{id}/retry} tries again. Delivered and failed ones are listed until their stream is removed
     * ({@code streams.retention_days}), or, on streams that stay open, for as long after their last attempt. Without
     * {@code webhook.url} no new deliveries are made.
     *
     * <p>An API key needs the scope {@code events:read}.
     *
     * <p>{@code GET /webhooks/deliveries}
     *
     * @param query which part of it
     * @param options how to call
     * @return the response; fails with {@link UsherException}
     */
    public Call<WebhookDeliveries> listWebhookDeliveries(ListWebhookDeliveriesQuery query, CallOptions options) {
        return transport.call(Request.of("GET",
                "/webhooks/deliveries").query(Encoders.listWebhookDeliveriesQuery(query)), options,
                Decoders::webhookDeliveries);
    }

    /**
     * Sends a webhook delivery again.
     *
     * <p>{@code POST /webhooks/deliveries/{id}/retry}
     *
     * @param id The delivery's {@code id}: {@code <stream_id>:<index>}.
     * @return the response; fails with {@link UsherException}
     */
    public Call<WebhookDelivery> retryWebhookDelivery(String id) {
        return retryWebhookDelivery(id, CallOptions.DEFAULT);
    }

    /**
     * Sends a webhook delivery again.
     *
     * <p>A failed or delivered one becomes pending and is sent at once, with retries like a new one; a pending one is
     * sent at once. Earlier pending events of the same stream go first. The response shows its new state. The receiver
     * gets the same id as before.
     *
     * <p>An API key needs the scope {@code admin}.
     *
     * <p>{@code POST /webhooks/deliveries/{id}/retry}
     *
     * @param id The delivery's {@code id}: {@code <stream_id>:<index>}.
     * @param options how to call
     * @return the response; fails with {@link UsherException}
     */
    public Call<WebhookDelivery> retryWebhookDelivery(String id, CallOptions options) {
        return transport.call(Request.of("POST", "/webhooks/deliveries/{id}/retry", id), options,
                Decoders::webhookDelivery);
    }

    /**
     * Checks that the service is alive.
     *
     * <p>{@code GET /health}
     *
     * @return the response; fails with {@link UsherException}
     */
    public Call<String> checkHealth() {
        return checkHealth(CallOptions.DEFAULT);
    }

    /**
     * Checks that the service is alive.
     *
     * <p>It uses neither the database nor the relays, so a supervisor does not restart the service because of a
     * problem that a restart cannot solve.
     *
     * <p>{@code GET /health}
     *
     * @param options how to call
     * @return the response; fails with {@link UsherException}
     */
    public Call<String> checkHealth(CallOptions options) {
        return transport.text(Request.of("GET", "/health"), options);
    }

    /**
     * Checks whether the service can work.
     *
     * <p>{@code GET /health/ready}
     *
     * @return the response; fails with {@link UsherException}
     */
    public Call<Ready> checkReadiness() {
        return checkReadiness(CallOptions.DEFAULT);
    }

    /**
     * Checks whether the service can work.
     *
     * <p>It can if it can read and write its database and at least one of its relays is connected. A service that is
     * not ready recovers once the cause is gone. So use this for a load balancer, a start-up check or monitoring, and
     * {@code GET /health} for a supervisor that restarts the service.
     *
     * <p>An API key needs the scope {@code admin}.
     *
     * <p>{@code GET /health/ready}
     *
     * @param options how to call
     * @return the response; fails with {@link UsherException}
     */
    public Call<Ready> checkReadiness(CallOptions options) {
        return transport.call(Request.of("GET", "/health/ready").reportingByStatus(), options, Decoders::ready);
    }

    /**
     * Returns metrics for Prometheus.
     *
     * <p>{@code GET /metrics}
     *
     * @return the response; fails with {@link UsherException}
     */
    public Call<String> getMetrics() {
        return getMetrics(CallOptions.DEFAULT);
    }

    /**
     * Returns metrics for Prometheus.
     *
     * <p>The text format, version 0.0.4. Names begin with {@code usher_}, units are base units, and counters end in
     * {@code _total} and start at 0 with the process. No label contains a key, a token, a stream or an address. {@code
     * docs/monitoring.md} lists the metrics.
     *
     * <p>An API key needs the scope {@code admin}.
     *
     * <p>{@code GET /metrics}
     *
     * @param options how to call
     * @return the response; fails with {@link UsherException}
     */
    public Call<String> getMetrics(CallOptions options) {
        return transport.text(Request.of("GET", "/metrics"), options);
    }

    /**
     * Lists who changed what: the audit log.
     *
     * <p>{@code GET /audit}
     *
     * @param query which part of it
     * @return the response; fails with {@link UsherException}
     */
    public Call<AuditLog> listAuditEntries(ListAuditEntriesQuery query) {
        return listAuditEntries(query, CallOptions.DEFAULT);
    }

    /**
     * Lists who changed what: the audit log.
     *
     * <p>Each change that a client makes is an entry, in the same transaction as the change, and so is each request
     * that was refused because of what the client may do or spend. An entry has no secret and names no user. {@code
     * usher audit verify} shows whether entries were changed or removed.
     *
     * <p>An API key needs the scope {@code admin}.
     *
     * <p>{@code GET /audit}
     *
     * @param query which part of it
     * @param options how to call
     * @return the response; fails with {@link UsherException}
     */
    public Call<AuditLog> listAuditEntries(ListAuditEntriesQuery query, CallOptions options) {
        return transport.call(Request.of("GET", "/audit").query(Encoders.listAuditEntriesQuery(query)), options,
                Decoders::auditLog);
    }

    /**
     * Lists the relays and the state of their connections.
     *
     * <p>{@code GET /relays}
     *
     * @return the response; fails with {@link UsherException}
     */
    public Call<Relays> listRelays() {
        return listRelays(CallOptions.DEFAULT);
    }

    /**
     * Lists the relays and the state of their connections.
     *
     * <p>These are the service's own relays, configured or added, and those of users whose replies the service waits
     * for. The response shows the current state of each connection without querying the relay.
     *
     * <p>An API key needs the scope {@code relays}.
     *
     * <p>{@code GET /relays}
     *
     * @param options how to call
     * @return the response; fails with {@link UsherException}
     */
    public Call<Relays> listRelays(CallOptions options) {
        return transport.call(Request.of("GET", "/relays"), options, Decoders::relays);
    }

    /**
     * Adds a relay.
     *
     * <p>{@code POST /relays}
     *
     * @param request Names a relay.
     * @return the response; fails with {@link UsherException}
     */
    public Call<Relay> addRelay(RelayRequest request) {
        return addRelay(request, CallOptions.DEFAULT);
    }

    /**
     * Adds a relay.
     *
     * <p>The change is durable and takes effect before the response: new handshake URLs name the relay, and unanswered
     * requests are sent to it as well. The response waits up to 2 seconds for the connection, to show whether it
     * works; a relay that is down is added as well, and the service keeps trying. A relay that is already there stays
     * as it is. There may be 16 relays. A relay that an API key adds must be on the public Internet, at port 80, 443
     * or one from 1024.
     *
     * <p>An API key needs the scope {@code relays}.
     *
     * <p>{@code POST /relays}
     *
     * @param request Names a relay.
     * @param options how to call
     * @return the response; fails with {@link UsherException}
     */
    public Call<Relay> addRelay(RelayRequest request, CallOptions options) {
        return transport.call(Request.of("POST", "/relays").body(Encoders.relayRequest(request)), options,
                Decoders::relay);
    }

    /**
     * Removes a relay, including a configured one.
     *
     * <p>{@code DELETE /relays}
     *
     * @param request Names a relay.
     * @return the response; fails with {@link UsherException}
     */
    public Call<RelayRemoved> removeRelay(RelayRequest request) {
        return removeRelay(request, CallOptions.DEFAULT);
    }

    /**
     * Removes a relay, including a configured one.
     *
     * <p>The change is durable before the response. Events that are queued for the relay are still sent. A relay that
     * a user named is still used for that user. A configured relay stays removed until it is added again or removed
     * from {@code nostr.relays}. You may remove the last relay: until you add another, handshake URLs name none, few
     * users can be reached, and {@code GET /health/ready} reports it.
     *
     * <p>An API key needs the scope {@code relays}.
     *
     * <p>{@code DELETE /relays}
     *
     * @param request Names a relay.
     * @param options how to call
     * @return the response; fails with {@link UsherException}
     */
    public Call<RelayRemoved> removeRelay(RelayRequest request, CallOptions options) {
        return transport.call(Request.of("DELETE", "/relays").body(Encoders.relayRequest(request)), options,
                Decoders::relayRemoved);
    }

    /**
     * Publishes the service's own profile, replacing the previous one.
     *
     * <p>{@code PUT /profile}
     *
     * @param request The service's own profile. A field that is missing or {@code null} is removed from it.
     * @return the response; fails with {@link UsherException}
     */
    public Call<Profile> publishProfile(ProfileRequest request) {
        return publishProfile(request, CallOptions.DEFAULT);
    }

    /**
     * Publishes the service's own profile, replacing the previous one.
     *
     * <p>The change is durable before the response, and every relay of the service gets the profile; a relay that is
     * down gets it later. Fields that another program set and that are not listed here are kept. The profile stays
     * until the next request, or until {@code profile.*} in the configuration changes.
     *
     * <p>An API key needs the scope {@code relays}.
     *
     * <p>{@code PUT /profile}
     *
     * @param request The service's own profile. A field that is missing or {@code null} is removed from it.
     * @param options how to call
     * @return the response; fails with {@link UsherException}
     */
    public Call<Profile> publishProfile(ProfileRequest request, CallOptions options) {
        return transport.call(Request.of("PUT", "/profile").body(Encoders.profileRequest(request)), options,
                Decoders::profile);
    }

    /**
     * Lists what users agreed to give apps (OpenID Connect).
     *
     * <p>{@code GET /oidc/consents}
     *
     * @param query which part of it
     * @return the response; fails with {@link UsherException}
     */
    public Call<OidcConsentList> listOidcConsents(ListOidcConsentsQuery query) {
        return listOidcConsents(query, CallOptions.DEFAULT);
    }

    /**
     * Lists what users agreed to give apps (OpenID Connect).
     *
     * <p>A user agrees once for each app, and again when it wants more.
     *
     * <p>An API key needs the scope {@code admin}.
     *
     * <p>{@code GET /oidc/consents}
     *
     * @param query which part of it
     * @param options how to call
     * @return the response; fails with {@link UsherException}
     */
    public Call<OidcConsentList> listOidcConsents(ListOidcConsentsQuery query, CallOptions options) {
        return transport.call(Request.of("GET", "/oidc/consents").query(Encoders.listOidcConsentsQuery(query)),
                options, Decoders::oidcConsentList);
    }

    /**
     * Revokes what a user agreed to give an app (OpenID Connect).
     *
     * <p>{@code DELETE /oidc/consents}
     *
     * @param request Names a consent.
     * @return the response; fails with {@link UsherException}
     */
    public Call<OidcConsentRevoked> revokeOidcConsent(RevokeOidcConsentRequest request) {
        return revokeOidcConsent(request, CallOptions.DEFAULT);
    }

    /**
     * Revokes what a user agreed to give an app (OpenID Connect).
     *
     * <p>The app's codes and tokens for this user stop working before the response, except ID tokens, which apps
     * verify themselves. The user is asked again at the next login. Sessions within the app end when the app ends
     * them.
     *
     * <p>An API key needs the scope {@code admin}.
     *
     * <p>{@code DELETE /oidc/consents}
     *
     * @param request Names a consent.
     * @param options how to call
     * @return the response; fails with {@link UsherException}
     */
    public Call<OidcConsentRevoked> revokeOidcConsent(RevokeOidcConsentRequest request, CallOptions options) {
        return transport.call(Request.of("DELETE", "/oidc/consents").body(Encoders.revokeOidcConsentRequest(request)),
                options, Decoders::oidcConsentRevoked);
    }

    /**
     * Lists the keys that sign ID tokens.
     *
     * <p>{@code GET /oidc/keys}
     *
     * @return the response; fails with {@link UsherException}
     */
    public Call<OidcKeys> listOidcKeys() {
        return listOidcKeys(CallOptions.DEFAULT);
    }

    /**
     * Lists the keys that sign ID tokens.
     *
     * <p>The response has no private key. Apps read the public keys at {@code /oauth/jwks}.
     *
     * <p>An API key needs the scope {@code admin}.
     *
     * <p>{@code GET /oidc/keys}
     *
     * @param options how to call
     * @return the response; fails with {@link UsherException}
     */
    public Call<OidcKeys> listOidcKeys(CallOptions options) {
        return transport.call(Request.of("GET", "/oidc/keys"), options, Decoders::oidcKeys);
    }

    /**
     * Rotates the keys that sign ID tokens.
     *
     * <p>{@code POST /oidc/keys}
     *
     * @param request Has no fields.
     * @return the response; fails with {@link UsherException}
     */
    public Call<OidcKeys> rotateOidcKeys(RotateOidcKeysRequest request) {
        return rotateOidcKeys(request, CallOptions.DEFAULT);
    }

    /**
     * Rotates the keys that sign ID tokens.
     *
     * <p>The new keys are durable and sign before the response. The last ones are published for another day, because
     * apps hold ID tokens that they have signed. The service rotates keys after 90 days.
     *
     * <p>An API key needs the scope {@code admin}.
     *
     * <p>{@code POST /oidc/keys}
     *
     * @param request Has no fields.
     * @param options how to call
     * @return the response; fails with {@link UsherException}
     */
    public Call<OidcKeys> rotateOidcKeys(RotateOidcKeysRequest request, CallOptions options) {
        return transport.call(Request.of("POST", "/oidc/keys").body(Encoders.rotateOidcKeysRequest(request)), options,
                Decoders::oidcKeys);
    }

    /**
     * Revokes a key that signs ID tokens.
     *
     * <p>{@code DELETE /oidc/keys/{kid}}
     *
     * @param kid The key's id, from {@code GET /oidc/keys}.
     * @return the response; fails with {@link UsherException}
     */
    public Call<OidcKeys> revokeOidcKey(String kid) {
        return revokeOidcKey(kid, CallOptions.DEFAULT);
    }

    /**
     * Revokes a key that signs ID tokens.
     *
     * <p>For a key that somebody else has. From this response on it is not published, and no ID token that it has
     * signed is accepted as {@code id_token_hint}. If it is {@code current}, a new one takes its place. Apps may
     * remember keys, usually for some minutes or until they are restarted.
     *
     * <p>An API key needs the scope {@code admin}.
     *
     * <p>{@code DELETE /oidc/keys/{kid}}
     *
     * @param kid The key's id, from {@code GET /oidc/keys}.
     * @param options how to call
     * @return the response; fails with {@link UsherException}
     */
    public Call<OidcKeys> revokeOidcKey(String kid, CallOptions options) {
        return transport.call(Request.of("DELETE", "/oidc/keys/{kid}", kid), options, Decoders::oidcKeys);
    }

    /**
     * Publishes the service's own name (NIP-05).
     *
     * <p>{@code GET /.well-known/nostr.json}
     *
     * @param query which part of it
     * @return the response; fails with {@link UsherException}
     */
    public Call<WellKnown> getNostrJson(GetNostrJsonQuery query) {
        return getNostrJson(query, CallOptions.DEFAULT);
    }

    /**
     * Publishes the service's own name (NIP-05).
     *
     * <p>The response is public, may be read by pages of other origins, and is never a redirect. For the service's
     * {@code nip05} to be valid, its domain must serve {@code /.well-known/nostr.json} from here.
     *
     * <p>{@code GET /.well-known/nostr.json}
     *
     * @param query which part of it
     * @param options how to call
     * @return the response; fails with {@link UsherException}
     */
    public Call<WellKnown> getNostrJson(GetNostrJsonQuery query, CallOptions options) {
        return transport.call(Request.of("GET", "/.well-known/nostr.json").query(Encoders.getNostrJsonQuery(query)),
                options, Decoders::wellKnown);
    }

    /**
     * Shows the version of the service.
     *
     * <p>{@code GET /version}
     *
     * @return the response; fails with {@link UsherException}
     */
    public Call<Version> getVersion() {
        return getVersion(CallOptions.DEFAULT);
    }

    /**
     * Shows the version of the service.
     *
     * <p>Client libraries compare major and minor. It also shows whether an upgrade took effect.
     *
     * <p>An API key needs the scope {@code admin}.
     *
     * <p>{@code GET /version}
     *
     * @param options how to call
     * @return the response; fails with {@link UsherException}
     */
    public Call<Version> getVersion(CallOptions options) {
        return transport.call(Request.of("GET", "/version"), options, Decoders::version);
    }

    /**
     * Describes this API for programs (OpenAPI 3.1).
     *
     * <p>{@code GET /openapi.json}
     *
     * @return the response; fails with {@link UsherException}
     */
    public Call<Map<String, Object>> getOpenapiDocument() {
        return getOpenapiDocument(CallOptions.DEFAULT);
    }

    /**
     * Describes this API for programs (OpenAPI 3.1).
     *
     * <p>{@code usher dev} also serves it without the token to programs on the same machine.
     *
     * <p>An API key needs the scope {@code admin}.
     *
     * <p>{@code GET /openapi.json}
     *
     * @param options how to call
     * @return the response; fails with {@link UsherException}
     */
    public Call<Map<String, Object>> getOpenapiDocument(CallOptions options) {
        return transport.call(Request.of("GET", "/openapi.json"), options, JsonObject::members);
    }

    /**
     * Shows this interface in a browser and sends requests to it.
     *
     * <p>{@code GET /docs}
     *
     * @return the response; fails with {@link UsherException}
     */
    public Call<String> showDocs() {
        return showDocs(CallOptions.DEFAULT);
    }

    /**
     * Shows this interface in a browser and sends requests to it.
     *
     * <p>A browser asks for the token before it shows the page: enter any user name, and the token as the password.
     * {@code usher dev} serves the page to browsers on the same machine without it. "Authorize" on the page takes the
     * token for the requests that it sends; the page does not store it.
     *
     * <p>An API key needs the scope {@code admin}.
     *
     * <p>{@code GET /docs}
     *
     * @param options how to call
     * @return the response; fails with {@link UsherException}
     */
    public Call<String> showDocs(CallOptions options) {
        return transport.text(Request.of("GET", "/docs"), options);
    }

    /**
     * Lists the API keys, and when each was used last.
     *
     * <p>{@code GET /keys}
     *
     * @return the response; fails with {@link UsherException}
     */
    public Call<ApiKeyList> listKeys() {
        return listKeys(CallOptions.DEFAULT);
    }

    /**
     * Lists the API keys, and when each was used last.
     *
     * <p>Last uses of keys are stored once a minute.
     *
     * <p>An API key needs the scope {@code admin}.
     *
     * <p>{@code GET /keys}
     *
     * @param options how to call
     * @return the response; fails with {@link UsherException}
     */
    public Call<ApiKeyList> listKeys(CallOptions options) {
        return transport.call(Request.of("GET", "/keys"), options, Decoders::apiKeyList);
    }

    /**
     * Creates an API key.
     *
     * <p>{@code POST /keys}
     *
     * @param request Creates an API key.
     * @return the response; fails with {@link UsherException}
     */
    public Call<ApiKeyWithSecret> createKey(NewKeyRequest request) {
        return createKey(request, CallOptions.DEFAULT);
    }

    /**
     * Creates an API key.
     *
     * <p>The key can be used when the response arrives. Its secret is stored as a hash and shown this once. What a key
     * may do cannot be changed: create another one, and revoke this.
     *
     * <p>A key creates only keys that are at least as restricted as itself: no scope that it lacks, no later expiry,
     * no other networks, and none for {@code payments:send} or {@code tickets} if it has a daily budget itself. There
     * may be 1,000 keys.
     *
     * <p>An API key needs the scope {@code admin}.
     *
     * <p>{@code POST /keys}
     *
     * @param request Creates an API key.
     * @param options how to call
     * @return the response; fails with {@link UsherException}
     */
    public Call<ApiKeyWithSecret> createKey(NewKeyRequest request, CallOptions options) {
        return transport.call(Request.of("POST", "/keys").body(Encoders.newKeyRequest(request)), options,
                Decoders::apiKeyWithSecret);
    }

    /**
     * Revokes an API key.
     *
     * <p>{@code DELETE /keys/{key_id}}
     *
     * @param keyId The key's id, from {@code GET /keys}.
     * @return the response; fails with {@link UsherException}
     */
    public Call<ApiKeyRevoked> revokeKey(String keyId) {
        return revokeKey(keyId, CallOptions.DEFAULT);
    }

    /**
     * Revokes an API key.
     *
     * <p>From this response on it is not accepted, and WebSockets, event streams and long polls that were opened with
     * it have ended. A request that is being processed runs to its end, and operations that it has started continue,
     * but for payments that wait for an approval: these are declined, in a moment.
     *
     * <p>An API key needs the scope {@code admin}.
     *
     * <p>{@code DELETE /keys/{key_id}}
     *
     * @param keyId The key's id, from {@code GET /keys}.
     * @param options how to call
     * @return the response; fails with {@link UsherException}
     */
    public Call<ApiKeyRevoked> revokeKey(String keyId, CallOptions options) {
        return transport.call(Request.of("DELETE", "/keys/{key_id}", keyId), options, Decoders::apiKeyRevoked);
    }

    /**
     * Gives an API key a new secret.
     *
     * <p>{@code POST /keys/{key_id}/rotate}
     *
     * @param keyId The key's id, from {@code GET /keys}.
     * @param request Rotates the secret of a key.
     * @return the response; fails with {@link UsherException}
     */
    public Call<ApiKeyWithSecret> rotateKey(String keyId, KeyRotation request) {
        return rotateKey(keyId, request, CallOptions.DEFAULT);
    }

    /**
     * Gives an API key a new secret.
     *
     * <p>The former one is accepted for {@code overlap_seconds} longer; {@code GET /keys} shows when each was used
     * last. The secret before that is not accepted any more. Id, scopes and budget stay.
     *
     * <p>An API key needs the scope {@code admin}.
     *
     * <p>{@code POST /keys/{key_id}/rotate}
     *
     * @param keyId The key's id, from {@code GET /keys}.
     * @param request Rotates the secret of a key.
     * @param options how to call
     * @return the response; fails with {@link UsherException}
     */
    public Call<ApiKeyWithSecret> rotateKey(String keyId, KeyRotation request, CallOptions options) {
        return transport.call(Request.of("POST", "/keys/{key_id}/rotate", keyId).body(Encoders.keyRotation(request)),
                options, Decoders::apiKeyWithSecret);
    }

    /**
     * Lists the channels of the service's own Lightning node.
     *
     * <p>{@code GET /wallet/channels}
     *
     * @return the response; fails with {@link UsherException}
     */
    public Call<Channels> listChannels() {
        return listChannels(CallOptions.DEFAULT);
    }

    /**
     * Lists the channels of the service's own Lightning node.
     *
     * <p>A channel that is being closed with the peer's agreement is listed until its closing transaction is made.
     * Nobody outside is asked.
     *
     * <p>An API key needs the scope {@code payments:receive}.
     *
     * <p>{@code GET /wallet/channels}
     *
     * @param options how to call
     * @return the response; fails with {@link UsherException}
     */
    public Call<Channels> listChannels(CallOptions options) {
        return transport.call(Request.of("GET", "/wallet/channels"), options, Decoders::channels);
    }

    /**
     * Opens a channel with money of the node's on-chain balance.
     *
     * <p>{@code POST /wallet/channels}
     *
     * @param request A channel to open.
     * @return the response; fails with {@link UsherException}
     */
    public Call<ChannelOpening> openChannel(OpenChannelRequest request) {
        return openChannel(request, CallOptions.DEFAULT);
    }

    /**
     * Opens a channel with money of the node's on-chain balance.
     *
     * <p>For payments by the service: users' payments open channels without this request, for a fee that {@code POST
     * /wallet/receiving-cost} tells. The miner fee of the funding transaction comes on top of the amount: the
     * transaction has about 153 virtual bytes, and 68 more for each coin that is spent beyond the first. Send an
     * {@code Idempotency-Key}: the same request with the same key opens one channel, also after a crash. Waits for the
     * connection to the peer, not for the chain.
     *
     * <p>An API key needs the scope {@code payments:send}.
     *
     * <p>{@code POST /wallet/channels}
     *
     * @param request A channel to open.
     * @param options how to call
     * @return the response; fails with {@link UsherException}
     */
    public Call<ChannelOpening> openChannel(OpenChannelRequest request, CallOptions options) {
        return transport.call(Request.of("POST", "/wallet/channels").body(Encoders.openChannelRequest(request)),
                options, Decoders::channelOpening);
    }

    /**
     * Closes a channel; its money returns to the node's on-chain balance, less fees.
     *
     * <p>{@code POST /wallet/channels/{channel_id}/close}
     *
     * @param channelId The {@code channel_id} of {@code GET /wallet/channels}.
     * @param request How to close a channel.
     * @return the response; fails with {@link UsherException}
     */
    public Call<ChannelClosing> closeChannel(String channelId, CloseChannelRequest request) {
        return closeChannel(channelId, request, CallOptions.DEFAULT);
    }

    /**
     * Closes a channel; its money returns to the node's on-chain balance, less fees.
     *
     * <p>A repeated request finds the channel still closing, or gone (404): it closes nothing else.
     *
     * <p>An API key needs the scope {@code payments:send}.
     *
     * <p>{@code POST /wallet/channels/{channel_id}/close}
     *
     * @param channelId The {@code channel_id} of {@code GET /wallet/channels}.
     * @param request How to close a channel.
     * @param options how to call
     * @return the response; fails with {@link UsherException}
     */
    public Call<ChannelClosing> closeChannel(String channelId, CloseChannelRequest request, CallOptions options) {
        return transport.call(Request.of("POST", "/wallet/channels/{channel_id}/close",
                channelId).body(Encoders.closeChannelRequest(request)), options, Decoders::channelClosing);
    }

    /**
     * Creates an address at which the node receives bitcoin.
     *
     * <p>{@code POST /wallet/addresses}
     *
     * @param request Has no fields.
     * @return the response; fails with {@link UsherException}
     */
    public Call<BitcoinAddress> createAddress(CreateAddressRequest request) {
        return createAddress(request, CallOptions.DEFAULT);
    }

    /**
     * Creates an address at which the node receives bitcoin.
     *
     * <p>What arrives there belongs to its on-chain balance ({@code GET /wallet/info}), from which {@code POST
     * /wallet/channels} opens channels. Earlier addresses stay valid.
     *
     * <p>An API key needs the scope {@code payments:receive}.
     *
     * <p>{@code POST /wallet/addresses}
     *
     * @param request Has no fields.
     * @param options how to call
     * @return the response; fails with {@link UsherException}
     */
    public Call<BitcoinAddress> createAddress(CreateAddressRequest request, CallOptions options) {
        return transport.call(Request.of("POST", "/wallet/addresses").body(Encoders.createAddressRequest(request)),
                options, Decoders::bitcoinAddress);
    }

    /**
     * Tells what it would cost now to receive a payment.
     *
     * <p>{@code POST /wallet/receiving-cost}
     *
     * @param request A payment to receive.
     * @return the response; fails with {@link UsherException}
     */
    public Call<ReceivingCost> getReceivingCost(ReceivingCostRequest request) {
        return getReceivingCost(request, CallOptions.DEFAULT);
    }

    /**
     * Tells what it would cost now to receive a payment.
     *
     * <p>If the channels cannot receive that much in one payment, the liquidity provider opens another one and keeps a
     * fee of the payment. It is asked for its price of this moment. Changes nothing.
     *
     * <p>An API key needs the scope {@code payments:receive}.
     *
     * <p>{@code POST /wallet/receiving-cost}
     *
     * @param request A payment to receive.
     * @param options how to call
     * @return the response; fails with {@link UsherException}
     */
    public Call<ReceivingCost> getReceivingCost(ReceivingCostRequest request, CallOptions options) {
        return transport.call(Request.of("POST",
                "/wallet/receiving-cost").body(Encoders.receivingCostRequest(request)), options,
                Decoders::receivingCost);
    }

    /**
     * Sends money of the node's on-chain balance to a Bitcoin address.
     *
     * <p>{@code POST /wallet/send}
     *
     * @param request Sends money on chain.
     * @return the response; fails with {@link UsherException}
     */
    public Call<StreamStarted> sendOnChain(SendOnChainRequest request) {
        return sendOnChain(request, CallOptions.DEFAULT);
    }

    /**
     * Sends money of the node's on-chain balance to a Bitcoin address.
     *
     * <p>The stream gets {@code {status: "sending", txid, amount_millisats, fees_paid}} when the transaction is made
     * and stored, and {@code {status: "paid", …}} with the same members when it is in a block. Until then the service
     * publishes it again every 30 seconds. {@code {status: "error", reason, outcome: "not_paid"}}: nothing was sent.
     *
     * <p>A transaction cannot be taken back. Send an {@code Idempotency-Key}: the same request with the same key sends
     * once, whatever happens. Coins of earlier transactions are not spent again. The node keeps 25,000 sat for each
     * channel with a peer other than the liquidity provider ({@code reserved} in {@code GET /wallet/info}), also when
     * {@code amount} is {@code all}.
     *
     * <p>The amount and twice the expected fee (with {@code all}: the fee) must fit into what is left of {@code
     * wallet.daily_budget_millisats}. If they are together more than {@code wallet.approval_above_millisats}, the
     * stream first gets {@code {status: "approval_required"}}, and the money is sent when somebody else approves
     * ({@code POST /approvals/{stream_id}}).
     *
     * <p>An API key needs the scope {@code payments:send}.
     *
     * <p>{@code POST /wallet/send}
     *
     * @param request Sends money on chain.
     * @param options how to call
     * @return the response; fails with {@link UsherException}
     */
    public Call<StreamStarted> sendOnChain(SendOnChainRequest request, CallOptions options) {
        return transport.call(Request.of("POST", "/wallet/send").body(Encoders.sendOnChainRequest(request)), options,
                Decoders::streamStarted);
    }
}
