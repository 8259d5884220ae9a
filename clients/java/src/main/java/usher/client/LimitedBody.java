package usher.client;

import java.io.ByteArrayOutputStream;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;

/** Reads a response body of at most {@link #MOST} bytes: whatever answers there cannot fill the memory. */
final class LimitedBody implements HttpResponse.BodySubscriber<byte[]> {
    /** The largest page of events is below it. */
    static final int MOST = 64 * 1024 * 1024;

    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    private final CompletableFuture<byte[]> body = new CompletableFuture<>();
    private Flow.Subscription subscription = new Flow.Subscription() {
        @Override
        public void request(long number) {}

        @Override
        public void cancel() {}
    };

    @Override
    public CompletionStage<byte[]> getBody() {
        return body;
    }

    @Override
    public void onSubscribe(Flow.Subscription given) {
        subscription = given;
        given.request(Long.MAX_VALUE);
    }

    @Override
    public void onNext(List<ByteBuffer> parts) {
        for (ByteBuffer part : parts) {
            if (bytes.size() + part.remaining() > MOST) {
                subscription.cancel();
                body.completeExceptionally(new UsherException(
                        UsherException.Code.UNEXPECTED_RESPONSE, "the response is larger than " + MOST + " bytes"));
                return;
            }
            byte[] copy = new byte[part.remaining()];
            part.get(copy);
            bytes.writeBytes(copy);
        }
    }

    @Override
    public void onError(Throwable error) {
        body.completeExceptionally(error);
    }

    @Override
    public void onComplete() {
        body.complete(bytes.toByteArray());
    }
}
