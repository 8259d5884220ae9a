package usher.client;

import java.util.List;
import java.util.Objects;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import usher.client.UsherException.Code;
import usher.client.model.CashuResponseData;
import usher.client.model.Event;
import usher.client.model.InvoiceData;
import usher.client.model.StatusUpdateData;
import usher.client.model.SubscriptionData;

/**
 * What an operation is: it tells which of the events ends it, and what the result is.
 *
 * @param <R> the result
 */
public final class OperationKind<R> {
    /** {@code POST /authenticate-key}. */
    public static final OperationKind<LoginResult> AUTHENTICATION = new OperationKind<>("authentication", OperationKind::login);

    /** {@code POST /payments/single} and {@code POST /invoices/pay}. */
    public static final OperationKind<PaymentResult> PAYMENT = new OperationKind<>("payment", OperationKind::payment);

    /** {@code POST /payments/recurring}. */
    public static final OperationKind<SubscriptionResult> SUBSCRIPTION =
            new OperationKind<>("subscription", OperationKind::subscription);

    /** {@code POST /invoices/request}. */
    public static final OperationKind<InvoiceResult> INVOICE = new OperationKind<>("invoice", OperationKind::invoice);

    /** {@code POST /cashu/request}, {@code POST /verification/token} and {@code POST /verification/sessions}. */
    public static final OperationKind<TicketResult> TICKET = new OperationKind<>("ticket", OperationKind::ticket);

    /** {@code POST /cashu/send-direct}: the user has redeemed the ticket. */
    public static final OperationKind<CashuResponseData> SENT_TICKET = new OperationKind<>(
            "sent ticket", event -> event.data() instanceof CashuResponseData data && data.status().equals("success") ? data : null);

    private final String name;
    private final Function<Event, @Nullable R> read;

    private OperationKind(String name, Function<Event, @Nullable R> read) {
        this.name = name;
        this.read = read;
    }

    /**
     * Reads one event of such an operation, for example one that a webhook brought.
     *
     * @param event the event
     * @return the result, or null if the operation goes on
     * @throws OperationFailedException the event is {@code timeout} or {@code error}
     */
    public @Nullable R read(Event event) {
        if (event.data() instanceof StatusUpdateData data && (data.status().equals("timeout") || data.status().equals("error"))) {
            throw new OperationFailedException(event, data);
        }
        return read.apply(event);
    }

    @Override
    public String toString() {
        return name;
    }

    private static @Nullable LoginResult login(Event event) {
        if (!(event.data() instanceof StatusUpdateData data)) {
            return null;
        }
        return switch (data.status()) {
            case "approved" -> {
                if (data.mainKey() == null) {
                    throw new UsherException(Code.PARSE_ERROR, "an approved login has no `main_key`");
                }
                yield new LoginResult.Approved(
                        data.mainKey(), Objects.requireNonNullElse(data.grantedPermissions(), List.of()), data.sessionToken());
            }
            case "declined" -> new LoginResult.Declined(data.reason());
            default -> null;
        };
    }

    private static @Nullable PaymentResult payment(Event event) {
        if (!(event.data() instanceof StatusUpdateData data)) {
            return null;
        }
        return switch (data.status()) {
            case "paid" -> new PaymentResult.Paid(data.preimage(), data.feesPaid());
            case "user_rejected" -> new PaymentResult.Rejected(data.reason());
            default -> null;
        };
    }

    private static @Nullable SubscriptionResult subscription(Event event) {
        if (event.data() instanceof SubscriptionData data) {
            return new SubscriptionResult.Agreed(data);
        }
        return event.data() instanceof StatusUpdateData data && data.status().equals("user_rejected")
                ? new SubscriptionResult.Rejected(data.reason())
                : null;
    }

    private static @Nullable InvoiceResult invoice(Event event) {
        if (event.data() instanceof InvoiceData data) {
            return new InvoiceResult.Received(data);
        }
        return event.data() instanceof StatusUpdateData data && data.status().equals("user_rejected")
                ? new InvoiceResult.Rejected(data.reason())
                : null;
    }

    private static @Nullable TicketResult ticket(Event event) {
        if (!(event.data() instanceof CashuResponseData data)) {
            return null;
        }
        return switch (data.status()) {
            case "success" -> {
                if (data.amount() == null) {
                    throw new UsherException(Code.PARSE_ERROR, "a ticket has no `amount`");
                }
                yield new TicketResult.Received(data.amount(), data.unit(), data.mintUrl(), data.token());
            }
            case "insufficient_funds" -> new TicketResult.InsufficientFunds(data.reason());
            case "rejected" -> new TicketResult.Rejected(data.reason());
            default -> null;
        };
    }
}
