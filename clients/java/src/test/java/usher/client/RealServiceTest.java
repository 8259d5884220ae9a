package usher.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpServer;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Flow;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIf;
import usher.client.UsherException.Code;
import usher.client.model.*;
import usher.client.verify.JwtVerifier;
import usher.client.verify.Preimages;
import usher.client.webhook.WebhookHandler;
import usher.client.webhook.WebhookVerifier;

/** The client, the real service, and a user with the reference wallet. */
@EnabledIf(value = "usher.client.RunningUsher#hasProgram", disabledReason = "no program: set USHER_BINARY")
@Timeout(180)
class RealServiceTest {
    private static final String SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    private static final Set<String> POSTED = ConcurrentHashMap.newKeySet();
    private static HttpServer receiver;
    private static RunningUsher service;
    private static Usher usher;
    private static String user;

    @BeforeAll
    static void start() throws Exception {
        receiver = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        receiver.createContext("/hook", new WebhookHandler(WebhookVerifier.of(SECRET), event -> POSTED.add(event.id())));
        receiver.start();
        service = new RunningUsher(
                "[webhook]",
                "url = \"http://127.0.0.1:" + receiver.getAddress().getPort() + "/hook\"",
                "secret = \"" + SECRET + "\"");
        usher = service.client().build();
        user = login().mainKey();
    }

    @AfterAll
    static void stop() throws Exception {
        if (usher != null) {
            usher.close();
        }
        if (service != null) {
            service.close();
        }
        receiver.stop(0);
    }

    private static LoginResult.Approved login() throws Exception {
        LoginOperation login = usher.login().await();
        Call<LoginResult> result = login.result();
        service.wallet("login", login.url());
        return assertInstanceOf(LoginResult.Approved.class, result.await());
    }

    @Test
    void aUserLogsInAndAnotherCallOfTheSameLoginAsksNobodyAgain() throws Exception {
        LoginOperation login = usher.login().await();
        BlockingQueue<Object> heard = new LinkedBlockingQueue<>();
        WatchHandle watch = login.onEvent(new Recording(heard));
        BlockingQueue<Object> published = new LinkedBlockingQueue<>();
        login.events().subscribe(new OneByOne(published));
        Call<LoginResult> first = login.result();
        service.wallet("login", login.url());
        LoginResult.Approved approved = assertInstanceOf(LoginResult.Approved.class, first.await());
        assertEquals(user, approved.mainKey());
        LoginResult again = usher.resumeLogin(login.streamId()).result().await();
        assertEquals(approved, again);
        for (BlockingQueue<Object> events : List.of(heard, published)) {
            assertInstanceOf(KeyHandshakeData.class, ((Event) take(events)).data());
            assertEquals("approved", assertInstanceOf(StatusUpdateData.class, ((Event) take(events)).data()).status());
            assertEquals("done", take(events));
        }
        watch.close();
    }

    @Test
    void aCrowdOfReadersOfOneStreamAllGetEverythingOnce() throws Exception {
        LoginOperation login = usher.login().await();
        List<BlockingQueue<Object>> readers = new ArrayList<>();
        for (int number = 0; number < 50; number++) {
            BlockingQueue<Object> events = new LinkedBlockingQueue<>();
            readers.add(events);
            if (number % 2 == 0) {
                login.onEvent(new Recording(events));
            } else {
                login.events().subscribe(new OneByOne(events));
            }
        }
        service.wallet("login", login.url());
        for (BlockingQueue<Object> events : readers) {
            assertEquals("KeyHandshake", ((Event) take(events)).type());
            assertEquals("StatusUpdate", ((Event) take(events)).type());
            assertEquals("done", take(events));
            assertTrue(events.isEmpty());
        }
    }

    @Test
    void aReusableLoginHasTheEventsOfItsUsers() throws Exception {
        LoginRequest request = LoginRequest.of().withStaticToken("door-2");
        assertThrows(IllegalArgumentException.class, () -> usher.login(request, CallOptions.DEFAULT));
        assertThrows(IllegalArgumentException.class, () -> usher.reusableLogin(LoginRequest.of(), CallOptions.DEFAULT));
        ReusableLogin door = usher.reusableLogin(request, CallOptions.DEFAULT).await();
        ReusableLogin again = usher.reusableLogin(request, CallOptions.DEFAULT).await();
        assertEquals(List.of(door.streamId(), door.url(), door.pageUrl()), List.of(again.streamId(), again.url(), again.pageUrl()));
        BlockingQueue<Object> heard = new LinkedBlockingQueue<>();
        WatchHandle watch = door.watch(0, new Recording(heard));
        service.wallet("login", door.url());
        assertEquals(user, assertInstanceOf(KeyHandshakeData.class, ((Event) take(heard)).data()).mainKey());
        StatusUpdateData outcome = assertInstanceOf(StatusUpdateData.class, ((Event) take(heard)).data());
        assertEquals(List.of("approved", user, "wallet"), List.of(outcome.status(), outcome.mainKey(), outcome.method()));
        usher.api().closeKeyHandshake(door.streamId()).await();
        assertEquals("done", take(heard));
        watch.close();
    }

    @Test
    void aUserDeclines() throws Exception {
        Operation<LoginResult> login = usher.authenticate(user).await();
        service.wallet("decline", "--reason", "not now");
        assertEquals(new LoginResult.Declined("not now"), login.result().await());
    }

    @Test
    void aHandshakeThatIsClosedEndsTheWaiting() throws Exception {
        KeyHandshakeStarted handshake = usher.api().createKeyHandshake(KeyHandshakeRequest.of()).await();
        Operation<LoginResult> login = usher.resume(OperationKind.AUTHENTICATION, handshake.streamId());
        Call<LoginResult> result = login.result();
        assertEquals("closed", usher.api().closeKeyHandshake(login.streamId()).await().status());
        OperationFailedException error = assertThrows(OperationFailedException.class, result::await);
        assertEquals("closed", error.status());
    }

    @Test
    void aUserPaysAndTheProofIsRight() throws Exception {
        CallOptions order = CallOptions.DEFAULT.withIdempotencyKey("order-" + System.nanoTime());
        SinglePaymentRequest coffee = SinglePaymentRequest.of("One coffee", 10_000).withMainKey(user).withRequestId("order-1");
        Operation<PaymentResult> payment = usher.requestPayment(coffee, order).await();
        assertEquals(payment.streamId(), usher.requestPayment(coffee, order).await().streamId(), "one intention");
        service.wallet("approve");
        PaymentResult.Paid paid = assertInstanceOf(PaymentResult.Paid.class, payment.result().await());
        assertNotNull(paid.preimage());
        assertFalse(paid.toString().contains(paid.preimage()));

        Operation<InvoiceResult> refund = usher.requestInvoice(
                        InvoiceRequest.of(user, InvoiceRequestContent.of(5_000).withDescription("Refund")))
                .await();
        service.wallet("approve");
        InvoiceData invoice = assertInstanceOf(InvoiceResult.Received.class, refund.result().await()).invoice();
        Operation<PaymentResult> paying = usher.payInvoice(PayInvoiceRequest.of(invoice.invoice())).await();
        PaymentResult.Paid sent = assertInstanceOf(PaymentResult.Paid.class, paying.result().await());
        assertTrue(sent.preimage() != null && Preimages.proves(sent.preimage(), invoice.paymentHash()));
        // Every event reached the webhook handler, with a valid signature.
        String last = paying.streamId() + ":0";
        until(() -> POSTED.contains(last) || POSTED.stream().anyMatch(id -> id.startsWith(paying.streamId())));
        until(() -> POSTED.stream().anyMatch(id -> id.startsWith(payment.streamId())));
    }

    @Test
    void aUserAgreesToASubscriptionAndClosesIt() throws Exception {
        BlockingQueue<SubscriptionClosedData> closed = new LinkedBlockingQueue<>();
        try (WatchHandle watch = usher.onSubscriptionClosed(0, (event, data) -> closed.add(data))) {
            assertNotNull(watch);
            long soon = Instant.now().getEpochSecond() + 600;
            Operation<SubscriptionResult> asked = usher.requestSubscription(
                            RecurringPaymentRequest.of(user, "Membership", 10_000, Recurrence.of("monthly", 4_102_444_800L), soon))
                    .await();
            service.wallet("approve");
            String id = assertInstanceOf(SubscriptionResult.Agreed.class, asked.result().await())
                    .subscription()
                    .subscriptionId();
            assertEquals("active", usher.api().getSubscription(id).await().state());
            service.wallet("close", id, "--reason", "moving away");
            SubscriptionClosedData data = closed.poll(RunningUsher.LONG_SECONDS, TimeUnit.SECONDS);
            assertNotNull(data);
            assertEquals(id, data.subscriptionId());
            assertEquals("moving away", data.reason());
            assertTrue(usher.api()
                    .listSubscriptions(ListSubscriptionsQuery.of().withState("closed_by_user"))
                    .await()
                    .subscriptions()
                    .stream()
                    .anyMatch(subscription -> subscription.subscriptionId().equals(id)));
        }
    }

    @Test
    void aTicketIsMintedSentAskedForAndRedeemedOnce() throws Exception {
        String mint = service.mintUrl();
        String token = usher.api()
                .mintTicket(MintTicketRequest.of(mint, "multi", 3).withStaticToken(service.mintToken()))
                .await()
                .token();
        Operation<CashuResponseData> sent = usher.sendTicket(SendTicketRequest.of(user, token)).await();
        service.wallet("take", token);
        assertEquals("success", sent.result().await().status());
        Operation<TicketResult> asked = usher.requestTicket(TicketRequest.of(user, mint, "multi", 1)).await();
        service.wallet("approve");
        TicketResult.Received received = assertInstanceOf(TicketResult.Received.class, asked.result().await());
        assertNotNull(received.token());
        assertEquals(1, usher.api().burnTicket(BurnTicketRequest.of(mint, "multi", received.token())).await().amount());
        UsherException again = assertThrows(
                UsherException.class,
                () -> usher.api().burnTicket(BurnTicketRequest.of(mint, "multi", received.token())).await());
        assertTrue(again.isProblem("token_already_spent"), again.toString());
        assertFalse(again.toString().contains(received.token()));
    }

    @Test
    void anAgeIsVerified() throws Exception {
        VerificationOperation age = usher.verifyAge().await();
        assertTrue(age.session().sessionUrl().startsWith("http"));
        assertFalse(age.session().toString().contains(age.session().sessionUrl()));
        usher.api()
                .decideVerificationSession(
                        age.session().sessionId(), VerificationDecision.of("reject").withReason("too young"))
                .await();
        assertEquals(new TicketResult.Rejected("too young"), age.result().await());
    }

    @Test
    void aJwtIsVerifiedWithoutTheService() throws Exception {
        Profile own = usher.api().publishProfile(ProfileRequest.of().withName("shop")).await();
        String jwt = usher.api().issueJwt(JwtIssueRequest.of(user, 1)).await().token();
        assertEquals(user, JwtVerifier.of(own.pubkey()).verify(jwt).targetKey());
        assertEquals(user, usher.api().verifyJwt(JwtVerifyRequest.of(own.pubkey(), jwt)).await().targetKey());
        assertEquals(Optional.of("shop"), usher.profile(own.pubkey()).await().map(Profile::name));
        assertEquals(Optional.empty(), usher.profile("79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798").await());
    }

    @Test
    void theRestOfTheInterfaceAnswers() throws Exception {
        assertTrue(usher.checkVersion().await().compatible());
        assertTrue(usher.api().checkReadiness().await().ready());
        assertFalse(usher.api().checkHealth().await().isEmpty());
        assertTrue(usher.api().getMetrics().await().contains("usher_"));
        assertFalse(usher.api().listRelays().await().relays().isEmpty());
        assertEquals("added", relayOrigin("ws://127.0.0.1:9"));
        assertEquals("removed", usher.api().removeRelay(RelayRequest.of("ws://127.0.0.1:9")).await().status());
        assertTrue(usher.api().getOpenapiDocument().await().containsKey("openapi"));
        assertTrue(usher.api().showDocs().await().contains("<html"));
        assertNotNull(usher.api().getWalletInfo().await().backend());
        assertNotNull(usher.api().getNextOccurrence(CalendarNextOccurrenceRequest.of("daily", 0)).await().nextOccurrence());
        String table = usher.api().createKeyHandshake(KeyHandshakeRequest.of().withStaticToken("table-7")).await().streamId();
        assertTrue(usher.api().listKeyHandshakes(ListKeyHandshakesQuery.of()).await().handshakes().stream()
                .anyMatch(open -> open.streamId().equals(table)));
        assertNotNull(usher.api().listTicketBalances().await().balances());
        assertNotNull(usher.api().listOutgoingTickets(ListOutgoingTicketsQuery.of()).await().outgoing());
        assertNotNull(usher.api().listWebhookDeliveries(ListWebhookDeliveriesQuery.of().withLimit(5L)).await().deliveries());
        assertNotNull(usher.api().getNostrJson(GetNostrJsonQuery.of()).await().names());
        UsherException wrong = assertThrows(
                UsherException.class, () -> usher.authenticate("not a key").await());
        assertEquals("/main_key", wrong.problem() == null ? "" : wrong.problem().errors().get(0).pointer());
        assertThrows(UsherException.class, () -> usher.resume(OperationKind.PAYMENT, "no-such-stream").result().await());
    }

    private static String relayOrigin(String relay) {
        return usher.api().addRelay(RelayRequest.of(relay)).await().origin();
    }

    @Test
    void theLiveFeedShowsTheEventsOfAllStreams() throws Exception {
        BlockingQueue<WebhookEvent> live = new LinkedBlockingQueue<>();
        try (WatchHandle feed = usher.streamAllEvents(live::add)) {
            assertNotNull(feed);
            // The feed begins at some time; a login after it is in it.
            for (int attempt = 0; live.isEmpty() && attempt < 20; attempt++) {
                login();
                TimeUnit.MILLISECONDS.sleep(200);
            }
            assertFalse(live.isEmpty());
        }
    }

    @Test
    void aWrongTokenIsAnErrorEverywhere() throws Exception {
        try (Usher stranger = Usher.connect(service.url(), "wrong-token")) {
            UsherException call = assertThrows(UsherException.class, () -> stranger.login().await());
            assertEquals(Code.AUTH_FAILED, call.code());
            Call<PaymentResult> waiting = stranger.resume(OperationKind.PAYMENT, "some-stream").result();
            assertEquals(Code.AUTH_FAILED, assertThrows(UsherException.class, waiting::await).code());
            assertFalse(call.toString().contains("wrong-token"));
        }
    }

    @Test
    void aCancelledWaitLeavesTheOperationAlone() throws Exception {
        Operation<PaymentResult> payment =
                usher.requestPayment(SinglePaymentRequest.of("Tea", 3_000).withMainKey(user)).await();
        Call<PaymentResult> waiting = payment.result();
        assertTrue(waiting.cancel(true));
        assertThrows(CancellationException.class, waiting::await);
        service.wallet("approve");
        assertInstanceOf(PaymentResult.Paid.class, usher.resume(OperationKind.PAYMENT, payment.streamId()).result().await());
    }

    @Test
    void aSubscriberThatReadsLaterGetsEverythingOnce() throws Exception {
        LoginOperation login = usher.login().await();
        Call<LoginResult> result = login.result();
        service.wallet("login", login.url());
        result.await();
        BlockingQueue<Object> events = new LinkedBlockingQueue<>();
        usher.events(login.streamId(), 0).subscribe(new OneByOne(events));
        assertEquals(0, ((Event) take(events)).index());
        assertEquals(1, ((Event) take(events)).index());
        assertEquals("done", take(events));
        usher.events(login.streamId(), 2).subscribe(new OneByOne(events));
        assertEquals("done", take(events));
    }

    @Test
    void aListenerThatThrowsIsToldAndEndsItsReading() throws Exception {
        LoginOperation login = usher.login().await();
        BlockingQueue<Object> events = new LinkedBlockingQueue<>();
        login.onEvent(new StreamListener() {
            @Override
            public void onEvent(Event event) {
                throw new IllegalStateException("a defect of the app");
            }

            @Override
            public void onError(UsherException error) {
                events.add(error);
            }
        });
        service.wallet("login", login.url());
        assertTrue(take(events).toString().contains("a defect of the app"));
    }

    static Object take(BlockingQueue<?> queue) throws InterruptedException {
        Object taken = queue.poll(RunningUsher.LONG_SECONDS, TimeUnit.SECONDS);
        assertNotNull(taken, "nothing came");
        return taken;
    }

    static void until(java.util.function.BooleanSupplier condition) throws InterruptedException {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(RunningUsher.LONG_SECONDS);
        while (!condition.getAsBoolean()) {
            assertTrue(System.nanoTime() < end, "it did not happen");
            TimeUnit.MILLISECONDS.sleep(50);
        }
    }

    /** Keeps what it hears. */
    record Recording(BlockingQueue<Object> heard) implements StreamListener {
        @Override
        public void onEvent(Event event) {
            heard.add(event);
        }

        @Override
        public void onDone() {
            heard.add("done");
        }

        @Override
        public void onError(UsherException error) {
            heard.add(error);
        }
    }

    /** Requests one event at a time. */
    static final class OneByOne implements Flow.Subscriber<Event> {
        private final BlockingQueue<Object> heard;
        private Flow.Subscription subscription;

        OneByOne(BlockingQueue<Object> heard) {
            this.heard = heard;
        }

        @Override
        public void onSubscribe(Flow.Subscription given) {
            subscription = given;
            given.request(1);
        }

        @Override
        public void onNext(Event event) {
            heard.add(event);
            subscription.request(1);
        }

        @Override
        public void onError(Throwable error) {
            heard.add(error);
        }

        @Override
        public void onComplete() {
            heard.add("done");
        }
    }
}
