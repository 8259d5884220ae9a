package usher.client;

import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A call that is running: a {@link CompletableFuture} that fails with {@link UsherException} only. {@link #await} waits for
 * it, {@link #onDone} calls back, and {@link #cancel} ends it, together with its connection. So does {@link #orTimeout}.
 *
 * @param <T> what it returns
 */
public final class Call<T> extends CompletableFuture<T> {
    private final Executor executor;
    /** What it is when {@link #orTimeout} ends it. */
    private final UsherException.Code late;

    Call(Executor executor) {
        this(executor, UsherException.Code.CONNECTION_TIMEOUT);
    }

    Call(Executor executor, UsherException.Code late) {
        this.executor = executor;
        this.late = late;
    }

    @Override
    public <U> CompletableFuture<U> newIncompleteFuture() {
        return new Call<>(executor, late);
    }

    @Override
    public Executor defaultExecutor() {
        return executor;
    }

    /**
     * Waits for the result. An interrupt of the thread cancels the call.
     *
     * @return the result
     * @throws UsherException the call failed
     * @throws CancellationException the call was cancelled
     */
    public T await() {
        try {
            return get();
        } catch (ExecutionException error) {
            throw failure(error, late);
        } catch (InterruptedException error) {
            cancel(true);
            Thread.currentThread().interrupt();
            CancellationException cancelled = new CancellationException("the thread was interrupted");
            cancelled.initCause(error);
            throw cancelled;
        }
    }

    /**
     * Calls back when it is over, on a thread of the client. A cancelled call has the error {@code CONNECTION_CLOSED}.
     *
     * @param callback gets the result or the error
     * @return this call
     */
    public Call<T> onDone(Callback<? super T> callback) {
        whenCompleteAsync(
                (value, error) -> {
                    if (error == null) {
                        callback.done(value, null);
                    } else {
                        callback.done(null, failure(error, late));
                    }
                },
                executor);
        return this;
    }

    /** The error as this client's own. */
    static UsherException failure(Throwable error) {
        return failure(error, UsherException.Code.CONNECTION_TIMEOUT);
    }

    private static UsherException failure(Throwable error, UsherException.Code late) {
        Throwable cause = error;
        while ((cause instanceof CompletionException || cause instanceof ExecutionException) && cause.getCause() != null) {
            cause = cause.getCause();
        }
        if (cause instanceof UsherException own) {
            return own;
        }
        if (cause instanceof CancellationException) {
            return new UsherException(UsherException.Code.CONNECTION_CLOSED, "the call was cancelled", null, null, cause);
        }
        if (cause instanceof TimeoutException) {
            return new UsherException(late, "no result in time", null, null, cause);
        }
        return new UsherException(
                UsherException.Code.UNEXPECTED_RESPONSE, "the call failed: " + cause, null, null, cause);
    }

    /** Another call that goes on with this one's result; cancelling it cancels this one, and whatever it goes on with. */
    <U> Call<U> then(Function<? super T, ? extends CompletableFuture<U>> next) {
        Call<U> whole = new Call<>(executor);
        whole.onCancel(() -> cancel(true));
        whenComplete((value, error) -> {
            if (error != null) {
                whole.completeExceptionally(failure(error));
                return;
            }
            try {
                CompletableFuture<U> rest = next.apply(value);
                whole.onCancel(() -> rest.cancel(true));
                rest.whenComplete((result, failed) -> whole.finish(result, failed));
            } catch (RuntimeException failed) {
                whole.completeExceptionally(failure(failed));
            }
        });
        return whole;
    }

    /** Another call with this one's result, changed, or another result for its error. */
    <U> Call<U> map(Function<? super T, ? extends U> change, Function<UsherException, ? extends @Nullable U> recover) {
        Call<U> whole = new Call<>(executor);
        whole.onCancel(() -> cancel(true));
        whenComplete((value, error) -> {
            try {
                if (error == null) {
                    whole.complete(change.apply(value));
                    return;
                }
                UsherException failure = failure(error);
                U instead = recover.apply(failure);
                if (instead == null) {
                    whole.completeExceptionally(failure);
                } else {
                    whole.complete(instead);
                }
            } catch (RuntimeException failed) {
                whole.completeExceptionally(failure(failed));
            }
        });
        return whole;
    }

    /** Completes it as another future was. */
    void finish(@Nullable T value, @Nullable Throwable error) {
        if (error == null) {
            complete(value);
        } else {
            completeExceptionally(failure(error));
        }
    }

    /** Runs this when the call is cancelled, or ended by {@link #orTimeout}, from outside. */
    void onCancel(Runnable stop) {
        whenComplete((value, error) -> {
            if (error instanceof CancellationException || error instanceof TimeoutException) {
                stop.run();
            }
        });
    }
}
