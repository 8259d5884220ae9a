package usher.client;

import java.net.http.HttpClient;
import java.util.Optional;
import java.util.concurrent.Flow;
import java.util.function.BiConsumer;
import java.util.function.Function;
import usher.client.internal.ApiVersion;
import usher.client.model.*;

/**
 * A client of one Usher: logs users in, takes payments, handles tickets. It is safe for use by many threads; an app needs
 * one.
 *
 * <pre>{@code
 * try (Usher usher = Usher.connect("http://127.0.0.1:3000", token)) {
 *     LoginOperation login = usher.login().await();
 *     show(login.url());
 *     if (login.result().await() instanceof LoginResult.Approved approved) {
 *         startSession(approved.mainKey());
 *     }
 * }
 * }</pre>
 *
 * <p>Every call returns a {@link Call}: wait for it with {@link Call#await}, or give {@link Call#onDone} a callback. Calls
 * have a timeout, and are repeated with the same idempotency key while the service is away for a moment. All operations
 * that you wait for share one connection.
 */
public final class Usher implements AutoCloseable {
    private static final System.Logger LOG = System.getLogger("usher.client");

    private final Transport transport;
    private final EventHub hub;
    private final UsherApi api;
    private final ClientThreads threads;

    Usher(UsherBuilder options) {
        threads = new ClientThreads(options.executor);
        HttpClient client = options.httpClient == null ? threads.httpClient() : options.httpClient;
        transport = new Transport(client, options, threads.loop, threads.executor);
        hub = new EventHub(transport, options.reconnectTimeout);
        api = new UsherApi(transport);
        if (options.versionCheck) {
            transport.afterFirstSuccess(() -> checkVersion().onDone((check, error) -> {
                if (check != null && !check.compatible()) {
                    LOG.log(System.Logger.Level.WARNING, check.message());
                }
            }));
        }
    }

    /**
     * Creates a client with the usual settings. It connects when it is used.
     *
     * @param baseUrl where Usher listens, for example {@code http://127.0.0.1:3000}
     * @param token its {@code auth.auth_token}
     * @return the client
     * @throws IllegalArgumentException the URL is not {@code http} or {@code https}, or the token has other characters than
     *     visible ASCII
     */
    public static Usher connect(String baseUrl, String token) {
        return builder(baseUrl, token).build();
    }

    /**
     * Creates a client with other settings.
     *
     * @param baseUrl where Usher listens
     * @param token its {@code auth.auth_token}
     * @return the settings
     * @throws IllegalArgumentException as for {@link #connect}
     */
    public static UsherBuilder builder(String baseUrl, String token) {
        return new UsherBuilder(baseUrl, token);
    }

    /**
     * Every endpoint of the HTTP API.
     *
     * @return the endpoints
     */
    public UsherApi api() {
        return api;
    }

    /**
     * Starts a login.
     *
     * @return the login, with the page for the user's browser and the URL for their wallet
     */
    public Call<LoginOperation> login() {
        return login(LoginRequest.of(), CallOptions.DEFAULT);
    }

    /**
     * Starts a login.
     *
     * @param request where the page leads to at the end
     * @param options how to call
     * @return the login, with the page for the user's browser and the URL for their wallet
     * @throws IllegalArgumentException the request has a static token: see {@link #reusableLogin}
     */
    public Call<LoginOperation> login(LoginRequest request, CallOptions options) {
        if (request.staticToken() != null) {
            throw new IllegalArgumentException("a login with a static token has many users: use reusableLogin");
        }
        return change(api.startLogin(request, options), started -> new LoginOperation(this, started));
    }

    /**
     * Opens a login of any number of users, for a poster or a door. The same static token again gives the same login.
     *
     * @param request the static token, and where the page leads to at the end
     * @param options how to call
     * @return the login, which never ends
     * @throws IllegalArgumentException the request has no static token
     */
    public Call<ReusableLogin> reusableLogin(LoginRequest request, CallOptions options) {
        if (request.staticToken() == null) {
            throw new IllegalArgumentException("a reusable login needs a static token");
        }
        return change(api.startLogin(request, options), started -> new ReusableLogin(this, started));
    }

    /**
     * Finds a login again, for example after a restart of your app.
     *
     * @param streamId {@link LoginOperation#streamId} of the login
     * @return the login
     */
    public Operation<LoginResult> resumeLogin(String streamId) {
        return resume(OperationKind.AUTHENTICATION, streamId);
    }

    /**
     * Redeems the code with which a login page has led a browser to your app. First check that this browser has begun the
     * login. If it fails with {@code login_code_invalid}, {@code login_code_redeemed} or {@code login_code_expired}, log
     * nobody in.
     *
     * @param streamId {@code stream_id} in the query: that of the login
     * @param code {@code code} in the query
     * @return who has logged in
     */
    public Call<LoginRedeemed> redeemLogin(String streamId, String code) {
        return api.redeemLogin(streamId, RedeemLoginRequest.of(code));
    }

    /**
     * Asks a user whose key you know to prove it: logs them in without a URL.
     *
     * @param mainKey the user's key
     * @return the operation
     */
    public Call<Operation<LoginResult>> authenticate(String mainKey) {
        return authenticate(AuthenticateKeyRequest.of(mainKey), CallOptions.DEFAULT);
    }

    /**
     * Asks a user whose key you know to prove it.
     *
     * @param request whom
     * @param options how to call
     * @return the operation
     */
    public Call<Operation<LoginResult>> authenticate(AuthenticateKeyRequest request, CallOptions options) {
        return operation(api.authenticateKey(request, options), OperationKind.AUTHENTICATION);
    }

    /**
     * Sats as millisats, in which amounts without a currency are.
     *
     * @param amount in sats
     * @return in millisats
     * @throws ArithmeticException it is too large
     */
    public static long sats(long amount) {
        return Math.multiplyExact(amount, 1000L);
    }

    /**
     * Asks a user for a payment to the service.
     *
     * @param request whom, for what and how much
     * @return the operation
     */
    public Call<PaymentOperation> requestPayment(SinglePaymentRequest request) {
        return requestPayment(request, CallOptions.DEFAULT);
    }

    /**
     * Asks a user for a payment to the service.
     *
     * @param request whom, for what and how much
     * @param options how to call
     * @return the operation
     */
    public Call<PaymentOperation> requestPayment(SinglePaymentRequest request, CallOptions options) {
        return change(api.requestPayment(request, options), started -> new PaymentOperation(this, started));
    }

    /**
     * Has an invoice paid: by a user, or without a {@code mainKey} by the service's own Lightning backend.
     *
     * @param request the invoice, and who pays
     * @return the operation
     */
    public Call<Operation<PaymentResult>> payInvoice(PayInvoiceRequest request) {
        return payInvoice(request, CallOptions.DEFAULT);
    }

    /**
     * Has an invoice paid.
     *
     * @param request the invoice, and who pays
     * @param options how to call
     * @return the operation
     */
    public Call<Operation<PaymentResult>> payInvoice(PayInvoiceRequest request, CallOptions options) {
        return operation(api.payInvoice(request, options), OperationKind.PAYMENT);
    }

    /**
     * Asks a user for an invoice.
     *
     * @param request whom, and how much
     * @return the operation
     */
    public Call<Operation<InvoiceResult>> requestInvoice(InvoiceRequest request) {
        return requestInvoice(request, CallOptions.DEFAULT);
    }

    /**
     * Asks a user for an invoice.
     *
     * @param request whom, and how much
     * @param options how to call
     * @return the operation
     */
    public Call<Operation<InvoiceResult>> requestInvoice(InvoiceRequest request, CallOptions options) {
        return priced(api.requestInvoice(request, options), OperationKind.INVOICE);
    }

    /**
     * Asks a user to agree to a subscription.
     *
     * @param request whom, and what
     * @return the operation
     */
    public Call<Operation<SubscriptionResult>> requestSubscription(RecurringPaymentRequest request) {
        return requestSubscription(request, CallOptions.DEFAULT);
    }

    /**
     * Asks a user to agree to a subscription.
     *
     * @param request whom, and what
     * @param options how to call
     * @return the operation
     */
    public Call<Operation<SubscriptionResult>> requestSubscription(RecurringPaymentRequest request, CallOptions options) {
        return priced(api.requestSubscription(request, options), OperationKind.SUBSCRIPTION);
    }

    /**
     * Asks a user for a ticket.
     *
     * @param request whom, and what kind of ticket
     * @return the operation
     */
    public Call<Operation<TicketResult>> requestTicket(TicketRequest request) {
        return requestTicket(request, CallOptions.DEFAULT);
    }

    /**
     * Asks a user for a ticket.
     *
     * @param request whom, and what kind of ticket
     * @param options how to call
     * @return the operation
     */
    public Call<Operation<TicketResult>> requestTicket(TicketRequest request, CallOptions options) {
        return operation(api.requestTicket(request, options), OperationKind.TICKET);
    }

    /**
     * Sends a ticket to a user until they redeem it.
     *
     * @param request whom, and the token
     * @return the operation; its result says that the user has redeemed the ticket
     */
    public Call<Operation<CashuResponseData>> sendTicket(SendTicketRequest request) {
        return sendTicket(request, CallOptions.DEFAULT);
    }

    /**
     * Sends a ticket to a user until they redeem it.
     *
     * @param request whom, and the token
     * @param options how to call
     * @return the operation; its result says that the user has redeemed the ticket
     */
    public Call<Operation<CashuResponseData>> sendTicket(SendTicketRequest request, CallOptions options) {
        return change(
                api.sendTicket(request, options), sent -> new Operation<>(this, sent.streamId(), OperationKind.SENT_TICKET));
    }

    /**
     * Opens an age verification with a page for the user.
     *
     * @return the operation, with the page's URL
     */
    public Call<VerificationOperation> verifyAge() {
        return verifyAge(VerificationSessionRequest.of(), CallOptions.DEFAULT);
    }

    /**
     * Opens an age verification with a page for the user.
     *
     * @param request settings of the session
     * @param options how to call
     * @return the operation, with the page's URL
     */
    public Call<VerificationOperation> verifyAge(VerificationSessionRequest request, CallOptions options) {
        return change(
                api.createVerificationSession(request, options), session -> new VerificationOperation(this, session));
    }

    /**
     * Asks a user's wallet for a proof of age that it holds.
     *
     * @param request whom
     * @return the operation
     */
    public Call<Operation<TicketResult>> requestProofOfAge(VerificationTokenRequest request) {
        return operation(api.requestVerificationToken(request), OperationKind.TICKET);
    }

    /**
     * Finds an operation again, for example after a restart of your app. This asks nothing of the service.
     *
     * @param kind what it is
     * @param streamId its stream
     * @param <R> its result
     * @return the operation
     */
    public <R> Operation<R> resume(OperationKind<R> kind, String streamId) {
        return new Operation<>(this, streamId, kind);
    }

    /**
     * Fetches a user's profile.
     *
     * @param mainKey the user's key
     * @return the profile, or nothing if the user has none. Its texts are anybody's: treat them as untrusted
     */
    public Call<Optional<Profile>> profile(String mainKey) {
        return api.getProfile(mainKey)
                .map(Optional::of, error -> error.isProblem("profile_not_found") ? Optional.empty() : null);
    }

    /**
     * Reads any stream from an index on, in the background and for as long as it takes. A broken connection is made again
     * without an event lost or repeated. The streams that never end are {@code subscriptions} and those of reusable
     * handshakes.
     *
     * @param streamId the stream
     * @param after the first index that you want: 0, or one more than the last that you have handled
     * @param listener gets the events
     * @return closes the reading
     */
    public WatchHandle watch(String streamId, long after, StreamListener listener) {
        ListenerSubscription subscription = deliver(listener);
        subscription.read(hub, streamId, after);
        return subscription;
    }

    /**
     * The events of a stream as a publisher. Each subscriber reads for itself, as fast as it requests.
     *
     * @param streamId the stream
     * @param after the first index that you want
     * @return the events; a subscriber gets {@link UsherException} if the stream cannot be read, or if events that it wants
     *     were removed
     */
    public Flow.Publisher<Event> events(String streamId, long after) {
        return subscriber -> {
            ListenerSubscription subscription = deliver(subscriber);
            subscriber.onSubscribe(subscription);
            subscription.read(hub, streamId, after);
        };
    }

    /**
     * Reports each subscription that its user has closed.
     *
     * @param after the first index of the stream {@code subscriptions} that you want: 0, or one more than the last that you
     *     have handled
     * @param listener gets the event, whose index to remember, and its data
     * @return closes the reading
     */
    public WatchHandle onSubscriptionClosed(long after, BiConsumer<Event, SubscriptionClosedData> listener) {
        return watch("subscriptions", after, event -> {
            if (event.data() instanceof SubscriptionClosedData data) {
                listener.accept(event, data);
            }
        });
    }

    /**
     * Shows the events of all streams from now on, for development: nothing is repeated after a broken connection. An app
     * reads its streams or uses webhooks.
     *
     * @param listener gets the events
     * @return closes the feed
     */
    public WatchHandle streamAllEvents(LiveListener listener) {
        return new ServerSentEvents(transport, listener);
    }

    /**
     * Compares the version of the service with that of this client. The client does it by itself after its first call, and
     * logs a warning if they differ.
     *
     * @return both versions
     */
    public Call<VersionCheck> checkVersion() {
        return change(api.getVersion(), version -> VersionCheck.of(version.version()));
    }

    /**
     * The version of this client: major and minor are those of the service that it fits.
     *
     * @return the version
     */
    public static String clientVersion() {
        return ApiVersion.VERSION;
    }

    /** Ends everything that runs: calls fail with {@code NOT_CONNECTED}. Operations of the service go on. */
    @Override
    public void close() {
        transport.close();
        hub.close(threads::shutDown);
    }

    <R> Call<R> await(String streamId, OperationKind<R> kind) {
        return await(streamId, kind::read);
    }

    private <R> Call<R> await(String streamId, Operation.OperationKindReader<R> reader) {
        Call<R> call = new Call<>(transport.executor, UsherException.Code.RESULT_TIMEOUT);
        StreamReader streamReader = new StreamReader(streamId, 0, false, new Operation.Result<>(call, reader));
        call.whenComplete((result, error) -> hub.unwatch(streamReader));
        hub.watch(streamReader);
        return call;
    }

    /** Hands everything to a listener. */
    ListenerSubscription deliver(StreamListener listener) {
        ListenerSubscription subscription = new ListenerSubscription(transport.executor, listener);
        subscription.request(Long.MAX_VALUE);
        return subscription;
    }

    /** Hands to a subscriber what it requests. */
    ListenerSubscription deliver(Flow.Subscriber<? super Event> subscriber) {
        return new ListenerSubscription(transport.executor, ListenerSubscription.forSubscriber(subscriber));
    }

    private <R> Call<Operation<R>> operation(Call<StreamStarted> call, OperationKind<R> kind) {
        return change(call, started -> new Operation<>(this, started.streamId(), kind));
    }

    private <R> Call<Operation<R>> priced(Call<PricedStreamStarted> call, OperationKind<R> kind) {
        return change(call, started -> new Operation<>(this, started.streamId(), kind));
    }

    private static <T, U> Call<U> change(Call<T> call, Function<T, U> change) {
        return call.map(change, error -> null);
    }
}
