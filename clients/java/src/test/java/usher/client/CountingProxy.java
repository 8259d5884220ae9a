package usher.client;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** Passes connections on, and keeps the first line of each HTTP request. It can break all of them, or refuse WebSockets. */
final class CountingProxy implements AutoCloseable {
    final List<String> requests = new CopyOnWriteArrayList<>();
    private final List<Socket> sockets = new CopyOnWriteArrayList<>();
    private final ServerSocket listener;
    private final int target;
    private final boolean webSockets;

    CountingProxy(int target, boolean webSockets) throws IOException {
        this.target = target;
        this.webSockets = webSockets;
        listener = new ServerSocket(0, 200, InetAddress.getLoopbackAddress());
        daemon(this::accept);
    }

    String url() {
        return "http://127.0.0.1:" + listener.getLocalPort();
    }

    long count(String start) {
        return requests.stream().filter(line -> line.startsWith(start)).count();
    }

    /** Breaks all connections. */
    void breakAll() throws IOException {
        for (Socket socket : sockets) {
            try {
                socket.setSoLinger(true, 0);
            } catch (IOException closed) {
                // By its other side.
            }
            socket.close();
        }
        sockets.clear();
    }

    private void accept() {
        while (true) {
            try {
                Socket client = listener.accept();
                Socket server = new Socket(InetAddress.getLoopbackAddress(), target);
                sockets.add(client);
                sockets.add(server);
                daemon(() -> pass(client, server, true));
                daemon(() -> pass(server, client, false));
            } catch (IOException closed) {
                if (listener.isClosed()) {
                    return;
                }
            }
        }
    }

    private void pass(Socket from, Socket to, boolean request) {
        byte[] buffer = new byte[65_536];
        try (from;
                to) {
            InputStream in = from.getInputStream();
            OutputStream out = to.getOutputStream();
            for (int read = in.read(buffer); read >= 0; read = in.read(buffer)) {
                if (request) {
                    // Requests of these tests fit into one segment; frames of WebSockets are masked.
                    String line = new String(buffer, 0, Math.min(read, 200), StandardCharsets.ISO_8859_1).split("\r\n", 2)[0];
                    if (line.endsWith(" HTTP/1.1")) {
                        requests.add(line);
                        if (!webSockets && line.startsWith("GET /ws ")) {
                            from.getOutputStream().write("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
                            continue;
                        }
                    }
                }
                out.write(buffer, 0, read);
            }
        } catch (IOException broken) {
            // Both sides are closed.
        }
    }

    private static void daemon(Runnable task) {
        Thread thread = new Thread(task);
        thread.setDaemon(true);
        thread.start();
    }

    @Override
    public void close() throws IOException {
        listener.close();
        breakAll();
    }
}
