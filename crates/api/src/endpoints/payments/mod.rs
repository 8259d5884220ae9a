//! Pay: single Lightning payments, invoices in both directions, and the service's own Lightning backend.

mod booked_payment;
mod close_payment_link;
mod create_payment_link;
mod get_rate;
mod get_receipt;
mod get_wallet_info;
mod list_payment_links;
mod list_payments;
mod pay_invoice;
mod refund_payment;
mod request_invoice;
mod request_payment;

use utoipa_axum::routes;

use crate::endpoint_group::EndpointGroup;

pub(super) fn group() -> EndpointGroup {
    EndpointGroup::new(
        "Payments",
        "Ask users for Lightning payments, create payment links, pay invoices, and ask users for invoices.",
    )
    .endpoint(routes!(request_payment::request_payment))
    .endpoint(routes!(pay_invoice::pay_invoice))
    .endpoint(routes!(request_invoice::request_invoice))
    .endpoint(routes!(list_payments::list_payments))
    .endpoint(routes!(get_receipt::get_receipt))
    .endpoint(routes!(refund_payment::refund_payment))
    .endpoint(routes!(create_payment_link::create_payment_link))
    .endpoint(routes!(list_payment_links::list_payment_links))
    .endpoint(routes!(close_payment_link::close_payment_link))
    .endpoint(routes!(get_wallet_info::get_wallet_info))
    .endpoint(routes!(get_rate::get_rate))
}
