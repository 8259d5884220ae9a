package usher.client;

import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.Executor;

/** Lets so many run at the same time; the others wait in order, without a thread. */
final class Gate {
    private final Executor executor;
    private final Queue<Runnable> waiting = new ArrayDeque<>();
    private int free;

    Gate(int places, Executor executor) {
        this.free = places;
        this.executor = executor;
    }

    /** Runs it as soon as there is a place. Whatever runs calls {@link #leave} once. */
    void enter(Runnable task) {
        synchronized (this) {
            if (free == 0) {
                waiting.add(task);
                return;
            }
            free--;
        }
        task.run();
    }

    void leave() {
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
