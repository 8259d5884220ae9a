package usher.client.model;

/** What happened: the data of an {@link Event}. A type of event that is newer than this client has {@link OtherData}. */
public sealed interface EventData
        permits CashuResponseData,
                InvoiceData,
                KeyHandshakeData,
                OtherData,
                StatusUpdateData,
                SubscriptionClosedData,
                SubscriptionData,
                SubscriptionPaymentData {}
