package usher.client;

import java.util.concurrent.Flow;
import java.util.function.Supplier;
import usher.client.model.AuthenticateKeyRequest;
import usher.client.model.Event;
import usher.client.model.KeyHandshakeData;

/**
 * A login from the URL to the proof: the user opens the {@link #url}, and then approves the challenge that is sent by
 * itself. {@link #streamId} is the stream of the handshake.
 */
public final class LoginOperation extends Operation<LoginResult> {
    private final String url;

    LoginOperation(Usher usher, String streamId, String url) {
        super(usher, streamId, OperationKind.AUTHENTICATION);
        this.url = url;
    }

    /**
     * What the user opens in their wallet: show it as a QR code or a link. Anybody who has it can respond in the user's
     * place, so show it to the user only.
     *
     * @return the URL
     */
    public String url() {
        return url;
    }

    /**
     * Waits until the user has told their key, sends the challenge, and waits until they have proved it. The challenge is
     * sent once, however often you call this, also after a restart of your app.
     *
     * @return the result; fails with {@link OperationFailedException} when nobody responds in time
     */
    @Override
    public Call<LoginResult> result() {
        return challenge().then(Operation::result);
    }

    /** The handshake, and then the challenge. */
    Call<Operation<LoginResult>> challenge() {
        return usher.handshake(streamId()).then(key -> usher.authenticate(
                AuthenticateKeyRequest.of(key.mainKey()),
                // The same for each who waits for this login, so that the user is asked once.
                CallOptions.DEFAULT.withIdempotencyKey("login-" + streamId())));
    }

    /**
     * The {@code KeyHandshake}, and then the {@code StatusUpdate} of the challenge.
     *
     * @return the events
     */
    @Override
    public Flow.Publisher<Event> events() {
        return subscriber -> {
            Delivery delivery = usher.deliver(subscriber);
            subscriber.onSubscribe(delivery);
            delivery.start(new TwoStreams(delivery));
        };
    }

    /**
     * Hands the {@code KeyHandshake}, and then the {@code StatusUpdate} of the challenge, to a listener.
     *
     * @param listener gets the events
     * @return closes the reading
     */
    @Override
    public Watch onEvent(StreamListener listener) {
        Delivery delivery = usher.deliver(listener);
        delivery.start(new TwoStreams(delivery));
        return delivery;
    }

    /** Reads the stream of the handshake, and then that of the challenge. These have few events, so nothing is paused. */
    private final class TwoStreams implements Delivery.Source, StreamListener {
        private final Delivery delivery;
        private boolean stopped;
        private Watch reading = () -> {};
        private boolean introduced;

        TwoStreams(Delivery delivery) {
            this.delivery = delivery;
        }

        @Override
        public void start() {
            read(() -> usher.watch(streamId(), 0, this));
        }

        @Override
        public synchronized void stop() {
            stopped = true;
            reading.close();
        }

        private synchronized void read(Supplier<Watch> next) {
            if (!stopped) {
                reading = next.get();
            }
        }

        @Override
        public void onEvent(Event event) {
            introduced |= event.data() instanceof KeyHandshakeData;
            delivery.event(event);
        }

        @Override
        public void onMissed(long first) {
            delivery.missed(first);
        }

        @Override
        public void onDone() {
            if (!introduced) {
                delivery.done();
                return;
            }
            Call<Operation<LoginResult>> challenge = challenge();
            read(() -> () -> challenge.cancel(true));
            challenge.onDone((operation, error) -> {
                if (operation != null) {
                    read(() -> operation.onEvent(new Rest()));
                } else if (error != null) {
                    delivery.failed(error);
                }
            });
        }

        @Override
        public void onError(UsherException error) {
            delivery.failed(error);
        }

        /** The stream of the challenge. */
        private final class Rest implements StreamListener {
            @Override
            public void onEvent(Event event) {
                delivery.event(event);
            }

            @Override
            public void onDone() {
                delivery.done();
            }

            @Override
            public void onError(UsherException error) {
                delivery.failed(error);
            }
        }
    }
}
