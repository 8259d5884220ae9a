package usher.client;

import java.net.http.HttpClient;
import java.time.Duration;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** The threads of one client: its loop, and what runs the app's callbacks. All are daemons. */
final class ClientThreads {
    /** One thread for timers and for what must not run twice at once. */
    final ScheduledThreadPoolExecutor loop;

    /** Runs callbacks: the app's executor, or threads of the client's own. */
    final Executor executor;

    private final @Nullable ExecutorService own;

    ClientThreads(@Nullable Executor ofApp) {
        loop = new ScheduledThreadPoolExecutor(1, daemons("usher-client-loop"));
        loop.setRemoveOnCancelPolicy(true);
        loop.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
        own = ofApp == null ? Executors.newCachedThreadPool(daemons("usher-client")) : null;
        Executor given = ofApp == null ? own : ofApp;
        executor = task -> {
            try {
                given.execute(task);
            } catch (RejectedExecutionException closed) {
                // Whoever waits still learns of the end.
                task.run();
            }
        };
    }

    /** An HTTP client whose work these threads do. */
    HttpClient httpClient() {
        return HttpClient.newBuilder()
                .version(HttpClient.Version.HTTP_1_1)
                .followRedirects(HttpClient.Redirect.NEVER)
                .connectTimeout(Duration.ofSeconds(10))
                .executor(executor)
                .build();
    }

    /** Ends the client's own threads once they have told the end to whoever waits. */
    void shutDown() {
        if (own != null) {
            own.shutdown();
        }
    }

    private static ThreadFactory daemons(String name) {
        AtomicInteger number = new AtomicInteger();
        return task -> {
            Thread thread = new Thread(task, name + "-" + number.incrementAndGet());
            thread.setDaemon(true);
            return thread;
        };
    }
}
