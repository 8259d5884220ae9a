//! Pay: single Lightning payments, invoices in both directions, and the service's own Lightning backend.

mod booked_payment;
mod close_payment_link;
mod create_payment_link;
mod get_rate;
mod get_receipt;
mod get_summary;
mod get_wallet_info;
mod list_payment_links;
mod list_payments;
mod pay_invoice;
mod refund_payment;
mod request_invoice;
mod request_payment;

use usher_engine::access::Scope;

use crate::access::ScopeExt as _;
use crate::endpoint_group::{Detail, EndpointGroup, handler};
use crate::route::Audit;

pub(super) fn group<D: Detail>() -> EndpointGroup<D> {
    EndpointGroup::new(
        "Payments",
        "Ask users for Lightning payments, create payment links, pay invoices, and ask users for invoices.",
    )
    .endpoint(Scope::PaymentsReceive, Audit::Once, handler!(request_payment))
    .endpoint(Scope::PaymentsSend, Audit::Once, handler!(pay_invoice))
    .endpoint(Scope::PaymentsSend, Audit::Once, handler!(request_invoice))
    .endpoint(Scope::PaymentsReceive, Audit::Nothing, handler!(list_payments))
    .endpoint(Scope::PaymentsReceive.of_service(), Audit::Nothing, handler!(get_summary))
    .endpoint(Scope::PaymentsReceive, Audit::Nothing, handler!(get_receipt))
    .endpoint(Scope::PaymentsSend.for_support(), Audit::Once, handler!(refund_payment))
    .endpoint(Scope::PaymentsReceive.for_support(), Audit::Once, handler!(create_payment_link))
    .endpoint(Scope::PaymentsReceive, Audit::Nothing, handler!(list_payment_links))
    .endpoint(Scope::PaymentsReceive.for_support(), Audit::Once, handler!(close_payment_link))
    .endpoint(Scope::PaymentsReceive.of_service(), Audit::Nothing, handler!(get_wallet_info))
    .endpoint(Scope::PaymentsReceive.of_nothing(), Audit::Nothing, handler!(get_rate))
}
