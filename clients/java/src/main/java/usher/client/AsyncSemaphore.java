package usher.client;

import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.Executor;

/** Lets so many run at the same time; the others wait in order, without a thread. */
final class AsyncSemaphore {
    private final Executor executor;
    private final Queue<Runnable> waiting = new ArrayDeque<>();
    private int free;

    AsyncSemaphore(int places, Executor executor) {
        this.free = places;
        this.executor = executor;
    }

    /** Runs it as soon as there is a place. Whatever runs calls {@link #release} once. */
    void acquire(Runnable task) {
        synchronized (this) {
            if (free == 0) {
                waiting.add(task);
                return;
            }
            free--;
        }
        task.run();
    }

    void release() {
        Runnable next;
        synchronized (this) {
            next = waiting.poll();
            if (next == null) {
                free++;
            }
        }
        if (next != null) {
            executor.execute(next);
        }
    }

    synchronized boolean isCrowded() {
        return !waiting.isEmpty();
    }
}
